"""Texts that spell an added token which is no text: encoding such a text gives that token, so it is never canonical.

An automaton in the manner of Aho and Corasick (1975), made minimal: a state is the longest end of the text so far with
which a content begins. The pre-tokenizer's automaton runs beside it, and has no way where a content would be complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from tokenizer_align.canonical.transducers import Arcs
from tokenizer_align.canonical.utf8_arcs import ByteAutomaton

__all__ = ["SpelledTokens", "without_spelled"]

FOUND = -1


class SpelledTokens:
    """Finds contents in a text, byte by byte. State 0 is the start; `jumps[state]`: byte -> next state, FOUND where a
    content is complete; bytes that are not named lead to the start."""

    def __init__(self, contents: Iterable[bytes]) -> None:
        children, found = _trie(contents)
        suffix = [0] * len(children)
        jumps: list[dict[int, int]] = [{} for _ in children]
        jumps[0] = dict(children[0])
        waiting = deque(children[0].values())
        while waiting:
            node = waiting.popleft()
            behind = jumps[suffix[node]]
            for byte, child in children[node].items():
                suffix[child] = behind.get(byte, 0)
                waiting.append(child)
            found[node] |= found[suffix[node]]
            jumps[node] = {**behind, **children[node]}
        self.jumps = _minimal([{b: FOUND if found[at] else at for b, at in row.items()} for row in jumps])

    def read(self, state: int, data: bytes) -> int | None:
        """The state after `data`, or None where a content has been spelled in full."""
        for byte in data:
            state = self.jumps[state].get(byte, 0)
            if state == FOUND:
                return None
        return state


def _trie(contents: Iterable[bytes]) -> tuple[list[dict[int, int]], list[bool]]:
    children: list[dict[int, int]] = [{}]
    found = [False]
    for content in contents:
        node = 0
        for byte in content:
            if byte not in children[node]:
                children[node][byte] = len(children)
                children.append({})
                found.append(False)
            node = children[node][byte]
        if node:
            found[node] = True
    return children, found


def _minimal(jumps: list[dict[int, int]]) -> list[dict[int, int]]:
    """States with equal futures made one (Moore 1956); the start stays state 0, and only reached states are kept."""
    part = [0] * len(jumps)
    n_parts = 0
    while True:
        names: dict[tuple[tuple[int, int], ...], int] = {}
        named = []
        for row in jumps:
            ways = ((byte, FOUND if at == FOUND else part[at]) for byte, at in row.items())
            name = tuple(sorted(way for way in ways if way[1] != part[0]))
            named.append(names.setdefault(name, len(names)))
        part = named
        if len(names) == n_parts:
            break
        n_parts = len(names)
    kept: dict[int, dict[int, int]] = {}
    for row, own in zip(jumps, part, strict=True):
        ways = ((byte, FOUND if at == FOUND else part[at]) for byte, at in row.items())
        kept.setdefault(own, {byte: at for byte, at in ways if at != part[0]})
    return [kept[own] for own in range(n_parts)]


def without_spelled(automaton: ByteAutomaton, contents: Iterable[bytes]) -> tuple[ByteAutomaton, list[bool]]:
    """The automaton for texts that hold none of the contents, and which of its states lie within one."""
    jumps = SpelledTokens(contents).jumps
    number = {(0, 0): 0}
    order = [(0, 0)]
    result = ByteAutomaton([], [], [])
    for state, spelled in order:  # grows while it is worked off
        row: dict[int, Arcs] = {}
        jump = jumps[spelled]
        for byte, pairs in automaton.arcs[state].items():
            after = jump.get(byte, 0)
            if after == FOUND:
                continue
            for _, target in pairs:
                if (target, after) not in number:
                    number[target, after] = len(number)
                    order.append((target, after))
            row[byte] = tuple((bit, number[target, after]) for bit, target in pairs)
        result.arcs.append(row)
        result.ends.append(automaton.ends[state])
        result.tags.append(automaton.tags[state])
    return result, [spelled > 0 for _, spelled in order]
