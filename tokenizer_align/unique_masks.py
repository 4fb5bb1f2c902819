"""Masks inside arrays and objects without equal parts: the ordinary mask, less the tokens that make two parts equal.

Only two kinds of tokens can do that. *Followers* spell on what a part at risk has begun, towards one that came: they
are found by a walk over the vocabulary's trie along those parts' spellings, a few hundred nodes. *Joints* hold a
comma, so that a next part is due or begun: there are few, and most leave room for other values whatever came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from . import kernels as k
from .expressions import ALL_BYTES
from .left_out import leave_out_beside
from .partial_json import Mode, Partial, Value, expected_of, read_on
from .unique import Level
from .unique_rooms import bare, n_parts
from .unique_runs import BRACKETS, MAX_KEPT, Group, Levels, UniqueRuns, is_at_risk, read_levels

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask

_BRACKET = re.compile(rb"[\[\]{}]")
_BLANKS = sum(1 << byte for byte in b" \t\r\n")
_TEXT_MODES = (Mode.STRING, Mode.KEY, Mode.NUMBER, Mode.LITERAL)
_MARKS_OF = {
    Mode.AFTER: sum(1 << byte for byte in b",]}"),
    Mode.COLON: 1 << 0x3A,
    Mode.KEY_FIRST: 1 << 0x22 | 1 << 0x7D,
    Mode.KEY_DUE: 1 << 0x22,
}
_FIRST = {"s": 1 << 0x22, "n": sum(1 << byte for byte in b"-0123456789"), "a": 1 << 0x5B, "o": 1 << 0x7B}

Step = tuple[int, int, Levels]  # a node of the trie, the byte that leads to it, the levels before that byte


class UniqueMasks:
    """The masks of tracked heads over one vocabulary."""

    def __init__(self, engine: Engine, runs: UniqueRuns) -> None:
        self.engine, self.runs = engine, runs
        self._bases: dict[Heads, Mask] = {}
        self._joints: Mask | None = None
        self._rooms: dict[tuple[object, ...], dict[int, int]] = {}
        self._not_blank: dict[int, list[int]] = {}
        self._by_byte: dict[int, dict[int, int]] = {}
        self._after: dict[tuple[Heads, int], Heads] = {}

    def mask(self, groups: tuple[Group, ...]) -> Mask:
        """A new row with the bits of all tokens after which the text can be completed without equal parts."""
        result: Mask | None = None
        n_known = self.runs.n_undecided
        for group in groups:
            row = self._base(group[0]).copy()
            for token in self.illegal_tokens(group, row):
                row[token >> 5] &= ~np.uint32(1 << (token & 31))
            result = row if result is None else result | row
        assert result is not None
        if self.runs.n_undecided > n_known:
            leave_out_beside([level for _, levels in groups for level in levels])
        return result

    def _base(self, heads: Heads) -> Mask:
        """The mask of the automaton alone; kept."""
        clamped = self.engine.clamped(heads)
        found = self._bases.get(clamped)
        if found is None:
            if len(self._bases) >= 512:
                self._bases.clear()
            found = self._bases[clamped] = self.engine.walked(clamped)
        return found

    def illegal_tokens(self, group: Group, row: Mask) -> list[int]:
        """The tokens of a group's ordinary mask after which nothing legal could follow."""
        if not group[1]:
            return [token for token in self._opening_joints(group, row) if not self._is_legal(group, token)]
        found = self.following_tokens(group, row) if is_at_risk(group[1]) else {}
        for token in self.joint_tokens(group, row):
            if token not in found:
                found[token] = self._is_legal(group, token)
        return [token for token, is_legal in found.items() if not is_legal]

    # --- one token ------------------------------------------------------------------------------------------------

    def _is_legal(self, group: Group, token: int, levels: Levels | None = None) -> bool:
        """Whether the text can be completed after a token of the ordinary mask; `levels`: after it, if known."""
        data = self._bytes(token)
        if _BRACKET.search(data):
            return any(map(self.runs.is_live, self.runs.run_groups((group,), data)))
        levels = read_levels(group[1], data) if levels is None else levels
        if levels is None:
            return False
        if not is_at_risk(levels):
            return True
        after = (self.run(group[0], token), levels)
        return self.runs.is_live(after)

    def _bytes(self, token: int) -> bytes:
        return self.engine.vocabulary.token_bytes[token] or b""

    def run(self, heads: Heads, token: int) -> Heads:
        """The automaton's heads after a token; kept."""
        found = self._after.get((heads, token))
        if found is None:
            if len(self._after) >= MAX_KEPT:
                self._after.clear()
            found = self.engine.run_plain(heads, np.frombuffer(self._bytes(token), np.uint8))
            self._after[heads, token] = found
        return found

    # --- joints ---------------------------------------------------------------------------------------------------

    def _joint_row(self) -> Mask:
        """The tokens that hold a comma."""
        if self._joints is None:
            row: Mask = np.zeros(self.engine.n_words, np.uint32)
            for token, data in enumerate(self.engine.vocabulary.token_bytes):
                if data and b"," in data:
                    row[token >> 5] |= np.uint32(1 << (token & 31))
            self._joints = row
        return self._joints

    def joint_tokens(self, group: Group, row: Mask) -> list[int]:
        """The joints that what came may make illegal."""
        n = 2 + n_parts(group[1])
        return [token for token, room in self.joints(group, row).items() if room <= n]

    def joints(self, group: Group, row: Mask) -> dict[int, int]:
        """The joints that begin a part, with the number of parts below which they are legal whatever came; kept."""
        heads, levels = group
        item = levels[-1].item
        inside = None if item is None or item.inside is None else item.inside.is_object
        key = (heads, len(levels), None if item is None else (item.mode, item.escaped, inside))
        found = self._rooms.get(key)
        if found is None:
            if len(self._rooms) >= MAX_KEPT:
                self._rooms.clear()
            tokens = self._ids(row & self._joint_row())
            rooms = {token: self._room(group, token) for token in tokens}
            found = self._rooms[key] = {token: room for token, room in rooms.items() if room is not None}
        return found

    def _room(self, group: Group, token: int) -> int | None:
        """Of so many parts none can make the token illegal; None: it begins no part, 0: that is not known."""
        data = self._bytes(token)
        if not _BRACKET.search(data):
            item = group[1][-1].item
            in_string = item is not None and item.mode in (Mode.STRING, Mode.KEY) and not item.escaped
            if in_string and isinstance(read_on(Partial(mode=Mode.STRING), data), Partial):
                return None  # the text of a string
        best = 0
        for heads, levels in self.runs.run_groups(((group[0], tuple(map(bare, group[1]))),), data):
            if not levels:
                return None
            if all(len(level.used) < 2 for level in levels):
                best = max(best, self.runs.rooms.room((heads, levels)))
        return best

    def _opening_joints(self, group: Group, row: Mask) -> list[int]:
        """Tokens that open a tracked part and hold two of its parts; outside there are no others."""
        key = (group[0], 0, None)
        if key not in self._rooms:
            tokens = [token for token in self._ids(row & self._joint_row()) if _BRACKET.search(self._bytes(token))]
            self._rooms[key] = dict.fromkeys(tokens, 0)
        return list(self._rooms[key])

    def _ids(self, row: Mask) -> list[int]:
        out = np.zeros(self.engine.n_words * 32, np.int32)
        ids: list[int] = out[: k.allowed_ids(row, out)].tolist()
        return ids

    # --- followers ------------------------------------------------------------------------------------------------

    def following_tokens(self, group: Group, row: Mask) -> dict[int, bool]:
        """Tokens along which some level stays at risk, with whether they are legal; all others are no followers."""
        ends = self.engine.vocabulary.trie.end
        found: dict[int, bool] = {}
        work = self._first_steps(group[1])
        while work:
            child, byte, levels = work.pop()
            if byte in BRACKETS:
                for token in self._below(child, int(ends[child]), row):
                    found[token] = self._is_legal(group, token)
                continue
            after = read_levels(levels, bytes([byte]))
            if after is None:
                found |= dict.fromkeys(self._below(child, int(ends[child]), row), False)
            elif is_at_risk(after):
                for token in self._at(child, row):
                    found[token] = self._is_legal(group, token, after)
                work += self._steps(child, after)
        return found

    def _steps(self, node: int, levels: Levels) -> list[Step]:
        """The children of a node along which some level stays at risk."""
        wanted = next_bytes(levels)
        return [(child, byte, levels) for byte, child in self._children(node).items() if wanted >> byte & 1]

    def _first_steps(self, levels: Levels) -> list[Step]:
        """The same for the root. Where blanks change nothing, tokens that begin with blanks are entered behind them."""
        if all(level.item is None or level.item.mode not in _TEXT_MODES for level in levels[-1:]):
            wanted = next_bytes(levels) & ~_BLANKS
            found = self._behind_blanks()
            return [(child, byte, levels) for byte, nodes in found.items() if wanted >> byte & 1 for child in nodes]
        return self._steps(0, levels)

    def _behind_blanks(self) -> dict[int, list[int]]:
        """The nodes of the trie behind nothing but blanks and one other byte, by that byte."""
        if not self._not_blank:
            work = [0]
            while work:
                for byte, child in self._children(work.pop()).items():
                    if _BLANKS >> byte & 1:
                        work.append(child)
                    else:
                        self._not_blank.setdefault(byte, []).append(child)
        return self._not_blank

    def _children(self, node: int) -> dict[int, int]:
        """The children of a node of the trie by byte; kept."""
        found = self._by_byte.get(node)
        if found is None:
            trie, found = self.engine.vocabulary.trie, {}
            child, last = node + 1, int(trie.end[node])
            while child < last:
                found[int(trie.byte[child])] = child
                child = int(trie.end[child])
            self._by_byte[node] = found
        return found

    def _at(self, node: int, row: Mask) -> list[int]:
        """The tokens of the ordinary mask that end at a node."""
        trie = self.engine.vocabulary.trie
        tokens = trie.token_ids[trie.token_start[node] : trie.token_start[node + 1]].tolist()
        return [token for token in tokens if row[token >> 5] >> (token & 31) & 1]

    def _below(self, node: int, end: int, row: Mask) -> list[int]:
        """The tokens of the ordinary mask that end at a node or below it."""
        trie = self.engine.vocabulary.trie
        tokens = trie.token_ids[trie.token_start[node] : trie.token_start[end]].tolist()
        return [token for token in tokens if row[token >> 5] >> (token & 31) & 1]


