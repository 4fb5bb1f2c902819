"""Rows of the tokens that survive: what masks under a law are made of, shared by all constraints of an engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..engine import Engine, Heads
from .constraint_walks import ConstraintWalks
from .fates import Fates
from .open_texts import OpenTexts
from .pairs import Pairs
from .search import MAX_PLACE_BYTES, PairsLike, Search
from .steady_counts import SteadyCounts
from .token_paths import Ids, Row, States, TokenPaths
from .ways import Ways

MAX_SHALLOW = 1 << 12
MAX_SEARCHES = 64  # of one depth, by the bytes that may come below


class Survival:
    """Decides for one engine which tokens survive: first with the frames below the top one left unknown, so that a
    positive answer serves every stack; then in full."""

    def __init__(self, engine: Engine, paths: TokenPaths, pairs: PairsLike, may_force: bool = False) -> None:
        """`may_force`: the constraints may leave only texts that spell a special token, so a boundary settles nothing
        before it is known that some text goes on behind it."""
        self.engine, self.paths, self.pairs = engine, paths, pairs
        self.may_force = may_force
        self.kept_with: object = None  # shared by the engines of a vocabulary
        self.lock = threading.RLock()
        self._max_rows = max(256, MAX_PLACE_BYTES // (8 * paths.n_words))
        engine.keepers.add(self)
        self.drop()

    def drop(self) -> None:
        """Forget what was found: the engine begins a new generation, so heads have lost their meaning."""
        self.walks = ConstraintWalks(self.engine, self.paths, self.may_force)
        self.full = Search(self.walks, self.paths, self.pairs, may_end=True, may_force=self.may_force)
        self.shallow = Search(self.walks, self.paths, self.pairs, may_end=False, may_force=self.may_force)
        self._above: dict[int, Search] = {}  # the same where the bytes that may come below the top frame are known
        self.texts: OpenTexts | None = None
        self._ways: Ways | None = None
        self._steady: SteadyCounts | None = None
        if isinstance(self.pairs, Pairs) and not self.may_force:
            self.texts = OpenTexts(self.walks, self.paths, self.pairs)
            self._ways = Ways(self.walks, self.paths, self.pairs, None)
            self._steady = SteadyCounts(self.engine, self.paths, lambda heads, states: self._kept_of(heads, states)[:2])
        self._shallow: dict[tuple[Search, Heads, int], dict[int, int]] = {}
        self._above_ways: dict[int, Ways] = {}
        self._fates = self._make_fates()
        self._kept: dict[tuple[Heads, States], tuple[Row, Row, int]] = {}
        self._old_kept: dict[tuple[Heads, States], tuple[Row, Row, int]] = {}

    def _make_fates(self) -> Fates:
        above = None if self._ways is None else self._ways_above
        return Fates(self.full, self.survivors, self._fate_under_any_stack, above, self.texts, self._ways)

    def _ways_above(self, below: int) -> Ways:
        """What lists ways without the frames below the top one, for the bytes that may come there."""
        found = self._above_ways.get(below)
        if found is None:
            assert isinstance(self.pairs, Pairs)
            if len(self._above_ways) >= MAX_SEARCHES:
                self._above_ways.clear()
            found = self._above_ways[below] = Ways(self.walks, self.paths, self.pairs, below, self._ways)
        return found

    def age(self) -> None:
        """The engine's budget for what is kept is filled: rows that are not asked for until it is filled again go."""
        self._old_kept, self._kept = self._kept, {}

    def n_bytes(self) -> int:
        """Bytes of rows that count for that budget; what the search remembers has a bound of its own."""
        return 8 * self.paths.n_words * (len(self._kept) + len(self._old_kept))

    # --- rows -----------------------------------------------------------------------------------------------------

    def kept(self, heads: Heads, states: States) -> tuple[Row, Row]:
        """The legal tokens that survive, without and with a boundary before them."""
        with self.lock:
            steady = None if self._steady is None else self._steady.rows(heads, states)
            if steady is not None:
                return steady
            return self._kept_of(heads if self.needs_counts(heads, states) else self.engine.clamped(heads), states)[:2]

    def needs_counts(self, heads: Heads, states: States) -> bool:
        """Whether a large count may run out within what was read to see which tokens survive: then heads with other
        counts, which have the same mask, may have other survivors."""
        with self.lock:
            clamped = self.engine.clamped(heads)
            if clamped == heads or (self._steady is not None and self._steady.rows(heads, states) is not None):
                return False
            return self._kept_of(clamped, states)[2] > self.walks.slack(heads)

    def _kept_of(self, heads: Heads, states: States) -> tuple[Row, Row, int]:
        found = self._kept.get((heads, states))
        if found is None:
            rows = self._old_kept.pop((heads, states), None) or self._make_kept(heads, states)
            found = self._remember(heads, states, rows)
        return found

    def _remember(self, heads: Heads, states: States, rows: tuple[Row, Row, int]) -> tuple[Row, Row, int]:
        if len(self._kept) >= self._max_rows:
            self._kept.clear()
        self._kept[heads, states] = rows
        with self.engine.lock:
            self.engine.count_kept(8 * self.paths.n_words)
        return rows

    def _make_kept(self, heads: Heads, states: States) -> tuple[Row, Row, int]:
        """The rows, and how many bytes the search may have read to see that some token survives (0: none)."""
        place = self.full.place(self.engine.clamped(heads))
        easy, hard = place.look(self.walks, self.paths)
        kept = np.zeros((2, len(easy)), np.uint32)
        for p in states:
            for bit, row in enumerate(self.paths.rows(p)):
                kept[bit] |= row & easy
        n_tokens = 0
        if len(hard):
            groups = place.hard_groups(self.walks) if place.heads == heads else self.walks.groups(heads, hard)
            n_tokens = self._fates.keep(states, hard, groups, kept)
        return kept[0], kept[1], (n_tokens + 1) * self.engine.longest_token + 1 if n_tokens else 0

    # --- single tokens --------------------------------------------------------------------------------------------

    def survivors(self, heads: Heads, p: int, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n]: which of these tokens, all leading to (heads, p), survive, as `Search.survives`."""
        if self.full.is_settled(heads, p):
            return np.ones(len(tokens), np.int32)
        if len(tokens) <= 4:
            return np.fromiter((self._fate(heads, p, token) for token in tokens.tolist()), np.int32, len(tokens))
        alive = self._survivors_under_any_stack(heads, p, tokens)
        rest = np.flatnonzero(alive == 0)
        alive[rest] = self.full.survivors(heads, p, tokens[rest])
        return alive

    def _survivors_under_any_stack(self, heads: Heads, p: int, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n]: which tokens survive whatever lies below the top frame, or for what may come there first;
        remembered."""
        shallow = self.walks.cut_off(heads)
        alive = np.zeros(len(tokens), np.int32)
        if shallow is None:
            return alive
        for search in self._shallow_searches(heads):
            known = self._shallow.get((search, shallow, p))
            if known is None:
                if len(self._shallow) >= MAX_SHALLOW:
                    self._shallow.clear()
                known = self._shallow[search, shallow, p] = {}
            rest = np.flatnonzero(alive == 0)
            new = np.array([token for token in tokens[rest].tolist() if token not in known], np.int32)
            if len(new):
                known.update(zip(new.tolist(), search.survivors(shallow, p, new).tolist(), strict=True))
            alive[rest] = [known[token] for token in tokens[rest].tolist()]
        return alive

    def _shallow_searches(self, heads: Heads) -> Iterator[Search]:
        if self.walks.may_cut_within(heads):
            yield self.shallow
        if len(heads) == 1:
            below = self.walks.bytes_below(heads[0][1])
            if below not in self._above:
                if len(self._above) >= MAX_SEARCHES:
                    self._above.clear()
                self._above[below] = Search(self.walks, self.paths, self.pairs, may_end=False, live_below=below)
            yield self._above[below]

    def survives(self, heads: Heads, p: int, token: int) -> bool:
        """Whether a token that leads to (heads, p) can be continued canonically."""
        with self.lock:
            steady = None if self._steady is None else self._steady.rows(heads, (p,))
            if steady is not None:
                return bool(steady[1].any() or (steady[0] & ~self.pairs.bad_right(token)).any())
            clamped = self.engine.clamped(heads)
            found = self._fate(clamped, p, token)
            if found and clamped != heads and (found + 1) * self.engine.longest_token >= self.walks.slack(heads):
                found = self._fate(heads, p, token)
            return found > 0

    def _fate(self, heads: Heads, p: int, token: int) -> int:
        """As `Search.survives`."""
        fates = self.full.place(heads).fates
        found = fates.get((p, token))
        if found is None:
            if self.full.is_settled(heads, p):
                found = 1
            else:
                found = -1 if self._ways is None else self._ways.fate(heads, p, token)
            if found < 0:
                found = self._fate_under_any_stack(heads, p, token) or self.full.survives(heads, p, token)
            fates[p, token] = found
        return found

    def _fate_under_any_stack(self, heads: Heads, p: int, token: int) -> int:
        shallow = self.walks.cut_off(heads)
        if shallow is None:
            return 0
        return next(filter(None, (one.survives(shallow, p, token) for one in self._shallow_searches(heads))), 0)
