"""How a JSON text is written: where blanks may stand, and how many digits numbers may have.

`whitespace="flexible"` (default): at each place nothing, one blank, or a line break and indentation (up to 64 blanks
or 16 tabs), and nothing before the first or after the last character: it holds what models and formatters write, and
no endless blanks. `"compact"`: nothing anywhere. `"unbounded"`: RFC 8259, also around the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tokenizer_align.errors import InvalidOption
from tokenizer_align.expressions import EPSILON, Expr, alt, byte_set, frame, lit, optional, repeat, seq

from .json_numbers import BOUNDED, UNBOUNDED, Digits

Whitespace = Literal["flexible", "compact", "unbounded"]
NumberSpelling = Literal["canonical", "any"]
WHITESPACE = ("flexible", "compact", "unbounded")
DIGITS = ("bounded", "unbounded")
NUMBER_SPELLINGS = ("canonical", "any")

MAX_INDENT_BLANKS = 64
MAX_INDENT_TABS = 16


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """The writing of a JSON text, as the options of `json`, `json_schema` and `of_type` give it."""

    whitespace: Whitespace = "flexible"
    digits: Digits = BOUNDED
    number_spelling: NumberSpelling = "canonical"  # of whole and listed numbers; "any": `1.0` for 1

    @property
    def gap(self) -> Expr:
        """What may stand between two JSON tokens: one frame, shared by all constraints."""
        return gap(self.whitespace)

    @property
    def outer(self) -> Expr:
        """What may stand before and after the whole text."""
        return self.gap if self.whitespace == "unbounded" else EPSILON


@lru_cache(maxsize=64)
def gap(whitespace: Whitespace) -> Expr:
    """Blanks between two JSON tokens."""
    if whitespace == "compact":
        return EPSILON
    if whitespace == "unbounded":
        return frame(repeat(byte_set(b" \t\n\r"), 0, None))
    indent = alt(repeat(lit(b" "), 0, MAX_INDENT_BLANKS), repeat(lit(b"\t"), 1, MAX_INDENT_TABS))
    return frame(alt(EPSILON, lit(b" "), seq(optional(lit(b"\r")), lit(b"\n"), indent)))


def style_from_options(whitespace: str, digits: str, max_digits: int, number_spelling: str = "canonical") -> JsonStyle:
    """The style for the options of a front end. Raises InvalidOption."""
    if whitespace not in WHITESPACE:
        raise InvalidOption(
            str(whitespace), f"whitespace={whitespace!r}: use one of {', '.join(WHITESPACE)}.", WHITESPACE
        )
    if digits not in DIGITS:
        raise InvalidOption(str(digits), f"digits={digits!r}: use one of {', '.join(DIGITS)}.", DIGITS)
    if number_spelling not in NUMBER_SPELLINGS:
        message = f"number_spelling={number_spelling!r}: use one of {', '.join(NUMBER_SPELLINGS)}."
        raise InvalidOption(str(number_spelling), message, NUMBER_SPELLINGS)
    if isinstance(max_digits, bool) or not isinstance(max_digits, int) or max_digits < 1:
        raise InvalidOption("max_digits", f"max_digits={max_digits!r}: a whole number of at least 1 is needed.")
    bounded = Digits(max_digits, max_digits, min(3, max_digits))
    chosen = UNBOUNDED if digits == "unbounded" else bounded
    return JsonStyle(whitespace, chosen, number_spelling)  # type: ignore[arg-type]
