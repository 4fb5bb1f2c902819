"""Compiled walk over the vocabulary's trie: which pieces of a Unigram tokenizer lose against another way to write them.

Viterbi's sums over the bytes of each piece, for all pieces at once: the best sum at a depth of the trie depends only on
the path to it. Ways may begin in the text before (`tails`), each at a trie node where a longer piece is half read; the
first of equal sums wins, and earlier starts come first, as in `unigram.Unigram`.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def find_node(trie_byte, trie_end, root_child, data):  # type: ignore[no-untyped-def]
    """The node that the bytes (uint8[n]) lead to, or -1."""
    if data.shape[0] == 0:
        return 0
    node = root_child[data[0]]
    for i in range(1, data.shape[0]):
        if node < 0:
            return -1
        node = _child(trie_byte, trie_end, node, data[i])
    return node


@njit(cache=True, nogil=True)
def _child(trie_byte, trie_end, node, byte):  # type: ignore[no-untyped-def]
    child, stop = node + 1, trie_end[node]
    while child < stop:
        if trie_byte[child] == byte:
            return child
        if trie_byte[child] > byte:
            return -1
        child = trie_end[child]
    return -1


@njit(cache=True, nogil=True)
def _n_following(byte):  # type: ignore[no-untyped-def]
    """How many bytes follow the first one of a character; -1: it is none."""
    if byte < 0x80:
        return 0
    if byte < 0xC2:
        return -1
    if byte < 0xE0:
        return 1
    return 2 if byte < 0xF0 else 3


@njit(cache=True, nogil=True)
def losing_pieces(  # type: ignore[no-untyped-def]
    trie_byte,
    trie_end,
    trie_depth,
    depth,
    root_child,
    node_score,
    node_id,
    unknown,
    tails,
    tail_sums,
    here,
    close,
    row,
    near,
):  # fmt: skip
    """Set the bit of each piece that loses in row: uint32[n_words]; in near, of those whose rivals come within `close`.

    root_child: int32[256], -1: none. node_score: float64[n_nodes], NaN where no piece ends; node_id: int32[n_nodes].
    tails: int32[m], trie nodes of the starts before, earliest first; tail_sums: float64[m], here: best sums there and
    where the piece begins. Pieces that no tail reaches are left out.
    """
    m = tails.shape[0]
    n_walks = np.zeros(depth + 1, np.int32)
    start = np.zeros((depth + 1, m + depth + 1), np.int32)  # of each way that is half read: -m to -1 are tails
    at = np.zeros((depth + 1, m + depth + 1), np.int32)  # its trie node
    best = np.zeros(depth + 1, np.float64)
    goes_by = np.zeros(depth + 1, np.bool_)  # whether the best way there comes from a tail
    any_by = np.zeros(depth + 1, np.bool_)  # whether one does at this depth or before
    left = np.zeros(depth + 1, np.int8)
    begun = np.zeros(depth + 1, np.int32)  # depth where the open character begins
    best[0] = here
    n_walks[0] = m
    for i in range(m):
        start[0, i] = i - m
        at[0, i] = tails[i]
    node = 1
    while node < trie_byte.shape[0]:
        d, byte = trie_depth[node], trie_byte[node]
        if left[d - 1] == 0:
            n_following = _n_following(byte)
            if n_following < 0:
                node = trie_end[node]
                continue
            left[d], begun[d] = n_following, d - 1
        else:
            left[d], begun[d] = left[d - 1] - 1, begun[d - 1]
        n, n_tails = 0, 0
        for i in range(n_walks[d - 1]):
            child = _child(trie_byte, trie_end, at[d - 1, i], byte)
            if child >= 0:
                start[d, n], at[d, n] = start[d - 1, i], child
                n += 1
                n_tails += start[d - 1, i] < 0
        if d > 1 and left[d - 1] == 0 and root_child[byte] >= 0:
            start[d, n], at[d, n] = d - 1, root_child[byte]
            n += 1
        n_walks[d] = n
        any_by[d] = any_by[d - 1]
        if left[d] == 0:
            value, by, own, rival = -np.inf, False, -np.inf, -np.inf
            is_own = False
            for i in range(n):
                if start[d, i] < 0 and not np.isnan(node_score[at[d, i]]):
                    total = tail_sums[m + start[d, i]] + node_score[at[d, i]]
                    rival = max(rival, total)
                    if total > value:
                        value, by = total, True
            if not np.isnan(node_score[node]):
                own = here + node_score[node]
                if own > value:
                    value, by, is_own = own, False, True
            elif begun[d] == 0 and here + unknown > value:
                value, by = here + unknown, False
            is_single = begun[d] == 0
            for i in range(n):
                first = start[d, i]
                if first >= 0 and not np.isnan(node_score[at[d, i]]):
                    is_single |= first == begun[d]
                    total = best[first] + node_score[at[d, i]]
                    rival = max(rival, total)
                    if total > value:
                        value, by, is_own = total, goes_by[first], False
            if not is_single:
                total = best[begun[d]] + unknown
                rival = max(rival, total)
                if total > value:
                    value, by, is_own = total, goes_by[begun[d]], False
            best[d], goes_by[d] = value, by
            any_by[d] |= by
            if not np.isnan(node_score[node]):
                token = node_id[node]
                if not is_own:
                    row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
                if abs(own - rival) <= close:
                    near[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        if m > 0 and n_tails == 0 and not any_by[d]:
            node = trie_end[node]
        else:
            node += 1
