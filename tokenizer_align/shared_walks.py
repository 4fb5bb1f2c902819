"""Walks that serve several states: a counted repetition's for all counts, a frame's for it less finitely many words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .byte_masks import words_of
from .counted import Count, shape_of
from .exclusions import Exclusion, exclusion_of
from .expressions import Expr
from .profiles import Profile

if TYPE_CHECKING:
    from .engine import Engine

MAX_EXITS = 512  # beyond, a residual trie would repeat most of the vocabulary: the memo serves the bottom frame only

Walked = tuple["npt.NDArray[np.uint32] | None", tuple[int, ...]]  # tokens that end inside the frame, and its exits


class SharedWalks:
    """What one generation of states has walked for several of them."""

    def __init__(self) -> None:
        self.profiles: dict[tuple[int, Expr, Expr], Profile | None] = {}  # by trie node, item and tail
        self.frames: dict[tuple[int, int], Walked] = {}  # by trie node and state
        self.roots: dict[tuple[int, ...], int] = {}  # of residual tries, by exits
        self.n_bytes = 0  # that all this holds, about


def shared_walk(engine: Engine, node: int, state: int) -> Walked | None:
    """A state's tokens and exits below a trie node out of a walk that others share; None where it has its own."""
    count = engine.automaton.count_at.get(state)
    if count is not None:
        profile = _profile(engine, node, count)
        return (None, ()) if profile is None else (profile.mask(count), profile.exits(count))
    exclusion = exclusion_of(engine.automaton.expr_of(state))
    return None if exclusion is None else _without_words(engine, node, state, exclusion)


def _without_words(engine: Engine, node: int, state: int, exclusion: Exclusion) -> Walked:
    """A frame's tokens and exits without those that excluded words give it."""
    with engine.lock:
        engine.walkers.settle()
        with engine.changing():
            whole = engine.automaton.code_of(exclusion.whole)
    frames = engine.shared_walks.frames
    if (node, whole) not in frames:
        frames[node, whole] = walk_frame(engine, node, whole)
        engine.shared_walks.n_bytes += 4 * engine.n_words
    mask, exits = frames[node, whole]
    if mask is None or len(exits) > MAX_EXITS:
        return walk_frame(engine, node, state)
    mask, tables = mask.copy(), engine.tables
    with engine.lock:  # growing the trie in another thread moves its arrays
        ends = {k.find_node(tables.ctx, node, np.frombuffer(word, np.uint8)) for word in exclusion.words} - {-1}
    starts, ids = tables.trie_token_start.array, tables.trie_token_ids.array
    for end in ends:
        k.clear_ids(ids[starts[end] : starts[end + 1]], mask)
    return mask, tuple(node for node in exits if node not in ends)


def walk_frame(engine: Engine, node: int, state: int) -> Walked:
    """The tokens that end inside the frame (None where it pushes), and the nodes where it may end (more than MAX_EXITS
    are not told apart)."""
    exits = np.zeros(MAX_EXITS + 1, np.int64)
    while True:
        mask = np.zeros(engine.n_words, np.uint32)
        n_exits = _run(engine, lambda ctx, mask=mask: k.walk_frame(ctx, node, state, mask, exits))  # type: ignore[misc]
        if n_exits == -1:
            return None, ()
        if n_exits >= 0:
            return mask, tuple(exits[: min(n_exits, MAX_EXITS + 1)].tolist())


def _profile(engine: Engine, node: int, count: Count) -> Profile | None:
    """The items that tokens below a trie node use up, for all counts; None where they cannot be counted."""
    key, profiles = (node, count.item, count.tail), engine.shared_walks.profiles
    if key in profiles:
        return profiles[key]
    shape = shape_of(count.item, count.tail)
    assert shape is not None
    with engine.lock:
        engine.walkers.settle()
        with engine.changing():
            endless = engine.automaton.code_of(Count(count.item, count.tail, 0, None).expr)
    opening = words_of(sum(mask for mask, _ in shape.opening))
    exits = np.zeros((2, MAX_EXITS), np.int64)
    found = -3
    while found == -3:
        counts = np.full((2, engine.vocabulary.n_rows), -1, np.int32)
        found = _run(
            engine,
            lambda ctx, counts=counts: k.walk_counted(ctx, node, endless, opening, *counts, *exits),  # type: ignore[misc]
        )
    profile = Profile(counts, exits[:, :found], engine.n_words) if 0 <= found <= MAX_EXITS else None
    engine.shared_walks.n_bytes += 0 if profile is None else profile.n_bytes()
    return profiles.setdefault(key, profile)


def _run(engine: Engine, kernel: Callable[[npt.NDArray[np.int64]], int]) -> int:
    """What a kernel answers; -3 where something had to be made first, and was."""
    held, walker = engine.walkers.take_one(engine.tables, 0)
    with held:
        result = kernel(walker.ctx)
        wanted, is_full = walker.wanted(), bool(walker.counts[2])
        if is_full:
            walker.grow()
    engine.walkers.give(walker)
    if result == -3 and not is_full:
        engine.make(wanted)
    return result
