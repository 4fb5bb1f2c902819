"""Any JSON as a schema: a constraint or a ConstraintError, never anything else, and never for long."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domino_py.constraints import schema_limits
from domino_py.constraints.check import check
from domino_py.constraints.json_layout import JsonStyle
from domino_py.constraints.schema import json_schema
from domino_py.constraints.schema_compile import SchemaCompiler
from domino_py.constraints.schema_document import Document
from domino_py.constraints.schema_keywords import KEYWORDS
from tokenizer_align import moves
from tokenizer_align.errors import ConstraintError, TooComplex, UnsupportedSchema
from tokenizer_align.recognizer import run

MORE = 10 if os.environ.get("DOMINO_SLOW") else 1
HANG_S = 60.0  # no speed test: what hangs, hangs for minutes


@contextmanager
def not_hanging() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError(f"still busy after {HANG_S} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def survives(schema: Any) -> bool:
    """Build and check it, and read a little. Whether it made a constraint."""
    with not_hanging():
        problems = check(schema) if isinstance(schema, dict | bool | str) else []
        assert all(problem.severity in ("error", "warning", "note") for problem in problems)
        try:
            constraint = json_schema(schema)
        except ConstraintError as error:
            assert len(str(error)) < 100_000
            return False
        for text in ("{", "[", '"', "1", "null"):
            run(constraint.expression, text.encode())
        return True


NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, 3, -1, 10**30, -(10**30), 1e308, 5e-324, float("nan"), float("inf"), 2.0, 0.1]),
    st.integers(),
    st.floats(),
)
STRINGS = st.one_of(
    st.sampled_from(["", "a", "\ud800", "^a+$", "(", "#", "#/$defs/a", "object", "integer", "date-time", "uri"]),
    st.text(max_size=5),
)
NAMES = st.one_of(st.sampled_from(sorted(KEYWORDS)), STRINGS)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, STRINGS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=150 * MORE, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON)
def test_any_json_is_a_schema_or_an_error(schema: Any) -> None:
    survives(schema)


# Schemas whose keywords mostly have their right shape, so that something is built.
SCHEMAS = st.deferred(lambda: st.one_of(st.booleans(), OBJECTS))
COUNTS = st.sampled_from([0, 1, 2, 3, 50, 10**4, 10**18])
KEYS = st.sampled_from(["a", "b", "", "type"])
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer", "number", ["null", "array"]]),
        "enum": st.lists(JSON, max_size=3),
        "const": JSON,
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/not", "nowhere"]),
        "$dynamicRef": st.sampled_from(["#", "#a"]),
        "$defs": st.dictionaries(KEYS, SCHEMAS, max_size=2),
        "allOf": st.lists(SCHEMAS, min_size=1, max_size=3),
        "anyOf": st.lists(SCHEMAS, min_size=1, max_size=3),
        "oneOf": st.lists(SCHEMAS, min_size=1, max_size=3),
        "not": SCHEMAS,
        "if": SCHEMAS,
        "then": SCHEMAS,
        "properties": st.dictionaries(KEYS, SCHEMAS, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "."]), SCHEMAS, max_size=2),
        "additionalProperties": SCHEMAS,
        "unevaluatedProperties": SCHEMAS,
        "propertyNames": SCHEMAS,
        "required": st.lists(KEYS, max_size=2, unique=True),
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
        "dependentSchemas": st.dictionaries(KEYS, SCHEMAS, max_size=2),
        "items": SCHEMAS,
        "prefixItems": st.lists(SCHEMAS, min_size=1, max_size=2),
        "contains": SCHEMAS,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "uniqueItems": st.booleans(),
        "unevaluatedItems": SCHEMAS,
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "pattern": st.sampled_from(["^a+$", "(a|b){3}", "^(a|b)*a(a|b){20}$", "(?=.*x).*y", "\\d{2,400}"]),
        "format": st.sampled_from(["date", "uri", "email", "hostname", "regex"]),
        "minimum": NUMBERS.filter(lambda n: n == n and abs(n) < 1e40),
        "maximum": NUMBERS.filter(lambda n: n == n and abs(n) < 1e40),
        "multipleOf": st.sampled_from([1, 7, 0.01, 360, 1e-9, 123456789]),
    },
)


@settings(max_examples=200 * MORE, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OBJECTS)
def test_any_plausible_schema_is_built_or_refused(schema: dict[str, Any]) -> None:
    survives(schema)


def nested(keyword: str, n_levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(n_levels):
        schema = {keyword: {"a": schema} if keyword == "properties" else [schema] if keyword == "allOf" else schema}
    return schema


HOSTILE: dict[str, Any] = {
    "enum of 100,000": {"enum": [f"some value {i}" for i in range(100_000)]},
    "40,000 properties": {"properties": {f"property {i}": {"type": "string"} for i in range(40_000)}},
    "a constant of a megabyte": {"const": "x" * 1_000_000},
    "a constant of 60,000 arrays": {"const": [[i] for i in range(60_000)]},
    "a pattern of a megabyte": {"pattern": "a" * 1_000_000},
    "a pattern with huge counts": {"pattern": "(((a{1,100}){1,100}){1,100}){1,100}"},
    "a pattern that looks far back": {"pattern": "^(a|b)*a(a|b){20}$", "maxLength": 22},
    "ten patterns at once": {"allOf": [{"pattern": f"{c}.{{{i + 5}}}{c}"} for i, c in enumerate("abcdefghij")]},
    "anyOf of 5,000": {"anyOf": [{"properties": {f"k{i}": {"type": "string"}}} for i in range(5_000)]},
    "oneOf of 300 tagged": {
        "oneOf": [{"type": "object", "properties": {"k": {"const": i}}, "required": ["k"]} for i in range(300)]
    },
    "products of anyOf": {"allOf": [{"anyOf": [{"minimum": i}, {"maximum": -i}, {"type": "null"}]} for i in range(30)]},
    "many divisors": {"allOf": [{"multipleOf": p} for p in (7, 11, 13, 17, 19, 23, 29, 31)]},
    "huge bounds": {"minimum": -(10**300), "maximum": 10**300, "minLength": 10**18, "minItems": 10**18},
    "huge counts of keys": {"type": "object", "minProperties": 10**18},
    "a cycle through not": {"not": {"$ref": "#"}},
    "a cycle through allOf": {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
    "an endless value": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "200 levels": nested("properties", 140),
    "deep not": nested("not", 120),
    "deep allOf": nested("allOf", 120),
    "too deep": nested("properties", 100_000),
    "256 kinds of keys": {"patternProperties": {f"k{i}": {"type": "integer"} for i in range(8)}},
    "30 key patterns": {"patternProperties": {f"^a{i}": {"type": "integer"} for i in range(30)}},
    "2,000 prefix items": {"prefixItems": [{"const": i} for i in range(2_000)], "items": False, "minItems": 2_000},
    "different items": {"items": {"enum": list(range(5_000))}, "uniqueItems": True, "minItems": 4_000},
    "counts in long arrays": {"contains": {"const": 1}, "minItems": 10_000, "maxContains": 50, "minContains": 40},
    "one in a long array": {"contains": {"const": 1}, "minItems": 10_000, "maxContains": 1},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_are_built_or_refused(name: str) -> None:
    survives(HOSTILE[name])


def test_a_chain_of_dependencies_runs_out_of_time_and_says_so() -> None:
    schema = {"dependentRequired": {f"k{i}": [f"k{i + 1}"] for i in range(450)}}
    with not_hanging(), schema_limits.time_limit(0.2), pytest.raises((TooComplex, UnsupportedSchema)):
        dependencies = Document(schema)
        SchemaCompiler(dependencies, JsonStyle()).alternatives("", "object")


def test_patterns_of_keys_that_overlap_run_out_of_time_and_say_so() -> None:
    """Regression: time was not asked for between the searches of one split, and 60 patterns took 20 s."""
    drawn = random.Random(1)
    pieces = ["[a-f]*", "(ab|ba)+", ".{2,9}"]
    patterns = ["^" + "".join(drawn.choice(pieces) for _ in range(6)) + "$" for _ in range(60)]
    texts = [{"type": "string", "pattern": pattern} for pattern in patterns]
    schema = {
        "patternProperties": dict(zip(patterns, texts, strict=True)),
        "properties": {f"k{i}": text for i, text in enumerate(texts)},
    }
    started_s = time.thread_time()
    with schema_limits.time_limit(1), pytest.raises((TooComplex, UnsupportedSchema)):
        SchemaCompiler(Document(schema), JsonStyle()).build_ahead(everything=True)
    assert time.thread_time() - started_s < 6  # the limit and one search, with room to spare


def test_rules_that_are_made_meanwhile_take_no_time_from_a_derivation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: on a slow machine the 20,000 rules of one array used up the time for too many ways."""
    monkeypatch.setattr(moves, "MAX_MOVES_S", 0.2)
    schema = {"contains": {"const": 1.5}, "minItems": 10_000, "maxContains": 1}
    run(json_schema(schema).expression, b"[")


NO_SCHEMAS = ['{"a": 1, "a": 2}', '{"const": NaN}', '{"minimum": 1e99999}', "[" * 100_000, "", "5", "nul"]


@pytest.mark.parametrize("text", NO_SCHEMAS, ids=range(len(NO_SCHEMAS)))
def test_texts_that_are_no_schemas_are_errors(text: str) -> None:
    with not_hanging(), pytest.raises(ConstraintError):
        json_schema(text)


def test_ten_megabytes_are_built_or_refused() -> None:
    text = json.dumps({"enum": [f"some value {i}" for i in range(450_000)]})
    assert len(text) > 9_000_000
    with not_hanging():
        try:
            assert json_schema(text).matches('"some value 44"')
        except ConstraintError:
            pass
