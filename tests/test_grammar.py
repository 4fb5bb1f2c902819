"""`grammar()`: known answers in three notations, what is refused and where, files, pickling, checks."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import domino_py as domino
from domino_py.constraints.grammar_source import MAX_DEPTH
from tests.shared_data import shared_lines
from tokenizer_align.errors import InvalidOption

CASES = Path(__file__).parent / "cases"


def rows(name: str) -> list[Any]:
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return [pytest.param(row := json.loads(line), id=row["name"]) for line in lines]


@pytest.mark.parametrize("case", rows("grammars.jsonl"))
def test_known_texts(case: dict[str, Any]) -> None:
    grammar = domino.grammar(case["text"], syntax=case["syntax"])
    assert [text for text in case["accept"] if not grammar.matches(text)] == []
    assert [text for text in case["reject"] if grammar.matches(text)] == []


@pytest.mark.parametrize("case", rows("malformed_grammars.jsonl"))
def test_problems_have_their_places(case: dict[str, Any]) -> None:
    with pytest.raises(domino.GrammarError) as caught:
        domino.grammar(case["text"], syntax=case["syntax"])
    found = [(p.line, p.column, p.message) for p in caught.value.problems]  # type: ignore[attr-defined]
    assert [place[:2] for place in found] == [tuple(place[:2]) for place in case["problems"]]
    for (_, _, message), (_, _, part) in zip(found, case["problems"], strict=True):
        assert part in message


def test_an_error_shows_the_line_and_a_caret() -> None:
    with pytest.raises(domino.GrammarError) as caught:
        domino.grammar('root ::= item\nitem ::= "a" | iten', syntax="gbnf")
    assert str(caught.value) == (
        "1 problem in this GBNF grammar.\n"
        "  - the rule 'iten' is not defined, at line 2, column 16\n"
        '    item ::= "a" | iten\n'
        "                   ^\n"
        "    Did you mean 'item'?"
    )


def test_the_syntax_is_never_guessed() -> None:
    with pytest.raises(domino.InvalidOption, match="no syntax"):
        domino.grammar('root ::= "a"')
    with pytest.raises(domino.InvalidOption, match="bnf"):
        domino.grammar('root ::= "a"', syntax="bnf")  # type: ignore[arg-type]
    with pytest.raises(domino.InvalidOption, match="str or a Path"):
        domino.grammar(b"root", syntax="gbnf")  # type: ignore[arg-type]


def test_a_grammar_out_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "one.gbnf"
    path.write_text('root ::= "é"', encoding="utf-8")
    assert domino.grammar(path).matches("é")
    other = tmp_path / "one.txt"
    other.write_text('start: "a"', encoding="utf-8")
    assert domino.grammar(other, syntax="lark").matches("a")
    with pytest.raises(domino.InvalidOption, match="syntax"):
        domino.grammar(other)


def test_another_start_rule() -> None:
    text = 'root ::= "a" b\nb ::= "b"'
    assert domino.grammar(text, syntax="gbnf", start="b").matches("b")
    with pytest.raises(domino.GrammarError, match="start='b'"):
        domino.grammar(text, syntax="gbnf", start="bb")


def test_grammars_are_values() -> None:
    one, two = (domino.grammar('root ::= root "a" | "b"', syntax="gbnf") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)).matches("ba")
    assert (one + domino.choice(["!"])).matches("baa!")


def test_check_lists_what_is_unused_as_a_warning() -> None:
    problems = domino.check(domino.grammar('root ::= "a"\nleft ::= "b"', syntax="gbnf"))
    assert [(p.severity, p.pointer) for p in problems] == [("warning", "line 2, column 1")]


def test_brackets_inside_each_other_have_a_limit() -> None:
    deep = "(" * (MAX_DEPTH - 1) + '"a"' + ")" * (MAX_DEPTH - 1)
    assert domino.grammar(f"root ::= {deep}", syntax="gbnf").matches("a")
    with pytest.raises(domino.GrammarError, match="nested"):
        domino.grammar(f"root ::= (({deep}))", syntax="gbnf")


@pytest.mark.parametrize(
    "text",
    [
        "start: a\na: b? a? | 'x'",
        "start: %json",
        'start: "a" ~',
        "start: %json {}",
        "%import",
        "%ignore",
        "start: [",
        "start{}: x",
        'start: "\\',
        "start: /",
        "->",
        "start: a{",
        "\x00",
    ],
)
def test_nonsense_is_refused_with_a_place_or_taken(text: str) -> None:
    for syntax in ("gbnf", "lark", "ebnf"):
        try:
            domino.grammar(text, syntax=syntax)
        except domino.GrammarError as error:
            assert all("line 1" in p.pointer or "line 2" in p.pointer for p in error.problems)


def test_a_regular_grammar_needs_no_stack() -> None:
    """Rules that only recur at one end, alone or together, are one automaton."""
    for text in (
        "root ::= digit | root digit\ndigit ::= [0-9]",
        'root ::= "a" x | "b"\nx ::= "c" root | "d" x | "e"',
        'root ::= x "a" | "b"\nx ::= root "c" | x "d" | "e"',
    ):
        assert not domino.grammar(text, syntax="gbnf").expression.has_call


def test_a_template_that_grows_without_end_is_refused() -> None:
    with pytest.raises(domino.GrammarError, match="without end"):
        domino.grammar('start: a{"x"}\na{t}: t a{(t t)} | t', syntax="lark")


def test_the_examples_of_the_documentation_are_as_they_say() -> None:
    page = (Path(__file__).parent.parent / "docs" / "grammars.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```", page, re.S)
    assert len(blocks) == 4
    wrong: dict[str, Any] = {
        "gbnf": 'root ::= item\nitem ::= "a" | iten',
        "lark": "start: KW NAME?\nKW: /if(?![a-z])/\nNAME: /[a-z]+/",
    }
    for kind, text in blocks:
        if kind == "python":
            names: dict[str, Any] = {}
            *lines, last = text.strip().split("\n")
            exec("\n".join(lines), names)
            code, expected = last.split("  # ")
            assert eval(code, names) is (expected == "True")
        elif text.startswith("start:"):
            assert domino.grammar(text, syntax="lark").matches("ifxtheny")
        else:
            syntax: Any = "lark" if "Lark" in text else "gbnf"
            with pytest.raises(domino.GrammarError) as caught:
                domino.grammar(wrong[syntax], syntax=syntax)
            assert str(caught.value) == text.strip("\n")
    for name in re.findall(r"`(?:domino\.grammars)?\.([a-z_]+)`", page):
        assert getattr(domino.grammars, name).matches is not None


def test_cases_reported_by_users() -> None:
    cases = [case for case in shared_lines("cases/constraints.jsonl") if case["kind"] == "grammar"]
    assert cases
    for case in cases:
        given = case["constraint"]
        try:
            grammar = domino.grammar(given["text"], syntax=given["syntax"], start=given.get("start"))
        except domino.GrammarError:
            assert "rror" in case["expected"], case["id"]
            continue
        assert [text for text in case["accept"] or () if not grammar.matches(text)] == [], case["id"]
        assert [text for text in case["reject"] or () if grammar.matches(text)] == [], case["id"]


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ('root ::= "a"\nx ::= "\ud800+"', "gbnf"),
        ("root ::= .\nx ::= [a\udfff]", "gbnf"),
        ('start: "b"\nx: "\ud800"', "lark"),
        ("start: /b/\nx: /\ud800/", "lark"),
        ('a = "b" ;\nc = "\udc00" ;', "ebnf"),
    ],
    ids=ascii,
)
def test_halves_of_surrogate_pairs_are_refused_where_they_stand(text: str, syntax: Any) -> None:
    with pytest.raises(domino.GrammarError, match="half of a surrogate pair") as caught:
        domino.grammar(text, syntax=syntax)
    assert [problem.line for problem in caught.value.problems] == [2]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidOption, match=r"none.gbnf: No such file or directory. A relative path is looked for from /"
    ):
        domino.grammar(Path("none.gbnf"))
    (tmp_path / "latin.gbnf").write_bytes(b'root ::= "\xe9"')
    with pytest.raises(InvalidOption, match=r"latin.gbnf: not UTF-8"):
        domino.grammar(tmp_path / "latin.gbnf")
