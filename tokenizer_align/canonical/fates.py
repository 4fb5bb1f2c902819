"""Deciding many tokens of a place at once: what is settled or was found before in one pass, the rest in lots.

A lot is the tokens that lead to the same heads and state of P. What is found of a small lot is remembered by (heads,
state, token), since places of one constraint lead to the same heads again and again, and, where the frames below the
top one do not matter, by the top one and the bytes that may come behind it; large lots are decided anew, which takes a
look at a few rows of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from ..engine import Heads
from .constraint_walks import Groups
from .fate_kernels import enter, gather, keep_alive, look_up, sort_out, table_with
from .open_texts import OpenTexts
from .search import Search
from .token_paths import Ids, States

MAX_LOT = 64  # tokens of a lot that is remembered
MAX_FATES = 1 << 18
MAX_HEADS = 1 << 16

MAX_LIVE = 8  # bytes that may come: beyond, texts are many, and what is found is looked up first
FEW = 4  # so many are first decided under any stack
# Of (heads, state of P, tokens): int32[n], how many tokens were read behind each to see it survive, 0: it does not.
Decide = Callable[[Heads, int, Ids], npt.NDArray[np.int32]]


class Fates:
    """What is known of tokens at places of one engine.

    `decide` says it in full; `decide_shared` without the frames below the top one, where 0 settles nothing: for heads
    to which `shared_key` gives a key, all of a key alike.
    """

    def __init__(
        self,
        search: Search,
        decide: Decide,
        decide_shared: Decide,
        shared_key: Callable[[Heads], Hashable | None],
        may_force: bool,
        texts: OpenTexts | None,
    ) -> None:
        self._texts = texts
        self._search, self._may_force = search, may_force
        self._decide, self._decide_shared, self._shared_key = decide, decide_shared, shared_key
        self._n_states = len(search.paths.cuts)
        self._open = np.zeros((1024, 4), np.int32)
        self.forget()

    def forget(self) -> None:
        """Drop everything."""
        self._numbers: dict[Hashable, int] = {}
        self._nodes: dict[Heads, tuple[int, int]] = {}
        self._keys, self._values = table_with(1 << 10, np.empty(0, np.int64), np.empty(0, np.int32))
        self._n = 0

    def keep(self, states: States, tokens: Ids, groups: Groups, kept: npt.NDArray[np.uint32]) -> int:
        """Set the tokens that survive, read from any of some states of P, in kept: uint32[2, n_words], by the bit
        before them. Returns the most tokens that were read to see that one does."""
        n_open = self._sort_out(states, tokens, groups, kept)
        if not n_open:
            return 0
        rows = self._open[:n_open]
        order, firsts = np.empty(n_open, np.int64), np.empty(n_open + 1, np.int64)
        n_lots = gather(rows, self._n_states, order, firsts)
        rows, firsts = rows[order], firsts[: n_lots + 1]
        fates, lots = np.full(n_open, -1, np.int32), rows[firsts[:-1], 1:3]
        is_wide = np.bitwise_count(groups.live[lots[:, 0]]).sum(axis=1) > MAX_LIVE
        if self._texts is not None:
            self._texts.decide(groups, lots, firsts, rows[:, 0], ~is_wide, fates)
        if (fates < 0).any():
            nodes = self._look_up(groups, rows, fates)
            if self._texts is not None:
                self._show(groups, rows, firsts, is_wide, nodes, fates)
            self._search_for(groups, rows, firsts, nodes, fates)
        return int(keep_alive(rows, fates, kept))

    def _sort_out(self, states: States, tokens: Ids, groups: Groups, kept: npt.NDArray[np.uint32]) -> int:
        """Set what open bytes settle; how many (token, group, state, bit), in self._open, are left."""
        search = self._search
        while True:
            n_open = 0
            for p in states:
                n_open = sort_out(
                    tokens, groups.group, *search.paths.arcs(p), groups.live, groups.complete, search.paths.cuts_of,
                    search.may_end_at, search.sees_end, bool(search.walks.engine.reserved), not self._may_force,
                    kept, n_open, self._open,
                )  # fmt: skip
            if n_open <= len(self._open):
                return n_open
            self._open = np.zeros((2 * n_open, 4), np.int32)

    def _look_up(self, groups: Groups, rows: npt.NDArray[np.int32], fates: Ids) -> npt.NDArray[np.int64]:
        """Take what was found before of the rows whose fate is -1. int64[2, n_groups]: what a state is added to for a
        key, for all stacks and for this one, -1 where nothing is shared, and for groups that were not asked for."""
        wanted = np.unique(rows[fates < 0, 1]).tolist()
        if len(self._nodes) + len(wanted) > MAX_HEADS:
            self.forget()
        nodes = np.full((2, len(groups)), -1, np.int64)
        for g in wanted:
            nodes[:, g] = self._nodes_of(groups.heads_of(g))
        look_up(rows, nodes[0], nodes[1], self._keys, self._values, fates)
        return nodes

    def _show(
        self,
        groups: Groups,
        rows: npt.NDArray[np.int32],
        firsts: npt.NDArray[np.int64],
        is_wide: npt.NDArray[np.bool_],
        nodes: npt.NDArray[np.int64],
        fates: Ids,
    ) -> None:
        """Let texts settle rows of fate -1 where much may follow: if that is shared, under any stack."""
        assert self._texts is not None
        lots = rows[firsts[:-1], 1:3]
        todo = is_wide & (np.add.reduceat(fates < 0, firsts[:-1]) > 0)
        is_shared = nodes[1, lots[:, 0]] >= 0
        if (todo & is_shared).any():
            found = np.full(len(rows), -1, np.int32)
            self._texts.show(groups, lots, firsts, rows[:, 0], todo & is_shared, found)
            self._remember(rows, found, nodes[1])
            fates[:] = np.where(fates < 0, found, fates)
        if (todo & ~is_shared).any():
            self._texts.decide(groups, lots, firsts, rows[:, 0], todo & ~is_shared, fates)

    def _search_for(
        self,
        groups: Groups,
        rows: npt.NDArray[np.int32],
        firsts: npt.NDArray[np.int64],
        nodes: npt.NDArray[np.int64],
        fates: Ids,
    ) -> None:
        """Search for the rows of fate -1, and remember what was found."""
        shared, remembered = np.full((2, len(rows)), -1, np.int32)
        for lot in np.flatnonzero(np.add.reduceat(fates < 0, firsts[:-1])).tolist():
            at = firsts[lot] + np.flatnonzero(fates[firsts[lot] : firsts[lot + 1]] < 0)
            g, p = rows[at[0], 1:3].tolist()
            heads, some = groups.heads_of(g), rows[at, 0]
            if len(some) <= FEW and nodes[1, g] >= 0:
                found = shared[at] = self._decide_shared(heads, p, some)
                if not found.all():
                    found = np.where(found > 0, found, self._decide(heads, p, some))
            else:
                found = self._decide(heads, p, some)
            fates[at] = found
            if len(some) <= MAX_LOT:
                remembered[at] = found
        self._remember(rows, remembered, nodes[0])
        self._remember(rows, shared, nodes[1])

    def _nodes_of(self, heads: Heads) -> tuple[int, int]:
        """Numbers, times the number of states, of heads and of what is shared of them (-1: nothing)."""
        found = self._nodes.get(heads)
        if found is None:
            numbers, n_states = self._numbers, self._n_states
            own, key = numbers.setdefault(heads, len(numbers)), self._shared_key(heads)
            shared = -1 if key is None else n_states * numbers.setdefault((key, "shared"), len(numbers))
            found = self._nodes[heads] = n_states * own, shared
        return found

    def _remember(
        self, rows: npt.NDArray[np.int32], fates: npt.NDArray[np.int32], nodes: npt.NDArray[np.int64]
    ) -> None:
        if self._n + len(rows) > MAX_FATES:
            self._keys[:], self._n = -1, 0
        n_slots = len(self._keys)
        while 2 * (self._n + len(rows)) > n_slots:
            n_slots *= 2
        if n_slots > len(self._keys):
            self._keys, self._values = table_with(n_slots, self._keys, self._values)
        self._n += int(enter(rows, fates, nodes, self._keys, self._values))
