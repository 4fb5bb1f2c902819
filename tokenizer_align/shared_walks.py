"""Walks that serve several states: a counted repetition's for all counts, a frame's for it less finitely many words."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import kernels as k
from .byte_masks import words_of
from .counted import Count, shape_of
from .exclusions import Exclusion, exclusion_of, find_words
from .expressions import Expr
from .frame_walks import FrameExits, kept_walk, less, run_walk
from .memo_store import Walked
from .profiles import Numbers, Profile
from .residuals import NO_BYTES, NO_EDGES, Exits, ListedExits, set_large_apart

if TYPE_CHECKING:
    from .engine import Engine


@dataclass(frozen=True, slots=True)
class Shared:
    """What a walk says of a state (None: it has no memo), and where its frame may end."""

    walked: Walked | None
    exits: Exits


class SharedWalks:
    """What one generation of states has walked for several of them."""

    def __init__(self) -> None:
        self.profiles: dict[tuple[int, Expr, Expr], Profile | None] = {}  # by trie node, item and tail
        self.frames: dict[tuple[int, int], Walked | None] = {}  # by trie node and state
        self.roots: dict[Exits, int] = {}  # of residual tries
        self.exits: dict[int, Exits] = {}  # of residual tries that are not whole, by root
        self.n_bytes = 0  # that all this holds, about


def shared_walk(engine: Engine, node: int, state: int) -> Shared | None:
    """A state's tokens and exits below a trie node out of a walk that others share; None where it has its own."""
    count = engine.automaton.count_at.get(state)
    if count is not None:
        profile = _profile(engine, node, count)
        return Shared(None, ListedExits(())) if profile is None else _counted(engine, profile, count)
    less = engine.automaton.less_at.get(state)
    exclusion = exclusion_of(engine.automaton.expr_of(state)) if less is None else less.exclusion
    return None if exclusion is None else _without_words(engine, node, exclusion)


def _counted(engine: Engine, profile: Profile, count: Count) -> Shared:
    exits = ListedExits(profile.exits(count))
    edges, later = NO_EDGES, NO_BYTES
    if exits not in engine.shared_walks.roots:
        edges, later = set_large_apart(engine, exits.edges(engine, NO_BYTES), NO_BYTES)
    return Shared(Walked(profile.mask(count), edges, later), exits)


def _without_words(engine: Engine, node: int, exclusion: Exclusion) -> Shared | None:
    """A frame's tokens and exits without those that excluded words give it."""
    with engine.lock:
        engine.walkers.settle()
        with engine.changing():
            whole = engine.automaton.code_of(exclusion.whole)
            engine.automaton.build(whole)
    frames, tables = engine.shared_walks.frames, engine.tables
    if (node, whole) not in frames:
        frames[node, whole] = kept_walk(engine, node, whole)
        engine.shared_walks.n_bytes += 4 * engine.n_words
    walked = frames[node, whole]
    if walked is None or walked.pushes:
        return None
    ends = np.unique(find_words(engine, node, exclusion, range(len(exclusion.words))))
    with engine.lock:  # growing the trie in another thread moves its arrays
        base, starts, ids = walked.base, tables.trie_token_start.array, tables.trie_token_ids.array
        if exclusion.ends_frame:
            base = base.copy()
            for end in ends.tolist():
                k.clear_ids(ids[starts[end] : starts[end + 1]], base)
        go_on = tuple(ends[tables.trie_end.array[ends] > ends + 1].tolist())
    exits = FrameExits(node, whole, go_on)
    return Shared(Walked(base, less(engine, walked.edges, go_on, walked.later), walked.later), exits)


def _profile(engine: Engine, node: int, count: Count) -> Profile | None:
    """The items that tokens below a trie node use up, for all counts; None where they cannot be counted."""
    key, profiles = (node, count.item, count.tail), engine.shared_walks.profiles
    if key in profiles:
        return profiles[key]
    endless = Count(count.item, count.tail, 0, None).expr
    n_nodes = int(engine.tables.trie_end.array[node]) - node
    is_kept = node < engine.n_vocabulary_nodes and endless.plain
    name = engine.memo_store.key(endless, node, n_nodes) if is_kept else None
    name = None if name is None else hashlib.sha256(f"{name} counted".encode()).hexdigest()
    kept = None if name is None else engine.memo_store.load_beside(name, ("counts", "exits"))
    if kept is not None:
        profile: Profile | None = Profile(kept[0], kept[1], engine.n_words)
    else:
        started = time.thread_time()
        found = _count_items(engine, node, count, endless)
        profile = None if found is None else Profile(*found, engine.n_words)
        if name is not None and found is not None:
            engine.memo_store.store_beside(name, time.thread_time() - started, counts=found[0], exits=found[1])
    engine.shared_walks.n_bytes += 0 if profile is None else profile.n_bytes()
    return profiles.setdefault(key, profile)


def _count_items(engine: Engine, node: int, count: Count, endless: Expr) -> tuple[Numbers, Numbers] | None:
    """What a profile is made of: int[2, n_rows] and int[2, n]; None where items cannot be counted."""
    shape = shape_of(count.item, count.tail)
    assert shape is not None
    with engine.lock:
        engine.walkers.settle()
        with engine.changing():
            state = engine.automaton.code_of(endless)
    opening = words_of(sum(mask for mask, _ in shape.opening))
    room = int(engine.tables.trie_end.array[node]) - node
    exits = np.empty((2, room), np.int64)
    result = k.NEED_BUILD
    while result in (k.NEED_BUILD, k.NEED_ROOM):
        counts = np.full((2, engine.vocabulary.n_rows), -1, np.int32)
        result, n_exits, _ = run_walk(
            engine,
            lambda ctx, counts=counts: k.walk_counted(ctx, node, state, opening, *counts, *exits),  # type: ignore[misc]
        )
    if result != k.OK:
        return None
    kind = np.int16 if counts.max(initial=0) < 2**15 else np.int32
    return counts.astype(kind), exits[:, :n_exits].astype(np.int32)
