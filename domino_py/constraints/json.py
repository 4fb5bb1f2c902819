"""`json()`: any JSON value, and the frames of the JSON grammar that all JSON constraints share.

The grammar is RFC 8259, in the writing that `json_layout` describes. Python's `json.loads` parses what is legal here.
"""

from __future__ import annotations

from functools import lru_cache

from tokenizer_align.errors import Problem
from tokenizer_align.expressions import Expr, Rule, alt, call, frame, lit, repeat, seq

from . import json_exponents, json_numbers
from .base import Constraint
from .json_layout import JsonStyle, style_from_options
from .json_strings import ANY_STRING
from .option_names import names_its_options

TRUE, FALSE, NULL = lit(b"true"), lit(b"false"), lit(b"null")


@names_its_options
def json(*, whitespace: str = "flexible", digits: str = "bounded", max_digits: int = 20) -> Constraint:
    """Any JSON value.

    `whitespace`: "flexible" (at each place nothing, one blank, or a line break and indentation), "compact" (none) or
    "unbounded" (as RFC 8259 has it, also around the value). `digits`: "bounded" (numbers of at most `max_digits` digits
    before and after the point and three in the exponent) or "unbounded". Raises InvalidOption.

    >>> json().matches('{"a": [1, true, null]}')
    True
    >>> json(whitespace="compact").matches('{"a": 1}')
    False
    """
    style_from_options(whitespace, digits, max_digits)
    return Constraint("json", "any", _options(whitespace=whitespace, digits=digits, max_digits=max_digits))


def _options(**values: object) -> tuple[tuple[str, object], ...]:
    return tuple(sorted(values.items()))


def style_of(constraint: Constraint) -> JsonStyle:
    """The writing that the constraint's options ask for."""
    option = constraint.option
    return style_from_options(
        option("whitespace", "flexible"),
        option("digits", "bounded"),
        option("max_digits", 20),
        option("number_spelling", "canonical"),
    )


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `json` constraint."""
    style = style_of(constraint)
    return seq(style.outer, any_value(style), style.outer), ()


@lru_cache(maxsize=64)
def any_number(style: JsonStyle) -> Expr:
    """Any JSON number, as a frame."""
    return frame(json_numbers.number(style.digits))


@lru_cache(maxsize=64)
def any_integer(style: JsonStyle) -> Expr:
    """Any whole number, as a frame: without fraction and exponent, or in every writing that the style asks for."""
    if style.number_spelling == "any":
        return frame(alt(json_numbers.integer_by_value(style.digits), json_exponents.whole_with_negative_exponent()))
    return frame(json_numbers.integer(style.digits))


@lru_cache(maxsize=64)
def any_value(style: JsonStyle) -> Expr:
    """Any JSON value, as a recursive frame."""
    value = Rule("json value")
    here = call(value)
    scalars = alt(ANY_STRING, any_number(style), TRUE, FALSE, NULL)
    value.define(alt(scalars, _array_of(here, style), _object_of(here, style)))
    return here


@lru_cache(maxsize=64)
def any_array(style: JsonStyle) -> Expr:
    """Any JSON array, as a frame."""
    return frame(_array_of(any_value(style), style))


@lru_cache(maxsize=64)
def any_object(style: JsonStyle) -> Expr:
    """Any JSON object, as a frame."""
    return frame(_object_of(any_value(style), style))


def _array_of(value: Expr, style: JsonStyle) -> Expr:
    gap = style.gap
    more = repeat(seq(lit(b","), gap, value, gap), 0, None)
    return seq(lit(b"["), gap, alt(lit(b"]"), seq(value, gap, more, lit(b"]"))))


def _object_of(value: Expr, style: JsonStyle) -> Expr:
    gap = style.gap
    member = seq(ANY_STRING, gap, lit(b":"), gap, value, gap)
    more = repeat(seq(lit(b","), gap, member), 0, None)
    return seq(lit(b"{"), gap, alt(lit(b"}"), seq(member, more, lit(b"}"))))
