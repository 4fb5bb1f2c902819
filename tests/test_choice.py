"""choice(): exactly one of the options."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_py.constraints.choice import choice
from tokenizer_align.errors import EmptyLanguage, InvalidOption
from tokenizer_align.shortest import shortest


def test_only_whole_options_are_legal() -> None:
    c = choice(["yes", "no"])
    assert c.matches("yes") and c.matches("no")
    assert not any(c.matches(text) for text in ("", "ye", "yesno", "Yes", "yes ", " no"))


def test_an_option_may_begin_with_another() -> None:
    c = choice(["New", "New York", "York"])
    assert all(c.matches(text) for text in ("New", "New York", "York"))
    assert not any(c.matches(text) for text in ("New ", "New Y", "New York York", ""))


def test_options_of_several_bytes_a_character_are_matched_byte_by_byte() -> None:
    c = choice(["🐢!", "🦊!", "naïve", "東京"])
    assert c.matches("🦊!") and c.matches("東京") and c.matches("東京".encode())
    assert not c.matches("🐍!") and not c.matches("東".encode()[:2])


def test_the_value_is_the_text() -> None:
    assert choice(["1", "true"]).parse("1") == "1"


def test_repeated_options_count_once_and_an_empty_one_is_a_text() -> None:
    assert choice(["a", "b", "a"]) == choice(["a", "b"])
    assert choice(["", "x"]).matches("")
    assert not choice(["a"]).matches("")


def test_sets_tuples_and_generators_are_taken() -> None:
    assert choice({"b", "a"}) == choice({"a", "b"})
    assert choice(("a", "b")) == choice(letter for letter in "ab")


def test_ten_thousand_options() -> None:
    c = choice([f"item {n}" for n in range(10_000)])
    assert c.matches("item 9999") and not c.matches("item 10000") and not c.matches("item ")
    assert shortest(c.expression) == b"item 0"


def test_a_choice_is_a_value_that_can_be_pickled_and_combined() -> None:
    c = choice(["a", "b"])
    assert pickle.loads(pickle.dumps(c)) == c and hash(pickle.loads(pickle.dumps(c))) == hash(c)
    assert (c + choice(["!"])).matches("a!") and (c | choice(["c"])).matches("c")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("yes", "not the single str 'yes'"),
        (b"yes", "not the single bytes"),
        (7, "list of texts, not 7"),
        (["a", 1], r"options\[1\] is 1 \(int\).*Write '1'"),
        ([True, False], r"options\[0\] is True \(bool\)"),
        ([None], r"options\[0\] is None"),
        ([b"a"], r"options\[0\] is b'a' \(bytes\)"),
        ({"a": 1}, "not a mapping"),
        (["ok", "\ud83d"], r"options\[1\].*surrogate pair at position 0"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(options: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        choice(options)


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(EmptyLanguage, match="at least one option"):
        choice([])


@given(st.lists(st.text("ab🦊", max_size=4), min_size=1, max_size=8), st.text("ab🦊", max_size=4))
def test_matches_says_whether_the_text_is_an_option(options: list[str], text: str) -> None:
    assert choice(options).matches(text) == (text in options)


def test_several_texts_without_a_list_are_told_what_to_write() -> None:
    with pytest.raises(InvalidOption, match=r"Write choice\(\[\.\.\.\]\)"):
        choice("yes", "no")  # type: ignore[arg-type]
