"""Many alternatives at once: unions told apart by one key, chains of dependencies, and what fails them."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domino_py.constraints.schema import json_schema
from domino_py.constraints.schema_literals import literal_start, start_apart
from tokenizer_align.errors import EmptyLanguage, TooComplex, UnsupportedSchema

MORE = 20 if os.environ.get("DOMINO_SLOW") else 1
NAMES = ["Abs", "Add", "Billow", "Blend", "Cache", "Clamp", "Const", "Curve", "Divide", "Exp", "Invert", "Max", "Min"]
VALUES = {"kind": ["a", "b", "c", 1], "x": [1, "s"], "y": ["s"]}
OBJECTS = [
    {key: value for key, value in zip(VALUES, chosen, strict=True) if value is not ...}
    for chosen in itertools.product(*([..., *values] for values in VALUES.values()))
]


def agrees(schema: dict[str, Any], instances: list[Any]) -> None:
    """The constraint accepts what the checker does."""
    validator, constraint = jsonschema.Draft202012Validator(schema), json_schema(schema)
    wrong = [one for one in instances if constraint.matches(json.dumps(one)) != validator.is_valid(one)]
    assert wrong == [] or (constraint.narrowed and not any(constraint.matches(json.dumps(one)) for one in wrong))


def test_branches_with_other_patterns_under_one_key_exclude_each_other() -> None:
    branches = [
        {
            "properties": {"type": {"type": "string", "pattern": f"^{name}$"}, name: {"type": "number"}},
            "required": ["type"],
        }
        for name in NAMES
    ]
    schema = {"type": "object", "oneOf": branches}
    agrees(
        schema, [{"type": name, key: value} for name in [*NAMES, "Ab"] for key in ("Abs", "Min") for value in (1, "")]
    )
    agrees({"not": schema}, [{"type": name, "Abs": value} for name in [*NAMES, "Ab", 5] for value in (1, "")])


def test_dependencies_that_ask_for_one_key_are_cases_of_it() -> None:
    """Of an index's definition: 17 keys that go with some types only; it was refused for 512 combinations."""
    kinds = ["text", "date", "geo", "number", "document"]
    keys = {f"option{i}": [kinds[i % 5], kinds[(i + i // 5) % 5]] for i in range(17)}
    schema = {
        "type": "object",
        "properties": {"type": {"enum": [*kinds, "other"]}, **{key: {"type": "integer"} for key in keys}},
        "dependentSchemas": {key: {"properties": {"type": {"enum": sorted(set(ok))}}} for key, ok in keys.items()},
        "additionalProperties": False,
    }
    instances: list[Any] = [{"type": kind, key: 1} for kind in [*kinds, "other", "no"] for key in keys]
    instances += [{key: 1, "option0": 2} for key in keys] + [dict.fromkeys(keys, 1), {}]
    agrees(schema, instances)


def test_a_branch_for_everything_else_is_a_case_too() -> None:
    kinds = [f"k{i}" for i in range(9)]
    branches = [
        {"properties": {"type": {"const": kind}, "size": {"type": "integer", "minimum": i}}, "required": ["type"]}
        for i, kind in enumerate(kinds)
    ]
    other = {
        "not": {"properties": {"type": {"enum": kinds}}, "required": ["type"]},
        "properties": {"size": {"const": 1}},
    }
    schema = {"type": "object", "oneOf": [*branches, other]}
    instances = [{"type": kind, "size": size} for kind in [*kinds, "new", 3] for size in (0, 1, 9, "")]
    instances += [{"size": size} for size in (1, 2)] + [{}]
    agrees(schema, instances)
    agrees({"not": schema}, instances)


def test_keys_named_like_remarks_are_not_remarks() -> None:
    """Sub-schemas are alike up to their titles; a property that is called title is no title."""
    branches = [
        {
            "properties": {"a": {"properties": {"title": {"const": name}}}, name: {"type": "string"}},
            "required": ["a", name],
        }
        for name in ("x", "y")
    ]
    instances = [
        {"a": {"title": title}, **rest} for title in "xy" for rest in ({"x": ""}, {"y": ""}, {"x": "", "y": ""})
    ]
    agrees({"oneOf": branches}, instances)
    constants = [{"properties": {"a": {"const": {"title": name}}}, "required": ["a"]} for name in ("x", "y")]
    agrees({"oneOf": constants}, instances)


@pytest.mark.parametrize(
    ("pattern", "start"),
    [
        ("^pkg:npm/.+", ("pkg:npm/", False)),
        ("^Abs$", ("Abs", True)),
        (r"^a\.b", ("a.b", False)),
        (r"^ab?", ("a", False)),
        ("^ab+", ("ab", False)),
        ("^a{2}", ("", False)),
        (r"^\d", ("", False)),
        ("^(a|b)", ("", False)),
        ("^a|b", None),
        ("a$", None),
        ("^[|]", ("", False)),
    ],
)
def test_the_first_characters_of_a_pattern_are_known_where_they_are_plain(
    pattern: str, start: tuple[str, bool] | None
) -> None:
    assert literal_start(pattern) == start


def test_a_beginning_excludes_another_only_if_no_string_has_both() -> None:
    assert start_apart(("ab", False), ("ac", False)) and start_apart(("a", True), ("ab", False))
    assert not start_apart(("a", False), ("ab", True)) and not start_apart(("a", True), ("a", True))


# Drawn unions of branches that speak of one key

_ENUMS = st.lists(st.sampled_from(VALUES["kind"]), min_size=1, max_size=3, unique_by=repr)
_KINDS = st.one_of(
    _ENUMS.map(lambda values: {"enum": values}),
    _ENUMS.map(lambda values: {"not": {"enum": values}}),
    st.sampled_from(
        [{"const": "a"}, {"type": "string"}, {"pattern": "^a$"}, {"pattern": "^b"}, {}, {"type": "integer"}]
    ),
)
_OTHERS = st.sampled_from([{"type": "integer"}, {"type": "string"}, {"const": 1}, {}, False])
_BRANCHES = st.fixed_dictionaries(
    {"properties": st.fixed_dictionaries({"kind": _KINDS}, optional={"x": _OTHERS, "y": _OTHERS})},
    optional={
        "required": st.lists(st.sampled_from(list(VALUES)), max_size=2, unique=True),
        "additionalProperties": st.just(False),
    },
)
_MANY = st.lists(_BRANCHES, min_size=2, max_size=6)
_SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.fixed_dictionaries({"kind": _KINDS}),
        "oneOf": _MANY,
        "anyOf": _MANY,
        "allOf": st.lists(st.fixed_dictionaries({"if": _BRANCHES, "then": _BRANCHES}), min_size=1, max_size=4),
        "dependentSchemas": st.dictionaries(st.sampled_from(list(VALUES)), _BRANCHES, max_size=3),
        "not": st.one_of(_BRANCHES, st.fixed_dictionaries({"oneOf": _MANY})),
    },
)


@settings(max_examples=25 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
@given(_SCHEMAS)
def test_drawn_unions_over_one_key_agree_with_jsonschema(schema: dict[str, Any]) -> None:
    try:
        agrees({"type": "object", **schema}, OBJECTS)
    except EmptyLanguage:
        validator = jsonschema.Draft202012Validator(schema)
        assert not any(map(validator.is_valid, OBJECTS))
    except (UnsupportedSchema, TooComplex):
        pass
