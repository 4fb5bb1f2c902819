"""Forms of simple types: numbers, text, dates and the like, choices, lists, and the constraints of `Annotated`.

Readers get JSON values (decimals as `Decimal`) and are strict: a wrong JSON type raises `Unreadable`, so that
unions can try one alternative after the other.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tokenizer_align.errors import ConstraintError

from .schema_values import json_type, value_key

Schema = dict[str, Any]
Reader = Callable[[Any], Any]


class Unreadable(ValueError):
    """A JSON value does not fit a type; `path` says where in the value, as in `people[2].age`."""

    def __init__(self, message: str, path: str = "") -> None:
        self.message, self.path = message, path
        super().__init__(f"{path.removeprefix('.')}: {message}" if path else message)


@dataclass(frozen=True, slots=True)
class Form:
    """The JSON Schema of a type's values, and the reader of such a value."""

    schema: Schema
    read: Reader


def read_part(form: Form, value: Any, step: str) -> Any:
    """A part of a value, read; errors name the part (`.key`, `[2]`)."""
    try:
        return form.read(value)
    except Unreadable as error:
        raise Unreadable(error.message, step + error.path) from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Unreadable(str(error), step) from error


def checked(kind: str, convert: Reader) -> Reader:
    """A reader that takes one JSON type only."""

    def read(value: Any) -> Any:
        if json_type(value) != kind:
            raise Unreadable(f"a {json_type(value)} where a {kind} is needed")
        try:
            return convert(value)
        except (ValueError, ArithmeticError, OverflowError) as error:
            raise Unreadable(str(error)) from error

    return read


def read_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"a {json_type(value)} where an array is needed")
    return value


def read_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{json_type(value)} found where an object is needed")
    return value


