"""Compiled sorting of a place's tokens by what is known of them: settled, found before, or still to be decided.

A token that leads to a group of heads and a state of P survives if a boundary of pre-tokens may lie behind it, or if it
was found to. `keys` and `values` are an open hash table of such fates: int64[n] (heads' number, state, token; -1: free)
and int32[n], n a power of two, never full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

TOKEN_BITS = 24  # of a key, below the number of heads and state


@njit(cache=True, nogil=True)
def _slot(keys: Any, key: Any) -> Any:
    """Where a key is, or would be."""
    mask = keys.shape[0] - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(8)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _find(keys: Any, values: Any, node: Any, token: Any) -> Any:
    """The fate of a token, or -1."""
    key = (node << TOKEN_BITS) | token
    slot = _slot(keys, key)
    return values[slot] if keys[slot] == key else np.int32(-1)


@njit(cache=True, nogil=True)
def is_settled(g: Any, p: Any, live: Any, complete: Any, cuts: Any, ends: Any, may_end: Any, marked: Any) -> Any:
    """Whether a boundary may surely lie behind a token that leads to group g and state p, or the text end.

    live: uint64[n_groups, 4]; complete: bool[n_groups]; cuts: uint64[n_states, 4]; ends: bool[n_states]; may_end:
    whether `complete` counts; marked: whether byte 255 is a marker, in front of which the text's tokens end.
    """
    common = np.uint64(0)
    for word in range(4):
        common |= live[g, word] & cuts[p, word]
    marker = marked and live[g, 3] >> np.uint64(63) != np.uint64(0)
    return common != 0 or (ends[p] and (marker or (may_end and complete[g])))


@njit(cache=True, nogil=True)
def settle(
    group: Any, states: Any, live: Any, complete: Any, cuts: Any, ends: Any, may_end: Any, marked: Any, out: Any
) -> None:
    """The same for many: groups (-1: none) and states, into out: bool[n], False before."""
    for i in range(group.shape[0]):
        if group[i] >= 0:
            out[i] = is_settled(group[i], states[i], live, complete, cuts, ends, may_end, marked)


@njit(cache=True, nogil=True)
def sort_out(
    tokens: Any, group: Any, of_token: Any, begins: Any, arcs: Any,
    live: Any, complete: Any, cuts: Any, ends: Any, may_end: Any, marked: Any, is_plain: Any,
    kept: Any, n_open: Any, open_rows: Any,
) -> Any:  # fmt: skip
    """Set the tokens that surely survive in kept: uint32[2, n_words], by the bit before them, and append the others,
    as rows (token, group, state, bit), to open_rows: int32[m, 4], behind its first n_open rows.

    tokens, group: int32[n]; begins, arcs: of one state of P, see `SignaturePaths.arcs`; is_plain: whether a boundary
    settles anything. Returns how many rows are open, of which those beyond m are missing.
    """
    for i in range(tokens.shape[0]):
        g, token = group[i], tokens[i]
        if g < 0:
            continue
        for at in range(begins[of_token[token]], begins[of_token[token] + 1]):
            bit, p = arcs[at, 0], arcs[at, 1]
            if is_plain and is_settled(g, p, live, complete, cuts, ends, may_end, marked):
                kept[bit, token >> 5] |= np.uint32(1) << np.uint32(token & 31)
                continue
            if n_open < open_rows.shape[0]:
                open_rows[n_open, 0], open_rows[n_open, 1] = token, g
                open_rows[n_open, 2], open_rows[n_open, 3] = p, bit
            n_open += 1
    return n_open


@njit(cache=True, nogil=True)
def look_up(rows: Any, nodes: Any, keys: Any, values: Any, fates: Any) -> None:
    """What was found before of the rows (token, group, state, bit) whose fate, int32[n], is -1.

    nodes: int64[3, n_groups], what a state is added to for a key: of the heads, and, -1 where there is none, of the top
    frame with and without the bytes that may come below it, where only survival counts. What was not found to survive
    for those bytes gets -2.
    """
    for i in range(rows.shape[0]):
        g, p, token = rows[i, 1], rows[i, 2], rows[i, 0]
        for level in range(3):
            if fates[i] < 0 and nodes[level, g] >= 0:
                found = _find(keys, values, nodes[level, g] + p, token)
                if found > 0 or (found == 0 and level == 0):
                    fates[i] = found
                elif found == 0 and level == 1:
                    fates[i] = -2


@njit(cache=True, nogil=True)
def gather(rows: Any, n_states: Any, order: Any, firsts: Any) -> Any:
    """Sort rows (token, group, state, bit) by group and state: row numbers, those of one group and state together, into
    order: int64[n]; where each lot begins, and at last n, into firsts: int64[n + 1]. Returns the number of lots."""
    n = rows.shape[0]
    size = 4
    while size < 2 * n + 2:
        size *= 2
    keys, numbers = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    lots = np.empty(n, np.int64)
    n_lots = 0
    for i in range(n):
        key = np.int64(rows[i, 1]) * n_states + rows[i, 2]
        slot = _slot(keys, key)
        if keys[slot] == -1:
            keys[slot], numbers[slot] = key, n_lots
            firsts[n_lots + 1] = 0
            n_lots += 1
        lots[i] = numbers[slot]
        firsts[lots[i] + 1] += 1
    firsts[0] = 0
    for lot in range(n_lots):
        firsts[lot + 1] += firsts[lot]
    place = firsts[:n_lots].copy()
    for i in range(n):
        order[place[lots[i]]] = i
        place[lots[i]] += 1
    return n_lots


@njit(cache=True, nogil=True)
def keep_alive(rows: Any, fates: Any, kept: Any) -> Any:
    """Set the tokens of rows whose fate, int32[n], is not 0 in kept; returns the highest fate."""
    most = 0
    for i in range(rows.shape[0]):
        if fates[i] > 0:
            token = rows[i, 0]
            kept[rows[i, 3], token >> 5] |= np.uint32(1) << np.uint32(token & 31)
            most = max(most, fates[i])
    return most


@njit(cache=True, nogil=True)
def enter(rows: Any, fates: Any, nodes: Any, keys: Any, values: Any) -> Any:
    """Remember the fates of rows, those of -1 and of nodes of -1 left out; returns how many are new. There is room."""
    n_new = 0
    for i in range(rows.shape[0]):
        if fates[i] < 0 or nodes[rows[i, 1]] < 0:
            continue
        key = ((nodes[rows[i, 1]] + rows[i, 2]) << TOKEN_BITS) | rows[i, 0]
        slot = _slot(keys, key)
        n_new += keys[slot] == -1
        keys[slot], values[slot] = key, fates[i]
    return n_new


@njit(cache=True, nogil=True)
def table_with(n_slots: Any, old_keys: Any, old_values: Any) -> Any:
    """A table of n slots, a power of two, that holds what a smaller one does."""
    keys, values = np.full(n_slots, -1, np.int64), np.zeros(n_slots, np.int32)
    for i in range(old_keys.shape[0]):
        if old_keys[i] != -1:
            slot = _slot(keys, old_keys[i])
            keys[slot], values[slot] = old_keys[i], old_values[i]
    return keys, values
