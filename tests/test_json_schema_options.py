"""Options of `json_schema` about dialects, formats and schemas elsewhere."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from referencing import Registry, Resource

from domino_py.constraints.check import check
from domino_py.constraints.json import json as any_json
from domino_py.constraints.schema import json_schema
from domino_py.constraints.types import of_type
from tokenizer_align.errors import InvalidOption, UnsupportedSchema

PET: dict[str, Any] = {
    "components": {
        "schemas": {
            "Cat": {"type": "object", "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}}},
            "Dog": {"type": "object", "properties": {"kind": {"type": "string"}, "tricks": {"type": "string"}}},
        }
    },
    "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
    "discriminator": {"propertyName": "kind", "mapping": {"hound": "#/components/schemas/Dog"}},
}


def test_formats_may_be_annotations_only() -> None:
    schema = {"type": "string", "format": "date"}
    assert not json_schema(schema).matches('"soon"')
    assert json_schema(schema, formats="annotate").matches('"soon"')


def test_the_draft_may_be_given_where_the_schema_does_not_say() -> None:
    schema = {"items": [{"type": "integer"}], "additionalItems": False}
    assert json_schema(schema, draft=7).matches("[1]") and not json_schema(schema, draft=7).matches("[1, 2]")
    with pytest.raises(UnsupportedSchema):
        json_schema(schema)
    with pytest.raises(InvalidOption):
        json_schema(schema, draft=3)


def test_openapi_nullable() -> None:
    name = json_schema({"type": "string", "nullable": True, "minimum": 3}, openapi=True)
    assert name.matches("null") and name.matches('"a"') and not name.matches("1")
    assert not json_schema({"type": "string", "nullable": True}).matches("null")
    positive = json_schema({"type": "number", "minimum": 0, "exclusiveMinimum": True}, openapi=True)
    assert positive.matches("1") and not positive.matches("0")


def test_openapi_discriminator() -> None:
    pet = json_schema(PET, openapi=True)
    assert pet.matches('{"kind": "Cat", "lives": 9}') and pet.matches('{"kind": "hound"}')
    assert not pet.matches('{"kind": "Dog"}') and not pet.matches('{"lives": 9}')


def test_strict_mode_closes_objects_and_requires_their_keys() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "object"}}}
    strict = json_schema(schema, strict=True)
    assert strict.matches('{"a": 1, "b": {}}')
    assert not strict.matches('{"a": 1}') and not strict.matches('{"a": 1, "b": {}, "c": 2}')
    assert not strict.matches('{"a": 1, "b": {"x": 1}}')


def test_strict_mode_refuses_what_openai_refuses() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        json_schema(
            {"properties": {"a": {"not": {}}, "b": {"type": "object", "additionalProperties": {}}}, "if": {}},
            strict=True,
        )
    places = [problem.pointer for problem in caught.value.problems]
    assert places == ["", "/if", "/properties/a/not", "/properties/b/additionalProperties"]


AGE = {"$id": "https://example.com/age", "type": "integer", "minimum": 0, "$defs": {"big": {"$ref": "other#/$defs/x"}}}
OTHER = {"$defs": {"x": {"minimum": 100}}}


@pytest.mark.parametrize("kind", ["mapping", "referencing"])
def test_schemas_elsewhere_come_from_a_registry(kind: str) -> None:
    known = {"https://example.com/age": AGE, "https://example.com/other": OTHER}
    registry: Any = known
    if kind == "referencing":
        from referencing.jsonschema import DRAFT202012

        registry = Registry().with_resources(
            [(uri, Resource.from_contents(schema, default_specification=DRAFT202012)) for uri, schema in known.items()]
        )
    schema = {"$id": "https://example.com/root", "properties": {"a": {"$ref": "age"}, "b": {"$ref": "age#/$defs/big"}}}
    constraint = json_schema(schema, registry=registry)
    assert constraint.matches('{"a": 3, "b": 100}')
    assert not constraint.matches('{"a": -3}') and not constraint.matches('{"b": 99}')
    assert pickle.loads(pickle.dumps(constraint)) == constraint
    with pytest.raises(UnsupportedSchema):
        json_schema(schema)


def test_a_schema_of_another_draft_elsewhere_is_refused() -> None:
    older = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}
    with pytest.raises(UnsupportedSchema, match="draft 7"):
        json_schema({"$ref": "http://example.com/a"}, registry={"http://example.com/a": older})


def test_meta_schemas_are_known_without_a_registry() -> None:
    meta = "http://json-schema.org/draft-07/schema#"
    schema = {"$schema": meta, "properties": {"schema": {"$ref": meta}}}
    constraint = json_schema(schema, on_unsupported="ignore")  # "uniqueItems" of strings
    assert constraint.matches(json.dumps({"schema": {"type": "object", "minLength": 3}}))
    assert not constraint.matches(json.dumps({"schema": {"type": "objekt"}}))


def test_check_knows_the_options_of_a_constraint() -> None:
    from domino_py.constraints.base import Constraint
    from domino_py.constraints.schema import check_options
    from domino_py.constraints.schema_source import canonical_source

    open_object = {"type": "object", "additionalProperties": True}
    constraint = Constraint("json_schema", canonical_source(open_object), check_options(strict=True))
    assert [problem.pointer for problem in check(constraint)] == ["/additionalProperties"]


@pytest.mark.parametrize("options", [{"formats": "no"}, {"openapi": 1}, {"strict": None}, {"registry": 5}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        json_schema({}, **options)


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    for call, name, nearest in (
        (lambda: json_schema({}, witespace="compact"), "witespace", "whitespace"),  # type: ignore[call-arg]
        (lambda: of_type(int, keyorder="declared"), "keyorder", "key_order"),  # type: ignore[call-arg]
        (lambda: any_json(max_digit=3), "max_digit", "max_digits"),  # type: ignore[call-arg]
    ):
        with pytest.raises(InvalidOption) as raised:
            call()
        assert raised.value.name == name and raised.value.nearest == nearest


@pytest.mark.parametrize(
    ("schema", "pointers"),
    [
        ({"properties": {"a": {"type": "integer", "multipleOf": 1013}}}, ["/properties/a/multipleOf"]),
        ({"allOf": [{"multipleOf": 997}, {"multipleOf": 991}]}, ["/allOf/0/multipleOf", "/allOf/1/multipleOf"]),
        ({"contains": {"type": "integer"}, "minContains": 10**12}, ["/contains"]),
        ({"type": "number", "multipleOf": 1e300}, ["/multipleOf"]),
    ],
)
def test_what_is_too_much_only_together_names_its_keywords_and_can_be_ignored(
    schema: dict[str, Any], pointers: list[str]
) -> None:
    with pytest.raises(UnsupportedSchema) as error:
        json_schema(schema)
    assert [problem.pointer for problem in error.value.problems] == pointers
    assert all(len(problem.message) < 150 for problem in error.value.problems)
    ignoring = json_schema(schema, on_unsupported="ignore")
    assert [problem.pointer for problem in ignoring.ignored] == pointers


def test_what_names_no_keyword_is_blamed_on_those_that_combine() -> None:
    """Two sub-schemas of one value are too many alternatives together; neither keyword is so alone."""

    def union(letter: str) -> dict[str, Any]:
        return {"type": "object", "anyOf": [{"required": [f"{letter}{i}"]} for i in range(30)]}

    schema = {"required": ["a"], "allOf": [{"properties": {"a": union("x")}}, {"properties": {"a": union("y")}}]}
    with pytest.raises(UnsupportedSchema) as error:
        json_schema(schema)
    assert [(problem.pointer, problem.keyword) for problem in error.value.problems] == [("/allOf/1/properties/a", None)]
    ignoring = json_schema(schema, on_unsupported="ignore")
    assert [problem.pointer for problem in ignoring.ignored] == ["/allOf/1/properties/a/anyOf"]
    assert ignoring.matches('{"a": {"x7": 1}}') and not ignoring.matches('{"a": {"y7": 1}}')


def test_arrays_of_arrays_that_must_differ_are_built() -> None:
    """Counting the values of such arrays once ended in an IndexError."""
    arrays = json_schema({"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": "array"}})
    assert arrays.matches("[[],[1]]") and not arrays.matches("[[],[]]")


def test_a_wrong_fragment_of_a_known_document_points_at_nothing() -> None:
    with pytest.raises(UnsupportedSchema, match="points at nothing"):
        json_schema({"$ref": "http://x/y#/$defs/q"}, registry={"http://x/y": {"$defs": {}}})
