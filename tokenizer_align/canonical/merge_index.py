"""Where symbols stand in merges and on the spines of tokens: what makes a token's row of bad neighbours quick to find.

See `bpe_kernels`, which says what phases and spines are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["rows_by_symbol", "spine_index"]

Array = npt.NDArray[Any]

NO_ROW = 2**31 - 1  # later than every merge


@njit(cache=True, nogil=True)
def rows_by_symbol(symbols: Array, phases: Array, n_ids: int) -> Any:
    """Symbol -> rows of merges in which it stands, by rising phase: (starts: int64[n_ids + 1], rows: int32[n]).

    symbols, phases: int32[n], of each merge's row; phases below n.
    """
    n = len(symbols)
    places = np.zeros(n + 1, np.int64)
    for row in range(n):
        places[phases[row] + 1] += 1
    places = np.cumsum(places)
    by_phase, starts = np.empty(n, np.int32), np.zeros(n_ids + 1, np.int64)
    for row in range(n):
        by_phase[places[phases[row]]] = row
        places[phases[row]] += 1
        starts[symbols[row] + 1] += 1
    starts = np.cumsum(starts)
    rows, filled = np.empty(n, np.int32), starts.copy()
    for i in range(n):
        symbol = symbols[by_phase[i]]
        rows[filled[symbol]] = by_phase[i]
        filled[symbol] += 1
    return starts, rows


@njit(cache=True, nogil=True)
def spine_index(child: Array, phase: Array, n_merges: int) -> Any:
    """Symbol -> the tokens on whose spine it stands, latest consumed first: (starts, tokens, consumed).

    child: int32[n_ids], the next symbol down the spine (left or right child), -1 at its end. consumed: phase of the
    merge above the symbol, NO_ROW where it is the token itself.
    """
    n_ids = len(child)
    starts = np.zeros(n_ids + 1, np.int64)
    n_consumed = np.zeros(n_merges + 2, np.int64)
    total = 0
    for t in range(n_ids):
        symbol, when = t, n_merges
        while symbol >= 0:
            starts[symbol + 1] += 1
            n_consumed[n_merges - when + 1] += 1
            total += 1
            when = phase[symbol]
            symbol = child[symbol]
    starts = np.cumsum(starts)
    places = np.cumsum(n_consumed)
    by_time_symbol = np.empty(total, np.int32)
    by_time_token = np.empty(total, np.int32)
    by_time = np.empty(total, np.int32)
    for t in range(n_ids):
        symbol, when = t, n_merges
        while symbol >= 0:
            place = places[n_merges - when]
            places[n_merges - when] += 1
            by_time_symbol[place], by_time_token[place] = symbol, t
            by_time[place] = NO_ROW if when == n_merges else when
            when = phase[symbol]
            symbol = child[symbol]
    tokens, consumed = np.empty(total, np.int32), np.empty(total, np.int32)
    filled = starts.copy()
    for i in range(total):
        place = filled[by_time_symbol[i]]
        filled[by_time_symbol[i]] += 1
        tokens[place], consumed[place] = by_time_token[i], by_time[i]
    return starts, tokens, consumed
