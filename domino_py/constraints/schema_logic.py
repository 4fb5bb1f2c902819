"""What must hold for a sub-schema to be true, or to be false: alternatives of claims, per JSON type.

`not` is pushed inwards (a schema fails where one of its keywords fails), `oneOf` is exactly one, `if` a choice of two
cases, dependencies a choice by key. A sub-schema with `unevaluatedProperties` or `unevaluatedItems` is a choice of
*ways* to be true, each with the sub-schemas whose annotations count there (`seen`): JSON Schema core, section 11.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

from tokenizer_align.errors import Problem, UnsupportedSchema

from .schema_cases import key_cases
from .schema_claims import ANYTHING, NOTHING, Alternatives, Atom, Claim, Conjunct, pointer_of, simplest
from .schema_document import Document
from .schema_dynamic import original
from .schema_implied import Implications
from .schema_prune import Pruner
from .schema_terms import SchemaTerms, has_key
from .schema_ways import NO_ONE, TRUE, Factor, Mode, Place, Way, Ways, plain, simplest_ways

if TYPE_CHECKING:
    from .schema_overlap import Outline

MAX_ALTERNATIVES = 500  # alternatives of one place once anyOf, oneOf and negations are multiplied out
MAX_PRODUCTS = 20_000  # the same before those are left out that cannot hold or add nothing
MANY = 64  # combinations from which on cases by one key are tried
MAX_COMPARED = 4_000  # pairs of alternatives of which it is asked whether one says what the other does

_ANNOTATING = {
    "object": frozenset(("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")),
    "array": frozenset(("prefixItems", "items", "additionalItems", "contains", "unevaluatedItems")),
}
_UNEVALUATED_OF = {"object": "unevaluatedProperties", "array": "unevaluatedItems"}


class SchemaLogic(SchemaTerms):
    """Alternatives of one document's sub-schemas, holding and failing, per JSON type."""

    def __init__(self, document: Document, dropped: frozenset[tuple[str, str]] = frozenset()) -> None:
        super().__init__(document, dropped)
        self._ways: dict[tuple[str, str, Mode], Ways] = {}
        self._false: dict[tuple[str, str], Alternatives] = {}
        self._told_apart: dict[tuple[str, str], bool] = {}
        self._disjoint: dict[tuple[str, str, str, str], bool] = {}
        self._true: dict[tuple[str, str], Alternatives] = {}
        self.overlaps: dict[Hashable, bool] = {}  # of `schema_overlap`
        self._outlines: dict[str, Outline] = {}
        self._implied = Implications(self)
        self._pruner = Pruner(self, self._implied)

    def alternatives(self, pointer: str, kind: str, holds: bool = True) -> Alternatives:
        """The conjuncts of which one must hold for a value of this type, so that the sub-schema holds (or fails)."""
        key = (pointer, kind)
        if holds:
            known = self._true.get(key)
            if known is None:
                known = self._true[key] = tuple(conjunct for conjunct, _ in self.ways(pointer, kind, "none"))
            return known
        found = self._false.get(key)
        if found is None:
            found = self._false[key] = self._when_false(pointer, kind)
        return found

    # True

    def ways(self, pointer: str, kind: str, mode: Mode) -> Ways:
        """The ways in which a sub-schema can be true of a value of this type."""
        key = (pointer, kind, mode)
        found = self._ways.get(key)
        if found is None:
            found = self._ways[key] = self._when_true(pointer, kind, mode)
        return found

    def _when_true(self, pointer: str, kind: str, mode: Mode) -> Ways:
        schema = self.document.at[pointer]
        if isinstance(schema, bool):
            return ((frozenset(), NO_ONE),) if schema else ()
        keywords = self.keywords(pointer)
        own = self.own_conjunct(pointer, keywords, kind)
        if own is None:
            return ()
        unevaluated = _UNEVALUATED_OF.get(kind)
        if unevaluated not in keywords:
            return self._combine(pointer, kind, mode, own)
        inner: Mode = "all" if mode == "all" else "some"
        result = []
        for conjunct, seen in self._combine(pointer, kind, inner, own):
            claim = Claim(pointer, unevaluated, True, seen)
            result.append((conjunct | {claim}, NO_ONE if mode == "none" else seen | {pointer}))
        return simplest_ways(result, mode)

    def _combine(self, pointer: str, kind: str, mode: Mode, own: Conjunct) -> Ways:
        """All keywords but `unevaluated…`."""
        keywords = self.keywords(pointer)
        annotates = mode != "none" and not _ANNOTATING.get(kind, frozenset()).isdisjoint(keywords)
        start: Ways = ((own, frozenset([pointer]) if annotates else NO_ONE),)
        factors = list(self._factors(pointer, kind, mode))
        return self._all(pointer, kind, start, factors, mode)

    def _factors(self, pointer: str, kind: str, mode: Mode) -> Iterator[Factor]:
        """What must hold beside a sub-schema's own keywords."""
        keywords = self.keywords(pointer)
        for child in self.all_of(pointer):
            yield Factor("allOf", self.ways(child, kind, mode))
        if "anyOf" in keywords or ("oneOf" in keywords and self.is_dropped(pointer, "oneOf")):
            keyword = "anyOf" if "anyOf" in keywords else "oneOf"
            yield Factor(keyword, self._any_of(pointer, keyword, kind, mode))
        if "oneOf" in keywords and not self.is_dropped(pointer, "oneOf"):
            yield Factor("oneOf", self._one_of(pointer, kind, mode))
        if "not" in keywords:
            yield Factor("not", plain(self.alternatives(f"{pointer}/not", kind, holds=False)))
        if "if" in keywords and ("then" in keywords or "else" in keywords or mode != "none"):
            yield Factor("if", self._if(pointer, kind, mode))
        if kind == "object":
            for name, key, parts in self.dependencies(pointer):
                absent: Ways = ((frozenset([has_key(key, False)]), NO_ONE),)
                needed: Ways = TRUE
                for part in parts:
                    more = self.ways(part, kind, mode) if isinstance(part, str) else plain((frozenset([part]),))
                    needed = self._times((pointer, name), kind, needed, more, mode)
                present: Ways = ((frozenset([has_key(key, True)]), NO_ONE),)
                present = self._times((pointer, name), kind, present, needed, mode)
                enough = tuple(conjunct for conjunct, _ in needed)
                yield Factor(name, simplest_ways([*absent, *present], mode), enough)

    def _all(self, pointer: str, kind: str, start: Ways, factors: list[Factor], mode: Mode) -> Ways:
        """All at once, by cases of one key where that could be many alternatives."""
        if kind == "object" and mode == "none" and prod(len(factor.ways) for factor in factors) > MANY:
            cases = key_cases(self, pointer, [tuple(way[0] for way in factor.ways) for factor in factors])
            if cases:
                start = self._times((pointer, None), kind, start, plain(cases), mode)
        for factor in factors:
            if start == TRUE:
                start = factor.ways
            else:
                start = self._times((pointer, factor.keyword), kind, start, factor.ways, mode, factor.enough)
        return start

    def _any_of(self, pointer: str, keyword: str, kind: str, mode: Mode) -> Ways:
        place = (pointer, keyword)
        branches = self.document.children(pointer, keyword)
        if mode == "none":
            return simplest_ways([way for branch in branches for way in self.ways(branch, kind, mode)], mode)
        result: Ways = ()  # some branch so far
        none: Ways = ((frozenset(), NO_ONE),)  # none so far; in mode "some", nothing is said about that
        for branch in branches:
            ways = self.ways(branch, kind, mode)
            if not any(seen for _, seen in ways):  # says nothing about what it has seen: whether it holds is no matter
                more = [*result, *self._times(place, kind, none, ways, mode)]
                result = simplest_ways(more, mode)
                continue
            failing = plain(self.alternatives(branch, kind, holds=False)) if mode == "all" else None
            rest = result if failing is None else self._times(place, kind, result, failing, mode)
            more = [*rest, *self._times(place, kind, result, ways, mode), *self._times(place, kind, none, ways, mode)]
            result = self._bounded(place, simplest_ways(more, mode))
            none = none if failing is None else self._times(place, kind, none, failing, mode)
        return result

    def _one_of(self, pointer: str, kind: str, mode: Mode) -> Ways:
        place = (pointer, "oneOf")
        branches = [b for b in self.document.children(pointer, "oneOf") if self.alternatives(b, kind)]
        others = [] if self.is_told_apart(pointer, kind) else branches
        result: list[Way] = []
        for branch in branches:
            rivals = [o for o in others if o is not branch and not self.are_disjoint(pointer, branch, o, kind)]
            factors = [Factor("oneOf", plain(self.alternatives(other, kind, holds=False))) for other in rivals]
            result += self._all(pointer, kind, self.ways(branch, kind, mode), factors, mode)
        return self._bounded(place, simplest_ways(result, mode))

    def _if(self, pointer: str, kind: str, mode: Mode) -> Ways:
        keywords = self.keywords(pointer)
        yes, no = self.ways(f"{pointer}/if", kind, mode), plain(self.alternatives(f"{pointer}/if", kind, holds=False))
        if "then" in keywords:
            yes = self._times((pointer, "if"), kind, yes, self.ways(f"{pointer}/then", kind, mode), mode)
        if "else" in keywords:
            no = self._times((pointer, "if"), kind, no, self.ways(f"{pointer}/else", kind, mode), mode)
        return simplest_ways([*yes, *no], mode)

    # False

    def _when_false(self, pointer: str, kind: str) -> Alternatives:
        schema = self.document.at[pointer]
        if isinstance(schema, bool):
            return NOTHING if schema else ANYTHING
        keywords = self.keywords(pointer)
        own = self.own_conjunct(pointer, keywords, kind)
        if own is None:
            return ANYTHING
        found: set[Conjunct] = set(self._own_failures(pointer, keywords, kind))
        for child in self.all_of(pointer):
            found.update(self.alternatives(child, kind, holds=False))
        for part in self._failing_parts(pointer, keywords, kind):
            if frozenset() in found:
                return ANYTHING
            found.update(part)
        return self._limited((pointer, None), simplest(found))

    def _failing_parts(self, pointer: str, keywords: dict[str, Any], kind: str) -> Iterator[Alternatives]:
        children = self.document.children
        if "anyOf" in keywords:
            yield self._none_of(pointer, children(pointer, "anyOf"), kind)
        if "oneOf" in keywords:
            branches = children(pointer, "oneOf")
            yield self._none_of(pointer, branches, kind)
            if not self.is_dropped(pointer, "oneOf"):
                yield self._two_of(pointer, branches, kind)
        if "not" in keywords:
            yield self.alternatives(f"{pointer}/not", kind)
        if "if" in keywords:
            for keyword, holds in (("then", True), ("else", False)):
                if keyword in keywords:
                    case = self.alternatives(f"{pointer}/if", kind, holds)
                    yield self.product(
                        (pointer, "if"), kind, case, self.alternatives(f"{pointer}/{keyword}", kind, holds=False)
                    )
        if kind == "object":
            for name, key, parts in self.dependencies(pointer):
                for part in parts:
                    if isinstance(part, str):
                        failing = self.alternatives(part, kind, holds=False)
                    else:
                        failing = (frozenset([part._replace(holds=False)]),)
                    yield self.product((pointer, name), kind, (frozenset([has_key(key, True)]),), failing)
        unevaluated = _UNEVALUATED_OF.get(kind)
        if unevaluated in keywords:
            own = self.own_conjunct(pointer, keywords, kind)
            assert own is not None
            ways = self._combine(pointer, kind, "all", own)
            yield tuple(conjunct | {Claim(pointer, unevaluated, False, seen)} for conjunct, seen in ways)

    def _none_of(self, pointer: str, branches: list[str], kind: str) -> Alternatives:
        factors = [Factor(None, plain(self.alternatives(branch, kind, holds=False))) for branch in branches]
        return tuple(conjunct for conjunct, _ in self._all(pointer, kind, TRUE, factors, "none"))

    def _two_of(self, pointer: str, branches: list[str], kind: str) -> Alternatives:
        if self.is_told_apart(pointer, kind):
            return NOTHING
        alive = [branch for branch in branches if self.alternatives(branch, kind)]
        found: list[Conjunct] = []
        for i, one in enumerate(alive):
            for other in alive[:i]:
                if not self.are_disjoint(pointer, one, other, kind):
                    found += self.product(
                        (pointer, "oneOf"), kind, self.alternatives(one, kind), self.alternatives(other, kind)
                    )
        return self._limited((pointer, None), simplest(found))

    def _own_failures(self, pointer: str, keywords: dict[str, Any], kind: str) -> Iterator[Conjunct]:
        """How the keywords of the sub-schema itself can fail for a type that it does not exclude."""
        names = keywords.get("type", ())
        if kind == "number" and "integer" in names and "number" not in names:
            yield frozenset([Claim(pointer, "type")])
        if "enum" in keywords or "const" in keywords:
            if kind in ("array", "object"):
                yield from self._none_of(pointer, self.document.listed_schemas(pointer, kind), kind)
            else:
                yield frozenset([Claim(pointer, "enum")])
        properties = keywords.get("properties", {}) if kind == "object" else {}
        required = keywords.get("required", ()) if kind == "object" else ()
        for key in required:
            if key in properties:  # a required key is missing or its value fails: one claim
                yield frozenset([Claim(pointer, "properties", False, key)])
            else:
                yield frozenset([has_key(key, False)])
        for name in keywords:
            if name == "required" or (name == "properties" and properties.keys() <= set(required)):
                continue
            if name in self.own[kind] and self.can_fail(name, keywords[name]):
                yield frozenset([Claim(pointer, name)])

    def is_told_apart(self, pointer: str, kind: str) -> bool:
        """Whether the branches of a `oneOf` exclude each other by what they list: no pairs to compare then."""
        from .schema_overlap import are_told_apart

        found = self._told_apart.get((pointer, kind))
        if found is None:
            branches = self.document.children(pointer, "oneOf")
            found = self._told_apart[pointer, kind] = are_told_apart(self, branches, kind)
        return found

    def are_disjoint(self, pointer: str, one: str, other: str, kind: str) -> bool:
        """Whether two branches surely never hold together for values of a type that `pointer` admits."""
        from .schema_overlap import are_disjoint

        key = (pointer, *sorted((one, other)), kind)
        found = self._disjoint.get(key)  # type: ignore[arg-type]
        if found is None:
            found = self._disjoint[key] = are_disjoint(self, [one, pointer], [other], kind)  # type: ignore[index]
        return found

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

    def _joined(
        self, kind: str, left: Alternatives, right: Alternatives, enough: Alternatives
    ) -> Iterator[Conjunct]:
        """One of each side at once, without what cannot hold; where one side says what the other one does, it alone."""
        if kind != "object":
            yield from (a | b for a in left for b in right)
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

    def _times(
        self, place: Place, kind: str, left: Ways, right: Ways, mode: Mode, enough: Alternatives = ()
    ) -> Ways:
        if right == TRUE:
            return left
        if mode == "none":
            sides = (tuple(conjunct for conjunct, _ in ways) for ways in (left, right))
            return plain(self.product(place, kind, *sides, enough))
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
