"""Residual tries: what is left of the tokens that run past a frame's end, as one trie that walks go on with.

An identifier may end after any letter, so that what is left of its tokens is nearly the whole vocabulary over again.
But what follows an identifier hardly ever begins with a letter: the parts of a residual trie below the bytes that the
frame itself goes on with, and large ones, are made when a walk first asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .trie import Trie
from .trie_arrays import add_child_table, add_trie

if TYPE_CHECKING:
    from .engine import Engine

Bytes = npt.NDArray[np.uint64]  # a set of bytes: uint64[4]
Edges = npt.NDArray[np.int32]  # trie nodes, each with the byte that leads to it

MAX_EAGER = 4_000  # nodes of a residual trie that is made at once

NO_BYTES: Bytes = np.zeros(4, np.uint64)
NO_EDGES: Edges = np.zeros(0, np.int32)


class Exits(Protocol):
    """Where a frame may end below a trie node."""

    def edges(self, engine: Engine, later: Bytes) -> Edges:
        """The children of these places, without those by the bytes in `later`."""
        ...


@dataclass(frozen=True, slots=True)
class ListedExits:
    """Exits that are known one by one."""

    nodes: tuple[int, ...]

    def edges(self, engine: Engine, later: Bytes) -> Edges:
        return children_of(engine, np.array(self.nodes, np.int32), later)


def children_of(engine: Engine, nodes: Edges, later: Bytes) -> Edges:
    """The children of trie nodes without those by the bytes in `later`."""
    with engine.lock:  # growing the trie in another thread moves its arrays
        room = int((engine.tables.trie_end.array[nodes] - nodes).sum())
        found = np.empty(room, np.int32)
        return found[: k.list_children(engine.tables.ctx, nodes, later, found)]


def set_large_apart(engine: Engine, edges: Edges, later: Bytes) -> tuple[Edges, Bytes]:
    """The edges whose part of a residual trie is to be made at once; the bytes of the others join `later`."""
    by_byte = np.zeros(256, np.int64)
    with engine.lock:
        k.subtree_sizes(engine.tables.ctx, edges, by_byte)
        if by_byte.sum() <= MAX_EAGER:
            return edges, later
        order = np.argsort(by_byte, kind="stable")
        late = order[np.cumsum(by_byte[order]) > MAX_EAGER]
        later = later.copy()
        for byte in late.tolist():
            later[byte >> 6] |= np.uint64(1 << (byte & 63))
        return edges[~np.isin(engine.tables.trie_byte.array[edges], late)], later


def merged(engine: Engine, edges: Edges) -> Trie | None:
    """One trie of the texts at and below the edges, with their ids; its root reads nothing. None for no edges."""
    if not len(edges):
        return None
    with engine.lock:
        by_byte = np.zeros(256, np.int64)
        n_tokens = k.subtree_sizes(engine.tables.ctx, edges, by_byte)
        n = int(by_byte.sum()) + 1
        scratch, groups, parents = np.empty((2, n), np.int32), np.empty((n, 3), np.int32), np.empty((n, 2), np.int32)
        trie_byte, end = np.empty(n, np.uint8), np.empty(n, np.int32)
        token_start, token_ids = np.empty(n + 1, np.int32), np.empty(n_tokens, np.int32)
        n_nodes = k.merge_subtrees(
            engine.tables.ctx, edges, scratch, groups, parents, trie_byte, end, token_start, token_ids
        )
    depth = np.zeros(n_nodes, np.int32)  # nobody asks for it
    return Trie(trie_byte[:n_nodes], end[:n_nodes], depth, token_start[: n_nodes + 1], token_ids)


def enter(engine: Engine, trie: Trie | None, later: Bytes, exits: Exits) -> int:
    """Append a residual trie (None: nothing is made at once) to the engine's arrays; returns its root, or NO_RESIDUAL.

    `later`: bytes whose part is made when it is asked for. Nothing walks meanwhile.
    """
    if not later.any():
        return k.NO_RESIDUAL if trie is None else add_residual(engine, trie)
    root = add_residual(engine, _ROOT if trie is None else trie)
    row = add_child_table(engine.tables, root)
    row[np.unpackbits(later.view(np.uint8), bitorder="little").view(np.bool_)] = k.LAZY_CHILD
    engine.tables.trie_height.array[root] = k.LAZY_HEIGHT
    engine.shared_walks.exits[root] = exits
    return root


def add_residual(engine: Engine, trie: Trie) -> int:
    engine.counters.residual_nodes += trie.n_nodes
    return add_trie(engine.tables, trie)


_ROOT = Trie(np.zeros(1, np.uint8), np.ones(1, np.int32), np.zeros(1, np.int32), np.zeros(2, np.int32), NO_EDGES)


def make_part(engine: Engine, root: int, byte: int) -> None:
    """Make the part of a residual trie below a byte, which was left for later."""
    exits = engine.shared_walks.exits.get(root)
    if exits is None:
        return  # a new generation began
    later = ~NO_BYTES
    later[byte >> 6] &= ~np.uint64(1 << (byte & 63))
    edges = exits.edges(engine, later)
    trie = merged(engine, edges)
    with engine.lock:
        engine.walkers.settle()
        tables = engine.tables
        row = int(tables.trie_table.array[root])
        if tables.trie_tables.row(row)[byte] == k.LAZY_CHILD:
            with engine.changing():
                child = -1 if trie is None else add_residual(engine, trie) + 1
                engine.tables.trie_tables.row(row)[byte] = child
