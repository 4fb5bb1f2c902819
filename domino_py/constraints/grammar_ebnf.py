"""EBNF in the style of the W3C (`name ::= item+ | [a-z] - 'x'`) or of ISO 14977 (`name = item, {item} | [item];`).

The first rule's sign, `::=` or `=`, says which of the two a text is written in; both in one text are refused. Texts in
quotes have no escapes. What `-` takes away must be regular, as must that from which it is taken. The first rule is the
start. W3C rules may be numbered (`[1] name ::= …`); ISO's other signs are `/` and `!` for `|`, `(/ /)` and `(: :)` for
`[ ]` and `{ }`, and its comments may stand inside each other.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from tokenizer_align import utf8
from tokenizer_align.expressions import lit

from .grammar_model import Choice, Grammar, Leaf, Named, Part, Repeated, RuleDef, Sequence, Without
from .grammar_source import Failure, Reader, Source, code_point

_W3C_NAME = re.compile(r"[^\W\d][\w.]*(?:-(?=\w)[\w.]+)*")
_W3C_RULE = re.compile(r"[^\W\d][\w.-]*\s*::=")
_W3C_NUMBER = re.compile(r"\[\d+\w?\][ \t]*(?=[^\W\d][\w.-]*\s*::=)")
_W3C_RULE_LINE = re.compile(r"(?m)^[ \t]*(?:\[\d+\w?\][ \t]*)?[^\W\d][\w.-]*\s*::=")
_ISO_NAME = re.compile(r"[^\W\d]\w*(?:[ \t]+\w+)*")
_ISO_RULE_LINE = re.compile(r"(?m)^[ \t]*[^\W\d][\w \t]*=")
_COMMENT_SIGN = re.compile(r"\(\*|\*\)")
_INNER_COMMENT = re.compile(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", re.S)
_CODE = re.compile(r"#x([0-9A-Fa-f]+)")
_NUMBER = re.compile(r"[0-9]+")
_ISO_SIGN = re.compile(r"(?:[^'\":=]|'[^']*'|\"[^\"]*\")*?(::=|=)")


def parse_ebnf(source: Source, start: str | None = None) -> Grammar:
    """The grammar in an EBNF text. Its problems come with it."""
    text = re.sub(r"/\*.*?\*/", "", source.text, flags=re.S)
    while (shorter := _INNER_COMMENT.sub("", text)) != text:
        text = shorter
    sign = _ISO_SIGN.match(text)
    reader: _Reader = _IsoReader(source) if sign is not None and sign.group(1) == "=" else _W3cReader(source)
    reader.read_rules()
    start = start or next(iter(reader.rules), "start")
    return Grammar(source, reader.rules, start, (), tuple(reader.problems), frozenset(reader.broken))


class _Reader(Reader, ABC):
    """What both styles share."""

    name: re.Pattern[str]
    sign: str

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
        self._number()
        begin = self.at
        name = self._name()
        if name is None:
            self.fail(f"the name of a rule was expected, not {self.shown()}")
        self.expect(self.sign, f"after the name {name!r}")
        body = self._choice()
        self._end_rule()
        self.define(RuleDef(name, body, begin), begin)

    def _number(self) -> None:
        """Pass over the number of a rule."""

    def _bar(self) -> bool:
        """Read what stands between alternatives, if it is there."""
        return self.take("|")

    @abstractmethod
    def _end_rule(self) -> None:
        """Read what ends a rule, or fail."""

    @abstractmethod
    def _sequence(self) -> Part:
        """Read one alternative."""

    def _name(self) -> str | None:
        found = self.match(self.name)
        self.skip()
        return None if found is None else " ".join(found.group().split())

    def _choice(self) -> Part:
        parts = [self._sequence()]
        while self._bar():
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _bracket(self, begin: int, close: str) -> Part:
        """The inside of a bracket whose opening sign was read."""
        self.deeper()
        inner = self._choice()
        self.shallower()
        if not self.take(close):
            self.fail("this bracket is never closed", offset=begin)
        return inner

    def _quoted(self, begin: int) -> Part:
        quote = self.text[begin]
        end = self.text.find(quote, begin + 1)
        if end < 0 or "\n" in self.text[begin:end]:
            self.fail("this text is never closed", offset=begin)
        self.at = end + 1
        self.skip()
        return Leaf(lit(self.text[begin + 1 : end].encode()), begin)


class _W3cReader(_Reader):
    blanks = re.compile(r"(?:\s|/\*.*?\*/)*", re.S)
    name, rule_line, sign = _W3C_NAME, _W3C_RULE_LINE, "::="
    definition = re.compile(r"([^\W\d][\w.-]*)\s*::=")

    is_numbered = False  # [1] stands before the first rule, and so may before the others

    def _number(self) -> None:
        found = self.match(_W3C_NUMBER) if self.is_numbered or not self.rules else None
        self.is_numbered = self.is_numbered or found is not None

    def _is_at_rule(self) -> bool:
        if self.is_numbered and _W3C_NUMBER.match(self.text, self.at):
            return not self.text[self.text.rfind("\n", 0, self.at) + 1 : self.at].strip()
        return _W3C_RULE.match(self.text, self.at) is not None

    def _end_rule(self) -> None:
        self.take(";")
        if not self.is_at_end and not self._is_at_rule():
            self.fail(f"{self.shown()} cannot stand here", "A name, a text, a class or a bracket was expected.")

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while not self.is_at_end and self.text[self.at] not in "|);" and not self._is_at_rule():
            part, begin = self._item(), self.at
            if self.take("-"):
                part = Without(part, self._item(), begin)
            parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _item(self) -> Part:
        part = self._primary()
        while self.text[self.at : self.at + 1] in ("?", "*", "+"):
            sign = self.text[self.at]
            self.take(sign)
            part = Repeated(part, int(sign == "+"), 1 if sign == "?" else None)
        return part

    def _primary(self) -> Part:
        begin = self.at
        if self.sees("'") or self.sees('"'):
            return self._quoted(begin)
        if self.sees("["):
            return self._class(begin)
        if self.take("("):
            return self._bracket(begin, ")")
        if self.sees("#x"):
            value = self._class_character(begin)
            self.skip()
            return Leaf(utf8.code_points([(value, value)]), begin)
        name = self._name()
        if name is None:
            self.fail(f"{self.shown()} cannot stand here", "A name, a text, a class or a bracket was expected.")
        return Named(name, begin)

    def _class(self, begin: int) -> Part:
        self.at += 1
        is_negated = self.sees("^")
        self.at += is_negated
        ranges: list[tuple[int, int]] = []
        while not self.sees("]") or not ranges:
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
        return Leaf(utf8.code_points(utf8.complement(ranges) if is_negated else ranges), begin)

    def _class_character(self, begin: int) -> int:
        if self.is_at_end or self.sees("\n"):
            self.fail("this class is never closed", offset=begin)
        at = self.at
        code = self.match(_CODE)
        if code is not None:
            return code_point(self.source, code.group(1), at)
        self.at += 1
        return ord(self.text[at])


class _IsoReader(_Reader):
    name, rule_line, sign = _ISO_NAME, _ISO_RULE_LINE, "="
    definition = re.compile(r"([^\W\d]\w*(?:[ \t]+\w+)*)[ \t]*=")

    def skip(self) -> None:
        """Pass over blanks and comments, which may stand inside each other."""
        super().skip()
        while self.sees("(*"):
            depth = 0
            for sign in _COMMENT_SIGN.finditer(self.text, self.at):
                depth += 1 if sign.group() == "(*" else -1
                if depth == 0:
                    self.at = sign.end()
                    break
            else:
                return
            super().skip()

    def _bar(self) -> bool:
        return self.take("|") or self.take("!") or (not self.sees("/)") and self.take("/"))

    def _end_rule(self) -> None:
        if not self.take(";") and not self.take("."):
            self.fail(f"';' was expected at the end of a rule, not {self.shown()}")

    def _sequence(self) -> Part:
        parts = [self._term()]
        while self.take(","):
            parts.append(self._term())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _term(self) -> Part:
        part, begin = self._factor(), self.at
        return Without(part, self._factor(), begin) if self.take("-") else part

    def _factor(self) -> Part:
        count = self.match(_NUMBER)
        if count is None:
            return self._primary()
        self.skip()
        self.expect("*", "after the number of a repetition")
        if len(count.group()) > 9:
            self.fail("a repetition of so many times is not possible", offset=count.start())
        return Repeated(self._primary(), int(count.group()), int(count.group()))

    def _primary(self) -> Part:
        begin = self.at
        if self.sees("'") or self.sees('"'):
            return self._quoted(begin)
        for opening, closing, most in (("(/", "/)", 1), ("[", "]", 1), ("(:", ":)", None), ("{", "}", None)):
            if self.take(opening):
                return Repeated(self._bracket(begin, closing), 0, most)
        if self.take("("):
            return self._bracket(begin, ")")
        if self.sees("?"):
            self.fail("a special sequence '? … ?' is not supported", "Write what it stands for.")
        name = self._name()
        if name is not None:
            return Named(name, begin)
        if self.is_at_end or self.text[self.at] in "|/!,;.)]}-" or self.sees(":)"):
            return Sequence(())
        if self.sees("::="):
            self.fail("'::=' in a grammar whose first rule has '=': one style is the most")
        self.fail(f"{self.shown()} cannot stand here", "A name, a text or a bracket was expected.")
