"""Masks kept by what they depend on: the codes of the heads and as much of their stacks as a walk read.

What lies deeper makes no difference, so all depths of a nested text and all items of a list share a mask, and the next
text does with other things around it. A walk says how deep it read (`kernels.DEEPEST`); how deep walks from the same
codes went before tells where to look. Equal masks are one row whatever they depend on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import kernels as k
from .row_table import RowTable
from .unique_runs import Tracked

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask
    from .walkers import Walker

ENTRY_BYTES = 300  # of what a row is found by
SPARE_ROWS = 192  # that an engine begins with, and that are kept at most to be written again
MAX_VISITS = 2_000  # of a walk while the engine's lock is held: some 0.2 ms

Depths = tuple[int, ...]  # how many cells of each head's stack


class Reads(NamedTuple):
    """What a walk read of the stacks: shared cells from `deepest` on; all of them where `is_apart`."""

    deepest: int
    is_apart: bool


class AtOnce(NamedTuple):
    """A mask; where it was walked for: what went through the trie by shape (0: nothing), and how many nodes."""

    row: Mask
    shaped: int
    n_visits: int


class Stuck(NamedTuple):
    """A walk that needs more: whether it is put together of single heads, the kernel's answer, the walker, which is
    taken and knows what is asked for, and the row that it began to write."""

    is_apart: bool
    answer: int
    walker: Walker
    row: Mask


class SharedRows:
    """Rows of one generation of states. The engine's lock is held around every call."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._spare: list[Mask] = list(np.ones((SPARE_ROWS, engine.n_words), np.uint32))  # written to: see `empty_row`
        self.drop()
        engine.keepers.add(self)

    def drop(self) -> None:
        """Forget everything: codes and cells have lost their meaning."""
        self._table = RowTable()
        self._rows: list[Mask | None] = []  # by number
        self._free: list[int] = []  # numbers that are nobody's
        self._tracked: dict[Heads, Mask] = {}  # of heads that hold more than codes and cells
        self._old_tracked: dict[Heads, Mask] = {}
        self._asked: set[Heads] = set()

    def age(self) -> None:
        """Drop what is old; what is young becomes old."""
        self._old_tracked, self._tracked = self._tracked, {}
        self._asked.clear()
        self._table = self._table.aged()
        is_kept = (self._table.row_stamps >= 0).tolist()
        for row, kept in enumerate(is_kept[: len(self._rows)]):
            if not kept:
                self._rows[row] = None
        self._free = [row for row, held in enumerate(self._rows) if held is None]

    def n_bytes(self) -> int:
        """Bytes held, about."""
        rows = {id(row): row.nbytes for row in (*self._tracked.values(), *self._old_tracked.values())}
        rows |= {id(row): row.nbytes for row in self._rows if row is not None}
        n_entries = int(self._table.kept[k.N_ENTRIES]) + len(self._tracked) + len(self._old_tracked)
        return sum(rows.values()) + ENTRY_BYTES * n_entries

    def empty_row(self) -> Mask:
        """A new row of zeros, where there is one in memory that was written to before: a page that was not takes as
        long as the whole walk. The lock need not be held."""
        try:
            row = self._spare.pop()
        except IndexError:
            return np.zeros(self._engine.n_words, np.uint32)
        row.fill(0)
        return row

    def some_row(self) -> Mask:
        """The same, whatever stands in it."""
        try:
            return self._spare.pop()
        except IndexError:
            return np.empty(self._engine.n_words, np.uint32)

    def give_back(self, row: Mask) -> None:
        """A row that nobody holds any more is written again; the lock need not be held."""
        if row.flags.writeable and len(self._spare) < SPARE_ROWS:
            self._spare.append(row)

    def find(self, heads: Heads) -> Mask | None:
        """The kept mask of closed heads."""
        if isinstance(heads, Tracked):
            found = self._tracked.get(heads)
            if found is None and heads in self._old_tracked:
                found = self._keep_tracked(heads, self._old_tracked.pop(heads))
            return found
        number = self._find(heads)
        return None if number < 0 else self._rows[number]

    def at_once(self, heads: Heads) -> AtOnce | Stuck:
        """The mask of clamped heads that are only codes and cells, end-of-sequence included, where it is kept or one
        short walk finds it; else where that walk stopped."""
        engine = self._engine
        walker = engine.walkers.take_locked(engine.tables, len(heads) + 1)
        row = self.some_row()
        number = self._enter(row)
        is_apart, n_before = engine.head_memos.suits(heads), int(walker.counts[k.NODES_VISITED])
        while True:
            walker.load(heads)
            found: int = k.row_at_once(
                walker.ctx, self._table.kept, len(heads), is_apart, engine.end_ids, number, row, MAX_VISITS
            )
            if found != k.NO_ROOM_FOR_ROW:
                break
            self._table = self._table.grown(len(heads))
        if found < 0:
            self._rows[number] = None
            self._free.append(number)
            return Stuck(is_apart, k.NOT_AT_ONCE - found, walker, row)
        shaped = n_visits = 0
        kept = self._held(found & ~k.KEPT_NOW, number, row)
        if found & k.KEPT_NOW:
            engine.counters.walks += 1
            engine.count_kept(ENTRY_BYTES)  # rows may age: no number is anybody's now that is not in the table
            shaped = 0 if is_apart else int(walker.counts[k.SHAPED])
            n_visits = int(walker.counts[k.NODES_VISITED]) - n_before
        engine.walkers.give(walker)
        return AtOnce(kept, shaped, n_visits)

    def _enter(self, row: Mask) -> int:
        """A number for a row that may be kept: its address must not be known to a kernel before it is held here."""
        if self._free:
            number = self._free.pop()
            self._rows[number] = row
        else:
            number = len(self._rows)
            self._rows.append(row)
        return number

    def _held(self, found: int, number: int, row: Mask) -> Mask:
        """The row that was found or kept for heads, where `row` had been given a number."""
        kept = self._rows[found & ~k.OLD_ROW]
        assert kept is not None
        if kept is row:
            row.flags.writeable = False
        else:
            self._rows[number] = None
            self._free.append(number)
            self.give_back(row)
        if found & k.OLD_ROW:
            self._engine.count_kept(kept.nbytes)
        return kept

    def _find(self, heads: Heads) -> int:
        """The number of the row; below 0: there is none."""
        engine = self._engine
        engine.load(heads)
        number: int = k.find_row(engine.tables.ctx, self._table.kept, len(heads))
        while number == k.NO_ROOM_FOR_ROW:
            self._table = self._table.grown(len(heads))
            number = int(k.find_row(engine.tables.ctx, self._table.kept, len(heads)))
        if number < k.OLD_ROW:
            return number
        self._engine.count_kept(4 * engine.n_words + ENTRY_BYTES)
        return number & ~k.OLD_ROW

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
        if isinstance(heads, Tracked):
            return self._keep_tracked(heads, row)
        engine = self._engine
        engine.load(heads)
        deepest = -1
        if isinstance(reads, Reads):
            deepest = -1 if reads.is_apart else reads.deepest
        elif reads is not None:
            self._table.depths[: len(reads)] = reads
            deepest = -2
        number = self._enter(row)
        while True:
            table = self._table
            found: int = k.keep_row(engine.tables.ctx, table.kept, len(heads), deepest, number, row)
            if found != k.NO_ROOM_FOR_ROW:
                break
            self._table = table.grown(len(heads))
            self._table.depths[: len(heads)] = table.depths[: len(heads)]
        kept = self._held(found, number, row)
        engine.count_kept(ENTRY_BYTES)  # as above
        return kept

    def _keep_tracked(self, heads: Heads, row: Mask) -> Mask:
        """The same for heads that hold more than codes and cells."""
        row.flags.writeable = False
        self._tracked[heads] = row
        self._engine.count_kept(row.nbytes + ENTRY_BYTES)
        return row
