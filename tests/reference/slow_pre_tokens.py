"""Pre-tokens the slow way: matches of a backtracking engine, then the behaviours (normalizer.rs of tokenizers).

Also what is said of an automaton in general: how many runs a text has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import regex

__all__ = ["count_runs", "slow_boundaries", "slow_signature"]


def slow_boundaries(pattern: str, behaviour: str, invert: bool, text: str) -> list[int]:
    """Offsets (in code points) at which the pieces of a Split step begin."""
    pieces: list[tuple[int, int, bool]] = []
    at = 0
    for start, stop in _matches(pattern, text):
        if start > at:
            pieces.append((at, start, invert))
        if stop > start:
            pieces.append((start, stop, not invert))
        at = stop
    if at < len(text):
        pieces.append((at, len(text), invert))
    merged: list[tuple[int, int, bool]] = []
    if behaviour == "merged_with_next":
        for start, stop, is_match in reversed(pieces):
            if is_match and merged and not merged[-1][2]:
                merged[-1] = (start, merged[-1][1], True)
            else:
                merged.append((start, stop, is_match))
        merged.reverse()
        return [start for start, _, _ in merged]
    for start, stop, is_match in pieces:
        before = merged[-1][2] if merged else False
        joins = {
            "isolated": False,
            "contiguous": is_match == before,
            "merged_with_previous": is_match and not before,
        }[behaviour]
        if joins and merged:
            merged[-1] = (merged[-1][0], stop, is_match)
        else:
            merged.append((start, stop, is_match))
    return [start for start, _, _ in merged]


def _matches(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """As the onig crate finds them: an empty match right behind the last match moves the search on by one."""
    compiled = regex.compile(pattern)
    at, last = 0, -1
    while at <= len(text):
        match = compiled.search(text, at)
        if match is None:
            return
        start, stop = match.span()
        if start == stop == last:
            at = stop + 1
            continue
        yield start, stop
        at = last = stop


def count_runs(automaton: Any, text: bytes) -> int:
    """How many runs of an automaton over bytes read a whole text to a state that ends."""
    runs = {automaton.start: 1}
    for byte in text:
        after: dict[int, int] = {}
        for p, n in runs.items():
            for _, q in automaton.step(p, byte):
                after[q] = after.get(q, 0) + n
        runs = after
    return sum(n for p, n in runs.items() if automaton.ends[p])


def slow_signature(automaton: Any, token: bytes, is_whole: bool) -> set[tuple[int, int, int]]:
    """(p, bit, q) for each way to read a token inside one pre-token."""
    found = set()
    for p in range(automaton.n_states):
        if automaton.inside[p]:
            continue
        here = list(automaton.step(p, token[0]))
        for byte in token[1:]:
            here = [(bit, q) for bit, at in here for inner, q in automaton.step(at, byte) if not inner]
        for bit, q in here:
            if not automaton.inside[q] and bool(automaton.whole[q]) == is_whole:
                found.add((p, bit, q))
    return found
