"""When a memo pays: a state goes through the trie by shape each time, until that took as long as its memo would.

So no state pays for a memo much more than it has paid for walks (the rule of renting or buying), and what many
constraints read, such as the inside of a JSON string, soon costs a few steps. From disk a memo costs less, and is
bought as much sooner; nobody looks there twice, since that costs as much as a short walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernels as k

if TYPE_CHECKING:
    from .engine import Engine

NODES_A_VISIT = 6  # of the vocabulary's trie that a long walk reads in the time of one visit of the trie by shape
TEXT_VISITS = 200  # that answering a text takes as long as
FIXED_VISITS = 2_000  # that everything else about a memo takes as long as


class ShapeWalks:
    """What walks by shape have cost each state below each node; of one generation."""

    def __init__(self) -> None:
        self._visits: dict[int, int] = {}  # by node << 30 | state
        self._looked_up: set[int] = set()  # of these, what was looked for on disk

    def note(self, engine: Engine, shaped: int, n_visits: int) -> None:
        """A walk visited so many nodes, and went through the trie by shape (`kernels.SHAPED`)."""
        before = self._visits.get(shaped, 0)
        if before < 0:
            return  # its memo is made, or could not be
        n_visits += TEXT_VISITS
        self._visits[shaped] = before + n_visits
        node, state = shaped >> 30, shaped & ((1 << 30) - 1)
        size = int(engine.tables.trie_end.array[node]) - node
        has_paid_reading = before + n_visits > FIXED_VISITS and shaped not in self._looked_up
        has_paid_walking = before + n_visits > FIXED_VISITS + size // NODES_A_VISIT
        if has_paid_walking or (has_paid_reading and self._is_kept(engine, node, state, size)):
            self._visits[shaped] = -1
            engine.make([k.MEMO_REQUEST | shaped])

    def _is_kept(self, engine: Engine, node: int, state: int, size: int) -> bool:
        self._looked_up.add(node << 30 | state)
        key = engine.memo_store.key(engine.automaton.exprs[state], node, size)
        return key is not None and engine.memo_store.holds(key)
