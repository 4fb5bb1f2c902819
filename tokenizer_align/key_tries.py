"""The trie of an object's keys as flat lists, in the order of `MemberSpec.nodes`.

Most of its nodes lie on the way to one key alone: those of a key are written in one go, so that an object with thirty
keys costs some forty steps and not one for every byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class KeyTrie:
    """Of each node: its first child and next sibling (-1: none), the byte that leads to it, the interval of keys below
    it, and the key that ends there (-1: none)."""

    child: list[int] = field(default_factory=list)
    sibling: list[int] = field(default_factory=list)
    byte: list[int] = field(default_factory=list)
    lo: list[int] = field(default_factory=list)
    hi: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, byte: int, lo: int, hi: int) -> None:
        """A node without children."""
        self.child.append(-1)
        self.sibling.append(-1)
        self.byte.append(byte)
        self.lo.append(lo)
        self.hi.append(hi)
        self.ends.append(-1)

    def add_rest(self, byte: int, text: bytes, key: int) -> None:
        """The nodes to the end of a key of which only this text is left, the first one reached by `byte`."""
        first, n = len(self.child), len(text)
        self.child += range(first + 1, first + n + 1)
        self.child.append(-1)
        self.sibling += [-1] * (n + 1)
        self.byte.append(byte)
        self.byte += text
        self.lo += [key] * (n + 1)
        self.hi += [key + 1] * (n + 1)
        self.ends += [-1] * n
        self.ends.append(key)


def key_trie(texts: Sequence[bytes]) -> KeyTrie:
    """The trie of sorted keys of which none begins another."""
    trie = KeyTrie()
    newest: dict[int, int] = {}  # the child of a node that was made last
    work = [(0, len(texts), 0, -1)]
    while work:
        lo, hi, depth, parent = work.pop()
        index, byte = len(trie.child), texts[lo][depth - 1] if depth else 0
        if parent in newest:
            trie.sibling[newest[parent]] = index
        elif parent >= 0:
            trie.child[parent] = index
        newest[parent] = index
        if hi - lo == 1:
            trie.add_rest(byte, texts[lo][depth:], lo)
            continue
        trie.add(byte, lo, hi)
        start = lo
        while start < hi:
            here, end = texts[start][depth], start + 1
            while end < hi and texts[end][depth] == here:
                end += 1
            work.append((start, end, depth + 1, index))
            start = end
    return trie
