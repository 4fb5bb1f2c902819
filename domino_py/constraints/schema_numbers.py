"""Numbers of a schema: what several sets of number keywords say together.

Bounds are merged exactly; what remains is a range by decimal digits, and divisors beside it (`json_multiples`).
Whole numbers are written without fraction and exponent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tokenizer_align.expressions import Expr, frame

from .json import any_integer, any_number
from .json_layout import JsonStyle
from .json_multiples import multiples, values_divide
from .json_numbers import Bounds, number_range


@dataclass(frozen=True, slots=True)
class NumberSet:
    """Numbers that satisfy everything given: inside the bounds, whole or not, multiples of every divisor."""

    bounds: Bounds = Bounds()  # noqa: RUF009  (frozen)
    is_integer: bool = False
    divisors: frozenset[Decimal] = frozenset()

    def holds(self, value: int | Decimal) -> bool:
        """Whether a value belongs to the set."""
        exact = Decimal(value)
        if self.is_integer and exact != exact.to_integral_value():
            return False
        return self.bounds.holds(exact) and all(values_divide(exact, divisor) for divisor in self.divisors)

    def expression(self, style: JsonStyle) -> Expr:
        """The numbers as text. Raises TooComplex where divisors and bounds together are too much."""
        if self.divisors:
            return multiples(self.bounds, self.divisors, style.digits, self.is_integer)
        if self.bounds == Bounds():
            return any_integer(style) if self.is_integer else any_number(style)
        return frame(number_range(self.bounds, style.digits, self.is_integer))


def number_set(assertions: Iterable[dict[str, Any]], draft: int) -> NumberSet:
    """The numbers that satisfy the number keywords of all these schemas (their `type` included)."""
    bounds, is_integer, divisors = Bounds(), False, set[Decimal]()
    for schema in assertions:
        names = schema.get("type", ())
        names = [names] if isinstance(names, str) else names
        is_integer = is_integer or ("integer" in names and "number" not in names)
        bounds = _with_bounds(bounds, schema, draft)
        if "multipleOf" in schema:
            divisors.add(Decimal(schema["multipleOf"]))
    if Decimal(1) in divisors:
        divisors.discard(Decimal(1))
        is_integer = True
    return NumberSet(bounds, is_integer, frozenset(divisors))


def _with_bounds(bounds: Bounds, schema: dict[str, Any], draft: int) -> Bounds:
    if draft == 4:
        if "minimum" in schema:
            bounds = bounds.with_lo(Decimal(schema["minimum"]), bool(schema.get("exclusiveMinimum")))
        if "maximum" in schema:
            bounds = bounds.with_hi(Decimal(schema["maximum"]), bool(schema.get("exclusiveMaximum")))
        return bounds
    for keyword, is_open in (("minimum", False), ("exclusiveMinimum", True)):
        if keyword in schema:
            bounds = bounds.with_lo(Decimal(schema[keyword]), is_open)
    for keyword, is_open in (("maximum", False), ("exclusiveMaximum", True)):
        if keyword in schema:
            bounds = bounds.with_hi(Decimal(schema[keyword]), is_open)
    return bounds
