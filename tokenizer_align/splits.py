"""Which bytes of a text belong to which part of a sequence or repetition, by the recognizer and in polynomial time.

A text may be readable in several ways. Here the parts take, from left to right, as many bytes as they can while the
rest can still be read: POSIX's rule for subexpressions ("consistent with the whole match being the longest, each
subpattern from left to right shall match the longest possible string", IEEE Std 1003.1, section 9.1). Parts end between
code points only. What a part is made of plays no role: the caller splits the part's own bytes in turn.

Which places can be reached is one run over the text from all starts at once, states that meet are joined; from which
places the end can be reached is the same run with a bit for each start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .expressions import Expr
from .recognizer import Stacks, accepts_end, forget_joins, start, step


def split(parts: Sequence[Expr], data: bytes) -> list[int] | None:
    """Where each part of a sequence begins and the last one ends: len(parts) + 1 offsets; None for no such text."""
    walk = _Walk(data)
    try:
        return _split(parts, walk)
    finally:
        forget_joins()


def _split(parts: Sequence[Expr], walk: _Walk) -> list[int] | None:
    reached: list[set[int]] = [{0}]
    for part in parts:
        reached.append(walk.ends(part, reached[-1]))
    if walk.length not in reached[-1]:
        return None
    good = [{walk.length}]  # the last first: places from which the parts that are left can be read to the end
    for part, places in zip(reversed(parts), reversed(reached[:-1]), strict=True):
        good.append(walk.reaching(part, places, good[-1]))
    offsets = [0]
    for part, ends in zip(parts, reversed(good[:-1]), strict=True):
        offsets.append(max(walk.ends(part, [offsets[-1]]) & ends))
    return offsets


def split_repetition(
    item: Expr, lo: int, hi: int | None, data: bytes, separator: Expr | None = None
) -> list[tuple[int, int]] | None:
    """(begin, end) of each item of a repetition, `separator` between two of them; None for no such text.

    Items, then separators, take what they can, from left to right. Items that hold nothing come only where `lo` asks
    for them or a separator stands beside them.
    """
    if not data and lo == 0:
        return []
    walk = _Walk(data)
    try:
        return _Repetition(walk, item, separator, lo, hi).items()
    finally:
        forget_joins()


class _Walk:
    """Runs of expressions over one text; steps are remembered."""

    def __init__(self, data: bytes) -> None:
        self.data, self.length = data, len(data)
        self._steps: dict[tuple[Stacks, int], Stacks] = {}

    def _step(self, stacks: Stacks, byte: int) -> Stacks:
        found = self._steps.get((stacks, byte))
        if found is None:
            found = self._steps[stacks, byte] = step(stacks, byte)
        return found

    def _may_split(self, at: int) -> bool:
        """Whether a code point begins here, or the text ends."""
        return at == self.length or self.data[at] & 0xC0 != 0x80

    def ends(self, expr: Expr, starts: Iterable[int]) -> set[int]:
        """Where the expression can end, begun at any of these places."""
        begins = sorted(starts, reverse=True)
        states: set[Stacks] = set()
        found: set[int] = set()
        at = begins[-1] if begins else 0
        while begins or states:
            if not states:
                at = begins[-1]
            while begins and begins[-1] == at:
                begins.pop()
                states.add(start(expr))
            if self._may_split(at) and any(accepts_end(state) for state in states):
                found.add(at)
            if at == self.length:
                break
            states = {after for state in states if (after := self._step(state, self.data[at]))}
            at += 1
        return found

    def reaching(self, expr: Expr, starts: Iterable[int], targets: set[int]) -> set[int]:
        """From which of these places the expression can end at one of the targets."""
        begins = sorted(starts, reverse=True)
        states: dict[Stacks, int] = {}  # a bit for each place it was begun at
        found = 0
        at, last = (begins[-1] if begins else 0), max(targets, default=-1)
        while begins or states:
            if not states:
                at = begins[-1]
            if begins and begins[-1] == at:
                begins.pop()
                states[start(expr)] = states.get(start(expr), 0) | 1 << at
            if at in targets:
                for state, places in states.items():
                    if accepts_end(state):
                        found |= places
            if at >= last:
                break
            following: dict[Stacks, int] = {}
            for state, places in states.items():
                after = self._step(state, self.data[at])
                if after and places & ~found:
                    following[after] = following.get(after, 0) | places & ~found
            states = following
            at += 1
        return {place for place in starts if found >> place & 1}


class _Repetition:
    """One repetition over one text. `counts[p]`: bit c, whether c items, the first of them at p, read the rest.

    Without an upper bound all counts from `lo` on are one; with one, items that hold nothing are never needed beyond
    what `lo` or a separator asks for, so more than the text's length and one are none.
    """

    def __init__(self, walk: _Walk, item: Expr, separator: Expr | None, lo: int, hi: int | None) -> None:
        self.walk, self.item, self.separator, self.lo = walk, item, separator, lo
        self.hi = None if hi is None else min(hi, max(lo, walk.length + 1))
        self.top = max(lo, 1) if self.hi is None else self.hi
        self._items: dict[int, list[int]] = {}
        self._separators: dict[int, list[int]] = {}
        self.counts: dict[int, int] = {}
        for begin in sorted(self._begins(), reverse=True):
            self.counts[begin] = self._count(begin)

    def _ends(self, begin: int) -> list[int]:
        """Where an item that begins here may end, the farthest first."""
        if begin not in self._items:
            self._items[begin] = sorted(self.walk.ends(self.item, [begin]), reverse=True)
        return self._items[begin]

    def _next(self, end: int) -> list[int]:
        """Where the next item may begin after one that ends here, the farthest first."""
        if self.separator is None:
            return [end]
        if end not in self._separators:
            self._separators[end] = sorted(self.walk.ends(self.separator, [end]), reverse=True)
        return self._separators[end]

    def _begins(self) -> set[int]:
        found, work = {0}, [0]
        while work:
            for end in self._ends(work.pop()):
                for begin in self._next(end):
                    if begin not in found:
                        found.add(begin)
                        work.append(begin)
        return found

    def _count(self, begin: int) -> int:
        counts, is_free = 0, False
        for end in self._ends(begin):
            if end == self.walk.length:
                counts |= 0b10
            for following in self._next(end):
                if following > begin:
                    counts |= self._one_more(self.counts[following])
                else:
                    is_free = True  # an item and a separator that hold nothing: as many more as wanted
        if is_free and counts:
            counts |= (1 << self.top + 1) - (counts & -counts)
        return counts & (1 << self.top + 1) - 1

    def _one_more(self, counts: int) -> int:
        return counts << 1 | (counts >> self.top << self.top if self.hi is None else 0)

    def _fits(self, begin: int, n_before: int) -> bool:
        """Whether items from here on read the rest, so that their number is right in all."""
        counts = self.counts[begin] >> max(self.lo - n_before, 0)
        return bool(counts if self.hi is None else counts & (1 << self.hi - max(self.lo, n_before) + 1) - 1)

    def items(self) -> list[tuple[int, int]] | None:
        found: list[tuple[int, int]] = []
        begin: int | None = 0
        while begin is not None:
            here, begin = begin, None
            n = len(found) + 1
            for end in self._ends(here):
                if end == self.walk.length and self.lo <= n and (self.hi is None or n <= self.hi):
                    return [*found, (here, end)]
                begin = next((place for place in self._next(end) if self._fits(place, n)), None)
                if begin is not None:
                    found.append((here, end))
                    break
        return None
