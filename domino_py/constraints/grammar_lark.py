"""Lark's notation: rules and terminals, templates, `%import common.…`, `%ignore`, and `%json {…}` for JSON Schema.

What is about trees (`?rule`, `!rule`, `-> alias`, names that begin with `_`) and priorities says nothing about which
texts are legal and is passed over. Lexing is scannerless: every way to cut a text into terminals counts. `%declare` and
imports from anywhere but `common` are refused where they stand.
"""

from __future__ import annotations

import difflib
import json
import re

from tokenizer_align import utf8
from tokenizer_align.errors import ConstraintError

from .grammar_lark_regex import LONG_REGEXP, REGEXP, regex_leaf
from .grammar_lark_terms import COMMON, STRING, common_terminal, string_leaf, text_of
from .grammar_model import UNREAD, Choice, Grammar, Leaf, Named, Part, Repeated, RuleDef, Sequence
from .grammar_source import Failure, Reader, Source, reasons
from .grammar_templates import expand_templates

_RULE = re.compile(r"(?:[?!]{0,2}_?[a-z][_a-z0-9]*|_?[A-Z][_A-Z0-9]*)(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:")
_STATEMENT = re.compile(rf"(?m)^[ \t]*(?:%(?!json)|{_RULE.pattern})")
_HEAD = re.compile(r"[?!]{0,2}(_?[a-z][_a-z0-9]*|_?[A-Z][_A-Z0-9]*)")
_NAME = re.compile(r"_?[a-z][_a-z0-9]*|_?[A-Z][_A-Z0-9]*")
_WORD = re.compile(r"\w+")
_PRIORITY = re.compile(r"\.-?\d+")
_NUMBER = re.compile(r"-?\d+")
_OPERATOR = re.compile(r"[+*]|\?(?![a-z])")


def parse_lark(source: Source, start: str = "start") -> Grammar:
    """The grammar in a Lark text. Its problems come with it."""
    reader = _LarkReader(source)
    reader.read_statements()
    expand_templates(source, reader.rules, reader.problems, reader.broken)
    ignored, problems = tuple(reader.ignored), tuple(reader.problems)
    return Grammar(source, reader.rules, start, ignored, problems, frozenset(reader.broken))


