"""Masks kept by what they depend on: the codes of the heads and as much of their stacks as a walk read.

What lies deeper makes no difference, so all depths of a nested text and all items of a list share a mask, and the next
text does with other things around it. A walk says how deep it read (`kernels.DEEPEST`); how deep walks from the same
codes went before tells where to look. Equal masks are one row whatever they depend on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import kernels as k
from .unique_runs import Tracked

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask

ENTRY_BYTES = 300  # of what a row is found by
MAX_SPARE = 8  # rows that are kept to be written again
MAX_DEPTHS = 8  # that are tried for the same codes

Key = tuple[object, ...]
Depths = tuple[int, ...]  # how many cells of each head's stack


class Reads(NamedTuple):
    """What a walk read of the stacks: shared cells from `deepest` on; all of them where `is_apart`."""

    deepest: int
    is_apart: bool


class SharedRows:
    """Rows of one generation of states. The engine's lock is held around every call."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._spare: list[Mask] = []
        self.drop()
        engine.keepers.add(self)

    def drop(self) -> None:
        """Forget everything: codes and cells have lost their meaning."""
        self._depths: dict[tuple[int, ...], list[Depths]] = {}
        self._rows: dict[Key, Mask] = {}
        self._old_rows: dict[Key, Mask] = {}
        self._by_content: dict[int, Mask] = {}
        self._old_content: dict[int, Mask] = {}
        self._asked: set[Heads] = set()

    def age(self) -> None:
        """Drop what is old; what is young becomes old."""
        self._old_rows, self._rows = self._rows, {}
        self._old_content, self._by_content = self._by_content, {}
        self._asked.clear()

    def n_bytes(self) -> int:
        """Bytes held, about."""
        rows = {id(row): row.nbytes for row in (*self._by_content.values(), *self._old_content.values())}
        return sum(rows.values()) + ENTRY_BYTES * (len(self._rows) + len(self._old_rows))

    def empty_row(self) -> Mask:
        """A new row of zeros, where there is one in memory that was written to before: a page that was not takes as
        long as the whole walk. The lock need not be held."""
        try:
            row = self._spare.pop()
        except IndexError:
            return np.zeros(self._engine.n_words, np.uint32)
        row.fill(0)
        return row

    def give_back(self, row: Mask) -> None:
        """A row that nobody holds any more is written again; the lock need not be held."""
        if row.flags.writeable and len(self._spare) < MAX_SPARE:
            self._spare.append(row)

    def find(self, heads: Heads) -> Mask | None:
        """The kept mask of closed heads."""
        found = self.look(heads)
        return None if found is None else found[0]

    def look(self, heads: Heads) -> tuple[Mask, Depths | None] | None:
        """The same, and how many cells of each head's stack it depends on (None: all)."""
        known = () if isinstance(heads, Tracked) else self._depths.get(tuple([code for code, _ in heads]), ())
        for depths in known:
            key = self._key(heads, depths)
            row = self._rows.get(key)
            if row is None and key in self._old_rows:
                row = self._enter(key, self._old_rows.pop(key))
            if row is not None:
                return row, depths
        row = self._rows.get(heads)
        if row is None and heads in self._old_rows:
            row = self._enter(heads, self._old_rows.pop(heads))
        return None if row is None else (row, None)

    def was_asked_for(self, heads: Heads) -> bool:
        """Whether a mask was asked for like this before, since the last age: of a batch, only what comes again is
        kept."""
        n = len(self._asked)
        self._asked.add(heads)
        return len(self._asked) == n

    def keep(self, heads: Heads, row: Mask, reads: Reads | Depths | None) -> Mask:
        """Keep a mask; returns the one that is kept, which is read-only from then on. The other one is given away.

        `reads`: what a walk read, or how many cells of each stack the mask depends on (None: all).
        """
        if isinstance(reads, Reads):
            depths = None if reads.is_apart else self.depths_of(heads, reads.deepest)
        else:
            depths = reads
        if depths is None:
            return self._enter(heads, row)
        known = self._depths.setdefault(tuple([code for code, _ in heads]), [])
        if depths not in known:
            known.insert(0, depths)
            del known[MAX_DEPTHS:]
        return self._enter(self._key(heads, depths), row)

    def _enter(self, key: Key, row: Mask) -> Mask:
        content = k.row_hash(row)
        found = self._by_content.get(content)
        if found is None or not k.same_row(found, row):
            found = self._old_content.get(content)
            if found is None or not k.same_row(found, row):
                found = row
                found.flags.writeable = False
            self._by_content[content] = found
            self._engine.count_kept(found.nbytes)
        if found is not row:
            self.give_back(row)
        self._rows[key] = found
        self._engine.count_kept(ENTRY_BYTES)
        return found

    def depths_of(self, heads: Heads, deepest: int) -> Depths:
        """How many cells of each stack were read: cells stand above those below them."""
        parents, found = self._engine.tables.cell_parents, []
        for _, stack in heads:
            n = 0
            while stack >= deepest:
                stack, n = parents[stack], n + 1
            found.append(n)
        return tuple(found)

    def _key(self, heads: Heads, depths: Depths) -> Key:
        """The frames down to these depths, and which of the rests below them are equal (-1: nothing is below)."""
        states, parents = self._engine.tables.cell_states, self._engine.tables.cell_parents
        found: list[int] = []
        rests: dict[int, int] = {-1: -1}
        for (code, stack), depth in zip(heads, depths, strict=True):
            found.append(code)
            while depth and stack >= 0:
                found.append(states[stack])
                stack, depth = parents[stack], depth - 1
            found.append(rests.setdefault(stack, len(rests)))
        return (depths, *found)
