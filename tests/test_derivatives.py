"""Derivatives: what is left of a language after a byte, nullability, emptiness."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import denotation
from tests.reference.languages import ALPHABET, regular, structured
from tokenizer_align import derivatives
from tokenizer_align import expressions as ex
from tokenizer_align.derivatives import heads, is_live
from tokenizer_align.empty_text import nullable
from tokenizer_align.errors import ConstraintError, TooComplex
from tokenizer_align.expressions import Expr
from tokenizer_align.moves import budget, moves
from tokenizer_align.productive import is_productive

A = ex.lit(b"a")


def derivative(expr: Expr, byte: int) -> Expr:
    return next((after for mask, after in heads(expr) if mask >> byte & 1), ex.EMPTY)


def test_a_literal_loses_its_first_byte() -> None:
    assert heads(ex.lit(b"abc")) == ((1 << 0x61, ex.lit(b"bc")),)


def test_counts_go_down() -> None:
    assert derivative(ex.repeat(A, 3, 5000), 0x61) is ex.repeat(A, 2, 4999)
    assert derivative(ex.repeat(A, 0, None), 0x61) is ex.star(A)


def test_words_share_their_list() -> None:
    expr = ex.words([b"%05d" % i for i in range(10_000)])
    for byte in b"0042":
        expr = derivative(expr, byte)
    assert expr is ex.words_slice(expr.data[0], 420, 430, 4)


def test_words_of_which_one_begins_another() -> None:
    expr = ex.words([b"a", b"ab", b"abc"])
    assert derivative(expr, 0x61).memo_nullable
    assert derivative(derivative(expr, 0x61), 0x62).memo_nullable


def test_the_complement_of_a_word_keeps_everything_else_open() -> None:
    after = derivative(ex.neg(A), 0x61)
    assert not after.memo_nullable
    assert is_live(after)
    assert derivative(ex.neg(A), 0x62) is ex.ALL


@pytest.mark.parametrize(
    ("expr", "live"),
    [
        (ex.both(ex.star(ex.lit(b"ab")), ex.seq(A, ex.star(ex.lit(b"ab")))), False),
        (ex.both_unchecked(ex.star(ex.lit(b"ab")), ex.neg(ex.star(ex.lit(b"abab")))), True),
        (ex.both_unchecked(ex.star(A), ex.neg(ex.star(A))), False),
        (ex.seq(A, ex.both_unchecked(ex.plus(A), ex.lit(b"b"))), False),
        (ex.neg(ex.star(ex.byte_set(ex.ALL_BYTES))), False),
        (ex.neg(ex.lit(b"")), True),
    ],
)
def test_liveness_of_intersections_and_complements(expr: Expr, live: bool) -> None:
    assert is_live(expr) is live


def test_an_intersection_that_is_too_large_to_decide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivatives, "MAX_SEARCH", 1000)
    numbers = [ex.plus(ex.repeat(ex.byte_set(b"ab"), n, n)) for n in (11, 13, 17)]
    with pytest.raises(TooComplex, match="more than"):
        ex.both(*numbers)


def test_nullable_looks_into_rules() -> None:
    inner, outer = ex.Rule("inner"), ex.Rule("outer")
    inner.define(ex.alt(ex.seq(A, ex.call(outer)), ex.EPSILON))
    outer.define(lambda: ex.seq(ex.call(inner), ex.call(inner)))
    assert nullable(ex.call(outer))
    assert not nullable(ex.seq(ex.call(outer), A))


def test_moves_push_what_follows_a_call() -> None:
    string = ex.frame(ex.seq(ex.lit(b'"'), ex.star(A), ex.lit(b'"')))
    follow = ex.seq(ex.lit(b","), string)
    ((mask, frames),) = moves(ex.seq(string, follow))
    assert mask == 1 << 0x22
    assert frames == (ex.seq(ex.star(A), ex.lit(b'"')), follow)


def test_moves_that_cannot_be_completed_are_left_out() -> None:
    dead = ex.Rule("dead")
    dead.define(ex.seq(A, ex.call(dead)))
    assert moves(ex.alt(ex.seq(A, ex.call(dead)), ex.frame(ex.seq(ex.lit(b"b"), ex.star(A))))) == moves(
        ex.frame(ex.seq(ex.lit(b"b"), ex.star(A)))
    )


def test_calls_cannot_be_derived_in_place() -> None:
    with pytest.raises(ConstraintError, match="stack"):
        heads(ex.frame(ex.star(ex.lit(b"ab"))))


def test_rules_are_made_only_as_far_as_they_are_needed() -> None:
    def never() -> Expr:
        raise AssertionError("this rule was not needed")

    far = ex.call(ex.Rule("far").define(never))
    assert is_productive(ex.alt(A, ex.seq(ex.lit(b"b"), ex.frame(ex.repeat(ex.seq(A, far), 0, 3)))))


@settings(max_examples=150)
@given(regular, st.lists(st.sampled_from(list(ALPHABET)), min_size=1, max_size=4).map(bytes))
def test_a_derivative_holds_what_is_left_of_the_texts(expr: Expr, text: bytes) -> None:
    assert denotation.matches(derivative(expr, text[0]), text[1:]) == denotation.matches(expr, text)


@settings(max_examples=100)
@given(regular)
def test_the_byte_masks_of_heads_are_disjoint(expr: Expr) -> None:
    union = 0
    for mask, after in heads(expr):
        assert not union & mask
        assert after is not ex.EMPTY
        union |= mask


@settings(max_examples=100)
@given(st.one_of(regular, structured))
def test_nullable_is_whether_the_empty_text_belongs(expr: Expr) -> None:
    assert nullable(expr) == denotation.matches(expr, b"")


def test_a_full_stack_leaves_no_stale_time_limit() -> None:
    fresh = iter(range(10**6))
    held: list[RecursionError] = []

    def fill() -> None:
        for deeper in range(3):
            try:
                moves(ex.seq(*[ex.star(ex.lit(b"%d" % next(fresh))) for _ in range(deeper + 1)]))
            except RecursionError as error:
                held.append(error)  # what its frames hold is not let go
        assert budget.stops_at is None
        fill()

    with pytest.raises(RecursionError):
        fill()
    assert held
    assert budget.stops_at is None
