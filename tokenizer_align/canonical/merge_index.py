"""Where symbols stand in merges and on the spines of tokens: what makes a token's row of bad neighbours quick to find.

See `bpe_kernels`, which says what phases and spines are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["rows_by_symbol", "spine_tree"]

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def _by_phase(phases: Array) -> Any:
    """int32[n]: the places of phases, int32[n], below n, by rising phase, equal ones in order."""
    n = len(phases)
    order = np.arange(n).astype(np.int32)
    is_rising = True
    for i in range(1, n):
        is_rising = is_rising and phases[i - 1] <= phases[i]
    if is_rising:
        return order
    places = np.zeros(n + 1, np.int32)
    for i in range(n):
        places[phases[i] + 1] += 1
    for i in range(n):
        places[i + 1] += places[i]
    for i in range(n):
        order[places[phases[i]]] = i
        places[phases[i]] += 1
    return order


@njit(cache=True, nogil=True)
def rows_by_symbol(symbols: Array, phases: Array, n_ids: int) -> Any:
    """Symbol -> rows of merges in which it stands, by rising phase: (starts: int32[n_ids + 1], rows: int32[n]).

    symbols, phases: int32[n], of each merge's row; phases below n.
    """
    by_phase, starts = _by_phase(phases), np.zeros(n_ids + 1, np.int32)
    for symbol in symbols:
        starts[symbol + 1] += 1
    for i in range(n_ids):
        starts[i + 1] += starts[i]
    rows, filled = np.empty(len(symbols), np.int32), starts.copy()
    for row in by_phase:
        symbol = symbols[row]
        rows[filled[symbol]] = row
        filled[symbol] += 1
    return starts, rows


@njit(cache=True, nogil=True)
def spine_tree(child: Array, merges: Array, phases: Array) -> Any:
    """Symbol -> the tokens on whose spine it stands: order[first[s]:end[s]], the latest consumed first.

    child: int32[n_ids], the next symbol down the spine (left or right child), -1 at its end. phases: of each merge's
    row. A spine goes down to the token's child, that one's child and so on, so the tokens of a symbol are itself and
    those of each token whose child it is: a tree, and `order` is its preorder, with branches by falling phase.

    Returns int32[n_ids] each: (order, first, end).
    """
    n_ids = len(child)
    branch, following = np.full(n_ids, -1, np.int32), np.full(n_ids, -1, np.int32)
    for row in _by_phase(phases):
        token = merges[row, 2]
        following[token] = branch[child[token]]
        branch[child[token]] = token
    order, first, end = np.empty(n_ids, np.int32), np.empty(n_ids, np.int32), np.empty(n_ids, np.int32)
    n = 0
    for root in range(n_ids):
        if child[root] >= 0:
            continue
        node = root
        while True:
            first[node], order[n] = n, node
            n += 1
            if branch[node] >= 0:
                node = branch[node]
                continue
            while node != root and following[node] < 0:
                end[node] = n
                node = child[node]
            end[node] = n
            if node == root:
                break
            node = following[node]
    return order, first, end
