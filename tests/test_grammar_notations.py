"""Corners of the notations: what llama.cpp, Lark, the W3C's and ISO's readers take and refuse."""

from __future__ import annotations

from typing import Any

import pytest

import domino_py as domino


@pytest.mark.parametrize(
    ("syntax", "text", "yes", "no"),
    [
        ("gbnf", 'root ::= "a\nb"', ["a\nb"], ["ab"]),
        ("gbnf", "root ::= [a\n]+", ["a\na"], ["b"]),
        ("gbnf", 'root ::= "\\\\\n" [\n\\]]', ["\\\n]", "\\\n\n"], ["\\\n"]),
        ("gbnf", '\ufeffroot ::= "a"', ["a"], [""]),
        ("lark", '\ufeffstart: "a"', ["a"], [""]),
        ("ebnf", "\ufeffa ::= 'a'", ["a"], [""]),
        ("lark", 'start: /a\n  b # c\n/x "c"', ["abc"], ["a b c"]),
        ("lark", 'start: "a" \\\n  "b" \\ \n | "c"', ["ab", "c"], ["a"]),
        ("lark", "%import common._EXP\n%import common._EXP\nstart: _EXP", ["e5", "E-7"], ["5"]),
        ("lark", "%import common._STRING_ESC_INNER\nstart: _STRING_ESC_INNER", ["", 'a\\"', "\\\\"], ["\\", "a\n"]),
        ("lark", "%import common (INT, WS)\n%import common.INT\n%ignore WS\nstart: INT+", ["1 2"], ["a"]),
        ("ebnf", 'a = "x" / "y" ! "z" ;', ["x", "y", "z"], ["xy", ""]),
        ("ebnf", 'a = (/ "x" / "y" /), (: "z" :) ;', ["", "x", "yzz"], ["xy"]),
        ("ebnf", 'a = (/ (: "x" :) /), ( "y" | (/"z"/) ) ;', ["", "xxz", "y"], ["yz"]),
        ("ebnf", 'a = "x" (* b (* c *) (* "d *) *), "y" (**) ;', ["xy"], ["x"]),
        ("ebnf", '(* a ::= (* b *) c *) a = "x" ;', ["x"], [""]),
        ("ebnf", '[1]  a ::= "x" b\n[2a] b ::= "y" [1]\nc ::= b', ["xy1"], ["xy"]),
        ("ebnf", 'a ::= [1] b\n  [2]\nb ::= "x"', ["1x2"], ["x"]),
    ],
)
def test_a_corner_of_a_notation(syntax: Any, text: str, yes: list[str], no: list[str]) -> None:
    grammar = domino.grammar(text, syntax=syntax)
    assert [one for one in yes if not grammar.matches(one)] == []
    assert [one for one in no if grammar.matches(one)] == []


@pytest.mark.parametrize(
    ("syntax", "text", "place"),
    [
        ("gbnf", 'root ::= "a"{,3}', (1, 14)),
        ("gbnf", 'root ::= "\\/"', (1, 11)),
        ("gbnf", "root ::= [\\^]", (1, 11)),
        ("lark", "start: /a\nb/", (1, 8)),
        ("lark", 'start: INT\n%import common.INT\nINT: "x"', (3, 1)),
        ("ebnf", 'a = "x" (* b (* c *) ;', (1, 9)),
        ("ebnf", 'a = (/ "x" ) ;', (1, 5)),
    ],
)
def test_what_a_notation_does_not_have_is_refused(syntax: Any, text: str, place: tuple[int, int]) -> None:
    with pytest.raises(domino.GrammarError) as caught:
        domino.grammar(text, syntax=syntax)
    assert [(p.line, p.column) for p in caught.value.problems] == [place]  # type: ignore[attr-defined]
