"""`Constraint`: an immutable value that says which texts are legal.

It holds its source and options, so it can be hashed, compared and pickled; the expression is made when first needed.
Front ends give each kind a builder: a module-level function from (source, options) to an expression.
"""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from tokenizer_align.errors import ConstraintError, EmptyLanguage, InvalidOption, Problem
from tokenizer_align.expressions import Expr, alt, frame, seq

_BUILDERS: dict[str, str] = {
    # kind -> "module:function"; the function takes the constraint, returns (expression, problems ignored or narrowed)
    "regex": "domino_py.constraints.regex:build",
    "choice": "domino_py.constraints.choice:build",
    "json": "domino_py.constraints.json:build",
    "json_schema": "domino_py.constraints.schema:build",
    "type": "domino_py.constraints.types:build",
    "grammar": "domino_py.constraints.grammar:build",
    "template": "domino_py.constraints.template:build",
    "select": "domino_py.constraints.select:build",
    "token": "domino_py.constraints.tokens:build",
    "regions": "domino_py.constraints.regions:build",
    "think": "domino_py.constraints.think:build",
    "tools": "domino_py.constraints.tools:build",
    "sequence": "domino_py.constraints.base:_build_combined",
    "alternatives": "domino_py.constraints.base:_build_combined",
    "repeat": "domino_py.constraints.combine:build",
}
_PARSERS: dict[str, str] = {
    # kind -> "module:function"; the function takes the constraint and a legal text
    "type": "domino_py.constraints.types:parse",
    "template": "domino_py.constraints.values:parse",
    "select": "domino_py.constraints.values:parse",
    "sequence": "domino_py.constraints.values:parse",
    "alternatives": "domino_py.constraints.values:parse",
    "repeat": "domino_py.constraints.values:parse",
    "regions": "domino_py.constraints.regions:parse",
    "think": "domino_py.constraints.think:parse",
    "tools": "domino_py.constraints.tools:parse",
}
_MARKED = frozenset({"token", "regions", "think", "tools"})  # kinds that may name control tokens
_COSTLY = frozenset({"json_schema", "type", "grammar"})  # kinds whose expressions are kept for an equal one

Built = tuple[Expr, tuple[Problem, ...]]


class BuiltExpressions:
    """What the `capacity` costly constraints used last were built into: an equal one made anew takes the same
    expression, and with it every state and mask that was made for it."""

    def __init__(self, capacity: int = 64) -> None:
        self.capacity = capacity
        self._entries: OrderedDict[Constraint, Built] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, constraint: Constraint) -> Built | None:
        with self._lock:
            found = self._entries.get(constraint)
            if found is not None:
                self._entries.move_to_end(constraint)
            return found

    def keep(self, constraint: Constraint, built: Built) -> Built:
        """Keep it; returns what is kept: where two threads built the same, the first one's."""
        bare = Constraint(constraint.kind, constraint.source, constraint.options)  # `extra` may hold much
        with self._lock:
            built = self._entries.setdefault(bare, built)
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)
        return built

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


built_expressions = BuiltExpressions()


