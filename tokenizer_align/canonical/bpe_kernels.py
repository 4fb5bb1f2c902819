"""Byte pair encoding in Numba: one pre-token's symbols are merged, lowest rank first, leftmost first among equals.

That is the order of the tokenizers library, of SentencePiece and of tiktoken (checked against each). Merges are rows
(left id, right id, result id) in order of rank; a table with open addressing finds the row of a pair. All kernels that
call each other stand here; `tests/reference/plain_bpe.py` has the same functions in plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["NO_ROW", "fill_merge_table", "find_merge", "last_merges", "merge_symbols", "merge_table"]

Array = npt.NDArray[Any]

NO_ROW = 2**31 - 1  # later than every merge
_EMPTY = -1


@njit(cache=True, nogil=True)
def _slot(key: int, mask: int) -> int:
    """Fibonacci hashing, folded: ids are dense, so low bits alone would collide."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(8)) & mask)


@njit(cache=True, nogil=True)
def fill_merge_table(merges: Array, keys: Array, rows: Array) -> None:
    """Enter every row of `merges` (int32[n, 3]) (a pair's first wins); `keys` is all -1, a power of 2 long."""
    mask = len(keys) - 1
    for row in range(len(merges)):
        key = (np.int64(merges[row, 0]) << 32) | np.int64(merges[row, 1])
        slot = _slot(key, mask)
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == _EMPTY:
            keys[slot] = key
            rows[slot] = row


@njit(cache=True, nogil=True)
def find_merge(keys: Array, rows: Array, left: int, right: int) -> int:
    """The row that merges two symbols, or NO_ROW."""
    mask = len(keys) - 1
    key = (np.int64(left) << 32) | np.int64(right)
    slot = _slot(key, mask)
    while keys[slot] != key:
        if keys[slot] == _EMPTY:
            return NO_ROW
        slot = (slot + 1) & mask
    return int(rows[slot])


@njit(cache=True, nogil=True)
def merge_symbols(
    symbols: Array, n: int, following: Array, pair: Array, merges: Array, keys: Array, rows: Array
) -> Any:
    """Merge `symbols[:n]` in place; (how many are left, row of the last merge or NO_ROW).

    following, pair: int32 room for n entries: the place of the next symbol, and the row that merges with it.
    """
    for i in range(n):
        following[i] = i + 1
        pair[i] = find_merge(keys, rows, symbols[i], symbols[i + 1]) if i + 1 < n else NO_ROW
    last = NO_ROW
    while True:
        best, before_best, best_row, before, i = -1, -1, NO_ROW, -1, 0
        while i < n:
            if pair[i] < best_row:
                best, before_best, best_row = i, before, pair[i]
            before = i
            i = following[i]
        if best < 0:
            break
        last = best_row
        after = following[following[best]]
        symbols[best] = merges[best_row, 2]
        following[best] = after
        pair[best] = find_merge(keys, rows, symbols[best], symbols[after]) if after < n else NO_ROW
        if before_best >= 0:
            pair[before_best] = find_merge(keys, rows, symbols[before_best], symbols[best])
    left, i = 0, 0
    while i < n:
        symbols[left] = symbols[i]
        left += 1
        i = following[i]
    return left, last


@njit(cache=True, nogil=True)
def last_merges(flat: Array, starts: Array, ids: Array, merges: Array, keys: Array, rows: Array, out: Array) -> None:
    """For each token k, spelled by the symbols flat[starts[k]:starts[k + 1]]: out[k] is the row that completes it.

    NO_ROW where merging its symbols does not end in ids[k] alone (or it has one symbol, and needs no merge).
    """
    longest = 0
    for k in range(len(ids)):
        longest = max(longest, starts[k + 1] - starts[k])
    symbols = np.empty(longest, np.int32)
    following = np.empty(longest, np.int32)
    pair = np.empty(longest, np.int32)
    for k in range(len(ids)):
        n = starts[k + 1] - starts[k]
        out[k] = NO_ROW
        if n < 2:
            continue
        is_spelled = True
        for i in range(n):
            symbols[i] = flat[starts[k] + i]
            is_spelled &= symbols[i] >= 0
        if not is_spelled:
            continue
        left, last = merge_symbols(symbols, n, following, pair, merges, keys, rows)
        if left == 1 and symbols[0] == ids[k]:
            out[k] = last


def merge_table(merges: Array) -> tuple[Array, Array]:
    """(keys, rows) of `find_merge` for merges int32[n, 3]."""
    size = 1 << max(4, int(2 * len(merges)).bit_length())
    keys, rows = np.full(size, _EMPTY, np.int64), np.empty(size, np.int32)
    fill_merge_table(merges, keys, rows)
    return keys, rows
