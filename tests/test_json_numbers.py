from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_py.constraints.json_exponents import whole_numbers
from domino_py.constraints.json_multiples import common_multiple, multiples, values_divide
from domino_py.constraints.json_numbers import UNBOUNDED, Bounds, Digits, integer_by_value, number_range
from domino_py.constraints.schema import json_schema
from domino_py.constraints.schema_numbers import NumberSet
from tokenizer_align.errors import TooComplex
from tokenizer_align.expressions import EMPTY
from tokenizer_align.productive import is_productive
from tokenizer_align.recognizer import matches

D = Decimal


def accepted(bounds: Bounds, texts: str, is_integer: bool = False, digits: Digits = Digits()) -> str:  # noqa: B008
    language = number_range(bounds, digits, is_integer)
    return " ".join(text for text in texts.split() if matches(language, text.encode()))


def test_range_compares_digit_by_digit() -> None:
    texts = "0 0.99 1 1.0 1.25 4.999 5 5.0 5.01 5.7 6 15 -1"
    assert accepted(Bounds(D(1), D(5)), texts) == "1 1.0 1.25 4.999 5 5.0"
    assert accepted(Bounds(D(1), D(5), True, True), texts) == "1.25 4.999"
    assert accepted(Bounds(D("0.99"), D("5.01"), True), texts) == "1 1.0 1.25 4.999 5 5.0 5.01"


def test_range_of_negative_numbers_is_mirrored() -> None:
    assert accepted(Bounds(D(-5)), "-6 -50 -5.5 -5 -1 0 12 - --1", is_integer=True) == "-5 -1 0 12"
    assert accepted(Bounds(D("-1.5"), D("-0.5")), "-1.51 -1.5 -1 -0.5 -0.49 0 -2") == "-1.5 -1 -0.5"
    assert accepted(Bounds(None, D(-10), False, True), "-10 -10.1 -11 -9 0 10") == "-10.1 -11"


def test_minus_zero_is_offered_only_where_negative_numbers_are() -> None:
    assert accepted(Bounds(D(0)), "-0 0 -0.0") == "0"
    assert accepted(Bounds(D(-1)), "-0 0 -0.0") == "-0 0 -0.0"


def test_bounds_longer_than_the_digits_option_still_fit() -> None:
    two = Digits(2, 2, 1)
    assert accepted(Bounds(D(1000)), "999 1000 9999 10000", digits=two, is_integer=True) == "1000 9999 10000"
    assert accepted(Bounds(D("0.0005"), D("0.0006")), "0.0005 0.00055 0.0006", digits=two) == "0.0005 0.00055 0.0006"


def test_contradictory_bounds_have_no_numbers() -> None:
    assert number_range(Bounds(D(3), D(2)), UNBOUNDED, False) is EMPTY
    assert not is_productive(number_range(Bounds(D(1), D(2), True, True), UNBOUNDED, True))


def test_huge_and_tiny_bounds_are_exact() -> None:
    huge = Bounds(D(10) ** 300)
    assert accepted(huge, f"{10**300} {10**300 - 1} {10**301}", is_integer=True) == f"{10**300} {10**301}"
    tiny = Bounds(D("1e-300"), None, True)
    assert accepted(tiny, f"0.{'0' * 299}1 0.{'0' * 299}11 0") == f"0.{'0' * 299}11"


def test_multiples_are_exact() -> None:
    def kept(step: str, texts: str, bounds: Bounds = Bounds(), is_integer: bool = False) -> str:  # noqa: B008
        language = multiples(bounds, [D(step)], Digits(), is_integer)
        return " ".join(text for text in texts.split() if matches(language, text.encode()))

    assert kept("0.5", "1.5 2 0.5 -3.5 0 0.3 1.25 2.75 2.50") == "1.5 2 0.5 -3.5 0 2.50"
    assert kept("0.01", "0.01 12.3 12.345 7") == "0.01 12.3 7"
    assert kept("7", "0 7 14 15 -21 7.0 70000007", is_integer=True) == "0 7 14 -21 70000007"
    assert kept("3", "3 4 5 6 9 12", Bounds(D(4), D(10)), is_integer=True) == "6 9"
    assert kept("64", "64 128 192 65", Bounds(D(65)), is_integer=True) == "128 192"
    assert kept("0.3", "0.3 0.6 0.9 1.2 1 3") == "0.3 0.6 0.9 1.2 3"


