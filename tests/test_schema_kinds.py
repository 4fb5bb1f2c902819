"""Kinds of undeclared keys: which patterns a key can match, these and no others, against all keys one by one."""

from itertools import product

import pytest

import domino_py as domino
from domino_py.constraints.schema_kinds import combinations

PATTERNS = (
    ("a.*", ".*b", "(a|b){2}"),
    ("", "a*", "b*", "(ab)*"),
    ("a", "a|b", "a|b|aa", "bb.*"),
    (".*aa.*", ".*bb.*", ".*ab.*", ".*ba.*"),
)


def matched(text: str, patterns: tuple[str, ...]) -> frozenset[int]:
    return frozenset(index for index, one in enumerate(patterns) if domino.regex(one).matches(text))


@pytest.mark.parametrize("patterns", PATTERNS)
@pytest.mark.parametrize("most", [3, 4])
def test_kinds_of_bounded_keys_are_those_of_all_keys(patterns: tuple[str, ...], most: int) -> None:
    keys = domino.regex(f"[ab]{{0,{most}}}").expression
    expected = {matched("".join(letters), patterns) for n in range(most + 1) for letters in product("ab", repeat=n)}
    found = combinations(keys, [domino.regex(one).expression for one in patterns], 100)
    assert found is not None
    assert set(found) == expected
    assert not any(found.values())  # no kind of finitely many keys is infinite


def test_what_is_said_to_be_infinite_has_long_keys() -> None:
    patterns = PATTERNS[0]
    found = combinations(domino.regex("[ab]*").expression, [domino.regex(one).expression for one in patterns], 100)
    assert found is not None
    long_ones = {matched("".join(letters), patterns) for letters in product("ab", repeat=9)}
    infinite = {kind for kind, is_infinite in found.items() if is_infinite}
    assert infinite
    assert infinite <= long_ones


def test_the_search_ends_above_what_was_asked_for() -> None:
    keys = domino.regex("[ab]*").expression
    found = combinations(keys, [domino.regex(one).expression for one in PATTERNS[3]], 2)
    assert found is not None
    assert len(found) == 3


def test_patterns_that_take_too_long_are_left() -> None:
    keys = domino.regex("[ab]*").expression
    patterns = [domino.regex(f"(a|b)*a(a|b){{{n}}}").expression for n in range(6, 16)]
    assert combinations(keys, patterns, 1_000_000) is None
