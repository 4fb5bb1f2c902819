"""A grammar as every notation gives it: named rules whose bodies are made of few kinds of parts.

The parsers (`grammar_gbnf`, `grammar_lark`, `grammar_ebnf`) make it, `grammar_findings` says what is wrong with it, and
`grammar_compile` turns it into an expression. A leaf is a regular language over bytes, as an expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tokenizer_align.expressions import Expr, lit

from .grammar_source import GrammarProblem, Source

UNREAD: Final = lit(b"?")  # stands for a terminal that could not be read; its grammar has a problem that says so


@dataclass(frozen=True, slots=True)
class Leaf:
    """Text of a regular language: one terminal."""

    expr: Expr
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Named:
    """The language of a rule; `arguments` for a template of rules (Lark), which is expanded before compiling."""

    name: str
    offset: int = field(default=0, compare=False)
    arguments: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """The parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """The part from `lo` to `hi` times (None: without bound)."""

    part: Part
    lo: int
    hi: int | None


@dataclass(frozen=True, slots=True)
class Without:
    """What belongs to `part` and not to `other`; both must be regular."""

    part: Part
    other: Part
    offset: int = field(default=0, compare=False)


Part: TypeAlias = Leaf | Named | Sequence | Choice | Repeated | Without


@dataclass(slots=True)
class RuleDef:
    """One rule. `is_terminal` (Lark): its inside is one piece of text, in which nothing is ignored.

    `parameters`: names of a template's parameters.
    """

    name: str
    body: Part
    offset: int
    is_terminal: bool = False
    parameters: tuple[str, ...] = ()
    is_imported: bool = False
    _named: tuple[Part, tuple[Named, ...]] | None = field(default=None, compare=False, repr=False)

    @property
    def references(self) -> tuple[Named, ...]:
        """All names of rules in the body, in the order of the text."""
        if self._named is None or self._named[0] is not self.body:
            self._named = self.body, tuple(references(self.body))
        return self._named[1]


@dataclass(slots=True)
class Grammar:
    """All rules of a text. `ignored`: parts that may stand between terminals (Lark's %ignore).

    `problems`: what was found while it was read; `broken`: names of rules that could not be read.
    """

    source: Source
    rules: dict[str, RuleDef]
    start: str
    ignored: tuple[Part, ...] = ()
    problems: tuple[GrammarProblem, ...] = ()
    broken: frozenset[str] = frozenset()


def children(part: Part) -> tuple[Part, ...]:
    """The parts inside a part."""
    if isinstance(part, Leaf):
        return ()
    if isinstance(part, Sequence | Choice):
        return part.parts
    if isinstance(part, Repeated):
        return (part.part,)
    if isinstance(part, Without):
        return (part.part, part.other)
    if isinstance(part, Named):
        return part.arguments
    return ()


def references(part: Part) -> Iterator[Named]:
    """All names of rules inside a part, in the order of the text."""
    work = [part]
    while work:
        here = work.pop()
        if isinstance(here, Named):
            yield here
        if inner := children(here):
            work += inner[::-1]
