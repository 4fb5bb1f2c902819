"""Masks put together of what single heads read: what a set of heads can read is what one of them can.

In a grammar the same few heads come back over ever new stacks: an operand behind each operator, in each bracket. Which
tokens such a head reads whole, and at which nodes of the tries it may end, does not depend on what lies below it, so
that is kept; what lies below goes on from these nodes. Heads whose walks are short are walked together each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .shared_rows import Reads

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask

MIN_HEADS = 3  # below, and without names less keywords, heads are walked together
MANY_EXITS = 16  # in the trie by shape: going on from more takes longer than from a memo's residual trie
MAX_ROUNDS, MAX_WANTED = 12, 32  # of building, and what is built in one; beyond, a head is not walked by itself
MAX_MEMOS = 1_000  # of one generation; a large one takes as much as a mask


class HeadMemos:
    """Of one generation of states."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def suits(self, heads: Heads) -> bool:
        """Whether a mask of closed heads is put together."""
        automaton = self._engine.automaton
        return not automaton.anchors and (len(heads) >= MIN_HEADS or bool(automaton.less_at))

    def mask(self, heads: Heads) -> tuple[Mask, Reads]:
        """The mask of closed heads, not kept and without end-of-sequence, and what was read of the stacks."""
        engine, mask, n_rounds = self._engine, self._engine.rows.empty_row(), 0
        while True:
            held, walker = engine.walkers.take_one(engine.tables, len(heads) + 1)
            with held:
                walker.load(heads)
                result = k.walk_apart(walker.ctx, len(heads), mask)
                wanted = walker.wanted() if result in (k.NEED_BUILD, k.NEED_HEADS) else []
                if result == k.NEED_ROOM:
                    walker.grow()
                deepest, sets_read, anchors_pushed = walker.counts[k.DEEPEST : k.SHAPED].tolist()
            engine.walkers.give(walker)
            n_rounds += 1
            if result == k.OK:
                engine.count_walks(1, n_rounds)
                return mask, Reads(deepest, bool(sets_read or anchors_pushed))
            if n_rounds > MAX_ROUNDS or len(wanted) > MAX_WANTED:  # walked together, they go on where they waited
                engine.rows.give_back(mask)
                return engine.walk_heads(heads)[:2]
            if result == k.NEED_BUILD:
                engine.make(wanted)
            for code in wanted if result == k.NEED_HEADS else ():
                self._keep(code)
            mask.fill(0)

    def _keep(self, code: int) -> None:
        """Walk a head by itself, and keep what it reads."""
        engine = self._engine
        mask = engine.rows.empty_row()
        is_full, n_rounds = engine.tables.head_memos.n >= MAX_MEMOS, 0
        while not is_full:
            held, walker = engine.walkers.take_one(engine.tables, 1)
            with held:
                result, n_exits = k.walk_head(walker.ctx, code, mask)
                wanted = walker.wanted() if result == k.NEED_BUILD else []
                exits = walker.exits[: n_exits if result == k.OK else 0].copy()
                shaped = int(walker.counts[k.SHAPED])
                if result == k.NEED_ROOM:
                    walker.grow()
            engine.walkers.give(walker)
            if result == k.OK and shaped and self._is_memo_better(exits):
                engine.make([k.MEMO_REQUEST | shaped])
            elif result in (k.OK, k.EMPTY):
                is_full = result == k.EMPTY
                break
            n_rounds += 1
            if n_rounds > MAX_ROUNDS or len(wanted) > MAX_WANTED:
                is_full = True
                break
            if wanted:
                engine.make(wanted)
            mask.fill(0)
        with engine.lock:
            engine.walkers.settle()
            tables = engine.tables
            if tables.state_head.array[code]:
                return  # by another thread
            with engine.changing():
                tables.state_head.array[code] = k.NO_HEAD_MEMO if is_full else 1 + self._enter(mask, exits)
        engine.rows.give_back(mask)

    def _is_memo_better(self, exits: npt.NDArray[np.int32]) -> bool:
        """Whether the memo of a name, whose exits are one trie, should be made: keywords begin in it at many places."""
        tables = self._engine.tables
        root = int(tables.ctx[k.SHAPE_ROOT])
        n_by_shape = np.count_nonzero((exits >= root) & (exits < tables.trie_end.array[root]))
        return bool(self._engine.automaton.less_at) and int(n_by_shape) > MANY_EXITS

    def _enter(self, mask: Mask, exits: npt.NDArray[np.int32]) -> int:
        """Write it into the arrays; nothing walks meanwhile. Returns its number."""
        tables = self._engine.tables
        n_ids = int.from_bytes(mask.tobytes(), "little").bit_count()
        kind, place = k.BASE_NONE, 0
        if n_ids > self._engine.n_words:
            kind, place = k.BASE_DENSE, tables.base_rows.extend(mask)
        elif n_ids:
            ids = np.empty(n_ids, np.int32)
            k.allowed_ids(mask, ids)
            kind, place = k.BASE_LIST, tables.base_lists.extend(ids)
        return tables.head_memos.extend([kind, place, n_ids, tables.head_exits.extend(exits), len(exits)])
