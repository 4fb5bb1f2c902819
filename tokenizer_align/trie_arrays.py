"""Tries in the form that walks run over: appended to the engine's arrays, so that a walk needs a start node only.

The vocabulary's trie comes first, with its root at 0; residual tries of memos follow.
"""

from __future__ import annotations

import numpy as np

from . import kernels as k
from .shapes import DENSE_TOKENS, shapes_of
from .tables import Array, Tables
from .text_tokens import N_ASCII, text_tokens_of
from .trie import Trie

__all__ = ["add_child_table", "add_shapes", "add_trie"]

TABLE_CHILDREN = 24  # a node with so many children gets a table by byte


def add_trie(tables: Tables, trie: Trie) -> int:
    """Append a trie (the vocabulary's, or a residual one) to the arrays; returns its root's index."""
    masks, heights = np.zeros((trie.n_nodes, 4), np.uint64), np.zeros(trie.n_nodes, np.int32)
    k.subtree_masks(trie.end, trie.byte, masks)
    k.subtree_heights(trie.end, heights)
    root = _append(tables, trie, masks, heights)
    counts = np.zeros(trie.n_nodes, np.int32)
    k.count_children(trie.end, counts)
    for node in np.flatnonzero(counts >= TABLE_CHILDREN).tolist():
        add_child_table(tables, root + node)
    return root


def add_shapes(tables: Tables, trie: Trie) -> None:
    """Append the trie by shape of the vocabulary's trie, which stands at 0 already."""
    shapes = shapes_of(trie)
    n = shapes.trie.n_nodes
    root = _append(tables, shapes.trie, shapes.submask, np.full(n, k.SHAPE_HEIGHT, np.int32))
    number = np.full(trie.n_nodes, -1, np.int32)
    alone = np.flatnonzero((np.diff(shapes.member_start) == 1) & shapes.is_single)
    number[shapes.members[shapes.member_start[alone]]] = root + alone
    number[0] = root
    starts, ids = shapes.trie.token_start, shapes.trie.token_ids
    rows: list[Array] = []
    own, whole = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for found, begin, end in ((own, starts[:-1], starts[1:]), (whole, starts[1:], starts[shapes.trie.end])):
        for node in np.flatnonzero(end - begin >= DENSE_TOKENS).tolist():
            row = np.zeros(tables.n_words, np.uint32)
            k.set_ids(ids[begin[node] : end[node]], row)
            found[node] = len(rows)
            rows.append(row)
    flat = np.concatenate(rows) if rows else np.zeros(1, np.uint32)
    tables.shapes = {k.SHAPE_AT: number, k.SHAPE_STARTS: shapes.member_start, k.SHAPE_MEMBERS: shapes.members}
    tables.shapes |= {k.SHAPE_LEADS: shapes.leads.ravel(), k.SHAPE_STRETCH: shapes.stretch.ravel()}
    kinds = np.where(np.bitwise_count(shapes.leads).sum(1) > 1, k.SEVERAL_LEADS, 0)
    kinds |= np.where(shapes.stretch.any(1), k.HAS_STRETCH, 0)
    tables.shapes |= {k.SHAPE_KIND: kinds.astype(np.uint8)}
    tables.shapes |= {k.SHAPE_OWN_ROW: own, k.SHAPE_ROW: whole, k.SHAPE_ROWS: flat}
    _add_text(tables, trie)
    tables.publish_shapes(root)


def _add_text(tables: Tables, trie: Trie) -> None:
    """Note which tokens of the vocabulary are text; a byte that many of these hold has a row of them."""
    text = text_tokens_of(trie)
    rows, number = [np.zeros(tables.n_words, np.uint32)], np.full(N_ASCII, -1, np.int32)
    k.set_ids(text.ids, rows[0])
    for byte in range(N_ASCII):
        nodes = text.nodes[text.starts[byte] : text.starts[byte + 1]]
        begin, end = trie.token_start[nodes], trie.token_start[trie.end[nodes]]
        if int((end - begin).sum()) >= DENSE_TOKENS:
            number[byte] = len(rows)
            rows.append(np.zeros(tables.n_words, np.uint32))
            for first, last in zip(begin.tolist(), end.tolist(), strict=True):
                k.set_ids(trie.token_ids[first:last], rows[-1])
    tables.shapes |= {k.TEXT_STARTS: text.starts, k.TEXT_NODES: text.nodes, k.TEXT_ABOVE: text.above.ravel()}
    tables.shapes |= {k.TEXT_ROW: number, k.TEXT_ROWS: np.concatenate(rows)}


def _append(tables: Tables, trie: Trie, masks: Array, heights: Array) -> int:
    """Append a trie; masks: uint64[n_nodes, 4], the bytes below each node; heights: int32[n_nodes]. Its root."""
    n = trie.n_nodes
    root, first_token = tables.trie_byte.n, tables.trie_token_ids.n
    tables.trie_byte.extend(trie.byte)
    tables.trie_end.extend(trie.end.astype(np.int32) + root)
    tables.trie_token_ids.extend(trie.token_ids)
    starts = tables.trie_token_start
    starts.reserve(n + 1 if root == 0 else n)
    starts.array[root : root + n + 1] = trie.token_start + first_token
    tables.trie_submask.extend(masks.ravel())
    tables.trie_height.extend(heights)
    tables.trie_table.extend(np.full(n, -1, np.int32))
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
