"""Plain-Python twins of `fate_kernels` and `signature_paths`: a dictionary in place of the hash table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Arc = tuple[int, int]  # (bit, state)
Row = tuple[int, int, int, int]  # (token, group, state, bit)


def is_settled(g: int, p: int, live: Any, complete: Any, cuts: Any, ends: Any, may_end: bool, marked: bool) -> bool:
    """Whether a boundary may surely lie behind a token that leads to group g and state p, or the text end."""
    marker = marked and bool(live[g, 3] >> np.uint64(63))
    return bool((live[g] & cuts[p]).any()) or bool(ends[p] and (marker or (may_end and complete[g])))


def sort_out(
    tokens: Sequence[int], group: Sequence[int], arcs: Sequence[Sequence[Arc]], settled: npt.NDArray[np.bool_]
) -> tuple[set[tuple[int, int]], list[Row]]:
    """(tokens that surely survive, by the bit before them; rows of the others).

    arcs: of each token; settled: bool[n_groups, n_states].
    """
    kept, rows = set(), []
    for token, g in zip(tokens, group, strict=True):
        for bit, p in arcs[token] if g >= 0 else ():
            if settled[g, p]:
                kept.add((bit, token))
            else:
                rows.append((token, g, p, bit))
    return kept, rows


def look_up(
    rows: Sequence[Row],
    known: dict[tuple[int, int, int, int], int],
    fates: Sequence[int],
) -> list[int]:
    """The fates with what is known in place of each -1: by (level, group, state, token). Of the top frame alone (levels
    1 and 2) only survival counts; what did not survive for the bytes that may come below it (level 1) is -2."""
    found = list(fates)
    for i, (token, g, p, _) in enumerate(rows):
        if found[i] >= 0:
            continue
        own, with_bytes, alone = (known.get((level, g, p, token), -1) for level in range(3))
        if own >= 0:
            found[i] = own
        elif with_bytes > 0 or alone > 0:
            found[i] = with_bytes if with_bytes > 0 else alone
        elif with_bytes == 0:
            found[i] = -2
    return found


def fill_rows(of_token: Sequence[int], bits: Sequence[int]) -> tuple[set[int], set[int]]:
    """The tokens whose signature has bit 0, and those whose signature has bit 1."""
    found: tuple[set[int], set[int]] = (set(), set())
    for token, signature in enumerate(of_token):
        for bit in (0, 1):
            if bits[signature] >> bit & 1:
                found[bit].add(token)
    return found


def list_ends(signature: Sequence[int], arcs: Sequence[Sequence[Arc]]) -> list[tuple[int, int, int]]:
    """Rows (index, bit, state) of each signature's ends."""
    return [(i, bit, p) for i, one in enumerate(signature) for bit, p in arcs[one]]
