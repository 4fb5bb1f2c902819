"""Pools of the engine's tables: arrays that grow."""

from __future__ import annotations

import pytest

from tokenizer_align.tables import Tables


@pytest.mark.parametrize("n_first", [1, 3, 65_701])
def test_pools_hold_whole_entries_however_often_they_grow(n_first: int) -> None:
    """Arrays above 64k entries grew by a quarter, which split an entry: readers that take them by entries failed."""
    pool = Tables(4).state_live
    for n in (n_first, 1, 65_601, 82_101):
        pool.reserve(n)
        assert pool.array.size % pool.width == 0 and pool.array.size >= pool.n * pool.width
