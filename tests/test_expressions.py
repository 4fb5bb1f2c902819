"""The smart constructors: one node per content, and laws of the algebra that keep languages as they are."""

from __future__ import annotations

import pickle
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import denotation
from tests.reference.languages import ALPHABET, regular
from tokenizer_align import expressions as ex
from tokenizer_align.errors import ConstraintError
from tokenizer_align.expressions import Expr
from tokenizer_align.recognizer import matches

A, B = ex.lit(b"a"), ex.lit(b"b")
texts = st.lists(st.sampled_from(list(ALPHABET)), max_size=5).map(bytes)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (ex.seq(A, B), ex.lit(b"ab")),
        (ex.seq(ex.EPSILON, A, ex.EPSILON), A),
        (ex.seq(A, ex.EMPTY), ex.EMPTY),
        (ex.seq(), ex.EPSILON),
        (ex.alt(), ex.EMPTY),
        (ex.alt(A, B), ex.alt(B, A)),
        (ex.alt(A, A), A),
        (ex.alt(A, ex.EMPTY), A),
        (ex.alt(A, B), ex.byte_set(b"ab")),
        (ex.lit(b""), ex.EPSILON),
        (ex.byte_set([]), ex.EMPTY),
        (ex.byte_set(0b110), ex.byte_set([1, 2])),
        (ex.repeat(A, 1, 1), A),
        (ex.repeat(A, 0, 0), ex.EPSILON),
        (ex.repeat(ex.EPSILON, 3, 9), ex.EPSILON),
        (ex.repeat(ex.EMPTY, 0, 9), ex.EPSILON),
        (ex.repeat(ex.EMPTY, 1, 9), ex.EMPTY),
        (ex.star(ex.star(A)), ex.star(A)),
        (ex.neg(ex.neg(A)), A),
        (ex.both(A, B), ex.EMPTY),
        (ex.both(A, A), A),
        (ex.both(A, ex.neg(A)), ex.EMPTY),
        (ex.both(), ex.ALL),
        (ex.neg(ex.EMPTY), ex.ALL),
        (ex.words([b"ab"]), ex.lit(b"ab")),
        (ex.words([]), ex.EMPTY),
        (ex.words([b"b", b"a", b"b"]), ex.words([b"a", b"b"])),
        (ex.frame(ex.lit(b"ab")), ex.lit(b"ab")),
        (ex.frame(ex.star(A)), ex.frame(ex.star(A))),
        (ex.optional(ex.star(A)), ex.star(A)),
    ],
)
def test_equal_languages_are_one_node(left: Expr, right: Expr) -> None:
    assert left is right


@pytest.mark.parametrize("bounds", [(-1, 2), (3, 2)])
def test_impossible_repetitions_are_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        ex.repeat(A, *bounds)


def test_a_byte_is_between_0_and_255() -> None:
    with pytest.raises(ValueError, match="256"):
        ex.byte_set([256])


@pytest.mark.parametrize("combine", [lambda e: ex.neg(e), lambda e: ex.both(e, ex.star(A)), lambda e: ex.minus(e, A)])
def test_calls_inside_intersections_and_complements_are_refused(combine: object) -> None:
    call = ex.frame(ex.star(ex.lit(b"ab")))
    with pytest.raises(ConstraintError, match="calls"):
        combine(ex.seq(A, call))  # type: ignore[operator]


def test_expressions_are_not_pickled() -> None:
    with pytest.raises(TypeError, match="pickle the Constraint"):
        pickle.dumps(A)


def test_very_long_sequences_are_no_problem() -> None:
    """Regression: sequences of more than a thousand parts ran out of Python's stack."""
    letters = [ex.byte_set(b"ab") if i % 2 else ex.byte_set(b"bc") for i in range(5000)]
    long = ex.seq(*letters)
    assert ex.seq(long, A).kind == ex.K_SEQ
    assert matches(ex.seq(ex.optional(B), long, ex.optional(A)), b"b" * 5000)
    assert not matches(ex.seq(long, A), b"b" * 5000)


def test_many_optional_parts_are_no_problem() -> None:
    expr = ex.seq(*(ex.optional(ex.byte_set(b"ab") if i % 2 else ex.byte_set(b"bc")) for i in range(1100)))
    assert matches(expr, b"b")


def test_descriptions_are_short() -> None:
    assert len(repr(ex.star(ex.alt(*(ex.lit(b"%d%d" % (i, i)) for i in range(10)))))) < 300
    assert repr(ex.words([b"a", b"b", b"abc"])) == "<3 words>"


def test_threads_get_the_same_node() -> None:
    found: list[Expr] = []
    barrier = threading.Barrier(8)

    def build() -> None:
        barrier.wait()
        for i in range(300):
            found.append(ex.star(ex.seq(ex.byte_set([i % 256, 7]), ex.words([b"thread", b"%d" % i]))))

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2400
    assert len(set(found)) == 300


def test_a_rule_is_defined_once_by_whoever_comes_first() -> None:
    """Regression: a second thread that asked while the thunk ran was told that the rule is not defined."""
    started, calls = threading.Event(), []

    def body() -> Expr:
        calls.append(1)
        started.wait(1)
        return A

    rule = ex.Rule("slow").define(body)
    bodies: list[Expr] = []
    threads = [threading.Thread(target=lambda: bodies.append(rule.body)) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join()
    assert bodies == [A] * 4
    assert calls == [1]


@settings(max_examples=150)
@given(regular, regular, texts)
def test_boolean_operations_mean_what_they_say(left: Expr, right: Expr, text: bytes) -> None:
    in_left, in_right = denotation.matches(left, text), denotation.matches(right, text)
    assert matches(ex.alt(left, right), text) == (in_left or in_right)
    assert matches(ex.both(left, right), text) == (in_left and in_right)
    assert matches(ex.neg(left), text) != in_left
    assert matches(ex.minus(left, right), text) == (in_left and not in_right)


@settings(max_examples=100)
@given(st.lists(regular, max_size=4), texts)
def test_alternatives_are_a_union(items: list[Expr], text: bytes) -> None:
    """Factoring common parts and joining counts must not change the language."""
    assert matches(ex.alt(*items), text) == any(denotation.matches(item, text) for item in items)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4))), min_size=1, max_size=4),
    st.sampled_from([b"", b"b", b"a"]),
    st.integers(0, 9),
    st.booleans(),
)
def test_repetitions_of_one_item_join_exactly(
    counts: list[tuple[int, int | None]], tail: bytes, n: int, is_nullable: bool
) -> None:
    item = ex.optional(A) if is_nullable else A
    bounds = [(lo, None if more is None else lo + more) for lo, more in counts]
    expr = ex.alt(*(ex.seq(ex.repeat(item, lo, hi), ex.lit(tail)) for lo, hi in bounds))
    text = b"a" * n + tail
    assert matches(expr, text) == any(
        denotation.matches(ex.seq(ex.repeat(item, lo, hi), ex.lit(tail)), text) for lo, hi in bounds
    )
