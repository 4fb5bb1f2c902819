"""`token`, `after` and `think` without a model: which texts match, what they stand for, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import domino_py as domino

YES = domino.choice(["yes", "no"])
TYPO = {"type": "object", "properties": {"a": {"type": "string", "minlength": 3}}}


@pytest.mark.parametrize(
    ("constraint", "legal", "illegal"),
    [
        (domino.token("<a>") + YES, ["<a>yes"], ["yes", "<a>", "<a><a>yes"]),
        (
            domino.after("A: ", YES),
            ["", "text A", "x A: yes", "A: no and A: yes.", "A:yes", "é A: no 🥐"],
            ["A: ", "x A: maybe"],
        ),
        (domino.after("A: ", YES, at_least=1), ["x A: yes y", "A: no"], ["", "x", "A:yes"]),
        (domino.after("A: ", YES, at_most=1), ["x", "A: yes x"], ["A: yes A: no"]),
        (domino.after("A: ", YES, tail=False), ["x", "x A: yes", "A: yes x A: no"], ["A: yes x"]),
        (domino.after("A: ", YES, at_least=2, at_most=2, tail=False), ["A: yesA: no"], ["A: yes", "A: yesA: noA: no"]),
        (domino.after("aa", domino.regex("b")), ["a", "aab", "xaabaab"], ["aa", "aaab", "aaa"]),
        (
            domino.after({"<x>": domino.regex("1"), "x>": domino.regex("2")}),
            ["<x>1", "x>2", "<x>1x>2"],
            ["<x>2", "x>1"],
        ),
        (domino.after("<", domino.json()), ['a <{"b": "<"} c', "<1<2"], ["<", "< "]),
        (domino.think(YES), ["<think></think>yes", "<think>a\n</think>\n\nno", "a</think>no"], ["yes", "<think>yes"]),
        (domino.think(YES), [], ["<think>a</think>\n\n\nno", "<think>a</think>b</think>no"]),
        (domino.think(YES, opened=True), ["a</think>yes"], ["yes"]),
        (domino.think(YES, opened=False), ["<think>a</think>yes"], ["a</think>yes", "<think>yes"]),
        (domino.think(YES, start="[T]", end="[/T]"), ["[T]</think>[/T]yes"], ["<think></think>yes"]),
    ],
)
def test_matches(constraint: domino.Constraint, legal: list[str], illegal: list[str]) -> None:
    assert [text for text in legal if not constraint.matches(text)] == []
    assert [text for text in illegal if constraint.matches(text)] == []
    assert domino.check(constraint) == []


def test_values_of_regions() -> None:
    constraint = domino.after({"N=": domino.of_type(int), "P=": domino.of_type(list[int])})
    found = constraint.parse("Let N=12, and P=[1, 2]; N=3")
    assert [(one.trigger, one.value) for one in found] == [("N=", 12), ("P=", [1, 2]), ("N=", 3)]
    assert [one.start for one in found] == [6, 16, 26]
    assert constraint.parse("nothing") == []
    with pytest.raises(domino.ConstraintError):
        constraint.parse("N=x")


def test_a_region_may_hold_a_trigger() -> None:
    constraint = domino.after("<<", domino.regex("[a-z<]+;"), at_least=1)
    assert [one.text for one in constraint.parse("x <<a<<b; y")] == ["a<<b;"]


def test_the_value_of_thoughts_is_the_answer() -> None:
    constraint = domino.think(domino.of_type(dict[str, int]))
    assert constraint.parse('<think>{"a": 0}?</think>\n{"a": 1}') == {"a": 1}
    with pytest.raises(domino.ConstraintError, match="closing tag"):
        constraint.parse('{"a": 1}')


def test_types_and_schemas_may_stand_where_constraints_do() -> None:
    assert domino.think(bool).parse("<think>x</think>true") is True
    assert domino.after("=", {"enum": [1, 2]}).matches("x=2")


def test_regions_can_be_parts_of_others() -> None:
    inner = domino.after("#", domino.regex("[0-9]"), at_least=1, tail=False)
    constraint = domino.choice(["["]) + inner + domino.choice(["]"])
    assert constraint.matches("[a#1]") and not constraint.matches("[a#]")
    nested = domino.think(domino.after("=> ", domino.think(YES, start="(", end=")"), at_least=1))
    assert nested.matches("<think>a</think>so => (hm)no")
    assert nested.holds_markers and constraint.holds_markers and not domino.regex("a").holds_markers


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: domino.token(""), "a token's text"),
        (lambda: domino.token(7), "a token's text"),  # type: ignore[arg-type]
        (lambda: domino.after("", YES), "a token's text"),
        (lambda: domino.after("a"), "needs a constraint"),
        (lambda: domino.after({}), "at least one trigger"),
        (lambda: domino.after({"a": YES}, YES), "in the dict"),
        (lambda: domino.after({"<tool": YES, "<tool_call>": YES}), "never reached"),
        (lambda: domino.after("a", YES, at_least=-1), "at_least"),
        (lambda: domino.after("a", YES, at_least=2, at_most=1), "at_most"),
        (lambda: domino.after("a", YES, max_tokens=1.5), "max_tokens"),  # type: ignore[arg-type]
        (lambda: domino.after("a", "yes"), "bare string"),
        (lambda: domino.think(None), "needs a constraint"),
        (lambda: domino.think(YES, start="<a>"), "together"),
        (lambda: domino.think(YES, start="<a>", end="<a>"), "closing tag"),
        (lambda: domino.think(YES, max_tokens=-1), "max_tokens"),
        (lambda: domino.think(YES, max_tokens=10**9), "max_tokens"),
    ],
)
def test_mistakes_are_named(make: Any, message: str) -> None:
    with pytest.raises(domino.InvalidOption, match=message):
        make()


def test_what_is_worth_knowing_about_parts_is_said() -> None:
    odd = domino.json_schema({"type": "string", "minlength": 3})
    for constraint in (
        domino.think(odd),
        domino.after("x", odd),
        domino.tools([{"name": "f", "parameters": TYPO}], format="llama3"),
    ):
        assert any("minlength" in str(problem) for problem in domino.check(constraint))


def test_thousands_of_regions_are_read() -> None:
    assert len(domino.after("T", domino.regex("a")).parse("Ta" * 2000)) == 2000


@pytest.mark.parametrize(
    ("constraint", "text", "n"),
    [
        (domino.after("T", domino.regex("[aT]*b?"), at_least=14), "Taa" * 14, 14),
        (domino.after("T", domino.regex("a+(Ta+)?"), at_least=30, tail=False), "Ta" * 30, 30),
        (domino.after("T", domino.regex("[ab]*"), tail=False), "Tababab" * 12 + "!", None),
    ],
)
def test_no_place_of_an_ambiguous_text_is_split_twice(constraint: domino.Constraint, text: str, n: int | None) -> None:
    """Regression: every combination of ends was tried."""
    if n is None:
        with pytest.raises(domino.ConstraintError):
            constraint.parse(text)
    else:
        assert len(constraint.parse(text)) == n
