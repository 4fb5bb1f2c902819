"""What is drafted where the constraint determines it up to blanks and the order of keys."""

from __future__ import annotations

import pytest

import domino_py as domino
from tokenizer_align.compiled import compile_expression
from tokenizer_align.layout import DEFAULT_LAYOUT, Layout, observe
from tokenizer_align.vocabulary import Vocabulary

VOCABULARY = Vocabulary.from_bytes([*(bytes([b]) for b in range(256)), None], [256])
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "kind": {"enum": ["person"]}},
    "required": ["name", "age", "kind"],
    "additionalProperties": False,
}
LINES = Layout(indent=b"  ")


def draft(constraint: domino.Constraint, text: bytes, layout: Layout | None = None) -> bytes:
    matcher = compile_expression(constraint.expression, VOCABULARY).matcher()
    for byte in text:
        matcher.advance(byte)
    drafted = matcher.determined_bytes(layout)
    fork = matcher.fork()
    for byte in drafted:  # whatever is drafted is legal
        fork.advance(byte)
    return drafted


@pytest.mark.parametrize(
    ("text", "layout", "drafted"),
    [
        (b"", None, b'{"name": "'),
        (b"", LINES, b'{\n  "name": "'),
        (b'{"name": "Ada"', None, b', "age": '),
        (b'{"name":"Ada"', observe(b'{"name":"Ada"'), b', "age":'),
        (b'{\n  "name": "Ada"', observe(b'{\n  "name": "Ada"'), b',\n  "age": '),
        (b'{"age": 3, ', None, b'"name": "'),
        (b'{"na', None, b'me": "'),
        (b"{\n", observe(b"{\n"), b'  "name": "'),
        (b"{\n ", Layout(indent=b"  ", inline=(False,)), b' "name": "'),
        (b'{\n  "name": "Ada",\n', observe(b'{\n  "name": "Ada",\n'), b'  "age": '),
        (b'{"name": "Ada", "age": 3,', None, b' "kind": "person"}'),
    ],
)
def test_keys_come_in_declared_order_with_the_text_s_blanks(text: bytes, layout: Layout | None, drafted: bytes) -> None:
    assert draft(domino.json_schema(SCHEMA), text, layout) == drafted


def test_nothing_is_drafted_where_the_model_has_a_real_choice() -> None:
    assert draft(domino.choice(["yes", "no"]), b"") == b""
    assert draft(domino.json_schema(SCHEMA), b'{"name": "A') == b""


def test_forced_bytes_are_drafted_without_a_layout() -> None:
    assert draft(domino.choice(["approve", "approved later"]), b"a") == b"pprove"


def test_drafts_are_bounded() -> None:
    keys = [f"{'key' * 20}{i}" for i in range(40)]
    schema = {
        "type": "object",
        "properties": {k: {"const": 1} for k in keys},
        "required": keys,
        "additionalProperties": False,
    }
    assert 100 < len(draft(domino.json_schema(schema), b"", DEFAULT_LAYOUT)) < 1200
