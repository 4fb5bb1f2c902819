"""Compiled loops over the pre-tokenizer's automaton: which tokens can be read inside one pre-token, and where they end.

The automaton's arcs are `first: int32[n_states * 256 + 1]` and `arcs: int32[n, 2]` (bit, target); bit 1 is a boundary
of pre-tokens before the byte. A token is one piece of a pre-token: no bit but its first byte's may be 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ANYWHERE, BEHIND_WHOLE, NOWHERE = 0, 1, 2  # what may end in a state
ORDINARY, WHOLE, NEVER = 0, 1, 2  # kinds of tokens; WHOLE: always a whole pre-token


@njit(cache=True, nogil=True)
def may_stop(stop, kind):  # type: ignore[no-untyped-def]
    """Whether a token of a kind may end in a state: ORDINARY ones in ANYWHERE states, WHOLE ones in BEHIND_WHOLE
    states, those that the tokenizer NEVER writes in none."""
    return (kind == ORDINARY and stop == ANYWHERE) or (kind == WHOLE and stop == BEHIND_WHOLE)


@njit(cache=True, nogil=True)
def text_ends(first, arcs, starts, tokens, text_start, text, seen, out):  # type: ignore[no-untyped-def]
    """The states behind the texts of tokens, however these are split into pieces: rows (index into tokens, state) into
    out: int32[m, 2]. Returns how many rows there are; where that is more than m, the rest is missing.

    starts: int32[n], where the texts begin. seen: int64[n_states], -1 everywhere.
    """
    here, after = np.zeros(seen.shape[0], np.int32), np.zeros(seen.shape[0], np.int32)
    n_out = 0
    for i in range(tokens.shape[0]):
        token = tokens[i]
        if text_start[token] == text_start[token + 1]:
            continue
        n = starts.shape[0]
        here[:n] = starts
        for at in range(text_start[token], text_start[token + 1]):
            m = 0
            mark = i * text.shape[0] + at
            for j in range(n):
                place = here[j] * 256 + text[at]
                for arc in range(first[place], first[place + 1]):
                    target = arcs[arc, 1]
                    if seen[target] != mark:
                        seen[target] = mark
                        after[m] = target
                        m += 1
            n = m
            here, after = after, here
        for j in range(n):
            if n_out < out.shape[0]:
                out[n_out, 0] = i
                out[n_out, 1] = here[j]
            n_out += 1
    return n_out


@njit(cache=True, nogil=True)
def take_followers(row0, row1, bad, out):  # type: ignore[no-untyped-def]
    """The tokens behind a boundary (row1), and those without one before them (row0) that make no bad pair, into out:
    uint32[n_words] each."""
    for i in range(out.shape[0]):
        out[i] = row1[i] | (row0[i] & ~bad[i])


@njit(cache=True, nogil=True)
def find_cuts(first, arcs, start, spelling, is_cut, may_cut):  # type: ignore[no-untyped-def]
    """Per state and byte, into is_cut: bool[n_states, 256], whether a boundary before the byte may lead wherever a text
    that begins with it does, none of these states spelling: bool[n_states]; into may_cut, whether to any state else."""
    is_fit = np.zeros(256, np.bool_)
    for byte in range(256):
        low, high = first[start * 256 + byte], first[start * 256 + byte + 1]
        is_fit[byte] = low < high
        for arc in range(low, high):
            is_fit[byte] &= not spelling[arcs[arc, 1]]
    for p in range(is_cut.shape[0]):
        for byte in range(256):
            low, high = first[p * 256 + byte], first[p * 256 + byte + 1]
            n_bounded = 0
            for arc in range(low, high):
                n_bounded += arcs[arc, 0]
            has_all = is_fit[byte] and n_bounded > 0
            if has_all:
                for wanted in range(first[start * 256 + byte], first[start * 256 + byte + 1]):
                    has_one = False
                    for arc in range(low, high):
                        has_one |= arcs[arc, 0] == 1 and arcs[arc, 1] == arcs[wanted, 1]
                    has_all &= has_one
            is_cut[p, byte] = has_all
            may_cut[p, byte] = n_bounded > 0 and not has_all
