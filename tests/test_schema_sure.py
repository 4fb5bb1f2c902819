"""Sub-schemas that surely have values: what is said without building is so, and common schemas are told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import domino_py as domino
from domino_py.constraints.json_layout import JsonStyle
from domino_py.constraints.json_numbers import Digits
from domino_py.constraints.schema_compile import SchemaCompiler
from domino_py.constraints.schema_document import Document
from domino_py.constraints.schema_leaves import language_of, leaf_key
from domino_py.constraints.schema_source import read_schema
from domino_py.constraints.schema_sure import SureValues
from tests.schema_strategies import documents
from tokenizer_align.errors import ConstraintError
from tokenizer_align.expressions import K_CALL, Expr
from tokenizer_align.productive import is_productive

SURE: list[Any] = [
    True,
    {},
    {"type": "string", "description": "a name"},
    {"type": ["string", "null"], "minLength": 3, "maxLength": 3},
    {"type": "string", "pattern": "^a+$"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "unknown"},
    {"type": "integer", "minimum": 0},
    {"enum": ["a", 1]},
    {"type": "integer", "enum": ["a", 1]},
    {"const": None},
    {"type": "array", "items": False},
    {"type": "array", "items": {"type": "string"}, "minItems": 2},
    {"type": "object", "properties": {"a": False}},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
    {"anyOf": [False, {"type": "string"}]},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
    {"type": "object", "properties": {"a": {"$ref": "#"}}},
]
NOT_SURE: list[Any] = [
    False,
    {"type": "string", "minLength": 3, "maxLength": 2},
    {"type": "string", "pattern": "a(?!.)b"},
    {"type": "string", "pattern": "^a$", "minLength": 2},
    {"type": "integer", "minimum": 3, "exclusiveMaximum": 4},
    {"type": "string", "enum": [1]},
    {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6},
    {"type": "array", "items": False, "minItems": 1},
    {"type": "array", "items": {"type": "null"}, "minItems": 2, "uniqueItems": True},
    {"type": "array", "minItems": 2, "maxItems": 1},
    {"type": "object", "properties": {"a": False}, "required": ["a"]},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "required": ["a"], "propertyNames": {"maxLength": 0}},
    {"type": "object", "required": ["a", "b"], "maxProperties": 1},
    {"type": "object", "minProperties": 1, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"allOf": [{"type": "string"}, {"type": "null"}]},
]


def compiler_of(schema: Any, **options: Any) -> SchemaCompiler:
    return SchemaCompiler(Document(read_schema(schema)[1]), options.pop("style", JsonStyle()), **options)


def body_of(compiler: SchemaCompiler, pointer: str) -> Expr:
    """What a sub-schema is built to."""
    node = compiler.value([pointer])
    body: Expr = node.data.body if node.kind == K_CALL else node
    return body


@pytest.mark.parametrize("schema", SURE, ids=str)
def test_common_schemas_surely_have_values(schema: Any) -> None:
    compiler = compiler_of(schema)
    assert SureValues(compiler).has("")
    assert is_productive(body_of(compiler, ""))


@pytest.mark.parametrize("schema", NOT_SURE, ids=str)
def test_what_may_have_no_values_is_not_sure(schema: Any) -> None:
    assert not SureValues(compiler_of(schema)).has("")


def test_numbers_need_room_for_their_digits() -> None:
    schema = {"type": "number", "minimum": 50}
    assert SureValues(compiler_of(schema)).has("")
    assert not SureValues(compiler_of(schema, style=JsonStyle(digits=Digits(1, 1, 1)))).has("")


def test_keys_that_nothing_declares_are_not_sure_where_objects_are_closed() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "required": ["b"]}
    assert SureValues(compiler_of(schema)).has("")
    assert not SureValues(compiler_of(schema, additional_properties=False)).has("")


def test_what_is_nested_deeply_is_not_sure_unless_it_was_asked_from_the_inside() -> None:
    schema: Any = {"type": "string"}
    for _ in range(140):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    compiler = compiler_of(schema)
    assert not SureValues(compiler).has("")
    sure = SureValues(compiler)
    assert all(sure.has(pointer) for pointer in reversed(list(compiler.document.at)))


@given(documents())
def test_what_is_sure_has_values_when_it_is_built(schema: Any) -> None:
    compiler = compiler_of(schema)
    sure = [pointer for pointer in list(compiler.document.at) if SureValues(compiler).has(pointer)]
    for pointer in sure:
        try:
            body = body_of(compiler, pointer)
        except ConstraintError as error:
            raise AssertionError(f"{pointer} of {schema} cannot be built") from error
        assert is_productive(body), (pointer, schema)


FURTHER: list[Any] = [
    {"type": "string"},
    {"type": "string", "minLength": 2, "maxLength": 2},
    {"type": ["integer", "null"], "minimum": 10**30},
    {"type": "integer", "minimum": 1},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"type": "string", "enum": ["a"]},
    {"type": "array", "items": {"pattern": "^a$"}, "uniqueItems": True, "maxItems": 3},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"anyOf": [False, {"type": "boolean"}]},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "number"}}},
    {"required": ["a"]},
    {"type": "string", "pattern": "a"},
    {"type": "integer", "minimum": 2},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "integer", "multipleOf": 3},
    {"enum": []},
    {"type": "string", "enum": ["a"], "maxLength": 0},
    {"type": "array", "minItems": 1},
    {"type": "array", "contains": False},
    {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "maxProperties": 0},
    {"type": "object", "required": ["b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "propertyNames": False},
    {"anyOf": [False, {"not": {}}]},
    {"allOf": [{"type": "string"}, {"type": "number"}]},
    {"not": {"type": "string"}},
    {"$ref": "#"},
    {"type": "null", "if": True, "then": False},
]


@pytest.mark.parametrize("schema", FURTHER, ids=lambda schema: ascii(schema))
def test_what_is_said_without_building_is_so(schema: Any) -> None:
    compiler = compiler_of(schema)
    assert not SureValues(compiler).has("") or is_productive(body_of(compiler, ""))


@pytest.mark.parametrize(
    "dead", [False, {"allOf": [{"type": "string"}, {"type": "number"}]}, {"enum": []}], ids=lambda schema: ascii(schema)
)
def test_keys_without_values_are_never_offered(dead: Any) -> None:
    schema = {"type": "object", "properties": {"dead": dead, "kind": {"type": "string"}}, "additionalProperties": False}
    constraint = domino.json_schema(schema)
    assert constraint.matches('{"kind": "x"}')
    assert not constraint.matches('{"dead": 1}')


@given(documents())
def test_leaves_that_hold_values_of_every_type_have_values_when_they_are_built(schema: Any) -> None:
    compiler = compiler_of(schema)
    language = language_of(2020, JsonStyle())
    for pointer, found in list(compiler.document.at.items()):
        if isinstance(found, dict) and leaf_key(compiler.keywords(pointer), language) is not None:
            assert not compiler.sure.has_of_every_type(pointer) or is_productive(body_of(compiler, pointer))


@pytest.mark.parametrize("schema", [{"enum": []}, {"type": ["string", "null"], "enum": ["a"]}, {"const": [1]}])
def test_lists_without_a_scalar_of_every_type_are_not_leaves_that_hold_all(schema: Any) -> None:
    assert not SureValues(compiler_of(schema)).has_of_every_type("")
