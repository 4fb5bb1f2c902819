"""What is certain of a JSON value whose text is still being written.

A value is shown as far as no continuation of the text can take it back: strings as far as they are written, numbers
once something follows them, members of an object once something of their value can be shown. So what is shown only
grows: strings get longer, arrays and objects get more and deeper entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from domino_py.json_reading import plain_json

__all__ = ["NOTHING", "PartialJson", "partial_json"]


class _Nothing:
    """Nothing of a value can be shown yet."""

    def __repr__(self) -> str:
        return "NOTHING"

    def __bool__(self) -> bool:
        return False


NOTHING: Any = _Nothing()
_BLANKS = " \t\n\r"
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS = {"true": True, "false": False, "null": None}


def partial_json(text: str, *, is_whole: bool = False) -> Any:
    """The certain part of the value that a text begins; NOTHING where there is none yet.

    `text` is a prefix of some JSON text; with `is_whole` it is all of it. Numbers are read as `json.loads` does.
    """
    reader = PartialJson()
    reader.feed(text)
    return reader.value(is_whole=is_whole)


class PartialJson:
    """The same piece by piece: each character is read once, whatever the number of pieces."""

    def __init__(self) -> None:
        self._root: list[Any] = []  # the value once something of it is there
        self._open: list[Any] = []  # objects and arrays that are not closed, the outermost first
        self._keys: list[str | None] = []  # of each open one: the key whose value is next; None in arrays
        self._expects_key = False
        self._string: list[str] | None = None  # pieces of the string that is open
        self._is_key = False
        self._escape = ""  # the escape that is not complete, its backslash included
        self._high = ""  # first half of a surrogate pair
        self._word = ""  # number or literal that is not complete

    def feed(self, text: str) -> None:
        """Read on."""
        for char in text:
            if self._string is not None:
                self._in_string(char)
            elif self._word and char not in ',]}:"[{' and char not in _BLANKS:
                self._grow_word(char)
            else:
                self._end_word()
                self._structure(char)

    def value(self, *, is_whole: bool = False) -> Any:
        """What is certain so far, a new object each time; NOTHING where nothing is."""
        if is_whole:
            self._end_word()
        root = self._root[0] if self._root else NOTHING
        shown = _copied(root)
        if self._string is not None and not self._is_key:
            written = "".join(self._string)
            if not self._open:
                return written
            inner = shown
            for depth in range(len(self._open) - 1):
                inner = inner[-1] if isinstance(inner, list) else inner[self._keys[depth]]
            if isinstance(inner, list):
                inner.append(written)
            else:
                inner[self._keys[-1]] = written
        return shown

    def _structure(self, char: str) -> None:
        if char in _BLANKS:
            return
        if char in "{[":
            made: Any = {} if char == "{" else []
            self._put(made)
            self._open.append(made)
            self._keys.append(None)
            self._expects_key = char == "{"
        elif char in "}]":
            self._open.pop()
            self._keys.pop()
        elif char == ",":
            self._expects_key = isinstance(self._open[-1], dict)
        elif char == '"':
            self._string, self._is_key = [], self._expects_key
        elif char == ":":
            self._expects_key = False
        else:
            self._grow_word(char)

    def _in_string(self, char: str) -> None:
        assert self._string is not None
        if self._escape:
            self._escape += char
            self._unescape()
        elif char == "\\":
            self._escape = char
        elif char == '"':
            self._flush_high()
            written, self._string = "".join(self._string), None
            if self._is_key:
                self._keys[-1], self._expects_key = written, False
            else:
                self._put(written)
        else:
            self._flush_high()
            self._string.append(char)

    def _unescape(self) -> None:
        assert self._string is not None
        kind = self._escape[1]
        if kind != "u":
            self._flush_high()
            self._string.append(_SIMPLE[kind])
        elif len(self._escape) == 6:
            unit = int(self._escape[2:], 16)
            if self._high and 0xDC00 <= unit < 0xE000:
                self._string.append(chr(0x10000 + ((ord(self._high) - 0xD800) << 10) + (unit - 0xDC00)))
                self._high = ""
            else:
                self._flush_high()
                if 0xD800 <= unit < 0xDC00:
                    self._high = chr(unit)
                else:
                    self._string.append(chr(unit))
        else:
            return
        self._escape = ""

    def _flush_high(self) -> None:
        if self._high and self._string is not None:
            self._string.append(self._high)
            self._high = ""

    def _grow_word(self, char: str) -> None:
        self._word += char
        if self._word in _LITERALS:
            self._end_word()

    def _end_word(self) -> None:
        if self._word:
            word, self._word = self._word, ""
            self._put(_LITERALS[word] if word in _LITERALS else plain_json(word))

    def _put(self, value: Any) -> None:
        if not self._open:
            self._root.append(value)
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        else:
            self._open[-1][self._keys[-1]] = value


def _copied(value: Any) -> Any:
    """A deep copy of lists and dicts, without recursion."""
    if not isinstance(value, (list, dict)):
        return value
    root: Any = type(value)()
    work = [(value, root)]
    while work:
        source, made = work.pop()
        entries: Iterable[tuple[Any, Any]] = source.items() if isinstance(source, dict) else enumerate(source)
        for key, item in entries:
            if isinstance(item, (list, dict)):
                copy: Any = type(item)()
                work.append((item, copy))
            else:
                copy = item
            if isinstance(made, dict):
                made[key] = copy
            else:
                made.append(copy)
    return root
