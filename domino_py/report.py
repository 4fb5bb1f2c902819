"""What a constrained call did, in numbers: what the constraint cost, where it overruled the model, what drafts saved.

The numbers are those of docs/fidelity.md. With p the model's next-token distribution after the caller's temperature and
truncation, L_t the legal set at step t and y the chosen tokens: `logprob` = sum of log p(y_t), the legal mass
A_t = p(L_t), `projection_tax` = sum of -log A_t, `log_weight` = sum of log A_t. Natural logarithms throughout (nats).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domino_py.lint_model import Disagreement

__all__ = ["Intervention", "Report"]

LAWS = {
    "model": "the model's own distribution, nothing removed",
    "masked": "at each step the model's distribution over what is legal there, renormalized",
}


@dataclass(frozen=True, slots=True)
class Intervention:
    """One step where the model's own choice was illegal: what stood before, what it wanted, what it got.

    `because` is "constraint", or "budget" where the token was legal but left too few tokens to complete the text.
    Where a token was taken back, `before` ends with it if what came instead begins like it, else `wanted` begins with
    it; the legal mass is that behind it.
    `cost` is -log of the legal mass at that step, in nats: how unlikely the model found it that something legal comes.
    """

    step: int
    before: str
    wanted: str
    got: str
    wanted_logprob: float
    got_logprob: float
    legal_mass: float | None
    because: str = "constraint"

    @property
    def cost(self) -> float | None:
        if self.legal_mass is None:
            return None
        return -math.log(self.legal_mass) if self.legal_mass > 0 else math.inf


@dataclass(slots=True, repr=False)
class Report:
    """The numbers of one call, or of several together (`Report.total`).

    Numbers that were not measured are None. With measure="light" a step whose best token is legal needs no mask, so
    its legal mass stays unknown: then `projection_tax_low` and `projection_tax_high` bound the tax. `alignment_gap` is
    0 where all tokens are the tokenizer's own; else it takes one more pass of the model, which is only made with
    measure="full" or by `measure_alignment()`. `disagreements`: where constraint and model disagree, costliest first,
    with hints (`domino_py.lint_model`). `law_given_up_at`: the token from which the law of tokenization could not be
    kept, None where it was. `n_taken_back`: tokens that were written anew, since what the model wanted behind them was
    not legal, and what was would have split the text unnaturally.
    """

    law: str = "masked"
    greedy: bool = True
    seed: int | None = None
    tokenization: str = "any"
    finish_reason: str = ""
    n_texts: int = 1
    n_prompt_tokens: int = 0
    n_tokens: int = 0
    n_bytes: int = 0
    n_steps: int = 0
    # Fidelity, in nats.
    logprob: float | None = None
    projection_tax: float | None = None
    projection_tax_low: float | None = None
    projection_tax_high: float | None = None
    log_weight: float | None = None
    legal_mass: tuple[float | None, ...] = ()
    interventions: tuple[Intervention, ...] = ()
    n_interventions: int = 0
    disagreements: tuple[Disagreement, ...] = ()
    n_fallbacks: int = 0
    n_taken_back: int = 0
    model_logprob: float | None = None
    # Tokenization.
    noncanonical_tokens: int | None = None
    noncanonical_at: tuple[int, ...] = ()  # indices into the text's tokens; of single texts only
    alignment_gap: float | None = None
    law_given_up_at: int | None = None  # of single texts only
    # Work.
    forward_passes: int = 0
    drafted: dict[str, int] = field(default_factory=dict)
    accepted: dict[str, int] = field(default_factory=dict)
    mask_s: float = 0.0
    draft_s: float = 0.0
    model_s: float = 0.0
    total_s: float = 0.0
    notes: tuple[str, ...] = ()
    rows: tuple[Report, ...] = field(default=(), repr=False)
    _score: Callable[[], float | None] | None = field(default=None, repr=False, compare=False)

    @property
    def tokens_per_pass(self) -> float | None:
        return self.n_tokens / self.forward_passes if self.forward_passes else None

    @property
    def n_drafted(self) -> int:
        return sum(self.drafted.values())

    @property
    def n_accepted(self) -> int:
        return sum(self.accepted.values())

    @property
    def perplexity_per_token(self) -> float | None:
        """exp of the mean negative log-probability a token, under the unconstrained model."""
        return _perplexity(self.model_logprob, self.n_tokens)

    @property
    def perplexity_per_byte(self) -> float | None:
        """exp of the mean negative log-probability a byte of text: comparable between tokenizations."""
        return _perplexity(self.model_logprob, self.n_bytes)

    def measure_later(self, score: Callable[[], float | None]) -> None:
        """Keep the function that measures the alignment gap when it is asked for."""
        self._score = score

    def measure_alignment(self) -> float | None:
        """log P(canonical tokens of the text) - log P(the tokens chosen), in nats; one more pass of the model, once.

        0 where the tokens are the canonical ones. None where the tokenizer cannot encode text, or the model is gone.
        """
        if self.alignment_gap is None and self.rows:
            gaps = [row.measure_alignment() for row in self.rows]
            self.alignment_gap = (
                None if any(gap is None for gap in gaps) else sum(gap for gap in gaps if gap is not None)
            )
        elif self.alignment_gap is None and self._score is not None:
            self.alignment_gap = self._score()
        return self.alignment_gap

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: every field and every derived number."""
        skipped = {"_score", "rows", "interventions"}
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in skipped}
        values["legal_mass"] = list(self.legal_mass)
        values["notes"] = list(self.notes)
        values["noncanonical_at"] = list(self.noncanonical_at)
        values["disagreements"] = [asdict(one) for one in self.disagreements]
        values["interventions"] = [{**asdict(one), "cost": one.cost} for one in self.interventions]
        for name in ("tokens_per_pass", "n_drafted", "n_accepted", "perplexity_per_token", "perplexity_per_byte"):
            values[name] = getattr(self, name)
        if self.rows:
            values["rows"] = [row.to_dict() for row in self.rows]
        return values

    @classmethod
    def total(cls, reports: Iterable[Report]) -> Report:
        """One report over several texts: sums, and the single reports in `rows`."""
        from domino_py.lint_model import merged

        rows = tuple(reports)
        together = cls(
            law=_same([row.law for row in rows], "mixed"),
            greedy=all(row.greedy for row in rows),
            seed=_same([row.seed for row in rows], None),
            tokenization=_same([row.tokenization for row in rows], "mixed"),
            finish_reason=_same([row.finish_reason for row in rows], "mixed"),
            n_texts=sum(row.n_texts for row in rows),
            interventions=tuple(one for row in rows for one in row.interventions),
            disagreements=merged(one for row in rows for one in row.disagreements),
            drafted=_sum_counts(row.drafted for row in rows),
            accepted=_sum_counts(row.accepted for row in rows),
            notes=tuple(dict.fromkeys(note for row in rows for note in row.notes)),
            rows=rows,
        )
        for name in _SUMMED:
            setattr(together, name, sum(getattr(row, name) for row in rows))
        for name in _SUMMED_IF_KNOWN:
            values = [getattr(row, name) for row in rows]
            setattr(together, name, None if not rows or any(value is None for value in values) else sum(values))
        return together

    def __repr__(self) -> str:
        return (
            f"Report(n_texts={self.n_texts}, n_tokens={self.n_tokens}, forward_passes={self.forward_passes}, "
            f"n_interventions={self.n_interventions}, total_s={self.total_s:.2f}; print it for all)"
        )

    def __str__(self) -> str:
        from domino_py.report_view import as_text

        return as_text(self)

    def __rich__(self) -> Any:
        from domino_py.report_view import as_renderable

        return as_renderable(self)

    def _repr_html_(self) -> str:
        from domino_py.report_view import as_html

        return as_html(self)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: None if f.name == "_score" else getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


_SUMMED = (
    *("n_prompt_tokens", "n_tokens", "n_bytes", "n_steps", "n_interventions", "n_fallbacks"),
    "n_taken_back",
    *("forward_passes", "mask_s", "draft_s", "model_s", "total_s"),
)
_SUMMED_IF_KNOWN = (
    *("logprob", "projection_tax", "projection_tax_low", "projection_tax_high", "log_weight", "model_logprob"),
    *("noncanonical_tokens", "alignment_gap"),
)


def _perplexity(logprob: float | None, count: int) -> float | None:
    return None if logprob is None or not count else math.exp(min(-logprob / count, 700.0))


def _same(values: list[Any], otherwise: Any) -> Any:
    return values[0] if values and all(value == values[0] for value in values) else otherwise


def _sum_counts(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counts:
        for name, count in one.items():
            total[name] = total.get(name, 0) + count
    return total
