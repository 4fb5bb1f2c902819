"""Rows of the tokens that survive: what masks under a law are made of, shared by all constraints of an engine."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from ..engine import Engine, Heads
from .constraint_walks import ConstraintWalks, set_bits
from .search import MAX_PLACE_BYTES, PairsLike, Place, Search
from .token_paths import Ids, Row, States, TokenPaths


class Survival:
    """Decides for one engine which tokens survive: first with the frames below the top one left unknown, so that a
    positive answer serves every stack; then in full."""

    def __init__(self, engine: Engine, paths: TokenPaths, pairs: PairsLike) -> None:
        self.engine, self.paths, self.pairs = engine, paths, pairs
        self.lock = threading.RLock()
        self._max_rows = max(256, MAX_PLACE_BYTES // (8 * paths.n_words))
        engine.keepers.add(self)
        self.drop()

    def drop(self) -> None:
        """Forget what was found: the engine begins a new generation, so heads have lost their meaning."""
        self.walks = ConstraintWalks(self.engine, self.paths)
        self.full = Search(self.walks, self.paths, self.pairs, may_end=True)
        self.shallow = Search(self.walks, self.paths, self.pairs, may_end=False)
        self._shallow: dict[tuple[Heads, int], npt.NDArray[np.uint32]] = {}  # (tried, alive)
        self._kept: dict[tuple[Heads, States], tuple[Row, Row]] = {}

    def age(self) -> None:
        """The engine's budget for what is kept is filled; rows found here have a bound of their own."""

    def n_bytes(self) -> int:
        """Bytes that count for that budget."""
        return 0

    # --- rows -----------------------------------------------------------------------------------------------------

    def kept(self, heads: Heads, states: States) -> tuple[Row, Row]:
        """The legal tokens that survive, without and with a boundary before them; `heads` are clamped."""
        with self.lock:
            found = self._kept.get((heads, states))
            if found is None:
                if len(self._kept) >= self._max_rows:
                    self._kept.clear()
                found = self._kept[heads, states] = self._make_kept(heads, states)
            return found

    def _make_kept(self, heads: Heads, states: States) -> tuple[Row, Row]:
        place = self.full.place(heads)
        easy, hard = place.look(self.walks, self.paths)
        kept = np.zeros(len(easy), np.uint32), np.zeros(len(easy), np.uint32)
        for p in states:
            for bit, row in enumerate(self.paths.rows(p)):
                kept[bit][:] |= row & easy
        if len(hard):
            ends = np.concatenate([self.paths.ends_of_all(p, hard) for p in states])
            ends = ends[place.hard_groups(self.walks).group[ends[:, 0]] >= 0]
            alive = self.full.settled_rows(place, ends)
            self._decide(place, ends, alive)
            for bit in (0, 1):
                set_bits(kept[bit], hard[ends[alive & (ends[:, 1] == bit), 0]])
        return kept

    def _decide(self, place: Place, ends: npt.NDArray[np.int32], alive: npt.NDArray[np.bool_]) -> None:
        """Decide the rows of `ends` that are not known to be alive; those of one group and state together."""
        open_rows = np.flatnonzero(~alive)
        if not len(open_rows):
            return
        groups, hard = place.hard_groups(self.walks), place.look(self.walks, self.paths)[1]
        together: dict[tuple[int, int], list[int]] = {}
        group_of, state_of = groups.group[ends[open_rows, 0]].tolist(), ends[open_rows, 2].tolist()
        for row, g, p in zip(open_rows.tolist(), group_of, state_of, strict=True):
            together.setdefault((g, p), []).append(row)
        for (g, p), rows in together.items():
            alive[rows] = self.survivors(groups.heads[g], p, hard[ends[rows, 0]])

    # --- single tokens --------------------------------------------------------------------------------------------

    def survivors(self, heads: Heads, p: int, tokens: Ids) -> npt.NDArray[np.bool_]:
        """bool[n]: which of these tokens, all leading to (heads, p), survive."""
        if self.full.is_settled(heads, p):
            return np.ones(len(tokens), np.bool_)
        if len(tokens) <= 4:
            return np.fromiter((self.survives(heads, p, token) for token in tokens.tolist()), np.bool_, len(tokens))
        alive = self._survivors_under_any_stack(heads, p, tokens)
        rest = np.flatnonzero(~alive)
        alive[rest] = self.full.survivors(heads, p, tokens[rest])
        return alive

    def _survivors_under_any_stack(self, heads: Heads, p: int, tokens: Ids) -> npt.NDArray[np.bool_]:
        """bool[n]: which tokens survive whatever lies below the top frame; remembered as rows."""
        shallow = self.walks.cut_off(heads)
        if shallow is None:
            return np.zeros(len(tokens), np.bool_)
        rows = self._shallow.get((shallow, p))
        if rows is None:
            if len(self._shallow) >= self._max_rows:
                self._shallow.clear()
            rows = self._shallow[shallow, p] = np.zeros((2, self.paths.n_words), np.uint32)
        tried, alive = rows
        words, bits = tokens >> 5, (tokens & 31).astype(np.uint32)
        new = tokens[(tried[words] >> bits & 1) == 0]
        if len(new):
            set_bits(tried, new)
            set_bits(alive, new[self.shallow.survivors(shallow, p, new)])
        found: npt.NDArray[np.bool_] = (alive[words] >> bits & 1).astype(np.bool_)
        return found

    def survives(self, heads: Heads, p: int, token: int) -> bool:
        """Whether a token that leads to (heads, p) can be continued canonically."""
        with self.lock:
            fates = self.full.place(heads).fates
            found = fates.get((p, token))
            if found is None:
                found = fates[p, token] = (
                    self.full.is_settled(heads, p)
                    or self._survives_under_any_stack(heads, p, token)
                    or self.full.survives(heads, p, token)
                )
            return found

    def _survives_under_any_stack(self, heads: Heads, p: int, token: int) -> bool:
        shallow = self.walks.cut_off(heads)
        return shallow is not None and self.shallow.survives(shallow, p, token)
