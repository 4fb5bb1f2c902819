"""JSON numbers (RFC 8259 section 6) and exact ranges of them, by decimal digits.

A range compares digit by digit, so it is exact for every number of digits; no binary floating point takes part.
Numbers with bounds other than 0 are written without an exponent. A minus sign is offered only where a negative value
is legal (so `-0` is not offered by `minimum: 0`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tokenizer_align.expressions import EMPTY, EPSILON, Expr, alt, both, byte_set, lit, optional, plus, repeat, seq

DIGIT = byte_set(b"0123456789")
NON_ZERO = byte_set(b"123456789")
POINT = lit(b".")
MINUS = lit(b"-")
ZEROS = repeat(lit(b"0"), 0, None)
MAX_BOUND_DIGITS = 1200  # digits of a bound before it is refused; the smallest double has 1,074 decimal places


@dataclass(frozen=True, slots=True)
class Digits:
    """How many digits a number may have: before the point, after it, and in its exponent. None: any number."""

    whole: int | None = 20
    fraction: int | None = 20
    exponent: int | None = 3


BOUNDED = Digits()
UNBOUNDED = Digits(None, None, None)


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of numbers; None is no bound. `lo_open`: `lo` itself does not belong to it; `hi_open` alike."""

    lo: Decimal | None = None
    hi: Decimal | None = None
    lo_open: bool = False
    hi_open: bool = False

    def with_lo(self, lo: Decimal, is_open: bool) -> Bounds:
        """Also at least `lo` (above it where `is_open`)."""
        if self.lo is not None and (lo < self.lo or (lo == self.lo and not is_open)):
            return self
        return Bounds(lo, self.hi, is_open, self.hi_open)

    def with_hi(self, hi: Decimal, is_open: bool) -> Bounds:
        """Also at most `hi` (below it where `is_open`)."""
        if self.hi is not None and (hi > self.hi or (hi == self.hi and not is_open)):
            return self
        return Bounds(self.lo, hi, self.lo_open, is_open)

    def holds(self, value: Decimal) -> bool:
        above = self.lo is None or value > self.lo or (value == self.lo and not self.lo_open)
        return above and (self.hi is None or value < self.hi or (value == self.hi and not self.hi_open))

    @property
    def is_sign(self) -> bool:
        """Whether the sign alone decides: then an exponent changes nothing."""
        return self.lo in (None, 0) and self.hi in (None, 0)

    @property
    def is_contradiction(self) -> bool:
        if self.lo is None or self.hi is None:
            return False
        return self.lo > self.hi or (self.lo == self.hi and (self.lo_open or self.hi_open))


def integer(digits: Digits) -> Expr:
    """A whole number without fraction or exponent."""
    return seq(optional(MINUS), whole_part(digits))


def integer_by_value(digits: Digits) -> Expr:
    """A whole number in every plain decimal writing (`1.0`), and with exponents from zero on (`1.5e3`)."""
    most = 20 if digits.fraction is None else digits.fraction
    mark = seq(byte_set(b"eE"), optional(lit(b"+")), ZEROS)
    parts = [optional(seq(POINT, plus(lit(b"0"))))]
    for places in range(most + 1):
        fraction = seq(POINT, repeat(DIGIT, places - 1, places - 1), NON_ZERO, ZEROS) if places else EPSILON
        parts.append(seq(fraction if places else parts[0], mark, _exponent_from(places, digits.exponent)))
    return seq(integer(digits), alt(*parts))


def _exponent_from(least: int, max_digits: int | None) -> Expr:
    """The digits of an exponent of at least so much (below 100)."""
    tens, ones = divmod(least, 10)
    long = EMPTY if max_digits is not None and max_digits < 3 else seq(NON_ZERO, repeat(DIGIT, 2, max_digits))
    two = alt(
        seq(_between(chr(ord("1") + tens), "9"), DIGIT),
        seq(_between(chr(ord("0") + tens), chr(ord("0") + tens)) if tens else EMPTY, _between(str(ones), "9")),
    )
    return alt(long, two, EMPTY if tens else _between(str(ones), "9"))


