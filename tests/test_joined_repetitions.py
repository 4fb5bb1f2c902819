"""Alternatives that repeat the same thing are joined; states that a front end builds lazily behave like expressions."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_py.constraints.regex import regex
from tokenizer_align import expressions as ex
from tokenizer_align.derivatives import is_live
from tokenizer_align.expressions import LazyState
from tokenizer_align.moves import moves
from tokenizer_align.recognizer import matches
from tokenizer_align.shortest import shortest

A, AB, X = ex.lit(b"a"), ex.byte_set(b"ab"), ex.lit(b"x")


def count_states(start: ex.Expr) -> int:
    seen, work = {start}, [start]
    while work:
        for _, frames in moves(work.pop()):
            work += [frame for frame in frames if frame not in seen]
            seen.update(frames)
    return len(seen)


def test_overlapping_and_touching_counts_become_one_repetition() -> None:
    assert ex.alt(ex.repeat(A, 0, 9), ex.repeat(A, 3, 12)) is ex.repeat(A, 0, 12)
    assert ex.alt(ex.repeat(A, 2, 3), ex.repeat(A, 4, None)) is ex.repeat(A, 2, None)
    assert ex.alt(ex.seq(ex.repeat(A, 0, 5), X), ex.seq(ex.repeat(A, 0, 4), X)) is ex.seq(ex.repeat(A, 0, 5), X)


def test_counts_with_a_gap_stay_apart() -> None:
    both = ex.alt(ex.repeat(A, 2, 3), ex.repeat(A, 5, 6))
    assert [n for n in range(9) if matches(both, b"a" * n)] == [2, 3, 5, 6]


counts = st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)))
branches = st.tuples(st.sampled_from([A, AB]), counts, st.sampled_from([ex.EPSILON, X, A]))


@given(st.lists(branches, min_size=1, max_size=6), st.text("abx", max_size=7))
def test_joining_never_changes_a_language(
    drawn: list[tuple[ex.Expr, tuple[int, int | None], ex.Expr]], text: str
) -> None:
    parts = [ex.seq(ex.repeat(item, lo, None if n is None else lo + n), tail) for item, (lo, n), tail in drawn]
    assert matches(ex.alt(*parts), text.encode()) == any(matches(part, text.encode()) for part in parts)


def test_two_counted_classes_that_overlap_need_states_in_proportion_to_the_counts() -> None:
    two = ex.seq(ex.repeat(A, 1, 100), ex.repeat(AB, 1, 100))
    assert count_states(two) <= 300


def even_number_of_a() -> ex.Expr:
    even: LazyState = LazyState(True, lambda: ex.alt(ex.EPSILON, ex.seq(A, ex.lazy(odd))))
    odd: LazyState = LazyState(False, lambda: ex.seq(A, ex.lazy(even)))
    return ex.lazy(even)


def test_a_lazy_state_is_read_like_any_expression() -> None:
    even = even_number_of_a()
    assert [n for n in range(6) if matches(even, b"a" * n)] == [0, 2, 4]
    assert count_states(even) == 2


def test_lazy_states_may_stand_in_intersections_complements_and_sequences() -> None:
    even = even_number_of_a()
    third = ex.repeat(ex.lit(b"aaa"), 0, None)
    assert [n for n in range(13) if matches(ex.both(even, third), b"a" * n)] == [0, 6, 12]
    assert [n for n in range(5) if matches(ex.both(ex.neg(even), ex.star(A)), b"a" * n)] == [1, 3]
    assert matches(ex.seq(even, X), b"aax")
    assert not matches(ex.seq(even, X), b"ax")


def test_emptiness_and_shortest_text_look_through_lazy_states() -> None:
    stuck = ex.lazy(LazyState(False, lambda: ex.EMPTY))
    assert not is_live(ex.seq(A, stuck))
    assert ex.both(even_number_of_a(), ex.lit(b"a")) is ex.EMPTY
    assert shortest(ex.both(even_number_of_a(), ex.plus(A))) == b"aa"


@pytest.mark.parametrize("pattern", ["(a+b?){1,3}", "(a+b?){0,2}", "(b?a+){1,3}", "(a*b?){1,2}", "(a{2,}b?){1,3}"])
def test_runs_with_a_separator_are_counted_in_one_way(pattern: str) -> None:
    """`(\\w+\\s?){1,50}` beside a length had a state for each set of counts: 150 ms a mask."""
    constraint = regex(pattern)
    for n in range(8):
        for letters in itertools.product("ab", repeat=n):
            text = "".join(letters)
            assert constraint.matches(text) == bool(re.fullmatch(pattern, text)), text
    assert count_states(regex(pattern.replace("3", "50")).expression) < 250
