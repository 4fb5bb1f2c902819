"""Byte pair encoding in Numba, and the test whether two tokens may stand side by side within one pre-token.

One pre-token's symbols are merged, lowest rank first, leftmost first among equals: the order of the tokenizers
library, of SentencePiece and of tiktoken (checked against each). Merges are rows (left id, right id, result id) in
order of rank (`ranks`, equal where merges tie); a table with open addressing finds the row of a pair. A token's *tree*
is how its own bytes merge; its *right spine* is the token, its right child, that one's right child and so on, each
consumed by the merge above it. A pair is bad when some symbol on the right spine of the one merges with some on the
left spine of the other before either is consumed: the first merge across the seam of a text happens exactly as in the
pair alone.

Time is a merge's *phase*, the largest rank among it and the merges below it. Where ranks rise within every token's tree
it is the rank. Where they do not (107 tokens of a tokenizer at most), or ranks tie, several merges share a phase;
what depends on their order is settled by encoding the pair. `tests/reference/plain_bpe.py` has the same functions in
plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = [
    "NO_ROW",
    "bad_row",
    "encode_symbols",
    "fates_by_texts",
    "fill_merge_table",
    "find_merge",
    "is_bad_pair",
    "last_merges",
    "merge_phases",
    "merge_symbols",
    "merge_table",
]

Array = npt.NDArray[Any]

NO_ROW = 2**31 - 1  # later than every merge
_EMPTY = -1


@njit(cache=True, nogil=True)
def _slot(key: int, mask: int) -> int:
    """Fibonacci hashing, folded: ids are dense, so low bits alone would collide."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return int(np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(8)) & mask)


@njit(cache=True, nogil=True)
def fill_merge_table(merges: Array, keys: Array, rows: Array) -> None:
    """Enter every row of `merges` (int32[n, 3]) (a pair's first wins); `keys` is all -1, a power of 2 long."""
    mask = len(keys) - 1
    for row in range(len(merges)):
        key = (np.int64(merges[row, 0]) << 32) | np.int64(merges[row, 1])
        slot = _slot(key, mask)
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == _EMPTY:
            keys[slot] = key
            rows[slot] = row


@njit(cache=True, nogil=True)
def find_merge(keys: Array, rows: Array, left: int, right: int) -> int:
    """The row that merges two symbols, or NO_ROW."""
    mask = len(keys) - 1
    key = (np.int64(left) << 32) | np.int64(right)
    slot = _slot(key, mask)
    while keys[slot] != key:
        if keys[slot] == _EMPTY:
            return NO_ROW
        slot = (slot + 1) & mask
    return int(rows[slot])


@njit(cache=True, nogil=True)
def merge_symbols(
    symbols: Array, n: int, following: Array, pair: Array, merges: Array, ranks: Array, keys: Array, rows: Array,
    limit: int,
) -> Any:  # fmt: skip
    """Merge `symbols[:n]` in place, by ranks below `limit`; (how many are left, row of the last merge or NO_ROW).

    following, pair: int32 room for n entries: the place of the next symbol, and the row that merges with it.
    """
    for i in range(n):
        following[i] = i + 1
        pair[i] = find_merge(keys, rows, symbols[i], symbols[i + 1]) if i + 1 < n else NO_ROW
    last = NO_ROW
    while True:
        best, before_best, best_rank, before, i = -1, -1, limit, -1, 0
        while i < n:
            if pair[i] != NO_ROW and ranks[pair[i]] < best_rank:
                best, before_best, best_rank = i, before, ranks[pair[i]]
            before = i
            i = following[i]
        if best < 0:
            break
        last = pair[best]
        after = following[following[best]]
        symbols[best] = merges[last, 2]
        following[best] = after
        pair[best] = find_merge(keys, rows, symbols[best], symbols[after]) if after < n else NO_ROW
        if before_best >= 0:
            pair[before_best] = find_merge(keys, rows, symbols[before_best], symbols[best])
    left, i = 0, 0
    while i < n:
        symbols[left] = symbols[i]
        left += 1
        i = following[i]
    return left, last


