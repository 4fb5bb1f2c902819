"""Branches of `oneOf` that exclude each other only by what is said around them, or by patterns beside listed values."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from domino_py import json_schema


def _branch(kind: str, value: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"enum": [kind]}, "value": {"type": value}}}


BRANCHES = [_branch("a", "integer"), _branch("b", "string"), _branch("c", "null")]
REQUIRED_AROUND = {"required": ["kind", "value"], "allOf": [{"oneOf": BRANCHES}]}
REQUIRED_FAR_AROUND = {"required": ["kind"], "allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"oneOf": BRANCHES}}}
REQUIRED_BESIDE = {"required": ["kind"], "oneOf": BRANCHES}
REQUIRED_IN_ONE_PLACE = {
    "$defs": {"x": {"oneOf": BRANCHES}},
    "anyOf": [{"required": ["kind"], "$ref": "#/$defs/x"}, {"required": ["other"], "$ref": "#/$defs/x"}],
}
REQUIRED_UNDER_NOT = {"type": "object", "not": {"required": ["kind"], "allOf": [{"oneOf": BRANCHES}]}}
BY_PATTERN = {
    "oneOf": [
        {"properties": {"kind": {"enum": ["a", "b", "c"], "pattern": "a"}, "value": {"type": "integer"}}},
        {"properties": {"kind": {"enum": ["a", "b", "c"], "pattern": "[bc]"}}, "required": ["value"]},
    ],
    "required": ["kind"],
    "type": "object",
}
EACH_ITS_KEY = {"type": "object", "oneOf": [{"required": [key]} for key in ("kind", "value", "other")]}
OPTIONAL_KEYS_FAIL_ALIKE = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, key: {"type": kind}}, "required": [key]}
        for key, kind in (("value", "integer"), ("other", "integer"), ("kind", "string"))
    ]
}
KEYS_FAIL = {"not": {"properties": {"kind": {"type": "string"}, "value": {"type": "null"}}, "required": ["kind"]}}
SCHEMAS = {
    "keys fail": KEYS_FAIL,
    "optional keys": OPTIONAL_KEYS_FAIL_ALIKE,
    "around": REQUIRED_AROUND,
    "far around": REQUIRED_FAR_AROUND,
    "beside": REQUIRED_BESIDE,
    "in one place": REQUIRED_IN_ONE_PLACE,
    "under not": REQUIRED_UNDER_NOT,
    "pattern": BY_PATTERN,
    "each its key": EACH_ITS_KEY,
}
VALUES: dict[str, list[Any]] = {"kind": ["a", "b", "c", "d", 1], "value": [1, "x", None], "other": [1]}


def _objects() -> list[dict[str, Any]]:
    """With every value of every key, or without the key."""
    choices: list[list[dict[str, Any]]] = [[{}, *({key: value} for value in VALUES[key])] for key in VALUES]
    return [{key: value for part in chosen for key, value in part.items()} for chosen in product(*choices)]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_branches_hold_as_the_validator_says_with_and_without_the_keys(schema: dict[str, Any]) -> None:
    """What is known where a key is required is not taken for known elsewhere."""
    constraint, validator = json_schema(schema), Draft202012Validator(schema)
    for value in _objects():
        assert constraint.matches(json.dumps(value)) == validator.is_valid(value), value
