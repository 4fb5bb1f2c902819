"""Which drafts the next pass verifies: asks the sources, then the policy, and tells the policy how they fared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from speculative.drafts import Draft, DraftSource
from speculative.drafts.determined import DeterminedRuns
from speculative.options import DEFAULT_MAX_DRAFT, DecodeOptions
from speculative.policy import DraftPolicy
from speculative.protocols import VocabularyLike
from speculative.rows import Row

__all__ = ["DraftPlanner"]


class DraftPlanner:
    """Plans the drafts of one call's passes."""

    def __init__(
        self, vocabulary: VocabularyLike, options: DecodeOptions, policy: DraftPolicy, *, can_drop: bool
    ) -> None:
        self._policy = policy
        self._is_auto = options.speculate == "auto"
        self._max_draft = DEFAULT_MAX_DRAFT if options.max_draft is None else options.max_draft
        self._is_on = bool(options.speculate) and can_drop and self._max_draft > 0
        self._sources: tuple[DraftSource, ...] = (
            (DeterminedRuns(vocabulary),) if options.draft_sources is None else options.draft_sources
        )
        # Proposals that were not run, by row: judged against the tokens that come.
        self._waiting: dict[int, tuple[Draft, int]] = {}

    @property
    def max_width(self) -> int:
        """Most tokens that a pass may add to one row after its head."""
        return self._max_draft if self._is_on else 0

    def plan(self, rows: Sequence[Row]) -> None:
        """Set every row's draft for the next pass."""
        if not self._is_on or any(row.alone for row in rows):
            drafts: list[Draft | None] = [None] * len(rows)
        else:
            drafts = [row.propose(self._sources, self._max_draft) for row in rows]
        if all(draft is None for draft in drafts):
            width = 0
        elif self._is_auto:
            n_head_tokens = max(len(row.head) for row in rows) * len(rows)
            width = self._policy.width(drafts, n_head_tokens)
        else:
            width = self._max_draft
        for row, draft in zip(rows, drafts, strict=True):
            row.set_draft(draft, width)
            if draft is not None and not row.run_ids and self._is_auto:
                self._waiting.setdefault(row.index, (draft, len(row.output)))

    def learn(self, rows: Sequence[Row]) -> None:
        """Take in what the pass decided."""
        if not self._is_on:
            return
        for row in rows:
            if row.draft is not None and row.run_ids:
                n_judged = min(len(row.run_ids), row.n_accepted + (not row.alone))
                self._policy.acceptance.observe(row.draft, row.n_accepted, n_judged)
            if row.index in self._waiting:
                self._judge(row)
            if row.finish is not None and row.legal is not None:
                self._policy.layout = replace(row.layout, inline=())

    def _judge(self, row: Row) -> None:
        draft, start = self._waiting[row.index]
        came = row.output[start : start + len(draft.token_ids)]
        n_agreed = 0
        while n_agreed < len(came) and came[n_agreed] == draft.token_ids[n_agreed]:
            n_agreed += 1
        if n_agreed < len(came) or n_agreed == len(draft.token_ids) or row.finish is not None:
            self._policy.acceptance.observe(draft, n_agreed, len(came))
            del self._waiting[row.index]