@njit(cache=True, nogil=True)
def last_merges(
    flat: Array, starts: Array, ids: Array, merges: Array, ranks: Array, keys: Array, rows: Array, out: Array
) -> None:
    """For each token k, spelled by the symbols flat[starts[k]:starts[k + 1]]: out[k] is the row that completes it.

    NO_ROW where merging its symbols does not end in ids[k] alone (or it has one symbol, and needs no merge).
    """
    longest = 0
    for k in range(len(ids)):
        longest = max(longest, starts[k + 1] - starts[k])
    symbols = np.empty(longest, np.int32)
    following = np.empty(longest, np.int32)
    pair = np.empty(longest, np.int32)
    for k in range(len(ids)):
        n = starts[k + 1] - starts[k]
        out[k] = NO_ROW
        if n < 2:
            continue
        is_spelled = True
        for i in range(n):
            symbols[i] = flat[starts[k] + i]
            is_spelled &= symbols[i] >= 0
        if not is_spelled:
            continue
        left, last = merge_symbols(symbols, n, following, pair, merges, ranks, keys, rows, NO_ROW)
        if left == 1 and symbols[0] == ids[k]:
            out[k] = last


def merge_table(merges: Array) -> tuple[Array, Array]:
    """(keys, rows) of `find_merge` for merges int32[n, 3]."""
    size = 1 << max(4, int(2 * len(merges)).bit_length())
    keys, rows = np.full(size, _EMPTY, np.int64), np.empty(size, np.int32)
    fill_merge_table(merges, keys, rows)
    return keys, rows


@njit(cache=True, nogil=True)
def encode_symbols(symbols: Array, merges: Array, ranks: Array, keys: Array, rows: Array) -> Array:
    """The ids that one pre-token's initial symbols (int32[n]) merge into."""
    merged = symbols.copy()
    following, pair = np.empty(len(symbols), np.int32), np.empty(len(symbols), np.int32)
    left, _ = merge_symbols(merged, len(symbols), following, pair, merges, ranks, keys, rows, NO_ROW)
    return merged[:left]


@njit(cache=True, nogil=True)
def merge_phases(merges: Array, ranks: Array, phase: Array, shared: Array) -> None:
    """phase[t]: of the merge that completes token t, -1 where it has none; shared[p]: phase p has several merges.

    phase: int32[n_ids]. shared: bool[n_merges], all False.
    """
    phase[:] = -1
    for row in range(len(merges)):
        phase[merges[row, 2]] = ranks[row]
        if row > 0 and ranks[row] == ranks[row - 1]:
            shared[ranks[row]] = True
    changed = True
    while changed:
        changed = False
        for row in range(len(merges)):
            t = merges[row, 2]
            latest = max(phase[t], phase[merges[row, 0]], phase[merges[row, 1]])
            if latest > phase[t]:
                phase[t] = latest
                changed = True
    for row in range(len(merges)):
        if phase[merges[row, 2]] > ranks[row]:
            shared[phase[merges[row, 2]]] = True


@njit(cache=True, nogil=True)
def _spell(token: int, left: Array, right: Array, out: Array, n: int, stack: Array) -> int:
    """Append a token's initial symbols to out[:n]; the new n."""
    depth = 1
    stack[0] = token
    while depth:
        depth -= 1
        symbol = stack[depth]
        if left[symbol] < 0:
            out[n] = symbol
            n += 1
        else:
            stack[depth], stack[depth + 1] = right[symbol], left[symbol]
            depth += 2
    return n


@njit(cache=True, nogil=True)
def _is_crossed(
    a: int, b: int, limit: int, left: Array, right: Array, merges: Array, ranks: Array, keys: Array, rows: Array,
    room: Array,
) -> bool:  # fmt: skip
    """Whether ranks below `limit` merge something across the seam of a and b. room: int32[3, twice the longest token
    + 2]."""
    seam = _spell(a, left, right, room[0], 0, room[1])
    n = _spell(b, left, right, room[0], seam, room[1])
    merge_symbols(room[0], n, room[1], room[2], merges, ranks, keys, rows, limit)
    i = 0
    while i < seam:
        i = room[1, i]
    return bool(i != seam)


