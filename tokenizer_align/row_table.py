"""The arrays behind the kernels that find and keep rows: which masks there are, and by what they are found.

A *pattern* is a list of codes, one a head, and how many cells of each head's stack matter (-1: all of it, as it is).
An *entry* is a pattern with the frames down to there, and the number of a row. Everything used bears a stamp, which
counts the times that rows aged. See `shared_rows.py` for what is kept how long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels as k

Array = npt.NDArray[Any]

N_ENTRIES, N_ROWS, N_KEY_WORDS, KEY_LENGTH = 2048, 512, 1 << 15, 1024  # that there is room for at first


class RowTable:
    """One generation's patterns, entries and rows. `kept`: int64[N_KEPT_SLOTS], what the kernels take."""

    def __init__(self, sizes: tuple[int, int, int, int, int] | None = None) -> None:
        """sizes: entries, rows, words of keys, words of patterns, and of one key, that there is room for."""
        self._sizes = sizes or (N_ENTRIES, N_ROWS, N_KEY_WORDS, N_KEY_WORDS, KEY_LENGTH)
        n_entries, n_rows, n_key_words, n_pattern_words, key_length = self._sizes
        n_slots = 1 << (2 * max(n_entries, n_rows)).bit_length()  # at least twice as many
        self.kept: npt.NDArray[np.int64] = np.zeros(k.N_KEPT_SLOTS, np.int64)
        self.patterns = np.zeros(n_pattern_words, np.int64)
        self.row_stamps, self.row_hashes = np.full(n_rows, -1, np.int64), np.zeros(n_rows, np.int64)
        self.depths = np.zeros(key_length, np.int64)
        self._arrays: dict[int, Array] = {
            k.PATTERN_SLOTS: np.full(n_slots, -1, np.int64),
            k.PATTERNS: self.patterns,
            k.ENTRY_SLOTS: np.full(n_slots, -1, np.int64),
            k.ENTRIES: np.zeros(n_entries * k.ENTRY_STRIDE, np.int64),
            k.KEYS_HELD: np.zeros(n_key_words, np.int32),
            k.ROW_SLOTS: np.full(n_slots, -1, np.int64),
            k.ROW_HASHES: self.row_hashes,
            k.ROW_ADDRESSES: np.zeros(n_rows, np.int64),
            k.ROW_STAMPS: self.row_stamps,
            k.KEY: np.zeros(key_length, np.int64),
            k.RESTS: np.zeros(key_length, np.int64),
            k.DEPTHS: self.depths,
        }
        for slot, array in self._arrays.items():
            if sizes is None:
                array.fill(array[0])  # a page that is new would cost a step of a text some µs
            self.kept[slot] = array.ctypes.data
        self.kept[[k.PATTERN_MASK, k.ENTRY_MASK]] = n_slots - 1
        self.kept[k.PATTERN_CAPACITY], self.kept[k.KEYS_CAPACITY] = n_pattern_words, n_key_words
        self.kept[k.ENTRY_CAPACITY] = n_entries
        self.kept[k.ROW_CAPACITY], self.kept[k.KEY_CAPACITY], self.kept[k.STAMP] = n_rows, key_length, 1

    def aged(self) -> RowTable:
        """A table of the same size with what was used since the last one was made like this, all of it old now."""
        fresh = RowTable(self._sizes)
        k.take_over_rows(self.kept, fresh.kept, int(self.kept[k.STAMP]))
        fresh.kept[k.STAMP] += 1
        return fresh

    def grown(self, n_heads: int) -> RowTable:
        """A larger table with all that is here; n_heads: that a key must have room for."""
        n_entries, n_rows, n_key_words, n_pattern_words, key_length = self._sizes
        key_length = max(2 * key_length, 4 * n_heads)
        sizes = 2 * n_entries, 2 * n_rows, 2 * n_key_words, max(2 * n_pattern_words, key_length), key_length
        fresh = RowTable(sizes)
        k.take_over_rows(self.kept, fresh.kept, 0)
        return fresh
