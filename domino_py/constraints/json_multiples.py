"""Multiples of decimal divisors as number texts (`multipleOf`), exact also beside bounds.

A divisor is D = 2^a 5^b m, with m coprime to ten. Being a multiple of 2^a 5^b is a matter of the last digits, hence
an intersection with finitely many endings. Being a multiple of m is a matter of all digits read as one whole
number, wherever the point stands, since ten is invertible modulo m: a product of the range with remainders, built
lazily, one state a pair. Few multiples inside narrow bounds are simply listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from tokenizer_align.derivatives import heads
from tokenizer_align.errors import TooComplex
from tokenizer_align.expressions import (
    Expr,
    LazyState,
    alt,
    both,
    frame,
    lazy,
    lit,
    optional,
    repeat,
    seq,
    words,
)

from .json_numbers import DIGIT, MINUS, NON_ZERO, POINT, ZEROS, Bounds, Digits, number_range, with_zeros

MAX_LISTED = 1_000
MAX_ENDINGS = 100
MAX_MODULUS = 1_000


def values_divide(value: Decimal, divisor: Decimal) -> bool:
    """Whether a value is a whole multiple of a divisor, exactly."""
    return (Fraction(value) / Fraction(divisor)).denominator == 1


def multiples(
    bounds: Bounds, divisors: Iterable[Decimal], digits: Digits, is_integer: bool, by_value: bool = False
) -> Expr:
    """Numbers in plain decimals inside the bounds that are multiples of every divisor. May raise TooComplex.

    `by_value`: with any number of needless zeros at the end; else whole numbers have none.

    >>> from tokenizer_align.recognizer import matches
    >>> prices = multiples(Bounds(Decimal(0)), [Decimal("0.05")], Digits(), is_integer=False)
    >>> [matches(prices, text) for text in (b"1", b"0.05", b"12.50", b"0.01")]
    [True, True, True, False]
    """
    step = common_multiple([*divisors, Decimal(1)] if is_integer else divisors)
    listed = _listed(bounds, step)
    if listed is None:
        return frame(_unlisted(bounds, step, digits, is_integer, by_value))
    if not by_value:
        return frame(words(listed))
    whole = [text for text in listed if b"." not in text]
    return frame(alt(with_zeros(words(whole)), seq(words(text for text in listed if b"." in text), ZEROS)))


def multiples_by_value(divisor: Decimal, digits: Digits) -> Expr:
    """Plain decimals that are a multiple of a divisor in any writing, trailing zeros included; without calls."""
    return _unlisted(Bounds(), common_multiple([divisor]), digits, is_integer=False, by_value=True)


def _unlisted(bounds: Bounds, step: Fraction, digits: Digits, is_integer: bool, by_value: bool) -> Expr:
    twos, fives, rest = _factors(step)
    decimals, endings = _ending_length(twos, fives)
    if digits.fraction is not None:
        digits = Digits(digits.whole, max(digits.fraction, decimals), digits.exponent)
    base = number_range(bounds, digits, is_integer)
    tail = Fraction(2) ** twos * Fraction(5) ** fives
    if not decimals and 10**endings // tail > MAX_ENDINGS:
        rest, tail, endings = int(step), Fraction(1), 0
        is_integer = True  # the modulus shares factors with ten: its digits end before a point
        base = number_range(bounds, digits, is_integer)
    base = both(base, seq(optional(MINUS), _with_endings(tail, decimals, endings)))
    if rest > MAX_MODULUS:
        raise TooComplex(f"multiples of {_shown(step)}: remainders by more than {MAX_MODULUS:,} are not supported")
    found = base if rest == 1 else _with_remainder(base, rest)
    return with_zeros(found) if by_value and is_integer else found


def _shown(step: Fraction) -> str:
    text = str(step)
    return text if len(text) <= 40 else f"{Decimal(step.numerator) / Decimal(step.denominator):.6g}"


def common_multiple(divisors: Iterable[Decimal]) -> Fraction:
    """The least positive number that is a multiple of every divisor."""
    result: Fraction | None = None
    for divisor in map(Fraction, divisors):
        if result is None:
            result = divisor
        else:
            numerator = math.lcm(result.numerator, divisor.numerator)
            result = Fraction(numerator, math.gcd(result.denominator, divisor.denominator))
    assert result is not None
    return result


def _listed(bounds: Bounds, step: Fraction) -> list[bytes] | None:
    """All multiples in narrow bounds, each in its plain spelling; None where there are too many."""
    if bounds.lo is None or bounds.hi is None:
        return None
    first, last = math.ceil(Fraction(bounds.lo) / step), math.floor(Fraction(bounds.hi) / step)
    first += bounds.lo_open and first * step == Fraction(bounds.lo)
    last -= bounds.hi_open and last * step == Fraction(bounds.hi)
    if last - first >= MAX_LISTED:
        return None
    return [_plain(count * step) for count in range(first, last + 1)]


def _plain(value: Fraction) -> bytes:
    """A decimal fraction in plain decimals, without needless zeros."""
    decimals = 0
    while (value * 10**decimals).denominator != 1:
        decimals += 1
    whole = str(abs(int(value * 10**decimals))).rjust(decimals + 1, "0")
    text = f"{whole[:-decimals]}.{whole[-decimals:]}" if decimals else whole
    return (("-" if value < 0 else "") + text).encode()


def _factors(step: Fraction) -> tuple[int, int, int]:
    """(a, b, m) with step = 2^a 5^b m and m coprime to ten; the denominators of decimals hold only 2 and 5."""
    powers = []
    rest, below = step.numerator, step.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        while below % prime == 0:
            below, power = below // prime, power - 1
        powers.append(power)
    return powers[0], powers[1], rest


def _ending_length(twos: int, fives: int) -> tuple[int, int]:
    """(decimals that count, length of the endings) for multiples of 2^twos 5^fives."""
    decimals = max(0, -twos, -fives)
    return decimals, max(twos + decimals, fives + decimals)


def _with_endings(step: Fraction, decimals: int, length: int) -> Expr:
    """Decimals without a sign whose first `decimals` places are a multiple of `step`, and all further places zero."""
    scaled = step * 10**decimals
    if length > 60 or 10**length // scaled > MAX_ENDINGS * 10:
        raise TooComplex(f"multiples of {_shown(step)}: more than {MAX_ENDINGS * 10:,} possible endings")
    parts = []
    for value in range(0, 10**length, int(scaled)):
        ending = str(value).rjust(length, "0") if length else ""
        cut = max(length - decimals, 0)
        parts.append(seq(_whole_ending(ending[:cut]), _fraction_ending(ending[cut:], decimals)))
    return alt(*parts)


def _whole_ending(ending: str) -> Expr:
    """Whole parts that end so, shorter ones as if zeros stood before them."""
    if not ending:
        return alt(lit(b"0"), seq(NON_ZERO, repeat(DIGIT, 0, None)))
    short = (ending.lstrip("0") or "0").encode()
    return alt(lit(short), seq(NON_ZERO, repeat(DIGIT, 0, None), lit(ending.encode())))


def _fraction_ending(ending: str, decimals: int) -> Expr:
    """Fractions whose first `decimals` places end so; later places are zero, trailing zeros may be left out."""
    free = decimals - len(ending)
    kept = ending.rstrip("0")
    if kept:
        return seq(POINT, repeat(DIGIT, free, free), lit(kept.encode()), ZEROS)
    zeros_only = repeat(lit(b"0"), 1, None)
    return optional(seq(POINT, alt(zeros_only, seq(repeat(DIGIT, 1, free), ZEROS)) if free else zeros_only))


def _with_remainder(base: Expr, modulus: int) -> Expr:
    """Those texts of `base` whose digits, read as one whole number, are a multiple of `modulus`."""
    states: dict[tuple[Expr, int], Expr] = {}

    def state(here: Expr, remainder: int) -> Expr:
        found = states.get((here, remainder))
        if found is None:
            is_end = bool(here.memo_nullable) and remainder == 0
            found = states[here, remainder] = lazy(LazyState(is_end, lambda: following(here, remainder)))
        return found

    def following(here: Expr, remainder: int) -> tuple[tuple[int, Expr], ...]:
        targets: dict[Expr, int] = {}
        for mask, after in heads(here):
            for byte in range(0x2D, 0x3A):
                if mask >> byte & 1:
                    digit = byte - 0x30
                    target = state(after, (remainder * 10 + digit) % modulus if digit >= 0 else remainder)
                    targets[target] = targets.get(target, 0) | 1 << byte
        return tuple((mask, target) for target, mask in targets.items())

    return state(base, 0)
