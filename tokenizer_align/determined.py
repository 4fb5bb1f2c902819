"""What the constraint determines alone or up to layout: the bytes of the first drafts.

With free blanks and free key order hardly a byte of JSON is strictly forced, yet the run is all but certain: the blanks
this text has shown so far, and the keys in declared order. It is only a draft, so a wrong guess costs nothing in the
answer.
"""

from __future__ import annotations

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


def determined_run(
    compiled: Compiled, here: Configuration, layout: Layout, text: Callable[[], bytes], limit: int
) -> bytes:
    """The likely bytes from here on, at most about `limit`; empty where the constraint leaves a real choice."""
    engine, heads = compiled.engine, here.heads
    run, heads, open_bytes = engine.forced_run(heads, limit)
    out = bytearray(run)
    place: _Place | None = None
    while len(out) < limit and (k.ACCEPT, -1) not in heads and open_bytes.bit_count() > 1:
        if place is None:
            place = _Place(text(), layout)
            place.feed(run)
        guess = _guess(engine, heads, open_bytes, layout, place)
        after = engine.run(heads, np.frombuffer(guess, np.uint8)) if guess else ()
        if not after:
            break
        run, heads, open_bytes = engine.forced_run(after, limit)
        place.feed(guess + run)
        out += guess + run
    return bytes(out)


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
