r"""`regex(pattern)`: texts that a regular expression matches in full; and `compile_pattern` for other front ends.

A pattern becomes a language over code points (`regex_parser`, `regex_groups`), and that a byte expression
(`regex_resolve`, where needed `regex_states`) through an encoder that says how a character is written.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from tokenizer_align import utf8
from tokenizer_align.errors import InvalidOption, Problem, RegexError
from tokenizer_align.expressions import Expr

from .base import Constraint
from .option_names import names_its_options
from .pattern_nodes import LOOK, Encoder, Node, contains_kind
from .regex_edges import Edge, edges
from .regex_escapes import Dialect
from .regex_groups import expand_groups
from .regex_parser import PatternParser
from .regex_resolve import NeedsStates, Resolver
from .regex_states import StateMaker

Mode = Literal["fullmatch", "search"]

_ALLOWED_FLAGS = int(re.A | re.I | re.M | re.S | re.U | re.X)


class Pattern:
    """A compiled pattern: a language over code points. `lower(encode)` gives its byte expression."""

    def __init__(self, pattern: str, node: Node, mode: Mode) -> None:
        self.pattern, self.node, self.mode = pattern, node, mode
        self._lowered: dict[Encoder, Expr] = {}

    def __repr__(self) -> str:
        return f"Pattern({self.pattern!r}, mode={self.mode!r})"

    def lower(self, encode: Encoder = utf8.code_points) -> Expr:
        """The byte expression; `encode` gives the spellings of one character out of code point ranges.

        The spellings must be such that a text can be cut into characters in one way only, from left to right, as
        those of UTF-8 and of JSON strings are. Raises TooComplex where a look-around needs too large an automaton.
        """
        if encode not in self._lowered:
            try:
                self._lowered[encode] = self._lower(encode)
            except RecursionError:
                raise _too_deep(self.pattern) from None
        return self._lowered[encode]

    def _lower(self, encode: Encoder) -> Expr:
        resolver = Resolver(encode)
        try:
            return resolver.whole(self.node) if self.mode == "fullmatch" else resolver.search(self.node)
        except NeedsStates:
            maker = StateMaker(resolver)
            return maker.whole(self.node) if self.mode == "fullmatch" else maker.search(self.node)


def compile_pattern(pattern: str, dialect: Dialect = "python", mode: Mode = "fullmatch", flags: int = 0) -> Pattern:
    """Parse a pattern into a language over code points.

    `dialect`: Python's `re`, or ECMA-262 as JSON Schema uses it. `mode`: "fullmatch" for texts that match from start
    to end, "search" for texts that hold a match. `flags`: those of `re`. Raises RegexError for what is malformed or
    not regular.

        compile_pattern("^on$|^off$", "ecma", "search").lower()     # exactly the bytes of "on" and "off"
    """
    return _compile(pattern, dialect, mode, int(flags))


@lru_cache(maxsize=256)
def _compile(pattern: str, dialect: Dialect, mode: Mode, flags: int) -> Pattern:
    try:
        node = expand_groups(PatternParser(pattern, dialect, flags).parse(), pattern, dialect)
    except RecursionError:
        raise _too_deep(pattern) from None
    for look in contains_kind(node, LOOK):
        if not look.data[0]:
            _check_behind(look, pattern, dialect)
    return Pattern(pattern, node, mode)


def look_past_edges(pattern: str, flags: int) -> list[Edge]:
    """Where a pattern of Python's, which compiles, looks past the edges of what it matches."""
    if compile_pattern(pattern, flags=flags).node.plain:
        return []
    parser = PatternParser(pattern, "python", flags)
    parser.places = True
    return edges(expand_groups(parser.parse(), pattern, "python"), pattern)


def _too_deep(pattern: str) -> RegexError:
    return RegexError(pattern, 0, "the pattern is nested too deeply, or holds too many look-arounds")


def _check_behind(look: Node, pattern: str, dialect: Dialect) -> None:
    (body,), position = look.args, look.data[2]
    if dialect == "python" and body.min_width != body.max_width:
        hint = "Write alternatives of different widths as several look-behinds: (?:(?<=a)|(?<=bc))."
        raise RegexError(pattern, position, "look-behind requires fixed-width pattern", hint)
    if any(inner.data[0] for inner in contains_kind(body, LOOK)):
        raise RegexError(
            pattern,
            position,
            "a look-behind that looks ahead inside",
            "Move what looks ahead ($, \\b, (?=...)) out of it.",
        )


@names_its_options
def regex(pattern: str, *, flags: int = 0) -> Constraint:
    r"""Texts that `re.fullmatch(pattern, text, flags)` matches.

    `pattern`: Python's `re` syntax, and `\p{...}` for Unicode properties. `flags`: those of `re` (IGNORECASE, ASCII,
    MULTILINE, DOTALL, VERBOSE). Raises RegexError, with the position, for what is malformed or not regular, and
    InvalidOption for a pattern that is not text.

        regex(r"\d{3}-\d{4}", flags=re.ASCII).matches("555-0199")     # True
    """
    if not isinstance(pattern, str):
        advice = " Give pattern.pattern and pattern.flags." if isinstance(pattern, re.Pattern) else ""
        raise InvalidOption("pattern", f"pattern must be a str, not {type(pattern).__name__}.{advice}")
    if not isinstance(flags, int) or isinstance(flags, bool):
        raise InvalidOption("flags", f"flags must be flags of the re module, not {flags!r}.")
    value = int(flags)
    if value & ~_ALLOWED_FLAGS or value < 0:
        raise InvalidOption(
            "flags", f"flags={flags!r}: only ASCII, IGNORECASE, MULTILINE, DOTALL, VERBOSE and UNICODE."
        )
    if value & re.ASCII and value & re.UNICODE:
        raise InvalidOption("flags", "the flags ASCII and UNICODE are incompatible.")
    value &= ~int(re.UNICODE)
    constraint = Constraint("regex", pattern, (("flags", value),) if value else ())
    _ = constraint.expression  # what is wrong with the pattern is said here, not when it is used
    return constraint


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a regex constraint."""
    return compile_pattern(constraint.source, flags=constraint.option("flags", 0)).lower(), ()
