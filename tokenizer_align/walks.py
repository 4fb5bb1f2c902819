"""Walks of several heads together, which wait for what is not built yet and then go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernels as k
from .shared_rows import Reads, Stuck

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask


def walk_heads(engine: Engine, heads: Heads, begun: Stuck | None = None) -> tuple[Mask, Reads, bool]:
    """The mask of the automaton, what the walk read of the stacks, and whether anchors came onto one.

    begun: a walk of the same heads that stopped.
    """
    n_rounds, begins = 0, True
    if begun is None:
        mask = engine.rows.some_row()
        held, walker = engine.walkers.take_one(engine.tables, len(heads))
    else:
        mask, walker = begun.row, begun.walker
        if begun.answer == k.NEED_BUILD:
            begins, n_rounds = bool(walker.counts[k.LOST]), 1
            engine.make(walker.wanted())
        elif begun.answer == k.NEED_ROOM:
            walker.grow()
        held = engine.walkers.hold(walker, engine.tables)
    n_before = int(walker.counts[k.NODES_VISITED])
    while True:
        with held:
            if begins:
                walker.load(heads)
            result = k.walk_row(walker.ctx, len(heads) if begins else -1, mask, k.ANY_VISITS)
            wanted = walker.wanted() if result == k.NEED_BUILD else []
            if result == k.NEED_ROOM:
                walker.grow()
            begins = result == k.NEED_ROOM or bool(walker.counts[k.LOST])
        n_rounds += 1
        if result == k.OK:
            break
        if result == k.NEED_BUILD:
            engine.make(wanted)
        held = engine.walkers.hold(walker, engine.tables)
    deepest, sets_read, anchors_pushed, shaped = walker.counts[k.DEEPEST : k.SHAPED + 1].tolist()
    n_visits = int(walker.counts[k.NODES_VISITED]) - n_before
    engine.walkers.give(walker)
    engine.count_walks(1, n_rounds)
    if shaped:
        engine.shape_walks.note(engine, shaped, n_visits)
    return mask, Reads(deepest, bool(sets_read or anchors_pushed)), bool(anchors_pushed)
