"""How many values a part still can have, whatever came: a lower bound by structure, so that few things are searched.

From a place in the middle of a part, bytes may lead into a string that may go on with any of `n` characters. Values
that differ there are different values, so of fewer than `n` values that came none is left without another. The bound
depends on the automaton's place and not on what came, so that it is kept.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .partial_json import Mode, Value
from .shortest import byte_order
from .unique import Level

if TYPE_CHECKING:
    from .engine import Heads
    from .unique_runs import Group, Levels, UniqueRuns

MAX_WAYS = 12  # from one place
MAX_BYTES = 200  # of one way
MAX_DIGITS = 4
MAX_KEPT = 20_000
CHARACTERS = ((1 << 127) - (1 << 0x20)) & ~(1 << 0x22 | 1 << 0x5C)  # bytes that are a character by themselves
_MARKS = sum(1 << byte for byte in b'"{[, 1')
ENDS = sum(1 << byte for byte in b",]} \t\r\n")


class Rooms:
    """The bounds that were found."""

    def __init__(self, runs: UniqueRuns) -> None:
        self.runs = runs
        self._kept: dict[object, int] = {}

    def room(self, group: Group) -> int:
        """The part that runs or comes next, and the one around it, and so on, can each have so many values or more."""
        key = (group[0], tuple(_sign(level) for level in group[1]))
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            found = self._kept[key] = self._search((group[0], tuple(map(bare, group[1]))))
        return found

    def _search(self, start: Group) -> int:
        """Along the shortest way to the end, and along the shortest ones behind each of the first bytes."""
        last = start[1][-1].item
        if last is not None and last.mode is Mode.KEY:  # it must not come again, so that what follows is no matter
            return self._here(start)
        is_key_due = last is not None and last.mode is Mode.KEY_DUE
        best = 0 if is_key_due else self._along(start, len(start[1]))
        for byte in byte_order(self.runs.live_bytes(start[0]) & _MARKS)[:MAX_WAYS]:
            if best:
                break
            for after in self.runs.run_groups((start,), bytes([byte])):
                if _goes_on(after[1], len(start[1])):
                    best = max(best, self._here(after) if is_key_due else self._along(after, len(start[1])))
        return best

    def _along(self, here: Group, n_levels: int) -> int:
        """The bound at the first place on the shortest way from here that gives one."""
        text = self.runs.shortest(here[0]) or b""
        best = self._here(here)
        for at in range(min(len(text), MAX_BYTES)):
            following = () if best else self.runs.run_groups((here,), text[at : at + 1])
            if not following or not _goes_on(following[0][1], n_levels):
                break
            here = following[0]
            best = self._here(here)
        return best

    def _here(self, group: Group) -> int:
        """Inside a string the characters that may come; inside a number, how digits may go on."""
        heads, levels = group
        item = levels[-1].item
        if item is None or item.escaped or b"\\" in item.text:
            return 0
        if item.mode in (Mode.STRING, Mode.KEY):
            return (self.runs.live_bytes(heads) & CHARACTERS).bit_count()
        if item.mode is not Mode.NUMBER or b"e" in item.text or b"E" in item.text:
            return 0
        found, ways = 0, {heads: 1}
        for _ in range(MAX_DIGITS):
            longer: dict[Heads, int] = {}
            for before, n in ways.items():
                for digit in b"123456789":  # no zero at the end, so that others are other values
                    after = self.runs.engine.run_plain(before, np.array([digit], np.uint8))
                    if after:
                        longer[after] = longer.get(after, 0) + n
            ways = longer
            found += sum(n for after, n in ways.items() if self.runs.live_bytes(after) & ENDS)
        return found


def _goes_on(levels: Levels, n: int) -> bool:
    """Whether the parts that ran still do."""
    return len(levels) >= n and not any(level.used for level in levels[:n])


def _sign(level: Level) -> object:
    """What the bound depends on, of a level: how it goes on, and the keys that must not come again."""
    item = level.item
    if item is None:
        return level.is_due
    keys, inside = [], item.inside
    while inside is not None:
        keys.append(tuple(key for key, _ in inside.done) if inside.is_object else None)
        inside = inside.below
    return item.mode, item.escaped, tuple(keys)


def bare(level: Level) -> Level:
    """The level as if nothing had come."""
    return replace(level, used=frozenset(), rivals=())


def n_parts(levels: Levels) -> int:
    """How many values or keys the next parts must differ from, at most."""
    n = 0
    for level in levels:
        item = level.item
        in_keys = item is not None and item.mode in (Mode.KEY_FIRST, Mode.KEY_DUE, Mode.KEY)
        n += sum(map(_n_keys, level.rivals)) if in_keys else len(level.rivals) if item is not None else len(level.used)
        inside = item.inside if item is not None else None
        while inside is not None:
            n, inside = n + len(inside.done) * inside.is_object, inside.below
    return n


@lru_cache(8192)
def _n_keys(value: Value) -> int:
    """How many members a value has in all, at least 1."""
    kind, content = value
    if kind == "o":
        return sum(1 + _n_keys(member) for _, member in content) or 1
    return sum(map(_n_keys, content)) or 1 if kind == "a" else 1
