"""What a bench measures, from single runs to one row a method and workload."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, TypeVar

__all__ = ["Cell", "Quality", "Run", "Timing", "cell_of"]

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Run:
    """One text that a method wrote.

    Attributes:
        token_ids: without the end-of-sequence token. forward_passes: calls of the model. mask_s: time spent on masks,
            None where there are none. token_times_s: time from the start to each token, where the method tells.
        by_source: accepted and drafted tokens by draft source. steps: for each pass of the model the undrafted tokens
            that it ran (of the first pass the prompt's), the drafted ones, and those decided, where the method tells.
        host_s: time outside the model's passes, where the method tells. chose_end: whether the model chose to end, a
            decision like any token.
    """

    token_ids: tuple[int, ...]
    elapsed_s: float
    forward_passes: int
    mask_s: float | None = None
    n_drafted: int = 0
    n_accepted: int = 0
    token_times_s: tuple[float, ...] = ()
    by_source: dict[str, tuple[int, int]] = field(default_factory=dict)
    steps: tuple[tuple[int, int, int], ...] = ()
    host_s: float = 0.0
    chose_end: bool = False

    @property
    def n_decided(self) -> int:
        """Tokens and the chosen end: what free generation needs a pass each for."""
        return len(self.token_ids) + self.chose_end


@dataclass(frozen=True, slots=True)
class Quality:
    """What an output is worth; natural logarithms.

    Attributes:
        matches: whether the library's slow recognizer accepts it. is_valid: whether jsonschema or `re` does.
        logprob: of its tokens under the unconstrained model. noncanonical_tokens, alignment_gap: None where the
            tokenizer cannot encode the text. forced_share: of its bytes, those that the constraint determines alone or
            up to layout (domino_py.bench.forced); None where the text is not legal.
    """

    text: str
    n_tokens: int
    n_bytes: int
    matches: bool
    is_valid: bool
    logprob: float
    noncanonical_tokens: int | None
    alignment_gap: float | None
    forced_share: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """What a method took for one prompt in one round, what free generation of as many tokens took, and the prompt's
    own pass alone."""

    elapsed_s: float
    free_s: float
    prompt_s: float = 0.0

    @property
    def ratio(self) -> float:
        return self.elapsed_s / self.free_s if self.free_s > 0 else math.nan

    @property
    def decode_ratio(self) -> float:
        """As `ratio`, without the prompt's pass on both sides; not a number where free generation took no longer."""
        free_s = self.free_s - self.prompt_s
        return max(self.elapsed_s - self.prompt_s, 0.0) / free_s if free_s > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Cell:
    """One method on one workload: sums over the prompts; times are medians over the rounds.

    `time_ratio` is the time over the time that unconstrained generation takes for the same number of tokens, measured
    in the same round; `time_ratios` has it for each round and prompt; `decode_ratio` leaves out the prompt's own pass,
    `decode_ratios` has its medians by prompt. `by_source`: accepted and drafted tokens by draft source.
    `forced_shares`, `traces` and `host_s`: by prompt, what `Quality` and `Run` have of them.
    `failure` says why there is nothing.
    """

    workload: str
    method: str
    n_outputs: int = 0
    n_matching: int = 0
    n_valid: int = 0
    n_tokens: int = 0
    forward_passes: int = 0
    passes_per_token: float | None = None
    time_ratio: float | None = None
    time_ratios: tuple[float, ...] = ()
    decode_ratio: float | None = None
    decode_ratios: tuple[float, ...] = ()
    elapsed_s: float | None = None
    mask_ms_per_token: float | None = None
    n_drafted: int = 0
    n_accepted: int = 0
    by_source: dict[str, tuple[int, int]] = field(default_factory=dict)
    perplexity_per_byte: float | None = None
    noncanonical_tokens: int | None = None
    alignment_gap: float | None = None
    prepare_s: float | None = None
    failure: str = ""
    texts: tuple[str, ...] = field(default=(), repr=False)
    forced_shares: tuple[float | None, ...] = ()
    traces: tuple[tuple[tuple[int, int, int], ...], ...] = field(default=(), repr=False)
    host_s: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def cell_of(
    workload: str,
    method: str,
    rounds: Sequence[Sequence[Run]],
    qualities: Sequence[Quality],
    timings: Sequence[Sequence[Timing]],
    prepare_s: float,
) -> Cell:
    """Put a method's rounds, at least one, each with one run and timing a prompt, and its outputs together."""
    first = rounds[0]
    n_tokens = sum(len(run.token_ids) for run in first)
    n_decided = sum(run.n_decided for run in first)
    n_passes = sum(run.forward_passes for run in first)
    masks = [sum(run.mask_s or 0.0 for run in runs) for runs in rounds]
    has_masks = any(run.mask_s is not None for run in first)
    n_bytes = sum(quality.n_bytes for quality in qualities)
    logprob = math.fsum(quality.logprob for quality in qualities)
    totals = [
        Timing(
            sum(one.elapsed_s for one in timed),
            sum(one.free_s for one in timed),
            sum(one.prompt_s for one in timed),
        )
        for timed in timings
    ]
    return Cell(
        workload=workload,
        method=method,
        n_outputs=len(qualities),
        n_matching=sum(quality.matches for quality in qualities),
        n_valid=sum(quality.is_valid for quality in qualities),
        n_tokens=n_tokens,
        forward_passes=n_passes,
        passes_per_token=n_passes / n_decided if n_decided else None,
        time_ratio=median(total.ratio for total in totals),
        time_ratios=tuple(one.ratio for timed in timings for one in timed),
        decode_ratio=median(total.decode_ratio for total in totals),
        decode_ratios=tuple(median(one.decode_ratio for one in prompt) for prompt in zip(*timings, strict=False)),
        elapsed_s=median(total.elapsed_s for total in totals),
        mask_ms_per_token=1e3 * median(masks) / n_tokens if has_masks and n_tokens else None,
        n_drafted=sum(run.n_drafted for run in first),
        n_accepted=sum(run.n_accepted for run in first),
        by_source=_added([run.by_source for run in first]),
        perplexity_per_byte=math.exp(min(-logprob / n_bytes, 700.0)) if n_bytes else None,
        noncanonical_tokens=_sum_known([quality.noncanonical_tokens for quality in qualities]),
        alignment_gap=_sum_known([quality.alignment_gap for quality in qualities]),
        prepare_s=prepare_s,
        texts=tuple(quality.text for quality in qualities),
        forced_shares=tuple(quality.forced_share for quality in qualities),
        traces=tuple(run.steps for run in first if run.steps),
        host_s=tuple(median(run.host_s for run in runs) for runs in zip(*rounds, strict=False)),
    )


def _added(counts: Sequence[dict[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    """The sums by source."""
    total: dict[str, tuple[int, int]] = {}
    for one in counts:
        for name, (accepted, drafted) in one.items():
            so_far = total.get(name, (0, 0))
            total[name] = (so_far[0] + accepted, so_far[1] + drafted)
    return total


def _sum_known(values: Sequence[Number | None]) -> Number | None:
    """The sum, None where one is unknown."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None
