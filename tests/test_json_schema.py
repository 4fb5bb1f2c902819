from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from domino_py.constraints.schema import json_schema
from tokenizer_align.errors import InvalidOption

# Known answers: schema, accepted texts, rejected texts, one case a line
_TABLE = Path(__file__).with_name("cases") / "json_schema.jsonl"
CASES = [json.loads(line) for line in _TABLE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["schema"])[:60])
def test_schema_has_exactly_these_texts(case: dict[str, Any]) -> None:
    constraint = json_schema(case["schema"])
    assert [text for text in case["accept"] if not constraint.matches(text)] == []
    assert [text for text in case["reject"] if constraint.matches(text)] == []


def test_recursive_schema_follows_its_references() -> None:
    tree = {
        "$ref": "#/$defs/t",
        "$defs": {"t": {"type": "object", "properties": {"l": {"$ref": "#/$defs/t"}}, "additionalProperties": False}},
    }
    assert json_schema(tree).matches('{"l":{"l":{}}}')
    assert not json_schema(tree).matches('{"l":{"l":1}}')


def test_keys_come_in_any_order_or_in_the_declared_one() -> None:
    schema = {"type": "object", "properties": {"b": {}, "a": {}}, "required": ["a"], "additionalProperties": False}
    free, ordered = json_schema(schema), json_schema(schema, key_order="declared")
    assert free.matches('{"a":1,"b":2}') and free.matches('{"b":2,"a":1}')
    assert ordered.matches('{"b":2,"a":1}') and ordered.matches('{"a":1}') and not ordered.matches('{"a":1,"b":2}')


def test_additional_properties_option_closes_only_objects_that_declare_keys() -> None:
    schema = {"properties": {"a": {"type": "object"}}}
    closed = json_schema(schema, additional_properties=False)
    assert closed.matches('{"a":{"x":1}}') and not closed.matches('{"b":1}')


def test_blanks_are_bounded_by_default_and_free_by_option() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    text = '{\n  "a": 1\n}'
    assert json_schema(schema).matches(text) and not json_schema(schema, whitespace="compact").matches(text)
    assert not json_schema(schema).matches('{"a":  1}') and not json_schema(schema).matches('{"a":1} ')
    assert json_schema(schema, whitespace="unbounded").matches('\n {"a":  1} ')


def test_bounds_are_decimal_and_not_binary() -> None:
    constraint = json_schema('{"minimum": 0.1, "exclusiveMaximum": 0.3}')
    assert constraint.matches("0.1") and constraint.matches("0.29999999999999999999")
    assert not constraint.matches("0.3") and not constraint.matches("0.09999999999999999999")


def test_where_the_sign_alone_decides_an_exponent_may_be_written() -> None:
    positive = json_schema({"type": "number", "exclusiveMinimum": 0})
    assert positive.matches("1e-06") and positive.matches("2.5E+3")
    assert not positive.matches("0e5") and not positive.matches("-1e-06") and not positive.matches("0.0e-1")
    assert not json_schema({"type": "number", "minimum": 1}).matches("1e-06")
    assert not json_schema({"type": "number", "minimum": 0, "not": {"multipleOf": 1}}).matches("1e2")


def test_formats_are_enforced() -> None:
    def has(name: str, text: str) -> bool:
        return json_schema({"type": "string", "format": name}).matches(json.dumps(text))

    assert has("date", "2024-02-29") and not has("date", "2023-02-29") and not has("date", "1900-02-29")
    assert has("time", "23:59:60Z") and has("time", "15:59:60-08:00") and not has("time", "22:59:60Z")
    assert has("date-time", "2024-01-02T03:04:05.5+01:00") and not has("date-time", "2024-01-02T03:04:05")
    assert has("duration", "P1Y2M3DT4H5M6S") and not has("duration", "P1YT") and not has("duration", "P1Y2D")
    assert has("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380") and not has("uuid", "2eb8aa08")
    assert has("ipv6", "::ffff:192.168.0.1") and not has("ipv6", "1::2::3") and not has("ipv6", "12345::")
    assert has("email", "a.b+c@example.org") and not has("email", "a b@example.org") and not has("email", "@")
    assert has("uri", "https://example.org/a?b#c") and not has("uri", "//x") and has("hostname", "a-b.example")


def test_unknown_formats_are_annotations() -> None:
    assert json_schema({"type": "string", "format": "x-phone"}).matches('"anything"')


def test_draft_4_and_7_have_their_own_rules() -> None:
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 3, "exclusiveMinimum": True}
    assert json_schema(old).matches("4") and not json_schema(old).matches("3")
    seven = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a",
        "maximum": 1,
        "definitions": {"a": {}},
    }
    assert json_schema(seven).matches("5")  # siblings of $ref count since 2019-09 only
    items = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "null"}],
        "additionalItems": False,
    }
    assert json_schema(items).matches("[null]") and not json_schema(items).matches("[null,1]")


def test_ignored_keywords_widen_and_are_listed() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1, "pattern": "("}}}
    constraint = json_schema(schema, on_unsupported="ignore")
    assert constraint.matches('{"a":"x"}') and not constraint.matches('{"a":""}')
    assert [problem.pointer for problem in constraint.ignored] == ["/properties/a/pattern"]


