"""What is certain of a template's values while its text is being written: the holes that are complete, by name.

All ways to read the text so far are followed side by side; a hole counts once it begins and ends at the same places in
each of them. So a value that is shown stays as it is, whatever comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from domino_py.constraints.base import Constraint
from domino_py.constraints.template import parts_of
from tokenizer_align import recognizer
from tokenizer_align.errors import ConstraintError
from tokenizer_align.expressions import Expr
from tokenizer_align.recognizer import Stacks

__all__ = ["PartialTemplate"]

Ends = tuple[int | None, ...]  # where each part that is over ended, in bytes; None where readings differ


@dataclass(frozen=True, slots=True)
class _Hole:
    """A hole and the parts of the text that are its own, from `first` to before `past`: several for a template."""

    name: str
    constraint: Constraint
    first: int
    past: int
    inside: tuple[_Hole, ...] | None  # the holes of a template


class PartialTemplate:
    """Reads the text of a `template` constraint piece by piece; templates in its holes are read as parts of it."""

    def __init__(self, constraint: Constraint) -> None:
        self._exprs: list[Expr] = []
        self._holes = self._split(constraint)
        self._text = bytearray()
        self._readings: dict[tuple[int, Stacks], Ends] = {}
        self._add(self._readings, 0, ())

    def _split(self, constraint: Constraint) -> tuple[_Hole, ...]:
        """The holes of a template, whose parts come next."""
        holes: dict[str, Constraint] = dict(constraint.source[1])
        found = []
        for name, expr in parts_of(constraint):
            if name is None:
                self._exprs.append(expr)
                continue
            hole, first, inside = holes[name], len(self._exprs), None
            if hole.kind == "template":
                inside = self._split(hole)
            else:
                self._exprs.append(expr)
            found.append(_Hole(name, hole, first, len(self._exprs), inside))
        return tuple(found)

    def feed(self, text: str) -> None:
        """Read on."""
        for byte in text.encode("utf-8", "surrogatepass"):
            self._text.append(byte)
            before, self._readings = self._readings, {}
            for (at, stacks), ends in before.items():
                after = recognizer.step(stacks, byte)
                if after:
                    self._join(self._readings, at, after, ends)

    def value(self) -> dict[str, Any]:
        """The values of the holes that are certain; of a hole that is a template, as far as it is certain itself."""
        places = [(at, ends) for (at, _), ends in self._readings.items()]
        return self._values(self._holes, places) if places else {}

    def _values(self, holes: tuple[_Hole, ...], places: list[tuple[int, Ends]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for hole in holes:
            begin, end = self._end(places, hole.first - 1), self._end(places, hole.past - 1)
            if begin is None:
                continue
            if end is not None:
                try:
                    found[hole.name] = hole.constraint.parse(self._text[begin:end].decode("utf-8"))
                    continue
                except (ConstraintError, ValueError):
                    pass  # a type's own checks refuse it; the result will say so
            if hole.inside is not None:
                found[hole.name] = self._values(hole.inside, places)
        return found

    def _end(self, places: list[tuple[int, Ends]], part: int) -> int | None:
        """Where a part ended in all readings; None where they differ, or it may go on."""
        if part < 0:
            return 0
        ends = {known[part] if part < at else None for at, known in places}
        return ends.pop() if len(ends) == 1 else None

    def _add(self, readings: dict[tuple[int, Stacks], Ends], at: int, ends: Ends) -> None:
        """A reading that is at the beginning of a part."""
        if at < len(self._exprs):
            self._join(readings, at, recognizer.start(self._exprs[at]), ends)
        else:
            self._note(readings, (at, recognizer.NOTHING), ends)

    def _join(self, readings: dict[tuple[int, Stacks], Ends], at: int, stacks: Stacks, ends: Ends) -> None:
        """A reading within a part, and those in which the part is over."""
        if self._note(readings, (at, stacks), ends) and recognizer.accepts_end(stacks):
            self._add(readings, at + 1, (*ends, len(self._text)))

    @staticmethod
    def _note(readings: dict[tuple[int, Stacks], Ends], key: tuple[int, Stacks], ends: Ends) -> bool:
        """Whether that says something new."""
        known = readings.get(key)
        if known is not None:
            ends = tuple(one if one == other else None for one, other in zip(known, ends, strict=True))
        readings[key] = ends
        return known != ends
