"""States of frames less finitely many words (`exclusions`): the words are read beside the frame, without derivatives.

Behind a byte with which no word goes on the frame is whole again. Behind the others it is one more such state. All of a
frame that goes on behind its words (names less keywords) are made at once, as tokens and masks come to dozens of them;
others when a text comes there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .byte_masks import bytes_of
from .derivatives import heads
from .exclusions import Exclusion, exclusion_of
from .expressions import EPSILON, K_BOTH, Expr, alt, both_unchecked, byte_set, neg, seq

if TYPE_CHECKING:
    from .automaton import Automaton

MAX_AT_ONCE = 4_000  # bytes of words whose states are made at once; a state takes 1 kB


@dataclass(frozen=True, eq=False, slots=True)
class Less:
    """A frame in which words have begun. `start`: the frame at its beginning; `whole`: as it goes on.

    left: which of the words go on behind `depth` bytes; is_word: one of them is complete, the frame may not end here.
    """

    start: Exclusion
    whole: Expr
    depth: int
    left: tuple[int, ...]
    is_word: bool = False

    @property
    def exclusion(self) -> Exclusion:
        """What is left of the words, and the frame without which they are."""
        words = tuple(dict.fromkeys(self.start.words[i][self.depth :] for i in self.left))
        return Exclusion(self.whole, words, self.start.ends_frame)

    @property
    def expr(self) -> Expr:
        left = [seq(*map(byte_set, word)) for word in self.exclusion.words]
        return both_unchecked(self.whole, neg(alt(*left, *([EPSILON] if self.is_word else []))))


def is_begun(known: dict[int, Less], code: int) -> bool:
    """Whether a head is a name in which a keyword has begun: it is walked as the plain name, and put right."""
    return code in known and not known[code].start.ends_frame


def less_of(expr: Expr) -> Less | None:
    """How such a state is built, for one that begins; None for other expressions."""
    if expr.kind != K_BOTH or expr.counts:
        return None
    start = exclusion_of(expr)
    return None if start is None else Less(start, start.whole, 0, tuple(range(len(start.words))))


def less_targets(automaton: Automaton, state: int, less: Less) -> dict[int, int]:
    """The codes behind the bytes that such a state reads (256-bit masks)."""
    made = _Made(automaton)
    targets = made.targets(state, less)
    if less.depth == 0 and not less.start.ends_frame and sum(map(len, less.start.words)) <= MAX_AT_ONCE:
        made.build_rest()
    return targets


class _Made:
    """States that are made behind one: `first`, the code of the first of them."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.new: list[tuple[int, Less]] = []  # in the order of their codes
        self._rows: dict[Expr, npt.NDArray[np.int32]] = {}

    def targets(self, state: int, less: Less) -> dict[int, int]:
        """The codes behind the bytes that a state reads."""
        parts, targets, begun = _by_first(less), dict[int, int](), list[int]()
        for mask, after in heads(less.whole):
            if not self.automaton.is_live(after):
                continue
            for common, those in parts:
                if common & mask:
                    target = self._behind(less, after, those)
                    if target != k.DEAD:
                        targets[common & mask] = target
                    if target in self.automaton.less_at:
                        begun += [item for byte in _members(common & mask) for item in (byte, target)]
                    mask &= ~common
            if mask:
                targets[mask] = self.automaton.code_of(after)
        self._note_begun(state, begun)
        return targets

    def _note_begun(self, state: int, begun: list[int]) -> None:
        """Keep with which bytes words go on, and where that leads."""
        tables = self.automaton.tables
        tables.state_words.array[state] = tables.seqs.extend([len(begun) // 2, *begun]) + 1

    def _behind(self, less: Less, after: Expr, those: list[int]) -> int:
        """The code of a frame in which these words have come one byte further."""
        words, depth = less.start.words, less.depth + 1
        left = tuple([i for i in those if len(words[i]) > depth])
        is_word = len(left) < len(those)
        if after is EPSILON:
            return k.DEAD if is_word else k.EPSILON_STATE
        code = self.automaton.code_of(after)
        if not left and not is_word:
            return code
        state = self.automaton.reserve_states(1)
        made = self.automaton.less_at[state] = Less(less.start, after, depth, left, is_word)
        tables = self.automaton.tables
        tables.state_nullable.array[state] = bool(after.memo_nullable) and not is_word
        self.automaton.clamped_states[state] = state
        if not less.start.ends_frame:
            tables.state_head.array[state] = k.PLAIN_BASE - self.automaton.clamp(code)
            tables.state_flags.array[state] = k.FLAG_WORD if is_word else 0
        self.new.append((state, made))
        return state

    def build_rest(self) -> None:
        """Build all that was made and what follows: rows of the whole frame, with other codes where words go on."""
        places, codes, wholes = list[int](), list[int](), list[npt.NDArray[np.int32]]()
        at, words, begins = 0, list[int](), list[int]()
        while at < len(self.new):
            less = self.new[at][1]
            wholes.append(self._row(less.whole))
            parts, begun = _by_first(less), list[int]()
            for mask, after in heads(less.whole):
                for common, those in parts if self.automaton.is_live(after) else ():
                    if common & mask:
                        target = self._behind(less, after, those)
                        members = _members(common & mask)
                        places += [256 * at + byte for byte in members]
                        codes += [target] * len(members)
                        if target in self.automaton.less_at:
                            begun += [item for byte in members for item in (byte, target)]
            begins.append(len(words))
            words += [len(begun) // 2, *begun]
            at += 1
        if not self.new:
            return
        tables, states = self.automaton.tables, np.array([state for state, _ in self.new])
        tables.state_words.array[states] = np.array(begins) + tables.seqs.extend(words) + 1
        first = tables.rows.reserve(len(states))
        rows = tables.rows.array[256 * first : 256 * (first + len(states))]
        np.concatenate(wholes, out=rows)
        rows[places] = codes
        is_live = rows.reshape(-1, 256) != k.DEAD
        tables.state_live.array.reshape(-1, 4)[states] = np.packbits(is_live, axis=1, bitorder="little").view(np.uint64)
        tables.state_row.array[states] = np.arange(first, first + len(states))
        is_wide = np.count_nonzero(is_live, axis=1) >= self.automaton.wide_bytes
        tables.state_flags.array[states[is_wide]] |= k.FLAG_WIDE
        tables.state_kind.array[states] = k.ROW

    def _row(self, whole: Expr) -> npt.NDArray[np.int32]:
        """int32[256], the codes behind each byte of a frame without words."""
        row = self._rows.get(whole)
        if row is None:
            row = self._rows[whole] = np.full(256, k.DEAD, np.int32)
            for mask, after in heads(whole):
                if self.automaton.is_live(after):
                    row[bytes_of(mask)] = self.automaton.code_of(after)
        return row


def _by_first(less: Less) -> list[tuple[int, list[int]]]:
    """The words that are left by what they read next, for disjoint sets of bytes."""
    words, depth = less.start.words, less.depth
    by_mask: dict[int, list[int]] = {}
    for i in less.left:
        by_mask.setdefault(words[i][depth], []).append(i)
    parts: list[tuple[int, list[int]]] = []
    union = 0
    for mask, those in by_mask.items():
        if not union & mask:
            parts.append((mask, those))
            union |= mask
            continue
        union |= mask
        split = []
        for other, several in parts:
            if other & mask:
                split.append((other & mask, several + those))
            if other & ~mask:
                split.append((other & ~mask, several))
            mask &= ~other
        parts = [*split, (mask, those)] if mask else split
    return parts


@lru_cache(maxsize=1024)
def _members(mask: int) -> tuple[int, ...]:
    return tuple(bytes_of(mask).tolist())
