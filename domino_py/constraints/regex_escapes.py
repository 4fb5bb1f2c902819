r"""Reading single characters, escapes and character sets of a pattern: the part of the parser below the grammar.

Python's rules follow `re._parser` of CPython 3.11 to 3.13, with its error positions; ECMA-262's rules are those with
the u flag, except that escapes of punctuation stand for themselves and a set may hold `\w-.`, as annex B allows.
"""

from __future__ import annotations

import unicodedata
from typing import Final, Literal, NoReturn

from tokenizer_align.errors import RegexError
from tokenizer_align.utf8 import complement

from . import char_classes as cc
from .char_classes import CaseRule, Ranges

Dialect = Literal["python", "ecma"]

# The flags of `re` as integers: its enumeration costs a microsecond for every test.
IGNORECASE, LOCALE, MULTILINE, DOTALL, UNICODE, VERBOSE, ASCII = 2, 4, 8, 16, 32, 64, 256

_CONTROL: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
DIGITS: Final = frozenset("0123456789")


class Reader:
    """A pattern and the place where it is read. `flags` are those of Python's `re`, in force at this place."""

    def __init__(self, pattern: str, dialect: Dialect, flags: int) -> None:
        self.pattern, self.dialect, self.flags = pattern, dialect, flags
        self.i = 0

    def peek(self) -> str:
        """The next character, empty at the end."""
        return self.pattern[self.i : self.i + 1]

    def take(self, text: str) -> bool:
        """Pass over `text` if it comes next."""
        if self.pattern.startswith(text, self.i):
            self.i += len(text)
            return True
        return False

    def fail(self, message: str, position: int | None = None, hint: str | None = None) -> NoReturn:
        raise RegexError(self.pattern, self.i if position is None else position, message, hint)

    def take_until(self, end: str, name: str) -> str:
        """The text up to `end`, which is passed over; positions of errors are those of `re`."""
        start = self.i
        stop = self.pattern.find(end, start)
        if stop == start or start == len(self.pattern):
            self.fail(f"missing {name}")
        if stop < 0:
            self.fail(f"missing {end}, unterminated name", start)
        self.i = stop + len(end)
        return self.pattern[start:stop]

    @property
    def case_rule(self) -> CaseRule | None:
        """Which case rule holds here; None where case matters."""
        if not self.flags & IGNORECASE:
            return None
        if self.dialect == "ecma":
            return "ecma"
        return "ascii" if self.flags & ASCII else "unicode"

    def fold(self, ranges: Ranges) -> Ranges:
        rule = self.case_rule
        return cc.ignore_case(ranges, rule) if rule else ranges

    def word_class(self) -> Ranges:
        return self.letter_class("w")

    def letter_class(self, letter: str) -> Ranges:
        r"""\d \D \w \W \s \S under the flags in force."""
        if self.dialect == "ecma":
            ranges = self.fold(cc.ecma_class(letter.lower()))
            return complement(ranges) if letter.isupper() else ranges
        return cc.ascii_class(letter) if self.flags & ASCII else cc.python_class(letter)

    # Escapes. `self.i` stands behind the backslash and the letter after it; `start` is the backslash.

    def class_or_char(self, letter: str, start: int, *, in_set: bool) -> Ranges | int:
        """What an escape stands for, in a set or outside: a class of characters or one code point."""
        if letter in "dDwWsS":
            return self.letter_class(letter)
        if letter in "pP" and (self.peek() == "{" or self.dialect == "ecma"):
            return self._property(letter, start)
        if letter in _CONTROL and (in_set or letter != "b") and (letter != "a" or self.dialect == "python"):
            return _CONTROL[letter]
        if letter == "x":
            return self._hex(start, 2)
        if letter == "u":
            return self._ecma_u(start) if self.dialect == "ecma" else self._hex(start, 4)
        if self.dialect == "ecma":
            return self._ecma_char(letter, start)
        if letter == "U":
            code_point = self._hex(start, 8)
            if code_point > 0x10FFFF:
                self.fail(f"bad escape {self.pattern[start : self.i]}", start)
            return code_point
        if letter == "N":
            return self._named(start)
        if letter in _OCTAL and (in_set or letter == "0"):
            return self._octal(start)
        if letter.isascii() and letter.isalnum():
            self._bad_escape(letter, start)
        return ord(letter)

    def _bad_escape(self, letter: str, start: int) -> NoReturn:
        hints = {"z": r"\Z is the end of the text.", "h": r"Write [ \t].", "R": r"Write (?:\r\n|[\n-\r])."}
        if self.dialect == "ecma":
            hints = {
                "A": "^ is the start of the text.",
                "Z": "$ is the end of the text.",
                "z": "$ is the end of the text.",
            }
        self.fail(f"bad escape \\{letter}", start, hints.get(letter))

    def _hex(self, start: int, n_digits: int) -> int:
        first = self.i
        while self.i < first + n_digits and self.peek() in _HEX and self.peek():
            self.i += 1
        if self.i < first + n_digits:
            self.fail(f"incomplete escape {self.pattern[start : self.i]}", start)
        return int(self.pattern[first : self.i], 16)

    def _octal(self, start: int) -> int:
        while self.i < start + 4 and self.peek() in _OCTAL and self.peek():
            self.i += 1
        text = self.pattern[start + 1 : self.i]
        if int(text, 8) > 0o377:
            self.fail(f"octal escape value \\{text} outside of range 0-0o377", start)
        return int(text, 8)

    def _named(self, start: int) -> int:
        if not self.take("{"):
            self.fail("missing {")
        name = self.take_until("}", "character name")
        try:
            return ord(unicodedata.lookup(name))
        except (KeyError, TypeError):
            self.fail(f"undefined character name {name!r}", start)

    def _property(self, letter: str, start: int) -> Ranges:
        if not self.take("{"):
            self.fail(f"bad escape \\{letter}", start, r"A property is written \p{L} or \p{Script=Greek}.")
        name = self.take_until("}", "property name")
        try:
            ranges = self.fold(cc.property_class(name.removeprefix("^")))
        except KeyError:
            self.fail(
                f"unknown property {name!r}", start, r"Categories, scripts and binary properties: \p{Lu}, \p{Greek}."
            )
        return complement(ranges) if (letter == "P") != name.startswith("^") else ranges

    def _ecma_u(self, start: int) -> int:
        if self.take("{"):
            digits = self.take_until("}", "code point")
            if not all(c in _HEX for c in digits) or int(digits, 16) > 0x10FFFF:
                self.fail(f"bad escape {self.pattern[start : self.i]}", start)
            return int(digits, 16)
        high = self._hex(start, 4)
        if 0xD800 <= high < 0xDC00 and self.take("\\u"):
            low = self._hex(self.i - 2, 4)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            self.i -= 6
        return high

    def _ecma_char(self, letter: str, start: int) -> int:
        if letter == "0" and self.peek() not in DIGITS - {""}:
            return 0
        if letter == "c" and self.peek().isascii() and self.peek().isalpha():
            self.i += 1
            return ord(self.pattern[self.i - 1]) % 32
        if letter.isalnum():
            self._bad_escape(letter, start)
        return ord(letter)

    def take_escape_letter(self) -> str:
        """Pass over the backslash and give the character behind it."""
        self.i += 2
        if self.i > len(self.pattern):
            self.fail("bad escape (end of pattern)", len(self.pattern) - 1)
        return self.pattern[self.i - 1]

    # Character sets.

    def read_set(self) -> Ranges:
        """A set whose opening bracket has been passed over."""
        opening = self.i - 1
        negative = self.take("^")
        literals: list[Ranges] = []
        classes: list[Ranges] = []
        first = self.i
        while True:
            if self.peek() == "]" and (self.i > first or self.dialect == "ecma"):
                self.i += 1
                break
            start = self.i
            item = self._set_item(opening)
            if self.peek() == "-" and self.pattern[self.i + 1 : self.i + 2] != "]":
                self.i += 1
                self._read_range(item, start, opening, literals, classes)
            elif isinstance(item, int):
                literals.append(cc.one(item))
            else:
                classes.append(item)
        # A class is never widened when case is ignored: `re` looks the lowered character up in it (and \w is closed).
        ranges = cc.union([self.fold(cc.union(literals)), *classes])
        return complement(ranges) if negative else ranges

    def _set_item(self, opening: int) -> Ranges | int:
        char = self.peek()
        if not char:
            self.fail("unterminated character set", opening)
        if char != "\\":
            self.i += 1
            return ord(char)
        start = self.i
        letter = self.take_escape_letter()
        return self.class_or_char(letter, start, in_set=True)

    def _read_range(
        self, low: Ranges | int, start: int, opening: int, literals: list[Ranges], classes: list[Ranges]
    ) -> None:
        """`low-high`, read up to the dash."""
        high = self._set_item(opening)
        if isinstance(low, int) and isinstance(high, int):
            if high >= low:
                literals.append(((low, high),))
                return
        elif self.dialect == "ecma":
            literals.append(cc.one(45))
            for item in (low, high):
                (literals if isinstance(item, int) else classes).append(cc.one(item) if isinstance(item, int) else item)
            return
        self.fail(f"bad character range {self.pattern[start : self.i]}", start)
