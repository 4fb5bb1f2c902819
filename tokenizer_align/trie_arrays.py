"""Tries in the form that walks run over: appended to the engine's arrays, so that a walk needs a start node only.

The vocabulary's trie comes first, with its root at 0; residual tries of memos follow.
"""

from __future__ import annotations

import numpy as np

from . import kernels as k
from .tables import Tables
from .trie import Trie

__all__ = ["add_trie"]

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
    _add_child_tables(tables, trie, root)
    return root


def _add_child_tables(tables: Tables, trie: Trie, root: int) -> None:
    counts = np.zeros(trie.n_nodes, np.int32)
    k.count_children(trie.end, counts)
    places = np.full(trie.n_nodes, -1, np.int32)
    for node in np.flatnonzero(counts >= TABLE_CHILDREN).tolist():
        index = tables.trie_tables.reserve(1)
        row = tables.trie_tables.row(index)
        row[:] = -1
        child = node + 1
        while child < trie.end[node]:
            row[trie.byte[child]] = root + child
            child = int(trie.end[child])
        places[node] = index
    tables.trie_table.extend(places)
