"""Byte pieces ("<0xE4>") of SentencePiece: they spell, byte by byte, one character that has no piece of its own.

So a continuation byte never follows an ordinary piece, a lead byte never precedes one, and an ASCII byte that has a
piece is never spelled. What needs more than two neighbours (is the whole character without a piece?) is `spelling`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import numpy.typing as npt

from tokenizer_align.canonical.rules import TokenizationRules

__all__ = ["BytePieces"]

Words = npt.NDArray[np.uint32]

_SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}


class BytePieces:
    """The byte pieces of one tokenizer (none where it has no byte fallback).

    byte_of: id -> byte. impossible: ids that spell no part of a character without a piece.
    """

    def __init__(self, rules: TokenizationRules, with_piece: Collection[int]) -> None:
        """`with_piece`: code points that are pieces."""
        self._ids = [int(i) for i in rules.byte_ids]
        self._with_piece = with_piece
        self.byte_of = {i: byte for byte, i in enumerate(self._ids) if i >= 0}
        self._seconds = {lead: self._second_bytes(lead) for lead in range(0xC2, 0xF5)} if self.byte_of else {}
        self._rows: dict[tuple[str, int], Words] = {}
        self.impossible = frozenset(i for i, byte in self.byte_of.items() if not self._can_occur(byte))

    def is_bad(self, a: int, b: int) -> bool:
        """Whether a, b cannot be neighbours because of a byte piece."""
        if not self.byte_of:
            return False
        first, second = self.byte_of.get(a), self.byte_of.get(b)
        if first is not None and first >= 0xC2:
            return second is None or second not in self._seconds.get(first, ())
        continues = second is not None and 0x80 <= second < 0xC0
        return continues and (first is None or first < 0x80 or first >= 0xC0)

    def second_bytes(self) -> npt.NDArray[np.bool_]:
        """bool[256, 256]: which second bytes may follow a lead byte's piece."""
        fits = np.zeros((256, 256), np.bool_)
        for lead, seconds in self._seconds.items():
            fits[lead, list(seconds)] = True
        return fits

    def bad_right(self, a: int, n_rows: int) -> Words:
        """The tokens that cannot follow `a`, packed: uint32[ceil(n_rows / 32)]."""
        if a not in self.byte_of:
            return self._packed(("right", n_rows), lambda b: self.is_bad(-1, b), False, n_rows).copy()
        return self._packed(None, lambda b: self.is_bad(a, b), self.byte_of[a] >= 0xC2, n_rows)

    def bad_left(self, b: int, n_rows: int) -> Words:
        """The tokens that cannot precede `b`, packed: uint32[ceil(n_rows / 32)]."""
        if b not in self.byte_of:
            return self._packed(("left", n_rows), lambda a: self.is_bad(a, -1), False, n_rows).copy()
        return self._packed(None, lambda a: self.is_bad(a, b), 0x80 <= self.byte_of[b] < 0xC0, n_rows)

    def _packed(self, key: tuple[str, int] | None, test: Callable[[int], bool], others: bool, n_rows: int) -> Words:
        """The byte pieces that pass a test, with all or none of the `others`; kept under `key`."""
        known = self._rows.get(key) if key is not None else None
        if known is not None:
            return known
        bits = np.zeros((n_rows + 31) // 32 * 32, np.bool_)
        bits[:n_rows] = others
        for i in self.byte_of:
            if i < n_rows:
                bits[i] = test(i)
        row: Words = np.packbits(bits, bitorder="little").view(np.uint32)
        if key is not None:
            self._rows[key] = row
        return row

    def spelling(self, spelled: bytes, token: int) -> bytes | None:
        """The bytes of an unfinished character after `token`, given those before it; None where it is not canonical.

        >>> # b"" + <0xE4> -> b"\\xe4"; b"\\xe4\\xb8" + <0x80> -> b"" if U+4E00 has no piece, else None
        """
        byte = self.byte_of.get(token)
        if byte is None:
            return None if spelled else b""
        spelled += bytes([byte])
        n_needed = 1 if spelled[0] < 0xC0 else 2 if spelled[0] < 0xE0 else 3 if spelled[0] < 0xF0 else 4
        if len(spelled) < n_needed:
            is_second = len(spelled) == 2
            return (
                None if token in self.impossible or (is_second and byte not in self._seconds[spelled[0]]) else spelled
            )
        try:
            character = spelled.decode()
        except UnicodeDecodeError:
            return None
        return None if ord(character) in self._with_piece else b""

    def _can_occur(self, byte: int) -> bool:
        if byte < 0x80:
            return byte not in self._with_piece
        return byte < 0xC0 or bool(self._seconds.get(byte))

    def _second_bytes(self, lead: int) -> frozenset[int]:
        """The bytes that may follow a lead byte, if the character may lack a piece."""
        low, high = _SECOND.get(lead, (0x80, 0xBF))
        seconds = range(low, high + 1)
        if lead < 0xE0:
            return frozenset(byte for byte in seconds if ((lead & 0x1F) << 6 | byte & 0x3F) not in self._with_piece)
        return frozenset(seconds)
