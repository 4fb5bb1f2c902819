"""What a text of a combined constraint stands for: the text is split among the parts, and each reads its own.

How a text is split where there are several ways is said in `tokenizer_align.splits`: from left to right, each part as
long as it can be. Of alternatives the first one counts that can read the text. All of it is about languages: how a
part is written down does not matter, and parts need nothing but an expression and `parse`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokenizer_align.errors import ConstraintError
from tokenizer_align.splits import split, split_repetition

from .base import Constraint
from .illegal import illegal_text
from .select import Selected
from .template import parts_of


def parse(constraint: Constraint, text: str) -> Any:
    """The value of a combined constraint's text. Raises ConstraintError for a text that is not legal."""
    readers: dict[str, Callable[[Constraint, str], Any]] = {
        "sequence": _sequence,
        "alternatives": _alternatives,
        "repeat": _repetition,
        "template": _template,
        "select": _select,
    }
    return readers[constraint.kind](constraint, text)


def _template(constraint: Constraint, text: str) -> dict[str, Any]:
    """{hole: value}, in the order of the holes."""
    parts = parts_of(constraint)
    data = _encoded(text)
    offsets = split([expr for _, expr in parts], data)
    if offsets is None:
        raise illegal_text(constraint, text)
    holes: dict[str, Constraint] = dict(constraint.source[1])
    return {
        name: _inside(f"the hole {{{name}}}", holes[name], _decoded(data[begin:end]))
        for (name, _), begin, end in zip(parts, offsets, offsets[1:], strict=False)
        if name is not None
    }


def _sequence(constraint: Constraint, text: str) -> tuple[Any, ...]:
    """A value for each part."""
    data = _encoded(text)
    offsets = split([part.expression for part in constraint.source], data)
    if offsets is None:
        raise illegal_text(constraint, text)
    return tuple(
        part.parse(_decoded(data[begin:end]))
        for part, begin, end in zip(constraint.source, offsets, offsets[1:], strict=False)
    )


def _repetition(constraint: Constraint, text: str) -> list[Any]:
    """A value for each item; separators have none."""
    item, lo, hi = constraint.source
    data = _encoded(text)
    separator = constraint.option("separator")
    spans = split_repetition(item.expression, lo, hi, data, None if separator is None else separator.expression)
    if spans is None:
        raise illegal_text(constraint, text)
    return [_inside(f"item {at}", item, _decoded(data[begin:end])) for at, (begin, end) in enumerate(spans)]


def _alternatives(constraint: Constraint, text: str) -> Any:
    """The value of the first part that can read the text."""
    for part in constraint.source:
        if part.matches(text):
            return part.parse(text)
    raise illegal_text(constraint, text)


def _select(constraint: Constraint, text: str) -> Selected:
    for name, part in constraint.source:
        if part.matches(text):
            return Selected(name, _inside(f"the alternative {name!r}", part, text))
    raise illegal_text(constraint, text)


def _inside(where: str, part: Constraint, text: str) -> Any:
    """The part's value; where it refuses (a type's own checks), the message says in which part."""
    try:
        return part.parse(text)
    except ConstraintError as error:
        raise ConstraintError(f"{where}: {error}") from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
