"""Constraints that every engine can say, with legal texts: the fixed part of `mask_bench.py`."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

from benchmarks.mask_engines import Task


@dataclass(frozen=True)
class FixedCase:
    """A task and texts that satisfy it."""

    task: Task
    texts: tuple[str, ...]


_PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "role": {"enum": ["admin", "editor", "viewer"]},
        "active": {"type": "boolean"},
    },
    "required": ["name", "age", "role", "active"],
    "additionalProperties": False,
}
_PERSON_TEXTS = (
    '{"name": "Ada Lovelace", "age": 36, "role": "admin", "active": true}',
    '{\n  "name": "Jörg Müller-Lüdenscheidt",\n  "age": 7,\n  "role": "viewer",\n  "active": false\n}',
    '{"name": "王小明", "age": 58, "role": "editor", "active": true}',
)
_TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value", "children"],
            "additionalProperties": False,
        }
    },
}
_LONG = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 5000}},
    "required": ["text"],
    "additionalProperties": False,
}
_PROSE = (
    "The committee met on Tuesday and agreed, after a long debate, to postpone the vote. Several members noted that "
    "the figures (see appendix) did not add up; others said they were in a hurry. The next meeting is on 14 March."
)
_EMAIL = r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*\.[a-zA-Z]{2,10}"
_WORDS = tuple(
    f"{first} {second}{third}"
    for first, second, third in itertools.product(
        ("red", "blue", "dark", "pale", "new", "old", "north", "south", "upper", "lower"),
        ("sea", "sky", "sun", "moon", "star", "rain", "wood", "field", "stone", "river"),
        ("side", "gate", "view", "land", "ford"),
    )
)

_ARITHMETIC_GBNF = r"""
root ::= expr
expr ::= term (("+" | "-") term)*
term ::= factor (("*" | "/") factor)*
factor ::= number | "(" expr ")" | "-" factor
number ::= [0-9]+ ("." [0-9]+)?
"""
_ARITHMETIC_LARK = r"""
start: expr
expr: term (("+" | "-") term)*
term: factor (("*" | "/") factor)*
factor: NUMBER | "(" expr ")" | "-" factor
NUMBER: /[0-9]+(\.[0-9]+)?/
"""
_SQL_GBNF = r"""
root ::= select ";"
select ::= "SELECT " columns " FROM " name (" WHERE " condition)? (" ORDER BY " name (" ASC" | " DESC")?)? (" LIMIT " [0-9]+)?
columns ::= "*" | column (", " column)*
column ::= name | function "(" (name | "*") ")"
function ::= "COUNT" | "SUM" | "AVG" | "MIN" | "MAX"
condition ::= comparison ((" AND " | " OR ") comparison)*
comparison ::= name " " operator " " value | "(" condition ")" | name " IN (" select ")"
operator ::= "=" | "<>" | "<=" | ">=" | "<" | ">"
value ::= [0-9]+ ("." [0-9]+)? | "'" [^'\n]* "'" | name
name ::= [a-z_] [a-z0-9_]*
"""  # noqa: E501
_SQL_LARK = r"""
start: select ";"
select: "SELECT " columns " FROM " NAME (" WHERE " condition)? (" ORDER BY " NAME (" ASC" | " DESC")?)? (" LIMIT " INT)?
columns: "*" | column (", " column)*
column: NAME | function "(" (NAME | "*") ")"
function: "COUNT" | "SUM" | "AVG" | "MIN" | "MAX"
condition: comparison ((" AND " | " OR ") comparison)*
comparison: NAME " " operator " " value | "(" condition ")" | NAME " IN (" select ")"
operator: "=" | "<>" | "<=" | ">=" | "<" | ">"
value: NUMBER | STRING | NAME
INT: /[0-9]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /'[^'\n]*'/
NAME: /[a-z_][a-z0-9_]*/
"""

FIXED = (
    FixedCase(
        Task("any JSON"),
        (
            *_PERSON_TEXTS,
            '{"id": 17, "tags": ["a", "b c", ""], "geo": {"lat": -12.5, "lon": 1.3e2}, "ok": null, "n": [[1, 2], [3]]}',
            '[\n    {"title": "On the road", "pages": 307, "in print": true},\n    {"title": "Ulysses"}\n]',
        ),
    ),
    FixedCase(Task("flat schema with an enum", schema=json.dumps(_PERSON)), _PERSON_TEXTS),
    FixedCase(
        Task("recursive schema", schema=json.dumps(_TREE)),
        (
            '{"value": "root", "children": [{"value": "left leaf", "children": []}, {"value": "right", "children": '
            '[{"value": "deep", "children": [{"value": "deeper", "children": []}]}]}]}',
        ),
    ),
    FixedCase(
        Task("maxLength 5000", schema=json.dumps(_LONG)),
        (json.dumps({"text": _PROSE}), json.dumps({"text": "Ja. " + _PROSE[40:]})),
    ),
    FixedCase(
        Task("e-mail regex", pattern=_EMAIL),
        ("ada.lovelace@example.com", "j_mueller+lists@mail.uni-hamburg.de", "x@y.io"),
    ),
    FixedCase(Task("choice of 500 words", words=_WORDS), tuple(_WORDS[::37])),
    FixedCase(
        Task("arithmetic grammar", gbnf=_ARITHMETIC_GBNF, lark=_ARITHMETIC_LARK),
        ("12*(3+4)-5/(6.25-1)", "((((1+2)*3)-4)/5)*(17.5+(2*(3+(4*(5+6)))))", "-(-(1))+1234567890*0.001"),
    ),
    FixedCase(
        Task("SQL grammar", gbnf=_SQL_GBNF, lark=_SQL_LARK),
        (
            "SELECT name, COUNT(*) FROM users WHERE age >= 21 AND (city = 'Paris' OR city = 'Rome') ORDER BY name;",
            "SELECT * FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE total > 99.5) LIMIT 10;",
        ),
    ),
)
