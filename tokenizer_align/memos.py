"""What a state does below a trie node, worked out once for all constraints: the tokens that end inside its frame, and
the *residual trie* of what is left of the tokens that run past its end.

The long walk runs beside others; only entering the result waits for them.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .memo_store import Memo
from .tables import Tables
from .trie import Trie, build_trie

if TYPE_CHECKING:
    from .engine import Engine

MAX_EXITS = 512  # beyond, a residual trie would repeat most of the vocabulary: the memo serves the bottom frame only
DENSE_SHARE = 1  # a base with more ids than DENSE_SHARE * n_words is kept as a row


def make_memo(engine: Engine, node: int, state: int) -> None:
    """Keep what a state does below a trie node, unless that is known; a frame that pushes is noted as having none."""
    key = engine.memo_store.key(engine.automaton.exprs[state]) if node == 0 else None
    memo = None if key is None else engine.memo_store.load(key)
    if memo is None:
        started = time.thread_time()
        memo = _work_out(engine, node, state)
        if memo is not None and key is not None:
            engine.memo_store.store(key, memo, time.thread_time() - started)
    with engine.lock:
        engine.walkers.settle()
        if memo is None:
            engine.tables.state_flags.array[state] |= k.FLAG_NO_MEMO
        elif k.find_memo(engine.tables.ctx, node, state) < 0:
            with engine.changing():
                _enter(engine, node, state, memo)


def _work_out(engine: Engine, node: int, state: int) -> Memo | None:
    base: npt.NDArray[np.uint32] = np.zeros(engine.n_words, np.uint32)
    exits = _walk(engine, node, state, base)
    if exits is None:
        return None
    fits = len(exits) <= MAX_EXITS
    return Memo(base, residual_trie(engine.tables, exits.tolist()) if fits else None, fits)


def _enter(engine: Engine, node: int, state: int, memo: Memo) -> None:
    """Write a memo into the arrays; nothing walks meanwhile."""
    ids = np.zeros(engine.vocabulary.n_rows, np.int32)
    ids = ids[: k.allowed_ids(memo.base, ids)]
    root = k.NO_RESIDUAL if memo.fits else k.LARGE_RESIDUAL
    if memo.residual is not None:
        root = engine.add_trie(memo.residual)
        engine.counters.residual_nodes += memo.residual.n_nodes
    engine.counters.memos += 1
    engine.counters.memo_tokens += len(ids)
    kind, place = k.BASE_NONE, 0
    if len(ids) > DENSE_SHARE * engine.n_words:
        kind, place = k.BASE_DENSE, engine.tables.base_rows.extend(memo.base)
    elif len(ids):
        kind, place = k.BASE_LIST, engine.tables.base_lists.extend(ids)
    engine.tables.add_memo(node, state, kind, place, len(ids), root)


def _walk(engine: Engine, node: int, state: int, mask: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64] | None:
    """The nodes where the frame may end (more than MAX_EXITS are not told apart); its tokens into the mask. None where
    the frame pushes."""
    exits = np.zeros(MAX_EXITS + 1, np.int64)
    while True:
        held, (walker,) = engine.walkers.take(engine.tables, 0)
        with held:
            n_exits = k.walk_frame(walker.ctx, node, state, mask, exits)
            wanted, is_full = walker.wanted(), bool(walker.counts[2])
            if is_full:
                walker.grow()
        engine.walkers.give([walker])
        if n_exits == -1:
            return None
        if n_exits >= 0:
            return exits[: min(n_exits, MAX_EXITS + 1)]
        if not is_full:
            engine.make(wanted)
        mask[:] = 0


def residual_trie(tables: Tables, exits: list[int]) -> Trie | None:
    """One trie of what is left of the tokens below the exits, with their ids; None where nothing is."""
    starts, end, tokens = tables.trie_token_start.array, tables.trie_end.array, tables.trie_token_ids.array
    trie_byte = tables.trie_byte.array
    suffixes: list[bytes] = []
    ids: list[int] = []
    for node in exits:
        path = bytearray()
        stops: list[int] = []
        for below in range(node + 1, int(end[node])):
            while stops and below >= stops[-1]:
                stops.pop()
                path.pop()
            path.append(int(trie_byte[below]))
            stops.append(int(end[below]))
            for at in range(int(starts[below]), int(starts[below + 1])):
                suffixes.append(bytes(path))
                ids.append(int(tokens[at]))
    if not suffixes:
        return None
    trie = build_trie(suffixes)
    return replace(trie, token_ids=np.array(ids, np.int32)[trie.token_ids])
