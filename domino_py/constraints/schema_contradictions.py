"""What excludes each other in a schema, noted while it is built: said where nothing satisfies the whole.

Negations of many branches clash in tens of thousands of places of one schema, and mostly nobody asks: the words are
found when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from tokenizer_align.errors import Problem

from .schema_claims import Atom, Claim, pointer_of
from .schema_claims import positives as positive_atoms
from .schema_dynamic import original

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler


class _Note(NamedTuple):
    atoms: tuple[Atom, ...]
    keyword: str | None
    said: str | None  # None: what is said about `kind`; without a kind about types
    kind: str | None


class Contradictions:
    """The notes of one document, each where it was first made. `n_noted` counts those that come again as well."""

    def __init__(self, compiler: SchemaCompiler) -> None:
        self._compiler = compiler
        self._notes: dict[_Note, None] = {}
        self._is_open = True
        self.n_noted = 0

    def note(self, atoms: Iterable[Atom], keyword: str | None, said: str | None, kind: str | None = None) -> None:
        """Remember that these exclude each other here; it matters only if the place is needed."""
        self.n_noted += 1
        if self._is_open:
            self._notes[_Note(tuple(self._compiler.in_order(atoms)), keyword, said, kind)] = None

    def close(self) -> None:
        """Nobody will ask any more."""
        self._is_open = False
        self._notes.clear()

    def problems(self, most: int | None = None) -> list[Problem]:
        """Each once, in the order in which they were noted."""
        found: dict[tuple[str, str], Problem] = {}
        for note in self._notes:
            if len(found) == most:
                break
            problem = self._problem(note)
            found.setdefault((problem.pointer, problem.message), problem)
        return list(found.values())

    def _problem(self, note: _Note) -> Problem:
        atoms: Iterable[Atom] = note.atoms
        keyword, message = note.keyword, note.said
        if message is None and note.kind is not None:
            said = dict.fromkeys(text for atom in atoms for text in self._said_about(atom, note.kind))
            message = f"no {note.kind} satisfies {' and '.join(said)}"
        elif message is None:
            atoms, keyword, message = self._about_types(note.atoms)
        places = list(dict.fromkeys(original(pointer_of(atom)) for atom in atoms)) or [""]
        if len(places) > 1:
            message += " (together with " + ", ".join(place or "the root" for place in places[1:]) + ")"
        return Problem(places[0], keyword, message)

    def _said_about(self, atom: Atom, kind: str) -> list[str]:
        """The keywords of an atom that bear on a type; with their values where those are short."""
        if isinstance(atom, Claim):
            return [f'not "{atom.keyword}"'] if atom.pointer or atom.detail is None else [f"the key {atom.detail!r}"]
        found = []
        for name, value in self._compiler.keywords(atom).items():
            if name in self._compiler.own[kind] or name in ("enum", "const") or value == "integer":
                is_short = isinstance(value, int | Decimal | str) and len(str(value)) <= 40
                found.append(f'"{name}": {str(value).lower()}' if is_short else f'"{name}"')
        return found

    def _about_types(self, atoms: tuple[Atom, ...]) -> tuple[Iterable[Atom], str | None, str]:
        """That no JSON type is left: which sub-schemas say so by `type`, where that is the reason."""
        compiler = self._compiler
        places: dict[str, set[str]] = {}
        work = [pointer_of(atom) for atom in positive_atoms(atoms)]
        for pointer in work:
            names = compiler.keywords(pointer).get("type")
            if names is not None:
                places[pointer] = {names} if isinstance(names, str) else set(names)
            work += [child for child in compiler.all_of(pointer) if child not in work]
        kinds = [{"number" if name == "integer" else name for name in names} for names in places.values()]
        if len(places) < 2 or set.intersection(*kinds):
            return atoms, None, "no value satisfies all of this together"
        said = dict.fromkeys(" or ".join(sorted(names)) for names in places.values())
        return compiler.in_order(places), "type", f"no value is {' and '.join(said)} at once"
