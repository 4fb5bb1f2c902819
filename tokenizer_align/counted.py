"""Counted repetitions as chains of states: one state a count, whose item runs in a frame of its own above the rest.

`x{lo,hi} tail` becomes `x{lo-1,hi-1} tail` after each x. Where that is deterministic (no text of x begins another one
or shares a first byte with what may follow), a stretch of the chain differs from state to state only in where an item
leads, so its rows are written in one go. Masks of such states come from one walk for all counts: see `profiles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from . import kernels as k
from .byte_masks import bytes_of, words_of
from .counting import is_prefix_free
from .derivatives import heads, is_known_live
from .expressions import EPSILON, K_REPEAT, K_SET, Expr, repeat, seq, seq_parts

if TYPE_CHECKING:
    from .automaton import Automaton

CHAIN = 32  # states that are made at once
MAX_REACH = 1 << 30  # a longer stretch is as good as this one; the tables hold 32-bit numbers
FEW = 4  # `x{1,}` and the like are unrolled

Heads = tuple[tuple[int, Expr], ...]


@dataclass(frozen=True, slots=True)
class Count:
    """`item{lo,hi} tail`; `hi` None: without bound."""

    item: Expr
    tail: Expr
    lo: int
    hi: int | None

    def after(self, n: int) -> Count:
        """The count after n items."""
        return Count(self.item, self.tail, max(self.lo - n, 0), None if self.hi is None else self.hi - n)

    @property
    def is_real(self) -> bool:
        """Whether there is anything to count."""
        return self.hi != 0 and (self.hi is not None or self.lo > 0)

    @property
    def expr(self) -> Expr:
        return seq(repeat(self.item, self.lo, self.hi), self.tail)

    def clamped(self, longest: int) -> Count:
        """The count with the same masks for tokens of at most `longest` bytes, without numbers beyond them."""
        if (self.hi is None and self.lo > longest + 1) or (self.hi is not None and self.hi > longest):
            return Count(self.item, self.tail, min(self.lo, longest + 1), None)
        return self


@dataclass(frozen=True, slots=True)
class Shape:
    """First bytes and what follows them: of an item, and of the tail."""

    opening: Heads
    following: Heads


def count_of(expr: Expr) -> Count | None:
    """The count that a call-free expression begins with, where a chain can run it."""
    if expr.has_call:
        return None
    head, *tail = seq_parts(expr)
    if head.kind != K_REPEAT:
        return None
    lo, hi = head.data
    if (hi is None and lo < FEW) or hi == 1:
        return None
    count = Count(head.args[0], seq(*tail), lo, hi)
    return count if shape_of(count.item, count.tail) is not None else None


@lru_cache(maxsize=1024)
def shape_of(item: Expr, tail: Expr) -> Shape | None:
    """None where an item cannot be told from what follows it, or from a longer one."""
    if not is_prefix_free(item):
        return None
    opening = tuple((mask, after) for mask, after in heads(item) if is_known_live(after))
    following = tuple((mask, after) for mask, after in heads(tail) if is_known_live(after))
    if not opening or any(mask & other for mask, _ in opening for other, _ in following):
        return None
    return Shape(opening, following)


def item_bytes(count: Count) -> int:
    """The bytes that begin an item (256-bit mask)."""
    shape = shape_of(count.item, count.tail)
    return 0 if shape is None else sum(mask for mask, _ in shape.opening)


def build_chain(automaton: Automaton, state: int, count: Count) -> None:
    """Rows for a counting state and those that its items lead to, as far as they are new."""
    shape = shape_of(count.item, count.tail)
    assert shape is not None
    counts = [count]
    while len(counts) < CHAIN:
        following = count.after(len(counts))
        if not following.is_real or following in automaton.counted:
            break
        counts.append(following)
    n = len(counts)
    states = np.empty(n, np.intp)
    states[0] = state
    if n > 1:
        states[1:] = np.arange(n - 1) + automaton.reserve_states(n - 1)
    for one, counted in zip(states.tolist(), counts, strict=True):
        automaton.count_at[one] = counted  # first, so that whoever comes by the count can build the state
        automaton.counted[counted] = one
    rests = np.empty(n, np.int32)
    rests[:-1] = states[1:]
    rests[-1] = automaton.code_of_count(count.after(n))
    _write_rows(automaton, states, counts, rests, shape)
    for one, counted in zip(states.tolist(), counts, strict=True):
        clamped = counted.clamped(automaton.longest_token)
        if clamped is not counted:
            target = automaton.code_of_count(clamped)  # it may move the arrays
            automaton.tables.state_clamp.array[one] = target


def _write_rows(automaton: Automaton, states: np.ndarray, counts: list[Count], rests: np.ndarray, shape: Shape) -> None:
    tables, n, count = automaton.tables, len(counts), counts[0]
    # All codes first: making them may grow the pools that are written below.
    opening = [(mask, None if after is EPSILON else automaton.code_of(after)) for mask, after in shape.opening]
    following = [(mask, automaton.code_of(after)) for mask, after in shape.following]
    pushes = {}
    for mask, code in opening:
        if code is not None:
            lists = np.array([[1, 2, code, rest] for rest in rests.tolist()], np.int32)
            pushes[mask] = (-2 - tables.seqs.extend(lists.ravel()) - 4 * np.arange(n)).astype(np.int32)
    first = tables.rows.reserve(n)
    rows = tables.rows.array[256 * first : 256 * (first + n)].reshape(n, 256)
    rows[:] = k.DEAD
    may_end = np.array([counted.lo == 0 for counted in counts])
    for mask, code in opening:
        rows[:, bytes_of(mask)] = (rests if code is None else pushes[mask])[:, None]
    for mask, code in following:
        rows[np.ix_(may_end, bytes_of(mask))] = code
    live = sum(mask for mask, _ in opening)
    live_at_end = live | sum(mask for mask, _ in following)
    tables.state_live.array.reshape(-1, 4)[states] = np.where(may_end[:, None], words_of(live_at_end), words_of(live))
    tables.state_row.array[states] = np.arange(first, first + n)
    wide = np.array([live.bit_count(), live_at_end.bit_count()]) >= automaton.wide_bytes
    tables.state_flags.array[states] = np.where(may_end, wide[1], wide[0]) * k.FLAG_WIDE
    tables.state_nullable.array[states] = may_end & bool(count.tail.memo_nullable)
    if count.item.kind == K_SET and count.hi is not None:
        tables.state_self.array.reshape(-1, 4)[states] = words_of(count.item.data)
        tables.state_reach.array[states] = [min(counted.hi or 0, MAX_REACH) for counted in counts]
    tables.state_kind.array[states] = k.ROW
