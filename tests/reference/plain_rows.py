"""The slow twin of the kernels that find and keep rows (`kernels.find_row`, `kernels.keep_row`): dicts of tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_align.tables import Tables

Heads = tuple[tuple[int, int], ...]
Mask = npt.NDArray[np.uint32]
Depths = tuple[int, ...]
MAX_PATTERNS = 8  # that are tried for the same codes


class PlainRows:
    """Rows of one generation, by the codes of heads and as many cells of their stacks as they depend on."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._depths: dict[tuple[int, ...], list[Depths | None]] = {}
        self._rows: dict[Any, Mask] = {}
        self._old_rows: dict[Any, Mask] = {}

    def age(self) -> None:
        """Drop what is old; what is young becomes old."""
        self._old_rows, self._rows = self._rows, {}

    def find(self, heads: Heads) -> Mask | None:
        """The kept row of these heads."""
        for depths in self._depths.get(tuple(code for code, _ in heads), []):
            key = self._key(heads, depths)
            row = self._rows.get(key)
            if row is None and key in self._old_rows:
                row = self._rows[key] = self._old_rows.pop(key)
            if row is not None:
                return row
        return None

    def keep(self, heads: Heads, row: Mask, deepest: int) -> None:
        """Keep a row that depends on the cells from `deepest` on; -1: on all of the stacks."""
        self.keep_by(heads, row, None if deepest < 0 else tuple(self._n_cells(stack, deepest) for _, stack in heads))

    def keep_by(self, heads: Heads, row: Mask, depths: Depths | None) -> None:
        """Keep a row that depends on so many cells of each stack (None: on all of the stacks)."""
        known = self._depths.setdefault(tuple(code for code, _ in heads), [])
        if depths not in known:
            known.insert(0, depths)
            del known[MAX_PATTERNS:]
        self._rows[self._key(heads, depths)] = row

    def _n_cells(self, stack: int, deepest: int) -> int:
        n = 0
        while stack >= deepest:
            stack, n = self._tables.cell_parents[stack], n + 1
        return n

    def _key(self, heads: Heads, depths: Depths | None) -> Any:
        """The frames down to these depths, and which of the rests below them are equal (-1: nothing is below)."""
        if depths is None:
            return heads
        found: list[Any] = []
        rests: dict[int, int] = {-1: -1}
        for (code, stack), depth in zip(heads, depths, strict=True):
            states: list[int] = []
            while len(states) < depth and stack >= 0:
                states.append(self._tables.cell_states[stack])
                stack = self._tables.cell_parents[stack]
            found.append((code, tuple(states), rests.setdefault(stack, len(rests))))
        return (depths, *found)
