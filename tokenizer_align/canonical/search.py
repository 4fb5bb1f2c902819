"""Which tokens can still be continued canonically: reachability in the product of constraint and tokenizer.

A token t that leads to (heads, p), p a state of the pre-tokenizer's automaton, survives if a boundary of pre-tokens may
lie behind it (the rest is then tokenized by itself), or if some token follows it inside the pre-token that forms no bad
pair with it and survives in turn. Decided on demand for the few tokens where nothing short of it tells, and remembered
for all constraints of the engine. The search is bounded: beyond, a token counts as surviving and `overflows` counts up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..completion import shortest_of_automaton
from ..engine import Heads
from ..markers import MARKER_BYTE
from .constraint_walks import BYTE_TEXTS, ConstraintWalks, Groups, ids_of, set_bits
from .fate_kernels import settle
from .token_paths import Ids, Row, TokenPaths

MAX_NODES = 3000  # (heads, state, token) visited to decide one token
MAX_TESTS = 40_000  # pairs of tokens looked at for it
MAX_MEMO = 1 << 16
MAX_PLACE_BYTES = 64 << 20
QUICK_TRIES = 8
MAX_ROW_TRIES = 32  # followers whose whole rows are looked at for a group of tokens
STRIDE = 64  # followers that are looked at together
FEW = 4096  # so many are listed, which is less work than a row of the vocabulary
MIN_FOR_ROW = 4  # so few tokens are asked one by one

Node = tuple[Heads, int, int]


class PairsLike(Protocol):
    """Pairs of tokens that no canonical tokenization has side by side inside a pre-token; see `pairs.Pairs`."""

    def is_bad(self, a: int, b: int) -> bool: ...
    def bad_right(self, a: int) -> Row: ...
    def bad_left(self, b: int) -> Row: ...
    def encode_pre_token(self, data: bytes) -> list[int]: ...
    def encode_part(self, data: bytes) -> list[int]: ...


class Place:
    """What the constraint allows behind some heads, made when it is asked for.

    `easy`: the followers that can be continued whatever stands before them; `hard`: the others.
    """

    __slots__ = ("complete", "easy", "fates", "few_easy", "groups", "hard", "heads", "open", "via", "ways")

    def __init__(self, walks: ConstraintWalks, heads: Heads, may_end: bool) -> None:
        self.heads = heads
        live = walks.engine.live_bytes(heads)
        # In front of a marker the text's tokens end, as at its end; below a cut-off stack too.
        is_before_marker = live & walks.engine.reserved & 1 << MARKER_BYTE
        self.complete = (may_end and (k.ACCEPT, -1) in heads) or bool(is_before_marker)
        self.open = live & ~walks.engine.reserved
        self.easy: Row | None = None
        self.hard: Ids | None = None
        self.few_easy: Ids | None = None  # the easy ones where they are few
        self.groups: Groups | None = None  # of the hard followers
        self.fates: dict[tuple[int, int], int] = {}  # (state, token) -> tokens read to see it survive; 0: it does not
        self.via: dict[tuple[int, int], int] = {}  # (state, token) -> a token after which it survives
        self.ways: dict[int, Ways] = {}

    def look(self, walks: ConstraintWalks, paths: TokenPaths) -> tuple[Row, Ids]:
        """(the easy followers, the ids of the others)."""
        if self.easy is None or self.hard is None:
            row = walks.engine.walked(self.heads) & ~walks.engine.marker_row
            hard = paths.poor.copy()
            set_bits(hard, walks.narrow_tokens(self.heads))
            hard &= row
            self.easy, self.hard = row & ~hard, ids_of(hard)
            if np.bitwise_count(self.easy).sum() <= FEW:
                self.few_easy = ids_of(self.easy)
        return self.easy, self.hard

    def hard_groups(self, walks: ConstraintWalks) -> Groups:
        """The hard followers by where they lead."""
        assert self.hard is not None
        if self.groups is None:
            self.groups = walks.groups(self.heads, self.hard)
        return self.groups


@dataclass(frozen=True, slots=True)
class Ways:
    """What may follow behind a place, from one state of P: tokens that surely can be continued, with and without a
    boundary before them, and the others: int32[n, 4], each with its bit, the state behind it, its id and its group."""

    good: Ids
    has_boundary: bool
    open: npt.NDArray[np.int32]
    groups: Groups | None

    def each(self) -> Iterator[tuple[int, int, int, Heads]]:
        """(bit, state, id, heads behind it) of the others, as they are asked for."""
        for first in range(0, len(self.open), STRIDE):
            for bit, after, token, group in self.open[first : first + STRIDE].tolist():
                assert self.groups is not None
                yield bit, after, token, self.groups.heads_of(group)


class Search:
    """Decides by search, with what it found so far. `may_end`: whether the end of the heads' frames ends the text;
    else it is the end of what is known, and only positive answers count. `live_below`: the bytes that may come behind
    that end (256-bit mask), if those are known."""

    def __init__(
        self,
        walks: ConstraintWalks,
        paths: TokenPaths,
        pairs: PairsLike,
        may_end: bool,
        may_force: bool = False,
        live_below: int = 0,
    ) -> None:
        self.walks, self.paths, self.pairs = walks, paths, pairs
        self.may_end, self.may_force = may_end, may_force
        self.sees_end = may_end or bool(live_below)
        self.ends = [bool(cuts & live_below) for cuts in paths.cuts] if live_below else paths.ends
        self.may_end_at = np.array(self.ends, np.bool_)
        self.overflows = 0
        self.searches = 0
        self.n_tests = 0  # pairs of tokens looked at by searches
        self._places: dict[Heads, Place] = {}
        self._max_places = max(256, MAX_PLACE_BYTES // (8 * paths.n_words))
        self._settled: dict[tuple[Heads, int], bool] = {}
        self._live: dict[tuple[Heads, int], bool] = {}

    def place(self, heads: Heads) -> Place:
        """What is known about some heads."""
        found = self._places.get(heads)
        if found is None:
            if len(self._places) >= self._max_places:
                self._places.clear()
            found = self._places[heads] = Place(self.walks, heads, self.sees_end)
        return found

    def is_settled(self, heads: Heads, p: int) -> bool:
        """Whether every token that leads to (heads, p) survives: the text may end, or a boundary may come next."""
        place = self.place(heads)
        if self._is_plainly_live(place, p):
            return True
        found = self._settled.get((heads, p))
        if found is None:
            found = any(
                bit and self.is_live(self._step(heads, byte), after)
                for byte in bytes_in(place.open & (self.paths.weak_cuts[p] | self.paths.cuts[p]))
                for bit, after in self.paths.step(p, byte)
            )
            self._remember(self._settled, (heads, p), found)
        return found

    def _is_plainly_live(self, place: Place, p: int) -> bool:
        """Whether the text may end, or a boundary may come next behind which anything legal is canonical in a way."""
        return bool((place.open & self.paths.cuts[p]) and not self.may_force) or (place.complete and self.ends[p])

    def survivors(self, heads: Heads, p: int, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n]: which of these tokens, all leading to (heads, p), can be continued canonically, as `survives`."""
        alive = np.zeros(len(tokens), np.int32)
        if self.is_settled(heads, p) or self._ways(self._look_at(heads), p).has_boundary:
            alive[:] = 1
            return alive
        words, bits = tokens >> 5, (tokens & 31).astype(np.uint32)
        for follower in self._ways(self._look_at(heads), p).good[:MAX_ROW_TRIES].tolist():
            if np.count_nonzero(alive) + MIN_FOR_ROW > len(tokens):
                break
            alive |= (self.pairs.bad_left(follower)[words] >> bits & 1) == 0
        rest = np.flatnonzero(alive == 0)
        while len(rest):
            token = int(tokens[rest[0]])
            alive[rest[0]] = fate = self.survives(heads, p, token)
            rest = rest[1:]
            follower = self.place(heads).via.get((p, token))
            if fate and follower is not None and len(rest) > MIN_FOR_ROW:  # it mostly keeps the others alive too
                fits = (self.pairs.bad_left(follower)[words[rest]] >> bits[rest] & 1) == 0
                alive[rest[fits]] = fate
                rest = rest[~fits]
        return alive

    def survives(self, heads: Heads, p: int, token: int) -> int:
        """Whether a token that leads to (heads, p) can be continued canonically: 0 if not, else how many tokens were
        read behind it to see that, at most; after them it takes one byte."""
        found = self.place(heads).fates.get((p, token))
        return self._search((heads, p, token)) if found is None else found

    def _look_at(self, heads: Heads) -> Place:
        """What can be read from the heads in one token, and what is open behind it: the same without large counts."""
        return self.place(self.walks.clamped(heads))

    def _search(self, start: Node) -> int:
        """Depth first over (heads, state, last token), one follower at a time: most searches end at the first way."""
        self.searches += 1
        heads, p, token = start
        if self.is_settled(heads, p) or self._has_easy_way(self._look_at(heads), p, token):
            self.place(heads).fates[p, token] = 1
            return 1
        parents: dict[Node, Node | None] = {start: None}
        work = [self._hard_ways(*start)]
        path = [start]
        limit = self.n_tests + MAX_TESTS
        while work:
            following = next(work[-1], None)
            if following is None:
                work.pop()
                path.pop()
                continue
            if following not in parents:
                parents[following] = path[-1]
                heads, p, token = following
                fate = self.place(heads).fates.get((p, token))
                is_alive = fate or self.is_settled(heads, p) or self._has_easy_way(self._look_at(heads), p, token)
                if fate != 0 and is_alive:
                    return self._mark_way(following, parents, fate or 1)
                if fate is None:
                    work.append(self._hard_ways(*following))
                    path.append(following)
            if len(parents) > MAX_NODES or self.n_tests > limit:
                self.overflows += self.may_end
                fate = self.place(start[0]).fates[start[1:]] = int(self.may_end)
                return fate
        for visited in parents:
            self.place(visited[0]).fates[visited[1:]] = 0
        return 0

    def _mark_way(self, node: Node, parents: dict[Node, Node | None], n_tokens: int) -> int:
        step: Node | None = node
        follower: int | None = None
        while step is not None:
            place = self.place(step[0])
            place.fates[step[1:]] = n_tokens
            if follower is not None:
                place.via[step[1:]] = follower
            follower = step[2]
            step, n_tokens = parents[step], n_tokens + 1
        return n_tokens - 1

    def settled_rows(self, groups: Groups, ends: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """bool[n]: for rows (index into the hard followers, bit, state), whether a boundary may surely lie behind."""
        group, p = groups.group[ends[:, 0]], ends[:, 2]
        if self.may_force:
            pairs = list(zip(group.tolist(), p.tolist(), strict=True))
            known = {(g, at): self.is_settled(groups.heads_of(g), at) for g, at in set(pairs)}
            return np.array([known[pair] for pair in pairs], np.bool_)
        settled = np.zeros(len(ends), np.bool_)
        settle(
            group, p, groups.live, groups.complete, self.paths.cuts_of, self.may_end_at, self.sees_end,
            bool(self.walks.engine.reserved), settled,
        )  # fmt: skip
        return settled

    def _has_easy_way(self, place: Place, p: int, token: int) -> bool:
        """Whether some token may follow that surely can be continued."""
        ways = self._ways(place, p)
        if ways.has_boundary:
            return True
        is_bad = self.pairs.is_bad
        if not all(is_bad(token, follower) for follower in ways.good[:QUICK_TRIES].tolist()):
            return True
        rest = ways.good[QUICK_TRIES:]
        if not len(rest):
            return False
        row = self.pairs.bad_right(token)
        return bool((row[rest >> 5] >> (rest & 31).astype(np.uint32) & 1 == 0).any())

    def _ways(self, place: Place, p: int) -> Ways:
        ways = place.ways.get(p)
        if ways is None:
            ways = place.ways[p] = self._make_ways(place, p)
        return ways

    def _make_ways(self, place: Place, p: int) -> Ways:
        easy, hard = place.look(self.walks, self.paths)
        if place.few_easy is None:
            row0, row1 = self.paths.rows(p)
            has_boundary = bool((easy & row1).any())
            good = ids_of(easy & row0)
        else:
            ends = self.paths.ends_of_all(p, place.few_easy)
            inside = ends[:, 1] == 0
            has_boundary = not inside.all()
            good = place.few_easy[ends[inside, 0]]
        if not len(hard):
            return Ways(good, has_boundary, np.zeros((0, 4), np.int32), None)
        groups = place.hard_groups(self.walks)
        ends = self.paths.ends_of_all(p, hard)
        ends = ends[groups.group[ends[:, 0]] >= 0]
        settled = self.settled_rows(groups, ends)
        has_boundary |= bool((ends[settled, 1] == 1).any())
        good = np.concatenate([good, hard[ends[settled, 0]]])
        rest = ends[~settled]
        return Ways(
            good, has_boundary, np.column_stack([rest[:, 1:], hard[rest[:, 0]], groups.group[rest[:, 0]]]), groups
        )

    def _hard_ways(self, heads: Heads, p: int, token: int) -> Iterator[Node]:
        """Where tokens that may follow, and of which more must be known, lead to."""
        place, engine = self._look_at(heads), self.walks.engine
        for bit, after, follower, behind in self._ways(place, p).each():
            self.n_tests += 1
            if bit or not self.pairs.is_bad(token, follower):
                if place.heads == heads:
                    yield behind, after, follower
                else:
                    yield engine.run_plain(heads, engine.token_text(follower)), after, follower

    # --- bytes ----------------------------------------------------------------------------------------------------

    def is_live(self, heads: Heads, p: int) -> bool:
        """Whether some legal text from the heads on is accepted by P from p: search over bytes."""
        start = (heads, p)
        known = self._live.get(start)
        if known is not None:
            return known
        if self.may_force and self.may_end and self._ends_shortly(heads, p):
            self._remember(self._live, start, True)
            return True
        parents: dict[tuple[Heads, int], tuple[Heads, int] | None] = {start: None}
        level = [start]
        while level:
            following = []
            for node in level:
                place, at = self.place(node[0]), node[1]
                if self._live.get(node) or self._is_plainly_live(place, at):
                    step: tuple[Heads, int] | None = node
                    while step is not None:
                        self._remember(self._live, step, True)
                        step = parents[step]
                    return True
                for byte in bytes_in(place.open):
                    arcs = self.paths.step(at, byte)
                    after = self._step(place.heads, byte) if arcs else ()
                    for _, target in arcs:
                        child = (after, target)
                        if after and child not in parents and self._live.get(child) is not False:
                            parents[child] = node
                            following.append(child)
            if len(parents) > MAX_NODES:
                self.overflows += self.may_end
                return self.may_end
            level = following
        for node in parents:
            self._remember(self._live, node, False)
        return False

    def _ends_shortly(self, heads: Heads, p: int) -> bool:
        """Whether P accepts the shortest legal text."""
        text = shortest_of_automaton(self.walks.engine, heads)
        if text is not None and self.walks.engine.reserved:
            text = text.split(bytes([MARKER_BYTE]))[0]
        here = {p}
        for byte in text or b"":
            here = {after for at in here for _, after in self.paths.step(at, byte)}
        return text is not None and any(self.paths.ends[at] for at in here)

    def _step(self, heads: Heads, byte: int) -> Heads:
        return self.walks.engine.run_plain(heads, BYTE_TEXTS[byte])

    @staticmethod
    def _remember(memo: dict[tuple[Heads, int], bool], key: tuple[Heads, int], value: bool) -> None:
        if len(memo) >= MAX_MEMO:
            memo.clear()
        memo[key] = value


def bytes_in(mask: int) -> list[int]:
    """The members of a 256-bit mask."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
