"""What may follow tokens, listed once for each place, and the compiled search over it for a canonical way on.

A *node* is a set of heads and a state of P; its ways are the tokens that may follow there. The depth-first search of
`search.py` over (node, last token), in compiled code: `kernels.list_ways` lists what is asked for, and
`way_kernels.search_ways` goes through it until it needs a node that is not listed. Both are kept for the engine's
generation. Where a place leaves too much open to list it, only survival is shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..byte_masks import words_of
from ..engine import Heads
from .constraint_walks import ConstraintWalks, Groups
from .fate_kernels import table_with
from .open_texts import ORDER
from .pairs import Pairs
from .token_paths import Ids, TokenPaths, words_of_all
from .way_kernels import search_ways

MAX_STEPS = 1 << 12  # bytes read to list the ways of a node
STEPS_BELOW = 256  # below a first byte that has shown good ones
MAX_VISITS = 1 << 10  # nodes with a token, for a search
MAX_TESTS = 1 << 12  # pairs of tokens looked at for it
MAX_ALL_TESTS = 1 << 14  # the same for all that are asked for at once: a millisecond or two
MAX_LISTED = 48  # nodes listed at once, beside those that are asked for
MAX_WAYS = 1 << 20  # kept
MAX_DEPTH = 64
Rooms = tuple[tuple[npt.NDArray[Any], ...], tuple[npt.NDArray[np.int64], ...], npt.NDArray[np.int64]]


class Ways:
    """Over one engine. `live_below`: the bytes that may come where the heads' frames end, None: their end is the
    text's, 0: nothing is known of it, and only survival counts. `beside`: whose room is used too."""

    def __init__(
        self,
        walks: ConstraintWalks,
        paths: TokenPaths,
        pairs: Pairs,
        live_below: int | None,
        beside: Ways | None = None,
    ) -> None:
        self._engine, self._is_full = walks.engine, live_below is None
        automaton = paths.pre_tokens
        self._n_states = len(paths.cuts)
        ends = paths.may_end
        if live_below:
            ends = np.array([bool(cuts & live_below) for cuts in paths.cuts], np.bool_)
        self._plan = (
            automaton.first, automaton.arcs, paths.cuts_of, words_of_all(paths.weak_cuts), ends,
            words_of(self._engine.reserved), np.frombuffer(ORDER, np.uint8), live_below != 0,
        )  # fmt: skip
        self._kinds = paths.stops, paths.kinds
        self._pairs = pairs.ways_tables
        self._rooms, self._visits, self._wanted = _make_rooms() if beside is None else beside.rooms
        self.forget()

    @property
    def rooms(self) -> Rooms:
        """Room for a search, which others under the same lock may use."""
        return self._rooms, self._visits, self._wanted

    def forget(self) -> None:
        """Drop everything."""
        self._heads = _heads_table(1 << 10)
        self._good, self._ways = np.zeros(1 << 12, np.int32), np.zeros((1 << 12, 4), np.int64)
        self._nodes = np.full(1 << 11, -1, np.int64), np.zeros(1 << 11, np.int32), np.zeros((1 << 10, 5), np.int64)
        self._used = np.zeros(3, np.int64)
        self._memo = np.full(1 << 13, -1, np.int64), np.zeros(1 << 13, np.int32), np.zeros(1, np.int64)

    def decide(
        self,
        groups: Groups,
        stacks: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int32],
        at: npt.NDArray[np.int64],
        fates: Ids,
    ) -> None:
        """Settle rows (token, group, state, bit) at some places, whose fate is -1, as far as a short search tells."""
        self._tidy()
        wanted, of_row = np.unique(rows[at, 1], return_inverse=True)
        numbers = np.zeros(len(wanted), np.int64)
        while not k.intern_groups(groups.bounds, groups.codes, stacks, wanted.astype(np.int64), self._heads, numbers):
            self._grow_heads()
        fates[at] = self._search(numbers[of_row] * self._n_states + rows[at, 2], rows[at, 0])

    def fate(self, heads: Heads, p: int, token: int) -> int:
        """How many tokens are read at most behind a token that leads to (heads, p) to see that it can be continued
        canonically, 0: it cannot, -1: a short search does not tell."""
        self._tidy()
        return int(self._search(np.array([self._node(heads, p)]), np.array([token], np.int32))[0])

    def _search(self, starts: npt.NDArray[np.int64], tokens: Ids) -> Ids:
        """The same for many nodes and tokens: int32[n]."""
        found, spent = np.full(len(tokens), -1, np.int32), np.zeros(1, np.int64)
        n_left = MAX_LISTED + len(set(starts.tolist()))
        while True:
            n_wanted = search_ways(
                starts, tokens, self._n_states, (*self._nodes, self._good, self._ways), self._memo, self._visits,
                self._wanted, (MAX_VISITS, MAX_TESTS, MAX_ALL_TESTS), spent, *self._pairs, found,
            )  # fmt: skip
            if n_wanted:
                if n_left < 0:
                    break
                self._list(self._wanted[:n_wanted])
                n_left -= n_wanted
            elif (found == -1).any():
                keys, values, count = self._memo
                self._memo = *table_with(2 * len(keys), keys, values), count
            else:
                break
        return np.maximum(found, -1)

    def _tidy(self) -> None:
        if max(self._used.max(), self._memo[2][0]) > MAX_WAYS:
            self.forget()

    def _node(self, heads: Heads, p: int) -> int:
        codes, stacks = (np.array(one, np.int64) for one in zip(*heads, strict=True))
        bounds, number = np.array([0, len(heads)]), np.zeros(1, np.int64)
        while not k.intern_groups(bounds, codes, stacks, np.zeros(1, np.int64), self._heads, number):
            self._grow_heads()
        return int(number[0]) * self._n_states + p

    def listed(self, heads: Heads, p: int) -> tuple[list[int], set[tuple[int, int, Heads, int]], int]:
        """(tokens that may follow and settle what leads here, the others with bit, heads and state behind them, and of
        which kind the list is: see `kernels.list_ways`)."""
        node = self._node(heads, p)
        self._list(np.array([node]))
        keys, places, spans = self._nodes
        first, last, begin, end, kind = spans[places[keys == node][0]].tolist()
        bounds, known_codes, known_stacks = self._heads[:3]
        others = set()
        for token, bit, g, q in self._ways[begin:end].tolist():
            part = slice(bounds[g], bounds[g + 1])
            behind = tuple(sorted(zip(known_codes[part].tolist(), known_stacks[part].tolist(), strict=True)))
            others.add((token, bit, behind, q))
        return self._good[first:last].tolist(), others, kind

    def _list(self, wanted: npt.NDArray[np.int64]) -> None:
        engine = self._engine
        with engine.lock:
            while True:
                result, full = k.list_all_ways(
                    engine.tables.ctx, wanted, (MAX_STEPS, STEPS_BELOW), self._plan, self._kinds, self._rooms,
                    self._heads, self._good, self._ways, self._nodes, self._used,
                )  # fmt: skip
                if result != k.OK:
                    engine._again(result)
                elif full:
                    self._grow(full)
                else:
                    break

    def _grow(self, full: int) -> None:
        """Twice as much room for what is full, as `kernels.list_all_ways` says."""
        if full == -1:
            self._grow_heads()
        elif full == -2:
            self._good = np.concatenate([self._good, np.zeros_like(self._good)])
        elif full == -3:
            self._ways = np.concatenate([self._ways, np.zeros_like(self._ways)])
        else:
            keys, places, spans = self._nodes
            self._nodes = *table_with(2 * len(keys), keys, places), np.concatenate([spans, np.zeros_like(spans)])

    def _grow_heads(self) -> None:
        bounds, codes, stacks, _, count = self._heads
        n = int(count[0])
        new = _heads_table(2 * (len(bounds) - 1))
        out = np.zeros(n, np.int64)
        k.intern_groups(bounds, codes, stacks, np.arange(n), new, out)
        self._heads = new


def _heads_table(n: int) -> tuple[npt.NDArray[np.int64], ...]:
    return (
        np.zeros(n + 1, np.int64), np.zeros(8 * n, np.int64), np.zeros(8 * n, np.int64), np.full(4 * n, -1, np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip


def _make_rooms() -> Rooms:
    """Of `kernels.list_all_ways`, of `search_ways`, and for the nodes that it asks for."""
    rooms = (
        np.zeros((1 << 12, 5), np.int64), np.zeros((1 << 12, 2), np.int64), np.zeros((MAX_DEPTH, 5), np.int64),
        np.zeros((2, 4), np.uint64), np.zeros((MAX_DEPTH, 4), np.uint64),
    )  # fmt: skip
    visits = (
        np.zeros(4 * MAX_VISITS, np.int64), np.zeros(4 * MAX_VISITS, np.int64), np.zeros(MAX_VISITS + 1, np.int64),
        np.zeros((MAX_VISITS + 1, 4), np.int64), np.zeros(1, np.int64),
    )  # fmt: skip
    return rooms, visits, np.zeros(256, np.int64)
