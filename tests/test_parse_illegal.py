"""`parse` gives a value for legal texts only: every kind of constraint refuses others, and says where they go wrong."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import domino_py as domino
from domino_py.partial_json import partial_json
from domino_py.records import read_json, write_json

YES = domino.choice(["yes", "no"])


def get(city: str) -> str:
    return city


def calls(format: str, tool_choice: str = "required") -> domino.Constraint:
    return domino.tools([get], tool_choice=tool_choice, format=format)


CASES: list[tuple[domino.Constraint, str, list[str]]] = [
    (YES, "yes", ["maybe", "", "yess", "ye"]),
    (domino.regex("[a-z]+"), "ab", ["", "aB"]),
    (domino.json(), "[1]", ["", "[1", "nul", "NaN"]),
    (domino.json_schema({"type": "integer"}), "12", ['"q"', "1.5", ""]),
    (domino.json_schema({"enum": ["a"]}, whitespace="compact"), '"a"', ['"b"', ' "a" ']),
    (domino.of_type(int), "12", ['"q"', "x", ""]),
    (domino.of_type(Literal["a"]), '"a"', ['"b"', "a"]),
    (domino.of_type(dict[str, int]), '{"a": 1}', ['{"a": "b"}', "{"]),
    (domino.grammar('root ::= "a" root | "b"', syntax="gbnf"), "aab", ["aa", "", "abb"]),
    (domino.token("<x>"), "<x>", ["<y>", ""]),
    (domino.think(YES), "<think>so</think>\nno", ["no", "<think>so</think>\nmaybe", "<think>so"]),
    (domino.after("A: ", YES, at_least=1), "so A: yes", ["so", "so A: maybe"]),
    (domino.after("A: ", YES, tail=False), "so A: yes", ["so A: yes, so"]),
    (domino.select("yes", later=YES), "no", ["maybe"]),
    (domino.repeat(YES, 1, 2), "yesno", ["", "yesnono"]),
    (YES + YES, "noyes", ["no"]),
    (YES | domino.regex("[0-9]"), "7", ["77"]),
    (domino.template("a {b}", b=YES), "a no", ["a maybe", "b no"]),
    (calls("hermes"), '<tool_call>\n{"name": "get", "arguments": {"city": "x"}}\n</tool_call>', ["so", "{}"]),
    (calls("hermes", "auto"), "so", ['<tool_call>\n{"name": "get", "arguments": {"city": 1}}\n</tool_call>']),
    (calls("llama3"), '{"name": "get", "parameters": {"city": "x"}}', ["so", '{"name": "set", "parameters": {}}']),
    (calls("mistral"), '[TOOL_CALLS][{"name": "get", "arguments": {"city": "x"}}]', ["so", "[TOOL_CALLS]"]),
    (calls("mistral-args"), '[TOOL_CALLS]get[ARGS]{"city": "x"}', ["so", "[TOOL_CALLS]get[ARGS]{}"]),
]


@pytest.mark.parametrize(("constraint", "legal", "illegal"), CASES)
def test_texts_that_are_not_legal_have_no_value(constraint: domino.Constraint, legal: str, illegal: list[str]) -> None:
    constraint.parse(legal)
    for text in illegal:
        assert not constraint.matches(text)
        with pytest.raises(domino.ConstraintError):
            constraint.parse(text)


@pytest.mark.parametrize(
    ("constraint", "text", "message"),
    [
        (YES, "nope", "'nope' is no text of this choice constraint: 'pe' cannot stand at character 2"),
        (YES, "ye", "'ye' is no text of this choice constraint: it cannot end there"),
        (domino.template("a {b}", b=YES), "a é", "'é' cannot stand at character 2"),
        (domino.json(), "[1", "not JSON"),
    ],
)
def test_the_error_says_where_it_goes_wrong(constraint: Any, text: str, message: str) -> None:
    with pytest.raises(domino.ConstraintError) as caught:
        constraint.parse(text)
    assert message in str(caught.value)


def test_whole_numbers_of_any_length_are_read() -> None:
    digits = "1" * 5000
    assert domino.json(digits="unbounded").parse(digits) == (10**5000 - 1) // 9
    assert domino.of_type(int, digits="unbounded").parse(digits) == (10**5000 - 1) // 9
    assert partial_json(f"[{digits},") == [(10**5000 - 1) // 9]
    assert write_json(read_json(digits)) == digits
