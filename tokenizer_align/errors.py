"""Every error this library raises on purpose, under one root: `DominoError`.

An error carries fields (what was given, where, what was expected, what to do), and its text is made from them,
so that programs read the fields and people read the text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "BudgetTooSmall",
    "ConstraintError",
    "DeadEnd",
    "DominoError",
    "EmptyLanguage",
    "GrammarError",
    "IllegalToken",
    "InvalidOption",
    "MissingPackage",
    "Problem",
    "RegexError",
    "TemplateError",
    "TooComplex",
    "UnsupportedSchema",
    "VocabularyError",
]


_ALIKE = 0.65  # of two names, before one is taken for the other: "none" is not "unbounded" (0.62)


class DominoError(Exception):
    """Root of all errors of this library."""


class ConstraintError(DominoError, ValueError):
    """A constraint cannot be used as given."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding about a constraint: where it stands (JSON Pointer), which keyword, what is wrong, what to do."""

    pointer: str
    keyword: str | None
    message: str
    severity: Literal["error", "warning", "note"] = "error"
    hint: str | None = None

    def __str__(self) -> str:
        place = self.pointer or "(root)"
        first, *more = self.message.split("\n")  # a pattern's error shows the pattern and a caret below it
        text = f"{first.rstrip(' ,')}, at {place}" if more else f"{first} at {place}"
        shown = "".join(f"\n    {line}" for line in more).rstrip(" ,.")
        if not self.hint:
            return text + shown
        return f"{text}{shown}\n    {self.hint}" if shown else f"{text}. {self.hint}"


def _counted(problems: Sequence[Problem]) -> str:
    """How many errors there are; warnings beside them have a number of their own."""
    n_errors = sum(problem.severity == "error" for problem in problems)
    counts = [(n_errors, "problem"), (len(problems) - n_errors, "warning")]
    return " and ".join(f"{n} {word}{'s' if n != 1 else ''}" for n, word in counts if n or word == "problem")


def _listed(problems: Sequence[Problem]) -> str:
    return "\n".join(f"  - {'' if p.severity == 'error' else f'{p.severity}: '}{p}" for p in problems)


class UnsupportedSchema(ConstraintError):
    """A schema holds something that cannot be enforced in full, or is not a valid schema; all reasons at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) != 1 else "")
        super().__init__(count + ".\n" + "\n".join(f"  - {problem}" for problem in self.problems))


class RegexError(ConstraintError):
    """A pattern that is malformed or not regular. `position` counts code points from 0."""

    def __init__(self, pattern: str, position: int, message: str, hint: str | None = None) -> None:
        self.pattern, self.position, self.message, self.hint = pattern, position, message, hint
        start = max(0, position - 60)
        shown = pattern[start : position + 60].replace("\n", " ")
        lines = [f"{message} at position {position}", f"  {shown}", "  " + " " * (position - start) + "^"]
        if hint:
            lines.append(hint)
        super().__init__("\n".join(lines))


class GrammarError(ConstraintError):
    """A grammar that is malformed or cannot be enforced; all reasons at once, each with line, column and caret."""

    def __init__(self, notation: str, problems: Sequence[Problem]) -> None:
        self.notation, self.problems = notation, tuple(problems)
        super().__init__(f"{_counted(self.problems)} in this {notation} grammar.\n" + _listed(self.problems))


class TemplateError(ConstraintError):
    """A template that is malformed or whose holes are not all filled; all reasons at once, each with its place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{_counted(self.problems)} in this template.\n" + _listed(self.problems))


class EmptyLanguage(ConstraintError):
    """No text satisfies the constraint (or none that this vocabulary can write)."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message + "".join(f"\n  - {problem}" for problem in self.problems))


class TooComplex(ConstraintError):
    """A constraint whose automaton does not fit the stated budget; raised instead of approximating."""


class VocabularyError(DominoError, ValueError):
    """A tokenizer that cannot be used, or not without loss."""


class IllegalToken(DominoError, ValueError):
    """A token was given to a matcher that the constraint does not allow there."""

    def __init__(self, token_id: int, token: bytes | None, text: bytes) -> None:
        self.token_id, self.token, self.text = token_id, token, text
        shown = "no bytes" if token is None else repr(token)
        super().__init__(f"token {token_id} ({shown}) is not legal after {text[-80:]!r}")


class DeadEnd(DominoError, RuntimeError):
    """No token is legal in the present state; with the text so far. It is a bug of this library if it happens."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        super().__init__(f"no token is legal after {text[-200:]!r}")


class BudgetTooSmall(DominoError, ValueError):
    """`max_new_tokens` is below what the shortest legal text needs; raised before any model time is spent."""

    def __init__(self, max_new_tokens: int, shortest_tokens: int, shortest_text: str) -> None:
        self.max_new_tokens, self.shortest_tokens, self.shortest_text = max_new_tokens, shortest_tokens, shortest_text
        shown = shortest_text if len(shortest_text) <= 120 else shortest_text[:117] + "…"
        super().__init__(
            f"max_new_tokens={max_new_tokens}, but the shortest legal text needs {shortest_tokens} tokens: "
            f"{shown!r}. Raise max_new_tokens to at least {shortest_tokens}."
        )


class MissingPackage(DominoError, ImportError):
    """An optional package is needed for what was asked."""

    def __init__(self, package: str, purpose: str, install: str | None = None) -> None:
        self.package, self.purpose = package, purpose
        super().__init__(f"{purpose} needs the package {package!r}: pip install {install or package}")


class InvalidOption(DominoError, TypeError):
    """An option name or value that does not exist; names the nearest right one."""

    def __init__(self, name: str, message: str, known: Iterable[str] = ()) -> None:
        self.name = name
        near = difflib.get_close_matches(name, [one for one in known if one != name], n=1, cutoff=_ALIKE)
        self.nearest = near[0] if near else None
        super().__init__(message + (f" Did you mean {self.nearest!r}?" if self.nearest else ""))
