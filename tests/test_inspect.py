"""`inspect`: what a constraint allows at the start of a text and after some of it."""

from __future__ import annotations

import io
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import domino_py as domino
from domino_py.inspection import shown_bytes
from tests.tiny import tiny_tokenizer

CARD = domino.template("Name: {name}\nAge: {age}", name=domino.regex("[A-Z][a-z]+"), age=domino.regex("[0-9]{1,3}"))


def test_fixed_text_is_forced_and_the_shortest_text_is_shown() -> None:
    seen = domino.inspect(CARD)
    assert (seen.forced, seen.next_bytes, seen.is_complete) == ("Name: ", b"N", False)
    assert CARD.matches(seen.completion) and len(seen.completion) == seen.shortest_n_bytes == 15
    assert seen.parts == (("{name}", "regex [A-Z][a-z]+"), ("{age}", "regex [0-9]{1,3}"))


def test_after_a_text_what_may_follow_is_shown() -> None:
    seen = domino.inspect(CARD, "Name: Ada\nAge: 36")
    assert (seen.is_legal, seen.is_complete, seen.next_bytes, seen.forced) == (True, True, b"0123456789", "")
    assert seen.completion == ""
    assert domino.inspect(CARD, "Name: Ada\nAge: 360").next_bytes == b""


def test_a_text_that_is_not_legal_is_followed_as_far_as_it_is() -> None:
    seen = domino.inspect(CARD, "Name: ada")
    assert not seen.is_legal
    assert seen.n_legal_bytes == 6
    assert seen.next_bytes == bytes(range(ord("A"), ord("Z") + 1))
    assert "from byte 6 on ('ada')" in str(seen)
    assert domino.inspect(domino.regex("é"), "è").n_legal_bytes == 1


@pytest.mark.parametrize(
    ("subject", "after", "following"),
    [
        (domino.json(), "{", b'\n\r "}'),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, "[1,", b"\n\r 2"),
        (bool, "", b"ft"),
        (domino.grammar('root ::= "(" root ")" | "a"', syntax="gbnf"), "((", b"(a"),
        (domino.select("yes", "no"), "", b"ny"),
        (domino.repeat(domino.choice(["x"]), 1, 2, separator=", "), "x", b","),
    ],
)
def test_every_kind_of_constraint_can_be_looked_into(subject: object, after: str, following: bytes) -> None:
    seen = domino.inspect(subject, after)
    assert (seen.is_legal, seen.next_bytes) == (True, following)


def test_longest_texts_are_said_where_they_are_known() -> None:
    assert domino.inspect(CARD).longest_n_bytes is None
    assert domino.inspect(domino.regex("a{2,5}")).longest_n_bytes == 5
    assert domino.inspect(domino.json()).longest_n_bytes is None


def test_a_tokenizer_or_a_compiled_constraint_adds_tokens() -> None:
    compiled = domino.compile(CARD, tiny_tokenizer())
    for seen in (domino.inspect(compiled, "Name: A"), domino.inspect(CARD, "Name: A", tokenizer=tiny_tokenizer())):
        assert seen.n_legal_tokens is not None
        matcher = compiled.matcher()
        for token in tiny_tokenizer()("Name: A")["input_ids"]:
            matcher.advance(token)
        assert seen.n_legal_tokens == len(compiled.ids(matcher.mask()))
        assert all(matcher.accepts(token) and data for token, data in seen.tokens)
        assert "tokens" in str(seen)


def test_problems_are_shown() -> None:
    seen = domino.inspect({"type": "string", "minlength": 3})
    assert [problem.severity for problem in seen.problems] == ["warning"]
    assert "minLength" in str(seen)


def test_it_prints_in_plain_text_and_in_a_terminal() -> None:
    out = io.StringIO()
    seen = domino.inspect(CARD, "Name: ada")
    Console(file=out, width=120).print(seen)
    for shown in (out.getvalue(), str(seen), repr(seen)):
        assert all(word in shown for word in ("constraint", "{name}", "A-Z", "shortest rest", "not legal"))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (b"", ""),
        (b"ab", "a b"),
        (bytes(range(256)), "any character"),
        (b"0123456789", "0-9"),
        (b"XYZabc", "X-Z a-c"),
        (b"\t\n '\\", "\\t \\n blank ' \\"),
        (bytes([0x61, *range(0xC2, 0xF5)]), "a other characters"),
    ],
)
def test_bytes_are_shown_as_ranges(members: bytes, words: str) -> None:
    assert shown_bytes(members) == words


@pytest.mark.parametrize(("subject", "after"), [(None, ""), ("abc", ""), (int, 5), (["a"], "")])
def test_what_cannot_be_inspected_is_refused(subject: object, after: object) -> None:
    with pytest.raises(domino.InvalidOption):
        domino.inspect(subject, after)  # type: ignore[arg-type]


PATTERNS = ["a*b", "(ab|a)c?", "[ab]{2,3}", "ab|abc", "c(a|b)*c", "(?!aa)[abc]{2}"]
TEXTS = ["".join(letters) for n in range(6) for letters in product("abc", repeat=n)]


@settings(max_examples=40)
@given(st.sampled_from(PATTERNS), st.text("abc", max_size=3))
def test_what_is_said_is_what_the_legal_texts_say(pattern: str, after: str) -> None:
    seen = domino.inspect(domino.regex(pattern), after)
    legal = [text for text in TEXTS if domino.regex(pattern).matches(text)]
    n = max(n for n in range(len(after) + 1) if any(text.startswith(after[:n]) for text in legal))
    rests = [text[n:] for text in legal if text.startswith(after[:n])]
    assert seen.n_legal_bytes == n
    assert seen.is_complete == ("" in rests)
    assert seen.next_bytes.decode() == "".join(sorted({rest[0] for rest in rests if rest}))
    assert seen.completion in rests and len(seen.completion) == min(map(len, rests))
    assert all(rest.startswith(seen.forced) for rest in rests)
