"""A JSON value that is being read, by its value and not by its spelling: what is known of it, and what it may become.

Where items of an array must differ, or keys of an object, a text's meaning decides: `"a"` is `"\\u0061"`, `1` is `1.0`,
objects have no order. A `Partial` is what was read of one value so far. It takes the text for JSON, which an
automaton has checked. The same key twice in one object is not read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import IntEnum
from functools import lru_cache
from typing import Any

Value = tuple[Any, ...]  # (kind, content), hashable; of texts that mean the same JSON value, the same

_SPECIAL = re.compile(rb'["\\]')
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9A-Fa-f]{2}", rb"\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
_ESCAPE = re.compile(rb"%s%s|\\(?:u[0-9A-Fa-f]{4}|[^u])" % (_HIGH, _LOW))
_ONE_HIGH = re.compile(_HIGH)
_NUMBER = frozenset(b"0123456789+-.eE")
_BLANK = frozenset(b" \t\r\n")
_LITERALS = (b"true", b"false", b"null")


class Mode(IntEnum):
    """What the next bytes belong to. After KEY_DUE a key must come; KEY_FIRST: a key or the end of the object."""

    VALUE, STRING, NUMBER, LITERAL, KEY_FIRST, KEY_DUE, KEY, COLON, AFTER = range(9)


@dataclass(frozen=True, slots=True)
class Container:
    """An open array or object. `done`: its items, or its members as (key, value); `key`: whose value comes now."""

    is_object: bool
    done: tuple[Any, ...]
    key: bytes | None
    below: Container | None


@dataclass(frozen=True, slots=True)
class Partial:
    """A value in the middle. `inside`: the open containers, innermost first; `text`: the raw bytes of a scalar or key,
    without the opening quote; `escaped`: whether they end in a backslash that escapes."""

    inside: Container | None = None
    mode: Mode = Mode.VALUE
    text: bytes = b""
    escaped: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """A value that is whole. `value`: None where a key came twice; `at`: the place behind it in the bytes read."""

    value: Value | None
    at: int


START = Partial()
OBJECT_START = Partial(Container(True, (), None, None), Mode.KEY_FIRST)


def read_on(state: Partial, data: bytes, at: int = 0) -> Partial | Ended:
    """The value after more bytes, from `at` on; numbers end before the first byte that is none of theirs."""
    inside, mode, text, escaped = state.inside, state.mode, state.text, state.escaped
    n = len(data)
    value: Value | None = None
    while at < n:
        byte = data[at]
        if mode is Mode.STRING or mode is Mode.KEY:
            if escaped:
                text, escaped = text + data[at : at + 1], False
                at += 1
                continue
            found = _SPECIAL.search(data, at)
            if found is None:
                text, at = text + data[at:], n
                continue
            text += data[at : found.start()]
            at = found.end()
            if found.group() == b"\\":
                text, escaped = text + b"\\", True
                continue
            if mode is Mode.KEY:
                assert inside is not None
                key = string_bytes(text)
                if any(key == known for known, _ in inside.done):
                    return Ended(None, at)
                inside, mode, text = Container(True, inside.done, key, inside.below), Mode.COLON, b""
                continue
            value, text = ("s", string_bytes(text)), b""
        elif mode is Mode.NUMBER:
            if byte in _NUMBER:
                text, at = text + data[at : at + 1], at + 1
                continue
            value, text = number_value(text), b""
        elif mode is Mode.LITERAL:
            text, at = text + data[at : at + 1], at + 1
            if text not in _LITERALS:
                continue
            value, text = ("l", text), b""
        elif byte in _BLANK:
            at += 1
            continue
        elif mode is Mode.VALUE and byte not in b"]":
            if byte == 0x22:
                mode, at = Mode.STRING, at + 1
            elif byte == 0x7B:
                inside, mode, at = Container(True, (), None, inside), Mode.KEY_FIRST, at + 1
            elif byte == 0x5B:
                inside, at = Container(False, (), None, inside), at + 1
            else:
                mode = Mode.NUMBER if byte in _NUMBER else Mode.LITERAL
            continue
        elif byte == 0x22:
            mode, at = Mode.KEY, at + 1
            continue
        elif byte == 0x3A:
            mode, at = Mode.VALUE, at + 1
            continue
        elif byte == 0x2C:
            assert inside is not None
            mode, at = Mode.KEY_DUE if inside.is_object else Mode.VALUE, at + 1
            continue
        else:  # a closing bracket
            assert inside is not None
            at += 1
            value, inside = _whole(inside), inside.below
        if inside is None:
            return Ended(value, at)
        done = (*inside.done, (inside.key, value) if inside.is_object else value)
        inside, mode = Container(inside.is_object, done, None, inside.below), Mode.AFTER
    return Partial(inside, mode, text, escaped)


def _whole(container: Container) -> Value:
    return ("o", frozenset(container.done)) if container.is_object else ("a", container.done)


def string_bytes(text: bytes) -> bytes:
    """The UTF-8 bytes of a string, from its inside as written."""
    if b"\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[bytes]) -> bytes:
    try:
        decoded: str = json.loads(b'"' + escape.group() + b'"')
    except ValueError:  # no escape of JSON
        return escape.group()
    return decoded.encode("utf-8", "surrogatepass")


def number_value(text: bytes) -> Value:
    """Equal for numbers that are equal as decimals."""
    try:
        return ("n", Decimal(text.decode()))
    except InvalidOperation:  # an exponent beyond 18 digits
        return ("n", text)


def string_beginning(text: bytes) -> bytes:
    """The bytes that a string begins with for sure, from the beginning of its inside as written."""
    if b"\\" not in text:
        return text
    start = end = 0  # of the last whole escape
    for found in _ESCAPE.finditer(text):
        start, end = found.span()
    cut = text.find(b"\\", end)
    cut = len(text) if cut < 0 else cut
    if cut == end and _ONE_HIGH.fullmatch(text, start, end):  # its other half may come
        cut = start
    return string_bytes(text[:cut])


def still_possible(state: Partial, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Those values that the text may still turn out to mean."""
    if state.inside is not None:
        return tuple(value for value in values if expected_of(state, value) is not None)
    if state.mode is Mode.STRING:
        begun = string_beginning(state.text)
        return tuple(value for value in values if value[0] == "s" and value[1].startswith(begun))
    return tuple(value for value in values if _scalar_may_become(state, value))