class _LarkReader(Reader):
    blanks = re.compile(r"(?:\s|\\[ ]*\r?\n|//[^\n]*|#[^\n]*)*")
    rule_line = _STATEMENT
    definition = re.compile(rf"(?:(?<=\n)|^)[ \t]*{_HEAD.pattern}(?=[^:\n]*:)")

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.ignored: list[Part] = []

    def read_statements(self) -> None:
        self.skip()
        while not self.is_at_end:
            begin = self.at
            try:
                self._directive() if self.sees("%") else self._rule()
                if not self.is_at_end and not self._is_at_statement():
                    self.fail(f"{self.shown()} cannot stand here", "A name, a text, a regex or a bracket was expected.")
            except Failure as failure:
                self.recover(failure, begin)
                if self.text.startswith("%", begin):  # names that it would have brought in
                    self.broken.update(_WORD.findall(self.text, begin, self.at))
                self.skip()

    def _is_at_statement(self) -> bool:
        """Whether a rule or directive begins here, at the beginning of a line."""
        before = self.text[self.text.rfind("\n", 0, self.at) + 1 : self.at]
        return not before.strip() and _STATEMENT.match(self.text, self.at - len(before)) is not None

    # --- statements -----------------------------------------------------------------------------------------------

    def _rule(self) -> None:
        begin = self.at
        head = self.match(_HEAD)
        if head is None:
            self.fail(f"the name of a rule was expected, not {self.shown()}")
        name = head.group(1)
        self.skip()
        parameters: list[str] = []
        if self.take("{"):
            while True:
                parameter = self.match(_NAME)
                if parameter is None:
                    self.fail(f"the name of a parameter was expected, not {self.shown()}")
                parameters.append(parameter.group())
                self.skip()
                if not self.take(","):
                    break
            self.expect("}", "after the parameters of a template")
        self.match(_PRIORITY)
        self.skip()
        if self.sees("::="):
            self.fail("':' was expected, not '::='", "GBNF and EBNF have '::=': syntax='gbnf' or syntax='ebnf'.")
        if not self.is_at_end and self.text[self.at].isalpha() and self.at == begin + len(head.group()):
            self.fail("this name is in both cases", "Rules have lower-case names, terminals upper-case ones.", begin)
        self.expect(":", f"after the name {name!r}")
        body = self._choice()
        self.define(RuleDef(name, body, head.start(1), name.strip("_")[:1].isupper(), tuple(parameters)), begin)

    def _directive(self) -> None:
        begin = self.at
        self.at += 1
        word = self.match(_WORD)
        self.skip()
        name = word.group() if word else ""
        if name == "ignore":
            self.ignored.append(self._choice())
        elif name == "import":
            self._import(begin)
        elif name == "declare":
            self.fail("%declare is not supported: a terminal without a text cannot be written", offset=begin)
        else:
            self.fail(f"there is no directive %{name} here", "There are %ignore and %import common.…", begin)

    def _import(self, begin: int) -> None:
        path = [self._word()]
        while self.take("."):
            path.append(self._word())
        names = [path.pop()] if len(path) > 1 else []
        if path != ["common"]:
            place = ".".join([*path, *names])
            self.fail(f"only terminals of common can be imported, not {place}", "Put the rules into this text.", begin)
        if not names and self.take("("):
            names.append(self._word())
            while self.take(","):
                names.append(self._word())
            self.expect(")", "after the names of an import")
        alias = self._word() if self.take("->") else None
        for name in names:
            if name not in COMMON:
                near = difflib.get_close_matches(name, COMMON, n=1)
                hint = f"Did you mean {near[0]}? " if near else ""
                self.note(f"common has no {name}", begin, f"{hint}It has {', '.join(sorted(COMMON))}.")
                self.broken.add(alias or name)
                continue
            rule = RuleDef(alias or name, Leaf(common_terminal(name), begin), begin, True, is_imported=True)
            known = self.rules.get(rule.name)
            if known is None or not known.is_imported or known.body != rule.body:
                self.define(rule, begin)

    def _word(self) -> str:
        word = self.match(_WORD)
        self.skip()
        if word is None:
            self.fail(f"a name was expected, not {self.shown()}")
        return word.group()

    # --- bodies ---------------------------------------------------------------------------------------------------

    def _choice(self) -> Part:
        parts = [self._sequence()]
        while self.take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while not self.is_at_end and not self.sees("->") and self.text[self.at] not in "|)]},":
            if self._is_at_statement():
                break
            parts.append(self._item())
        if self.take("->"):
            self._word()
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _item(self) -> Part:
        part = self._atom()
        while (sign := self.match(_OPERATOR)) is not None:
            self.skip()
            part = Repeated(part, int(sign.group() == "+"), 1 if sign.group() == "?" else None)
        begin = self.at
        if self.take("~"):
            low = self._number()
            high = self._number() if self.take("..") else low
            if low < 0 or high < low:
                self.note(f"a repetition from {low} to {high} does not exist", begin)
                return part
            part = Repeated(part, low, high)
        return part

    def _number(self) -> int:
        digits = self.match(_NUMBER)
        self.skip()
        if digits is None:
            self.fail(f"a number was expected, not {self.shown()}")
        if len(digits.group()) > 9:
            self.fail("a repetition of so many times is not possible", offset=digits.start())
        return int(digits.group())

    def _atom(self) -> Part:
        begin = self.at
        for opening, closing in (("(", ")"), ("[", "]")):
            if self.take(opening):
                self.deeper()
                inner = self._choice()
                self.shallower()
                if not self.take(closing):
                    self.fail("this bracket is never closed", offset=begin)
                return inner if opening == "(" else Repeated(inner, 0, 1)
        if self.sees('"'):
            return self._string(begin)
        if self.sees("/"):
            found = self.match(REGEXP) or self.match(LONG_REGEXP)
            if found is None:
                self.fail("this regex is never closed", "It ends in its line, or, with the flag x, in a later one.")
            self.skip()
            return regex_leaf(self, found)
        if self.sees("%json"):
            return self._json(begin)
        name = self.match(_NAME)
        if name is None:
            hint = "There is nothing before it to repeat." if self.text[begin] in "+*?~" else None
            self.fail(f"{self.shown()} cannot stand here", hint or "A name, a text, a regex or a bracket was expected.")
        self.skip()
        return Named(name.group(), begin, self._arguments() if self.take("{") else ())

    def _arguments(self) -> tuple[Part, ...]:
        arguments = [self._choice()]
        while self.take(","):
            arguments.append(self._choice())
        self.expect("}", "after the arguments of a template")
        return tuple(arguments)

    def _string(self, begin: int) -> Part:
        found = self.match(STRING)
        if found is None:
            self.fail("this text is never closed")
        self.skip()
        if not self.sees("..") or self.text.startswith("...", self.at):
            return string_leaf(self.source, found)
        self.take("..")
        other_at = self.at
        other = self.match(STRING)
        if other is None:
            self.fail(f"the last character of a range was expected, not {self.shown()}", offset=other_at)
        self.skip()
        low, high = (text_of(self.source, end.group(1), end.start(1)) for end in (found, other))
        if len(low) != 1 or len(high) != 1 or high < low:
            self.fail("a range goes from one character to a later one", offset=begin)
        return Leaf(utf8.code_points([(ord(low), ord(high))]), begin)

    def _json(self, begin: int) -> Part:
        from .schema import json_schema

        self.at += len("%json")
        self.skip()
        try:
            schema, self.at = json.JSONDecoder().raw_decode(self.text, self.at)
        except ValueError as error:
            self.fail(f"%json needs a JSON Schema: {error}", offset=getattr(error, "pos", begin))
        self.skip()
        try:
            return Leaf(json_schema(schema).expression, begin)
        except ConstraintError as error:
            for reason in reasons(error):
                self.note(f"this schema cannot be used: {reason}", begin)
            return Leaf(UNREAD, begin)