def value_spellings(value: Decimal) -> Expr:
    """One number in every plain decimal writing."""
    whole, fraction = split_digits(value.copy_abs())
    rest = seq(POINT, lit(fraction.encode()), repeat(lit(b"0"), 0 if fraction else 1, None))
    sign = optional(MINUS) if value == 0 else MINUS if value < 0 else EPSILON
    return seq(sign, lit(whole.encode()), rest if fraction else optional(rest))


def with_zeros(whole: Expr) -> Expr:
    """Whole numbers, also with a fraction of zeros."""
    return seq(whole, optional(seq(POINT, plus(lit(b"0")))))


def number(digits: Digits) -> Expr:
    """Any JSON number."""
    return seq(optional(MINUS), whole_part(digits), fraction_part(digits), exponent_part(digits))


def exponent_part(digits: Digits) -> Expr:
    """An exponent or none."""
    return optional(seq(byte_set(b"eE"), optional(byte_set(b"+-")), repeat(DIGIT, 1, digits.exponent)))


def whole_part(digits: Digits) -> Expr:
    """Digits before the point: no leading zeros."""
    more = None if digits.whole is None else max(digits.whole - 1, 0)
    return alt(lit(b"0"), seq(NON_ZERO, repeat(DIGIT, 0, more)))


def fraction_part(digits: Digits) -> Expr:
    """Nothing, or a point and digits."""
    return EPSILON if digits.fraction == 0 else optional(seq(POINT, repeat(DIGIT, 1, digits.fraction)))


def number_range(bounds: Bounds, digits: Digits, is_integer: bool) -> Expr:
    """Numbers inside the bounds, in decimal notation; EMPTY where there are none.

    >>> from tokenizer_align.recognizer import matches
    >>> percent = number_range(Bounds(Decimal(0), Decimal(100)), Digits(), is_integer=False)
    >>> [matches(percent, text) for text in (b"0", b"99.5", b"100.0", b"100.01", b"-1")]
    [True, True, True, False, False]
    """
    if bounds.is_contradiction:
        return EMPTY
    if is_integer:
        digits = Digits(digits.whole, 0, 0)
    positive = bounds.with_lo(Decimal(0), False)
    parts = [_magnitudes(positive, digits)]
    if bounds.lo is None or bounds.lo < 0:
        mirrored = Bounds(_negated(bounds.hi), _negated(bounds.lo), bounds.hi_open, bounds.lo_open)
        parts.append(seq(MINUS, _magnitudes(mirrored.with_lo(Decimal(0), False), digits)))
    return alt(*parts)


def _negated(value: Decimal | None) -> Decimal | None:
    """The exact negative; unary minus would round to the context's precision, and zero keeps no sign."""
    return value.copy_negate() if value else value


def _magnitudes(bounds: Bounds, digits: Digits) -> Expr:
    """Numbers without a sign inside bounds; `bounds.lo` is at least zero."""
    assert bounds.lo is not None
    if bounds.is_contradiction:
        return EMPTY
    if bounds.lo == 0 and not bounds.lo_open:
        return _at_most(bounds.hi, bounds.hi_open, digits) if bounds.hi is not None else _decimal(digits)
    at_least = _at_least(bounds.lo, bounds.lo_open, digits)
    return at_least if bounds.hi is None else both(at_least, _at_most(bounds.hi, bounds.hi_open, digits))


def _decimal(digits: Digits) -> Expr:
    return seq(whole_part(digits), fraction_part(digits))


def split_digits(value: Decimal) -> tuple[str, str]:
    """(digits before the point, digits after it without trailing zeros) of a value that is not negative."""
    whole, _, fraction = f"{value:f}".partition(".")
    return whole.lstrip("0") or "0", fraction.rstrip("0")


