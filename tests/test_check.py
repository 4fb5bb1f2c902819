from __future__ import annotations

from typing import Any, Literal

import pytest

from domino_py.constraints.check import check
from domino_py.constraints.json import json as any_json
from domino_py.constraints.schema import json_schema

SEVEN = "http://json-schema.org/draft-07/schema#"


def found(subject: Any) -> list[tuple[str, str]]:
    return [(problem.severity, problem.pointer) for problem in check(subject)]


@pytest.mark.parametrize(
    "subject",
    [
        {},
        True,
        {"minimum": 3},
        '{"type": "null"}',
        int,
        Literal["a"],
        any_json(),
        json_schema({}),
        any_json() + any_json(),
    ],
)
def test_nothing_is_said_about_what_is_fine(subject: Any) -> None:
    assert check(subject) == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"a": {"type": "strin"}}}, [("error", "/properties/a/type")]),
        ({"items": {"pattern": "("}, "$ref": "#/no"}, [("error", "/$ref"), ("error", "/items/pattern")]),
        ('{"type": ', [("error", "")]),
        ({"type": "integer", "minimum": 5, "maximum": 3}, [("error", "")]),
        (False, [("error", "")]),
        ({"properties": {"a": {"type": "integer", "minimum": 5, "maximum": 3}}}, [("warning", "/properties/a")]),
        ({"format": "x-phone"}, [("note", "/format")]),
        ({"type": "integer", "minLength": 3}, [("warning", "/minLength")]),
        ({"requierd": ["a"]}, [("warning", "/requierd")]),
        ({"then": {}}, [("warning", "/then")]),
        ({"minContains": 2}, [("warning", "/minContains")]),
        ({"type": "string", "enum": ["a", 1]}, [("warning", "/enum/1")]),
        ({"required": ["b"], "additionalProperties": False}, [("warning", ""), ("warning", "/required")]),
        ({"allOf": [{"properties": {"x": {}}}], "additionalProperties": False}, [("warning", "/additionalProperties")]),
        (
            {"allOf": [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}]},
            [("warning", "/allOf/0/additionalProperties")],
        ),
        (
            {
                "properties": {"a": {}},
                "allOf": [{"$ref": "#/$defs/x"}],
                "$defs": {"x": {"additionalProperties": False}},
            },
            [("warning", "/$defs/x/additionalProperties")],
        ),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}, [("warning", "/const")]),
        ({"properties": {"colour": {}}, "required": ["color"]}, [("warning", "/required")]),
        ({"properties": {"colour": {}}, "required": ["size"]}, []),
        ({"$schema": SEVEN, "prefixItems": [{}]}, [("warning", "/prefixItems")]),
        ({"$schema": SEVEN, "$ref": "#/definitions/a", "maximum": 3, "definitions": {"a": {}}}, [("warning", "/$ref")]),
        ({"$defs": {"unused": {"pattern": "("}}}, []),
    ],
)
def test_findings_have_a_severity_and_a_place(schema: Any, expected: list[tuple[str, str]]) -> None:
    severities = {severity for severity, _ in expected}
    assert [one for one in found(schema) if one[0] in severities or not severities] == expected


def test_misspelt_keyword_names_the_right_one() -> None:
    (problem,) = check({"type": "string", "minlength": 3})
    assert problem.hint is not None and '"minLength"' in problem.hint


def test_object_that_is_no_type_is_an_error() -> None:
    assert found(5) == [("error", "")]