@njit(cache=True, nogil=True)
def is_bad_pair(
    a: int,
    b: int,
    left: Array,
    right: Array,
    phase: Array,
    shared: Array,
    merges: Array,
    ranks: Array,
    keys: Array,
    rows: Array,
    room: Array,
) -> bool:
    """Whether a, b are never neighbours within a pre-token (both reproduced by their own bytes)."""
    symbol, consumed = a, NO_ROW
    while symbol >= 0:
        other, other_consumed = b, NO_ROW
        while other >= 0:
            row = find_merge(keys, rows, symbol, other)
            if row != NO_ROW:
                when = phase[merges[row, 2]]
                if when <= consumed and when <= other_consumed:
                    # Equal to the merge above `other`: the same merge, and this one stands to its left.
                    if when < consumed and (when < other_consumed or not shared[when]):
                        return True
                    if shared[when] and _is_crossed(a, b, NO_ROW, left, right, merges, ranks, keys, rows, room):
                        return True
            other_consumed = phase[other]
            other = left[other]
        consumed = phase[symbol]
        symbol = right[symbol]
    return False


@njit(cache=True, nogil=True)
def bad_row(
    token: int, is_right: bool, left: Array, right: Array, phase: Array, shared: Array, merges: Array, ranks: Array,
    keys: Array, rows: Array, room: Array, merge_starts: Array, merge_rows: Array, order: Array, first: Array,
    end: Array, out: Array,
) -> None:  # fmt: skip
    """Set the bits of all tokens that are bad beside `token`, on its right or on its left, in out: uint32[n_words].

    merge_starts, merge_rows: the merges in which a symbol is the nearer part (left where is_right), by rising phase.
    order, first, end: `merge_index.spine_tree` of the other side.
    """
    n_tokens = 32 * len(out)
    symbol, above = token, NO_ROW
    while symbol >= 0:
        for place in range(merge_starts[symbol], merge_starts[symbol + 1]):
            row = merge_rows[place]
            when = phase[merges[row, 2]]
            if when > above:
                break
            is_tie = when == above
            # At a tie of one merge with itself, the one further left is carried out first.
            if is_tie and not shared[when] and is_right:
                continue
            other = merges[row, 1] if is_right else merges[row, 0]
            consumed, branch_end = NO_ROW, first[other] + 1
            early = -1  # whether the seam is crossed while `other` stands, which is the same for all who hold it longer
            for i in range(first[other], end[other]):
                found = order[i]
                if i == branch_end:
                    consumed, branch_end = phase[found], end[found]
                    if consumed < when:
                        break
                if found >= n_tokens:
                    continue
                if is_tie or consumed == when:
                    if shared[when]:
                        crossed = early
                        if consumed == when or early < 0:
                            near, limit = (found, NO_ROW) if consumed == when else (other, when + 1)
                            a, b = (token, near) if is_right else (near, token)
                            crossed = int(_is_crossed(a, b, limit, left, right, merges, ranks, keys, rows, room))
                            early = crossed if consumed > when else early
                        if not crossed:
                            continue
                    elif not is_right and consumed == when:
                        continue
                out[found >> 5] |= np.uint32(1) << np.uint32(found & 31)
        above = phase[symbol]
        symbol = right[symbol] if is_right else left[symbol]


