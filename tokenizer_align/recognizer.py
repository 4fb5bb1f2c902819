"""Slow, exact matching of whole texts: the independent twin of the compiled automaton.

A configuration is a set of stacks of frames, kept as one interned node: which frames may be on top, and for each the
set of stacks below it. Equal sets are one object, and sets that come together are joined frame by frame, so that an
ambiguous grammar costs what its different situations cost and not what its readings would. Used by
`Constraint.matches` (no vocabulary needed) and by tests as the reference.
"""

from __future__ import annotations

import weakref
from typing import Final

from .derivatives import moves, nullable
from .expressions import EPSILON, Expr

MAX_JOINS = 1 << 17  # unions that are remembered


class Stacks:
    """A set of stacks. `tops`: the frames that may be on top, each with what lies below; `has_bottom`: the empty stack
    belongs to it. False where the set is empty."""

    __slots__ = ("__weakref__", "_closed", "has_bottom", "tops", "uid")

    def __init__(self, tops: tuple[tuple[Expr, Stacks], ...], has_bottom: bool, uid: int) -> None:
        self.tops, self.has_bottom, self.uid = tops, has_bottom, uid
        self._closed: Stacks | None = None

    def __bool__(self) -> bool:
        return self.has_bottom or bool(self.tops)


_interned: weakref.WeakValueDictionary[tuple[tuple[tuple[Expr, Stacks], ...], bool], Stacks] = (
    weakref.WeakValueDictionary()
)
_joined: dict[tuple[Stacks, Stacks], Stacks] = {}
_uids = iter(range(1 << 62))


def _stacks(tops: dict[Expr, Stacks], has_bottom: bool) -> Stacks:
    """The one node with this content."""
    key = (tuple(sorted(tops.items(), key=lambda pair: pair[0].uid)), has_bottom)
    found = _interned.get(key)
    if found is None:
        found = _interned[key] = Stacks(*key, next(_uids))
    return found


NOTHING: Final = _stacks({}, False)
BOTTOM: Final = _stacks({}, True)


def union(a: Stacks, b: Stacks) -> Stacks:
    """Both sets together; what lies below a common top is joined in turn. No recursion: stacks may be deep."""
    if a is b or not b:
        return a
    if not a:
        return b
    if len(_joined) > MAX_JOINS:
        _joined.clear()
    first = _ordered(a, b)
    work = [first]
    while work:
        here = work[-1]
        if here in _joined:
            work.pop()
            continue
        tops, others = dict(here[0].tops), dict(here[1].tops)
        missing = []
        for frame, below in others.items():
            mine = tops.get(frame)
            if mine is None or mine is below:
                tops[frame] = below
            elif (joined := _joined.get(_ordered(mine, below))) is not None:
                tops[frame] = joined
            else:
                missing.append(_ordered(mine, below))
        if missing:
            work += missing
        else:
            _joined[here] = _stacks(tops, here[0].has_bottom or here[1].has_bottom)
            work.pop()
    return _joined[first]


def _ordered(a: Stacks, b: Stacks) -> tuple[Stacks, Stacks]:
    return (a, b) if a.uid < b.uid else (b, a)


def start(expr: Expr) -> Stacks:
    """The stacks before anything was read."""
    return BOTTOM if expr is EPSILON else _stacks({expr: BOTTOM}, False)


def closure(stacks: Stacks) -> Stacks:
    """Also the stacks below frames that may end here."""
    if stacks._closed is None:
        found, done = stacks, dict[Expr, Stacks]()
        changed = True
        while changed:
            changed = False
            for frame, below in found.tops:
                if done.get(frame) is not below and nullable(frame):
                    done[frame] = below
                    found = union(found, below)
                    changed = True
        stacks._closed = found
    return stacks._closed


def step(stacks: Stacks, byte: int) -> Stacks:
    """The stacks after one more byte; empty where the byte is not legal."""
    found: dict[Expr, Stacks] = {}
    ended = NOTHING
    for top, below in closure(stacks).tops:
        for mask, frames in moves(top):
            if mask >> byte & 1:
                if not frames:
                    ended = union(ended, below)
                    continue
                after = below
                for frame in reversed(frames[1:]):
                    after = _stacks({frame: after}, False)
                found[frames[0]] = union(found.get(frames[0], NOTHING), after)
    return union(_stacks(found, False), ended) if found else ended


def accepts_end(stacks: Stacks) -> bool:
    """Whether the text may end here."""
    return closure(stacks).has_bottom


def run(expr: Expr, data: bytes) -> Stacks:
    """The stacks after the bytes; empty where they are not the beginning of a legal text."""
    stacks = start(expr)
    for byte in data:
        if not stacks:
            break
        stacks = step(stacks, byte)
    return stacks


def matches(expr: Expr, data: bytes) -> bool:
    """Whether the bytes are exactly a text of the expression."""
    return accepts_end(run(expr, data))
