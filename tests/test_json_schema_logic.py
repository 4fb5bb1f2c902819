"""Schemas with negations: known answers for `not`, `if`, `oneOf`, dependencies and `unevaluatedProperties`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from domino_py.constraints.schema import json_schema
from tokenizer_align.errors import EmptyLanguage, UnsupportedSchema

KIND = {"properties": {"kind": {"const": "a"}}, "required": ["kind"]}


@pytest.mark.parametrize(
    ("schema", "legal", "illegal"),
    [
        ({"not": {"type": "string"}}, [1, None, [], {}], ["a"]),
        ({"type": "integer", "not": {"multipleOf": 3}}, [1, 2, -4], [3, 0, -6]),
        ({"type": "number", "not": {"type": "integer"}}, [1.5, -0.25], [1, 2]),
        ({"type": "string", "not": {"pattern": "^a"}}, ["", "b", "ba"], ["a", "ab"]),
        ({"type": "string", "not": {"enum": ["a", "b"]}}, ["", "c", "ab"], ["a", "b"]),
        ({"not": {"const": {"a": [1]}}}, [{"a": [2]}, {"a": 1}, {}, {"a": [1], "b": 1}, 1], [{"a": [1]}]),
        ({"oneOf": [{"minimum": 3}, {"multipleOf": 2}]}, [3, 2, 5, 0], [4, 1, "x"]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "null"}}, ["ab", None], ["a", 1]),
        (
            {"if": KIND, "then": {"required": ["x"]}, "else": {"maxProperties": 1}},
            [{"kind": "a", "x": 1}, {"kind": "b"}, {}, {"y": 1}],
            [{"kind": "a"}, {"kind": "b", "x": 1}],
        ),
        ({"type": "object", "not": {"required": ["a", "b"]}}, [{}, {"a": 1}, {"b": 1, "c": 1}], [{"a": 1, "b": 1}]),
        (
            {"type": "object", "not": {"properties": {"a": {"type": "null"}, "b": {"type": "null"}}}},
            [{"a": 1}, {"a": None, "b": 1}, {"b": 0, "a": 0}],
            [{}, {"a": None}, {"c": 1}],
        ),
        ({"type": "object", "not": {"additionalProperties": {"type": "null"}}}, [{"x": 1}], [{}, {"x": None}]),
        ({"type": "object", "not": {"propertyNames": {"maxLength": 1}}}, [{"xy": 1}], [{}, {"x": 1}]),
        ({"dependentRequired": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}, 3], [{"a": 1}]),
        (
            {"dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}}},
            [{"b": 1}, {"a": 1, "b": None}],
            [{"a": 1, "b": 1}],
        ),
        (
            {"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": False},
            [{}, {"a": 1, "b": 2}],
            [{"c": 1}],
        ),
        (
            {
                "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 1}}}],
                "unevaluatedProperties": False,
            },
            [{}, {"a": 1}, {"a": 1, "b": 1}],
            [{"a": 2, "b": 1}, {"a": 2}, {"c": 1}],
        ),
    ],
)
def test_values_of_a_schema(schema: Any, legal: list[Any], illegal: list[Any]) -> None:
    constraint = json_schema(schema)
    assert [value for value in legal if not constraint.matches(json.dumps(value))] == []
    assert [value for value in illegal if constraint.matches(json.dumps(value))] == []


def test_chains_of_if_by_one_key_stay_small() -> None:
    """Sixty cases have 2^60 combinations, of which hardly more than sixty can hold."""
    names = [f"k{i}" for i in range(60)]
    cases = [
        {"if": {"properties": {"kind": {"const": name}}, "required": ["kind"]}, "then": {"required": [f"x{i}"]}}
        for i, name in enumerate(names)
    ]
    constraint = json_schema({"type": "object", "properties": {"kind": {"enum": names}}, "allOf": cases})
    assert constraint.matches('{"kind":"k7","x7":1}') and not constraint.matches('{"kind":"k7","x8":1}')


def test_too_many_combinations_are_refused_with_their_number() -> None:
    cases = [{"oneOf": [{"required": [f"a{i}", "z"]}, {"required": [f"b{i}", "y"]}]} for i in range(12)]
    with pytest.raises(UnsupportedSchema, match="combinations of alternatives") as caught:
        json_schema({"allOf": cases})
    assert caught.value.problems[0].pointer.startswith("/allOf")


def test_what_a_key_again_could_take_back_is_not_legal() -> None:
    """Only the last value of a repeated key counts, so it must fail as well."""
    constraint = json_schema({"type": "object", "not": {"additionalProperties": {"type": "null"}}})
    assert not constraint.matches('{"x":1,"x":null}') and constraint.matches('{"y":null,"x":1}')


def test_an_enum_is_filtered_by_claims_in_any_order_of_keys() -> None:
    schema = {"enum": [{"fo": "a", "foo": 2}, {"fo": 1}], "not": {"patternProperties": {"^f": {"type": "integer"}}}}
    constraint = json_schema(schema)
    assert constraint.matches('{"fo":"a","foo":2}') and not constraint.matches('{"fo":1}')


def test_contradictions_through_negation_are_empty() -> None:
    with pytest.raises(EmptyLanguage):
        json_schema({"type": "string", "allOf": [{"maxLength": 3}, {"not": {"maxLength": 5}}]})


def test_one_of_many_open_objects_is_decided_by_the_key_that_tells_them_apart() -> None:
    names = [f"kind{i}" for i in range(20)]
    closed = {"type": "object", "additionalProperties": False}
    detail = [{**closed, "required": [name], "properties": {name: {"type": "string"}}} for name in names]
    branches = [
        {"type": "object", "properties": {"type": {"enum": [name]}, "detail": schema}}
        for name, schema in zip(names, detail, strict=True)
    ]
    constraint = json_schema({"oneOf": branches})
    assert constraint.matches('{"type": "kind3", "detail": {"kind3": "a"}}') and constraint.matches('{"type": "kind7"}')
    assert not constraint.matches('{"type": "kind3", "detail": {"kind4": "a"}}') and not constraint.matches("{}")
    assert constraint.matches('{"detail": {"kind3": "a"}}') and not constraint.matches('{"type": "kind20"}')
    assert not constraint.matches('{"detail": {}}') and not constraint.matches('{"detail": 1}')
