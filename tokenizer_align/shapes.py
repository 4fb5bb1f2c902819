"""The vocabulary's trie by shape: walks in which letters that a constraint does not tell apart are one step.

An identifier goes on in the same way behind every letter, but below each letter stands another part of the trie. Here
a stretch of small letters, of capitals or of digits is one node, and so is each other byte, so that "name(", "id(" and
"total(" are one path of two nodes, which holds all their tokens. A walk may take a step of it where all heads read all
bytes of the class alike and, within a stretch, stay as they are; where they do not (keywords, counts), it goes into
the vocabulary's own trie at the nodes where the stretches begin (`members`). So the masks are the same, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .shape_kernels import find_parents, number_shapes
from .trie import Trie

__all__ = ["DENSE_TOKENS", "Shapes", "parents_of", "shapes_of"]

DENSE_TOKENS = 2_000  # a node with so many tokens, or with so many below it, has them as a row

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

# Bytes of one class, first and last; every other byte is a class of its own. Of the bytes of UTF-8 those stand together
# behind which any text goes on alike.
_CLASSES = np.arange(256)  # of a byte: the first byte of its class
for _first, _last in ((48, 57), (65, 90), (97, 122), (0x80, 0xBF), (0xC2, 0xDF), (0xE1, 0xEC), (0xF1, 0xF3)):
    _CLASSES[_first : _last + 1] = _first
_CLASSES[0xEE:0xF0] = 0xE1
_RUNS = np.isin(_CLASSES, [ord("a"), ord("A"), ord("0")])  # stretches of these are one node


@dataclass(frozen=True, slots=True)
class Shapes:
    """A trie of classes and stretches, in preorder. Its `byte` is the lowest that leads to a node.

    leads, stretch, submask: uint64[n_shapes, 4], the bytes that lead to a node, those with which its stretches go on,
    and all below it, those included. members: int32[n], the vocabulary's nodes where a node's stretches begin, by byte:
    members[member_start[i]:member_start[i + 1]]. is_single: bool[n_shapes], nodes that hold no stretches.
    """

    trie: Trie
    leads: npt.NDArray[np.uint64]
    stretch: npt.NDArray[np.uint64]
    submask: npt.NDArray[np.uint64]
    member_start: Int32Array
    members: Int32Array
    is_single: npt.NDArray[np.bool_]


def shapes_of(trie: Trie) -> Shapes:
    """The shapes of a vocabulary's trie."""
    parent = parents_of(trie)
    shape, above, first, begins = _numbered(trie, parent)
    order, end, depth = _preorder(above, first)
    first = first[order]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    shape = place[shape]

    tokens_at = np.diff(trie.token_start)
    by_shape = np.argsort(np.repeat(shape, tokens_at), kind="stable")
    counts = np.bincount(shape, tokens_at, minlength=len(order)).astype(np.int64)
    starts = np.flatnonzero(begins)
    starts = starts[np.lexsort((starts, trie.byte[starts], shape[starts]))]
    leads, stretch = _byte_sets(len(order), shape, trie.byte, begins), _byte_sets(len(order), shape, trie.byte, ~begins)
    stretch[0] = 0
    return Shapes(
        trie=Trie(
            byte=_lowest(leads),
            end=end.astype(np.int32),
            depth=depth.astype(np.int32),
            token_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            token_ids=trie.token_ids[by_shape],
        ),
        leads=leads,
        stretch=stretch,
        submask=_below(leads, stretch, end),
        member_start=np.concatenate([[0], np.cumsum(np.bincount(shape[starts], minlength=len(order)))]).astype(
            np.int32
        ),
        members=starts.astype(np.int32),
        is_single=~_RUNS[first],
    )


def parents_of(trie: Trie) -> Int64Array:
    """The node above each node, int64[n_nodes]; the root is its own."""
    parent = np.zeros(trie.n_nodes, np.int64)
    find_parents(trie.depth, parent, np.zeros(int(trie.depth.max(initial=0)) + 1, np.int64))
    return parent


def _numbered(trie: Trie, parent: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array, npt.NDArray[np.bool_]]:
    """The shape of each node, by number; of each shape the one above and its class; which nodes begin a stretch."""
    kind = _CLASSES[trie.byte]
    begins = ~((kind == kind[parent]) & _RUNS[trie.byte] & (parent > 0))
    begins[0] = False
    shape, keys = number_shapes(parent, kind, begins)
    return shape, keys >> 8, keys & 255, begins


def _preorder(above: Int64Array, first: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The shapes in preorder, siblings by their byte; one past each one's subtree; depths."""
    children: list[list[int]] = [[] for _ in range(len(above))]
    parents, firsts = above.tolist(), first.tolist()
    for number in sorted(range(1, len(parents)), key=firsts.__getitem__, reverse=True):
        children[parents[number]].append(number)
    order, depth, end = [], [], np.zeros(len(parents), np.int64)
    work = [(0, 0)]
    while work:
        number, level = work.pop()
        order.append(number)
        depth.append(level)
        work += [(child, level + 1) for child in children[number]]
    depths = np.array(depth, np.int64)
    last: list[int] = []
    for at, level in enumerate(depth):
        while len(last) > level:
            end[last.pop()] = at
        last.append(at)
    end[last] = len(order)
    return np.array(order, np.int64), end, depths


def _byte_sets(
    n: int, shape: Int64Array, byte: npt.NDArray[np.uint8], chosen: npt.NDArray[np.bool_]
) -> npt.NDArray[np.uint64]:
    """uint64[n, 4]: which bytes the chosen nodes of each shape have."""
    seen = np.zeros((n, 256), np.bool_)
    seen[shape[chosen], byte[chosen]] = True
    return np.packbits(seen, axis=1, bitorder="little").view(np.uint64)


def _lowest(sets: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """uint8[n], the lowest byte of each set; 0 where it is empty."""
    lowest: npt.NDArray[np.uint8] = (
        np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little").argmax(1).astype(np.uint8)
    )
    return lowest


def _below(leads: npt.NDArray[np.uint64], stretch: npt.NDArray[np.uint64], end: Int64Array) -> npt.NDArray[np.uint64]:
    """uint64[n_shapes, 4]: all bytes behind those that lead to each node."""
    found = stretch.copy()
    path: list[int] = []
    ends = [*end.tolist(), 0]
    for at in range(len(ends)):
        while path and (at == len(end) or ends[path[-1]] <= at):
            done = path.pop()
            if path:
                found[path[-1]] |= found[done] | leads[done]
        path.append(at)
    return found
