"""Running through arrays and objects without equal parts: the engine's kernels, and what came so far beside the stack.

The kernels take the anchors of `unique` for closing brackets. So heads inside tracked arrays or objects are `Tracked`:
the same heads in groups that share their levels, one for each anchor on the stack. Bytes are run in pieces that end at
a bracket, where anchors come and go. What is left is kept only if it can be completed without equal parts: at once
where no level is at risk, else by counting what an item can still be (`unique_rooms`, `unique_counts`), or by a search
for bytes after which none is. Beyond `MAX_SEARCH` places it counts as dead, which `left_out` says.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from . import kernels as k
from .partial_json import Container, Mode, Value
from .shortest import byte_order
from .unique import Level, first_level, read_level
from .unique_counts import ValueCounts
from .unique_rooms import Rooms, n_parts

if TYPE_CHECKING:
    from .engine import Engine, Heads

Levels = tuple[Level, ...]  # outermost first
Group = tuple["Heads", Levels]

MAX_SEARCH = 3_000  # places looked at to see whether an item can still differ from those that came
MAX_KEPT = 20_000  # runs and sets of bytes that are kept

_PIECE = re.compile(rb"[^\[\]{}]*[\[\]{}]|[^\[\]{}]+")
BRACKETS = frozenset(b"[]{}")
_BLANKS = sum(1 << byte for byte in b" \t\r\n")
BRACKET_BITS = sum(1 << byte for byte in BRACKETS)


class Tracked(tuple[tuple[int, int], ...]):
    """Closed heads, some of them inside tracked arrays or objects; equal where what came there is equal as well."""

    groups: tuple[Group, ...]

    def __new__(cls, groups: tuple[Group, ...]) -> Tracked:
        self = super().__new__(cls, [head for heads, _ in groups for head in heads])
        self.groups = groups
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Tracked) and self.groups == other.groups)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.groups)


def groups_of(heads: Heads) -> tuple[Group, ...]:
    """The groups of any heads."""
    return heads.groups if isinstance(heads, Tracked) else ((heads, ()),)


def loose(heads: Heads) -> Heads:
    """The heads without what came."""
    return tuple(sorted(set(heads))) if isinstance(heads, Tracked) else heads


def heads_of(groups: tuple[Group, ...]) -> Heads:
    """Plain heads where nothing is tracked, else tracked ones."""
    if not groups:
        return ()
    return groups[0][0] if len(groups) == 1 and not groups[0][1] else Tracked(groups)


def is_at_risk(levels: Levels) -> bool:
    """Whether some part that runs or comes next may turn out to be one that came."""
    return any(level.is_at_risk for level in levels)


def read_levels(levels: Levels, data: bytes) -> Levels | None:
    """All levels after bytes of which none opens or closes one; None where something came twice."""
    found = []
    for level in levels:
        after = read_level(level, data)
        if after is None:
            return None
        found.append(after)
    return tuple(found)


def keys_ascend(start: Levels) -> Callable[[Levels], bool]:
    """Asks of levels whether the keys of the innermost object ascend from `start` on: then each set comes once."""
    fixed: dict[tuple[int, int], int] = {}  # (level, depth) -> keys that are there at the start
    for i, level in enumerate(start):
        inside = level.item.inside if level.item is not None else None
        while inside is not None:
            fixed[i, _depth(inside)] = len(inside.done) + 1
            inside = inside.below

    def is_tried(levels: Levels) -> bool:
        item = levels[-1].item if levels else None
        if item is None or item.mode is not Mode.COLON or item.inside is None or item.inside.key is None:
            return True
        done = item.inside.done[fixed.get((len(levels) - 1, _depth(item.inside)), 0) :]
        return not done or bool(done[-1][0] < item.inside.key)

    return is_tried


def _depth(container: Container) -> int:
    n, below = 1, container.below
    while below is not None:
        n, below = n + 1, below.below
    return n


class UniqueRuns:
    """What the engine does with tracked heads. Its methods are called under the engine's lock."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._live: dict[Heads, int] = {}
        self._after: dict[tuple[Heads, int], Heads] = {}
        self.completions: dict[Group, tuple[bytes | None, frozenset[Value]]] = {}  # of `unique_shared`
        self._shortest: dict[Heads, bytes | None] = {}
        self.rooms, self.counts = Rooms(self), ValueCounts(self)
        self.n_undecided = 0  # places that count as dead since it is too hard to decide

    # --- running --------------------------------------------------------------------------------------------------

    def run(self, heads: Heads, data: bytes) -> Heads:
        """The closed heads after the bytes, as far as the text can be completed."""
        groups = self.run_groups(groups_of(heads), data)
        return heads_of(tuple(group for group in groups if self.is_live(group)))

    def run_groups(self, groups: tuple[Group, ...], data: bytes) -> tuple[Group, ...]:
        """The groups after the bytes; whether they can be completed is not looked at."""
        for piece in _PIECE.findall(data):
            found: list[tuple[list[tuple[int, int]], Levels]] = []
            for heads, levels in groups:
                after_levels = read_levels(levels, piece)
                if after_levels is not None:
                    one_byte = len(piece) == 1
                    after = (
                        self.after_byte(heads, piece[0])
                        if one_byte
                        else self.engine.run_plain(heads, np.frombuffer(piece, np.uint8))
                    )
                    self._place(found, after, after_levels, piece[-1] in BRACKETS)
            groups = tuple((tuple(sorted(set(heads))), levels) for heads, levels in found)
        return groups

    def _place(
        self, found: list[tuple[list[tuple[int, int]], Levels]], heads: Heads, levels: Levels, at_bracket: bool
    ) -> None:
        """Put the heads into groups by what is known below them: a bracket may have opened or closed a level."""
        for head in heads:
            here = levels
            if at_bracket:
                n_open, kind = self._anchors(head)
                here = levels[:n_open] if n_open <= len(levels) else (*levels, first_level(kind))
            for others, others_levels in found:
                if others_levels == here:
                    others.append(head)
                    break
            else:
                found.append(([head], here))

    def _anchors(self, head: tuple[int, int]) -> tuple[int, str]:
        """(how many tracked parts are open below a head, the kind of the innermost)."""
        anchors, tables = self.engine.automaton.anchors, self.engine.tables
        states, parents = tables.cell_state, tables.cell_parent
        code, cell = head
        n, innermost = 0, ""
        while True:
            if code in anchors:
                n, innermost = n + 1, innermost or anchors[code]
            if cell < 0:
                return n, innermost
            code, cell = int(states[cell]), int(parents[cell])

    # --- what can be completed ------------------------------------------------------------------------------------

    def is_live(self, group: Group) -> bool:
        """Whether the text can be completed without equal parts."""
        levels = group[1]
        if not is_at_risk(levels):
            return True
        if n_parts(levels) < self.rooms.room(group):
            return True
        if self.is_surely_live(group) or self.counts.exceed(group):
            return True
        found = self._search(group, keys_ascend(levels))
        if not found:
            found = self._search(group, lambda _: True)
        self.n_undecided += found is None
        return bool(found)

    def _search(self, group: Group, is_tried: Callable[[Levels], bool]) -> bool | None:
        """Whether some bytes, after all of which `is_tried` holds, lead to where nothing is at risk; None: too hard."""
        work: deque[Group] = deque([group])
        seen = {group}
        while work:
            here = work.popleft()
            live = self.live_bytes(here[0])
            for byte in byte_order(live & ~_BLANKS or live):
                for after in self.run_groups((here,), bytes([byte])):
                    if self.is_surely_live(after):
                        return True
                    if after not in seen and is_tried(after[1]):
                        seen.add(after)
                        work.append(after)
            if len(seen) > MAX_SEARCH:
                return None
        return False

    def is_surely_live(self, group: Group) -> bool:
        """Whether one more byte, no bracket, is enough to see that the text can be completed."""
        heads, levels = group
        if not is_at_risk(levels):
            return True
        for byte in byte_order(self.live_bytes(heads) & ~BRACKET_BITS):
            after = read_levels(levels, bytes([byte]))
            if after is not None and not is_at_risk(after):
                return True
        return False

    def after_byte(self, heads: Heads, byte: int) -> Heads:
        """The plain heads after one byte, anchors being brackets; kept."""
        found = self._after.get((heads, byte))
        if found is None:
            if len(self._after) >= MAX_KEPT:
                self._after.clear()
            found = self._after[heads, byte] = self.engine.run_plain(heads, np.array([byte], np.uint8))
        return found

    def live_bytes(self, heads: Heads) -> int:
        """The bytes that plain heads can read, as a 256-bit mask; kept."""
        found = self._live.get(heads)
        if found is None:
            if len(self._live) >= MAX_KEPT:
                self._live.clear()
            found = self._live[heads] = self.engine.live_bytes(heads)
        return found

    def shortest(self, heads: Heads) -> bytes | None:
        """The shortest text that completes plain heads, equal parts or not; kept."""
        from .completion import shortest_of_automaton

        found = self._shortest.get(heads, b"?")
        if found == b"?":
            if len(self._shortest) >= MAX_KEPT:
                self._shortest.clear()
            found = self._shortest[heads] = shortest_of_automaton(self.engine, heads)
        return found

    def open_bytes(self, heads: Heads) -> int:
        """Which bytes may come next, as a 256-bit mask."""
        found = 0
        for heads_here, levels in groups_of(heads):
            live = self.live_bytes(heads_here) & ~found
            if not levels:
                found |= live
                continue
            for byte in byte_order(live):
                one = bytes([byte])
                after = None if byte in BRACKETS else read_levels(levels, one)
                if byte not in BRACKETS and (after is None or not is_at_risk(after)):
                    found |= (after is not None) << byte
                elif any(map(self.is_live, self.run_groups(((heads_here, levels),), one))):
                    found |= 1 << byte
        return found

    def forced_run(self, heads: Heads, limit: int) -> tuple[bytes, Heads, int]:
        """As `Engine.forced_run`."""
        out = bytearray()
        while True:
            live = self.open_bytes(heads)
            if live.bit_count() != 1 or (k.ACCEPT, -1) in heads or len(out) >= limit:
                return bytes(out), heads, live
            out.append(live.bit_length() - 1)
            heads = self.run(heads, bytes(out[-1:]))
