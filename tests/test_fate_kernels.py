"""Kernels that sort out tokens by what is known of them, and those of signatures, against their plain-Python twins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import plain_fate_kernels as twins
from tokenizer_align.canonical import fate_kernels as kernels
from tokenizer_align.canonical.signature_paths import fill_rows, list_ends

seeds = st.integers(0, 2**32 - 1)
N_TOKENS, N_GROUPS, N_STATES = 70, 5, 6


def drawn_sets(rng: np.random.Generator, n: int) -> npt.NDArray[np.uint64]:
    """uint64[n, 4]: sets of bytes, some of them empty, most with few members."""
    words = rng.integers(0, 2**64, (3, n, 4), np.uint64)
    return words[0] & words[1] & words[2] & (rng.integers(0, 2, (n, 1), np.uint64) * np.uint64(2**64 - 1))


def drawn_arcs(rng: np.random.Generator, n: int) -> tuple[list[list[twins.Arc]], tuple[npt.NDArray[np.int32], ...]]:
    """The arcs (bit, state) of n signatures, also as (begins: int32[n + 1], arcs: int32[m, 2])."""
    lists = [[(int(rng.integers(2)), int(rng.integers(N_STATES))) for _ in range(rng.integers(0, 4))] for _ in range(n)]
    begins = np.cumsum([0, *map(len, lists)]).astype(np.int32)
    return lists, (begins, np.array([arc for one in lists for arc in one], np.int32).reshape(-1, 2))


def tokens_of(row: npt.NDArray[np.uint32]) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


@settings(max_examples=60)
@given(seeds, st.booleans(), st.booleans())
def test_ways_are_settled_by_cuts_and_ends(seed: int, may_end: bool, marked: bool) -> None:
    rng = np.random.default_rng(seed)
    live, cuts = rng.integers(0, 2**64, (2, 5, 4), np.uint64) & rng.integers(0, 2**64, (2, 5, 4), np.uint64)
    live &= rng.integers(0, 2, (5, 1), np.uint64) * np.uint64(2**64 - 1)
    complete, ends = rng.integers(0, 2, (2, 5)).astype(np.bool_)
    group, states = rng.integers(-1, 5, 30).astype(np.int32), rng.integers(0, 5, 30).astype(np.int32)
    out = np.zeros(30, np.bool_)
    kernels.settle(group, states, live, complete, cuts, ends, may_end, marked, out)
    for g, p, found in zip(group.tolist(), states.tolist(), out.tolist(), strict=True):
        assert found == (g >= 0 and twins.is_settled(g, p, live, complete, cuts, ends, may_end, marked))


@settings(max_examples=100)
@given(seeds, st.booleans(), st.booleans(), st.booleans())
def test_tokens_are_sorted_out_as_by_the_twin(seed: int, may_end: bool, marked: bool, is_plain: bool) -> None:
    rng = np.random.default_rng(seed)
    live, cuts = drawn_sets(rng, N_GROUPS), drawn_sets(rng, N_STATES)
    complete, ends = rng.integers(0, 2, N_GROUPS).astype(np.bool_), rng.integers(0, 2, N_STATES).astype(np.bool_)
    lists, (begins, arcs) = drawn_arcs(rng, 9)
    of_token = rng.integers(0, 9, N_TOKENS).astype(np.int32)
    tokens = rng.permutation(N_TOKENS)[:40].astype(np.int32)
    group = rng.integers(-1, N_GROUPS, 40).astype(np.int32)
    kept, room = np.zeros((2, 3), np.uint32), np.zeros((5, 4), np.int32)
    while True:
        n_open = kernels.sort_out(
            tokens, group, of_token, begins, arcs, live, complete, cuts, ends, may_end, marked, is_plain, kept, 0, room
        )
        if n_open <= len(room):
            break
        room = np.zeros((n_open, 4), np.int32)
    settled = np.array(
        [
            [is_plain and twins.is_settled(g, p, live, complete, cuts, ends, may_end, marked) for p in range(N_STATES)]
            for g in range(N_GROUPS)
        ]
    )
    arcs_of = [lists[signature] for signature in of_token.tolist()]
    expected, rows_left = twins.sort_out(tokens.tolist(), group.tolist(), arcs_of, settled)
    assert {(bit, token) for bit in (0, 1) for token in tokens_of(kept[bit])} == expected
    assert list(map(tuple, room[:n_open].tolist())) == rows_left


@settings(max_examples=60)
@given(seeds)
def test_what_was_found_is_looked_up_as_by_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = np.arange(3 * N_GROUPS, dtype=np.int64).reshape(3, N_GROUPS) * N_STATES
    nodes[1:][rng.integers(0, 2, (2, N_GROUPS)) == 0] = -1  # the heads themselves always have a node
    keys, values = np.full(2048, -1, np.int64), np.zeros(2048, np.int32)
    known = {}
    for level in range(3):
        rows = np.stack([rng.integers(0, n, 200) for n in (N_TOKENS, N_GROUPS, N_STATES, 2)], 1).astype(np.int32)
        found = rng.integers(-1, 4, 200).astype(np.int32)
        kernels.enter(rows, found, nodes[level], keys, values)
        for (token, g, p, _), fate in zip(rows.tolist(), found.tolist(), strict=True):
            if fate >= 0 and nodes[level, g] >= 0:
                known[level, g, p, token] = fate
    rows = np.stack([rng.integers(0, n, 90) for n in (N_TOKENS, N_GROUPS, N_STATES, 2)], 1).astype(np.int32)
    fates = rng.integers(-1, 3, 90).astype(np.int32)
    expected = twins.look_up(list(map(tuple, rows.tolist())), known, fates.tolist())
    kernels.look_up(rows, nodes, keys, values, fates)
    assert fates.tolist() == expected


@settings(max_examples=60)
@given(seeds, st.integers(1, 300))
def test_rows_of_one_group_and_state_lie_together(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, m, n) for m in (99, N_GROUPS, N_STATES, 2)], 1).astype(np.int32)
    order, firsts = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    n_lots = kernels.gather(rows, N_STATES, order, firsts)
    assert sorted(order.tolist()) == list(range(n))
    lots = [rows[order[firsts[i] : firsts[i + 1]], 1:3] for i in range(n_lots)]
    assert all(len(lot) and (lot == lot[0]).all() for lot in lots)
    assert firsts[n_lots] == n
    assert len({tuple(lot[0].tolist()) for lot in lots}) == n_lots == len(np.unique(rows[:, 1:3], axis=0))


@given(seeds)
def test_only_rows_that_survive_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, m, 50) for m in (N_TOKENS, 3, 3, 2)], 1).astype(np.int32)
    fates = rng.integers(0, 3, 50).astype(np.int32)
    kept = np.zeros((2, 3), np.uint32)
    assert kernels.keep_alive(rows, fates, kept) == fates.max()
    expected = {(row[3], row[0]) for row, fate in zip(rows.tolist(), fates.tolist(), strict=True) if fate}
    assert {(bit, token) for bit in (0, 1) for token in tokens_of(kept[bit])} == expected


@given(seeds)
def test_a_table_that_grew_holds_what_it_held(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, m, 90) for m in (2**24, 3, 3, 2)], 1).astype(np.int32)
    fates, nodes = rng.integers(0, 9, 90).astype(np.int32), np.array([0, 3, 2**35], np.int64)
    small = np.full(256, -1, np.int64), np.zeros(256, np.int32)
    assert kernels.enter(rows, fates, nodes, *small) == len(np.unique(rows[:, :3], axis=0))
    large = kernels.table_with(1024, *small)
    pairs = [{key: value for key, value in zip(*map(list, table), strict=True) if key >= 0} for table in (small, large)]
    assert pairs[0] == pairs[1]
    assert kernels.enter(rows, fates, nodes, *large) == 0


@given(seeds, st.integers(1, 100))
def test_rows_and_ends_of_signatures_equal_their_twins(seed: int, n_tokens: int) -> None:
    rng = np.random.default_rng(seed)
    of_token, bits = rng.integers(0, 8, n_tokens).astype(np.int32), rng.integers(0, 4, 8).astype(np.uint8)
    rows = np.zeros((2, (n_tokens + 31) // 32), np.uint32)
    fill_rows(of_token, bits, rows)
    assert (tokens_of(rows[0]), tokens_of(rows[1])) == twins.fill_rows(of_token.tolist(), bits.tolist())
    lists, (begins, arcs) = drawn_arcs(rng, 8)
    expected = twins.list_ends(of_token.tolist(), lists)
    out = np.empty((len(expected), 3), np.int32)
    list_ends(of_token, begins, arcs, out)
    assert list(map(tuple, out.tolist())) == expected
