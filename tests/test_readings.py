"""Whether a text can be divided between two languages in two ways: against trying all short texts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_py.constraints.json import json
from domino_py.constraints.regex import regex
from domino_py.constraints.types import of_type
from tokenizer_align.readings import beginning, two_readings, without_calls
from tokenizer_align.recognizer import matches

PATTERNS = ["a", "a*", "a?", "(aa)*", "b", "ab|a", "bcd|c", "[ab]{1,2}", "a*b", "", "(?!aa)a*", "(a|b)*a"]
TEXTS = ["".join(letters).encode() for n in range(6) for letters in product("abcd", repeat=n)]


@settings(max_examples=60)
@given(st.sampled_from(PATTERNS), st.sampled_from(PATTERNS))
def test_two_readings_are_found_where_there_are_any(first: str, second: str) -> None:
    a, b = regex(first).expression, regex(second).expression
    found = two_readings(a, b)
    if found is None:
        assert not any(sum(matches(a, t[:i]) and matches(b, t[i:]) for i in range(len(t) + 1)) > 1 for t in TEXTS)
    else:
        assert found.early < found.late
        for place in (found.early, found.late):
            assert matches(a, found.text[:place]) and matches(b, found.text[place:])


@pytest.mark.parametrize("text", ["12", "-0.5e3", "a"])
def test_rules_that_do_not_recur_are_written_out(text: str) -> None:
    plain = without_calls(of_type(float).expression)
    assert plain is not None and not plain.has_call
    assert matches(plain, text.encode()) == of_type(float).matches(text)


def test_what_recurs_is_left_out_with_all_that_follows() -> None:
    word = regex("[a-z]").expression
    assert without_calls(json().expression) is None
    assert beginning([word, json().expression, word]) is word
