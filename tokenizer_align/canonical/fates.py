"""Deciding many tokens of a place at once: what is settled or was found before in one pass, the rest in lots.

A lot is the tokens that lead to the same heads and state of P. What is found of a small lot is remembered by (heads,
state, token), since places of one constraint lead to the same heads again and again, and, where the frames below the
top one do not matter, by the top one, with the bytes that may come behind it or without; large lots are decided anew,
which takes a look at a few rows of pairs.
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
from .ways import Ways

MAX_LOT = 64  # tokens of a lot that is remembered
MAX_FATES = 1 << 18
MAX_HEADS = 1 << 16

MAX_LIVE = 8  # bytes that may come: beyond, texts are many, and what is found is looked up first
OWN, BELOW, ANY = 0, 1, 2  # by which keys fates are remembered: of heads, of the top frame with and without more
# Of (heads, state of P, tokens): int32[n], how many tokens were read behind each to see it survive, 0: it does not.
Decide = Callable[[Heads, int, Ids], npt.NDArray[np.int32]]
Rows = npt.NDArray[np.int32]  # int32[n, 4]: (token, group, state of P, bit)
Flags = npt.NDArray[np.bool_]


class Fates:
    """What is known of tokens at places of one engine. `decide` says it in full, where nothing else does, and
    `decide_above` of a token without the frames below the top one, where 0 settles nothing; `ways_above` gives what
    lists ways without them, for the bytes that may come there."""

    def __init__(
        self,
        search: Search,
        decide: Decide,
        decide_above: Callable[[Heads, int, int], int],
        ways_above: Callable[[int], Ways] | None,
        texts: OpenTexts | None,
        ways: Ways | None,
    ) -> None:
        self._texts, self._ways, self._ways_above = texts, ways, ways_above
        self._search, self._decide, self._decide_above = search, decide, decide_above
        self._n_states = len(search.paths.cuts)
        self._open = np.zeros((1024, 4), np.int32)
        self.forget()

    def forget(self) -> None:
        """Drop everything."""
        self._numbers: dict[Hashable, int] = {}
        self._nodes: dict[Heads, tuple[int, int, int, int]] = {}
        self._keys, self._values = table_with(1 << 10, np.empty(0, np.int64), np.empty(0, np.int32))
        self._n = 0
        self._is_silent = np.zeros(1024, np.bool_)  # by state, those inside a character of which texts told nothing

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
            nodes, below = self._look_up(groups, rows, fates)
            if self._texts is not None:
                self._show(groups, rows, firsts, is_wide, nodes, fates)
            if self._ways is not None:
                n_left = np.add.reduceat(fates < 0, firsts[:-1])
                # Long runs of open letters have ways on that are too long to list.
                is_near = (n_left <= MAX_LOT) & (~is_wide | (nodes[BELOW, lots[:, 0]] >= 0))
                is_small = np.repeat(is_near, np.diff(firsts))
                self._search_above(groups, rows, is_small, nodes, below, fates)
                self._search_ways(groups, rows, is_small, fates)
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
                    search.may_end_at, search.sees_end, bool(search.walks.engine.reserved), not search.may_force,
                    kept, n_open, self._open,
                )  # fmt: skip
            if n_open <= len(self._open):
                return n_open
            self._open = np.zeros((2 * n_open, 4), np.int32)

    def _look_up(self, groups: Groups, rows: Rows, fates: Ids) -> tuple[npt.NDArray[np.int64], list[int]]:
        """Take what was found before of the rows whose fate is -1. int64[3, n_groups]: what a state is added to for a
        key, OWN, BELOW and ANY, -1 where nothing is shared, and for groups that were not asked for; and per group the
        bytes that may come below the top frame."""
        wanted = np.unique(rows[fates < 0, 1]).tolist()
        if len(self._nodes) + len(wanted) > MAX_HEADS:
            self.forget()
        nodes, below = np.full((3, len(groups)), -1, np.int64), [0] * len(groups)
        for g in wanted:
            *nodes[:, g], below[g] = self._nodes_of(groups.heads_of(g))
        look_up(rows, nodes, self._keys, self._values, fates)
        return nodes, below

    def _show(
        self,
        groups: Groups,
        rows: Rows,
        firsts: npt.NDArray[np.int64],
        is_wide: npt.NDArray[np.bool_],
        nodes: npt.NDArray[np.int64],
        fates: Ids,
    ) -> None:
        """Let texts settle rows of fate -1 where much may follow: if that is shared, under any stack."""
        assert self._texts is not None
        lots = rows[firsts[:-1], 1:3]
        todo = is_wide & (np.add.reduceat(fates == -1, firsts[:-1]) > 0)
        if not todo.any():
            return
        live = groups.live[lots[:, 0]]
        # Inside a character texts tell nothing where the frame is the character's own, and ways tell at once.
        is_inside = (live[:, 2] != 0) & (live[:, 0] | live[:, 1] | live[:, 3] == 0)
        codes = groups.codes[groups.bounds[lots[:, 0]]]
        todo &= ~(is_inside & self._is_silent[np.where(codes < len(self._is_silent), codes, 0)])
        is_shared = nodes[ANY, lots[:, 0]] >= 0
        if (todo & is_shared).any():
            found = np.full(len(rows), -1, np.int32)
            self._texts.show(groups, lots, firsts, rows[:, 0], todo & is_shared, found)
            self._remember(rows, found, nodes[ANY])
            told = np.maximum.reduceat(found, firsts[:-1]) >= 0
            silent = codes[todo & is_shared & is_inside & ~told]
            if len(silent) and silent.max() >= len(self._is_silent):
                self._is_silent = np.append(self._is_silent, np.zeros(2 * int(silent.max()), np.bool_))
            self._is_silent[silent] = True
            fates[:] = np.where(fates < 0, found, fates)
        if (todo & ~is_shared).any():
            self._texts.decide(groups, lots, firsts, rows[:, 0], todo & ~is_shared, fates)

    def _search_above(
        self, groups: Groups, rows: Rows, among: Flags, nodes: npt.NDArray[np.int64], below: list[int], fates: Ids
    ) -> None:
        """Search for rows of fate -1 without the frames below the top one; what is found serves all stacks. Fates of -2
        were searched for so before."""
        assert self._ways_above is not None
        stacks = np.full_like(groups.stacks, -1)
        at = np.flatnonzero((fates == -1) & (nodes[BELOW, rows[:, 1]] >= 0) & among)
        kinds = np.array(below, object)[rows[at, 1]]
        for kind in dict.fromkeys(kinds.tolist()):
            some, found = at[kinds == kind], np.full(len(rows), -1, np.int32)
            self._ways_above(kind).decide(groups, stacks, rows, some, found)
            for i in some[found[some] < 0].tolist():  # more than a short search tells
                token, g, p = rows[i, :3].tolist()
                found[i] = self._decide_above(groups.heads_of(g), p, token)
            fates[some] = np.where(found[some] > 0, found[some], -2)
            found[some] = np.maximum(found[some], 0)
            self._remember(rows, found, nodes[BELOW])

    def _search_ways(self, groups: Groups, rows: Rows, among: Flags, fates: Ids) -> None:
        """Search for rows without fate with the frames below."""
        assert self._ways is not None
        at = np.flatnonzero((fates < 0) & among)
        if len(at):
            fates[at] = -1
            self._ways.decide(groups, groups.stacks, rows, at, fates)

    def _search_for(
        self, groups: Groups, rows: Rows, firsts: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64], fates: Ids
    ) -> None:
        """Search for the rows of fate -1, and remember what was found."""
        if not (fates < 0).any():
            return
        remembered = np.full(len(rows), -1, np.int32)
        for lot in np.flatnonzero(np.add.reduceat(fates < 0, firsts[:-1])).tolist():
            at = firsts[lot] + np.flatnonzero(fates[firsts[lot] : firsts[lot + 1]] < 0)
            g, p = rows[at[0], 1:3].tolist()
            fates[at] = found = self._decide(groups.heads_of(g), p, rows[at, 0])
            if len(at) <= MAX_LOT:
                remembered[at] = found
        self._remember(rows, remembered, nodes[OWN])

    def _nodes_of(self, heads: Heads) -> tuple[int, int, int, int]:
        """Numbers, times the number of states, of heads and of what is shared of them (-1: nothing), and the bytes
        that may come below the top frame."""
        found = self._nodes.get(heads)
        if found is None:
            numbers, n_states, walks = self._numbers, self._n_states, self._search.walks
            shallow = walks.cut_off(heads)
            found = n_states * numbers.setdefault(heads, len(numbers)), -1, -1, 0
            if shallow is not None:
                below = walks.bytes_below(heads[0][1]) if len(heads) == 1 else 0
                any_stack = n_states * numbers.setdefault((shallow, 0), len(numbers))
                known = n_states * numbers.setdefault((shallow, below, ""), len(numbers))
                found = found[0], known, any_stack, below
            self._nodes[heads] = found
        return found

    def _remember(self, rows: Rows, fates: Ids, nodes: npt.NDArray[np.int64]) -> None:
        if self._n + len(rows) > MAX_FATES:
            self._keys[:], self._n = -1, 0
        n_slots = len(self._keys)
        while 2 * (self._n + len(rows)) > n_slots:
            n_slots *= 2
        if n_slots > len(self._keys):
            self._keys, self._values = table_with(n_slots, self._keys, self._values)
        self._n += int(enter(rows, fates, nodes, self._keys, self._values))
