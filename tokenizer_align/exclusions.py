"""Frames less finitely many words: the undeclared keys of an object, identifiers that are no keywords.

What such a frame does over the vocabulary follows from what the whole frame does, without the states that reading the
words would take: as long as every beginning of a word can still become another text, only the words' ends differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .byte_masks import words_of
from .derivatives import heads, is_known_live
from .expressions import (
    EPSILON,
    K_ALT,
    K_BOTH,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_WORDS,
    Expr,
    both_unchecked,
    seq_parts,
)

if TYPE_CHECKING:
    from .engine import Engine

MAX_WORDS = 1_000
MAX_STATES = 32  # derivatives of the whole frame that the words may lead to

Word = tuple[int, ...]  # a set of bytes (256-bit mask) for each place


@dataclass(frozen=True, eq=False)
class Exclusion:
    """`whole` less the words. `ends_frame`: the words end the frame, so that nothing is left of their tokens; else the
    frame can go on behind them, and only may not end there."""

    whole: Expr
    words: tuple[Word, ...]
    ends_frame: bool


@lru_cache(maxsize=16)
def _arrays(exclusion: Exclusion) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The words as sets of bytes: uint64[n_words, longest word, 4]; and their lengths: int64[n_words]."""
    words = exclusion.words
    sets = np.zeros((len(words), max(map(len, words), default=0), 4), np.uint64)
    for row, word in zip(sets, words, strict=True):
        for place, mask in enumerate(word):
            row[place] = words_of(mask)
    return sets, np.array([len(word) for word in words], np.int64)


def find_words(
    engine: Engine, node: int, exclusion: Exclusion, which: Sequence[int], depth: int = 0
) -> npt.NDArray[np.int32]:
    """The trie nodes below `node` where these words end, of which `depth` bytes were read: int32[n]; equal words give
    theirs several times."""
    sets, lengths = _arrays(exclusion)
    chosen, found = np.array(which, np.int64), np.empty(1024, np.int32)
    with engine.lock:  # growing the trie in another thread moves its arrays
        while True:
            n = k.find_nodes(engine.tables.ctx, node, sets, lengths, chosen, depth, found)
            if n <= len(found):
                return found[:n]
            found = np.empty(2 * n, np.int32)


def exclusion_of(expr: Expr) -> Exclusion | None:
    """The frame and the words that an intersection takes out of it; None where masks cannot be told so."""
    return _exclusion_of(expr) if expr.kind == K_BOTH else None


@lru_cache(maxsize=64)
def _exclusion_of(expr: Expr) -> Exclusion | None:
    others, words = [], list[Word]()
    for arg in expr.args:
        found = words_in(arg.args[0]) if arg.kind == K_NEG else None
        if found is None:
            others.append(arg)
        else:
            words += found
    if not words or not others or not all(words):
        return None
    whole = others[0] if len(others) == 1 else both_unchecked(*others)
    ends_frame = _ends_frame(whole, words)
    return None if ends_frame is None else Exclusion(whole, tuple(words), ends_frame)


def words_in(node: Expr) -> list[Word] | None:
    """The words of a finite language, each a set of bytes for each place; None where there are too many, or it is not
    finite."""
    kind = node.kind
    if node is EPSILON:
        return [()]
    if kind == K_SET:
        return [(node.data,)]
    if kind == K_LIT:
        return [tuple(1 << byte for byte in node.data)]
    if kind == K_WORDS:
        source, first, last, depth = node.data
        if last - first > MAX_WORDS:
            return None
        return [tuple(1 << byte for byte in word[depth:]) for word in source.items[first:last]]
    if kind == K_ALT:
        parts = [words_in(arg) for arg in node.args]
        found = [word for part in parts for word in part or ()]
        return None if any(part is None for part in parts) or len(found) > MAX_WORDS else found
    if kind == K_SEQ:
        found = [()]
        for part in seq_parts(node):
            ways = words_in(part)
            if ways is None or len(found) * len(ways) > MAX_WORDS:
                return None
            found = [before + way for before in found for way in ways]
        return found
    return None


def _ends_frame(whole: Expr, words: list[Word]) -> bool | None:
    """Whether the frame ends behind every word; False where it may go on behind every one; None otherwise, and where
    some beginning of a word, or what follows one, might become no other text."""
    ends: set[bool] = set()
    behind: set[Expr] = set()
    begun: dict[Expr, set[int]] = {whole: set(range(len(words)))}  # which words lead there, as far as they were read
    for at in range(max(map(len, words))):
        following: dict[Expr, set[int]] = {}
        for here, those in begun.items():
            if not _is_endless(here):
                return None  # what is left without the words might be nothing
            pairs = sorted(heads(here), key=lambda pair: -pair[0].bit_count())
            for i in those:
                left, is_last = words[i][at], at + 1 == len(words[i])
                for mask, after in pairs:
                    if not left & mask:
                        continue
                    if is_last:
                        ends.add(after is EPSILON)
                        behind.add(after)
                    elif after is not EPSILON:
                        following.setdefault(after, set()).add(i)
                    left &= ~mask
                    if not left:
                        break
        begun = following
        if len(begun) > MAX_STATES:
            return None
    if len(ends) != 1 or not all(after is EPSILON or _is_endless(after) for after in behind):
        return None
    return ends.pop()


def _is_endless(node: Expr) -> bool:
    """Whether a frame surely has texts of any length."""
    if not node.plain:
        return any(after is node for _, after in heads(node)) and is_known_live(node)
    work = [node]
    while work:
        part = work.pop()
        if part.kind == K_REPEAT and part.data[1] is None:
            return True
        work += seq_parts(part) if part.kind == K_SEQ else part.args
    return False
