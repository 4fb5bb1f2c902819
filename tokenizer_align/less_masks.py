"""Masks where names less keywords have begun: those of the plain names, put right where keywords end.

A token can be legal for the plain name alone only if the name ends inside it, right behind a keyword; these are few and
are read again. So no place inside a keyword needs a memo, or a walk of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernels as k

if TYPE_CHECKING:
    from .engine import Engine, Mask
    from .less_words import Less


def is_begun(known: dict[int, Less], code: int) -> bool:
    """Whether a head is such a name in which a keyword has begun."""
    return code in known and not known[code].start.ends_frame


def correct(engine: Engine, head: tuple[int, int], row: Mask) -> tuple[Mask, int, bool]:
    """The mask of such a head; `row`: that of the plain name, which is given back where it is right, and not changed.

    Beside it what was read of the stack: cells from `deepest` on, or all of them.
    """
    less, stack = engine.automaton.less_at[head[0]], head[1]
    nodes = less.ends(engine)
    if stack < 0 or not len(nodes):
        return row, k.OWN_BASE, False
    own = engine.rows.empty_row()
    own[:] = row
    while True:
        held, walker = engine.walkers.take_one(engine.tables, 1)
        with held:
            walker.load((head,))
            result = k.correct_words(walker.ctx, 1, stack, nodes, own)
            wanted = walker.wanted() if result == k.NEED_BUILD else []
            if result == k.NEED_ROOM:
                walker.grow()
            deepest, sets_read, anchors_pushed = walker.counts[k.DEEPEST : k.SHAPED].tolist()
        engine.walkers.give(walker)
        if result == k.OK:
            return own, deepest, bool(sets_read or anchors_pushed)
        if wanted:
            engine.make(wanted)
