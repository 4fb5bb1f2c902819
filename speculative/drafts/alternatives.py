"""Alternatives as branches: where few ways are open, each way and what it forces next.

So a decision of the model and the run behind it are verified in one pass: the values of an enum, true or false, an
optional key or the closing bracket (DESIGN.md section 4).
"""

from __future__ import annotations

from collections.abc import Sequence

from speculative.drafts import Draft, DraftContext
from speculative.drafts.determined import runs_of
from speculative.protocols import VocabularyLike
from tokenizer_align.ways import Way

__all__ = ["Alternatives"]


class Alternatives:
    """The draft source of ways; kinds are "way2", "way3" ... where one of so many is taken, "run" between, "edge"."""

    name = "ways"

    def __init__(self, vocabulary: VocabularyLike) -> None:
        self._runs = runs_of(vocabulary)
        self._token_bytes = vocabulary.token_bytes

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        if context.matcher is None:
            return ()
        drafts = (self._draft(way, context, limit) for way in context.matcher.likely_ways(context.layout))
        return [draft for draft in drafts if draft is not None]

    def _draft(self, way: Way, context: DraftContext, limit: int) -> Draft | None:
        ids = self._runs.encode(context.output_ids, way.data)
        if not ids:
            return None
        kinds, end, choices = [], 0, list(way.choices)
        for token in ids:
            end += len(self._token_bytes[token] or b"")
            n_ways = 1
            while choices and choices[0][0] < end:
                n_ways *= choices.pop(0)[1]
            kinds.append("run" if n_ways == 1 else f"way{min(n_ways, 16)}")
        if kinds[-1] == "run":
            kinds[-1] = "edge"
        return Draft(self.name, ids, tuple(kinds)).cut(limit)
