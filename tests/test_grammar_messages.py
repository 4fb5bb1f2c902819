"""What is said of wrong grammars: everything at once, nothing twice, and what stands on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import domino_py as domino
from domino_py.cli.app import app


def said(text: str, syntax: Any) -> list[tuple[int, int, str]]:
    with pytest.raises(domino.GrammarError) as caught:
        domino.grammar(text, syntax=syntax)
    return [(p.line, p.column, p.message.split("\n")[0]) for p in caught.value.problems]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("syntax", "text", "places"),
    [
        ("lark", "start: /a(/\nx: start /[b/", [(1, 10), (2, 1), (2, 11)]),
        ("lark", 'start: ("a"\nx: "b" )\ny: start x nope', [(1, 8), (2, 8), (3, 12)]),
        ("gbnf", 'root ::= ("a"\nb ::= "\\q"', [(1, 10), (2, 8)]),
        ("gbnf", 'root ::= "\\q"\na ::= nope\nb ::= b', [(1, 11), (2, 7), (3, 1)]),
        ("gbnf", 'root ::= ) a b\nb ::= ) c ::= "x"\na ::= b c nope', [(1, 10), (2, 7), (3, 11)]),
        ("ebnf", "a ::= b - 'x' | c - 'y'\nb ::= '(' b ')' | 'x'\nc ::= '(' c ')' | 'z'", [(1, 9), (1, 19)]),
        ("ebnf", "a ::= b - 'x' | nope\nb ::= '(' b ')' | 'x'", [(1, 9), (1, 17)]),
        ("ebnf", "a = ( 'x' ;\nb = a, nope ;\nc = c ;", [(1, 5), (2, 8), (3, 1)]),
        ("lark", "%import common.NOPE\n%import python.X\nstart: NOPE X y", [(1, 1), (2, 1), (3, 15)]),
        ("lark", 'start: two{"a"} x\ntwo{x, y}: ) x y', [(1, 17), (2, 12)]),
    ],
)
def test_a_problem_hides_no_other(syntax: Any, text: str, places: list[tuple[int, int]]) -> None:
    assert [place[:2] for place in said(text, syntax)] == places


def test_warnings_are_counted_for_themselves() -> None:
    with pytest.raises(domino.GrammarError, match=r"^1 problem and 1 warning in this GBNF grammar") as caught:
        domino.grammar('root ::= wrod\nword ::= "a"', syntax="gbnf")
    assert "\n  - warning: 'word' is defined but never used" in str(caught.value)


def test_a_schema_that_cannot_be_used_says_why_in_one_line() -> None:
    assert 'this schema cannot be used: "type" must be' in said('start: %json {"type": "objekt"}', "lark")[0][2]
    with pytest.raises(domino.TemplateError, match='cannot be used: "type" must be'):
        domino.template("{a}", a={"type": "objekt"})


def test_half_of_a_surrogate_pair_can_be_printed() -> None:
    with pytest.raises(domino.TemplateError) as caught:
        domino.template("\ud800{a}")
    assert str(caught.value).encode()


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_the_command_says_warnings_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.gbnf"
    path.write_text('root ::= "a"\nleft ::= "b"', encoding="utf-8")
    shown = invoke("check", "--grammar", str(path))
    assert (shown.exit_code, shown.output.count("never used"), caplog.records) == (0, 1, [])


def test_the_command_takes_a_start_rule_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.gbnf"
    path.write_text('root ::= left\nleft ::= "b"+ | root', encoding="utf-8-sig")
    assert invoke("check", "--grammar", str(path), "--text", "bb").exit_code == 0
    path.write_text('left ::= "b"+', encoding="utf-8")
    assert invoke("check", "--grammar", str(path)).exit_code == 1
    assert invoke("check", "--grammar", str(path), "--start", "left", "--text", "bb").exit_code == 0


def test_a_directory_is_no_grammar(tmp_path: Path) -> None:
    with pytest.raises(domino.InvalidOption, match="is a directory"):
        domino.grammar(tmp_path)
    with pytest.raises(domino.InvalidOption, match=r"a\.txt does not say its syntax"):
        domino.grammar(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("text", "syntax", "message", "hint"),
    [
        ("root : 'a'", "gbnf", "'::=' was expected after the name 'root', not ':'", "syntax='lark'"),
        ('root = "a"', "gbnf", "'::=' was expected after the name 'root', not '='", "syntax='ebnf'"),
        ('start ::= "a"', "lark", "':' was expected, not '::='", "syntax='gbnf'"),
        ('Start: "a"', "lark", "this name is in both cases", "upper-case"),
        ("start: INT\n%import common.INTT", "lark", "common has no INTT", "Did you mean INT?"),
    ],
)
def test_other_notations_are_told_by_their_signs(text: str, syntax: str, message: str, hint: str) -> None:
    with pytest.raises(domino.ConstraintError) as raised:
        domino.grammar(text, syntax=syntax)
    assert message in str(raised.value) and hint in str(raised.value)
