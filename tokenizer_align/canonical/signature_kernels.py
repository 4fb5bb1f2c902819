"""Compiled loops behind signatures.py and signature_paths.py: tokens by where they end, walked from the states after
their first byte, and the same by the state that a token is read from."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["collect_arcs", "join_ends", "sort_by_entry", "token_kinds"]

_MAX_GUESSES = 64  # alive within one token from one state; today's automata have four at most


@njit(cache=True, nogil=True)
def token_kinds(first, arcs, stops, entered, first_entered, text, starts, wanted):  # type: ignore[no-untyped-def]
    """Tokens of one first byte and the same ends are of one kind.

    Args:
        first, arcs: of the automaton. stops: int8[n_states]: 0: no token ends here, else what its `wanted` must be.
        entered: int32[n]: states after a first byte, those of byte b from first_entered[b] on.
        text: uint8[n]: bytes of all tokens; starts: int64[n_tokens + 1]; wanted: int8[n_tokens].

    Returns:
        kind_of_token: int32[n_tokens], -1 where a token has no bytes;
        example: int32[n_kinds]: a token of each kind;
        begin: int32[n_kinds + 1] and rows: int32[n, 2]: per kind the (place in the states of its byte, end), ascending.
    """
    n_tokens = starts.shape[0] - 1
    kind_of_token = np.full(n_tokens, -1, np.int32)
    n_slots = 1 << 12
    slots = np.full(n_slots, -1, np.int32)
    example, hashes, begin = np.empty(1 << 8, np.int32), np.empty(1 << 8, np.uint64), np.zeros((1 << 8) + 1, np.int32)
    rows = np.empty((1 << 12, 2), np.int32)
    here, after = np.empty(_MAX_GUESSES, np.int32), np.empty(_MAX_GUESSES, np.int32)
    n_kinds = 0
    for token in range(n_tokens):
        low, high = starts[token], starts[token + 1]
        if low == high:
            continue
        byte = np.int64(text[low])
        n = begin[n_kinds]
        for place in range(first_entered[byte + 1] - first_entered[byte]):
            here[0] = entered[first_entered[byte] + place]
            alive = 1
            for at in range(low + 1, high):
                m = 0
                for i in range(alive):
                    index = here[i] * 256 + text[at]
                    for arc in range(first[index], first[index + 1]):
                        if arcs[arc, 0] == 1:
                            continue
                        if m == _MAX_GUESSES:
                            raise ValueError("more guesses than any known pre-tokenizer makes")
                        after[m] = arcs[arc, 1]
                        m += 1
                here, after = after, here
                alive = m
                if alive == 0:
                    break
            if n + alive > rows.shape[0]:
                wider = np.empty((2 * rows.shape[0], 2), np.int32)
                wider[: rows.shape[0]] = rows
                rows = wider
            here[:alive].sort()
            for i in range(alive):
                if stops[here[i]] == wanted[token]:
                    rows[n, 0], rows[n, 1] = place, here[i]
                    n += 1
        code = np.uint64(14695981039346656037) ^ np.uint64(byte)
        for row in range(begin[n_kinds], n):
            code = (code ^ np.uint64(rows[row, 0])) * np.uint64(1099511628211)
            code = (code ^ np.uint64(rows[row, 1])) * np.uint64(1099511628211)
        slot = np.int64(code >> np.uint64(20)) & (n_slots - 1)
        while slots[slot] >= 0:
            known = slots[slot]
            same = hashes[known] == code and text[starts[example[known]]] == byte
            if same and _equal(rows, begin[known], begin[known + 1], begin[n_kinds], n):
                break
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] >= 0:
            kind_of_token[token] = slots[slot]
            continue
        kind_of_token[token] = slots[slot] = n_kinds
        example[n_kinds], hashes[n_kinds] = token, code
        n_kinds += 1
        begin[n_kinds] = n
        if n_kinds == example.shape[0]:
            example = np.concatenate((example, np.empty(n_kinds, np.int32)))
            hashes = np.concatenate((hashes, np.empty(n_kinds, np.uint64)))
            begin = np.concatenate((begin, np.zeros(n_kinds, np.int32)))
        if 2 * n_kinds > n_slots:
            n_slots *= 4
            slots = np.full(n_slots, -1, np.int32)
            for known in range(n_kinds):
                free = np.int64(hashes[known] >> np.uint64(20)) & (n_slots - 1)
                while slots[free] >= 0:
                    free = (free + 1) & (n_slots - 1)
                slots[free] = known
    return kind_of_token, example[:n_kinds].copy(), begin[: n_kinds + 1].copy(), rows[: begin[n_kinds]].copy()


@njit(cache=True, nogil=True)
def _equal(rows, low, high, other, end):  # type: ignore[no-untyped-def]
    """Whether two spans of rows hold the same."""
    if high - low != end - other:
        return False
    for i in range(high - low):
        if rows[low + i, 0] != rows[other + i, 0] or rows[low + i, 1] != rows[other + i, 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def sort_by_entry(entry, signature, end, n_entries):  # type: ignore[no-untyped-def]
    """(where the rows of an entry begin: int32[n_entries + 1]; rows (signature, end): int32[n, 2]), in the given order
    within each entry. entry, signature, end: int32[n]."""
    first = np.zeros(n_entries + 1, np.int32)
    for i in range(entry.shape[0]):
        first[entry[i] + 1] += 1
    for i in range(n_entries):
        first[i + 1] += first[i]
    filled = first.copy()
    rows = np.empty((entry.shape[0], 2), np.int32)
    for i in range(entry.shape[0]):
        at = filled[entry[i]]
        filled[entry[i]] += 1
        rows[at, 0], rows[at, 1] = signature[i], end[i]
    return first, rows


@njit(cache=True, nogil=True)
def _find(entries, wanted):  # type: ignore[no-untyped-def]
    """The place of a value that is among the ascending entries."""
    low, high = 0, entries.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if entries[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def collect_arcs(p, first, arcs, entries, entry_first, rows, begins):  # type: ignore[no-untyped-def]
    """Where tokens read from state p end, by signature: rows (bit, end): int32[n, 2], ascending within a signature.

    first, arcs: of the automaton; entries, entry_first, rows: see `Signatures`. Those of signature s go from begins[s]
    to begins[s + 1]: int32[n_signatures + 2], all zero before.
    """
    n_states = (first.shape[0] - 1) // 256
    for byte in range(256):
        for arc in range(first[p * 256 + byte], first[p * 256 + byte + 1]):
            entry = _find(entries, byte * n_states + arcs[arc, 1])
            for row in range(entry_first[entry], entry_first[entry + 1]):
                begins[rows[row, 0] + 1] += 1
    for i in range(begins.shape[0] - 1):
        begins[i + 1] += begins[i]
    filled = begins.copy()
    out = np.empty((begins[-1], 2), np.int32)
    for byte in range(256):
        for arc in range(first[p * 256 + byte], first[p * 256 + byte + 1]):
            entry = _find(entries, byte * n_states + arcs[arc, 1])
            bit = arcs[arc, 0]
            for row in range(entry_first[entry], entry_first[entry + 1]):
                low, at, end = begins[rows[row, 0]], filled[rows[row, 0]], rows[row, 1]
                filled[rows[row, 0]] += 1
                while at > low and (out[at - 1, 0], out[at - 1, 1]) > (bit, end):
                    out[at, 0], out[at, 1] = out[at - 1, 0], out[at - 1, 1]
                    at -= 1
                out[at, 0], out[at, 1] = bit, end
    return out


@njit(cache=True, nogil=True)
def join_ends(rows, of_state, bits):  # type: ignore[no-untyped-def]
    """The bits of all states in which each signature may end, into bits: uint64[n_signatures + 1]."""
    for i in range(rows.shape[0]):
        bits[rows[i, 0]] |= of_state[rows[i, 1]]
