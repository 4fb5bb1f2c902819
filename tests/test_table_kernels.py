"""Kernels that make the tables of a tokenizer's laws, against the same in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenizer_align.canonical.merge_index import rows_by_symbol, spine_tree
from tokenizer_align.canonical.path_kernels import find_cuts
from tokenizer_align.token_texts import TokenTexts

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(0, 60))
def test_rows_of_merges_stand_by_symbol_and_phase(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    symbols, phases = rng.integers(0, 9, n).astype(np.int32), rng.integers(0, max(n, 1), n).astype(np.int32)
    starts, rows = rows_by_symbol(symbols, phases, 12)
    for symbol in range(12):
        expected = sorted(np.flatnonzero(symbols == symbol).tolist(), key=lambda row: (phases[row], row))
        assert rows[starts[symbol] : starts[symbol + 1]].tolist() == expected
    assert starts[-1] == n


@given(seeds, st.integers(1, 20))
def test_the_spine_tree_lists_who_has_a_symbol_on_its_spine(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    results = rng.permutation(n)[: rng.integers(0, n)].astype(np.int32)
    results = results[results > 0]
    merges = np.array([[rng.integers(0, t), rng.integers(0, t), t] for t in results], np.int32).reshape(-1, 3)
    phases = rng.integers(0, max(len(merges), 1), len(merges)).astype(np.int32)
    child = np.full(n, -1, np.int32)
    child[merges[:, 2]] = merges[:, 1]
    phase = dict(zip(merges[:, 2].tolist(), phases.tolist(), strict=True))
    order, first, end = spine_tree(child, merges, phases)
    for symbol in range(n):
        consumed = {}  # token -> phase of what consumes the symbol there
        for token in range(n):
            at, when = token, len(merges)
            while at >= 0 and at != symbol:
                at, when = int(child[at]), phase.get(at, -1)
            if at == symbol:
                consumed[token] = when
        listed = order[first[symbol] : end[symbol]].tolist()
        assert sorted(listed) == sorted(consumed) and listed[0] == symbol
        times = [consumed[token] for token in listed]
        assert times == sorted(times, reverse=True)


@given(seeds, st.integers(1, 5))
def test_a_cut_leads_wherever_a_text_may_begin(seed: int, n_states: int) -> None:
    rng = np.random.default_rng(seed)
    of_place = [
        [(int(bit), int(p)) for p in range(n_states) for bit in (0, 1) if rng.random() < 0.3]
        for _ in range(256 * n_states)
    ]
    first = np.cumsum([0, *map(len, of_place)]).astype(np.int32)
    arcs = np.array([arc for some in of_place for arc in some], np.int32).reshape(-1, 2)
    spelling, start = rng.random(n_states) < 0.2, int(rng.integers(n_states))
    is_cut, may_cut = np.zeros((2, n_states, 256), np.bool_)
    find_cuts(first, arcs, start, spelling, is_cut, may_cut)
    for p in range(n_states):
        for byte in range(256):
            fresh = {after for _, after in of_place[start * 256 + byte]}
            bounded = {after for bit, after in of_place[p * 256 + byte] if bit}
            expected = bool(fresh) and fresh <= bounded and not any(spelling[after] for after in fresh)
            assert is_cut[p, byte] == expected
            assert may_cut[p, byte] == (bool(bounded) and not expected)


@pytest.mark.parametrize("token_bytes", [[], [None, b""], [b"a", None, b"bcd", b"", b"\xff"]])
def test_texts_of_tokens_lie_one_behind_the_other(token_bytes: list[bytes | None]) -> None:
    texts = TokenTexts.of(token_bytes)
    parts = [texts.text[low:high].tobytes() for low, high in zip(texts.starts, texts.starts[1:], strict=False)]
    assert parts == [data or b"" for data in token_bytes]
    assert texts.lengths.tolist() == [len(data or b"") for data in token_bytes]
