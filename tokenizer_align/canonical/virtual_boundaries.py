"""Boundaries in SentencePiece BPE, which has no pre-tokenizer: gaps that no merge ever closes.

Characters fall into classes: each ASCII symbol is one, ASCII letters by case and digits are three, the others go by
their Unicode category. Between two characters lies a *virtual boundary* iff no merge joins a piece that ends in the
class of the one to a piece that begins in the class of the other: then no token spans the gap, whatever stands around
it, and what follows is tokenized by itself. Any classes would be right; finer ones give more boundaries and states.
"""

from __future__ import annotations

import hashlib
import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokenizer_align.canonical.code_point_sets import N_CODE_POINTS
from tokenizer_align.canonical.rules import TokenizationRules
from tokenizer_align.canonical.transducers import Transducer, explore

__all__ = ["Joins", "joins_of"]

_ALONE = 0  # the class of characters that no merge joins to anything
_BLANKS = (0x20, 0x2581)  # SentencePiece writes both with the same pieces


@dataclass(frozen=True, slots=True)
class Joins:
    """Which characters merging may join.

    class_of: int16[0x110000]: the class of each code point.
    joined: bool[n_classes, n_classes]: whether a merge joins left and right.
    has_piece: bool[0x110000]: code points that are a piece; the others are spelled byte by byte.
    """

    class_of: npt.NDArray[np.int16]
    joined: npt.NDArray[np.bool_]
    has_piece: npt.NDArray[np.bool_]

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the arrays."""
        arrays = (self.class_of, self.joined, self.has_piece)
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()

    def sets(self) -> list[npt.NDArray[np.bool_]]:
        """The code points of each class, and those that are a piece."""
        return [*(self.class_of == i for i in range(len(self.joined))), self.has_piece]

    def automaton(self, examples: Sequence[int]) -> Transducer:
        """The automaton over atoms, each given by one of its code points."""
        classes = [int(self.class_of[example]) for example in examples]

        def step(before: int, atom: int) -> list[tuple[int, int]]:
            return [(int(before < 0 or not self.joined[before, classes[atom]]), classes[atom])]

        return explore(-1, len(classes), step, lambda _: True)


def joins_of(rules: TokenizationRules, token_bytes: Sequence[bytes | None]) -> Joins:
    """What the merges of a SentencePiece BPE model join."""
    pairs = np.unique(_joined_code_points(rules.merges, token_bytes), axis=0)
    number: dict[str, int] = {}
    class_of = np.full(N_CODE_POINTS, _ALONE, np.int16)
    for point in np.unique(pairs).tolist():
        class_of[point] = number.setdefault(_class_name(chr(point)), 1 + len(number))
    class_of[_BLANKS[1]] = class_of[_BLANKS[0]]
    joined = np.zeros((1 + len(number), 1 + len(number)), np.bool_)
    joined[class_of[pairs[:, 0]], class_of[pairs[:, 1]]] = True
    has_piece = np.zeros(N_CODE_POINTS, np.bool_)
    has_piece[rules.initial[:, 0]] = True
    has_piece[_BLANKS[1]] = has_piece[_BLANKS[0]]
    return Joins(class_of, joined, has_piece)


def _joined_code_points(merges: npt.NDArray[np.int32], token_bytes: Sequence[bytes | None]) -> npt.NDArray[np.int64]:
    """(last code point on the left, first one on the right) of every merge: int64[n, 2]."""
    used = np.unique(merges[:, :2]).tolist()
    first, last = np.zeros(len(token_bytes), np.int64), np.zeros(len(token_bytes), np.int64)
    for i in used:
        text = (token_bytes[i] or b"\x00").decode("utf-8", "replace")
        first[i], last[i] = ord(text[0]), ord(text[-1])
    return np.stack([last[merges[:, 0]], first[merges[:, 1]]], axis=1)


def _class_name(character: str) -> str:
    if character in string.ascii_letters:
        return "a" if character.islower() else "A"
    if character in string.digits:
        return "0"
    return character if character.isascii() else unicodedata.category(character)
