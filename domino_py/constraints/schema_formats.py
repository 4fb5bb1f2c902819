"""The string formats that are enforced, as regular languages over the inside of a JSON string (canonical spelling).

Sources: RFC 3339 (date, time, date-time, duration), RFC 9562 (uuid), RFC 2673 and 4291 (ipv4, ipv6), RFC 5321
(email), RFC 1123 (hostname); references and pointers are in `schema_formats_uri`. Dates are real calendar days of the
years 1 to 9999; a leap second is legal at 23:59:60 UTC only. Every other format (`regex`, `idn-email`, `idn-hostname`,
which are not regular or hang on Unicode's tables, and those of other tools) is an annotation, as the specification has
it; `check` lists those.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tokenizer_align.expressions import Expr, alt, both, byte_set, lit, minus, optional, plus, repeat, seq, star, words

from .schema_formats_uri import (
    ALNUM,
    DIGIT,
    HEX,
    iri,
    iri_reference,
    json_pointer,
    relative_json_pointer,
    uri,
    uri_reference,
    uri_template,
)

NAME_BYTE = alt(ALNUM, lit(b"-"))


@lru_cache(maxsize=256)
def format_body(name: str, max_digits: int | None) -> Expr | None:
    """The inside of the strings of a format; None where the format is only an annotation.

    `max_digits`: digits of second fractions and durations, None for any number.
    """
    build = FORMATS.get(name)
    return None if build is None else build(max_digits)


def _number(lo: int, hi: int, width: int) -> Expr:
    return words(str(n).rjust(width, "0").encode() for n in range(lo, hi + 1))


def date(_: int | None) -> Expr:
    """RFC 3339 full-date, real calendar days."""
    year = minus(repeat(DIGIT, 4, 4), lit(b"0000"))
    fours = range(0, 100, 4)
    leap = alt(
        seq(repeat(DIGIT, 2, 2), words(b"%02d" % n for n in fours if n)),
        seq(words(b"%02d" % n for n in fours if n), lit(b"00")),
    )
    days = alt(
        seq(words(b"%02d" % m for m in (1, 3, 5, 7, 8, 10, 12)), lit(b"-"), _number(1, 31, 2)),
        seq(words(b"%02d" % m for m in (4, 6, 9, 11)), lit(b"-"), _number(1, 30, 2)),
        seq(lit(b"02-"), _number(1, 28, 2)),
    )
    return alt(seq(year, lit(b"-"), days), seq(leap, lit(b"-02-29")))


def _clock(max_digits: int | None) -> Expr:
    """Hours, minutes, seconds and a fraction of them."""
    fraction = optional(seq(lit(b"."), repeat(DIGIT, 1, max_digits)))
    return seq(_number(0, 23, 2), lit(b":"), _number(0, 59, 2), lit(b":"), _number(0, 59, 2), fraction)


def _offset() -> Expr:
    return alt(byte_set(b"Zz"), seq(byte_set(b"+-"), _number(0, 23, 2), lit(b":"), _number(0, 59, 2)))


def _leap_seconds() -> Expr:
    """23:59:60 UTC in every offset, without a fraction (that is offered in UTC only)."""
    found = []
    for minutes in range(24 * 60):
        offset = divmod(minutes, 60)
        found.append(b"%02d:%02d:60+%02d:%02d" % (*divmod((1439 + minutes) % 1440, 60), *offset))
        found.append(b"%02d:%02d:60-%02d:%02d" % (*divmod((1439 - minutes) % 1440, 60), *offset))
    return words(found)


def time(max_digits: int | None) -> Expr:
    """RFC 3339 full-time: with an offset, leap seconds where they can be."""
    leap_in_utc = seq(lit(b"23:59:60"), optional(seq(lit(b"."), repeat(DIGIT, 1, max_digits))), byte_set(b"Zz"))
    return alt(seq(_clock(max_digits), _offset()), leap_in_utc, _leap_seconds())


def date_time(max_digits: int | None) -> Expr:
    """RFC 3339 date-time."""
    return seq(date(None), byte_set(b"Tt"), time(max_digits))


def _python_clock(max_digits: int | None) -> Expr:
    """A time of day that Python reads without loss: at most six places of a second."""
    return _clock(6 if max_digits is None else min(6, max_digits))


def _python_offset() -> Expr:
    return alt(lit(b"Z"), seq(byte_set(b"+-"), _number(0, 23, 2), lit(b":"), _number(0, 59, 2)))


def naive_time(max_digits: int | None) -> Expr:
    """A time of day as `datetime.time` reads it, without an offset (no leap seconds there)."""
    return _python_clock(max_digits)


def aware_time(max_digits: int | None) -> Expr:
    return seq(_python_clock(max_digits), _python_offset())


def any_time(max_digits: int | None) -> Expr:
    return seq(_python_clock(max_digits), optional(_python_offset()))


def _on_a_date(clock: Callable[[int | None], Expr]) -> Callable[[int | None], Expr]:
    """The date and time as `datetime.datetime` reads them."""
    return lambda max_digits: seq(date(None), lit(b"T"), clock(max_digits))


def duration(max_digits: int | None) -> Expr:
    """RFC 3339 appendix A: years, months and days, then hours, minutes and seconds without gaps; or weeks."""
    n = repeat(DIGIT, 1, max_digits)
    second = seq(n, lit(b"S"))
    minute = seq(n, lit(b"M"), optional(second))
    hour = seq(n, lit(b"H"), optional(minute))
    clock = seq(lit(b"T"), alt(hour, minute, second))
    day = seq(n, lit(b"D"))
    month = seq(n, lit(b"M"), optional(day))
    year = seq(n, lit(b"Y"), optional(month))
    return seq(lit(b"P"), alt(seq(alt(day, month, year), optional(clock)), clock, seq(n, lit(b"W"))))


def timedelta(max_digits: int | None) -> Expr:
    """An ISO 8601 duration that a `datetime.timedelta` can hold exactly: up to nine digits of days, then the clock."""
    n = repeat(DIGIT, 1, 6)
    fraction = optional(seq(lit(b"."), repeat(DIGIT, 1, 6)))
    second = seq(n, fraction, lit(b"S"))
    minute = seq(n, lit(b"M"), optional(second))
    hour = seq(n, lit(b"H"), optional(minute))
    clock = seq(lit(b"T"), alt(hour, minute, second))
    return seq(optional(lit(b"-")), lit(b"P"), alt(seq(n, lit(b"D"), optional(clock)), clock))


def uuid(_: int | None) -> Expr:
    return seq(repeat(HEX, 8, 8), repeat(seq(lit(b"-"), repeat(HEX, 4, 4)), 3, 3), lit(b"-"), repeat(HEX, 12, 12))


def ipv4(_: int | None = None) -> Expr:
    octet = words(str(n).encode() for n in range(256))
    return seq(octet, repeat(seq(lit(b"."), octet), 3, 3))


def ipv6(_: int | None = None) -> Expr:
    """RFC 4291 section 2.2, all three forms: eight groups, `::` for one or more groups of zeros, an ipv4 tail."""
    group, colon = repeat(HEX, 1, 4), lit(b":")
    forms = []
    for tail, size in ((group, 1), (ipv4(), 2)):
        before = 8 - size
        forms.append(seq(repeat(seq(group, colon), before, before), tail))
        for left in range(before):
            head = seq(repeat(seq(group, colon), left - 1, left - 1), group) if left else lit(b"")
            forms.append(seq(head, lit(b"::"), repeat(seq(group, colon), 0, before - 1 - left), tail))
    for left in range(8):
        head = seq(repeat(seq(group, colon), left - 1, left - 1), group) if left else lit(b"")
        forms.append(seq(head, lit(b"::")))
    return alt(*forms)


def _label() -> Expr:
    """One label of a host name: 1 to 63 letters, digits and inner hyphens.

    Two hyphens in the third and fourth place are reserved for other encodings. Spelled out, since a complement beside
    every label made masks three times as dear.
    """
    any_two = alt(seq(ALNUM, NAME_BYTE), seq(lit(b"-"), ALNUM))
    long = seq(NAME_BYTE, any_two, repeat(NAME_BYTE, 0, 58), ALNUM)
    return seq(ALNUM, optional(alt(seq(repeat(NAME_BYTE, 0, 2), ALNUM), long)))


def hostname(_: int | None = None) -> Expr:
    """RFC 1123 section 2.1, at most 253 characters. Encoded international labels (`xn--`) are not offered."""
    return both(seq(_label(), star(seq(lit(b"."), _label()))), repeat(alt(NAME_BYTE, lit(b".")), 1, 253))


def undecided_hostname() -> Expr:
    """Names with an encoded international label, hostnames or not by what it encodes: offered neither way."""
    part = alt(NAME_BYTE, lit(b"."))
    label = seq(byte_set(b"xX"), byte_set(b"nN"), lit(b"--"))
    return seq(optional(seq(star(part), lit(b"."))), label, star(part))


def undecided_email() -> Expr:
    """The same behind an @."""
    return seq(plus(byte_set(range(0x20, 0x7F))), lit(b"@"), undecided_hostname())


def email(_: int | None) -> Expr:
    """RFC 5321 Mailbox: a dot-string of at most 64 characters or a quoted string, at a host name or address literal."""
    in_atom = alt(ALNUM, byte_set(b"!#$%&'*+-/=?^_`{|}~"))
    atom = plus(in_atom)
    dotted = both(seq(atom, star(seq(lit(b"."), atom))), repeat(alt(in_atom, lit(b".")), 1, 64))
    plain = byte_set(set(range(0x20, 0x7F)) - set(b'"\\'))
    escaped = seq(lit(rb"\\"), alt(plain, lit(rb"\""), lit(rb"\\")))
    quoted = seq(lit(rb"\""), repeat(alt(plain, escaped), 0, 62), lit(rb"\""))
    address = seq(lit(b"["), alt(ipv4(), seq(lit(b"IPv6:"), ipv6())), lit(b"]"))
    return seq(alt(dotted, quoted), lit(b"@"), alt(hostname(), address))


FORMATS: dict[str, Callable[[int | None], Expr]] = {
    "date": date,
    "time": time,
    "date-time": date_time,
    "duration": duration,
    "uuid": uuid,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "hostname": hostname,
    "email": email,
    "uri": uri,
    "uri-reference": uri_reference,
    "iri": iri,
    "iri-reference": iri_reference,
    "uri-template": uri_template,
    "json-pointer": json_pointer,
    "relative-json-pointer": relative_json_pointer,
    # What Python's own types read; `of_type` asks for them.
    "python-time": any_time,
    "python-aware-time": aware_time,
    "python-naive-time": naive_time,
    "python-date-time": _on_a_date(any_time),
    "python-aware-date-time": _on_a_date(aware_time),
    "python-naive-date-time": _on_a_date(naive_time),
    "python-timedelta": timedelta,
}

UNDECIDED = {"hostname": undecided_hostname, "email": undecided_email}  # what `not` leaves out as well
