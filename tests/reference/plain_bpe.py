"""Byte pair encoding and the pair test in plain Python, by definition: the slow twin of canonical/bpe_kernels.py.

Same arguments where they are the content (merges int32[n, 3], symbols, ids); no tables, trees or phases: a pair is bad
when encoding it gives something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy.typing as npt

__all__ = ["plain_bad_row", "plain_encode", "plain_is_bad_pair", "plain_last_merges", "spell"]

Merges = Sequence[Sequence[int]] | npt.NDArray


def plain_encode(
    symbols: Sequence[int], merges: Merges, ranks: Sequence[int] | npt.NDArray | None = None
) -> tuple[list[int], int | None]:
    """(what the symbols merge into, row of the last merge): lowest rank (else row) first, leftmost first."""
    rows = {}
    for row, (left, right, result) in enumerate(merges):
        rows.setdefault((int(left), int(right)), (row, int(result)))
    symbols, last = list(symbols), None
    while True:
        at = [(i, rows[pair][0]) for i, pair in enumerate(pairwise(symbols)) if pair in rows]
        offers = [(int(row if ranks is None else ranks[row]), i, row) for i, row in at]
        if not offers:
            return symbols, last
        _, place, last = min(offers)
        symbols[place : place + 2] = [rows[symbols[place], symbols[place + 1]][1]]


def plain_last_merges(
    spelled: dict[int, Sequence[int]], merges: Merges, ranks: Sequence[int] | None = None
) -> dict[int, int]:
    """Token -> row of the merge that completes it; without tokens that encoding their symbols does not give."""
    found = {}
    for token, symbols in spelled.items():
        merged, last = plain_encode(symbols, merges, ranks)
        if merged == [token] and last is not None:
            found[token] = last
    return found


def spell(token: int, merges: Merges) -> list[int]:
    """The initial symbols of a token, where every token has one merge."""
    parts = {int(result): (int(left), int(right)) for left, right, result in merges}
    return [s for part in parts[token] for s in spell(part, merges)] if token in parts else [token]


def plain_is_bad_pair(a: int, b: int, merges: Merges, ranks: npt.NDArray | None = None) -> bool:
    """Whether encoding the symbols of a and b gives anything but a, b."""
    return plain_encode([*spell(a, merges), *spell(b, merges)], merges, ranks)[0] != [a, b]


def plain_bad_row(
    token: int, is_right: bool, ids: Sequence[int], merges: Merges, ranks: npt.NDArray | None = None
) -> set[int]:
    """The ids that are bad on the right (or left) of a token."""
    if is_right:
        return {b for b in ids if plain_is_bad_pair(token, b, merges, ranks)}
    return {a for a in ids if plain_is_bad_pair(a, token, merges, ranks)}
