"""Texts that spell an added token which is no text: encoding such a text gives that token, so it is never canonical.

A byte automaton in the manner of Aho and Corasick (1975): a state is the longest end of the text so far with which a
content begins; reaching a whole content is the end of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

__all__ = ["SpelledTokens"]


class SpelledTokens:
    """Finds contents in a text, byte by byte; state 0 is the start."""

    def __init__(self, contents: Iterable[bytes]) -> None:
        self._children: list[dict[int, int]] = [{}]
        self._found = [False]
        for content in contents:
            self._add(content)
        self._suffix = [0] * len(self._children)
        waiting = deque(self._children[0].values())
        while waiting:
            node = waiting.popleft()
            for byte, child in self._children[node].items():
                self._suffix[child] = self._next(self._suffix[node], byte)
                self._found[child] |= self._found[self._suffix[child]]
                waiting.append(child)

    def read(self, state: int, data: bytes) -> int | None:
        """The state after `data`, or None where a content has been spelled in full."""
        if state == 0 and self._children[0].keys().isdisjoint(data):
            return 0
        for byte in data:
            state = self._next(state, byte)
            if self._found[state]:
                return None
        return state

    def _next(self, state: int, byte: int) -> int:
        while byte not in self._children[state]:
            if state == 0:
                return 0
            state = self._suffix[state]
        return self._children[state][byte]

    def _add(self, content: bytes) -> None:
        node = 0
        for byte in content:
            if byte not in self._children[node]:
                self._children[node][byte] = len(self._children)
                self._children.append({})
                self._found.append(False)
            node = self._children[node][byte]
        if node:
            self._found[node] = True
