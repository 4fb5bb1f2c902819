"""A sub-schema that is said to have values has some; what is not sure is left to be built."""

from __future__ import annotations

from typing import Any

import pytest

import domino_py as domino
from domino_py.constraints.json_layout import style_from_options
from domino_py.constraints.schema_compile import SchemaCompiler
from domino_py.constraints.schema_document import Document
from domino_py.constraints.schema_surely import surely_has_values
from tokenizer_align.expressions import Rule
from tokenizer_align.productive import is_productive

SURE: list[Any] = [
    True,
    {},
    {"type": "string"},
    {"type": "string", "minLength": 2, "maxLength": 2},
    {"type": ["integer", "null"], "minimum": 10**30},
    {"type": "integer", "minimum": 1},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"enum": ["a", 1]},
    {"type": "string", "enum": ["a"]},
    {"const": None},
    {"type": "array", "items": False},
    {"type": "array", "items": {"pattern": "^a$"}, "uniqueItems": True, "maxItems": 3},
    {"type": "object", "properties": {"a": False}},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
    {"anyOf": [False, {"type": "boolean"}]},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "number"}}},
    {"required": ["a"]},
]
NOT_SURE: list[Any] = [
    False,
    {"type": "string", "pattern": "a"},
    {"type": "string", "minLength": 3, "maxLength": 2},
    {"type": "integer", "minimum": 2},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "integer", "multipleOf": 3},
    {"enum": []},
    {"type": "string", "enum": [1]},
    {"type": "string", "enum": ["\ud800"]},
    {"type": "string", "enum": ["a"], "maxLength": 0},
    {"type": "array", "minItems": 1},
    {"type": "array", "contains": False},
    {"type": "object", "properties": {"a": False}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "maxProperties": 0},
    {"type": "object", "required": ["b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "propertyNames": False},
    {"anyOf": [False, {"not": {}}]},
    {"allOf": [{"type": "string"}, {"type": "number"}]},
    {"not": {"type": "string"}},
    {"$ref": "#"},
    {"type": "null", "if": True, "then": False},
]


def compiler_of(schema: Any) -> SchemaCompiler:
    return SchemaCompiler(Document(schema), style_from_options("flexible", "bounded", 20))


@pytest.mark.parametrize("schema", SURE, ids=lambda schema: ascii(schema))
def test_what_is_sure_has_values(schema: Any) -> None:
    assert surely_has_values(compiler_of(schema), "")
    if isinstance(schema, dict):
        assert is_productive(compiler_of(schema)._body(frozenset([""])))


@pytest.mark.parametrize("schema", NOT_SURE, ids=lambda schema: ascii(schema))
def test_what_may_have_none_is_left_to_be_built(schema: Any) -> None:
    assert not surely_has_values(compiler_of(schema), "")


@pytest.mark.parametrize(
    "dead", [False, {"allOf": [{"type": "string"}, {"type": "number"}]}, {"enum": []}], ids=lambda schema: ascii(schema)
)
def test_keys_without_values_are_never_offered(dead: Any) -> None:
    schema = {"type": "object", "properties": {"dead": dead, "kind": {"type": "string"}}, "additionalProperties": False}
    constraint = domino.json_schema(schema)
    assert constraint.matches('{"kind": "x"}')
    assert not constraint.matches('{"dead": 1}')


def test_a_rule_that_surely_holds_text_is_not_made() -> None:
    made = []
    rule = Rule("late").define(lambda: made.append(1), lambda: True)  # type: ignore[arg-type, return-value]
    assert rule.surely_holds()
    assert not made
