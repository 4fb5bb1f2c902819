"""States of frames less finitely many words (`exclusions`): the words are read beside the frame, without derivatives.

Behind a byte with which no word goes on the frame is whole again. Behind the others it is one more such state, made
when a text comes there: a name that is no keyword passes a few of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import kernels as k
from .derivatives import heads
from .exclusions import Exclusion, Word, exclusion_of
from .expressions import EPSILON, K_BOTH, Expr, alt, both_unchecked, byte_set, neg, seq

if TYPE_CHECKING:
    from .automaton import Automaton


@dataclass(frozen=True, eq=False, slots=True)
class Less:
    """`exclusion`: the frame as it goes on, and what is left of the words; `is_word`: it may not end here."""

    exclusion: Exclusion
    is_word: bool = False

    @property
    def expr(self) -> Expr:
        left = [seq(*map(byte_set, word)) for word in self.exclusion.words]
        return both_unchecked(self.exclusion.whole, neg(alt(*left, *([EPSILON] if self.is_word else []))))


def less_of(expr: Expr) -> Less | None:
    """How such a state is built, for one that begins; None for other expressions."""
    if expr.kind != K_BOTH or expr.counts:
        return None
    exclusion = exclusion_of(expr)
    return None if exclusion is None else Less(exclusion)


def less_targets(automaton: Automaton, less: Less) -> dict[int, int]:
    """The codes behind the bytes that such a state reads (256-bit masks)."""
    parts, targets = _by_first(less.exclusion.words), dict[int, int]()
    for mask, after in heads(less.exclusion.whole):
        if not automaton.is_live(after):
            continue
        for common, rests in parts:
            if common & mask:
                target = _behind(automaton, after, rests, less.exclusion.ends_frame)
                if target != k.DEAD:
                    targets[common & mask] = target
                mask &= ~common
        if mask:
            targets[mask] = automaton.code_of(after)
    return targets


def _by_first(words: tuple[Word, ...]) -> list[tuple[int, list[Word]]]:
    """What is left of the words behind each first byte, for disjoint sets of bytes."""
    by_mask: dict[int, list[Word]] = {}
    for word in words:
        by_mask.setdefault(word[0], []).append(word[1:])
    parts: list[tuple[int, list[Word]]] = []
    for mask, rests in by_mask.items():
        split = []
        for other, several in parts:
            if other & mask:
                split.append((other & mask, several + rests))
            if other & ~mask:
                split.append((other & ~mask, several))
            mask &= ~other
        parts = [*split, (mask, rests)] if mask else split
    return parts


def _behind(automaton: Automaton, after: Expr, rests: list[Word], ends_frame: bool) -> int:
    """The code of a frame in which words have begun: these are left of them."""
    left = tuple(dict.fromkeys(rest for rest in rests if rest))
    is_word = len(left) < len(rests) and not all(rests)
    if after is EPSILON:
        return k.DEAD if is_word else k.EPSILON_STATE
    if not left and not is_word:
        return automaton.code_of(after)
    state = automaton.reserve_states(1)
    automaton.less_at[state] = Less(Exclusion(after, left, ends_frame), is_word)
    automaton.tables.state_nullable.array[state] = bool(after.memo_nullable) and not is_word
    return state
