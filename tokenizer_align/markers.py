"""Markers: places in a constraint where an added control token (`<think>`, `[TOOL_CALLS]`) stands, and nowhere else.

To the automaton a marker is a short byte string that no UTF-8 text holds: 0xFF and the token's id in three bytes. So
expressions, states and kernels need nothing new. Which markers are tokens depends on the vocabulary: where one is not,
the marker is its text in ordinary tokens. A `VocabularyRule` is a rule whose body is made for a vocabulary; read
without one (`matches`), every marker is its text.

A *limit* is a symbol of the same kind (0xFE and a number): it is no token's, but read by the matcher itself after so
many tokens inside the part that has it, and leaves only ways out of the part. See docs/regions-and-tools.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .errors import ConstraintError
from .expressions import Expr, Rule, call, lit
from .project import Projection
from .vocabulary import Vocabulary

__all__ = [
    "MARKER_BYTE",
    "MAX_NUMBER",
    "SYMBOL_BYTES",
    "MarkedProjection",
    "Reading",
    "VocabularyRule",
    "limit_code",
    "limit_of",
    "marker",
    "marker_code",
    "marker_of",
    "marker_tokens",
    "split_markers",
    "vocabulary_rule",
]

MARKER_BYTE, LIMIT_BYTE = 0xFF, 0xFE  # occur in no UTF-8 text (RFC 3629)
SYMBOL_BYTES = 1 << MARKER_BYTE | 1 << LIMIT_BYTE  # as a 256-bit mask
CODE_LENGTH = 4
MAX_NUMBER = 120**3 - 1
_FIRST_DIGIT = 0x80  # digits from 0x80 to 0xF7: no bracket, blank or quote, which walks treat specially


class Reading(Protocol):
    """How a constraint with markers is read: for one vocabulary, or as plain text."""

    def marker(self, text: str) -> Expr | None:
        """The expression of a marker that is one token; None where it is written in ordinary tokens."""
        ...

    def limit(self, n_tokens: int, last_bytes: int) -> bytes | None:
        """The symbol that the matcher reads after so many tokens; None where tokens are not counted.

        `last_bytes` (256-bit mask): one of them is read at the end of the part, unless it ends with a marker.
        """
        ...

    def plain(self, expr: Expr) -> Expr:
        """An expression that was made without this reading, as it is in the vocabulary."""
        ...


class VocabularyRule(Rule):
    """A rule whose body depends on the vocabulary; `body` is that for plain text."""

    __slots__ = ("make",)

    def __init__(self, name: str, make: Callable[[Reading], Expr]) -> None:
        super().__init__(name)
        self.make = make
        self.define(lambda: make(_PLAIN_TEXT))


def vocabulary_rule(name: str, make: Callable[[Reading], Expr]) -> Expr:
    """A call of a rule whose body `make` builds for each vocabulary. What `make` returns is not looked into again:
    parts that were made without the reading must go through `reading.plain`."""
    return call(VocabularyRule(name, make))


def marker(text: str) -> Expr:
    """The token with this text where the vocabulary has it as an added token, else the text itself."""

    def make(reading: Reading) -> Expr:
        found = reading.marker(text)
        return reading.plain(lit(text.encode())) if found is None else found

    return vocabulary_rule(text, make)


class _PlainText:
    def marker(self, text: str) -> Expr | None:
        return None

    def limit(self, n_tokens: int, last_bytes: int) -> bytes | None:
        return None

    def plain(self, expr: Expr) -> Expr:
        return expr


_PLAIN_TEXT = _PlainText()


class MarkedProjection(Projection):
    """The projection to a vocabulary's bytes that also reads markers and limits for it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary.usable_bytes & ~SYMBOL_BYTES)
        self.tokens = marker_tokens(vocabulary)
        self.ends = {content for content, i in vocabulary.added.items() if i in vocabulary.eos_token_ids}
        self.limits: dict[int, int] = {}  # number of tokens -> the bytes with which its parts end (256-bit mask)

    def marker(self, text: str) -> Expr | None:
        token = self.tokens.get(text)
        if text in self.ends:
            raise ConstraintError(f"{text!r} ends a text in this vocabulary, so it cannot stand within one")
        return None if token is None else lit(marker_code(token))

    def limit(self, n_tokens: int, last_bytes: int) -> bytes | None:
        self.limits[n_tokens] = self.limits.get(n_tokens, 0) | last_bytes
        return limit_code(n_tokens)

    def plain(self, expr: Expr) -> Expr:
        return self(expr)

    def _project(self, node: Expr) -> Expr:
        if isinstance(node.data, VocabularyRule):
            rule = node.data
            return call(Rule(rule.name).define(lambda: rule.make(self)))
        return super()._project(node)


def marker_tokens(vocabulary: Vocabulary) -> dict[str, int]:
    """Content -> id of the added tokens that a constraint may name: those that are no text and end no text."""
    ends = frozenset(vocabulary.eos_token_ids)
    return {
        content: i
        for content, i in vocabulary.added.items()
        if 0 <= i < vocabulary.n_rows and vocabulary.token_bytes[i] is None and i not in ends and content
    }


def marker_code(token_id: int) -> bytes:
    """The bytes that stand for a marker's token in the automaton."""
    return _code(MARKER_BYTE, token_id)


def limit_code(n_tokens: int) -> bytes:
    """The bytes that the matcher reads when a part's tokens are used up."""
    return _code(LIMIT_BYTE, n_tokens)


def marker_of(code: bytes) -> int:
    """The token that a code of four bytes stands for."""
    return _number(code)


def limit_of(code: bytes) -> int:
    """The number of tokens of a limit's code."""
    return _number(code)


def split_markers(data: bytes) -> list[tuple[bytes, int]]:
    """Bytes with codes of markers, as (text, the marker's token behind it) pairs; -1 behind the last text.

    >>> split_markers(b"ab" + marker_code(7) + b"c")
    [(b'ab', 7), (b'c', -1)]
    """
    parts: list[tuple[bytes, int]] = []
    start = 0
    while (at := data.find(MARKER_BYTE, start)) >= 0 and at + CODE_LENGTH <= len(data):
        parts.append((data[start:at], marker_of(data[at : at + CODE_LENGTH])))
        start = at + CODE_LENGTH
    parts.append((data[start:] if at < 0 else data[start:at], -1))
    return parts


def _code(first: int, number: int) -> bytes:
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError(f"{number} is not within 0..{MAX_NUMBER}")
    high, low = divmod(number, 120)
    return bytes([first, *(_FIRST_DIGIT + digit for digit in (*divmod(high, 120), low))])


def _number(code: bytes) -> int:
    a, b, c = (byte - _FIRST_DIGIT for byte in code[1:CODE_LENGTH])
    return (a * 120 + b) * 120 + c