def expected_of(state: Partial, value: Value) -> tuple[Value, ...] | None:
    """Which values or, inside a key, which strings may come where the text stands, if it is to mean `value`.

    None: it can mean that no more. Empty: what comes is no matter.
    """
    containers = []
    inside = state.inside
    while inside is not None:
        containers.append(inside)
        inside = inside.below
    expected: Value = value
    mode = state.mode
    for container in reversed(containers):
        kind, content = expected
        is_last = container is state.inside
        if container.is_object:
            if kind != "o" or not content.issuperset(container.done):
                return None
            if is_last and container.key is None:
                if mode is not Mode.KEY:
                    return ()
                begun = string_beginning(state.text)
                left = tuple(("s", key) for key, _ in content.difference(container.done) if key.startswith(begun))
                return left or None
            rest = [known for key, known in content if key == container.key]
            if not rest or (container.key, rest[0]) in container.done:
                return None
            expected = rest[0]
        else:
            n = len(container.done)
            if kind != "a" or content[:n] != container.done:
                return None
            if is_last and mode is Mode.AFTER:
                return ()
            if len(content) == n:
                return () if is_last and mode is Mode.VALUE and n == 0 else None
            expected = content[n]
        if is_last and mode is Mode.COLON:
            return ()
    return (expected,) if _scalar_may_become(state, expected) else None


def _scalar_may_become(state: Partial, expected: Value) -> bool:
    kind, content = expected
    if state.mode is Mode.VALUE:
        return True
    if state.mode is Mode.STRING:
        return bool(kind == "s" and content.startswith(string_beginning(state.text)))
    if state.mode is Mode.LITERAL:
        return bool(kind == "l" and content.startswith(state.text))
    return kind == "n" and (isinstance(content, bytes) or _number_may_become(state.text, content))


def _number_may_become(text: bytes, value: Decimal) -> bool:
    """Whether a number that begins so may have this value: its digits, zeros at both ends aside, are the value's."""
    if value and (value < 0) != text.startswith(b"-"):
        return False
    mantissa, *exponent = text.lower().split(b"e")
    digits = mantissa.translate(None, b"+-.").lstrip(b"0")
    known = _digits(value)
    return digits.rstrip(b"0") == known if exponent else known.startswith(digits) or digits.rstrip(b"0") == known


@lru_cache(4096)
def _digits(value: Decimal) -> bytes:
    return bytes(0x30 + digit for digit in value.as_tuple().digits).strip(b"0")


def _is_begun(text: bytes, keys: list[bytes]) -> bool:
    beginning = string_beginning(text) if keys else b""
    return any(key.startswith(beginning) for key in keys)


def repeats_key(state: Partial) -> bool:
    """Whether the key that comes next, or is being read, may turn out to be one that came before."""
    inside = state.inside
    if inside is None or not inside.is_object or not inside.done:
        return False
    if state.mode is Mode.KEY:
        return _is_begun(state.text, [key for key, _ in inside.done])
    return state.mode is Mode.KEY_DUE
