"""What `check` says of combined constraints: what their parts have to say, and texts that can be read in two ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tokenizer_align.errors import Problem
from tokenizer_align.expressions import Expr
from tokenizer_align.readings import beginning, two_readings, without_calls

from .base import Constraint
from .template import parts_of, text_of
from .template_text import Hole

KINDS = ("sequence", "alternatives", "repeat", "template", "select", "regions", "think", "tools")
_QUOTED = 'For text without quotes, write regex(".+") or choice([...]).'


def within(place: str, problems: Iterable[Problem]) -> list[Problem]:
    """The problems of a part, their places behind the part's own: `{address}/properties/city`."""
    return [
        replace(one, pointer=f"{place}{'' if one.pointer[:1] in ('', '/', '{', '<') else ', '}{one.pointer}")
        for one in problems
    ]


def check_combined(constraint: Constraint) -> list[Problem]:
    """Everything there is to say about a combined constraint and its parts."""
    from .check import check

    constraint.validate()
    found: list[Problem] = []
    for place, part in named_parts(constraint):
        found += within(place, check(part))
    found += _ambiguities(constraint) if constraint.kind == "template" else []
    found += _quotes(constraint) if constraint.kind == "template" else []
    found += _hidden(constraint) if constraint.kind == "select" else []
    return found


def named_parts(constraint: Constraint) -> Iterator[tuple[str, Constraint]]:
    """The parts of a combined constraint, each with its place in messages; "" where it has none of its own."""
    if constraint.kind == "template":
        yield from ((f"{{{name}}}", part) for name, part in constraint.source[1])
    elif constraint.kind == "select":
        yield from ((f"<{name}>", part) for name, part in constraint.source)
    elif constraint.kind == "regions":
        yield from ((f"<{trigger}>", part) for trigger, part in constraint.source)
    elif constraint.kind == "tools":
        yield from ((f"<{tool.name}>", tool.arguments) for tool in constraint.source)
    elif constraint.kind == "think":
        yield "", constraint.source[0]
    elif constraint.kind == "repeat":
        yield "", constraint.source[0]
        separator = constraint.option("separator")
        if separator is not None:
            yield "<separator>", separator
    else:
        yield from (("", part) for part in constraint.source)


def _ambiguities(constraint: Constraint) -> Iterator[Problem]:
    """A warning for each hole whose end is not clear, with a text that shows it."""
    read, parts = text_of(constraint), parts_of(constraint)
    for at, piece in enumerate(read.pieces):
        if not isinstance(piece, Hole):
            continue
        plain = without_calls(parts[at][1])
        found = None if plain is None else two_readings(plain, beginning([expr for _, expr in parts[at + 1 :]]))
        if found is None:
            continue
        text, shorter, longer = (
            data.decode("utf-8", "replace")
            for data in (found.text, found.text[: found.early], found.text[: found.late])
        )
        following = read.pieces[at + 1]
        what = f"{{{piece.name}}}, and what follows it,"
        if isinstance(following, Hole):
            what = f"{{{piece.name}}} and {{{following.name}}} stand side by side and"
        yield read.source.problem(
            piece.offset,
            f"{what} can be read in two ways: in {text!r}, {{{piece.name}}} may be {shorter!r} or {longer!r}",
            "It takes as much as it can while the rest can still be read. Let it exclude what follows it.",
            "warning",
        )


def _quotes(constraint: Constraint) -> Iterator[Problem]:
    """A note for each hole of a type or schema whose texts are JSON strings: quotes are easily forgotten."""
    read, holes = text_of(constraint), dict(constraint.source[1])
    for hole in read.holes:
        part = holes[hole.name]
        if part.kind in ("type", "json_schema") and _begins_with(part.expression) == 1 << 0x22:
            yield read.source.problem(hole.offset, f"{{{hole.name}}} is written as JSON, in quotes", _QUOTED, "note")


def _begins_with(expr: Expr) -> int:
    """The bytes that texts may begin with, as a 256-bit mask."""
    from tokenizer_align.moves import moves

    found = 0
    for mask, _ in moves(expr):
        found |= mask
    return found


def _hidden(constraint: Constraint) -> Iterator[Problem]:
    """A warning for each bare text that an alternative before it can read: it is never chosen."""
    for at, (name, part) in enumerate(constraint.source):
        if part.kind == "choice" and len(part.source) == 1:
            for other, earlier in constraint.source[:at]:
                if earlier.matches(part.source[0]):
                    message = f"{part.source[0]!r} is read as the alternative {other!r}, which stands before it"
                    yield Problem(f"<{name}>", None, message, "warning", "Put it first.")
                    break
