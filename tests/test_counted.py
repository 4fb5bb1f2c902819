"""Counted repetitions run as chains of states: their texts, their masks, and the walk that serves all counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import plain_kernels as plain
from tests.reference.languages import DrawnVocabulary, vocabularies
from tokenizer_align import kernels as k
from tokenizer_align.byte_masks import words_of
from tokenizer_align.compiled import Compiled
from tokenizer_align.counted import Count, count_of, shape_of
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import EPSILON, Expr, alt, byte_set, lit, repeat, seq, star
from tokenizer_align.recognizer import accepts_end, closure, run
from tokenizer_align.vocabulary import Vocabulary

A, B, C = lit(b"a"), lit(b"b"), lit(b"c")
ITEMS = (A, byte_set(b"ab"), alt(A, lit(b"bc")), alt(seq(A, byte_set(b"ab")), lit(b"bca")), alt(A, seq(B, star(A), C)))
TAILS = (EPSILON, lit(b"c"), lit(b"ca"), seq(C, star(A)), star(lit(b"cab")), seq(C, repeat(A, 0, 5)))
counts = st.tuples(st.integers(0, 6), st.integers(0, 6) | st.none()).filter(lambda c: c[1] is None or c[0] <= c[1] > 0)


def test_a_count_is_found_only_where_items_can_be_told_apart() -> None:
    assert count_of(seq(repeat(A, 2, 9), C)) == Count(A, C, 2, 9)
    assert count_of(seq(repeat(star(A), 2, 9), C)) is None  # an item may be of any length
    assert count_of(seq(repeat(A, 0, 9), lit(b"ab"))) is None  # what follows begins like an item
    assert count_of(star(A)) is None


@settings(max_examples=150)
@given(st.sampled_from(ITEMS), st.sampled_from(TAILS), counts, vocabularies(), st.data())
def test_masks_of_counts_are_exact(
    item: Expr, tail: Expr, bounds: tuple[int, int | None], drawn: DrawnVocabulary, data: st.DataObject
) -> None:
    expr = seq(byte_set(b"abc"), repeat(item, *bounds), tail)
    vocabulary = Vocabulary.from_bytes([*(bytes([b]) for b in b"abc"), *drawn.token_bytes, None], ())
    for memo_min_nodes in (1, 300):
        matcher = Compiled(expr, vocabulary, engine=Engine(vocabulary, memo_min_nodes, wide_bytes=1)).matcher()
        for _ in range(6):
            text = matcher.text_bytes()
            legal = [bool(closure(run(expr, text + token))) if token else False for token in vocabulary.token_bytes]
            if not any(legal):
                assert accepts_end(run(expr, text))
                break
            mask = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: vocabulary.n_rows]
            assert mask.astype(bool).tolist() == legal, text
            matcher.advance(data.draw(st.sampled_from([i for i, is_legal in enumerate(legal) if is_legal])))


@settings(max_examples=60)
@given(st.sampled_from(ITEMS), st.sampled_from(TAILS), vocabularies())
def test_walk_counted_equals_its_twin(item: Expr, tail: Expr, drawn: DrawnVocabulary) -> None:
    shape = shape_of(item, tail)
    if shape is None:
        return
    engine = Engine(Vocabulary.from_bytes([*(bytes([b]) for b in b"abc"), *drawn.token_bytes], ()), 10_000)
    expr = Count(item, tail, 0, None).expr
    heads = engine.start(expr)
    plain.build_all(engine, heads, b"")
    state, opening = engine.automaton.code_of(expr), sum(mask for mask, _ in shape.opening)
    found, in_tail = np.full((2, engine.vocabulary.n_rows), -1, np.int32)
    exits, exit_counts = np.zeros((2, 1000), np.int64)
    result, n, _ = k.walk_counted(engine.tables.ctx, 0, state, words_of(opening), found, in_tail, exits, exit_counts)
    twin = plain.walk_counted(engine.tables, 0, state, opening)
    if twin is None:
        assert result == k.EMPTY
        return
    assert {i: c for i, c in enumerate(found.tolist()) if c >= 0} == twin[0]
    assert {i: c for i, c in enumerate(in_tail.tolist()) if c >= 0} == twin[1]
    between = {i for i in twin[0] if (state, -1) in engine.run_token(((state, -1),), i)}
    assert {i for i, c in enumerate(in_tail.tolist()) if c == -2} == between
    assert dict(zip(exits[:n].tolist(), exit_counts[:n].tolist(), strict=True)) == twin[2]


@pytest.mark.parametrize("hi", [5, 40, 5000])
def test_long_counts_are_read_to_their_end(hi: int) -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"aa", b"aaaa", None], (4,))
    matcher = Compiled(seq(repeat(byte_set(b"a"), 1, hi), B), vocabulary).matcher()
    for _ in range(hi // 4):
        matcher.advance(3)
    assert matcher.accepts(0) == (hi % 4 > 0)
    assert matcher.accepts(1)
    assert not matcher.accepts(3)