@njit(cache=True, nogil=True)
def first_of_text(
    text: Array, path: Array, begin: int, end: int, of_byte: Array, is_byte_level: bool, lengths: Array, stops: Array,
    token_kinds: Array, merges: Array, ranks: Array, keys: Array, rows: Array, parts: Array,
) -> int:  # fmt: skip
    """The first token of what a text text[begin:end] is written as, where P reads it as going on: see
    `fates_by_texts`. -2 where no tokens write it, or P reads these otherwise; -1 where that is not known."""
    n = 0
    for place in range(begin, end):
        if text[place] >= 0x80 and not is_byte_level:
            return -1
        symbol = of_byte[text[place]]
        if symbol < 0:
            return -2
        parts[0, n] = symbol
        n += 1
    n, _ = merge_symbols(parts[0], n, parts[1], parts[2], merges, ranks, keys, rows, NO_ROW)
    place = begin
    for i in range(n):
        token = parts[0, i]
        place += lengths[token]
        stop, kind = stops[path[place - 1]], token_kinds[token]
        if not ((kind == 0 and stop == 0) or (kind == 1 and stop == 1)):
            return -2
    return int(parts[0, 0])


@njit(cache=True, nogil=True)
def fates_by_row(tokens: Array, row: Array, is_byte_piece: Array, fate: int, fates: Array) -> int:
    """Give a fate to the tokens of fate -1 that are not in a row of bad ones; returns how many are left."""
    n_open = 0
    for i in range(len(tokens)):
        if fates[i] < 0:
            token = tokens[i]
            if row[token >> 5] >> np.uint32(token & 31) & np.uint32(1) or is_byte_piece[token]:
                n_open += 1
            else:
                fates[i] = fate
    return n_open


@njit(cache=True, nogil=True)
def fates_by_texts(
    tokens: Array, firsts: Array, n_by_row: Array, lot_ends: Array, kinds: Array, text: Array, path: Array,
    text_ends: Array, of_byte: Array, is_byte_level: bool, is_byte_piece: Array, lengths: Array, stops: Array,
    token_kinds: Array, longest: int, left: Array, right: Array, phase: Array, shared: Array, merges: Array,
    ranks: Array, keys: Array, rows: Array, room: Array, parts: Array, fates: Array,
) -> None:  # fmt: skip
    """What the texts that may follow tell of tokens, into fates: int32[n]: -1 nothing, 0 that none goes on canonically,
    else how many tokens are read at most.

    The tokens of lot i, which the same texts follow, are tokens[firsts[i]:firsts[i + 1]]; kinds, lot_ends, text, path,
    text_ends: see `kernels.list_all_texts`; n_by_row: int64[n_lots], so many texts were looked at by `fates_by_row`;
    lengths: int32[n_ids], of tokens in bytes; stops, token_kinds: see `path_kernels`; room: see `is_bad_pair`; parts:
    int32[3, n], for as many bytes as a text may have.
    """
    for lot in range(len(kinds)):
        if kinds[lot] == 2:
            for i in range(firsts[lot], firsts[lot + 1]):
                fates[i] = 1 if fates[i] < 0 else fates[i]
            continue
        is_all, n_open = kinds[lot] == 1, 0
        for i in range(firsts[lot], firsts[lot + 1]):
            n_open += fates[i] < 0
        for at in range(lot_ends[lot], lot_ends[lot + 1]):
            if n_open == 0:
                break
            begin, end = text_ends[at], text_ends[at + 1]
            follower = first_of_text(
                text, path, begin, end, of_byte, is_byte_level, lengths, stops, token_kinds, merges, ranks, keys, rows,
                parts,
            )  # fmt: skip
            if follower < 0:
                is_all = is_all and follower != -1
                continue
            for i in range(firsts[lot], firsts[lot + 1]):
                if fates[i] >= 0:
                    continue
                if is_byte_piece[follower] or is_byte_piece[tokens[i]]:
                    is_all = False
                    continue
                if at < lot_ends[lot] + n_by_row[lot]:
                    continue
                if not is_bad_pair(tokens[i], follower, left, right, phase, shared, merges, ranks, keys, rows, room):
                    fates[i] = 1 + (end - begin) // longest
                    n_open -= 1
        if is_all:
            for i in range(firsts[lot], firsts[lot + 1]):
                fates[i] = max(fates[i], 0)
