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

from tokenizer_align.expressions import EMPTY, Expr, both, frame

from .json_strings import CANONICAL_BODY, canonical_length, encode_ranges, quoted, string_of_length
from .schema_formats import format_body
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
            return both(*self.bodies) if self.bodies else CANONICAL_BODY
        return both(*self.bodies, canonical_length(self.lo, self.hi))


def string_set(assertions: Iterable[dict[str, Any]], max_digits: int | None) -> StringSet:
    """The strings that satisfy the string keywords of all these schemas."""
    lo, hi = 0, None
    bodies: dict[Expr, None] = {}
    for schema in assertions:
        if "minLength" in schema:
            lo = max(lo, as_whole(schema["minLength"]) or 0)
        if "maxLength" in schema:
            most = as_whole(schema["maxLength"])
            assert most is not None
            hi = most if hi is None else min(hi, most)
        if "pattern" in schema:
            bodies[pattern_body(schema["pattern"])] = None
        known = format_body(schema["format"], max_digits) if "format" in schema else None
        if known is not None:
            bodies[known] = None
    bodies.pop(CANONICAL_BODY, None)
    return StringSet(lo, hi, tuple(bodies))
