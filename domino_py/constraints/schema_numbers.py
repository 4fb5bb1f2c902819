"""Numbers of a schema: what several sets of number keywords say together.

Bounds are merged exactly; what remains is a range by decimal digits, and divisors beside it (`json_multiples`).
Whole numbers are written without fraction and exponent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tokenizer_align.expressions import EMPTY, K_CALL, Expr, both, frame, neg, seq

from .json import any_integer, any_number
from .json_exponents import whole_numbers
from .json_layout import JsonStyle
from .json_multiples import common_multiple, multiples, multiples_by_value, values_divide
from .json_numbers import UNBOUNDED, Bounds, exponent_part, integer, number_range, value_spellings, with_zeros
from .schema_values import json_type


@dataclass(frozen=True, slots=True)
class NumberSet:
    """Numbers that satisfy everything given: inside the bounds, whole or not, multiples of every divisor.

    `is_fractional`: not whole. `not_divisors`: multiples of none of these. `excluded`: none of these values.
    """

    bounds: Bounds = Bounds()  # noqa: RUF009  (frozen)
    is_integer: bool = False
    divisors: frozenset[Decimal] = frozenset()
    is_fractional: bool = False
    not_divisors: frozenset[Decimal] = frozenset()
    excluded: frozenset[Decimal] = frozenset()

    @property
    def is_contradiction(self) -> bool:
        """Whether it shows at once that nothing is left: no search is as fast, and it would visit all remainders."""
        if self.bounds.is_contradiction or (self.is_integer and self.is_fractional):
            return True
        divisors = [*self.divisors, Decimal(1)] if self.is_integer else self.divisors
        excluded = [*self.not_divisors, Decimal(1)] if self.is_fractional else self.not_divisors
        if not divisors or not excluded:
            return False
        step = common_multiple(divisors)
        return any((step / Fraction(divisor)).denominator == 1 for divisor in excluded)

    def holds(self, value: int | Decimal) -> bool:
        """Whether a value belongs to the set."""
        exact = Decimal(value)
        is_whole = exact == exact.to_integral_value()
        if (self.is_integer and not is_whole) or (self.is_fractional and is_whole) or exact in self.excluded:
            return False
        if any(values_divide(exact, divisor) for divisor in self.not_divisors):
            return False
        return self.bounds.holds(exact) and all(values_divide(exact, divisor) for divisor in self.divisors)

    def expression(self, style: JsonStyle) -> Expr:
        """The numbers as text. Raises TooComplex where divisors and bounds together are too much."""
        if self.is_contradiction:
            return EMPTY
        outside = [neg(multiples_by_value(divisor, style.digits)) for divisor in sorted(self.not_divisors)]
        outside += [neg(value_spellings(value)) for value in sorted(self.excluded)]
        if self.is_fractional:
            outside.append(neg(with_zeros(integer(UNBOUNDED))))
        by_value = style.number_spelling == "any"
        if self.divisors:
            base = multiples(self.bounds, self.divisors, style.digits, self.is_integer, by_value)
        elif self.bounds == Bounds() and not outside:
            return any_integer(style) if self.is_integer else any_number(style)
        else:
            found = number_range(self.bounds, style.digits, self.is_integer)
            if self.bounds.is_sign and not self.is_integer and not outside and found is not EMPTY:
                found = seq(found, exponent_part(style.digits))
            if by_value and self.is_integer and not outside:
                found = whole_numbers(self.bounds, style.digits)
            elif by_value and self.is_integer:
                found = with_zeros(found)
            base = frame(found)
        return frame(both(_inside(base), *outside)) if outside else base


def _inside(framed: Expr) -> Expr:
    """The body of a frame."""
    body: Expr = framed.data.body if framed.kind == K_CALL else framed
    return body


def number_set(
    assertions: Iterable[dict[str, Any]], draft: int, failing: Iterable[tuple[str, dict[str, Any]]] = ()
) -> NumberSet:
    """The numbers that satisfy all these number keywords (`type` included) and none of the `failing` ones."""
    bounds, is_integer, divisors = Bounds(), False, set[Decimal]()
    for schema in assertions:
        names = schema.get("type", ())
        names = [names] if isinstance(names, str) else names
        is_integer = is_integer or ("integer" in names and "number" not in names)
        bounds = _with_bounds(bounds, schema, draft)
        if "multipleOf" in schema:
            divisors.add(Decimal(schema["multipleOf"]))
    is_fractional, not_divisors, excluded = False, set[Decimal](), set[Decimal]()
    for keyword, schema in failing:
        if keyword == "type":
            is_fractional = True
        elif keyword == "multipleOf":
            not_divisors.add(Decimal(schema["multipleOf"]))
        elif keyword == "enum":
            excluded |= {Decimal(value) for value in schema["enum"] if json_type(value) == "number"}
        else:
            bounds = _outside(bounds, keyword, schema, draft)
    if is_integer:
        divisors.discard(Decimal(1))
    least = frozenset(d for d in not_divisors if not any(d != e and values_divide(d, e) for e in not_divisors))
    return NumberSet(bounds, is_integer, frozenset(divisors), is_fractional, least, frozenset(excluded))


def _outside(bounds: Bounds, keyword: str, schema: dict[str, Any], draft: int) -> Bounds:
    """Also beyond what one keyword admits."""
    value = Decimal(schema[keyword])
    if keyword in ("minimum", "exclusiveMinimum"):
        is_open = keyword == "exclusiveMinimum" or (draft == 4 and bool(schema.get("exclusiveMinimum")))
        return bounds.with_hi(value, not is_open)
    is_open = keyword == "exclusiveMaximum" or (draft == 4 and bool(schema.get("exclusiveMaximum")))
    return bounds.with_lo(value, not is_open)


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
