from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from domino_py.constraints.schema import json_schema
from domino_py.constraints.schema_document import Document
from domino_py.constraints.schema_keywords import KEYWORDS as KEYWORDS_TABLE
from domino_py.constraints.schema_keywords import known_keyword
from domino_py.constraints.schema_meta import meta_schema_problems
from domino_py.constraints.schema_source import canonical_source, read_source
from domino_py.constraints.schema_support import shape_problems
from tests.shared_data import shared_lines
from tokenizer_align.errors import EmptyLanguage, TooComplex, UnsupportedSchema

A_NEEDS_X = {"type": "object", "required": ["x"]}


def pointers(schema: Any, **options: Any) -> list[str]:
    with pytest.raises(UnsupportedSchema) as caught:
        json_schema(schema, **options)
    return [problem.pointer for problem in caught.value.problems]


def test_every_unsupported_keyword_is_named_with_its_pointer() -> None:
    schema = {
        "properties": {"a/b": {"$ref": "#/$defs/none"}, "b": {"not": {"pattern": "(a"}}, "c": {"pattern": "("}},
        "if": {"const": "\ud800"},
        "then": {"minimum": 1},
        "$defs": {"unused": {"pattern": "("}},
    }
    assert sorted(pointers(schema)) == [
        "/if/const",
        "/properties/a~1b/$ref",
        "/properties/b/not/pattern",
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
        (
            {"type": "array", "items": {"propertyNames": {"enum": ["a"]}}, "not": {"uniqueItems": True}},
            "/not/uniqueItems",
        ),
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
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "no value is string and integer at once"),
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


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(anything.filter(lambda value: isinstance(value, dict)))
def test_shape_check_agrees_with_the_meta_schema(schema: dict[str, Any]) -> None:
    document = _document(schema)
    assume(document is not None and document.is_known_draft)
    assert bool(shape_problems(document)) == bool(meta_schema_problems(document))


def test_shape_check_agrees_with_the_meta_schema_on_the_suite() -> None:
    """Every value of the suite's schemas is put under every other keyword once, in draft 7 and 2020-12."""
    groups = [group for group in shared_lines("data/json_schema_test_suite.jsonl") if isinstance(group["schema"], dict)]
    rng = random.Random(5)
    values = [value for group in groups for name, value in group["schema"].items() if not name.startswith("$")]
    wrong = []
    for name in KEYWORDS_TABLE:
        for value in rng.sample(values, 6):
            for draft in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
                document = _document({"$schema": draft, **({} if name == "$schema" else {name: value})})
                if known_keyword(name, document.draft) is None:
                    continue
                if bool(shape_problems(document)) != bool(meta_schema_problems(document)):
                    wrong.append((draft, name, value))
    assert wrong == []


def _document(schema: dict[str, Any]) -> Any:
    try:
        return Document(read_source(canonical_source(schema)))
    except UnsupportedSchema:
        return None


def test_reasons_that_show_only_once_parts_are_combined_come_with_the_others() -> None:
    schema = {
        "properties": {
            "a": {"type": "array", "not": {"uniqueItems": True}},
            "b": {"pattern": "(a+)\\1"},
        }
    }
    with pytest.raises(UnsupportedSchema) as caught:
        json_schema(schema)
    assert {problem.keyword for problem in caught.value.problems} == {"uniqueItems", "pattern"}


def test_what_only_cannot_be_offered_is_not_called_impossible() -> None:
    """`{"a": 1, "b": "x"}` is valid; it was said that no value is."""
    claims = [{"not": {"additionalProperties": {"type": kind}}} for kind in ("string", "number")]
    schema = {"type": "object", "additionalProperties": {"enum": ["x", 1]}, "allOf": claims}
    assert pointers(schema) == ["/allOf/0/not/additionalProperties", "/allOf/1/not/additionalProperties"]
    assert json_schema({"anyOf": [schema, {"type": "integer"}]}).narrowed


def test_recursion_that_never_ends_is_named_with_its_pointer() -> None:
    endless = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]}
    with pytest.raises(EmptyLanguage) as caught:
        json_schema({"$ref": "#/$defs/n", "$defs": {"n": endless}})
    assert [problem.pointer for problem in caught.value.problems] == ["/$defs/n"]


def test_a_misspelt_keyword_is_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert json_schema({"type": "integer", "maximun": 3}).matches("4")
    assert "maximun" in caplog.text and '"maximum"' in caplog.text
