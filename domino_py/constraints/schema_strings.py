"""Strings of a schema: what several sets of string keywords say together.

Lengths alone are a bounded repetition of characters in every spelling, counted lazily, so that a bound of 100,000
costs nothing. Patterns and formats are regular languages over canonically spelled characters, intersected with each
other and with the lengths.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tokenizer_align.expressions import EMPTY, K_NEG, Expr, both, frame, neg, words

from .json_strings import CANONICAL_BODY, canonical_text, encode_ranges, length_beside, quoted, string_of_length
from .schema_formats import UNDECIDED, format_body
from .schema_keywords import as_whole


@lru_cache(maxsize=1024)
def pattern_body(pattern: str) -> Expr:
    """The insides of the strings in which an ECMA-262 pattern finds a match. Raises RegexError."""
    from .regex import compile_pattern

    return compile_pattern(pattern, dialect="ecma", mode="search").lower(encode_ranges)


@dataclass(frozen=True, slots=True)
class StringSet:
    """Strings of `lo` to `hi` code points whose inside belongs to every body (canonical spelling)."""

    lo: int = 0
    hi: int | None = None
    bodies: tuple[Expr, ...] = ()

    @property
    def is_contradiction(self) -> bool:
        return self.hi is not None and self.lo > self.hi

    def expression(self) -> Expr:
        """The strings as text, quotes included; every spelling where only the length counts."""
        if self.is_contradiction:
            return EMPTY
        return frame(quoted(self.body())) if self.bodies else string_of_length(self.lo, self.hi)

    def body(self) -> Expr:
        """The inside of the strings in canonical spelling. Raises TooComplex beyond the search budget."""
        if self.is_contradiction:
            return EMPTY
        if (self.lo, self.hi) == (0, None):
            is_open = all(body.kind == K_NEG for body in self.bodies)
            return both(*self.bodies, CANONICAL_BODY) if is_open else both(*self.bodies)
        return both(*self.bodies, length_beside(self.bodies, self.lo, self.hi))


def string_set(
    assertions: Iterable[dict[str, Any]],
    max_digits: int | None,
    failing: Iterable[tuple[str, dict[str, Any]]] = (),
) -> StringSet:
    """The strings that satisfy all these string keywords, and none of the `failing` ones (keyword, its schema)."""
    lo, hi = 0, None
    bodies: dict[Expr, None] = {}
    for schema in assertions:
        if "minLength" in schema:
            lo = max(lo, as_whole(schema["minLength"]) or 0)
        if "maxLength" in schema:
            hi = _least(hi, as_whole(schema["maxLength"]))
        if "pattern" in schema:
            bodies[pattern_body(schema["pattern"])] = None
        known = format_body(schema["format"], max_digits) if "format" in schema else None
        if known is not None:
            bodies[known] = None
    bodies.pop(CANONICAL_BODY, None)
    for keyword, schema in failing:
        if keyword == "minLength":
            hi = _least(hi, (as_whole(schema["minLength"]) or 0) - 1)
        elif keyword == "maxLength":
            lo = max(lo, (as_whole(schema["maxLength"]) or 0) + 1)
        elif keyword == "pattern":
            bodies[neg(pattern_body(schema["pattern"]))] = None
        elif keyword == "format":
            known = format_body(schema["format"], max_digits)
            bodies[EMPTY if known is None else neg(known)] = None
            if known is not None and schema["format"] in UNDECIDED:
                bodies[neg(UNDECIDED[schema["format"]]())] = None
        elif keyword == "enum":
            listed = [canonical_text(value)[1:-1] for value in schema["enum"] if isinstance(value, str)]
            if listed:
                bodies[neg(words(listed))] = None
    return StringSet(lo, hi, tuple(bodies))


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
