"""Where each of many tokens leads to, found for all of them together.

Most tokens of a mask lead to few places: inside a string nearly all lead back to where they came from. So the places
near a start (a character, an escape) are explored byte by byte into a small table, and all tokens step through that
table at once, one byte at a time. Tokens that leave it are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .shortest import byte_order

if TYPE_CHECKING:
    from .engine import Engine, Heads

MAX_RUNS = 4_000  # bytes that are run to make the table; some 10 ms
MAX_PLACES = 200
MIN_TOKENS = 1_000  # of fewer, each is run by itself
_LEFT = -1


class TokenEnds:
    """Over one vocabulary; called under the engine's lock."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.min_tokens = MIN_TOKENS
        self._bytes: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._starts: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def ends(
        self, heads: Heads, tokens: list[int], live: Callable[[Heads], int], avoided: int = 0
    ) -> tuple[list[list[int]], list[int]]:
        """Legal tokens in groups that lead from plain heads to one place, and those for which that was not found.

        `live`: the bytes that heads can read (a 256-bit mask); tokens with an `avoided` byte are not looked at.
        """
        if len(tokens) < self.min_tokens:
            return [], tokens
        table, ids = self._table(heads, live, avoided), np.array(tokens, np.int64)
        places = self._run(table, ids)
        order = np.argsort(places, kind="stable")
        firsts = np.flatnonzero(np.diff(places[order], prepend=-2))
        groups = [group.tolist() for group in np.split(ids[order], firsts[1:])]
        return (groups[1:], groups[0]) if places[order[0]] == _LEFT else (groups, [])

    def _table(self, start: Heads, live: Callable[[Heads], int], avoided: int) -> npt.NDArray[np.int32]:
        """int32[n_places, 256]: the place after a byte; row 0 is the start, -1 leaves the table."""
        numbers: dict[Heads, int] = {start: 0}
        table: npt.NDArray[np.int32] = np.full((MAX_PLACES, 256), _LEFT, np.int32)
        n_runs = 0
        for at in range(MAX_PLACES):
            here = list(numbers)[at] if at < len(numbers) else None
            if here is None or n_runs > MAX_RUNS:
                break
            for byte in byte_order(live(here) & ~avoided):
                after = self.engine.run_plain(here, np.array([byte], np.uint8))
                n_runs += 1
                if after and len(numbers) < MAX_PLACES:
                    table[at, byte] = numbers.setdefault(after, len(numbers))
        return table

    def _run(self, table: npt.NDArray[np.int32], ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """int32[n_ids]: the place after each token."""
        if not len(self._starts):
            data = [text or b"" for text in self.engine.vocabulary.token_bytes]
            self._bytes = np.frombuffer(b"".join(data), np.uint8)
            self._starts = np.cumsum([0, *map(len, data)], dtype=np.int64)
        places: npt.NDArray[np.int32] = np.zeros(len(ids), np.int32)
        at, ends = self._starts[ids], self._starts[ids + 1]
        places[at == ends] = _LEFT
        running = np.flatnonzero(at < ends)
        while len(running):
            here = table[places[running], self._bytes[at[running]]]
            places[running] = here
            at[running] += 1
            running = running[(here != _LEFT) & (at[running] < ends[running])]
        return places
