"""Leaves are built once for all schemas that say the same, and never for others."""

from __future__ import annotations

from typing import Any

import pytest

import domino_py as domino
from domino_py.constraints.json_layout import JsonStyle
from domino_py.constraints.json_numbers import Digits
from domino_py.constraints.schema_leaves import Leaves, language_of, leaf_key
from tokenizer_align.errors import EmptyLanguage
from tokenizer_align.expressions import lit

LANGUAGE = language_of(2020, JsonStyle())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"minimum": 1}, {"minimum": 2}),
        ({"minimum": 1}, {"exclusiveMinimum": 1}),
        ({"const": 1}, {"const": True}),
        ({"const": "1"}, {"const": 1}),
        ({"enum": ["1"]}, {"enum": [1]}),
        ({"enum": [1, 2]}, {"enum": [12]}),
        ({"enum": ["a"]}, {"const": "a"}),
        ({"type": "string"}, {"type": "string", "maxLength": 1}),
        ({"type": ["string", "null"]}, {"type": "string"}),
    ],
)
def test_what_says_another_thing_is_another_leaf(one: Any, other: Any) -> None:
    assert leaf_key(one, LANGUAGE) != leaf_key(other, LANGUAGE)


def test_draft_and_writing_are_part_of_a_leaf() -> None:
    said = {"type": "string"}
    others = [language_of(4, JsonStyle()), language_of(2020, JsonStyle("compact"))]
    others.append(language_of(2020, JsonStyle(digits=Digits(3, 3, 3))))
    assert len({leaf_key(said, language) for language in [LANGUAGE, *others]}) == 4


def test_annotations_are_no_part_of_a_leaf() -> None:
    assert leaf_key({"type": "string", "title": "a"}, LANGUAGE) == leaf_key({"type": "string"}, LANGUAGE)


@pytest.mark.parametrize(
    "schema",
    [{"items": {}}, {"$ref": "#"}, {"anyOf": [{}]}, {"required": ["a"]}, {"enum": [[1]]}, {"const": {}}, {"not": {}}],
)
def test_what_holds_more_than_scalars_is_no_leaf(schema: Any) -> None:
    assert leaf_key(schema, LANGUAGE) is None


def test_the_leaf_used_last_is_kept_longest() -> None:
    leaves = Leaves(capacity=2)
    leaves.keep("a", lit(b"a"))
    leaves.keep("b", lit(b"b"))
    assert leaves.find("a") is lit(b"a")
    leaves.keep("c", lit(b"c"))
    assert leaves.find("b") is None and leaves.find("a") is lit(b"a")
    assert (leaves.counts.hits, leaves.counts.misses) == (2, 1)


def test_reasons_are_the_same_each_time() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "enum": [1]}}, "required": ["a"]}
    said = []
    for _ in range(3):
        with pytest.raises(EmptyLanguage) as caught:
            domino.json_schema(schema)
        said.append(str(caught.value))
    assert said[0] == said[1] == said[2] and "/properties/a" in said[0]


def test_a_leaf_means_the_same_under_different_options() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    domino.json_schema(schema)
    assert domino.json_schema(schema, number_spelling="any").matches('{"n": 1.0}')
    assert not domino.json_schema(schema).matches('{"n": 1.0}')
