"""Numbers in every writing, exponents included: one value, or the whole numbers inside bounds.

A number with the exponent e is a plain decimal of the value divided by 10^e; so each exponent gives one plain language,
and the exponents from -20 to 20 give them all, as far as mantissas have no more than some twenty digits too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from tokenizer_align.expressions import EMPTY, Expr, alt, both, byte_set, lit, optional, repeat, seq, words

from .json_numbers import (
    DIGIT,
    MINUS,
    NON_ZERO,
    POINT,
    ZEROS,
    Bounds,
    Digits,
    number_range,
    split_digits,
    value_spellings,
    with_zeros,
)

MOST = 20  # the largest exponent that is offered beside bounds, and for listed values


def spellings(values: Sequence[Decimal]) -> Expr:
    """Any of these numbers in every writing; thousands are one trie for each exponent.

    >>> from tokenizer_align.recognizer import matches
    >>> [matches(spellings([Decimal(10)]), text) for text in (b"10.0", b"1e1", b"100E-01", b"1e2")]
    [True, True, True, False]
    """
    others = [value for value in values if value]
    parts = []
    if len(others) < len(values):
        some = seq(byte_set(b"eE"), optional(byte_set(b"+-")), repeat(DIGIT, 1, 3))
        parts.append(seq(value_spellings(Decimal(0)), optional(some)))
    for e in range(-MOST, MOST + 1) if others else ():
        whole: list[bytes] = []
        decimals: list[bytes] = []
        for value in others:
            before, after = split_digits(shifted(value, -e).copy_abs())
            text = f"{'-' if value < 0 else ''}{before}{'.' if after else ''}{after}".encode()
            (decimals if after else whole).append(text)
        plain = alt(with_zeros(words(whole)) if whole else EMPTY, seq(words(decimals), ZEROS) if decimals else EMPTY)
        parts.append(seq(plain, optional(exponent(0)) if e == 0 else exponent(e)))
    return alt(*parts)


def shifted(value: Decimal, places: int) -> Decimal:
    """The value times ten to the power of `places`, exactly."""
    sign, digits, own = value.as_tuple()
    assert isinstance(own, int)
    return Decimal((sign, digits, own + places))


def exponent(places: int) -> Expr:
    """The writings of one exponent."""
    sign = MINUS if places < 0 else optional(byte_set(b"+-") if places == 0 else lit(b"+"))
    return seq(byte_set(b"eE"), sign, ZEROS, lit(str(abs(places)).encode()))


@lru_cache(maxsize=256)
def whole_numbers(bounds: Bounds, digits: Digits) -> Expr:
    """The whole numbers inside bounds in every writing, with exponents from -20 to 20."""
    parts = [with_zeros(number_range(bounds, digits, is_integer=True))]
    parts.append(seq(parts[0], exponent(0)))
    free = Digits(digits.whole, None, None)
    for e in range(1, MOST + 1):
        plain = number_range(_scaled(bounds, -e), free, is_integer=False)
        decimals = alt(repeat(DIGIT, 1, e), seq(repeat(DIGIT, e, e), ZEROS))
        ending = seq(optional(MINUS), repeat(DIGIT, 1, None), optional(seq(POINT, decimals)))
        parts.append(_with_exponent(both(plain, ending), e))
        plain = number_range(_scaled(bounds, e), free, is_integer=True)
        zeros = alt(lit(b"0"), seq(NON_ZERO, repeat(DIGIT, 0, None), lit(b"0" * e)))
        parts.append(_with_exponent(with_zeros(both(plain, seq(optional(MINUS), zeros))), -e))
    return alt(*parts)


def whole_with_negative_exponent() -> Expr:
    """Any whole number written with an exponent below zero: as many zeros stand at its end."""
    parts = []
    for e in range(1, MOST + 1):
        digits = alt(lit(b"0"), seq(NON_ZERO, repeat(DIGIT, 0, None), lit(b"0" * e)))
        parts.append(seq(with_zeros(seq(optional(MINUS), digits)), exponent(-e)))
    return alt(*parts)


def _with_exponent(mantissa: Expr, places: int) -> Expr:
    return EMPTY if mantissa is EMPTY else seq(mantissa, exponent(places))


def _scaled(bounds: Bounds, places: int) -> Bounds:
    lo, hi = (None if bound is None else shifted(bound, places) for bound in (bounds.lo, bounds.hi))
    return Bounds(lo, hi, bounds.lo_open, bounds.hi_open)