def test_ignoring_never_narrows() -> None:
    """Without the pattern, additionalProperties alone would forbid the keys that the pattern admits."""
    schema = {"type": "object", "patternProperties": {"(": {}}, "additionalProperties": False}
    assert json_schema(schema, on_unsupported="ignore").matches('{"x":1}')


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"type": "string", "pattern": "("}},
        {"if": {"pattern": "("}, "then": {"maxLength": 1}},
        {"oneOf": [{"type": "string", "pattern": "("}, {"type": "string"}]},
        {"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"pattern": "("}}}},
    ],
)
def test_what_could_get_stricter_by_ignoring_is_ignored_too(schema: dict[str, Any]) -> None:
    """A schema that must fail is harder to fail with one keyword less."""
    constraint = json_schema(schema, on_unsupported="ignore")
    assert constraint.matches('"abc"') and constraint.matches('["abc"]' if "not" in schema else '"a"')


def test_ignored_properties_do_not_count_as_unevaluated() -> None:
    schema = {"allOf": [{"patternProperties": {"(": {}}}], "unevaluatedProperties": False}
    assert json_schema(schema, on_unsupported="ignore").matches('{"x":1}')


def test_what_is_unsupported_only_in_combination_is_ignored_too() -> None:
    items = {"type": "object", "patternProperties": {"^a$": {}}, "additionalProperties": False}
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 2, "maxItems": 2}
    constraint = json_schema(schema, on_unsupported="ignore")
    assert constraint.matches("[{},{}]") and not constraint.matches("[{},{},{}]")
    assert [problem.pointer for problem in constraint.ignored] == ["/uniqueItems"]


def test_unknown_option_values_name_the_nearest() -> None:
    with pytest.raises(InvalidOption, match="compact"):
        json_schema({}, whitespace="compat")  # type: ignore[arg-type]


def test_constraint_is_a_value() -> None:
    schema = {"type": "object", "properties": {"b": {}, "a": {}}}
    one, other = json_schema(schema), json_schema(json.dumps(schema))
    assert one == other and hash(one) == hash(other) and pickle.loads(pickle.dumps(one)) == one
    assert one.parse('{"a": 1.5}') == {"a": 1.5}


# Large and deep


def _chain(n: int, step: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """Definitions that refer to the next one each, down to null."""
    definitions = {f"d{i}": step({"$ref": f"#/$defs/d{i + 1}"}) for i in range(n)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{n}": {"type": "null"}}}


def _nested(n: int) -> str:
    return '{"n":' * n + "null" + "}" * n


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"enum": [f"value {i}" for i in range(5000)]}, '"value 4711"'),
        ({"properties": {f"k{i}": {"type": "null"} for i in range(400)}, "additionalProperties": False}, '{"k3":null}'),
        ({"type": "string", "maxLength": 100_000}, '"abc"'),
        ({"type": "array", "maxItems": 10**30, "items": {"type": "boolean"}}, "[true]"),
        (_chain(200, lambda ref: {"type": "object", "properties": {"n": ref}, "required": ["n"]}), _nested(200)),
        (_chain(1000, lambda ref: ref), "null"),
    ],
    ids=["5000 values", "400 keys", "maxLength", "maxItems", "200 definitions", "1000 references"],
)
def test_large_schemas_compile_and_match(schema: Any, text: str) -> None:
    assert json_schema(schema).matches(text)


# References by dynamic scope


def test_a_dynamic_reference_points_at_the_outermost_resource() -> None:
    """The list's items are of the type that whoever refers to the list says."""
    schema = {
        "$defs": {
            "numbers": {
                "$id": "numbers",
                "$ref": "list",
                "$defs": {"item": {"$dynamicAnchor": "item", "type": "number"}},
            },
            "texts": {
                "$id": "texts",
                "$ref": "list",
                "$defs": {"item": {"$dynamicAnchor": "item", "type": "string"}},
            },
            "list": {
                "$id": "list",
                "items": {"$dynamicRef": "#item"},
                "$defs": {"any": {"$dynamicAnchor": "item"}},
            },
        },
        "properties": {"a": {"$ref": "numbers"}, "b": {"$ref": "texts"}, "c": {"$ref": "list"}},
        "$id": "http://example.com/root",
    }
    constraint = json_schema(schema)
    assert constraint.matches('{"a":[1],"b":["x"],"c":[1,"x"]}')
    assert not constraint.matches('{"a":["x"]}') and not constraint.matches('{"b":[1]}')


def test_a_recursive_reference_points_at_the_outermost_resource() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "http://example.com/strict",
        "$recursiveAnchor": True,
        "$ref": "tree",
        "required": ["value"],
        "$defs": {
            "tree": {
                "$id": "tree",
                "$recursiveAnchor": True,
                "properties": {"sub": {"$recursiveRef": "#"}, "value": {"type": "integer"}},
            }
        },
    }
    constraint = json_schema(schema)
    assert constraint.matches('{"value":1,"sub":{"value":2}}')
    assert not constraint.matches('{"value":1,"sub":{}}')