def test_several_divisors_become_one() -> None:
    assert common_multiple([D(4), D(6)]) == 12 and common_multiple([D("0.4"), D("0.6")]) == D("1.2")


def test_too_large_a_modulus_is_refused() -> None:
    with pytest.raises(TooComplex, match="123456789"):
        multiples(Bounds(), [D(123456789)], Digits(), True)


decimals = st.builds(lambda n, places: D(n).scaleb(-places), st.integers(-5000, 5000), st.integers(0, 3))
near = st.one_of(decimals, st.integers(-12, 12).map(D))
bounds = st.builds(Bounds, st.none() | near, st.none() | near, st.booleans(), st.booleans())
EDGES = ["0", "0.001", "-0.001", "1", "-1"]
option = st.sampled_from([Digits(), UNBOUNDED])


@given(bounds, st.booleans(), option, st.lists(near, min_size=1, max_size=12), st.integers(0, 2))
def test_ranges_agree_with_decimal(
    limits: Bounds, is_integer: bool, digits: Digits, values: list[Decimal], n_zeros: int
) -> None:
    language = number_range(limits, digits, is_integer)
    near_bounds = [bound + D(step) for bound in (limits.lo, limits.hi) if bound is not None for step in EDGES]
    for value in [*values, *near_bounds]:
        text = f"{value:f}" + ("0" * n_zeros if "." in f"{value:f}" else "")
        if value == 0 and text.startswith("-"):
            continue
        fits = limits.holds(D(text)) and not (is_integer and "." in text)
        assert matches(language, text.encode()) == fits, text


STEPS = ["2", "3", "5", "6", "7", "10", "12", "25", "0.5", "0.25", "0.01", "0.05", "0.3", "0.07", "1.5", "100"]


@given(
    bounds,
    st.sampled_from([D(step) for step in STEPS]),
    st.booleans(),
    st.lists(st.integers(-300, 300), max_size=6),
    st.lists(near, max_size=6),
)
def test_multiples_agree_with_decimal(
    limits: Bounds, step: Decimal, is_integer: bool, counts: list[int], others: list[Decimal]
) -> None:
    language = multiples(limits, [step], Digits(), is_integer)
    for value in [*(step * count for count in counts), *others]:
        text = f"{value:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        if text in ("-0", ""):
            continue
        fits = limits.holds(value) and values_divide(value, step) and not (is_integer and "." in text)
        assert matches(language, text.encode()) == fits, text


# Numbers by value


@settings(max_examples=300)
@given(
    st.sampled_from(["0", "7", "-12", "300"]),
    st.sampled_from(["", ".0", ".5", ".50", ".125", ".000", ".12345678901234567891"]),
    st.sampled_from(["", "e0", "E+3", "e1", "e02", "e19", "e20", "e400", "e-1", "e00"]),
)
def test_whole_numbers_by_value_have_every_writing_without_negative_exponents(
    whole: str, fraction: str, exponent: str
) -> None:
    text = whole + fraction + exponent
    value = Decimal(text)
    is_whole = value.adjusted() > 60 or value == value.to_integral_value()
    assert matches(integer_by_value(Digits()), text.encode()) == (is_whole and "e-" not in text)


@settings(max_examples=200)
@given(
    st.sampled_from([1, 3, 4, 7, 128, Decimal("0.5"), Decimal("0.25"), Decimal("1.5")]),
    st.integers(-600, 600),
    st.sampled_from([Bounds(), Bounds(Decimal(-40), Decimal(130)), Bounds(Decimal(0))]),
    st.sampled_from(["", ".0", ".00", ".5", ".50", ".250"]),
    st.booleans(),
)
def test_multiples_by_value_are_the_multiples(
    divisor: int | Decimal, whole: int, bounds: Bounds, fraction: str, is_integer: bool
) -> None:
    text = f"{whole}{fraction}"
    value = Decimal(text)
    legal = bounds.holds(value) and value % Decimal(divisor) == 0 and (not is_integer or value == int(value))
    found = multiples(bounds, [Decimal(divisor)], Digits(), is_integer, by_value=True)
    assert matches(found, text.encode()) == legal


