r"""JSON strings as byte expressions (RFC 8259 section 7).

Two ways to write them. *Every spelling*: raw UTF-8, the eight short escapes, `\uXXXX`; a surrogate pair is one
character, and lone surrogates are never offered, because the value would have no UTF-8 form. *Canonical spelling*:
what `json.dumps(text, ensure_ascii=False)` writes, one spelling a text, so that patterns, sets of words and "any key
but these" are exact as intersections and complements over bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from json.encoder import encode_basestring

from tokenizer_align.expressions import Expr, alt, byte_set, frame, lit, repeat, seq
from tokenizer_align.lengths import bytes_of
from tokenizer_align.utf8 import code_points, normalize

QUOTE = lit(b'"')
_SHORT = {0x08: b"\\b", 0x09: b"\\t", 0x0A: b"\\n", 0x0C: b"\\f", 0x0D: b"\\r", 0x22: b'\\"', 0x5C: b"\\\\"}
_RAW_RANGES = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF))


def _hex(digits: bytes) -> Expr:
    return byte_set(digits.lower() + digits.upper())


def _unicode_escape() -> Expr:
    r"""`uXXXX` for a code point outside the surrogates, or the two escapes of a surrogate pair."""
    any_hex, d = _hex(b"0123456789abcdef"), _hex(b"d")
    plain = alt(
        seq(_hex(b"0123456789abcef"), repeat(any_hex, 3, 3)),
        seq(d, byte_set(b"01234567"), repeat(any_hex, 2, 2)),
    )
    high = seq(d, _hex(b"89ab"), repeat(any_hex, 2, 2))
    low = seq(d, _hex(b"cdef"), repeat(any_hex, 2, 2))
    return seq(lit(b"u"), alt(plain, seq(high, lit(b"\\u"), low)))


ANY_CHARACTER = alt(code_points(_RAW_RANGES), seq(lit(b"\\"), alt(byte_set(b'"\\/bfnrt'), _unicode_escape())))


def encode_ranges(ranges: Iterable[tuple[int, int]]) -> Expr:
    r"""One code point out of inclusive ranges, in its canonical spelling inside a JSON string.

    >>> encode_ranges([(0x41, 0x43), (0x0A, 0x0A)])  # A, B, C or a line feed
    (b'\\n' | [b'ABC'])
    """
    return _encoded(tuple(normalize(ranges)))


@lru_cache(maxsize=512)
def _encoded(ranges: tuple[tuple[int, int], ...]) -> Expr:
    raw: list[tuple[int, int]] = []
    escaped: list[Expr] = []
    for lo, hi in ranges:
        for raw_lo, raw_hi in _RAW_RANGES:
            if max(lo, raw_lo) <= min(hi, raw_hi):
                raw.append((max(lo, raw_lo), min(hi, raw_hi)))
        for point in (*range(lo, min(hi, 0x1F) + 1), 0x22, 0x5C):
            if lo <= point <= hi:
                escaped.append(lit(_SHORT.get(point, b"\\u%04x" % point)))
    return alt(code_points(raw), *escaped)


CANONICAL_CHARACTER = encode_ranges([(0, 0x10FFFF)])
_RAW_CHARACTER = code_points(_RAW_RANGES)
CANONICAL_BODY = repeat(CANONICAL_CHARACTER, 0, None)
ANY_STRING = frame(seq(QUOTE, repeat(ANY_CHARACTER, 0, None), QUOTE))
CANONICAL_STRING = seq(QUOTE, CANONICAL_BODY, QUOTE)


def string_of_length(lo: int, hi: int | None) -> Expr:
    """A string in every spelling with `lo` to `hi` code points."""
    return ANY_STRING if (lo, hi) == (0, None) else frame(seq(QUOTE, repeat(ANY_CHARACTER, lo, hi), QUOTE))


def canonical_length(lo: int, hi: int | None) -> Expr:
    """The inside of a string (no quotes) in canonical spelling with `lo` to `hi` code points."""
    return repeat(CANONICAL_CHARACTER, lo, hi)


def length_beside(bodies: Iterable[Expr], lo: int, hi: int | None) -> Expr:
    """The same as far as it matters beside these insides of strings.

    Where they hold no escapes, a character is a UTF-8 character, and what is too long shows at once, without a search.
    """
    if any(not bytes_of(body) >> 0x5C & 1 for body in bodies):
        return repeat(_RAW_CHARACTER, lo, hi)
    return canonical_length(lo, hi)


def quoted(body: Expr) -> Expr:
    """The string whose inside is `body`."""
    return seq(QUOTE, body, QUOTE)


@lru_cache(4096)
def canonical_text(text: str) -> bytes:
    """A string in its canonical spelling, quotes included. Raises UnicodeEncodeError for lone surrogates.

    >>> canonical_text('a"é')
    b'"a\\\\"\\xc3\\xa9"'
    """
    return encode_basestring(text).encode()
