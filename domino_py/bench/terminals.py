"""Where one grammar terminal ends and the next begins, for maskers that do not let a token cross from one to another.

The terminals of JSON: a string with its quotes, a number, a word (true, false, null), a run of blanks, and each of
`{ } [ ] , :` by itself. A regex is one terminal. Scanning needs no parser: JSON's terminals are told apart by their
bytes.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from tokenizer_align.vocabulary import Vocabulary

__all__ = ["JsonTerminals", "OneTerminal", "Terminals"]

Mask = npt.NDArray[np.uint32]  # uint32[ceil(n_rows / 32)], token t is bit t & 31 of word t >> 5

BETWEEN, BLANKS, STRING, ESCAPE, NUMBER, WORD = range(6)
START = BETWEEN
_RUNS = {BLANKS: b" \t\r\n", NUMBER: b"+-.0123456789eE", WORD: b"truefalsn"}


class Terminals(Protocol):
    """A scanner over one vocabulary; its states are small integers, `START` at the beginning of a text."""

    def inside(self, state: int) -> Mask:
        """Which tokens lie within a single terminal, read from this state."""
        ...

    def after(self, state: int, data: bytes) -> int:
        """The state after these bytes."""
        ...

    def split(self, state: int, data: bytes) -> list[bytes]:
        """The bytes terminal by terminal; the first part may end a terminal that is already begun."""
        ...


class OneTerminal:
    """The whole text is one terminal: no token crosses anything."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._all = np.full((vocabulary.n_rows + 31) // 32, 0xFFFFFFFF, dtype=np.uint32)

    def inside(self, state: int) -> Mask:
        return self._all

    def after(self, state: int, data: bytes) -> int:
        return START

    def split(self, state: int, data: bytes) -> list[bytes]:
        return [data] if data else []


class JsonTerminals:
    """The terminals of JSON."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._inside: dict[int, Mask] = {}

    def inside(self, state: int) -> Mask:
        found = self._inside.get(state)
        if found is None:
            rows = [bool(data) and is_inside(state, data or b"") for data in self._vocabulary.token_bytes]
            bits = np.zeros((len(rows) + 31) // 32 * 32, dtype=np.bool_)
            bits[: len(rows)] = rows
            found = np.packbits(bits, bitorder="little").view(np.uint32)
            self._inside[state] = found
        return found

    def after(self, state: int, data: bytes) -> int:
        for byte in data:
            state, _ = step(state, byte)
        return state

    def split(self, state: int, data: bytes) -> list[bytes]:
        starts = []
        for index, byte in enumerate(data):
            state, is_start = step(state, byte)
            if is_start or not index:
                starts.append(index)
        ends = [*starts[1:], len(data)] if starts else []
        return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def is_inside(state: int, data: bytes) -> bool:
    """Whether all bytes belong to the same terminal.

    >>> is_inside(BETWEEN, b'"'), is_inside(BETWEEN, b'{"'), is_inside(STRING, b'a"'), is_inside(STRING, b'a",')
    (True, False, True, False)
    """
    for index, byte in enumerate(data):
        state, starts = step(state, byte)
        if starts and index:
            return False
    return True


def step(state: int, byte: int) -> tuple[int, bool]:
    """Read one byte: the state after it, and whether the byte starts a new terminal."""
    if state == STRING:
        return (ESCAPE if byte == 0x5C else BETWEEN if byte == 0x22 else STRING), False
    if state == ESCAPE:
        return STRING, False
    if state != BETWEEN and byte in _RUNS[state]:
        return state, False
    if byte == 0x22:
        return STRING, True
    return next((kind for kind, members in _RUNS.items() if byte in members), BETWEEN), True
