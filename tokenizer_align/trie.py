"""The vocabulary's bytes as one trie, laid out in preorder.

A trie is five arrays and no pointers. Node 0 is the root; a node's subtree is the index range [node, end[node]), so a
walk is a loop over an index: step to node + 1 to go down, to end[node] to skip the subtree. Ids that share bytes are
all kept, in ascending order. Built by sorting the tokens and comparing neighbours (their common prefixes say which
nodes are new), level by level in numpy; tests/test_trie.py holds the plain-Python twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Trie", "build_trie"]

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
Uint8Array = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Trie:
    """Preorder arrays of a vocabulary's byte trie.

    byte: uint8[n_nodes], the byte on the edge into a node (0 for the root).
    end: int32[n_nodes], one past the last node of the subtree.
    depth: int32[n_nodes], number of bytes from the root.
    token_start: int32[n_nodes + 1]; the ids that end at a node are token_ids[token_start[node]:token_start[node + 1]].
    token_ids: int32[n_legal_tokens].
    """

    byte: Uint8Array
    end: Int32Array
    depth: Int32Array
    token_start: Int32Array
    token_ids: Int32Array

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included."""
        return len(self.byte)

    @property
    def max_depth(self) -> int:
        """Length in bytes of the longest token."""
        return int(self.depth.max()) if len(self.depth) else 0

    def ids_at(self, node: int) -> Int32Array:
        """The ids whose bytes spell exactly the path to `node`, ascending."""
        return self.token_ids[self.token_start[node] : self.token_start[node + 1]]

    def find(self, data: bytes) -> int:
        """The node that `data` leads to, or -1."""
        node = 0
        for wanted in data:
            child, stop = node + 1, int(self.end[node])
            while child < stop and self.byte[child] != wanted:
                child = int(self.end[child])
            if child >= stop:
                return -1
            node = child
        return node


def build_trie(token_bytes: Sequence[bytes | None]) -> Trie:
    """Build the trie of all tokens that have bytes; None and empty tokens are left out."""
    ids = sorted((i for i, data in enumerate(token_bytes) if data), key=lambda i: token_bytes[i] or b"")
    tokens = [token_bytes[i] or b"" for i in ids]
    blob = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    length: Int64Array = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    offset = np.cumsum(length) - length
    prefix = _common_prefixes(blob, offset, length)

    n_new = length - prefix  # nodes that a token adds; 0 for a repeated byte string
    last = np.cumsum(n_new)  # preorder index of the node where a token ends (the root is 0)
    first = last - n_new + 1
    within = np.arange(int(n_new.sum()), dtype=np.int64) - np.repeat(
        last - n_new, n_new
    )  # 0.. in each token's new nodes
    start = np.repeat(prefix, n_new) + within
    byte = np.concatenate([np.zeros(1, np.uint8), blob[np.repeat(offset, n_new) + start]])
    depth = np.concatenate([np.zeros(1, np.int64), start + 1])

    n_nodes = len(byte)
    counts = np.bincount(last, minlength=n_nodes)
    token_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    end = _subtree_ends(depth, first[n_new > 0], prefix[n_new > 0])
    return Trie(
        byte=byte,
        end=end.astype(np.int32),
        depth=depth.astype(np.int32),
        token_start=token_start.astype(np.int32),
        token_ids=np.asarray(ids, dtype=np.int32),
    )


def _common_prefixes(blob: Uint8Array, offset: Int64Array, length: Int64Array) -> Int64Array:
    """int64[n]: how many bytes each sorted token shares with the one before it (0 for the first)."""
    prefix: Int64Array = np.zeros(len(length), dtype=np.int64)
    active: Int64Array = np.arange(1, len(length), dtype=np.int64)
    shared = np.minimum(length[1:], length[:-1])
    depth = 0
    while len(active):
        active = active[shared[active - 1] > depth]
        active = active[blob[offset[active] + depth] == blob[offset[active - 1] + depth]]
        depth += 1
        prefix[active] = depth
    return prefix


def _subtree_ends(depth: Int64Array, first: Int64Array, prefix: Int64Array) -> Int64Array:
    """int64[n_nodes]: one past each subtree, by adding up subtree sizes from the deepest level to the root.

    `first` are the nodes that branch off at depth `prefix`; every other node's parent is the node before it.
    """
    n_nodes = len(depth)
    parent: Int64Array = np.arange(-1, n_nodes - 1, dtype=np.int64)
    by_depth = np.argsort(depth, kind="stable")
    level_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(depth))])
    by_prefix = np.argsort(prefix, kind="stable")
    branch_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(prefix, minlength=1))])
    for level in range(len(branch_start) - 1):
        branches = first[by_prefix[branch_start[level] : branch_start[level + 1]]]
        nodes = by_depth[level_start[level] : level_start[level + 1]]
        parent[branches] = nodes[np.searchsorted(nodes, branches) - 1]
    size: Int64Array = np.ones(n_nodes, dtype=np.int64)
    for level in range(len(level_start) - 2, 0, -1):
        nodes = by_depth[level_start[level] : level_start[level + 1]]
        np.add.at(size, parent[nodes], size[nodes])
    return np.arange(n_nodes, dtype=np.int64) + size
