from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domino_py.constraints.schema import json_schema
from tokenizer_align.errors import EmptyLanguage, TooComplex, UnsupportedSchema

A_NEEDS_X = {"type": "object", "required": ["x"]}


def pointers(schema: Any, **options: Any) -> list[str]:
    with pytest.raises(UnsupportedSchema) as caught:
        json_schema(schema, **options)
    return [problem.pointer for problem in caught.value.problems]


def test_every_unsupported_keyword_is_named_with_its_pointer() -> None:
    schema = {
        "properties": {"a/b": {"not": {"type": "null"}}, "b": {"contains": {}}, "c": {"pattern": "("}},
        "if": {},
        "then": {"minimum": 1},
        "$defs": {"unused": {"not": {}}},
    }
    assert sorted(pointers(schema)) == [
        "/if",
        "/properties/a~1b/not",
        "/properties/b/contains",
        "/properties/c/pattern",
    ]


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": {"a": {"type": "strin"}}}, "/properties/a/type"),
        ({"minLength": -1}, "/minLength"),
        ({"properties": {"a": {"required": True}}}, "/properties/a/required"),
        ({"anyOf": []}, "/anyOf"),
        ({"minimum": "3"}, "/minimum"),
        ({"$schema": "http://example.com/other"}, "/$schema"),
        ({"const": float("nan")}, "/const"),
        ({"enum": [b"x"]}, "/enum/0"),
        ({"$ref": "#/$defs/none"}, "/$ref"),
        ({"$ref": "http://example.com/x"}, "/$ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "/$defs/a"),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "/anyOf/0"),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "/uniqueItems"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "/oneOf"),
        ({"unevaluatedProperties": False}, "/unevaluatedProperties"),
        ({"dependentRequired": {"a": ["b"]}}, "/dependentRequired"),
        ({"enum": ["\ud800"]}, "/enum"),
    ],
)
def test_bad_schema_is_refused_at_its_place(schema: Any, place: str) -> None:
    assert pointers(schema) == [place]


@pytest.mark.parametrize(
    "text",
    ['{"type":', '{"a":1,"a":2}', '{"minimum":NaN}', "[1]", "[" * 100_000, '{"a":' * 5_000, '{"maximum":1e999999999}'],
)
def test_text_that_is_no_schema_is_refused(text: str) -> None:
    pointers(text)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (False, "no JSON value"),
        ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, '"exclusiveMinimum": 1'),
        ({"properties": {"x": {"minLength": 3, "maxLength": 2, "type": "string"}}, **A_NEEDS_X}, "/properties/x"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "no value satisfies"),
        ({**A_NEEDS_X, "properties": {"a": {}}, "additionalProperties": False}, "'x'"),
        ({"enum": [1, 2], "type": "string"}, "no"),
        ({"type": "string", "pattern": "^a", "const": "b"}, "pattern"),
        ({"properties": {"x": {"$ref": "#"}}, **A_NEEDS_X}, "no JSON value"),
    ],
)
def test_contradictions_are_found_when_compiled(schema: Any, words: str) -> None:
    with pytest.raises(EmptyLanguage) as caught:
        json_schema(schema)
    assert words in str(caught.value)


KEYWORDS = [
    "type",
    "properties",
    "items",
    "$ref",
    "enum",
    "anyOf",
    "minLength",
    "pattern",
    "required",
    "additionalProperties",
    "$defs",
    "oneOf",
    "format",
]
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(KEYWORDS)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(anything)
def test_any_value_as_schema_gives_a_constraint_or_a_named_error(value: Any) -> None:
    try:
        json_schema(value).matches('{"a": 1}')
    except (UnsupportedSchema, EmptyLanguage, TooComplex) as error:
        assert str(error)
