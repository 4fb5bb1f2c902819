"""Whether one listed value (`enum`, `const`) satisfies claims: decided on the value, no language is built.

The same claims as in `schema_objects` and `schema_arrays`, asked about a value that is there. To read the value's text
with the language of the other keywords took seconds for objects with duties, and named one order of keys.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokenizer_align.derivatives import holds_text

from .json_strings import canonical_text
from .schema_arrays import read_request
from .schema_claims import Atom, Claim
from .schema_keys import Kind, Sayings
from .schema_objects import count_bounds
from .schema_tallies import Tally
from .schema_terms import listed_values
from .schema_values import json_type, value_key

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler


class ListedValues:
    """Answers for one document; remembered by claims and value."""

    def __init__(self, compiler: SchemaCompiler) -> None:
        self.compiler = compiler
        self._known: dict[tuple[frozenset[Atom], Hashable], bool] = {}
        self._keys: dict[str, frozenset[Hashable]] = {}

    def satisfies(self, wanted: Iterable[Atom], value: Any) -> bool:
        """Whether the value satisfies all these sub-schemas (and fails those that must fail)."""
        key = (frozenset(wanted), value_key(value))
        found = self._known.get(key)
        if found is None:
            kind = json_type(value)
            conjuncts = self.compiler.conjuncts(key[0], kind)
            found = any(self.holds(kind, self.compiler.in_order(conjunct), value) for conjunct in conjuncts)
            self._known[key] = found
        return found

    def holds(self, kind: str, atoms: list[Atom], value: Any) -> bool:
        """Whether all of one conjunct holds for a value of this type."""
        compiler, key = self.compiler, value_key(value)
        if any(key not in self.listed_keys(pointer) for pointer in compiler.listing(atoms)):
            return False
        excluding = [atom.pointer for atom in atoms if isinstance(atom, Claim) and atom.keyword == "enum"]
        if any(key in self.listed_keys(pointer) for pointer in excluding):
            return False
        if kind == "number":
            return compiler.numbers(atoms).holds(value)
        others = compiler.unlisting(kind, atoms)
        if not others:
            return True
        if kind == "string":
            return self._string_holds(others, value)
        if kind == "object":
            return self._object_holds(others, value)
        return kind != "array" or self._array_holds(others, value)

    def listed_keys(self, pointer: str) -> frozenset[Hashable]:
        """The values that a sub-schema lists, as `value_key` names them."""
        found = self._keys.get(pointer)
        if found is None:
            found = self._keys[pointer] = frozenset(map(value_key, listed_values(self.compiler.keywords(pointer))))
        return found

    def _string_holds(self, atoms: list[Atom], value: str) -> bool:
        wanted = self.compiler.strings(atoms)
        if len(value) < wanted.lo or (wanted.hi is not None and len(value) > wanted.hi):
            return False
        inside = canonical_text(value)[1:-1]
        return all(holds_text(body, inside) for body in wanted.bodies)

    def _object_holds(self, atoms: list[Atom], value: dict[str, Any]) -> bool:
        lo, hi = count_bounds(self.compiler, atoms)
        if len(value) < lo or (hi is not None and len(value) > hi):
            return False
        sayings = Sayings(self.compiler, atoms)
        if not sayings.required <= value.keys() or not sayings.absent.isdisjoint(value):
            return False
        done: set[Claim] = set()
        for key, item in value.items():
            kind = sayings.declared_kind(key)
            base = sayings.base(kind if key in sayings.declared else self._undeclared(sayings, kind))
            if base is None or not self.satisfies(base, item):
                return False
            done |= {
                event.claim
                for event in sayings.events(kind)
                if event.claim not in done and any(self.satisfies(more, item) for more in event.options)
            }
        return done.issuperset(sayings.duties)

    def _undeclared(self, sayings: Sayings, kind: Kind) -> Kind:
        """The kind of a key that no claim names; where its name is not allowed it keeps it, for `base` to see."""
        return kind if sayings.base(kind) is None else replace(kind, name=None)

    def _array_holds(self, atoms: list[Atom], value: list[Any]) -> bool:
        request = read_request(self.compiler, atoms)
        if len(value) < request.lo or (request.hi is not None and len(value) > request.hi):
            return False
        last = request.n_prefix
        for index, item in enumerate(value):
            if not any(self.satisfies(ways, item) for ways in request.choices[min(index, last)]):
                return False
        if request.wants_distinct or request.wants_equal:
            differ = len({value_key(item) for item in value}) == len(value)
            if (request.wants_distinct and not differ) or (request.wants_equal and differ):
                return False
        return all(any(self._comes_out(tally, value) for tally in tallies) for tallies in request.tallies)

    def _comes_out(self, tally: Tally, value: list[Any]) -> bool:
        n, last = 0, len(tally.inside) - 1
        for index, item in enumerate(value):
            inside = tally.inside[min(index, last)]
            n += inside is not None and self.satisfies(inside, item)
        return n >= tally.lo and (tally.hi is None or n <= tally.hi)
