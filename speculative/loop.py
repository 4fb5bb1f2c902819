"""The decode loop: passes over a batch of rows, each verifying drafts and deciding at least one token a row.

    head + draft ──▶ one pass ──▶ choose at each position, on while the choice equals the draft ──▶ drop what was wrong

Every token is chosen from the model's logits under the mask and noise of its position, so drafts change how many passes
are made and nothing else (law 4 of DESIGN.md). Nothing is run after the last decision of a row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from speculative.caches import drop_last, move_columns, select_rows
from speculative.columns import Columns
from speculative.fixed_caches import choose_cache
from speculative.logits import PassLogits
from speculative.options import DecodeOptions, RowRequest
from speculative.passes import CausalModel
from speculative.planner import DraftPlanner, slack_of
from speculative.policy import DraftPolicy, policy_of
from speculative.protocols import VocabularyLike
from speculative.rows import Row
from speculative.scoring import score
from speculative.statistics import RowResult
from speculative.tree_passes import takes_runs, takes_trees
from tokenizer_align.errors import DominoError, VocabularyError

__all__ = ["DecodeOptions", "NewTokens", "RowRequest", "RowResult", "decode", "decode_passes", "score"]

OnTokens = Callable[[int, list[int]], object]
OnFinish = Callable[[int, RowResult], object]
_DEFAULT_OPTIONS = DecodeOptions()
# Passes of different width differ by this much in the best score's lead (ENGINES: 1e-4 in float32; in bfloat16 choices
# flipped at leads up to 0.25).
_NEAR_TIE = {"torch.float32": 2e-4, "torch.float64": 1e-9, "torch.bfloat16": 0.5, "torch.float16": 0.0625}


@dataclass(frozen=True, slots=True)
class NewTokens:
    """What is settled for one row since the last pass: its index, the token ids (without the end), the result if it is
    finished. Where the last token may be taken back (`Row.takes_back`), it is held back until the next pass."""

    index: int
    token_ids: tuple[int, ...]
    result: RowResult | None = None


def decode(
    model: Any,
    vocabulary: VocabularyLike,
    rows: Sequence[RowRequest],
    options: DecodeOptions = _DEFAULT_OPTIONS,
    on_tokens: OnTokens | None = None,
    on_finish: OnFinish | None = None,
) -> list[RowResult]:
    """Write one text a request, all in one batch; results in the order of the requests.

    Args:
        model: any transformers causal language model.
        on_tokens: called with the index into `rows` and the new token ids (without the end), as they are decided.
        on_finish: called with the index into `rows` and the result, as soon as a row is finished.

    Raises:
        BudgetTooSmall, VocabularyError, DominoError: before any pass, where a request cannot be met.
    """
    results: dict[int, RowResult] = {}
    for news in decode_passes(model, vocabulary, rows, options):
        for new in news:
            if on_tokens is not None and new.token_ids:
                on_tokens(new.index, list(new.token_ids))
            if new.result is not None:
                results[new.index] = new.result
                if on_finish is not None:
                    on_finish(new.index, new.result)
    return [results[index] for index in range(len(rows))]


def decode_passes(
    model: Any,
    vocabulary: VocabularyLike,
    rows: Sequence[RowRequest],
    options: DecodeOptions = _DEFAULT_OPTIONS,
) -> Iterator[list[NewTokens]]:
    """The same, one pass at a time: what it decided for the rows that ran in it.

    Rows that have nothing to write come first. The model rests between passes, and gradients are as the caller has
    them there; who stops early closes the iterator. Raises as `decode` does, when the first pass is asked for.
    """
    runner = CausalModel(model)
    runner.check_rows(vocabulary.n_rows)
    policy = policy_of(model, runner.device.type, str(runner.dtype))
    states = [Row(index, request, vocabulary, options, policy.layout) for index, request in enumerate(rows)]
    longest = max((len(row.prompt_ids) + row.max_new_tokens for row in rows), default=0)
    runner.plan = choose_cache(runner.plan, options.cache, longest, slack_of(options))
    planner = DraftPlanner(
        vocabulary,
        options,
        policy,
        can_drop=runner.plan.can_drop,
        takes_trees=lambda: takes_trees(runner, policy),
        takes_runs=lambda: runner.plan.given is None and takes_runs(runner, policy),
        long_runs=runner.plan.window is None,  # else batches would be repacked as soon as a run might pass the window
    )
    batch = _Batches(runner, vocabulary, options, planner, policy)
    idle = [NewTokens(row.index, (), _result(row)) for row in states if row.finish is not None]
    if idle:
        yield idle
    running = [row for row in states if row.finish is None]
    for row in running:
        row.takes_back = (
            options.takes_back and runner.plan.can_drop and getattr(row.request.compiled, "may_split", False)
        )
    with runner.ready():
        for together in [running] if runner.can_batch else [[row] for row in running]:
            yield from batch.run(together)


class _Batches:
    """Runs batches of one call."""

    def __init__(
        self,
        runner: CausalModel,
        vocabulary: VocabularyLike,
        options: DecodeOptions,
        planner: DraftPlanner,
        policy: DraftPolicy,
    ) -> None:
        self._runner, self._vocabulary, self._planner, self._policy = runner, vocabulary, planner, policy
        self._slack = slack_of(options)
        # Sampling and penalties need every score; greedy decoding on an accelerator mostly needs the best one.
        self._reads_all = runner.device.type == "cpu" or options.do_sample or options.penalizes
        self._near_tie: float | None = None
        if options.exact and runner.plan.can_drop:
            self._near_tie = _NEAR_TIE.get(str(runner.dtype), 2e-4) / (options.temperature if options.do_sample else 1)

    def run(self, rows: list[Row]) -> Iterator[list[NewTokens]]:
        """Run rows together until all are finished, a pass at a time; finished ones leave the batch."""
        with self._runner.inference():
            cache = self._runner.new_cache(len(rows))
        columns = Columns(len(rows))
        is_prompt = True
        while rows:
            started = time.perf_counter()
            with self._runner.inference():
                going = self._step(rows, columns, cache, is_prompt)
            is_prompt = False
            elapsed = time.perf_counter() - started
            for row in rows:
                row.statistics.total_s += elapsed / len(rows)
            yield [NewTokens(row.index, row.take_new(), None if row.finish is None else _result(row)) for row in rows]
            rows = [rows[index] for index in going]

    def _step(self, rows: list[Row], columns: Columns, cache: Any, is_prompt: bool) -> list[int]:
        """Plan, run and settle one pass; return which rows go on."""
        import torch

        self._planner.plan(rows, columns.width, self._runner.plan.room(columns.width))
        kept = self._pass(rows, columns, cache, is_prompt)
        self._planner.learn(rows)
        going = [index for index, row in enumerate(rows) if row.finish is None]
        n_dropped = columns.settle(kept)
        if n_dropped and going and not self._runner.plan.can_drop:
            raise DominoError("a token that could not be rejected was; its state cannot be taken back.")
        if going:
            drop_last(cache, n_dropped)
            if len(going) < len(rows):
                chosen = np.array(going, dtype=np.int64)
                columns.select(chosen)
                select_rows(cache, torch.from_numpy(chosen))
            self._repack(columns, cache)
        return going

    def _pass(self, rows: list[Row], columns: Columns, cache: Any, is_prompt: bool) -> list[tuple[int, ...] | None]:
        """Run one pass and decide; return which drafted tokens of each row stay in the cache."""
        parents = None if all(row.run.is_chain for row in rows) else [row.run.parents for row in rows]
        block = columns.block([row.head for row in rows], [row.run.token_ids for row in rows], parents)
        started = time.perf_counter()
        launched = self._runner.run(block, cache)
        if self._runner.device.type == "cuda":  # the pass runs on its own: there is time until its logits are asked for
            for row in rows:
                row.foresee()
        logits = PassLogits(launched, in_place=self._reads_all)
        elapsed = time.perf_counter() - started
        if logits.n_rows != self._vocabulary.n_rows:
            raise VocabularyError(
                f"the vocabulary has {self._vocabulary.n_rows} rows, the model's output has {logits.n_rows}."
            )
        if not is_prompt:
            self._policy.costs.observe(int(block.input_ids.size), elapsed)
        kept: list[tuple[int, ...] | None] = []
        for index, row in enumerate(rows):
            row.statistics.forward_passes += 1
            row.statistics.model_s += elapsed / len(rows)
            is_single = block.input_ids.shape[1] == 1
            kept.append(row.verify(logits, index, None if is_single else self._near_tie))
        return kept

    def _repack(self, columns: Columns, cache: Any) -> None:
        import torch

        window = self._runner.plan.window
        if window is not None and columns.width + 1 + self._planner.max_width < window:
            window = None  # nothing reaches past the window yet, so columns need not be counted
        room = self._runner.plan.room(columns.width)
        index = columns.repack(window, room is not None and room <= self._slack)
        if index is not None:
            move_columns(cache, torch.from_numpy(index))


def _result(row: Row) -> RowResult:
    numbers = row.statistics
    if row.legal is not None:
        numbers.mask_s, numbers.n_masks = row.legal.mask_s, row.legal.n_masks
        numbers.law_given_up_at = getattr(row.legal.matcher, "given_up_at", None)
    return RowResult(tuple(row.output), row.finish or "length", numbers)
