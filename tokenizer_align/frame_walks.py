"""The long walk of one state below a trie node, alone: what its frame reads whole, where it may end, what it pushes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .left_out import is_all_decided
from .memo_store import Walked
from .residuals import NO_EDGES, Bytes, Edges, children_of, set_large_apart

if TYPE_CHECKING:
    from .engine import Engine

FIRST_ITEMS = 1024  # that may wait for states at a time, before more room is made
MAX_PUSHES = 4096  # nodes where a state pushes frames; beyond, it has no memo


@dataclass(frozen=True, slots=True)
class FrameExits:
    """Where a state's frame may end below a trie node, without some nodes; worked out by walking again."""

    node: int
    state: int
    without: tuple[int, ...] = ()

    def edges(self, engine: Engine, later: Bytes) -> Edges:
        """The children of these places, without those by the bytes in `later`."""
        walked = walk_frame(engine, self.node, self.state, later)
        return NO_EDGES if walked is None else less(engine, walked.edges, self.without, later)


def less(engine: Engine, edges: Edges, nodes: tuple[int, ...], later: Bytes) -> Edges:
    """The edges that do not begin at these nodes."""
    gone = children_of(engine, np.array(nodes, np.int32), later) if nodes else NO_EDGES
    return edges[~np.isin(edges, gone)] if len(gone) else edges


def kept_walk(engine: Engine, node: int, state: int) -> Walked | None:
    """What a state does below a trie node, from disk where it took long; None where its pushes are too many."""
    key = None
    if node < engine.n_vocabulary_nodes:
        expr, n_nodes = engine.automaton.expr_of(state), int(engine.tables.trie_end.array[node]) - node
        key = engine.memo_store.key(expr, node, n_nodes)
    walked = None if key is None else engine.memo_store.load(key)
    if walked is None:
        started = time.thread_time()
        later = np.zeros(4, np.uint64)
        with engine.lock:
            k.loop_bytes(engine.tables.ctx, state, later)
            later &= engine.tables.trie_submask.row(node)
        walked = walk_frame(engine, node, state, later)
        if walked is None:
            return None
        edges, later = set_large_apart(engine, walked.edges, later)
        walked = Walked(walked.base, edges, later, walked.pushes)
        is_sure = key is not None and (expr.plain or is_all_decided())
        if key is not None and is_sure and not walked.pushes:  # targets have no meaning in another process
            engine.memo_store.store(key, walked, time.thread_time() - started)
    return walked


def walk_frame(engine: Engine, node: int, state: int, later: Bytes) -> Walked | None:
    """The same by walking: all edges but those by bytes in `later`.

    What has to wait for a state is gone on with where it stopped: tokens can lead through a chain of states as long as
    they are, each of which is only known behind the one before.
    """
    room, n_items = int(engine.tables.trie_end.array[node]) - node, FIRST_ITEMS
    edges, pushes = np.empty(room, np.int32), np.empty((MAX_PUSHES, 2), np.int32)
    while True:
        mask, items, n = np.zeros(engine.n_words, np.uint32), np.empty((n_items, 2), np.int64), np.zeros(3, np.int64)
        items[0], n[0] = (node, state), 1
        result = k.NEED_BUILD
        while result == k.NEED_BUILD:
            result, *_ = run_walk(
                engine,
                lambda ctx, mask=mask, items=items, n=n: (  # type: ignore[misc]
                    k.walk_frame(ctx, node, later, mask, edges, pushes, items, n),
                ),
            )
        if result == k.EMPTY:
            return None
        if result == k.OK:
            found: list[tuple[int, int]] = [(child, target) for child, target in pushes[: n[2]].tolist()]
            return Walked(mask, edges[: n[1]].copy(), later, tuple(found))
        n_items *= 4


def run_walk(engine: Engine, kernel: Callable[[npt.NDArray[np.int64]], tuple[int, ...]]) -> tuple[int, ...]:
    """What a kernel answers; what it had to ask for is made, and room where there was too little."""
    held, walker = engine.walkers.take_one(engine.tables, 0)
    with held:
        answer = kernel(walker.ctx)
        wanted = walker.wanted()
        if answer[0] == k.NEED_ROOM:
            walker.grow()
    engine.walkers.give(walker)
    if answer[0] == k.NEED_BUILD:
        engine.make(wanted)
    return answer
