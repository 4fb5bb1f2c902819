"""Formats of references and pointers, as regular languages over the inside of a JSON string (canonical spelling).

Sources: RFC 3986 (uri, uri-reference), RFC 3987 (iri, iri-reference), RFC 6570 (uri-template, to level 4), RFC 6901
(json-pointer) and its relative form (draft-bhutton-relative-json-pointer-00).
"""

from __future__ import annotations

from tokenizer_align.expressions import Expr, alt, byte_set, lit, optional, plus, repeat, seq, star

from .json_strings import encode_ranges

DIGIT = byte_set(b"0123456789")
HEX = byte_set(b"0123456789abcdefABCDEF")
LETTER = byte_set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
ALNUM = alt(LETTER, DIGIT)
ENCODED = seq(lit(b"%"), HEX, HEX)
SUBS = byte_set(b"!$&'()*+,;=")
NOTHING = lit(b"")

_BEYOND_ASCII = ((0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF))
_PLANES = (*((plane << 16, (plane << 16) + 0xFFFD) for plane in range(1, 14)), (0xE1000, 0xEFFFD))
_UCSCHAR = encode_ranges((*_BEYOND_ASCII, *_PLANES))
_PRIVATE = encode_ranges(((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)))


def _parts(unreserved: Expr, private: Expr | None, is_relative: bool) -> Expr:
    """RFC 3986 section 3 (or 3987 section 2.2) after the scheme and its colon, or without them."""
    from .schema_formats import ipv6

    pchar = alt(unreserved, ENCODED, SUBS, byte_set(b":@"))
    segments = star(seq(lit(b"/"), star(pchar)))
    future = seq(byte_set(b"vV"), plus(HEX), lit(b"."), plus(alt(ALNUM, byte_set(b"-._~:"), SUBS)))
    name = star(alt(unreserved, ENCODED, SUBS))
    host = alt(seq(lit(b"["), alt(ipv6(), future), lit(b"]")), name)
    user = optional(seq(star(alt(unreserved, ENCODED, SUBS, lit(b":"))), lit(b"@")))
    authority = seq(user, host, optional(seq(lit(b":"), star(DIGIT))))
    first = plus(alt(unreserved, ENCODED, SUBS, lit(b"@")) if is_relative else pchar)  # no colon that ends a scheme
    absolute = seq(lit(b"/"), optional(seq(plus(pchar), segments)))
    path = alt(seq(lit(b"//"), authority, segments), absolute, seq(first, segments), NOTHING)
    fragment = star(alt(pchar, byte_set(b"/?")))
    query = fragment if private is None else star(alt(pchar, private, byte_set(b"/?")))
    return seq(path, optional(seq(lit(b"?"), query)), optional(seq(lit(b"#"), fragment)))


_SCHEME = seq(LETTER, star(alt(ALNUM, byte_set(b"+-."))), lit(b":"))
_UNRESERVED = alt(ALNUM, byte_set(b"-._~"))


def uri(_: int | None = None) -> Expr:
    """RFC 3986 URI: with a scheme; a fragment may follow."""
    return seq(_SCHEME, _parts(_UNRESERVED, None, is_relative=False))


def uri_reference(_: int | None = None) -> Expr:
    return alt(uri(), _parts(_UNRESERVED, None, is_relative=True))


def iri(_: int | None = None) -> Expr:
    return seq(_SCHEME, _parts(alt(_UNRESERVED, _UCSCHAR), _PRIVATE, is_relative=False))


def iri_reference(_: int | None = None) -> Expr:
    return alt(iri(), _parts(alt(_UNRESERVED, _UCSCHAR), _PRIVATE, is_relative=True))


def uri_template(_: int | None = None) -> Expr:
    """RFC 6570 section 2 (with erratum 6937: apostrophes); operators reserved for the future are left out."""
    excluded = b'"%<>\\^`{|}'
    plain = byte_set(set(range(0x21, 0x7F)) - set(excluded))
    varchar = alt(ALNUM, lit(b"_"), ENCODED)
    name = seq(varchar, star(seq(optional(lit(b".")), varchar)))
    prefix = seq(lit(b":"), byte_set(b"123456789"), repeat(DIGIT, 0, 3))
    variable = seq(name, optional(alt(prefix, lit(b"*"))))
    variables = seq(variable, star(seq(lit(b","), variable)))
    expression = seq(lit(b"{"), optional(byte_set(b"+#./;?&")), variables, lit(b"}"))
    return star(alt(plain, ENCODED, _UCSCHAR, _PRIVATE, expression))


def json_pointer(_: int | None = None) -> Expr:
    """RFC 6901 section 3."""
    unescaped = encode_ranges(((0, 0x2E), (0x30, 0x7D), (0x7F, 0x10FFFF)))
    token = star(alt(unescaped, seq(lit(b"~"), byte_set(b"01"))))
    return star(seq(lit(b"/"), token))


def relative_json_pointer(max_digits: int | None = None) -> Expr:
    """How many levels up, a shift of the index, then a pointer, or `#` for the key itself."""
    more = None if max_digits is None else max_digits - 1
    positive = seq(byte_set(b"123456789"), repeat(DIGIT, 0, more))
    shift = optional(seq(byte_set(b"+-"), positive))
    return seq(alt(lit(b"0"), positive), shift, alt(lit(b"#"), json_pointer()))
