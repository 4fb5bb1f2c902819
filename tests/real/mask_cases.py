"""Constraints of every kind with texts that satisfy them, for tests on real vocabularies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import domino_py as domino
from domino_py.constraints.base import Constraint
from tokenizer_align import expressions as ex
from tokenizer_align import utf8
from tokenizer_align.expressions import Expr

PERSON = {"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "tags": ["maths", "poetry\n"], "note": None}
NESTED = {"id": "x-1", "child": {"id": "日本", "child": {"id": "naïve 🥐", "child": None}}}
TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "child": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["id", "child"],
            "additionalProperties": False,
        }
    },
}
WORDS = [
    f"{a}{b}" for a in ("red", "blue", "dark", "pale", "neon") for b in ("sea", "sky", "sun", "moon", "star", "rain")
]


@dataclass(frozen=True)
class Point:
    x: int
    y: float
    label: Literal["start", "end"] = "start"


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _brackets() -> Expr:
    rule = ex.Rule("brackets")
    rule.define(lambda: ex.star(ex.alt(ex.byte_set(b"xy "), *(ex.seq(a, ex.call(rule), b) for a, b in PAIRS))))
    return ex.call(rule)


PAIRS = [(ex.lit(b"("), ex.lit(b")")), (ex.lit(b"["), ex.lit(b"]")), (ex.lit(b"<b>"), ex.lit(b"</b>"))]
TEXT = {"type": "string"}
CLOSED = {"additionalProperties": False}

Case = tuple[Callable[[], Constraint | Expr], list[str]]

CASES: dict[str, Case] = {
    "regex-date": (lambda: domino.regex(r"\d{4}-\d{2}-\d{2}"), ["2024-02-29"]),
    "regex-email": (
        lambda: domino.regex(r"[a-zA-Z0-9._%+-]{1,64}@[a-zA-Z0-9.-]{1,255}\.[a-zA-Z]{2,10}"),
        ["ada.lovelace+test@example-site.co.uk"],
    ),
    "regex-any-line": (lambda: domino.regex(r"[^\n]{0,80}"), ["Grüße aus 東京, très 🥐!"]),
    "regex-words": (lambda: domino.regex(r"(?:\w+ ){2,8}\w+"), ["the quick brown fox", "über alle Berge"]),
    "regex-money": (lambda: domino.regex(r"[$€£]\d{1,3}(,\d{3})*(\.\d\d)?"), ["€1,234,567.89", "$5"]),
    "regex-code": (lambda: domino.regex(r"def [a-z_]+\((?:[a-z]+(?:, [a-z]+)*)?\):\n"), ["def add_all(a, b, c):\n"]),
    "regex-alternatives": (lambda: domino.regex(r"(yes|no|maybe)( indeed)?[.!]"), ["maybe indeed!"]),
    "regex-hex": (lambda: domino.regex(r"(0x[0-9a-fA-F]{1,16} )+"), ["0xDEADbeef 0x00 "]),
    "regex-greek": (lambda: domino.regex(r"[α-ωά-ώ ]+"), ["καλημέρα κόσμε"]),
    "regex-not-a-word": (lambda: domino.regex(r"(?!end)[a-z]{3}"), ["abc", "eno"]),
    "choice": (lambda: domino.choice(["approve", "approve with changes", "reject", "ablehnen, später"]), ["approve"]),
    "choice-many": (lambda: domino.choice(WORDS), ["neonmoon"]),
    "json": (domino.json, [json.dumps(PERSON), json.dumps(NESTED, indent=2, ensure_ascii=False)]),
    "schema-flat": (
        lambda: domino.json_schema(
            _object(("name", "age"), name=TEXT, age={"type": "integer"}, email=TEXT, note={"type": "null"}) | CLOSED
        ),
        ['{"name": "Ada Lovelace", "age": 36, "note": null}', '{"age":36,"email":"a\\u0041","name":"x"}'],
    ),
    "schema-open": (
        lambda: domino.json_schema(_object(("name",), name=TEXT, names={"type": "array"}, id={"type": "integer"})),
        ['{"name": "A", "nam": [1], "names": [null], "idx": {"id": "x"}, "id": 7}'],
    ),
    "schema-ordered": (
        lambda: domino.json_schema(_object(("b",), a=TEXT, b=TEXT, c=TEXT) | CLOSED, key_order="declared"),
        ['{"a": "1", "b": "2"}'],
    ),
    "schema-enum": (
        lambda: domino.json_schema(_object(("kind",), kind={"enum": ["a", "ab", 1, 12, None, {"x": []}]}) | CLOSED),
        ['{"kind": "ab"}', '{"kind": 12}'],
    ),
    "schema-integer-range": (
        lambda: domino.json_schema({"type": "integer", "minimum": -12, "maximum": 1234}),
        ["-12", "999"],
    ),
    "schema-number": (lambda: domino.json_schema({"type": "number"}), ["-12.5e-3", "0"]),
    "schema-max-length": (
        lambda: domino.json_schema({"type": "string", "minLength": 2, "maxLength": 5000}),
        [json.dumps("The quick brown fox — 日本語 \\ 🥐 " * 3, ensure_ascii=False)],
    ),
    "schema-short-length": (
        lambda: domino.json_schema({"type": "string", "maxLength": 6}),
        ['"\\u00e9tés"', '"abcdef"'],
    ),
    "schema-pattern": (
        lambda: domino.json_schema({"type": "string", "pattern": r"^[A-Z]{2}\d{1,4}( [a-z\"]+)?$"}),
        ['"AB123 say\\"hi"', '"XY1"'],
    ),
    "schema-array": (
        lambda: domino.json_schema({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4}),
        ["[1, 22,333]"],
    ),
    "schema-array-of-arrays": (
        lambda: domino.json_schema({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}),
        ["[[true, false], [], [true]]"],
    ),
    "schema-any-of": (
        lambda: domino.json_schema({"anyOf": [_object(("a",), a=TEXT), {"type": "array"}, {"type": "boolean"}]}),
        ['{"a": "x", "b": 1}', "[null]", "false"],
    ),
    "schema-tree": (lambda: domino.json_schema(TREE), [json.dumps(NESTED, ensure_ascii=False)]),
    "schema-date-time": (lambda: domino.json_schema(TEXT | {"format": "date"}), ['"2024-02-29"']),
    "type-point": (lambda: domino.of_type(Point), ['{"x": 3, "y": -0.5, "label": "end"}']),
    "type-list": (lambda: domino.of_type(list[Literal["red", "green"]]), ['["red", "green", "red"]']),
    "together": (
        lambda: domino.regex("Answer: ") + domino.choice(["yes", "no"]) + domino.regex(r"\n\n?"),
        ["Answer: yes\n\n"],
    ),
    "raw-brackets": (_brackets, ["(x[y]<b>xy</b>) <b>(())</b>"]),
    "raw-ambiguous": (
        lambda: ex.seq(*(ex.star(ex.frame(ex.alt(ex.lit(b"a"), ex.lit(b"ab"), ex.lit(b"the ")))) for _ in range(3))),
        ["abathe the aabab"],
    ),
    "raw-characters": (lambda: ex.repeat(utf8.ANY_CHAR, 0, 300), ["naïve 日本語 🥐\ttext"]),
    "raw-without": (
        lambda: ex.neg(ex.seq(ex.ALL, ex.lit(b"the"), ex.ALL)),
        ["a quick brown fox"],
    ),
}