WRITINGS: list[tuple[dict[str, Any], str, str]] = [
    ({"const": 1}, "1 1.0 1e0 10e-1 0.1e1 1E+00", "1e1 0.1 -1"),
    ({"enum": [0, 100, 2.5, [3]]}, "0e7 -0.0e-3 1e2 1000e-1 25e-1 2.500 [30e-1]", "1e1 26e-1 [3.5]"),
    ({"type": "integer"}, "1 1e0 10e-1 1.5e1 120.0e-1 0e-9 -30e-1", "15e-1 1.5 1.55e1"),
    (
        {"type": "integer", "minimum": 5, "maximum": 120},
        "5 5e0 0.5e1 1.2e2 12e1 50e-1 120.0 1.20e2",
        "4e0 1.21e2 121 40e-1 1.25e1 55e-1 0.55e1 5.5",
    ),
    ({"type": "integer", "exclusiveMinimum": -3}, "-2 -2e0 -20e-1 -0.2e1 7e9", "-3e0 -30e-1 -0.3e1"),
]


@pytest.mark.parametrize("schema, legal, illegal", WRITINGS)
def test_numbers_come_in_every_writing_where_that_is_asked_for(
    schema: dict[str, Any], legal: str, illegal: str
) -> None:
    constraint = json_schema(schema, number_spelling="any")
    assert [text for text in legal.split() if not constraint.matches(text)] == []
    assert [text for text in illegal.split() if constraint.matches(text)] == []


@settings(max_examples=200)
@given(
    st.sampled_from(["0", "7", "-12", "300", "25"]),
    st.sampled_from(["", ".0", ".5", ".50", ".125"]),
    st.sampled_from(["", "e0", "E+3", "e1", "e-1", "e-2", "e00"]),
    st.sampled_from(
        [Bounds(), Bounds(Decimal(-2), Decimal(130)), Bounds(Decimal(0), None, True), Bounds(None, Decimal(8))]
    ),
)
def test_whole_numbers_inside_bounds_have_every_writing(
    whole: str, fraction: str, exponent: str, bounds: Bounds
) -> None:
    text = whole + fraction + exponent
    value = Decimal(text)
    legal = value == value.to_integral_value() and bounds.holds(value)
    sign_fits = not text.startswith("-") or bounds.lo is None or bounds.lo < 0
    assert matches(whole_numbers(bounds, Digits()), text.encode()) == (legal and sign_fits)


def test_listed_values_by_value() -> None:
    constraint = json_schema({"enum": [0, 1, Decimal("2.50"), [3]]}, number_spelling="any")
    assert all(constraint.matches(text) for text in ("0", "-0.0", "1.00", "2.5", "2.500", "[3.0]"))
    assert not any(constraint.matches(text) for text in ("10", "2.51", "-1", "1.01", "[3.5]"))


@given(
    st.lists(st.sampled_from(["2", "3", "5", "15", "0.5", "0.6", "1"]), max_size=2),
    st.lists(st.sampled_from(["2", "3", "5", "6", "0.25", "0.2", "1"]), max_size=2),
    st.booleans(),
    st.booleans(),
)
def test_sets_without_numbers_are_known_by_their_divisors(
    divisors: list[str], others: list[str], is_integer: bool, is_fractional: bool
) -> None:
    """A multiple of them all that is fit is the least one, or one next to it, where there is any."""
    found = NumberSet(
        is_integer=is_integer,
        divisors=frozenset(map(D, divisors)),
        is_fractional=is_fractional,
        not_divisors=frozenset(map(D, others)),
    )
    some = any(found.holds(D(i) / 20) for i in range(1, 20 * 61))  # 30 is a multiple of all divisors, 0.05 divides all
    assert some is not found.is_contradiction


def test_overlapping_multiples_that_exclude_each_other_are_few() -> None:
    """Regression: every pair of remainders was visited to find that nothing is left."""
    three, five, eight = ({"multipleOf": n} for n in (3, 5, 8))
    schema = {
        "type": "number",
        "allOf": [
            {"minimum": 1},
            {"anyOf": [three, five]},
            {"anyOf": [{"allOf": [{"not": five}, {"not": three}]}, eight]},
            {"anyOf": [{"not": eight}, {"multipleOf": 11}]},
        ],
    }
    constraint = json_schema(schema)
    wanted = [n for n in range(1, 1000) if n % 88 == 0 and (n % 3 == 0 or n % 5 == 0)]
    assert [n for n in range(1, 1000) if constraint.matches(str(n))] == wanted
