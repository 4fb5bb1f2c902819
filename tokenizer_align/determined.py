"""What the constraint determines alone or up to layout: the bytes of the first drafts.

With free blanks and free key order hardly a byte of JSON is strictly forced, yet the run is all but certain: the blanks
this text has shown so far, and the keys in declared order. It is only a draft, so a wrong guess costs nothing in the
answer.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from . import kernels as k
from .expressions import K_KEYS
from .layout import Layout
from .members import allowed_keys

if TYPE_CHECKING:
    from .compiled import Compiled, Configuration
    from .engine import Engine, Heads

_BLANKS = sum(1 << b for b in b" \t\r\n")
_QUOTE = re.compile(rb'(?<!\\)"')


class _Place:
    """Where a JSON-like text stands: its bytes, how many brackets are open, whether inside a string."""

    def __init__(self, text: bytes, layout: Layout) -> None:
        self.text = bytearray(text)
        self.depth = len(layout.inline)
        self.in_string = len(_QUOTE.findall(text)) % 2 == 1

    def feed(self, data: bytes) -> None:
        for byte in data:
            if byte == 0x22 and self.text[-1:] != b"\\":
                self.in_string = not self.in_string
            elif not self.in_string:
                self.depth += (byte in b"{[") - (byte in b"}]")
            self.text.append(byte)

    def before(self) -> bytes:
        """The last byte that is no blank; more than 256 blanks in a row are not looked through."""
        return bytes(self.text[-256:]).rstrip(b" \t\r\n")[-1:]

    def still_to_come(self, blanks: bytes, depth: int) -> bytes:
        """What is left of the likely blanks after those that already stand here.

        A text that broke its line where no layout is known yet is taken to indent by two blanks.
        """
        tail = bytes(self.text[-256:])
        written = tail[len(tail.rstrip(b" \t\r\n")) :]
        if written and not blanks.startswith(written):
            blanks = b"\n" + b"  " * depth
        return blanks[len(written) :] if blanks.startswith(written) else b""


class DeterminedRun:
    """A likely way on from a configuration, followed as far as the constraint leaves no real choice.

    Attributes:
        data: the bytes so far. heads, open_bytes: where they lead, and the bytes open there (256-bit mask).
    """

    def __init__(self, engine: Engine, heads: Heads, layout: Layout, text: Callable[[], bytes], limit: int) -> None:
        self._engine, self._layout, self._text, self._limit = engine, layout, text, limit
        self._place: _Place | None = None
        run, self.heads, self.open_bytes = engine.forced_run(heads, limit)
        self.data = bytearray(run)
        self._go_on()

    @property
    def is_complete(self) -> bool:
        """Whether the text may end here."""
        return (k.ACCEPT, -1) in self.heads

    def _go_on(self) -> None:
        while len(self.data) < self._limit and not self.is_complete and self.open_bytes.bit_count() > 1:
            guess = _guess(self._engine, self.heads, self.open_bytes, self._layout, self.place)
            if not guess or not self._take(guess):
                break

    @property
    def place(self) -> _Place:
        if self._place is None:
            self._place = _Place(self._text(), self._layout)
            self._place.feed(bytes(self.data))
        return self._place

    def _take(self, guess: bytes) -> bool:
        """Read bytes and what they force; False, and nothing changes, where they are illegal."""
        after = self._engine.run(self.heads, np.frombuffer(guess, np.uint8))
        if not after:
            return False
        run, self.heads, self.open_bytes = self._engine.forced_run(after, self._limit)
        self.place.feed(guess + run)
        self.data += guess + run
        return True

    def ways(self) -> list[bytes]:
        """What could be written next at a real choice: each visible byte that is open, behind the likely blanks."""
        visible = self.open_bytes & ~_BLANKS
        found: list[bytes] = []
        for byte in range(256):
            if visible >> byte & 1:
                blanks = b""
                if self.open_bytes & _BLANKS and not self.place.in_string:
                    depth = self.place.depth - (byte in b"}]")
                    blanks = self.place.still_to_come(
                        self._layout.whitespace(self.place.before(), depth, bytes([byte])), depth
                    )
                found.append(blanks + bytes([byte]))
        return found

    def branch(self, way: bytes) -> DeterminedRun | None:
        """The run that takes one of the ways; None where it is illegal."""
        other = copy.copy(self)
        other.data = bytearray(self.data)
        other._place = copy.copy(self.place)
        other._place.text = bytearray(self.place.text)
        if not other._take(way):
            return None
        other._go_on()
        return other


def determined_run(
    compiled: Compiled, here: Configuration, layout: Layout, text: Callable[[], bytes], limit: int
) -> bytes:
    """The likely bytes from here on, at most about `limit`; empty where the constraint leaves a real choice."""
    return bytes(DeterminedRun(compiled.engine, here.heads, layout, text, limit).data)


def _guess(engine: Engine, heads: Heads, open_bytes: int, layout: Layout, place: _Place) -> bytes:
    """The likely bytes where several ways are open; empty where there is no telling."""
    visible = open_bytes & ~_BLANKS
    if open_bytes & _BLANKS and visible.bit_count() == 1 and not place.in_string:
        following = bytes([visible.bit_length() - 1])
        depth = place.depth - (following in b"}]")
        return place.still_to_come(layout.whitespace(place.before(), depth, following), depth) + following
    if open_bytes & _BLANKS and place.before() == b":" and place.text[-1:] == b":" and not place.in_string:
        return layout.whitespace(b":", place.depth)
    for code, _ in heads:
        key = _next_key(engine, code)
        if key:
            return key
    return b""


def _next_key(engine: Engine, code: int) -> bytes:
    """The rest of the first declared key that is still open, where the code stands inside an object's key."""
    if code < 0 or k.LIT_BASE <= code < k.KEY_BASE:
        return b""
    node = engine.automaton.expr_of(code)
    if node.kind != K_KEYS:
        return b""
    spec, open_keys, count, position = node.data
    here = spec.nodes[position]
    allowed = allowed_keys(spec, open_keys, count) & ((1 << here.hi) - (1 << here.lo))
    for rank, member in zip(spec.order, spec.members, strict=True):
        if allowed >> rank & 1:
            return bytes(member.text[_depth(spec.nodes, member.text, position) :])
    return b""


def _depth(nodes: list[object], text: bytes, position: int) -> int:
    """How many bytes of a key lead to a node of its trie."""
    node = 0
    for depth, byte in enumerate(text):
        if node == position:
            return depth
        node = nodes[node].children[byte]  # type: ignore[attr-defined]
    return len(text)
