r"""Assertions in Lark's regexes: refused where they look past the edge of their terminal, since that is not seen."""

from __future__ import annotations

import pytest

import domino_py as domino
from domino_py.constraints.regex import look_past_edges


def problems(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(domino.GrammarError) as caught:
        domino.grammar(text, syntax="lark")
    return [(p.line, p.column, p.message.split("\n")[0]) for p in caught.value.problems]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        (r"if(?![a-z])", 2),
        (r"if(?=;)", 2),
        (r"if\b", 2),
        (r"\bb", 0),
        (r"^b", 0),
        (r"(?m)^b", 4),
        (r"a$", 1),
        (r"a$\n", 1),
        (r"\Ab", 0),
        (r"b\Z", 1),
        (r"(?<=a)b", 0),
        (r"(?<!a)b", 0),
        (r"a\B", 1),
        (r"(?:a|b(?!c))d?", 6),
        (r"a*(?<!b)c", 2),
        (r"(?:a(?!b))*", 4),
        (r"(?=(?<=a)b)b", 3),
        (r"[a-z]++", 5),
    ],
)
def test_an_assertion_at_the_edge_of_a_terminal_is_refused_where_it_stands(pattern: str, position: int) -> None:
    found = problems(f'start: "x"? A "y"?\nA: /{pattern}/')
    assert found[0][:2] == (2, 5 + position)
    assert "of its terminal, which is not seen" in found[0][2]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"a\b-b", "a-b", "ab"),
        (r"a(?=b)b", "ab", "ac"),
        (r"a(?<!b)b", "ab", "b"),
        (r"(?!0000)[0-9]{4}", "0001", "0000"),
        (r"<!--(?:(?!-->)[^x])*-->", "<!--a-->", "<!---->-->"),
        (r"(?!(?:if|else)\b)[a-z]+", "iff", "if"),
        (r"(?!if(?![a-z]))[a-z]+", "iff", "if"),
    ],
)
def test_an_assertion_inside_a_terminal_is_read_as_it_stands(pattern: str, yes: str, no: str) -> None:
    grammar = domino.grammar(f"start: /{pattern}/", syntax="lark")
    assert (grammar.matches(yes), grammar.matches(no)) == (True, False)
    assert domino.check(grammar) == []


@pytest.mark.parametrize("pattern", [r"(?!if)[a-z]+", r"(?=.*[0-9])[a-z0-9]+", r"a(?<!ba)c", r"(?!if$)[a-z]+"])
def test_an_assertion_inside_that_could_look_further_gets_a_note(pattern: str) -> None:
    (note,) = domino.check(domino.grammar(f"start: /{pattern}/", syntax="lark"))
    assert note.severity == "note"
    assert "own text only" in note.message


def test_all_problems_of_regexes_in_a_rule_are_said_at_once() -> None:
    assert [place[:2] for place in problems(r'start: /a\b/ /(b/ /^c$/ nope "d"')] == [
        *((1, 10), (1, 15), (1, 20), (1, 22)),
        (1, 25),
    ]


def test_a_regex_that_matches_nothing_is_named_itself() -> None:
    assert problems('start: "a" | /a^b/\nx: start /b(?=c)d/') == [
        (1, 14, "no text matches this regex"),
        (2, 1, "'x' is defined but never used"),
        (2, 10, "no text matches this regex"),
    ]


def test_regexes_of_their_own_keep_their_anchors() -> None:
    assert domino.regex(r"^if\b$").matches("if")
    assert domino.template("{a}!", a=domino.regex(r"^\w+\b$")).matches("ab!")
    assert look_past_edges("[a-z]+", 0) == []
