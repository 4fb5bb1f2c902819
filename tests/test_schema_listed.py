"""Listed values (`enum`, `const`) beside other claims, each decided as `jsonschema` decides it."""

import json
from typing import Any

import jsonschema
import pytest

import domino_py as domino

VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.5, -3, 12, "", "a", "abc", "10", "né", [], [1], [1, 1], [1, "a"], ["a", "b", "c"]),
    *({}, {"a": 1}, {"a": "x"}, {"a": 1, "b": 2}, {"ab": [1], "c": None}, {"b": {"a": 1}}, [[1], [1]], [{"a": 1}]),
]
CLAIMS: list[dict[str, Any]] = [
    {"type": ["object", "string"]},
    {"minimum": 1, "multipleOf": 0.5},
    {"not": {"type": "number"}},
    {"pattern": "^[a-z]*$", "maxLength": 2},
    {"required": ["a"], "properties": {"a": {"type": "integer"}}},
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {"minProperties": 1, "propertyNames": {"maxLength": 1}},
    {"uniqueItems": True, "items": {"type": ["integer", "array", "object"]}},
    {"contains": {"const": 1}, "maxContains": 1},
    {"prefixItems": [{"type": "integer"}], "items": False},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "string"}]},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"not": {"type": "array"}}},
    {"dependentRequired": {"a": ["b"]}, "unevaluatedProperties": {"type": "integer"}},
    {"anyOf": [{"maxItems": 1}, {"type": "null"}], "not": {"enum": [[], "a", 0]}},
    {"allOf": [{"enum": [1, "a", {"b": 2, "a": 1}, [1]]}, {"minProperties": 2}]},
]


@pytest.mark.parametrize("claims", CLAIMS, ids=lambda claims: " ".join(claims))
def test_listed_values_are_those_that_satisfy_the_rest(claims: dict[str, Any]) -> None:
    checker = jsonschema.Draft202012Validator(claims)
    constraint = domino.json_schema({"enum": VALUES, **claims})
    left = 0
    for value in VALUES:
        right = checker.is_valid(value)
        assert constraint.matches(json.dumps(value, ensure_ascii=False)) == right, value
        left += right
    assert 0 < left < len(VALUES)


def test_no_listed_value_left_is_a_contradiction_found_when_compiled() -> None:
    with pytest.raises(domino.ConstraintError):
        domino.json_schema({"enum": [{"a": "x"}, {"a": []}], "properties": {"a": {"type": "integer"}}}).validate()