def _some_digits(taken: int, digits: Digits, needed: int, least: int) -> Expr:
    """At least `least` more fraction digits after `taken`; `needed` digits of the bound always fit."""
    if digits.fraction is None:
        return repeat(DIGIT, least, None)
    room = max(digits.fraction, needed) - taken
    return repeat(DIGIT, least, room) if room >= least else EMPTY


def _between(lo: str, hi: str) -> Expr:
    """One digit from `lo` to `hi`, EMPTY where lo is above hi."""
    return byte_set(range(ord(lo), ord(hi) + 1))


def _at_least(bound: Decimal, is_open: bool, digits: Digits) -> Expr:
    whole, fraction = split_digits(bound)
    size = len(whole)
    if digits.fraction == 0:
        free_fraction = EPSILON
        after_whole = EMPTY if is_open or fraction else EPSILON
    else:
        needed = len(fraction) + 1
        free_fraction = optional(seq(POINT, _some_digits(0, digits, needed, 1)))
        after_whole = _fraction_at_least(fraction, is_open, digits, needed)
    longest = None if digits.whole is None else max(digits.whole, size + 1) - 1
    longer = seq(NON_ZERO, repeat(DIGIT, size, longest), free_fraction)
    same = after_whole
    for i in reversed(range(size)):
        above = _between(chr(ord(whole[i]) + 1), "9")
        same = alt(
            seq(above, repeat(DIGIT, size - i - 1, size - i - 1), free_fraction), seq(lit(whole[i].encode()), same)
        )
    return alt(longer, same)


def _fraction_at_least(fraction: str, is_open: bool, digits: Digits, needed: int) -> Expr:
    """What may follow the whole part of the bound itself, so that the value is at least (above, if open) the bound."""
    if not fraction and not is_open:
        return optional(seq(POINT, _some_digits(0, digits, needed, 1)))
    size = len(fraction)
    result = _some_digits(size, digits, needed, 0)
    if is_open:
        result = both(result, seq(ZEROS, NON_ZERO, repeat(DIGIT, 0, None)))
    for i in reversed(range(size)):
        above = seq(_between(chr(ord(fraction[i]) + 1), "9"), _some_digits(i + 1, digits, needed, 0))
        result = alt(above, seq(lit(fraction[i].encode()), result))
    return seq(POINT, result)


def _at_most(bound: Decimal, is_open: bool, digits: Digits) -> Expr:
    if bound < 0:
        return EMPTY
    whole, fraction = split_digits(bound)
    size = len(whole)
    if digits.fraction == 0:
        free_fraction = EPSILON
        after_whole = EMPTY if is_open and not fraction else EPSILON
    else:
        needed = len(fraction) + 1
        free_fraction = optional(seq(POINT, _some_digits(0, digits, needed, 1)))
        after_whole = _fraction_at_most(fraction, is_open, digits, needed)
    longest = size - 1 if digits.whole is None else min(digits.whole, size - 1)
    shorter = EMPTY if longest < 1 else seq(whole_part(Digits(longest)), free_fraction)
    same = after_whole
    for i in reversed(range(size)):
        below = _between("1" if i == 0 and size > 1 else "0", chr(ord(whole[i]) - 1))
        same = alt(
            seq(below, repeat(DIGIT, size - i - 1, size - i - 1), free_fraction), seq(lit(whole[i].encode()), same)
        )
    return alt(shorter, same)


def _fraction_at_most(fraction: str, is_open: bool, digits: Digits, needed: int) -> Expr:
    """What may follow the whole part of the bound itself, so that the value is at most (below, if open) the bound."""
    size = len(fraction)
    if is_open:
        result = EMPTY
    else:
        result = both(_some_digits(size, digits, needed, 0 if size else 1), ZEROS)
    if not size:
        return EMPTY if is_open else optional(seq(POINT, result))
    for i in reversed(range(size)):
        below = seq(_between("0", chr(ord(fraction[i]) - 1)), _some_digits(i + 1, digits, needed, 0))
        after = seq(lit(fraction[i].encode()), alt(EPSILON, result) if i < size - 1 else result)
        result = alt(below, after)
    return optional(seq(POINT, result))
