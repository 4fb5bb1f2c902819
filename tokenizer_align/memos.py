"""What a state does below a trie node, worked out once for all constraints: the tokens that end inside its frame, and
the *residual trie* of what is left of the tokens that run past its end.

The long walk runs beside others; only entering the result waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .memo_store import Memo
from .shared_walks import MAX_EXITS, shared_walk, walk_frame
from .tables import Tables
from .trie import Trie, build_trie
from .trie_arrays import add_trie

if TYPE_CHECKING:
    from .engine import Engine

DENSE_SHARE = 1  # a base with more ids than DENSE_SHARE * n_words is kept as a row


def make_memo(engine: Engine, node: int, state: int) -> None:
    """Keep what a state does below a trie node, unless that is known; a frame that pushes is noted as having none."""
    walked = shared_walk(engine, node, state)
    if walked is not None:
        _keep(engine, node, state, *walked)
        return
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
                _enter(engine, node, state, memo.base, _residual_root(engine, memo))


def _work_out(engine: Engine, node: int, state: int) -> Memo | None:
    base, exits = walk_frame(engine, node, state)
    if base is None:
        return None
    fits = len(exits) <= MAX_EXITS
    return Memo(base, residual_trie(engine.tables, exits) if fits else None, fits)


def _residual_root(engine: Engine, memo: Memo) -> int:
    """Enter a memo's residual trie."""
    if memo.residual is None:
        return k.NO_RESIDUAL if memo.fits else k.LARGE_RESIDUAL
    engine.counters.residual_nodes += memo.residual.n_nodes
    return add_trie(engine.tables, memo.residual)


def _keep(engine: Engine, node: int, state: int, base: npt.NDArray[np.uint32] | None, exits: tuple[int, ...]) -> None:
    """Keep what a shared walk says of a state; the same exits share one residual trie."""
    fits, roots = len(exits) <= MAX_EXITS, engine.shared_walks.roots
    is_new = base is not None and exits not in roots
    residual = residual_trie(engine.tables, exits) if is_new and fits else None
    with engine.lock:
        engine.walkers.settle()
        if base is None:
            engine.tables.state_flags.array[state] |= k.FLAG_NO_MEMO
        elif k.find_memo(engine.tables.ctx, node, state) < 0:
            with engine.changing():
                if exits not in roots:
                    roots[exits] = _residual_root(engine, Memo(base, residual, fits))
                _enter(engine, node, state, base, roots[exits])


def _enter(engine: Engine, node: int, state: int, base: npt.NDArray[np.uint32], root: int) -> None:
    """Write a memo into the arrays; nothing walks meanwhile. `root`: of its residual trie."""
    ids = np.zeros(engine.vocabulary.n_rows, np.int32)
    ids = ids[: k.allowed_ids(base, ids)]
    engine.counters.memos += 1
    engine.counters.memo_tokens += len(ids)
    kind, place = k.BASE_NONE, 0
    if len(ids) > DENSE_SHARE * engine.n_words:
        kind, place = k.BASE_DENSE, engine.tables.base_rows.extend(base)
    elif len(ids):
        kind, place = k.BASE_LIST, engine.tables.base_lists.extend(ids)
    engine.tables.add_memo(node, state, kind, place, len(ids), root)


def residual_trie(tables: Tables, exits: Sequence[int]) -> Trie | None:
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
