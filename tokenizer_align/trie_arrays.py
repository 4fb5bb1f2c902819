"""Tries in the form that walks run over: appended to the engine's arrays, so that a walk needs a start node only.

The vocabulary's trie comes first, with its root at 0; residual tries of memos follow.
"""

from __future__ import annotations

import numpy as np

from . import kernels as k
from .tables import Array, Tables
from .trie import Trie

__all__ = ["add_child_table", "add_trie"]

TABLE_CHILDREN = 24  # a node with so many children gets a table by byte


def add_trie(tables: Tables, trie: Trie) -> int:
    """Append a trie (the vocabulary's, or a residual one) to the arrays; returns its root's index."""
    n = trie.n_nodes
    root, first_token = tables.trie_byte.n, tables.trie_token_ids.n
    tables.trie_byte.extend(trie.byte)
    tables.trie_end.extend(trie.end.astype(np.int32) + root)
    tables.trie_token_ids.extend(trie.token_ids)
    starts = tables.trie_token_start
    starts.reserve(n + 1 if root == 0 else n)
    starts.array[root : root + n + 1] = trie.token_start + first_token
    masks = np.zeros((n, 4), np.uint64)
    k.subtree_masks(trie.end, trie.byte, masks)
    tables.trie_submask.extend(masks.ravel())
    heights = np.zeros(n, np.int32)
    k.subtree_heights(trie.end, heights)
    tables.trie_height.extend(heights)
    tables.trie_table.extend(np.full(n, -1, np.int32))
    counts = np.zeros(n, np.int32)
    k.count_children(trie.end, counts)
    for node in np.flatnonzero(counts >= TABLE_CHILDREN).tolist():
        add_child_table(tables, root + node)
    return root


def add_child_table(tables: Tables, node: int) -> Array:
    """Give a node a table of its children by byte, if it has none; returns it: int32[256], -1 for no child."""
    index = int(tables.trie_table.array[node])
    if index >= 0:
        return tables.trie_tables.row(index)
    index = tables.trie_tables.reserve(1)
    row, ends = tables.trie_tables.row(index), tables.trie_end.array
    row[:] = -1
    child = node + 1
    while child < ends[node]:
        row[tables.trie_byte.array[child]] = child
        child = int(ends[child])
    tables.trie_table.array[node] = index
    return row
