"""Watching a decode: the scores of every decided position, and whether matchers and caches are what they should be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

from speculative import loop, rows


@dataclass
class Watch:
    """What is seen of one decode: scores by (row, position), and what was wrong."""

    scores: dict[tuple[int, int], Any] = field(default_factory=dict)
    n_matchers: int = 0
    n_caches: int = 0
    wrong: list[str] = field(default_factory=list)

    def see_matcher(self, row: Any) -> None:
        """Compare the row's matcher with one that has only ever read what was decided."""
        if row.legal is None or row.finish is not None:
            return
        mine, fresh = row.legal.matcher, row.request.compiled.matcher(row.request.prompt_ids)
        for token in row.output:
            fresh.advance(token)
        self.n_matchers += 1
        same = mine.text_bytes() == fresh.text_bytes() and mine.state() == fresh.state()
        if not same or mine.is_complete() != fresh.is_complete() or not np.array_equal(mine.mask(), fresh.mask()):
            self.wrong.append(f"matcher of row {row.index} at {len(row.output)}")

    def see_cache(self, columns: Any, cache: Any, running: list[Any]) -> None:
        """Every column of the cache is accounted for, and a row keeps what it has accepted, but for its head."""
        self.n_caches += 1
        kept = [int(n) for n in columns.kept.sum(axis=1)]
        expected = [len(row.request.prompt_ids) + len(row.output) - len(row.head) for row in running]
        has_holes = len(running) == 1 and columns.width != expected[0]  # a single row's cache is packed
        if int(cache.get_seq_length()) != columns.width or kept != expected or has_holes:
            self.wrong.append(f"cache of {int(cache.get_seq_length())} columns keeps {kept}, not {expected}")


@contextmanager
def watching(watch: Watch, *, thorough: bool) -> Iterator[None]:
    """Watch every decode within; `thorough`: matchers and caches too."""
    choose, grow, repack, run = rows.choose, rows.Row.grow, loop._Batches._repack, loop._Batches._pass
    running: list[Any] = []

    def seen_choose(position: Any, history: Any, legal: Any, key: Any, *rest: Any) -> Any:
        watch.scores[key.row, key.position] = np.array(position.scores)
        return choose(position, history, legal, key, *rest)

    def seen_grow(self: Any, *arguments: Any) -> Any:
        tree = grow(self, *arguments)
        watch.see_matcher(self)
        return tree

    def seen_pass(self: Any, batch: list[Any], *arguments: Any) -> Any:
        running[:] = batch
        return run(self, batch, *arguments)

    def seen_repack(self: Any, columns: Any, cache: Any) -> None:
        repack(self, columns, cache)
        watch.see_cache(columns, cache, [row for row in running if row.finish is None])

    with mock.patch.object(rows, "choose", seen_choose):
        if not thorough:
            yield
            return
        with (
            mock.patch.object(rows.Row, "grow", seen_grow),
            mock.patch.object(loop._Batches, "_repack", seen_repack),
            mock.patch.object(loop._Batches, "_pass", seen_pass),
        ):
            yield
