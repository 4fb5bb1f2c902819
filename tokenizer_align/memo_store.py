"""Memos over the whole vocabulary, kept on disk: the inside of a JSON string is the same in every process.

An entry is addressed by what it follows from: the vocabulary's content and the structure of the state's expression.
Only what took long enough is written. What intersections and complements do hangs on searches that a slow machine may
give up; so theirs are kept only by processes in which no search took long. The last ones stay in memory for the
engine's next generation.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .cache import ArrayCache
from .expressions import Expr
from .fingerprints import fingerprint
from .left_out import is_all_decided

__all__ = ["MemoStore", "Walked", "memo_cache"]

MIN_TRIE_NODES = 20_000  # below, walking is as fast as reading a file
MIN_WALK_S = 0.002
MIN_KEPT_NODES = 8_000  # of a subtree; in a smaller one no walk takes so long
MAX_IN_MEMORY = 32

Numbers = npt.NDArray[np.integer[Any]]

# Raise the version whenever a memo comes to other arrays than before.
memo_cache = ArrayCache("memos", version=2, max_entries=128)


@dataclass(frozen=True, slots=True)
class Walked:
    """What a state does below a trie node.

    base: uint32[n_words], the tokens that it can read whole; edges: int32[n], the children of nodes where its frame may
    end, but for those by the bytes in later: uint64[4]; pushes: nodes that are reached by pushing frames, and which.
    """

    base: npt.NDArray[np.uint32]
    edges: npt.NDArray[np.int32]
    later: npt.NDArray[np.uint64]
    pushes: tuple[tuple[int, int], ...] = ()

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        return {"base": self.base, "edges": self.edges, "later": self.later}


class MemoStore:
    """Memos of one vocabulary by expression: in memory, then on disk."""

    def __init__(self, vocabulary_fingerprint: str, n_trie_nodes: int, cache: ArrayCache | None) -> None:
        self._vocabulary = vocabulary_fingerprint
        self._cache = cache if n_trie_nodes >= MIN_TRIE_NODES else None
        self._recent: OrderedDict[str, Walked] = OrderedDict()
        self.n_hits = self.n_disk_hits = self.n_writes = 0

    def key(self, expr: Expr | None, node: int, n_nodes: int) -> str | None:
        """The address of a state's memo below a node of the vocabulary's trie, which so many nodes follow; None where
        it is not kept."""
        if self._cache is None or expr is None or n_nodes < MIN_KEPT_NODES or not (expr.plain or is_all_decided()):
            return None
        name = fingerprint(expr)
        return None if name is None else hashlib.sha256(f"{self._vocabulary} {node} ".encode() + name).hexdigest()

    def holds(self, key: str) -> bool:
        """Whether the memo is known, as far as a glance tells."""
        return key in self._recent or (self._cache is not None and self._cache.path(key).exists())

    def load(self, key: str) -> Walked | None:
        """The memo, if it is known."""
        memo = self._recent.get(key)
        if memo is not None:
            self._recent.move_to_end(key)
            self.n_hits += 1
            return memo
        arrays = self._cache.load(key) if self._cache is not None else None
        memo = None if arrays is None else _from_arrays(arrays)
        if memo is not None:
            self.n_disk_hits += 1
            self._remember(key, memo)
        return memo

    def store(self, key: str, memo: Walked, walk_s: float) -> None:
        """Keep a memo that took so many seconds to make."""
        if walk_s < MIN_WALK_S:
            return
        self._remember(key, memo)
        if self._cache is not None:
            self.n_writes += self._cache.store(key, memo.arrays())

    def load_beside(self, key: str, names: Sequence[str] = ("ids",)) -> list[Numbers] | None:
        """Arrays that were kept beside the memos under an address of their own."""
        arrays = self._cache.load(key) if self._cache is not None else None
        if arrays is None or any(name not in arrays for name in names):
            return None
        self.n_disk_hits += 1
        return [np.asarray(arrays[name], arrays[name].dtype) for name in names]

    def store_beside(self, key: str, walk_s: float, **arrays: Numbers) -> None:
        """Keep arrays that took so many seconds to find."""
        if self._cache is not None and walk_s >= MIN_WALK_S:
            self.n_writes += self._cache.store(key, dict(arrays))

    def n_bytes(self) -> int:
        """Bytes held in memory."""
        return sum(sum(array.nbytes for array in memo.arrays().values()) for memo in list(self._recent.values()))

    def _remember(self, key: str, memo: Walked) -> None:
        self._recent[key] = memo
        while len(self._recent) > MAX_IN_MEMORY:
            self._recent.popitem(last=False)


def _from_arrays(arrays: dict[str, npt.NDArray[np.generic]]) -> Walked | None:
    """None where an entry lacks something (written by another program)."""
    try:
        return Walked(
            arrays["base"].astype(np.uint32), arrays["edges"].astype(np.int32), arrays["later"].astype(np.uint64)
        )
    except (KeyError, ValueError):
        return None
