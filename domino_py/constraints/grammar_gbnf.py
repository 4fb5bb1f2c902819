"""GBNF, the notation of llama.cpp (its `grammars/README.md`): `name ::= "text" [a-z] other* | (…){2,5}`.

Everything is over code points; texts and classes may hold line ends. A rule ends where the next `name ::=` begins, so a
body may go over several lines anywhere. Not here: references to tokens by name or number, which would tie a grammar to
one vocabulary.
"""

from __future__ import annotations

import re

from tokenizer_align import utf8
from tokenizer_align.expressions import lit

from .grammar_model import UNREAD, Choice, Grammar, Leaf, Named, Part, Repeated, RuleDef, Sequence
from .grammar_source import Failure, Reader, Source, code_point

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_RULE = re.compile(r"[A-Za-z0-9_-]+[ \t]*::=")
_NAME_OR_RULE = re.compile(r"([A-Za-z0-9_-]+)([ \t]*::=)?")
_PLAIN_TEXT = re.compile(r'"([^"\\]*)"')  # without escapes
_NUMBER = re.compile(r"[0-9]+")
_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEX = {letter: re.compile(rf"[0-9a-fA-F]{{{n}}}") for letter, n in _DIGITS.items()}
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
_TOKEN_HINT = "Write the text that the token stands for."


def parse_gbnf(source: Source, start: str = "root") -> Grammar:
    """The grammar in a GBNF text. Its problems come with it."""
    reader = _GbnfReader(source)
    reader.read_rules()
    return Grammar(source, reader.rules, start, (), tuple(reader.problems), frozenset(reader.broken))


class _GbnfReader(Reader):
    blanks = re.compile(r"(?:\s|#[^\n]*)*")
    rule_line = re.compile(r"(?m)^[ \t]*[A-Za-z0-9_-]+[ \t]*::=")
    definition = re.compile(r"([A-Za-z0-9_-]+)\s*::=")

    def read_rules(self) -> None:
        self.skip()
        while not self.is_at_end:
            begin = self.at
            try:
                self._rule()
            except Failure as failure:
                self.recover(failure, begin)
                self.skip()

    def _rule(self) -> None:
        begin = self.at
        name = self.match(_NAME)
        if name is None:
            self.fail(f"the name of a rule was expected, not {self.shown()}")
        self.skip()
        self.expect("::=", f"after the name {name.group()!r}")
        body = self._choice()
        if not self.is_at_end and not _RULE.match(self.text, self.at):
            self.fail(f"{self.shown()} cannot stand here", "A name, a text, a class or a bracket was expected.")
        self.define(RuleDef(name.group(), body, begin), begin)

    def _choice(self) -> Part:
        parts = [self._sequence()]
        while self.take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while not self.is_at_end and self.text[self.at] not in "|)":
            name = _NAME_OR_RULE.match(self.text, self.at)
            if name is None:
                part = self._atom()
            elif name.group(2) is None:
                part = Named(name.group(1), self.at)
                self.at = name.end()
                self.skip()
            else:
                break
            while (repeated := self._repetition(part)) is not None:
                part = repeated
            parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self) -> Part:
        begin, first = self.at, self.text[self.at]
        if first == '"':
            return self._literal(begin)
        if first == "[":
            return self._class(begin)
        if self.take("("):
            self.deeper()
            inner = self._choice()
            self.shallower()
            if not self.take(")"):
                self.fail("this bracket is never closed", offset=begin)
            return inner
        if self.take("."):
            return Leaf(utf8.ANY_CHAR, begin)
        if first == "<" or self.sees("!<"):
            self.fail("a reference to a token is not supported: grammars are about text", _TOKEN_HINT)
        if first in "*+?{":
            self.fail(f"there is nothing before this {first!r} to repeat")
        self.fail(f"{self.shown()} cannot stand here", "A name, a text, a class or a bracket was expected.")

    def _literal(self, begin: int) -> Part:
        plain = self.match(_PLAIN_TEXT)
        if plain is not None:
            self.skip()
            return Leaf(lit(plain.group(1).encode()), begin)
        self.at += 1
        characters = []
        while not self.sees('"'):
            if self.is_at_end:
                self.at = begin
                self.fail("this text is never closed", "Texts may go over lines: one before it may lack its end.")
            characters.append(chr(self._character()))
        self.at += 1
        self.skip()
        return Leaf(lit("".join(characters).encode()), begin)

    def _class(self, begin: int) -> Part:
        self.at += 1
        is_negated = self.sees("^")
        self.at += is_negated
        ranges = []
        while not self.sees("]"):
            low_at = self.at
            low = high = self._class_character(begin)
            if self.sees("-") and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self._class_character(begin)
                if high < low:
                    self.note("this range ends before it begins", low_at)
            ranges.append((low, max(low, high)))
        self.at += 1
        self.skip()
        if not ranges and not is_negated:
            self.note("this class has no characters", begin)
            return Leaf(UNREAD, begin)
        return Leaf(utf8.code_points(utf8.complement(ranges) if is_negated else ranges), begin)

    def _class_character(self, begin: int) -> int:
        if self.is_at_end:
            self.at = begin
            self.fail("this class is never closed")
        return self._character()

    def _character(self) -> int:
        """One character or escape, as a code point."""
        begin, first = self.at, self.text[self.at]
        self.at += 1
        if first != "\\":
            return ord(first)
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter in _HEX:
            digits = self.match(_HEX[letter])
            if digits is None:
                self.fail(f"\\{letter} needs {_DIGITS[letter]} hexadecimal digits", offset=begin)
            return code_point(self.source, digits.group(), begin)
        if letter not in _SIMPLE or not letter:
            hint = f"Write {letter} itself." if letter and letter in "/^'.()|*+?{}" else None
            self.fail(f"there is no escape \\{letter}", hint, begin)
        return ord(_SIMPLE[letter])

    def _repetition(self, part: Part) -> Part | None:
        begin = self.at
        sign = self.text[begin : begin + 1]
        if not sign or sign not in "*+?{":
            return None
        self.take(sign)
        if sign != "{":
            return Repeated(part, int(sign == "+"), 1 if sign == "?" else None)
        low = self._number()
        high = low
        if low is None:
            self.fail(f"a number was expected, not {self.shown()}", "Write {0,n} where there may be none.")
        if self.take(","):
            high = self._number()
        self.expect("}", "after the numbers of a repetition")
        if high is not None and high < low:
            self.note(f"a repetition from {low} to {high} does not exist", begin)
            return part
        return Repeated(part, low, high)

    def _number(self) -> int | None:
        digits = self.match(_NUMBER)
        self.skip()
        if digits is not None and len(digits.group()) > 9:
            self.fail("a repetition of so many times is not possible", offset=digits.start())
        return None if digits is None else int(digits.group())
