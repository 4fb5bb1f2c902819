"""What a state does below a trie node, worked out once for all constraints: the tokens that it can read whole, and what
is left of those that run past the end of its frame, or go into frames that it pushes, as tries (`residuals.py`).

The long walk runs beside others; only entering the result waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .frame_walks import FrameExits, kept_walk
from .residuals import NO_BYTES, Edges, add_residual, children_of, enter, merged
from .shared_walks import Shared, shared_walk

if TYPE_CHECKING:
    from .engine import Engine

MAX_STATES = 64  # of a frame that are looked at for where it ends
DENSE_SHARE = 1  # a base with more ids than DENSE_SHARE * n_words is kept as a row
MAX_PUSHED = 20_000  # nodes behind pushed frames; beyond, a memo would repeat most of the vocabulary


def make_memo(engine: Engine, node: int, state: int) -> None:
    """Keep what a state does below a trie node, unless that is known; states for which it cannot be are noted."""
    shared = shared_walk(engine, node, state) or Shared(kept_walk(engine, node, state), FrameExits(node, state))
    walked, exits, roots = shared.walked, shared.exits, engine.shared_walks.roots
    groups = None if walked is None else _pushed(engine, walked.pushes)
    if walked is None or groups is None:
        with engine.lock:
            engine.tables.state_flags.array[state] |= k.FLAG_NO_MEMO
        return
    residual = merged(engine, walked.edges) if exits not in roots else None
    pushed = [(target, merged(engine, edges)) for target, edges in groups.items()]
    with engine.lock:
        engine.walkers.settle()
        if k.find_memo(engine.tables.ctx, node, state) < 0:
            with engine.changing():
                if exits not in roots:
                    roots[exits] = enter(engine, residual, walked.later, exits)
                pushes = [(target, add_residual(engine, trie)) for target, trie in pushed if trie is not None]
                _enter(engine, node, state, walked.base, roots[exits], pushes)


def _pushed(engine: Engine, pushes: tuple[tuple[int, int], ...]) -> dict[int, Edges] | None:
    """What follows behind pushed frames, by which they are; None where that is too much."""
    ends, nodes = engine.tables.trie_end.array, dict[int, list[int]]()
    if sum(int(ends[child]) - child for child, _ in pushes) > MAX_PUSHED:
        return None
    for child, target in pushes:
        nodes.setdefault(target, []).append(child)
    return {target: children_of(engine, np.array(found, np.int32), NO_BYTES) for target, found in nodes.items()}


def _enter(
    engine: Engine,
    node: int,
    state: int,
    base: npt.NDArray[np.uint32],
    root: int,
    pushes: list[tuple[int, int]],
) -> None:
    """Write a memo into the arrays; nothing walks meanwhile. `root`: of its residual trie; `pushes`: targets, roots."""
    n_ids = int.from_bytes(base.tobytes(), "little").bit_count()
    engine.counters.memos += 1
    engine.counters.memo_tokens += n_ids
    tables, kind, place = engine.tables, k.BASE_NONE, 0
    if n_ids > DENSE_SHARE * engine.n_words:
        kind, place = k.BASE_DENSE, tables.base_rows.extend(base)
    elif n_ids:
        ids = np.empty(n_ids, np.int32)
        k.allowed_ids(base, ids)
        kind, place = k.BASE_LIST, tables.base_lists.extend(ids)
    first = tables.memo_pushes.n
    for pair in pushes:
        tables.memo_pushes.extend(list(pair))
    end = k.only_end(tables.ctx, state, np.zeros(MAX_STATES, np.int64)) if root >= 0 else -1
    tables.add_memo(node, state, (kind, place, n_ids, root, first, len(pushes), int(end)))
