"""Equal constraints made anew share what was built for the first."""

from __future__ import annotations

from typing import Literal

import domino_py as domino
from domino_py.constraints.base import BuiltExpressions, built_expressions

SCHEMA = {"type": "object", "properties": {"built once": {"type": "integer", "minimum": 3}}}


def test_an_equal_schema_has_the_same_expression() -> None:
    assert domino.json_schema(SCHEMA).expression is domino.json_schema(dict(SCHEMA)).expression
    assert domino.of_type(Literal["built", "once"]).expression is domino.of_type(Literal["built", "once"]).expression


def test_other_options_or_another_order_of_keys_have_their_own() -> None:
    plain = domino.json_schema(SCHEMA).expression
    assert domino.json_schema(SCHEMA, whitespace="compact").expression is not plain
    assert domino.json_schema(SCHEMA, additional_properties=False).expression is not plain
    assert domino.json_schema(dict(reversed(SCHEMA.items()))).expression is not plain


def test_what_was_left_out_is_known_the_second_time_too() -> None:
    schema = {"type": "string", "contentMediaType": "text/html", "pattern": r"(?=a)b*\1"}
    first, second = (domino.json_schema(schema, on_unsupported="ignore") for _ in range(2))
    assert first.expression is second.expression
    assert first.ignored == second.ignored != ()


def test_only_so_many_are_kept_the_last_used_ones() -> None:
    kept = BuiltExpressions(capacity=2)
    a, b, c = (domino.regex(text) for text in "abc")
    for constraint in (a, b):
        kept.keep(constraint, (constraint.expression, ()))
    assert kept.get(a) is not None
    kept.keep(c, (c.expression, ()))
    assert kept.get(b) is None
    assert kept.get(a) is not None and kept.get(c) is not None


def test_types_that_parse_differently_are_not_mixed_up() -> None:
    built_expressions.clear()
    assert domino.of_type(list[int]).parse("[1]") == [1]
    assert domino.of_type(tuple[int, ...]).parse("[1]") == (1,)
