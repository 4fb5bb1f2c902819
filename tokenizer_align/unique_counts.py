"""How many values a part can still have, counted: a lower bound, so that what came need not be searched.

Counted are texts of one spelling: no blanks, no escapes, whole numbers without a sign, and at every key that may come
the one that is preferred. So different texts are different values, as many as there are ways through the automaton;
ways that meet in one place are counted together, by length. Each value that came excludes at most one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .partial_json import Container, Mode
from .shortest import byte_order
from .unique_rooms import CHARACTERS, ENDS

if TYPE_CHECKING:
    from .engine import Heads
    from .unique_runs import Group, Levels, UniqueRuns

MAX_PLACES = 3_000  # looked at for one count
MAX_KEPT = 20_000
LEAST = 1_024  # is counted in any case, so that a kept count serves for longer

_DIGITS = frozenset(b"0123456789")
_LITERALS = (b"true", b"false", b"null")


class Place(NamedTuple):
    """Where one value stands. `opens`: of its open containers, outermost first, the keys so far (arrays: None)."""

    mode: Mode
    opens: tuple[frozenset[bytes] | None, ...] = ()
    text: bytes = b""  # of a key or a literal


END = Place(Mode.AFTER)  # behind the whole value


class ValueCounts:
    """The counts that were made."""

    def __init__(self, runs: UniqueRuns) -> None:
        self.runs = runs
        self._kept: dict[tuple[Heads, Place], tuple[int, bool]] = {}
        self._after: dict[tuple[Heads, int], Heads] = {}

    def exceed(self, group: Group) -> bool:
        """Whether the innermost part that runs or comes next can surely have a value that no part before had."""
        place = _place_of(group[1])
        if place is None:
            return False
        n_rivals = sum(len(level.used if level.item is None else level.rivals) for level in group[1])
        key = (group[0], place)
        n, is_all = self._kept.get(key, (0, False))
        if n <= n_rivals and not is_all:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            wanted = max(2 * n_rivals, LEAST)
            n = self._count(*key, wanted)
            self._kept[key] = n, n < wanted
        return n > n_rivals

    def _count(self, heads: Heads, place: Place, wanted: int) -> int:
        found, left = 0, MAX_PLACES
        level: dict[tuple[Heads, Place], int] = {(heads, place): 1}
        while level and found < wanted and left > 0:
            left -= len(level)
            following: dict[tuple[Heads, Place], int] = {}
            for (here, at), n in level.items():
                live = self.runs.live_bytes(here)
                if at.mode is Mode.NUMBER and not at.opens and live & ENDS:
                    found += n
                for byte in _choices(at, live):
                    after = read_byte(at, byte)
                    if after is None:
                        continue
                    key = self._run(here, byte), after
                    if key[0] and after == END:
                        found += n
                    elif key[0]:
                        following[key] = following.get(key, 0) + n
            level = following
        return found

    def _run(self, heads: Heads, byte: int) -> Heads:
        found = self._after.get((heads, byte))
        if found is None:
            if len(self._after) >= MAX_KEPT:
                self._after.clear()
            found = self._after[heads, byte] = self.runs.engine.run_plain(heads, np.array([byte], np.uint8))
        return found


def _choices(place: Place, live: int) -> Iterable[int]:
    """The bytes that are tried: of keys one, else all that are a character by themselves."""
    live &= CHARACTERS | 1 << 0x22
    if place.mode is Mode.NUMBER and not place.opens:
        return [byte for byte in _DIGITS if live >> byte & 1]
    if place.mode is Mode.KEY:
        open_keys = [byte for byte in byte_order(live) if read_byte(place, byte) is not None]
        return open_keys[:1]
    return byte_order(live)


def _place_of(levels: Levels) -> Place | None:
    """Where the innermost part stands; None where it is in the middle of something that is not counted."""
    item = levels[-1].item
    if item is None:
        return Place(Mode.VALUE)
    if item.escaped or b"\\" in item.text or (item.mode is Mode.NUMBER and not _DIGITS.issuperset(item.text)):
        return None
    opens = []
    inside: Container | None = item.inside
    while inside is not None:
        keys = frozenset(key for key, _ in inside.done) if inside.is_object else None
        opens.append(keys if inside.key is None or keys is None else keys | {inside.key})
        inside = inside.below
    text = item.text if item.mode in (Mode.KEY, Mode.LITERAL) else b""
    return Place(item.mode, tuple(reversed(opens)), text)


def read_byte(place: Place, byte: int) -> Place | None:
    """The place behind one more byte, as `partial_json.read_on`; None for spellings that are not counted."""
    mode, opens, text = place
    if mode is Mode.STRING:
        return _ended(opens) if byte == 0x22 else place
    if mode is Mode.KEY:
        keys = opens[-1]
        assert keys is not None
        if byte != 0x22:
            return Place(mode, opens, text + bytes([byte]))
        return None if text in keys else Place(Mode.COLON, (*opens[:-1], keys | {text}))
    if mode is Mode.NUMBER:
        return place if byte in _DIGITS else _behind(opens, byte)
    if mode is Mode.LITERAL:
        text += bytes([byte])
        return _ended(opens) if text in _LITERALS else Place(mode, opens, text)
    if mode is Mode.COLON:
        return Place(Mode.VALUE, opens) if byte == 0x3A else None
    if mode is Mode.AFTER:
        return _behind(opens, byte)
    if mode is not Mode.VALUE:
        return Place(Mode.KEY, opens) if byte == 0x22 else _behind(opens, byte) if byte == 0x7D else None
    if byte == 0x22:
        return Place(Mode.STRING, opens)
    if byte == 0x7B:
        return Place(Mode.KEY_FIRST, (*opens, frozenset()))
    if byte == 0x5B:
        return Place(Mode.VALUE, (*opens, None))
    if byte in _DIGITS:
        return Place(Mode.NUMBER, opens)
    if byte in b"tfn":
        return Place(Mode.LITERAL, opens, bytes([byte]))
    return _behind(opens, byte) if byte == 0x5D and opens else None


def _behind(opens: tuple[frozenset[bytes] | None, ...], byte: int) -> Place | None:
    """Behind a value inside a container: a comma, or the container's end."""
    if not opens:
        return None
    if byte == 0x2C:
        return Place(Mode.VALUE if opens[-1] is None else Mode.KEY_DUE, opens)
    return _ended(opens[:-1]) if byte in b"]}" else None


def _ended(opens: tuple[frozenset[bytes] | None, ...]) -> Place:
    return Place(Mode.AFTER, opens)
