"""Which bytes of a text belong to which part: against a slow search that tries everything."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_py.constraints.regex import regex
from domino_py.constraints.types import of_type
from tokenizer_align.expressions import EPSILON, Expr, Rule, alt, call, lit, seq
from tokenizer_align.recognizer import matches
from tokenizer_align.splits import split, split_repetition

PATTERNS = ["a", "b", "a*", "a?", "[ab]+", "(ab|a)", "b{0,2}", "", ".*", "a|ab|b", "(aa)+", "ba?"]


@lru_cache
def of(pattern: str) -> Expr:
    return regex(pattern).expression


def slow_split(parts: list[Expr], data: bytes, at: int = 0) -> list[int] | None:
    """The farthest end of the first part with which the others can be read, by trying all."""
    if not parts:
        return [at] if at == len(data) else None
    for end in range(len(data), at - 1, -1):
        if matches(parts[0], data[at:end]):
            rest = slow_split(parts[1:], data, end)
            if rest is not None:
                return [at, *rest]
    return None


def slow_items(item: Expr, lo: int, hi: int, data: bytes, separator: Expr, at: int = 0) -> list[tuple[int, int]] | None:
    """Items from `at` on, of which at least `lo`, by trying all; one that ends the text is the last if it may be."""
    if hi < 1:
        return None
    for end in range(len(data), at - 1, -1):
        if matches(item, data[at:end]):
            if end == len(data) and lo <= 1:
                return [(at, end)]
            for begin in range(len(data), end - 1, -1):
                if matches(separator, data[end:begin]):
                    rest = slow_items(item, lo - 1, hi - 1, data, separator, begin)
                    if rest is not None:
                        return [(at, end), *rest]
    return None


@given(st.lists(st.sampled_from(PATTERNS), max_size=4), st.text("ab", max_size=7))
@settings(max_examples=300)
def test_parts_take_from_left_to_right_what_they_can(patterns: list[str], text: str) -> None:
    parts = [of(pattern) for pattern in patterns]
    assert split(parts, text.encode()) == slow_split(parts, text.encode())


@given(
    st.sampled_from(PATTERNS),
    st.sampled_from([None, "", ",", ",?", "b", "a?"]),
    st.integers(0, 3),
    st.integers(0, 2),
    st.text("ab,", max_size=5),
)
@settings(max_examples=300)
def test_items_take_from_left_to_right_what_they_can(
    pattern: str, separator: str | None, lo: int, more: int, text: str
) -> None:
    item, data = of(pattern), text.encode()
    between = None if separator is None else of(separator)
    found = split_repetition(item, lo, lo + more, data, between)
    slow = [] if not data and lo == 0 else slow_items(item, lo, lo + more, data, between or EPSILON)
    assert found == slow
    unbounded = split_repetition(item, lo, None, data, between)
    assert found is None or unbounded is not None
    assert unbounded is None or len(unbounded) >= lo
    if unbounded is not None and len(unbounded) <= lo + more:
        assert unbounded == found


def test_parts_end_between_code_points() -> None:
    anything = regex("(?s).*").expression
    assert split([anything, anything], "é".encode()) == [0, 2, 2]
    assert split([regex("[^é]?").expression, anything], "é".encode()) == [0, 0, 2]


def test_recursive_parts_are_split_too() -> None:
    nested = Rule("nested")
    nested.define(alt(lit(b"()"), seq(lit(b"("), call(nested), lit(b")"))))
    assert split([call(nested), regex("[()]*").expression], b"((()))()") == [0, 6, 8]
    assert split([of_type(list[int]).expression, regex(".*").expression], b"[1, 2] [3]") == [0, 6, 10]


@pytest.mark.parametrize("n", [0, 1, 4_000])
def test_long_texts_between_free_parts_are_split(n: int) -> None:
    free = regex("(?s).*").expression
    assert split([free, free, free], b"ab" * n) == [0, 2 * n, 2 * n, 2 * n]
    assert split([free, lit(b"b"), free], b"ab" * n) == ([0, 2 * n - 1, 2 * n, 2 * n] if n else None)
    assert split_repetition(lit(b"ab"), 0, None, b"ab" * n) == [(2 * i, 2 * i + 2) for i in range(n)]


def test_a_text_that_is_none_has_no_split() -> None:
    assert split([of("a")], b"b") is None
    assert split_repetition(of("a"), 2, 3, b"a") is None
    assert split_repetition(of("a"), 0, 0, b"a") is None
    assert split([], b"") == [0] and split([], b"a") is None
