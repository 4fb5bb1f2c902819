"""Slow, exact matching of whole texts: the independent twin of the compiled automaton.

A configuration is a set of stacks of frames, kept as one interned node: which frames may be on top, and for each the
set of stacks below it. Equal sets are one object, and sets that come together are joined frame by frame, so that an
ambiguous grammar costs what its different situations cost and not what its readings would. Used by
`Constraint.matches` (no vocabulary needed) and by tests as the reference. Below an array or object without equal items
or keys (`unique`) the stack holds what is known of them in place of the anchor.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Final, TypeAlias

from .empty_text import nullable
from .expressions import EPSILON, K_ANCHOR, Expr
from .moves import moves
from .unique import Level, first_level, read_values

MAX_JOINS = 1 << 17  # unions that are remembered
KEPT_JOINS = 256  # from one text to the next


@dataclass(frozen=True, slots=True)
class Anchored:
    """An anchor with the values that came so far."""

    anchor: Expr
    level: Level


Frame: TypeAlias = Expr | Anchored


class Stacks:
    """A set of stacks. `tops`: the frames that may be on top, each with what lies below; `has_bottom`: the empty stack
    belongs to it; `has_anchor`: an anchor is inside. False where the set is empty."""

    __slots__ = ("__weakref__", "_closed", "has_anchor", "has_bottom", "tops", "uid")

    def __init__(self, tops: tuple[tuple[Frame, Stacks], ...], has_bottom: bool, uid: int) -> None:
        self.tops, self.has_bottom, self.uid = tops, has_bottom, uid
        self.has_anchor: bool = any(isinstance(frame, Anchored) or below.has_anchor for frame, below in tops)
        self._closed: Stacks | None = None

    def __bool__(self) -> bool:
        return self.has_bottom or bool(self.tops)


_interned: weakref.WeakValueDictionary[tuple[frozenset[tuple[Frame, Stacks]], bool], Stacks] = (
    weakref.WeakValueDictionary()
)
_joined: dict[tuple[Stacks, Stacks], Stacks] = {}
_uids = iter(range(1 << 62))


def _stacks(tops: dict[Frame, Stacks], has_bottom: bool) -> Stacks:
    """The one node with this content."""
    key = (frozenset(tops.items()), has_bottom)
    found = _interned.get(key)
    if found is None:
        found = _interned[key] = Stacks(tuple(tops.items()), has_bottom, next(_uids))
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
        found, done = stacks, dict[Frame, Stacks]()
        changed = True
        while changed:
            changed = False
            for frame, below in found.tops:
                if done.get(frame) is not below and nullable(_expr(frame)):
                    done[frame] = below
                    found = union(found, _without_itself(frame, below))
                    changed = True
        stacks._closed = found
    return stacks._closed


def _without_itself(frame: Frame, stacks: Stacks) -> Stacks:
    """What lies below a frame that may end; below the same frame once more what lies there instead, since `x x y` holds
    what `x y` does."""
    while len(stacks.tops) == 1 and stacks.tops[0][0] is frame and not stacks.has_bottom:
        stacks = stacks.tops[0][1]
    return stacks


def _expr(frame: Frame) -> Expr:
    return frame.anchor if isinstance(frame, Anchored) else frame


def step(stacks: Stacks, byte: int) -> Stacks:
    """The stacks after one more byte; empty where the byte is not legal."""
    found: dict[Frame, Stacks] = {}
    ended = NOTHING
    noted: dict[Stacks, Stacks] = {}
    for top, below in closure(stacks).tops:
        after = [frames for mask, frames in moves(_expr(top)) if mask >> byte & 1]
        if not after or (isinstance(top, Anchored) and read_values(top.level, bytes([byte])) is None):
            continue
        rest = _note(below, bytes([byte]), noted)
        for frames in after if rest else ():
            if not frames:
                ended = union(ended, rest)
                continue
            pushed = rest
            for frame in reversed(frames[1:]):
                pushed = _stacks({_started(frame): pushed}, False)
            first = _started(frames[0])
            found[first] = union(found.get(first, NOTHING), pushed)
    return union(_stacks(found, False), ended) if found else ended


def _started(frame: Expr) -> Frame:
    return Anchored(frame, first_level(frame.data)) if frame.kind == K_ANCHOR else frame


def _note(stacks: Stacks, byte: bytes, noted: dict[Stacks, Stacks]) -> Stacks:
    """The stacks with the byte noted wherever equal parts are not allowed, without those where it makes two equal."""
    work = [stacks]
    while work:
        here = work[-1]
        if not here.has_anchor:
            noted[here] = here
        missing = [] if here in noted else [below for _, below in here.tops if below not in noted]
        if missing:
            work += missing
            continue
        work.pop()
        if here not in noted:
            noted[here] = _noted(here, byte, noted)
    return noted[stacks]


def _noted(stacks: Stacks, byte: bytes, noted: dict[Stacks, Stacks]) -> Stacks:
    tops: dict[Frame, Stacks] = {}
    for frame, below in stacks.tops:
        level = read_values(frame.level, byte) if isinstance(frame, Anchored) else None
        if noted[below] and (level is not None or not isinstance(frame, Anchored)):
            after = Anchored(frame.anchor, level) if isinstance(frame, Anchored) and level is not None else frame
            tops[after] = union(tops.get(after, NOTHING), noted[below])
    return _stacks(tops, stacks.has_bottom)


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
    accepted = accepts_end(run(expr, data))
    forget_joins()
    return accepted


def forget_joins() -> None:
    """Drop the unions that are remembered, if many: they hold the expressions of constraints that may be gone."""
    if len(_joined) > KEPT_JOINS:
        _joined.clear()
