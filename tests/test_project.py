"""Expressions without the bytes that a vocabulary cannot write."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import denotation
from tests.reference.languages import ALPHABET, duties, objects, regular, structured
from tokenizer_align import expressions as ex
from tokenizer_align.expressions import Expr
from tokenizer_align.members import Member, MemberSpec, start_members
from tokenizer_align.productive import is_productive
from tokenizer_align.project import Projection
from tokenizer_align.recognizer import matches

A, B = ex.lit(b"a"), ex.lit(b"b")


def only(letters: bytes) -> Projection:
    return Projection(sum(1 << byte for byte in set(letters)))


def test_everything_stays_where_all_bytes_can_be_written() -> None:
    assert Projection(ex.ALL_BYTES)(ex.neg(A)) is ex.neg(A)


def test_what_cannot_be_written_is_taken_out() -> None:
    project = only(b"ac")
    assert project(ex.byte_set(b"abc")) is ex.byte_set(b"ac")
    assert project(ex.lit(b"ab")) is ex.EMPTY
    assert project(ex.words([b"a", b"ab", b"ca"])) is ex.words([b"a", b"ca"])
    assert project(ex.star(B)) is ex.EPSILON
    assert project(ex.repeat(B, 1, 2)) is ex.EMPTY


def test_a_complement_keeps_to_the_alphabet() -> None:
    projected = only(b"ac")(ex.neg(A))
    assert matches(projected, b"ca")
    assert not matches(projected, b"a")
    assert not matches(projected, b"b")


def test_rules_are_taken_along() -> None:
    rule = ex.Rule("r")
    rule.define(lambda: ex.alt(B, ex.seq(A, ex.call(rule)), ex.lit(b"c")))
    projected = only(b"ac")(ex.call(rule))
    assert matches(projected, b"aac")
    assert not matches(projected, b"aab")


def test_optional_keys_that_cannot_be_written_are_dropped() -> None:
    members = (Member(b'"a"', ex.lit(b":1")), Member(b'"b"', ex.lit(b":1")))
    spec = MemberSpec(members, ex.lit(b","), ex.lit(b"}"))
    projected = only(b'":1a,}')(ex.frame(start_members(spec)))
    assert matches(projected, b'"a":1}')
    assert not matches(projected, b'"b":1}')


def test_an_object_whose_required_key_cannot_be_written_is_empty() -> None:
    spec = MemberSpec((Member(b'"b"', ex.lit(b":1"), True),), ex.lit(b","), ex.lit(b"}"))
    assert not is_productive(only(b'":1a,}')(ex.frame(start_members(spec))))


@settings(max_examples=150)
@given(
    st.one_of(regular, structured, objects(regular), duties(regular)),
    st.sets(st.sampled_from(list(ALPHABET)), min_size=1),
    st.lists(st.sampled_from(list(ALPHABET)), max_size=6).map(bytes),
)
def test_the_projection_holds_exactly_the_texts_that_can_be_written(expr: Expr, letters: set[int], text: bytes) -> None:
    assert matches(only(bytes(letters))(expr), text) == (set(text) <= letters and denotation.matches(expr, text))
