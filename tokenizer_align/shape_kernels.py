"""Compiled loops behind shapes.py and text_tokens.py, over a trie in preorder: one pass each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["find_parents", "number_shapes", "read_text"]


@njit(cache=True, nogil=True)
def find_parents(depth: Any, parent: Any, latest: Any) -> None:
    """The node above each node, into parent: int64[n_nodes]; latest: int64[deepest + 1], room."""
    for node in range(1, len(depth)):
        parent[node] = latest[depth[node] - 1]
        latest[depth[node]] = node


@njit(cache=True, nogil=True)
def number_shapes(parent: Any, kind: Any, begins: Any) -> Any:
    """(the number of each node's shape: int64[n_nodes]; of each shape 256 times the one above it and its class, the
    root's -1: int64[n_shapes]). A node that begins no stretch is of its parent's shape."""
    n_slots = 1 << 12
    slots = np.full(n_slots, -1, np.int64)
    keys = np.empty(len(parent), np.int64)
    keys[0] = -1
    n = 1
    shape = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        above = shape[parent[node]]
        if not begins[node]:
            shape[node] = above
            continue
        key = above * 256 + kind[node]
        slot = _slot(key, n_slots)
        while slots[slot] >= 0 and keys[slots[slot]] != key:
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] < 0:
            slots[slot] = n
            keys[n] = key
            n += 1
        shape[node] = slots[slot]
        if 2 * n > n_slots:
            n_slots *= 4
            slots = np.full(n_slots, -1, np.int64)
            for known in range(1, n):
                free = _slot(keys[known], n_slots)
                while slots[free] >= 0:
                    free = (free + 1) & (n_slots - 1)
                slots[free] = known
    return shape, keys[:n].copy()


@njit(cache=True, nogil=True)
def _slot(key: int, n_slots: int) -> int:
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64(mixed >> np.uint64(20)) & (n_slots - 1))


@njit(cache=True, nogil=True)
def read_text(parent: Any, byte: Any, utf8: Any, states: Any, above: Any) -> None:
    """The state of UTF-8 behind each node, into states: int64[n_nodes]; the ASCII bytes on the way to it, its own left
    out, into above: uint64[n_nodes, 2]. utf8: int64[n_states, 256]."""
    for node in range(1, len(parent)):
        before = parent[node]
        states[node] = utf8[states[before], byte[node]]
        above[node, 0], above[node, 1] = above[before, 0], above[before, 1]
        if before > 0 and byte[before] < 128:
            above[node, byte[before] >> 6] |= np.uint64(1) << np.uint64(byte[before] & 63)