@dataclass(frozen=True)
class Constraint:
    """Which texts are legal. Made by the front ends (`regex`, `choice`, `json_schema`, ...), never by hand.

    `kind`: the front end; `source`: its hashable input (a pattern, canonical JSON text, a tuple of parts ...);
    `options`: (name, value) pairs, sorted; `extra`: what does not take part in equality (such as a type to parse to).
    """

    kind: str
    source: Any
    options: tuple[tuple[str, Any], ...] = ()
    extra: Any = field(default=None, compare=False, repr=False)
    _memo: dict[str, Any] = field(default_factory=dict, compare=False, hash=False, repr=False)

    @property
    def expression(self) -> Expr:
        """The byte expression. Raises ConstraintError subclasses for what cannot be enforced or is empty."""
        if "expression" not in self._memo:
            built = built_expressions.get(self) if self.kind in _COSTLY else None
            if built is None:
                module, function = _BUILDERS[self.kind].split(":")
                expr, problems = getattr(importlib.import_module(module), function)(self)
                built = expr, tuple(problems)
                if self.kind in _COSTLY:
                    built = built_expressions.keep(self, built)
            self._memo["expression"], self._memo["problems"] = built
            self._memo.pop("document", None)
        expr = self._memo["expression"]
        assert isinstance(expr, Expr)
        return expr

    @property
    def ignored(self) -> tuple[Problem, ...]:
        """What `on_unsupported="ignore"` left out: there, more is legal than was asked for."""
        return tuple(problem for problem in self._problems if problem.severity == "error")

    @property
    def narrowed(self) -> tuple[Problem, ...]:
        """Where less is legal than was asked for: orders of keys that cannot be offered."""
        return tuple(problem for problem in self._problems if problem.severity != "error")

    @property
    def _problems(self) -> tuple[Problem, ...]:
        _ = self.expression
        found: tuple[Problem, ...] = self._memo["problems"]
        return found

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)

    def validate(self) -> None:
        """Build the expression and make sure that some text satisfies it. Raises ConstraintError subclasses."""
        from tokenizer_align.productive import is_productive

        if not is_productive(self.expression):
            raise EmptyLanguage(f"no text satisfies this constraint: {self}")

    def matches(self, text: str | bytes) -> bool:
        """Whether the whole text is legal. Needs no model."""
        from tokenizer_align.recognizer import matches

        if not isinstance(text, str | bytes):
            raise InvalidOption("text", f"text must be a str or bytes, not {type(text).__name__}.")
        return matches(self.expression, text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)

    def parse(self, text: str) -> Any:
        """The value that a legal text stands for: objects for JSON and types, values of the parts for what is combined
        (`a + b`: a tuple, `a | b`: that of the first that can read it, `repeat`: a list, `template`: a dict by hole,
        `select`: which and its value), else the text. Raises ConstraintError for a text that is not legal, or that a
        type's own checks refuse."""
        value = self.read(text)
        if not self.matches(text):
            from .illegal import illegal_text

            raise illegal_text(self, text)
        return value

    def read(self, text: str) -> Any:
        """What `parse` gives, without a look at whether the text is legal: JSON may be laid out in another way."""
        if self.kind in ("json", "json_schema"):
            from domino_py.json_reading import plain_json

            try:
                return plain_json(text)
            except ValueError as error:  # json.JSONDecodeError
                raise ConstraintError(f"the text is not JSON: {error}") from error
        if self.kind in _PARSERS:
            home, function = _PARSERS[self.kind].split(":")
            return getattr(importlib.import_module(home), function)(self, text)
        return text

    @property
    def holds_markers(self) -> bool:
        """Whether control tokens of the vocabulary may be legal somewhere in it."""
        if "holds_markers" not in self._memo:
            parts = _constraints_in((self.source, self.options))
            self._memo["holds_markers"] = self.kind in _MARKED or any(part.holds_markers for part in parts)
        return bool(self._memo["holds_markers"])

    def __add__(self, other: Constraint) -> Constraint:
        if not isinstance(other, Constraint):
            raise _no_part("+", other)
        return Constraint("sequence", (*_parts("sequence", self), *_parts("sequence", other)))

    def __radd__(self, other: Any) -> Constraint:
        raise _no_part("+", other)

    def __or__(self, other: Constraint) -> Constraint:
        if not isinstance(other, Constraint):
            raise _no_part("|", other)
        return Constraint("alternatives", (*_parts("alternatives", self), *_parts("alternatives", other)))

    def __ror__(self, other: Any) -> Constraint:
        raise _no_part("|", other)

    def __str__(self) -> str:
        text = repr(self.source)
        return f"{self.kind}({text if len(text) < 120 else text[:117] + '...'})"

    def __getstate__(self) -> dict[str, Any]:
        return {"kind": self.kind, "source": self.source, "options": self.options, "extra": self.extra}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_memo", {})


def _constraints_in(value: Any) -> list[Constraint]:
    """The constraints that a source is made of."""
    if isinstance(value, Constraint):
        return [value]
    if isinstance(value, tuple | list | frozenset | set):
        return [found for part in value for found in _constraints_in(part)]
    if isinstance(value, dict):
        return _constraints_in(tuple(value.values()))
    return []


def _no_part(sign: str, other: Any) -> InvalidOption:
    """What stands beside a constraint is none."""
    hint = f"choice([{other!r:.60}])" if isinstance(other, str) else "of_type or json_schema"
    return InvalidOption(sign, f"a constraint {sign} a {type(other).__name__} is none: wrap it in {hint}.")


def _parts(kind: str, constraint: Constraint) -> tuple[Constraint, ...]:
    return tuple(constraint.source) if constraint.kind == kind else (constraint,)


def _build_combined(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    join = seq if constraint.kind == "sequence" else alt
    problems = tuple(problem for part in constraint.source for problem in part._problems)
    return join(*(frame(part.expression) for part in constraint.source)), problems
