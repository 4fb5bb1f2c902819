"""The compiled search for a canonical way on: depth first over (set of heads, state of P, last token).

It goes through ways that `kernels.list_all_ways` lists, and asks for those that it lacks. `is_bad_pair` becomes part of
it when it is compiled: whoever changes that touches this file too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .bpe_kernels import Array, is_bad_pair


@njit(cache=True, nogil=True)
def _slot64(keys: Array, key: int) -> int:
    """Where a key is in a table with open addressing (-1: free), or would be."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(8)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@njit(cache=True, nogil=True)
def is_bad_beside(a: int, b: int, piece_bytes: Array, seconds: Array, pair_tables: Any) -> bool:
    """`is_bad_pair`, and what byte pieces forbid; piece_bytes: int16[n_ids], -1 for others; seconds: bool[256, 256],
    which second bytes of a character may follow a lead byte."""
    first, second = piece_bytes[a], piece_bytes[b]
    if first >= 0xC2:
        if second < 0 or not seconds[first, second]:
            return True
    elif 0x80 <= second < 0xC0 and (first < 0x80 or first >= 0xC0):
        return True
    left, right, phase, shared, merges, ranks, keys, rows, room = pair_tables
    return bool(is_bad_pair(a, b, left, right, phase, shared, merges, ranks, keys, rows, room))


@njit(cache=True, nogil=True)
def search_ways(
    starts: Array, tokens: Array, n_states: int, lists: Any, memo: Any, visits: Any, wanted: Array, limits: Any,
    spent: Array, pieces: Any, pair_tables: Any, fates: Array,
) -> Any:  # fmt: skip
    """Which tokens that lead to nodes (set of heads, state of P) can be continued canonically, depth first over (node,
    token), into fates: int32[n], so far -1: at most how many tokens are read behind to see it, 0: it cannot, -3: not
    known.

    starts: int64[n], nodes; lists: (keys, places, spans, good, ways), see `kernels.list_all_ways`; memo: (keys:
    int64[m], values: int32[m], count: int64[1]); visits: (keys: int64[k], stamps: int64[k], order: int64[k], stack:
    int64[k, 4], stamp: int64[1]), room; limits: (nodes visited for a token, pairs looked at, and in all); spent:
    int64[1], the latter so far. Returns how many nodes, in wanted: int64[w], must be listed to go on; those fates
    stay -1.
    """
    node_keys, places, spans, good, ways = lists
    memo_keys, memo_values, memo_count = memo
    visit_keys, stamps, order, stack, stamp = visits
    piece_bytes, seconds = pieces
    n_wanted = 0
    for i in range(len(starts)):
        if fates[i] != -1:
            continue
        if spent[0] > limits[2]:
            fates[i] = -3
            continue
        stamp[0] += 1
        n_visits, n_tests, depth, unsure, alive, need = 0, 0, -1, False, 0, np.int64(-1)
        node, token, entering = np.int64(starts[i]), np.int64(tokens[i]), True
        while True:
            if entering:
                entering = False
                key = (node << 24) | token
                slot = _slot64(memo_keys, key)
                if memo_keys[slot] == key:
                    alive = memo_values[slot]
                    if alive > 0 or depth < 0:
                        break
                    continue
                at = _visit_slot(visit_keys, stamps, stamp[0], key)
                if stamps[at] == stamp[0]:
                    continue
                slot = _slot64(node_keys, node)
                if node_keys[slot] != node:
                    need = node
                    break
                place = places[slot]
                kind = spans[place, 4]
                if kind == 2:
                    alive = 1
                else:
                    for j in range(spans[place, 0], spans[place, 1]):
                        n_tests += 1
                        if not is_bad_beside(token, good[j], piece_bytes, seconds, pair_tables):
                            alive = 1
                            break
                if alive:
                    break
                if n_visits >= limits[0] or n_tests > limits[1]:
                    unsure = True
                    depth = -2
                    break
                visit_keys[at], stamps[at], order[n_visits] = key, stamp[0], key
                n_visits += 1
                unsure = unsure or kind == 0
                depth += 1
                stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = (
                    node,
                    token,
                    spans[place, 2],
                    spans[place, 3],
                )
                continue
            if depth < 0:
                break
            at = stack[depth, 2]
            if at == stack[depth, 3]:
                depth -= 1
                continue
            stack[depth, 2] = at + 1
            n_tests += 1
            follower = ways[at, 0]
            if ways[at, 1] or not is_bad_beside(stack[depth, 1], follower, piece_bytes, seconds, pair_tables):
                node, token, entering = ways[at, 2] * n_states + ways[at, 3], follower, True
        spent[0] += n_tests
        if need >= 0:
            if n_wanted < len(wanted):
                wanted[n_wanted] = need
                n_wanted += 1
            continue
        if 2 * (memo_count[0] + n_visits + 2) > len(memo_keys):
            break
        if alive > 0:
            _enter(memo_keys, memo_values, memo_count, (node << 24) | token, alive)
            while depth >= 0:
                alive += 1
                _enter(memo_keys, memo_values, memo_count, (stack[depth, 0] << 24) | stack[depth, 1], alive)
                depth -= 1
            fates[i] = alive
        elif unsure:
            fates[i] = -3
        else:
            for j in range(n_visits):
                _enter(memo_keys, memo_values, memo_count, order[j], 0)
            fates[i] = 0
    return n_wanted


@njit(cache=True, nogil=True)
def _visit_slot(keys: Array, stamps: Array, stamp: int, key: int) -> int:
    """Where a key is, or would be, among those of this stamp."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(8)) & mask
    while stamps[slot] == stamp and keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@njit(cache=True, nogil=True)
def _enter(keys: Array, values: Array, count: Array, key: int, value: int) -> None:
    slot = _slot64(keys, key)
    count[0] += keys[slot] != key
    keys[slot], values[slot] = key, value
