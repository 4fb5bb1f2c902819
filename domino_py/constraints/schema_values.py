"""JSON values in schemas (`enum`, `const`): when two are equal, and how they are written.

Equality is JSON's: numbers by value (`1.0` is `1`), objects without order, `true` is not `1`. A number is written
in plain decimals, whole ones without a fraction; as the schema writes it too, if that is plain. Strings have their
canonical spelling; objects come with their keys in any order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import Any

from tokenizer_align.expressions import Expr, alt, frame, lit, seq, words
from tokenizer_align.members import Member, MemberSpec, start_members

from .json_exponents import spellings
from .json_layout import JsonStyle
from .json_strings import canonical_text


def json_type(value: Any) -> str:
    """The JSON type of a value; whole numbers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | Decimal | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def value_key(value: Any) -> Hashable:
    """Equal for JSON values that are equal.

    >>> value_key({"a": 1}) == value_key({"a": Decimal("1.0")}), value_key(1) == value_key(True)
    (True, False)
    """
    kind = json_type(value)
    if kind == "array":
        return (kind, tuple(value_key(item) for item in value))
    if kind == "object":
        return (kind, frozenset((key, value_key(item)) for key, item in value.items()))
    return (kind, value)


def plain_number(value: int | Decimal) -> str:
    """A number in plain decimals, without needless zeros: `1.50` is "1.5", `1E+2` is "100"."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def number_spellings(value: int | Decimal) -> list[bytes]:
    """The ways to write one number: plain, and as the schema has it (`1.0`, `2.50`) where that is plain as well."""
    found = {plain_number(value)}
    if isinstance(value, Decimal) and "E" not in str(value) and not (value == 0 and value.is_signed()):
        found.add(str(value))
    return [text.encode() for text in sorted(found)]


def compact_text(value: Any) -> bytes:
    """One legal text of a value, without blanks."""
    kind = json_type(value)
    if kind == "array":
        return b"[" + b",".join(map(compact_text, value)) + b"]"
    if kind == "object":
        return b"{" + b",".join(canonical_text(k) + b":" + compact_text(v) for k, v in value.items()) + b"}"
    return scalar_spellings(value)[0]


def scalar_spellings(value: Any) -> list[bytes]:
    """All ways to write a value that is not an array or object."""
    if isinstance(value, str):
        return [canonical_text(value)]
    if value is None or isinstance(value, bool):
        return [b"null" if value is None else b"true" if value else b"false"]
    return number_spellings(value)


def any_of_values(values: Iterable[Any], style: JsonStyle) -> Expr:
    """Any of the values. All scalars are one trie, so that thousands cost what a few do."""
    scalars: list[bytes] = []
    others: list[Expr] = []
    numbers: list[Decimal] = []
    for value in values:
        if isinstance(value, list | dict):
            others.append(_container(value, style))
        elif style.number_spelling == "any" and json_type(value) == "number":
            numbers.append(Decimal(value))
        else:
            scalars += scalar_spellings(value)
    if numbers:
        others.append(frame(spellings(numbers)))
    return alt(frame(words(scalars)), *others)


def _container(value: Any, style: JsonStyle) -> Expr:
    gap = style.gap
    if isinstance(value, list):
        items = [seq(any_of_values([item], style), gap) for item in value]
        joined = [part for item in items for part in (lit(b","), gap, item)][2:]
        return seq(lit(b"["), gap, *joined, lit(b"]"))
    members = tuple(
        Member(canonical_text(key), seq(gap, lit(b":"), gap, any_of_values([item], style), gap), required=True)
        for key, item in value.items()
    )
    if not members:
        return seq(lit(b"{"), gap, lit(b"}"))
    return frame(seq(lit(b"{"), gap, start_members(MemberSpec(members, seq(lit(b","), gap), lit(b"}")))))
