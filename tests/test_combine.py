"""Sequences, alternatives and repetitions of constraints."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_py.constraints.choice import choice
from domino_py.constraints.combine import repeat
from domino_py.constraints.regex import regex
from tokenizer_align.errors import InvalidOption
from tokenizer_align.shortest import shortest


def test_one_after_the_other() -> None:
    c = regex("[a-z]+") + choice([": "]) + regex("[0-9]{1,3}")
    assert c.matches("age: 36") and not c.matches("age:36") and not c.matches("age: ")


def test_parts_are_not_mixed_up_where_they_overlap() -> None:
    c = regex("a*") + regex("a{2}")
    assert [n for n in range(6) if c.matches("a" * n)] == [2, 3, 4, 5]


def test_either_of_several() -> None:
    c = choice(["none"]) | regex("[0-9]+") | choice(["many"])
    assert all(c.matches(text) for text in ("none", "7", "many")) and not c.matches("none7")


def test_an_anchor_speaks_of_the_part_it_stands_in() -> None:
    assert (regex("^a$") + regex("^b$")).matches("ab")


def test_repetition_counts_turns() -> None:
    c = repeat(choice(["ab", "c"]), 2, 3)
    assert all(c.matches(text) for text in ("abc", "cc", "ababab", "cabc"))
    assert not any(c.matches(text) for text in ("", "c", "ab", "cccc"))
    assert repeat(choice(["x"]), 0).matches("") and repeat(choice(["x"]), 1).matches("x" * 50)
    assert repeat(choice(["x"]), 0, 0).matches("") and not repeat(choice(["x"]), 0, 0).matches("x")


def test_many_turns_stay_lazy() -> None:
    c = repeat(choice(["ab"]), 1_000, 10_000)
    assert shortest(c.expression) == b"ab" * 1_000
    assert c.matches("ab" * 1_001) and not c.matches("ab" * 999)


def test_separated_items() -> None:
    word = regex("[a-z]+")
    c = word + repeat(choice([", "]) + word, 0, 2)
    assert c.matches("a") and c.matches("a, b, c") and not c.matches("a, b, c, d") and not c.matches("a, ")


def test_an_empty_item_may_be_repeated() -> None:
    c = repeat(regex("a?"), 2, 3)
    assert [n for n in range(6) if c.matches("a" * n)] == [0, 1, 2, 3]


def test_combinations_are_values() -> None:
    c = repeat(regex("a") | choice(["b"]), 1, 4) + regex("c")
    assert pickle.loads(pickle.dumps(c)) == c and hash(c) == hash(pickle.loads(pickle.dumps(c)))
    assert c != repeat(regex("a") | choice(["b"]), 1, 5) + regex("c")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("a", 1, 2), "constraint"),
        ((choice(["a"]), -1, 2), "lo"),
        ((choice(["a"]), 3, 2), "hi"),
        ((choice(["a"]), 1.5, 2), "lo"),
        ((choice(["a"]), True, 2), "lo"),
        ((choice(["a"]), None, 2), "lo"),
        ((choice(["a"]), 1, "2"), "hi"),
    ],
)
def test_what_cannot_be_repeated_is_refused_by_name(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        repeat(*arguments)
    assert caught.value.name == name


def test_adding_a_bare_text_is_an_error() -> None:
    for combine in (lambda: choice(["a"]) + "b", lambda: "b" + choice(["a"]), lambda: choice(["a"]) | "b"):  # type: ignore
        with pytest.raises(InvalidOption, match=r"a constraint [+|] a str is none: wrap it in choice\(\['b'\]\)"):
            combine()
    with pytest.raises(InvalidOption, match="of_type"):
        _ = int | choice(["a"])


@given(st.integers(0, 3), st.integers(0, 3), st.text("ab", max_size=7))
def test_repetition_agrees_with_the_regex_of_the_same_counts(lo: int, more: int, text: str) -> None:
    c = repeat(choice(["a", "ab"]), lo, lo + more)
    assert c.matches(text) == regex(f"(?:a|ab){{{lo},{lo + more}}}").matches(text)


def test_what_is_no_text_is_named() -> None:
    for text in (3, None, ["a"]):
        with pytest.raises(InvalidOption, match="text must be a str or bytes"):
            choice(["a"]).matches(text)  # type: ignore[arg-type]
