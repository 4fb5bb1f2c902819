"""What an engine did and holds, for people: `Compiled.counters()`. The keys are explained in docs/engine.md."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine import Engine


@dataclass
class Counters:
    """What an engine did so far.

    walks, walk_rounds: masks walked for, and walks that took (again, where something had to be built first).
    builds: times that something met had to be built. runs: byte strings read. memos, memo_tokens, residual_nodes: made
    or loaded, what their bases and residual tries hold. generations, ages: how often states, and what is kept, were
    dropped.
    """

    walks: int = 0
    walk_rounds: int = 0
    builds: int = 0
    runs: int = 0
    memos: int = 0
    memo_tokens: int = 0
    residual_nodes: int = 0
    generations: int = 1
    ages: int = 0


def view(engine: Engine) -> dict[str, int]:
    """All figures of an engine: what it did, what it has now, and bytes by kind."""
    with engine.lock:
        tables, automaton, store = engine.tables, engine.automaton, engine.memo_store
        bytes_of = {pool.slot: pool.n * pool.width * pool.array.itemsize for pool in tables.pools()}
        trie = sum(bytes_of[pool.slot] for pool in tables.trie_pools())
        memos = sum(bytes_of[pool.slot] for pool in (tables.memos, tables.base_rows, tables.base_lists))
        of_heads = tables.head_memos.n_used_bytes()
        n_nodes, n_memo_hits = engine.walkers.visited()
        n_cells = int(tables.counts.array[0])
        return {
            **asdict(engine.counters),
            "nodes_visited": n_nodes,
            "memo_hits": n_memo_hits,
            "memo_memory_hits": store.n_hits,
            "memo_disk_hits": store.n_disk_hits,
            "memo_disk_writes": store.n_writes,
            "states": len(automaton.exprs),
            "states_built": automaton.n_built,
            "cells": n_cells,
            "bytes_trie": trie,
            "bytes_states": sum(bytes_of.values()) - trie - memos,
            "bytes_memos": memos + of_heads + store.n_bytes(),
            "bytes_cells": 12 * n_cells,
            "bytes_kept": engine.n_kept_bytes(),
            "bytes_allocated": tables.n_bytes(),
        }
