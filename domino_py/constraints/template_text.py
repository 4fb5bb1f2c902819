"""The text of a template, read: fixed text and `{holes}`, `{{` and `}}` for braces. All problems at once, with places.

It looks like Python's format strings and is stricter: holes have names, and nothing but a name stands in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .grammar_source import GrammarProblem, Source

_PIECE = re.compile(r"\{\{|\}\}|\{[^{}\n]*\}|[{}]|[^{}]+")
_TWICE = "Texts that must be equal are no regular language; give the holes two names."


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole's name, and where its brace stands in the template's text (in characters, from 0)."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class TemplateText:
    """A template's text: `pieces` of fixed text and holes in order, no two fixed texts side by side."""

    source: Source
    pieces: tuple[str | Hole, ...]
    problems: tuple[GrammarProblem, ...]

    @property
    def holes(self) -> tuple[Hole, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Hole))


def read_template(text: str) -> TemplateText:
    """Read a template's text.

    >>> read_template("{{{name}}}: {age}").pieces
    ('{', Hole(name='name', offset=2), '}: ', Hole(name='age', offset=12))
    """
    source = Source(text, "template")
    pieces: list[str | Hole] = []
    problems: list[GrammarProblem] = []
    seen: dict[str, int] = {}
    for match in _PIECE.finditer(text):
        piece, offset = match.group(), match.start()
        if piece in ("{{", "}}"):
            _add_text(pieces, piece[0])
        elif piece in ("{", "}"):
            problems.append(_lone_brace(source, piece, offset))
        elif piece[0] != "{":
            _add_text(pieces, piece)
            problems += _half_pairs(source, piece, offset)
        elif not piece[1:-1].isidentifier():
            problems.append(_no_name(source, piece[1:-1], offset))
        elif piece[1:-1] in seen:
            line, column = source.place(seen[piece[1:-1]])
            message = f"the hole {piece} stands twice, first at line {line}, column {column}"
            problems.append(source.problem(offset, message, _TWICE))
        else:
            seen[piece[1:-1]] = offset
            pieces.append(Hole(piece[1:-1], offset))
    return TemplateText(source, tuple(pieces), tuple(problems))


def _add_text(pieces: list[str | Hole], text: str) -> None:
    last = pieces[-1] if pieces else None
    if isinstance(last, str):
        pieces[-1] = last + text
    else:
        pieces.append(text)


def _lone_brace(source: Source, brace: str, offset: int) -> GrammarProblem:
    if brace == "}":
        return source.problem(offset, "a } closes nothing", "Write }} for the character itself.")
    return source.problem(offset, "a { opens a hole that does not end", "Write {{ for the character itself.")


def _no_name(source: Source, inside: str, offset: int) -> GrammarProblem:
    """What stands between braces and is no name: say which of format's features was meant."""
    name = re.match(r"\w*", inside)
    stem = name.group() if name is not None and name.group().isidentifier() else ""
    if not inside or inside.isdecimal():
        return source.problem(
            offset, f"the hole {{{inside}}} has no name", "Name it, as in {age}, and pass age=. {{}} is the text {}."
        )
    if stem and inside[len(stem)] in ":!":
        what = f"{inside[len(stem) :]!r} is a way to format values, and a template writes none"
        return source.problem(offset, what, f"Write {{{stem}}}, and say in its constraint what it may look like.")
    if stem and inside[len(stem)] in ".[":
        return source.problem(
            offset, f"{{{inside}}} asks for a part of a value", f"Write {{{stem}}}; a hole may hold a template."
        )
    hint = (
        f"Write {{{inside.strip()}}}." if inside.strip().isidentifier() else "Write {{ and }} for braces in the text."
    )
    return source.problem(offset, f"{inside!r} is not the name of a hole", hint)


def _half_pairs(source: Source, text: str, offset: int) -> list[GrammarProblem]:
    return [
        source.problem(offset + at, f"{char!r} is half of a surrogate pair, which no UTF-8 text holds")
        for at, char in enumerate(text)
        if "\ud800" <= char <= "\udfff"
    ]
