"""Array keywords, held and failing, against the `jsonschema` package on all small arrays."""

from __future__ import annotations

import itertools
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_py.constraints.schema import json_schema
from tokenizer_align.errors import EmptyLanguage, UnsupportedSchema

VALUES = [0, 1, "a", True, None, []]
ARRAYS = [list(items) for n in range(5) for items in itertools.product(VALUES[: 6 if n < 4 else 3], repeat=n)]
DRAFTS = {
    7: ("http://json-schema.org/draft-07/schema#", jsonschema.Draft7Validator),
    2019: ("https://json-schema.org/draft/2019-09/schema", jsonschema.Draft201909Validator),
    2020: ("https://json-schema.org/draft/2020-12/schema", jsonschema.Draft202012Validator),
}


def check_on_all(schema: dict[str, Any], draft: int = 2020) -> None:
    """The constraint takes the same arrays as `jsonschema`."""
    uri, validator_class = DRAFTS[draft]
    schema = {"$schema": uri, **schema}
    validator = validator_class(schema)
    valid = [array for array in ARRAYS if validator.is_valid(array)]
    try:
        constraint = json_schema(schema)
    except EmptyLanguage:
        assert not valid
        return
    found = [array for array in ARRAYS if constraint.matches(json.dumps(array))]
    assert found == valid, schema


@pytest.mark.parametrize(
    "schema",
    [
        {"contains": {"const": 1}},
        {"contains": {"const": 1}, "minContains": 2, "maxItems": 3},
        {"contains": {"type": "integer"}, "maxContains": 1},
        {"contains": {"const": 1}, "minContains": 0},
        {"contains": {"const": 1}, "minContains": 3, "maxContains": 2},
        {"contains": {"const": 1}, "allOf": [{"contains": {"type": "string"}}]},
        {"contains": {"const": 1}, "not": {"contains": {"type": "string"}}},
        {"not": {"contains": {"const": 1}, "minContains": 2, "maxContains": 2}},
        {"not": {"items": {"type": "integer"}}},
        {"not": {"prefixItems": [{"type": "integer"}, {"type": "string"}]}},
        {"not": {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}},
        {"not": {"minItems": 2}},
        {"not": {"maxItems": 2}},
        {"not": {"minItems": 1, "maxItems": 2}},
        {"items": {"enum": [0, 1, "a"]}, "uniqueItems": True},
        {"items": {"enum": [0, 1, "a"]}, "not": {"uniqueItems": True}},
        {"items": {"enum": [0, 1, [], "a"]}, "uniqueItems": True, "contains": {"const": 1}, "minItems": 2},
        {"prefixItems": [{"enum": [0, 1]}], "items": {"type": ["boolean", "null"]}, "uniqueItems": True},
        {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "uniqueItems": True},
        {"uniqueItems": True, "maxItems": 1},
        {"prefixItems": [{"type": "integer"}], "unevaluatedItems": {"type": "string"}},
        {"prefixItems": [{"const": 0}], "contains": {"const": 1}, "unevaluatedItems": False},
        {"allOf": [{"prefixItems": [True, {"const": 1}]}], "unevaluatedItems": False},
        {"anyOf": [{"prefixItems": [True, {"const": 1}]}, {"items": {"const": "a"}}], "unevaluatedItems": False},
        {"not": {"contains": {"const": 1}, "unevaluatedItems": {"type": "null"}}},
        {"unevaluatedItems": {"type": "null"}, "contains": {"type": "integer"}, "minContains": 2},
        {"if": {"contains": {"const": 1}}, "then": {"maxItems": 2}, "else": {"items": {"type": "string"}}},
    ],
)
def test_arrays_are_those_that_jsonschema_takes(schema: dict[str, Any]) -> None:
    check_on_all({"type": "array", **schema})


def test_lists_of_schemas_under_items_in_older_drafts() -> None:
    for draft in (7, 2019):
        check_on_all({"type": "array", "items": [{"const": 0}, {"type": "string"}], "additionalItems": False}, draft)
        check_on_all({"type": "array", "not": {"items": [{"const": 0}], "additionalItems": {"const": 1}}}, draft)
        check_on_all({"type": "array", "not": {"additionalItems": False}, "items": {"type": "integer"}}, draft)


def test_counts_are_exact_far_beyond_what_is_built_at_once() -> None:
    schema = {"type": "array", "contains": {"const": 1}, "maxItems": 10_000, "minItems": 200}
    constraint = json_schema(schema)
    assert constraint.matches(json.dumps([0] * 199 + [1]))
    assert not constraint.matches(json.dumps([0] * 200)) and not constraint.matches(json.dumps([1] * 199))


def test_numbers_of_which_one_begins_another_may_be_told_apart() -> None:
    numbers = json_schema(
        {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 20}, "uniqueItems": True}
    )
    assert numbers.matches("[1, 11, 0, 10]") and not numbers.matches("[1, 11, 1]")


def test_a_value_in_two_spellings_is_the_same_item() -> None:
    constraint = json_schema('{"type": "array", "items": {"enum": [1.50, "a"]}, "uniqueItems": true}')
    assert constraint.matches('[1.5, "a"]') and constraint.matches("[1.50]")
    assert not constraint.matches("[1.50, 1.5]")


def test_equal_items_and_different_ones_that_may_not_exist_are_refused_by_pointer() -> None:
    items = {"type": "object", "maxProperties": 1, "propertyNames": {"enum": ["a"]}}
    for schema in (
        {"items": items, "uniqueItems": True, "minItems": 3},
        {"not": {"uniqueItems": True}, "type": "array"},
    ):
        with pytest.raises(UnsupportedSchema) as caught:
            json_schema(schema)
        assert caught.value.problems[0].keyword == "uniqueItems"


SIMPLE = st.sampled_from(
    [
        {"const": 0},
        {"type": "integer"},
        {"type": "string"},
        {"enum": [1, "a"]},
        {"type": ["null", "array"]},
        True,
        False,
    ]
)
KEYWORDS = st.fixed_dictionaries(
    {},
    optional={
        "items": SIMPLE,
        "prefixItems": st.lists(SIMPLE, min_size=1, max_size=3),
        "contains": SIMPLE,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(1, 3),
        "unevaluatedItems": SIMPLE,
    },
)


@settings(max_examples=60, deadline=None)
@given(KEYWORDS, KEYWORDS, st.sampled_from(["allOf", "anyOf", "not", "oneOf"]))
def test_random_combinations_of_array_keywords(left: dict[str, Any], right: dict[str, Any], how: str) -> None:
    combined: dict[str, Any] = {"type": "array", **left, how: right if how == "not" else [right, {"maxItems": 2}]}
    try:
        check_on_all(combined)
    except UnsupportedSchema:
        pass
