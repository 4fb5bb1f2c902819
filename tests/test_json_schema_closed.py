"""What `additional_properties=False` closes, and what it leaves open: the rule of docs/json_schema.md, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from domino_py import json_schema

A: dict[str, Any] = {"properties": {"a": {}}}
B: dict[str, Any] = {"properties": {"b": {}}}
ONE_THEN_B: dict[str, Any] = {"if": {"properties": {"a": {"const": 1}}}, "then": B}
CLOSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (A, {"b": 1}),
    ({"required": ["a"]}, {"a": 1, "b": 1}),
    ({"properties": {"a": B}}, {"a": {"c": 1}}),
    ({"allOf": [A, B]}, {"c": 1}),
    ({"$ref": "#/$defs/x", "$defs": {"x": A}}, {"b": 1}),
    ({**A, "patternProperties": {"^x": {}}}, {"b": 1}),
    ({**A, "propertyNames": {"maxLength": 3}}, {"b": 1}),
    ({"oneOf": [{**A, "required": ["a"]}, {**B, "required": ["b"]}]}, {"a": 1, "c": 1}),
    ({**A, **ONE_THEN_B}, {"a": 2, "b": 1}),
    ({**A, "not": {**B, "required": ["b"]}}, {"c": 1}),
]
OPEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "object"}, {"b": 1}),
    ({"properties": {}}, {"b": 1}),
    ({**A, "additionalProperties": True}, {"b": 1}),
    ({"allOf": [A, {"additionalProperties": {"type": "integer"}}]}, {"b": 1}),
    ({**A, "unevaluatedProperties": {"type": "integer"}}, {"b": 1}),
    ({**A, "patternProperties": {"^x": {}}}, {"x1": 1}),
    ({"anyOf": [A, {}]}, {"b": 1}),
    ({"not": {"properties": {"a": {"type": "string"}}}}, {"a": 1, "b": 1}),
]
NAMED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"allOf": [A, B]}, {"a": 1, "b": 1}),
    ({**A, "anyOf": [{"required": ["b"]}, {"required": ["c"]}]}, {"c": 1}),
    ({**A, "dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 1}),
    ({**A, "dependentSchemas": {"x": B}}, {"x": 1}),
    ({**A, **ONE_THEN_B}, {"a": 1, "b": 1}),
    ({**A, "not": {"properties": {"b": {"type": "string"}}, "required": ["b"]}}, {"b": 1}),
]


@pytest.mark.parametrize(("schema", "value"), CLOSED)
def test_objects_that_name_keys_and_say_nothing_of_others_are_closed(
    schema: dict[str, Any], value: dict[str, Any]
) -> None:
    text = json.dumps(value)
    assert json_schema(schema).matches(text) and not json_schema(schema, additional_properties=False).matches(text)


@pytest.mark.parametrize(("schema", "value"), OPEN)
def test_what_names_no_key_or_speaks_of_others_stays_open(schema: dict[str, Any], value: dict[str, Any]) -> None:
    assert json_schema(schema, additional_properties=False).matches(json.dumps(value))


@pytest.mark.parametrize(("schema", "value"), NAMED)
def test_keys_that_any_part_names_may_come(schema: dict[str, Any], value: dict[str, Any]) -> None:
    assert json_schema(schema, additional_properties=False).matches(json.dumps(value))
