"""Masks of counted repetitions: one walk for all counts.

A token is legal under `x{lo,hi} tail` if it uses up at most `hi` items and, where it goes into the tail, at least `lo`.
So the walk of `x{0,} tail` notes for every token how many items it begins, and the mask of any count is the tokens up
to a place in that order: some 20 µs where a walk takes milliseconds.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import kernels as k

if TYPE_CHECKING:
    from .counted import Count

Ids = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.integer[Any]]


class Profile:
    """How many items the tokens below a trie node use up, and where they may leave the repetition.

    `counts`: int[2, n_rows], items begun by tokens that stay in the items, and by those that end in the tail (-1 for
    others, -2 in the second for tokens that end between two items); `exits`: int[2, n], trie nodes where the frame may
    end and tokens go on, and how many items they begin. Integers of 16 bits are sorted by digits, ten times as fast.
    """

    def __init__(self, counts: Numbers, exits: Numbers, n_words: int) -> None:
        self._stay, tail_counts = counts
        inside = np.flatnonzero(self._stay >= 0)
        keys = self._stay[inside]
        order = np.argsort(keys, kind="stable")
        self._ids: Ids = inside[order].astype(np.int32)
        self._counts = keys[order]
        self._ends_between = tail_counts == -2
        self.in_tail = np.flatnonzero(tail_counts >= 0).astype(np.int32)
        self._tail_counts = tail_counts[self.in_tail]
        self._exit_nodes, self._exit_counts = exits
        self._all = np.zeros(n_words, np.uint32)
        k.set_ids(self._ids, self._all)

    @cached_property
    def whole(self) -> Ids:
        """int32[n_rows], items used up by tokens that end between two of them; -1 for others."""
        return np.where(self._ends_between, self._stay, -1).astype(np.int32)

    def mask(self, count: Count) -> npt.NDArray[np.uint32]:
        """The tokens that end inside the frame (a new row)."""
        place = len(self._ids) if count.hi is None else int(np.searchsorted(self._counts, count.hi, "right"))
        if place > len(self._ids) // 2:
            mask = self._all.copy()
            k.clear_ids(self._ids[place:], mask)
        else:
            mask = np.zeros_like(self._all)
            k.set_ids(self._ids[:place], mask)
        fits = self._tail_counts >= count.lo
        if count.hi is not None:
            fits &= self._tail_counts <= count.hi
        k.set_ids(self.in_tail[fits], mask)
        return mask

    def between(self, lo: int, hi: int) -> Ids:
        """The tokens that stay in the items and begin at least `lo` and less than `hi` of them, by how many."""
        low, high = np.searchsorted(self._counts, [lo, hi])
        return self._ids[low:high]

    def exits(self, count: Count) -> tuple[int, ...]:
        """The trie nodes where the frame may end under this count."""
        fits = self._exit_counts >= count.lo
        if count.hi is not None:
            fits &= self._exit_counts <= count.hi
        return tuple(self._exit_nodes[fits].tolist())

    def n_bytes(self) -> int:
        """Bytes that are kept, about."""
        counts = (self._stay, self._ends_between, self._counts, self.in_tail, self._tail_counts)
        arrays = (*counts, self._ids, self._all, self._exit_nodes, self._exit_counts)
        return sum(array.nbytes for array in arrays)
