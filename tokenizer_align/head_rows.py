"""Masks put together of those of single heads: what a set of heads can read is what one of them can.

In a grammar the same few heads come back in ever new sets: the operators behind an operand, the comma of a list, the
end of a bracket. Where a walk was long, its heads have kept masks of their own from then on, each by its frame and as
much of its stack as its walk read; those whose walks are short are walked together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import kernels as k
from .less_masks import correct, is_begun

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask
    from .shared_rows import Depths, Reads

MIN_HEADS = 3  # below, they are walked together
LONG_VISITS = 100  # nodes of the trie: a walk of several heads from which on they are looked at one by one
MIN_VISITS = 32  # nodes from which on a head's mask is kept: looking for it takes as long


class HeadRows:
    """Of one generation of states. `n_found`: masks of heads that were there."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._visits: dict[int, int] = {}  # by code; MIN_VISITS where only a longer walk is known
        self.n_found = 0

    def suits(self, heads: Heads) -> bool:
        """Whether a mask of closed heads is put together."""
        if self._engine.automaton.anchors:
            return False
        known = self._engine.automaton.less_at
        return len(heads) >= MIN_HEADS or (bool(known) and any(is_begun(known, code) for code, _ in heads))

    def mask(self, heads: Heads) -> tuple[Mask, Reads | Depths | None]:
        """The mask of closed heads, not kept and without end-of-sequence, and what it depends on."""
        engine, known = self._engine, self._engine.automaton.less_at
        apart = [
            i
            for i, (code, _) in enumerate(heads)
            if (is_begun(known, code) if code in known else self._visits.get(code, 0) >= MIN_VISITS)
        ]
        if not apart:
            return self._together(heads)
        mask, depths = engine.rows.empty_row(), dict[int, int | None]()
        for i in apart:
            code, stack = heads[i]
            depths[i] = self._add_less(mask, code, stack) if code in known else self._add(mask, code, stack)
        others = [i for i in range(len(heads)) if i not in depths]
        chosen = tuple([heads[i] for i in others])
        if any(code != k.ACCEPT for code, _ in chosen):
            row, reads = self._together(chosen)
            np.bitwise_or(mask, row, out=mask)
            with engine.lock:
                engine.rows.give_back(row)
                read = [None] * len(chosen) if reads.is_apart else engine.rows.depths_of(chosen, reads.deepest)
            depths.update(zip(others, read, strict=True))
        whole = tuple([depth for i in range(len(heads)) if (depth := depths.get(i, 0)) is not None])
        return mask, whole if len(whole) == len(heads) else None

    def _together(self, heads: Heads) -> tuple[Mask, Reads]:
        """The mask of heads that are walked together."""
        engine = self._engine
        before = engine.walkers.visited()[0]
        row, reads, _ = engine.walk_heads(heads)
        if engine.walkers.visited()[0] - before >= LONG_VISITS:
            with engine.lock:
                for code, _ in heads:
                    if 0 < code < k.LIT_BASE:
                        self._visits.setdefault(code, MIN_VISITS)
        return row, reads

    def _add(self, mask: Mask, code: int, stack: int) -> int | None:
        row, depth = self._row(code, stack)
        np.bitwise_or(mask, row, out=mask)
        return depth

    def _add_less(self, mask: Mask, code: int, stack: int) -> int | None:
        """The same for a name less keywords in which one has begun: as the plain name, and put right."""
        engine = self._engine
        less = engine.automaton.less_at[code]
        ((plain, stack_too),) = engine.clamped(((less.code, stack),))
        row, depth = self._row(plain, stack_too)
        own, deepest, is_apart = correct(engine, (code, stack), row)
        np.bitwise_or(mask, own, out=mask)
        if depth is None or is_apart:
            return None
        with engine.lock:
            if own is not row:
                engine.rows.give_back(own)
            return max(depth, engine.rows.depths_of(((code, stack),), deepest)[0])

    def _row(self, code: int, stack: int) -> tuple[Mask, int | None]:
        """The kept mask of a head, and how many cells of its stack matter; None: all."""
        engine, head = self._engine, ((code, stack),)
        with engine.lock:
            found = engine.rows.look(head)
        if found is None:
            before = engine.walkers.visited()[0]
            row, reads, _ = engine.walk_heads(head)
            visits = engine.walkers.visited()[0] - before  # of others too, as the case may be
            with engine.lock:
                self._visits[code] = visits
                row = engine.rows.keep(head, row, reads)
                return row, None if reads.is_apart else engine.rows.depths_of(head, reads.deepest)[0]
        self.n_found += 1
        row, depths = found
        return row, None if depths is None else depths[0]
