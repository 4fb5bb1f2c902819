"""Masks put together of what single heads read: what a set of heads can read is what one of them can.

In a grammar the same few heads come back over ever new stacks: an operand behind each operator, in each bracket. Which
tokens such a head reads whole, and at which nodes of the tries it may end, does not depend on what lies below it, so
that is kept; what lies below goes on from these nodes. Heads whose walks are short are walked together each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernels as k
from .shared_rows import AtOnce, Reads, Stuck
from .walks import walk_heads

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask

MIN_HEADS = 3  # below, and without names less keywords, heads are walked together
MAX_ROUNDS, MAX_WANTED = 12, 32  # of building, and what is built in one; beyond, a head is not walked by itself


class HeadMemos:
    """Of one generation of states."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def suits(self, heads: Heads) -> bool:
        """Whether a mask of closed heads is put together."""
        automaton = self._engine.automaton
        return not automaton.anchors and (len(heads) >= MIN_HEADS or bool(automaton.less_at))

    def row(self, heads: Heads, stuck: Stuck) -> tuple[Mask, Reads | None]:
        """The mask of closed heads for which a walk stopped: as it is kept; or not kept and without end-of-sequence,
        and what was read of the stacks."""
        engine, is_long = self._engine, False
        answer, walker, row = stuck.answer, stuck.walker, stuck.row
        for n_rounds in range(1, MAX_ROUNDS + 2):
            wanted = walker.wanted() if answer in (k.NEED_BUILD, k.NEED_HEADS) else []
            if answer == k.NEED_ROOM:
                walker.grow()
            engine.walkers.give(walker)
            if n_rounds > MAX_ROUNDS or len(wanted) > MAX_WANTED:
                break
            self._provide(answer, wanted)
            is_long = is_long or answer == k.LONG  # then others go on meanwhile
            if not is_long:
                engine.rows.give_back(row)
                with engine.lock:
                    found = engine.rows.at_once(heads)
                if isinstance(found, AtOnce):
                    engine.counters.walk_rounds += n_rounds
                    return found.row, None
                answer, walker, row = found.answer, found.walker, found.row
                continue
            row.fill(0)
            held, walker = engine.walkers.take_one(engine.tables, len(heads) + 1)
            with held:
                walker.load(heads)
                answer = k.walk_apart(walker.ctx, len(heads), row, k.ANY_VISITS, False)
            if answer == k.OK:
                deepest, sets_read, anchors_pushed = walker.counts[k.DEEPEST : k.SHAPED].tolist()
                engine.walkers.give(walker)
                engine.count_walks(1, n_rounds + 1)
                return row, Reads(deepest, bool(sets_read or anchors_pushed))
        engine.rows.give_back(row)
        return walk_heads(engine, heads)[:2]  # walked together, they go on where they waited

    def _provide(self, answer: int, wanted: list[int]) -> None:
        """Make what a walk asked for."""
        engine = self._engine
        if answer == k.NEED_BUILD:
            engine.make(wanted)
        elif answer == k.NEED_HEAD_ROOM:
            with engine.lock:
                engine.walkers.settle()
                engine.tables.head_memos.grow()
        for code in wanted if answer == k.NEED_HEADS else ():
            self._keep(code)

    def _keep(self, code: int) -> None:
        """Walk a head by itself, and keep what it reads."""
        engine = self._engine
        mask = engine.rows.empty_row()
        is_full, n_rounds = engine.tables.head_memos.n >= k.MAX_HEAD_MEMOS, 0
        while not is_full:
            held, walker = engine.walkers.take_one(engine.tables, 1)
            with held:
                result, n_exits = k.walk_head(walker.ctx, code, mask)
                wanted = walker.wanted() if result == k.NEED_BUILD else []
                exits = walker.exits[: n_exits if result == k.OK else 0].copy()
                shaped, is_many = int(walker.counts[k.SHAPED]), False
                if result == k.NEED_ROOM:
                    walker.grow()
                elif shaped and result == k.OK and engine.automaton.less_at:  # a name: keywords begin at many places
                    is_many = k.ends_by_shape(walker.ctx, exits, len(exits)) > k.MANY_EXITS
            engine.walkers.give(walker)
            if is_many:
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
            if not tables.state_head.array[code]:  # else by another thread meanwhile
                with engine.changing():
                    if is_full:
                        tables.state_head.array[code] = k.NO_HEAD_MEMO
                    while not is_full and k.enter_head(tables.ctx, code, mask, exits, len(exits)) != k.OK:
                        tables.head_memos.grow()
        engine.rows.give_back(mask)
