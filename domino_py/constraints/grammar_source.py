"""The text of a grammar with its places, and a reader that the notations' parsers share.

A problem knows its line and column (from 1, in characters) and shows the line with a caret. A parser that fails inside
a rule notes the problem and goes on with the next rule, so that all are said at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from tokenizer_align.errors import ConstraintError, GrammarError, Problem

if TYPE_CHECKING:
    from .grammar_model import RuleDef

MAX_DEPTH = 200  # brackets inside each other
_MAX_SHOWN = 100  # characters of a source line
MAX_PROBLEMS = 50
Severity: TypeAlias = Literal["error", "warning", "note"]
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class GrammarProblem(Problem):
    """A problem of a grammar's text; `line` and `column` count from 1."""

    line: int = 1
    column: int = 1


class Source:
    """A grammar's text. `notation` names it in messages."""

    def __init__(self, text: str, notation: str) -> None:
        self.text, self.notation = text, notation
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def _ends(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def problem(
        self,
        offset: int,
        message: str,
        hint: str | None = None,
        severity: Severity = "error",
    ) -> GrammarProblem:
        """A problem at an offset, with its source line and a caret."""
        line, column = self.place(offset)
        start = self._starts[line - 1]
        shown = self.text[start : self._ends(line)].rstrip("\r\n").replace("\t", " ")
        shown = _HALF.sub("\ufffd", shown)  # half of a surrogate pair cannot be printed
        cut = max(0, column - 1 - _MAX_SHOWN // 2) if len(shown) > _MAX_SHOWN else 0
        caret = " " * (column - 1 - cut) + "^"
        message = f"{message}\n{shown[cut : cut + _MAX_SHOWN]}\n{caret}"
        return GrammarProblem(f"line {line}, column {column}", None, message, severity, hint, line, column)


class Failure(Exception):
    """A rule cannot be read on; the problem says why."""

    def __init__(self, problem: GrammarProblem) -> None:
        self.problem = problem
        super().__init__(str(problem))


class Reader:
    """A place in a text that moves on. `blanks` matches what separates tokens: white space and comments."""

    blanks = re.compile(r"\s*")
    rule_line = re.compile(r"(?m)^\b\B")  # the beginning of a rule at the beginning of a line
    definition = re.compile(r"\b\B()")  # a name and the sign behind it, wherever it stands

    def __init__(self, source: Source) -> None:
        self.source, self.text, self.at = source, source.text, 0
        self.problems: list[GrammarProblem] = []
        self.broken: set[str] = set()  # names of rules that could not be read
        self.rules: dict[str, RuleDef] = {}
        self._depth = 0

    def define(self, rule: RuleDef, begin: int) -> None:
        """Enter a rule; one that stands twice is noted at `begin`, and the later one counts."""
        if rule.name in self.rules:
            line, _ = self.source.place(self.rules[rule.name].offset)
            self.note(f"the rule {rule.name!r} is defined twice, first in line {line}", begin)
        self.rules[rule.name] = rule

    def skip(self) -> None:
        """Pass over blanks and comments."""
        match = self.blanks.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def fail(self, message: str, hint: str | None = None, offset: int | None = None) -> NoReturn:
        raise Failure(self.source.problem(self.at if offset is None else offset, message, hint))

    def note(self, message: str, offset: int, hint: str | None = None, severity: Severity = "error") -> None:
        """A problem that does not keep the rule from being read."""
        self.problems.append(self.source.problem(offset, message, hint, severity))

    @property
    def is_at_end(self) -> bool:
        return self.at >= len(self.text)

    def sees(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Read exactly this, and the blanks behind it, if it is there."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        self.skip()
        return True

    def expect(self, text: str, where: str) -> None:
        if not self.take(text):
            self.fail(f"{text!r} was expected {where}, not {self.shown()}", self._other_notation(text))

    def _other_notation(self, sign: str) -> str | None:
        """Whose sign stands where this one defines a rule."""
        if sign in ("::=", "=") and self.sees(":"):
            other = "GBNF has '::=': syntax='gbnf'." if self.sees("::=") else "Lark has ':': syntax='lark'."
        elif sign in ("::=", ":") and self.sees("="):
            other = "EBNF has '=': syntax='ebnf'."
        else:
            return None
        return f"{other} The notation is the one that `syntax` names."

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what the pattern matches here (blanks behind it stay)."""
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def shown(self) -> str:
        """What stands here, for messages."""
        if self.is_at_end:
            return "the end of the grammar"
        word = re.compile(r"[\w-]+|.", re.S).match(self.text, self.at)
        return repr(word.group() if word else "")

    def deeper(self) -> None:
        """One more bracket inside the others."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail(f"brackets are nested more than {MAX_DEPTH} deep")

    def shallower(self) -> None:
        self._depth -= 1

    def recover(self, failure: Failure, begin: int) -> None:
        """Note the problem of the rule that begins there, and go on with the next line that begins a rule."""
        self.problems.append(failure.problem)
        self._depth = 0
        line = self.text.rfind("\n", 0, self.at) + 1
        found = self.rule_line.search(self.text, max(line, begin + 1))
        self.at = found.start() if found else len(self.text)
        self.broken.update(name.group(1) for name in self.definition.finditer(self.text, begin, self.at))


def refuse_surrogates(source: Source) -> None:
    """Raise GrammarError where the text holds halves of surrogate pairs themselves, not as escapes."""
    halves = _HALF.finditer(source.text)
    problems: list[Problem] = [
        source.problem(half.start(), f"{half.group()!r} is half of a surrogate pair, which no UTF-8 text holds")
        for half in islice(halves, MAX_PROBLEMS)
    ]
    if problems:
        raise GrammarError(source.notation, problems)


def reasons(error: ConstraintError) -> list[str]:
    """Why a part, such as a schema, cannot be used: one line for each problem."""
    problems: tuple[Problem, ...] = getattr(error, "problems", ())
    return [" ".join(str(one).split()) for one in problems or (error,)]


def code_point(source: Source, digits: str, offset: int) -> int:
    """The code point of an escape. Raises Failure for one that does not exist, or half of a surrogate pair."""
    value = int(digits, 16)
    if value > 0x10FFFF:
        raise Failure(source.problem(offset, f"there is no code point {digits}"))
    if 0xD800 <= value <= 0xDFFF:
        message = f"{digits} is half of a surrogate pair, which no UTF-8 text holds"
        raise Failure(source.problem(offset, message, "Write the character itself, or its whole code point."))
    return value
