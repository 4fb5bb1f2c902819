"""Short texts that show many tokens at once to survive: what follows a token canonically depends on few of its pairs.

A *witness* of (heads, p) is a legal text up to where a boundary of pre-tokens surely lies, or to its end, that P reads
from p as going on with the open pre-token, in the tokens that byte pair encoding writes for it. Every token that leads
to (heads, p) and makes no bad pair with the first of them can then be continued so, since inside a pre-token pairs
decide. One text for each of a few first bytes is enough for nearly all tokens; the rest are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..completion import shortest_of_automaton
from ..engine import Heads
from .constraint_walks import ConstraintWalks, bits_of
from .token_paths import Ids, States, TokenPaths

if TYPE_CHECKING:
    from .search import PairsLike

MAX_TEXTS = 40  # of one place and state
MAX_MEMO = 1 << 14
_RARE_FIRST = b"xqzjkvXQZ-_9"  # letters that few merges join to what stands before them


class Witnesses:
    """Over one engine; made on demand and remembered."""

    def __init__(self, walks: ConstraintWalks, paths: TokenPaths, pairs: PairsLike) -> None:
        self._engine, self._paths, self._pairs = walks.engine, paths, pairs
        self._known: dict[tuple[Heads, int], _Found] = {}
        self._reads: dict[tuple[States, int], States | None] = {}

    def fate(self, heads: Heads, p: int, token: int) -> int:
        """How many tokens were read behind one that leads to (heads, p) to see it survive, at most; 0: not known."""
        for first, fate in self._at(heads, p):
            if not self._pairs.is_bad(token, first):
                return fate
        return 0

    def fates(self, heads: Heads, p: int, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n]: the same for many tokens."""
        found = np.zeros(len(tokens), np.int32)
        rest = np.arange(len(tokens))
        for first, fate in self._at(heads, p):
            bad = bits_of(self._pairs.bad_left(first), tokens[rest])
            found[rest[~bad]] = fate
            rest = rest[bad]
            if not len(rest):
                break
        return found

    def _at(self, heads: Heads, p: int) -> _Found:
        found = self._known.get((heads, p))
        if found is None:
            if len(self._known) >= MAX_MEMO:
                self._known.clear()
            found = self._known[heads, p] = _Found(self._look(heads, p))
        return found

    def _look(self, heads: Heads, p: int) -> Iterator[tuple[int, int]]:
        """(first token, tokens of the longest length that the text is long) of each witness."""
        live = self._engine.live_bytes(heads)
        own = [byte for byte in _RARE_FIRST if live >> byte & 1]
        others = [byte for byte in (*range(0x20, 0x80), *range(0x20), *range(0xC2, 0x100)) if live >> byte & 1]
        seen = set()
        for byte in list(dict.fromkeys([*own, *others]))[:MAX_TEXTS]:
            if not any(not bit for bit, _ in self._paths.step(p, byte)):
                continue
            after = self._engine.run_plain(heads, np.array([byte], np.uint8))
            rest = shortest_of_automaton(self._engine, after)
            tokens = None if rest is None else self._spell(p, bytes([byte]) + rest)
            if tokens and tokens[0] not in seen:
                seen.add(tokens[0])
                yield tokens[0], 1 + len(rest or b"") // self._engine.longest_token

    def _spell(self, p: int, text: bytes) -> list[int] | None:
        """The tokens of the text as far as it goes on with the open pre-token; None where that is no witness."""
        paths = self._paths
        states: States = (p,)
        stop = len(text)
        for at, byte in enumerate(text):
            try:
                after = self._reads[states, byte]
            except KeyError:
                after = self._read(states, byte)
            if after is None:
                stop = at
                break
            if not after:
                return None
            states = after
        tokens = self._pairs.encode_part(text[:stop])
        here = {p}
        for token in tokens:
            here = {after for q in here for bit, after in paths.ends_of(q, token) if not bit}
        spelled = b"".join(self._engine.token_text(token).tobytes() for token in tokens)
        if spelled != text[:stop]:
            return None
        if stop < len(text):
            return tokens if any(paths.cuts[q] >> text[stop] & 1 for q in here) else None
        return tokens if any(paths.ends[q] for q in here) else None

    def _read(self, states: States, byte: int) -> States | None:
        """The states after a byte that goes on with the open pre-token; None where a boundary surely may lie before."""
        paths = self._paths
        after: States | None = None
        if not any(paths.cuts[q] >> byte & 1 for q in states):
            after = tuple(sorted({then for q in states for bit, then in paths.step(q, byte) if not bit}))
        if len(self._reads) >= MAX_MEMO:
            self._reads.clear()
        self._reads[states, byte] = after
        return after


class _Found:
    """The witnesses of one place and state, as far as somebody asked for them."""

    __slots__ = ("_left", "_made")

    def __init__(self, left: Iterator[tuple[int, int]]) -> None:
        self._made: list[tuple[int, int]] = []
        self._left = left

    def __iter__(self) -> Iterator[tuple[int, int]]:
        at = 0
        while True:
            if at == len(self._made):
                following = next(self._left, None)
                if following is None:
                    return
                self._made.append(following)
            yield self._made[at]
            at += 1
