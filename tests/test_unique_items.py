"""`uniqueItems` and `minProperties` where values are too many to be listed: by value, inside everything, in time."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import domino_py as domino
from domino_py import json_schema
from domino_py.measures import constraint_notes
from tests.reference.tiny_models import tiny_vocabulary
from tokenizer_align.compiled import Compiled
from tokenizer_align.matcher import Matcher
from tokenizer_align.partial_json import START, Ended, expected_of, read_on

STRINGS = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
OBJECTS = {"type": "array", "items": {"type": "object"}, "uniqueItems": True}


@pytest.mark.parametrize(
    ("schema", "legal", "illegal"),
    [
        (STRINGS, ["[]", '["a", "ab", ""]'], ['["a", "a"]', r'["a", "\u0061"]', '["a", "b", "a"]']),
        ({"uniqueItems": True, "type": "array"}, ['[1, "1", true, null, [1]]'], ["[1, 1.0]", "[[1], [1]]"]),
        ({"uniqueItems": True, "items": {"type": "number"}}, ["[0.1, 0.10001]"], ["[0.1, 1e-1]", "[0, -0]"]),
        (OBJECTS, ['[{"a": 1}, {"a": 2}, {}]'], ['[{"a": 1, "b": 2}, {"b": 2, "a": 1}]', "[{}, { }]"]),
        ({"type": "array", "minItems": 2, **OBJECTS}, ['[{"a": 1}, {}]'], ["[{}]", "[{}, {}]"]),
        ({"minProperties": 2}, ['{"a": 1, "b": 1}'], ['{"a": 1}', '{"a": 1, "a": 2}', r'{"a": 1, "\u0061": 2}']),
        ({"minProperties": 3, "required": ["x"]}, ['{"b": 1, "x": 1, "c": 1}'], ['{"b": 1, "x": 1, "b": 1}']),
        (
            {"type": "array", "uniqueItems": True, "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            ['["a", 1, "b"]'],
            ['["a", 1, 1]', '["a", 1, "a"]'],
        ),
        ({"type": "array", "uniqueItems": True, "contains": {"const": 1}}, ["[2, 1]"], ["[1, 1]", "[2, 3]"]),
    ],
)
def test_parts_differ_by_value(schema: Any, legal: list[str], illegal: list[str]) -> None:
    constraint = json_schema(schema)
    assert [text for text in legal if not constraint.matches(text)] == []
    assert [text for text in illegal if constraint.matches(text)] == []


@pytest.mark.parametrize(
    "items", [{"type": "integer", "minimum": 1, "maximum": 2}, {"type": "string", "pattern": "^[ab]$"}]
)
def test_more_items_than_values_are_a_contradiction(items: Any) -> None:
    schema = {"type": "array", "items": {"anyOf": [items, {"type": "integer", "multipleOf": 10**40}]}}
    with pytest.raises(domino.ConstraintError):
        _ = json_schema({**schema, "minItems": 10, "uniqueItems": True}).expression


VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 12, 1.5, "", "a", "ab", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abé"), inner, max_size=3),
    max_leaves=6,
)
SCHEMAS = [
    {"uniqueItems": True},
    {"uniqueItems": True, "minItems": 2},
    {"properties": {"a": {"uniqueItems": True, "maxItems": 2}}, "minProperties": 2},
    {"items": {"uniqueItems": True}, "uniqueItems": True},
    {"anyOf": [{"uniqueItems": True}, {"items": {"type": "string"}}], "minProperties": 3},
    {"$defs": {"n": {"uniqueItems": True, "items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"},
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SCHEMAS), VALUES)
def test_values_are_those_that_jsonschema_takes(schema: Any, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert json_schema(schema).matches(text) == Draft202012Validator(schema).is_valid(value)


@settings(max_examples=150, deadline=None)
@given(VALUES, VALUES, st.booleans())
def test_what_may_become_of_a_value_is_said_right_after_every_byte(value: Any, other: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode() + b","
    ended, another = read_on(START, text), read_on(START, json.dumps(other).encode() + b",")
    assert isinstance(ended, Ended) and ended.at == len(text) - 1 and isinstance(another, Ended)
    for cut in range(len(text) - 1):
        state = read_on(START, text[:cut])
        if not isinstance(state, Ended):
            assert expected_of(state, ended.value or ()) is not None
            assert read_on(state, text, cut) == ended
    assert (ended.value == another.value) == (json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True))


def matcher_after(schema: Any, text: bytes) -> Matcher:
    compiled = Compiled(json_schema(schema, whitespace="compact").expression, tiny_vocabulary())
    matcher = compiled.matcher()
    for token in compiled.engine.fewest_tokens(text) or ():
        matcher.advance(token)
    return matcher


def allows(matcher: Matcher, text: bytes) -> bool:
    runner = matcher.fork()
    for token in runner.compiled.engine.fewest_tokens(text) or ():
        mask = runner.mask()
        if not mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            return False
        runner.advance(token)
    return True


def test_a_quote_that_would_repeat_an_item_is_not_in_the_mask() -> None:
    matcher = matcher_after(STRINGS, b'["age","a')
    assert allows(matcher, b'ge1"') and not allows(matcher, b'ge"') and not allows(matcher, b'g\\u0065"')


def test_an_object_whose_last_value_is_decided_is_closed_by_the_mask_in_time() -> None:
    closed = {"properties": {"id": {"enum": ["x", "y"]}}, "required": ["id"], "additionalProperties": False}
    matcher = matcher_after(
        {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "object", **closed}]}, "uniqueItems": True},
        b'[{"id":"x"},',
    )
    assert allows(matcher, b'{"id":"y"}') and not allows(matcher, b'{"id":"x')


def test_the_shortest_completion_takes_other_items() -> None:
    matcher = matcher_after({**STRINGS, "minItems": 4}, b'["a",')
    values = json.loads(matcher.text_bytes() + matcher.shortest_completion())
    assert len(set(values)) == len(values) == 4
    budget = matcher.min_tokens()
    while not matcher.is_complete():
        mask = matcher.mask_within(budget)
        matcher.advance(int(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))[0]))
        budget -= 1
    assert budget >= 0 and json_schema({**STRINGS, "minItems": 4}).matches(matcher.text_bytes())


def test_what_came_is_forgotten_outside_the_array() -> None:
    schema = {"type": "array", "items": STRINGS}
    one, other = matcher_after(schema, b'[["age"]'), matcher_after(schema, b'[["name"]')
    one_after, other_after = one.shortest_completion(), other.shortest_completion()
    assert one_after == other_after and allows(one, b',["age"]')


IMPOSSIBLE = {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 2, "maxLength": 1}}
DEEP = {"type": "object", "required": ["x"], "properties": {"x": IMPOSSIBLE}}


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (
            {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"anyOf": [{"const": 1}, DEEP]}},
            "/uniqueItems",
        ),
        ({"uniqueItems": True, "minItems": 2, "prefixItems": [{"type": "string"}, {"const": "a"}]}, "/uniqueItems"),
        ({"minProperties": 3, "patternProperties": {"^[ab]$": {}}, "additionalProperties": DEEP}, "/minProperties"),
    ],
)
def test_parts_that_may_not_be_enough_are_refused_and_never_a_dead_end(schema: Any, pointer: str) -> None:
    kind = "array" if pointer == "/uniqueItems" else "object"
    with pytest.raises(domino.UnsupportedSchema) as caught:
        json_schema({"type": kind, **schema})
    assert [problem.pointer for problem in caught.value.problems] == [pointer]


def test_items_of_every_type_but_some_are_enough() -> None:
    constraint = json_schema({"uniqueItems": True, "minItems": 2, "items": {"not": {"type": ["string", "object"]}}})
    assert constraint.matches("[1, 2]") and not constraint.matches("[1, 1]")


def flags(n: int) -> tuple[dict[str, Any], list[dict[str, int]]]:
    """Arrays of different objects that hold `n` of two values each, and all such objects."""
    names = "abcdefghij"[:n]
    closed = {"properties": {name: {"enum": [1, 2]} for name in names}, "required": [*names]}
    items = {"type": "object", **closed, "additionalProperties": False}
    values = [dict(zip(names, value, strict=True)) for value in product([1, 2], repeat=n)]
    return {"type": "array", "items": items, "uniqueItems": True}, values


@pytest.mark.parametrize(("n", "n_used"), [(3, 7), (6, 40), (8, 200)])
def test_a_comma_is_legal_as_long_as_there_is_another_object(n: int, n_used: int) -> None:
    schema, values = flags(n)
    text = json.dumps(values[:n_used], separators=(",", ":"))[:-1].encode()
    matcher = matcher_after(schema, text)
    last = json.dumps(values[-1], separators=(",", ":")).encode()
    assert allows(matcher, b"," + last + b"]") and matcher.shortest_completion() == b"]"
    first = json.dumps(values[0], separators=(",", ":")).encode()
    assert not allows(matcher, b"," + first)


def test_what_is_too_hard_to_decide_is_said_in_the_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenizer_align.unique_runs.MAX_SEARCH", 1)
    monkeypatch.setattr("tokenizer_align.unique_counts.MAX_PLACES", 0)
    schema, values = flags(1)
    text = json.dumps(values[:1], separators=(",", ":"))[:-1].encode()
    assert not allows(matcher_after(schema, text), b",")
    assert any("left out" in note for note in constraint_notes(json_schema(schema, whitespace="compact"), text + b"]"))


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "shortest"),
    [
        ({"items": TEXT, "minItems": 2}, '["","a"]'),
        ({"items": TEXT, "minItems": 5, "maxItems": 5}, '["","a","b","c","d"]'),
        ({"minItems": 5, "maxItems": 5}, "[0,1,2,3,4]"),
        ({"items": {"type": "integer", "minimum": 8, "maximum": 5000}, "minItems": 4}, "[8,9,10,11]"),
        ({"prefixItems": [TEXT, {"anyOf": [{"const": ""}, {**TEXT, "minLength": 9}]}], "minItems": 2}, '["a",""]'),
        ({"items": TEXT, "contains": {"minLength": 3}, "minItems": 2}, '["","abc"]'),
        ({"items": {**STRINGS, "minItems": 2}, "minItems": 2}, '[["","a"],["a",""]]'),
    ],
)
def test_the_shortest_completion_is_as_short_as_can_be(schema: Any, shortest: str) -> None:
    matcher = matcher_after({"type": "array", "uniqueItems": True, **schema}, b"")
    assert len(matcher.shortest_completion()) == len(shortest)