def next_bytes(levels: Levels) -> int:
    """The bytes after which some level may still be at risk, as a 256-bit mask."""
    found = 0
    for level in levels:
        if level.is_at_risk:
            found |= _next_of(level)
    return found


def _next_of(level: Level) -> int:
    item = level.item
    if item is None:
        return _BLANKS | 1 << 0x2C | _first_of(level.used)
    if item.mode in _MARKS_OF:
        return _BLANKS | _MARKS_OF[item.mode]
    if item.mode is Mode.VALUE:
        expected = [value for rival in level.rivals for value in expected_of(item, rival) or ()]
        return _BLANKS | 1 << 0x5D | _first_of(expected)
    if item.mode not in (Mode.STRING, Mode.KEY) or b"\\" in item.text:
        return ALL_BYTES
    found = 1 << 0x5C
    for string in expected_strings(level):
        found |= 1 << (string[len(item.text)] if len(string) > len(item.text) else 0x22)
    return found


def _first_of(values: Iterable[Value]) -> int:
    """The bytes that the texts of these values begin with."""
    found = 0
    for kind, content in values:
        found |= _FIRST.get(kind) or 1 << content[0]
    return found


def expected_strings(level: Level) -> list[bytes]:
    """The strings that the one which is read must not, or may only with other values, turn out to be."""
    item = level.item
    assert item is not None
    found = []
    for value in level.rivals:
        for kind, content in expected_of(item, value) or ():
            found += [content] if kind == "s" else []
    if item.mode is Mode.KEY and item.inside is not None and item.inside.is_object:
        found += [key for key, _ in item.inside.done if key.startswith(item.text)]
    return found
