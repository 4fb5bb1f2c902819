r"""What regex() refuses, and where: malformed patterns as `re` does, what is not regular at its place; and sizes."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from domino_py.constraints.regex import regex
from tests.test_joined_repetitions import count_states
from tokenizer_align.errors import EmptyLanguage, InvalidOption, RegexError
from tokenizer_align.productive import is_productive
from tokenizer_align.shortest import shortest

MALFORMED = (Path(__file__).parent / "cases" / "malformed_patterns.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("pattern", MALFORMED)
def test_malformed_and_odd_patterns_are_refused_where_re_refuses_them(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except re.error as error:
            with pytest.raises(RegexError) as caught:
                regex(pattern)
            assert (caught.value.message, caught.value.position) == (error.msg, error.pos)
        else:
            regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "marked", "message"),
    [
        (r"x(\w+)-\1", r"\1", "reference to group 1, which can match more than 1,000 texts"),
        (r"x(?P<n>\w+)-(?P=n)", "n)", "reference to group 1, which can match more than 1,000 texts"),
        (r"(\ba|b)\1", r"\1", "holds a look-around or an anchor"),
        (r"(?=(a|ab))\1c", r"\1", "inside a look-around"),
        (r"(?:(a)|b)*\1", r"\1", "an earlier turn of a repetition"),
        (r"a(?:ab)*+(?:a|ab)*+", "*+", "a possessive quantifier"),
        (r"a(?>a*b*)c", "(?>", "an atomic group"),
        (r"a(?>b*?)c", "(?>", "an atomic group"),
        (r"a(?<=b|cd)e", "(?<=", "look-behind requires fixed-width pattern"),
        (r"a(?<=b\b)e", "(?<=", "a look-behind that looks ahead inside"),
        (r"a{1,10001}", "1,", "a count above 10,000"),
        (r"ab" + "(" * 60_000, "(" * 59_900, "nested more than 100 deep"),
    ],
)
def test_what_is_refused(pattern: str, marked: str, message: str) -> None:
    with pytest.raises(RegexError, match=re.escape(message)) as caught:
        regex(pattern)
    error = caught.value
    assert error.position == (pattern.rindex(marked) if marked != "(" * 59_900 else 102)
    shown = str(error).splitlines()
    assert shown[2].index("^") - 2 == error.position - max(0, error.position - 60)
    assert shown[1][shown[2].index("^")] == pattern[error.position]
    assert error.pattern == pattern


def test_an_error_shows_pattern_caret_and_advice() -> None:
    with pytest.raises(RegexError) as caught:
        regex(r"(\d+)-\1")
    assert str(caught.value) == (
        "a reference to group 1, which can match more than 1,000 texts at position 6\n"
        "  (\\d+)-\\1\n"
        "        ^\n"
        "This is not a regular language. Give the group finitely many texts, or repeat its pattern."
    )


@pytest.mark.parametrize("pattern", [b"a", None, 5, re.compile("a")])
def test_a_pattern_must_be_text(pattern: Any) -> None:
    with pytest.raises(InvalidOption, match="pattern must be a str"):
        regex(pattern)


@pytest.mark.parametrize("flags", [re.LOCALE, re.DEBUG, re.ASCII | re.UNICODE, "i", True, -1])
def test_flags_that_mean_nothing_here_are_refused(flags: Any) -> None:
    with pytest.raises(InvalidOption, match="flags"):
        regex("a", flags=flags)


@pytest.mark.parametrize("pattern", [r"a^b", r"[^\s\S]", r"(?!a)a", r"a\bb", "\ud800"])
def test_a_pattern_that_matches_nothing_is_an_empty_language(pattern: str) -> None:
    with pytest.raises(EmptyLanguage):
        regex(pattern).validate()


# Size. A budget here is a count of states, never a time.


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}", 10),
        (r"((25[0-5]|(2[0-4]|1[0-9]|[1-9]|)[0-9])\.){3}(25[0-5]|(2[0-4]|1[0-9]|[1-9]|)[0-9])", 30),
        (r"(?a)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", 20),
        (r"A: [a-z .,]{10,60}\. The answer is [1-9][0-9]{0,5}\.", 200),
        (r".*foo.*", 30),
        (r"[a-z]{1,100}[a-z]{1,100}", 210),
        (r"[a-z]{1,100}[a-z0-9]{1,100}", 210),
        (r"(a{1,100}){1,10}", 1_000),
        (r"(?:(?!foo)[a-z])*bar", 10),
        (r"(?:(?!-)[a-z0-9-]{1,63}(?<!-)\.)+[a-z]{2,6}", 140),
    ],
)
def test_common_patterns_have_few_states(pattern: str, most: int) -> None:
    assert count_states(regex(pattern).expression) <= most


def test_large_counts_cost_nothing_until_they_are_read() -> None:
    c = regex(r"(\w{1,10000}[ ,]*){1,10000}x")
    assert shortest(c.expression) == b"0x" and is_productive(c.expression)
    assert c.matches("ab, cd x") and not c.matches("ab")


def test_long_patterns_need_no_deep_recursion() -> None:
    for pattern in ["a?b" * 2_000, "[ab][cd]" * 2_000, "(a|b)" * 2_000, "|".join(f"w{n}" for n in range(3_000))]:
        assert is_productive(regex(pattern).expression)
    with pytest.raises(RegexError, match="nested too deeply"):
        regex(r"\ba" * 1_000)


def test_a_regex_is_a_value() -> None:
    c = regex(r"\d+", flags=re.A)
    assert c == regex(r"\d+", flags=re.ASCII) != regex(r"\d+")
    assert pickle.loads(pickle.dumps(c)) == c and hash(c) == hash(pickle.loads(pickle.dumps(c)))
    assert c.parse("12") == "12"
