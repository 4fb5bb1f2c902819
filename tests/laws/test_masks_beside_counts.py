"""Masks of a pattern beside a count of characters (`maxLength`) equal brute force, near the bound and far from it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.test_mask_equals_brute_force import EXAMPLES, MEMO_SIZES, check
from tests.reference.languages import DrawnVocabulary, regular, vocabularies
from tokenizer_align import expressions as ex
from tokenizer_align.counting import clamp_counts, completion_bytes, is_made_of
from tokenizer_align.derivatives import heads, is_live
from tokenizer_align.expressions import Expr
from tokenizer_align.utf8 import ANY_CHAR

WIDE = ex.alt(ex.byte_set(b"abc"), ex.seq(ex.lit(b"\\"), ex.byte_set(b"ab")), ex.lit("é".encode()))
_characters = [ex.byte_set(b"abc"), ex.byte_set(b"ab"), ex.lit(b"c"), ex.lit(rb"\a"), ex.lit("é".encode())]


def _patterns(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    counts = st.sampled_from([(0, None), (1, None), (0, 1), (2, 3), (0, 12)])
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: ex.seq(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: ex.alt(*parts)),
        st.tuples(inner, counts).map(lambda pair: ex.repeat(pair[0], *pair[1])),
    )


patterns = st.recursive(st.sampled_from(_characters), _patterns, max_leaves=6)
items = st.sampled_from([WIDE, ex.byte_set(b"abc"), ex.byte_set(b"abc\\\xc3\xa9"), ANY_CHAR])


@settings(max_examples=2 * EXAMPLES)
@given(patterns, items, st.integers(0, 2), st.integers(0, 30), vocabularies(), MEMO_SIZES, st.data())
def test_mask_equals_brute_force_beside_a_count(
    pattern: Expr,
    item: Expr,
    lo: int,
    more: int,
    drawn: DrawnVocabulary,
    memo_min_nodes: int,
    data: st.DataObject,
) -> None:
    check(ex.seq(ex.both(pattern, ex.repeat(item, lo, lo + more)), ex.lit(b"b")), drawn, memo_min_nodes, data)


@settings(max_examples=EXAMPLES)
@given(st.one_of(patterns, regular), st.integers(0, 6))
def test_what_is_begun_can_be_completed_within_the_bound(expr: Expr, seed: int) -> None:
    bound = completion_bytes(expr)
    here = expr
    for step in range(8):
        if bound is None or not is_live(here):
            return
        assert _shortest_bytes(here) <= bound[1]
        assert step > 0 or _shortest_bytes(here) <= bound[0]
        moves = [after for _, after in heads(here)]
        if not moves:
            return
        here = moves[(seed + step) % len(moves)]


def _shortest_bytes(node: Expr) -> int:
    level, n, seen = [node], 0, {node}
    while not any(here.memo_nullable for here in level):
        level = [after for here in level for _, after in heads(here) if after not in seen]
        seen.update(level)
        n += 1
    return n


def test_texts_are_made_of_characters() -> None:
    word = ex.plus(ex.alt(ex.byte_set(b"ab"), ex.lit("é".encode())))
    assert is_made_of(ex.seq(word, ex.star(ex.seq(ex.lit(b" "), word))), ANY_CHAR)
    assert is_made_of(ex.both_unchecked(word, ex.repeat(ANY_CHAR, 0, 9)), ANY_CHAR)
    assert not is_made_of(ex.seq(word, ex.lit(b"\xc3")), ANY_CHAR)
    assert not is_made_of(ex.lit(b"\\"), WIDE)


def test_a_count_that_cannot_run_out_is_left_out_of_masks() -> None:
    word = ex.plus(ex.byte_set(b"ab"))
    assert clamp_counts(ex.both_unchecked(word, ex.repeat(ANY_CHAR, 0, 11)), 10) is word
    short = ex.both_unchecked(word, ex.repeat(ANY_CHAR, 0, 10))
    assert clamp_counts(short, 10) is short
    assert clamp_counts(ex.both_unchecked(word, ex.repeat(ANY_CHAR, 1, 99)), 10).kind == ex.K_BOTH