def read_any(value: Any) -> Any:
    """A JSON value as `json.loads` would give it: decimals become floats."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, list):
        return [read_any(item) for item in value]
    return {key: read_any(item) for key, item in value.items()} if isinstance(value, dict) else value


def _read_int(value: Any) -> int:
    if value != int(value):
        raise Unreadable(f"{value} is not a whole number")
    return int(value)


_DURATION = re.compile(
    r"(?P<sign>-?)P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


def _read_duration(text: str) -> datetime.timedelta:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise Unreadable(f"{text!r} is not a duration such as P1DT2H30M")
    parts = {name: decimal.Decimal(found[name] or 0) for name in ("days", "hours", "minutes", "seconds")}
    micros = int(parts.pop("seconds") * 1_000_000)
    value = datetime.timedelta(microseconds=micros, **{name: int(number) for name, number in parts.items()})
    return -value if found["sign"] else value


def _text(form: str | None, convert: Reader) -> Form:
    return Form({"type": "string", **({"format": form} if form else {})}, checked("string", convert))


_FRACTION = "^(0|-?[1-9][0-9]{0,18})(/[1-9][0-9]{0,18})?$"
ANY = Form({}, read_any)
SIMPLE: dict[Any, Form] = {
    Any: ANY,
    object: ANY,
    None: Form({"type": "null"}, checked("null", lambda value: None)),
    type(None): Form({"type": "null"}, checked("null", lambda value: None)),
    bool: Form({"type": "boolean"}, checked("boolean", bool)),
    int: Form({"type": "integer"}, checked("number", _read_int)),
    float: Form({"type": "number"}, checked("number", float)),
    decimal.Decimal: Form({"type": "number"}, checked("number", decimal.Decimal)),
    fractions.Fraction: Form({"type": "string", "pattern": _FRACTION}, checked("string", fractions.Fraction)),
    str: _text(None, str),
    bytes: _text(None, lambda text: text.encode()),
    datetime.date: _text("date", datetime.date.fromisoformat),
    datetime.time: _text("python-time", datetime.time.fromisoformat),
    datetime.datetime: _text("python-date-time", datetime.datetime.fromisoformat),
    datetime.timedelta: _text("python-timedelta", _read_duration),
    uuid.UUID: _text("uuid", uuid.UUID),
    pathlib.Path: _text(None, pathlib.Path),
    pathlib.PurePath: _text(None, pathlib.PurePath),
    ipaddress.IPv4Address: _text("ipv4", ipaddress.IPv4Address),
    ipaddress.IPv6Address: _text("ipv6", ipaddress.IPv6Address),
    list: Form({"type": "array"}, lambda value: read_any(read_list(value))),
    dict: Form({"type": "object"}, lambda value: read_any(read_object(value))),
}


def choice_form(pairs: Iterable[tuple[Any, Any]]) -> Form:
    """One of finitely many: (JSON value, Python object) pairs."""
    found: dict[Any, Any] = {}
    values: list[Any] = []
    for value, target in pairs:
        if isinstance(value, bytes):
            value = value.decode()
        if value is not None and not isinstance(value, str | int | float):
            raise ConstraintError(f"{value!r} is not a JSON value")
        exact = decimal.Decimal(repr(value)) if isinstance(value, float) else value
        if value_key(exact) not in found:
            found[value_key(exact)] = target
            values.append(value)

    def read(value: Any) -> Any:
        key = value_key(value) if not isinstance(value, list | dict) else None
        if key not in found:
            raise Unreadable(f"{value!r} is not one of {values}")
        return found[key]

    return Form({"enum": values}, read)


def container_form(item: Form, build: Callable[[list[Any]], Any], is_set: bool = False) -> Form:
    """A list of items, read into a collection."""
    schema: Schema = {"type": "array", "items": item.schema}
    if is_set:
        schema["uniqueItems"] = True
    return Form(schema, lambda value: build([read_part(item, v, f"[{i}]") for i, v in enumerate(read_list(value))]))


_NUMBER_NAMES = (("ge", "minimum"), ("gt", "exclusiveMinimum"), ("le", "maximum"), ("lt", "exclusiveMaximum"))
_LENGTH_KEYWORDS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def with_metadata(form: Form, metadata: Iterable[Any], inner: Any, at: str) -> Form:
    """A form narrowed by what `Annotated` says: bounds, divisors, lengths, patterns (annotated_types and the like)."""
    where = f"{inner!r}{at}"
    extra: Schema = {}
    predicates: list[Callable[[Any], bool]] = []
    for item in _flat(metadata):
        _take_numbers(form, item, extra, where)
        _take_lengths(form, item, extra, where)
        pattern = getattr(item, "pattern", item if isinstance(item, re.Pattern) else None)
        if isinstance(pattern, str | re.Pattern):
            extra["pattern"] = pattern if isinstance(pattern, str) else pattern.pattern
        if callable(getattr(item, "func", None)):
            predicates.append(item.func)
    if not extra and not predicates:
        return form
    schema = {**form.schema, **extra} if form.schema.keys().isdisjoint(extra) else {"allOf": [form.schema, extra]}

    def read(value: Any) -> Any:
        result = form.read(value)
        if not all(predicate(result) for predicate in predicates):
            raise Unreadable(f"{result!r} does not satisfy a predicate of {inner!r}")
        return result

    return Form(schema, read if predicates else form.read)


def _flat(metadata: Iterable[Any]) -> Iterable[Any]:
    """Grouped constraints (`Interval`, `Len`) give their parts when iterated."""
    for item in metadata:
        if type(item).__module__.startswith("annotated_types") and hasattr(type(item), "__iter__"):
            yield from item
        else:
            yield item


def _take_numbers(form: Form, item: Any, extra: Schema, where: str) -> None:
    names = [*_NUMBER_NAMES, ("multiple_of", "multipleOf")]
    for attribute, keyword in names:
        bound = getattr(item, attribute, None)
        if bound is None or isinstance(item, str | bytes | type):
            continue
        if isinstance(bound, bool) or not isinstance(bound, int | float | decimal.Decimal):
            raise ConstraintError(f"the bound {attribute}={bound!r} of {where} cannot be enforced: it is not a number")
        if form.schema.get("type") not in ("integer", "number"):
            raise ConstraintError(f"the bound {attribute}={bound!r} cannot be enforced on {where}")
        extra[keyword] = bound


def _take_lengths(form: Form, item: Any, extra: Schema, where: str) -> None:
    for attribute, place in (("min_length", 0), ("max_length", 1)):
        length = getattr(item, attribute, None)
        if isinstance(length, int) and not (attribute == "min_length" and length == 0):
            kind = form.schema.get("type")
            if kind not in _LENGTH_KEYWORDS:
                raise ConstraintError(f"the length {attribute}={length} cannot be enforced on {where}")
            extra[_LENGTH_KEYWORDS[kind][place]] = length
