"""Alternatives that must all hold, multiplied out: conjuncts of one of each.

What cannot hold is left out early (`schema_prune`), what is implied is not multiplied (`schema_implied`), and where
many alternatives ask for one key, its cases come first (`schema_cases`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from math import prod
from typing import TYPE_CHECKING

from tokenizer_align.errors import Problem, UnsupportedSchema

from .schema_cases import key_cases
from .schema_claims import ANYTHING, Alternatives, Atom, Conjunct, pointer_of, positives, simplest
from .schema_document import Document
from .schema_dynamic import original
from .schema_implied import Implications
from .schema_prune import Pruner
from .schema_terms import SchemaTerms, listed_values
from .schema_values import value_key
from .schema_ways import TRUE, Factor, Mode, Place, Ways, plain, simplest_ways

if TYPE_CHECKING:
    from .schema_overlap import Outline

MAX_ALTERNATIVES = 500  # alternatives of one place once anyOf, oneOf and negations are multiplied out
MAX_PRODUCTS = 20_000  # the same before those are left out that cannot hold or add nothing
MANY = 64  # combinations from which on cases by one key are tried
LEAST_SINGLE = 2  # factors of one alternative each from which on they are taken at once
MAX_COMPARED = 4_000  # pairs of alternatives of which it is asked whether one says what the other does


class SchemaProducts(SchemaTerms):
    """Conjunctions of alternatives of one document's sub-schemas."""

    def __init__(self, document: Document, dropped: frozenset[tuple[str, str]] = frozenset()) -> None:
        super().__init__(document, dropped)
        self.overlaps: dict[Hashable, bool] = {}  # of `schema_overlap`
        self._outlines: dict[str, Outline] = {}
        self._lists: dict[str, frozenset[Hashable]] = {}
        self._implied = Implications(self)
        self._pruner = Pruner(self, self._implied)

    def forget(self) -> None:
        """Drop answers that served to find the alternatives; they would come out the same again."""
        self.overlaps.clear()
        self._outlines.clear()
        self._lists.clear()
        self._implied = Implications(self)
        self._pruner = Pruner(self, self._implied)

    def _all(self, pointer: str, kind: str, start: Ways, factors: list[Factor], mode: Mode) -> Ways:
        """All at once, by cases of one key where that could be many alternatives."""
        if kind == "object" and mode == "none" and prod(len(factor.ways) for factor in factors) > MANY:
            cases = key_cases(self, pointer, [tuple(way[0] for way in factor.ways) for factor in factors])
            if cases:
                start = self._times((pointer, None), kind, start, plain(cases), mode)
        if kind == "object" and mode == "none":
            single = [factor.ways[0][0] for factor in factors if len(factor.ways) == 1]
            if len(single) > LEAST_SINGLE:
                start = plain(self._with_all(start, single))
                factors = [factor for factor in factors if len(factor.ways) != 1]
        for factor in factors:
            if start == TRUE:
                start = factor.ways
            else:
                start = self._times((pointer, factor.keyword), kind, start, factor.ways, mode, factor.enough)
        return start

    def _with_all(self, start: Ways, single: list[Conjunct]) -> Alternatives:
        """What all of these say beside each way: one step where 25 branches that fail in one way each took 25."""
        says, found = self._implied.holds_anyway, []
        for conjunct, _ in start:
            joined = conjunct.union(*(more for more in single if not says(conjunct, more)))
            if self._pruner.may_hold(joined):
                found.append(joined)
        return simplest(found)

    def outline_at(self, place: str) -> Outline:
        """What one sub-schema leaves, at most."""
        from .schema_overlap import outline_of

        found = self._outlines.get(place)
        if found is None:
            found = self._outlines[place] = outline_of(self, [place])
        return found

    def same_claims(self, atoms: Iterable[Atom]) -> Hashable:
        """Equal for sets of sub-schemas that must fail where these say the same."""
        return frozenset(self._implied.same_as(pointer_of(atom)) for atom in atoms)

    def property_place(self, pointer: str, key: str) -> str | None:
        """The sub-schema that `properties` of another one has for a key."""
        return self._implied.place(pointer, key)

    def product(
        self, place: Place, kind: str, left: Alternatives, right: Alternatives, enough: Alternatives = ()
    ) -> Alternatives:
        """Both at once, for values of one type; `place` is named where that is too much.

        `enough`: what says all of the right side, though it is none of its alternatives.
        """
        if right == ANYTHING:
            return left
        if left == ANYTHING:
            return right
        _refuse_above(MAX_PRODUCTS, len(left) * len(right), place)
        return self._limited(place, simplest(self._joined(kind, left, right, enough)))

    def _joined(self, kind: str, left: Alternatives, right: Alternatives, enough: Alternatives) -> Iterator[Conjunct]:
        """One of each side at once, without what cannot hold; where one side says what the other one does, it alone."""
        if kind != "object":
            lists = {conjunct: self._listed_by(conjunct) for conjunct in (*left, *right)}
            for a in left:
                known = lists[a]
                yield from (a | b for b in right if known is None or (here := lists[b]) is None or known & here)
            return
        says, may_hold = self._implied.holds_anyway, self._pruner.may_hold
        if len(left) * len(right) > MAX_COMPARED:
            yield from (a | b for a in left for b in right if may_hold(a | b))
            return
        alone = [b for b in right if any(says(b, a) for a in left)]
        yield from alone
        others = [b for b in right if b not in alone]
        for a in left:
            if any(says(a, b) for b in (*right, *enough)):
                yield a
            else:
                yield from (a | b for b in others if may_hold(a | b))

    def _listed_by(self, conjunct: Conjunct) -> frozenset[Hashable] | None:
        """The values that `enum` and `const` of all these leave; None where none lists any."""
        found: frozenset[Hashable] | None = None
        for pointer in positives(conjunct):
            keywords = self.keywords(pointer)
            if "enum" in keywords or "const" in keywords:
                here = self._lists.get(pointer)
                if here is None:
                    here = self._lists[pointer] = frozenset(map(value_key, listed_values(keywords)))
                found = here if found is None else found & here
        return found

    def _times(self, place: Place, kind: str, left: Ways, right: Ways, mode: Mode, enough: Alternatives = ()) -> Ways:
        if right == TRUE:
            return left
        if mode == "none":
            sides = [tuple(conjunct for conjunct, _ in ways) for ways in (left, right)]
            return plain(self.product(place, kind, sides[0], sides[1], enough))
        _refuse_above(MAX_PRODUCTS, len(left) * len(right), place)
        joined = ((a | b, s | t) for a, s in left for b, t in right)
        return self._bounded(place, simplest_ways([way for way in joined if self._pruner.may_hold(way[0])], mode))

    def _bounded(self, place: Place, ways: Ways) -> Ways:
        _refuse_above(MAX_ALTERNATIVES, len(ways), place)
        return ways

    def _limited(self, place: Place, alternatives: Alternatives) -> Alternatives:
        _refuse_above(MAX_ALTERNATIVES, len(alternatives), place)
        return alternatives


def _refuse_above(limit: int, n: int, place: Place) -> None:
    if n > limit:
        pointer, keyword = original(place[0]), place[1]
        message = f"{n:,} combinations of alternatives (at most {limit:,} are built)"
        hint = "Split the schema, or use fewer alternatives."
        raise UnsupportedSchema([Problem(f"{pointer}/{keyword}" if keyword else pointer, keyword, message, hint=hint)])
