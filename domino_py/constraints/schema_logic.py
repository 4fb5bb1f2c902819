"""What must hold for a sub-schema to be true, or to be false: alternatives of claims, per JSON type.

`not` is pushed inwards (a schema fails where one of its keywords fails), `oneOf` is exactly one, `if` a choice of two
cases, dependencies a choice by key. A sub-schema with `unevaluatedProperties` or `unevaluatedItems` is a choice of
*ways* to be true, each with the sub-schemas whose annotations count there (`seen`): JSON Schema core, section 11.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .schema_claims import ANYTHING, NOTHING, Alternatives, Claim, Conjunct, simplest
from .schema_document import Document
from .schema_keywords import JSON_TYPES
from .schema_products import SchemaProducts
from .schema_risk import ALIKE
from .schema_terms import has_key
from .schema_ways import NO_ONE, TRUE, Factor, Mode, Way, Ways, plain, simplest_ways

Keys = frozenset[str]
NO_KEYS: Keys = frozenset()
_ANNOTATING = {
    "object": frozenset(("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")),
    "array": frozenset(("prefixItems", "items", "additionalItems", "contains", "unevaluatedItems")),
}
_UNEVALUATED_OF = {"object": "unevaluatedProperties", "array": "unevaluatedItems"}


class SchemaLogic(SchemaProducts):
    """Alternatives of one document's sub-schemas, holding and failing, per JSON type."""

    def __init__(self, document: Document, dropped: frozenset[tuple[str, str]] = frozenset()) -> None:
        super().__init__(document, dropped)
        self._ways: dict[tuple[str, str, Mode, Keys], Ways] = {}
        self._false: dict[tuple[str, str], Alternatives] = {}
        self._told_apart: dict[tuple[str, str, Keys], bool] = {}
        self._disjoint: dict[tuple[str, str, str, str, Keys], bool] = {}
        self._true: dict[tuple[str, str], Alternatives] = {}
        self._telling: dict[str, Keys] = {}

    def forget(self) -> None:
        super().forget()
        for known in (self._told_apart, self._disjoint, self._telling):
            known.clear()

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

    def alternatives_ahead(self, pointer: str) -> None:
        """Those of a sub-schema that refers to one that refers on: long chains are followed from their ends."""
        if ALIKE.isdisjoint(self.keywords(pointer)):
            return
        if any(not ALIKE.isdisjoint(self.keywords(child)) for child in self.in_place(pointer)):
            for kind in JSON_TYPES:
                self.alternatives(pointer, kind)

    # True

    def ways(self, pointer: str, kind: str, mode: Mode, keys: Keys = NO_KEYS) -> Ways:
        """The ways in which a sub-schema can be true of a value of this type.

        `keys`: what is true beside it asks for these keys of an object.
        """
        key = (pointer, kind, mode, keys & self._telling_keys(pointer) if keys else keys)
        found = self._ways.get(key)
        if found is None:
            found = self._ways[key] = self._when_true(*key)
        return found

    def _telling_keys(self, pointer: str) -> frozenset[str]:
        """The keys by which branches of a `oneOf` about the same value may exclude each other."""
        found = self._telling.get(pointer)
        if found is None:
            parts, work = [NO_KEYS], [pointer]
            for place in work:  # grows
                if place in self._telling:
                    parts.append(self._telling[place])
                    continue
                branches = self._children_of(place, "oneOf")
                parts += [frozenset(self.outline_at(branch).below) for branch in branches]
                more = (*self.all_of(place), *self._children_of(place, "anyOf"), *branches)
                work += [child for child in more if child not in work]
            found = self._telling[pointer] = NO_KEYS.union(*parts)
        return found

    def _children_of(self, pointer: str, keyword: str) -> list[str]:
        return self.document.children(pointer, keyword) if keyword in self.keywords(pointer) else []

    def _when_true(self, pointer: str, kind: str, mode: Mode, keys: Keys) -> Ways:
        schema = self.document.at[pointer]
        if isinstance(schema, bool):
            return ((frozenset(), NO_ONE),) if schema else ()
        keywords = self.keywords(pointer)
        own = self.own_conjunct(pointer, keywords, kind)
        if own is None:
            return ()
        unevaluated = _UNEVALUATED_OF.get(kind)
        if unevaluated not in keywords:
            return self._combine(pointer, kind, mode, own, keys)
        inner: Mode = "all" if mode == "all" else "some"
        result = []
        for conjunct, seen in self._combine(pointer, kind, inner, own, keys):
            claim = Claim(pointer, unevaluated, True, seen)
            result.append((conjunct | {claim}, NO_ONE if mode == "none" else seen | {pointer}))
        return simplest_ways(result, mode)

    def _combine(self, pointer: str, kind: str, mode: Mode, own: Conjunct, keys: Keys = NO_KEYS) -> Ways:
        """All keywords but `unevaluated…`."""
        keywords = self.keywords(pointer)
        if kind == "object" and keywords.get("required"):
            keys |= frozenset(keywords["required"])
        annotates = mode != "none" and not _ANNOTATING.get(kind, frozenset()).isdisjoint(keywords)
        start: Ways = ((own, frozenset([pointer]) if annotates else NO_ONE),)
        factors = list(self._factors(pointer, kind, mode, keys))
        return self._all(pointer, kind, start, factors, mode)

    def _factors(self, pointer: str, kind: str, mode: Mode, keys: Keys) -> Iterator[Factor]:
        """What must hold beside a sub-schema's own keywords."""
        keywords = self.keywords(pointer)
        for child in self.all_of(pointer):
            yield Factor("allOf", self.ways(child, kind, mode, keys))
        if "anyOf" in keywords or ("oneOf" in keywords and self.is_dropped(pointer, "oneOf")):
            keyword = "anyOf" if "anyOf" in keywords else "oneOf"
            yield Factor(keyword, self._any_of(pointer, keyword, kind, mode, keys))
        if "oneOf" in keywords and not self.is_dropped(pointer, "oneOf"):
            yield Factor("oneOf", self._one_of(pointer, kind, mode, keys))
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

    def _any_of(self, pointer: str, keyword: str, kind: str, mode: Mode, keys: Keys) -> Ways:
        place = (pointer, keyword)
        branches = self.document.children(pointer, keyword)
        if mode == "none":
            return simplest_ways([way for branch in branches for way in self.ways(branch, kind, mode, keys)], mode)
        result: Ways = ()  # some branch so far
        none: Ways = ((frozenset(), NO_ONE),)  # none so far; in mode "some", nothing is said about that
        for branch in branches:
            ways = self.ways(branch, kind, mode, keys)
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

    def _one_of(self, pointer: str, kind: str, mode: Mode, keys: Keys) -> Ways:
        place = (pointer, "oneOf")
        branches = [b for b in self.document.children(pointer, "oneOf") if self.alternatives(b, kind)]
        others = [] if self.is_told_apart(pointer, kind, keys) else branches
        result: list[Way] = []
        for branch in branches:
            rivals = [o for o in others if o is not branch and not self.are_disjoint(pointer, branch, o, kind, keys)]
            factors = [Factor("oneOf", plain(self.alternatives(other, kind, holds=False))) for other in rivals]
            result += self._all(pointer, kind, self.ways(branch, kind, mode, keys), factors, mode)
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

    def is_told_apart(self, pointer: str, kind: str, keys: Keys = NO_KEYS) -> bool:
        """Whether the branches of a `oneOf` exclude each other by what they list: no pairs to compare then."""
        from .schema_overlap import are_told_apart

        key = (pointer, kind, keys)
        found = self._told_apart.get(key)
        if found is None:
            found = self._told_apart[key] = are_told_apart(self, self.document.children(pointer, "oneOf"), kind, keys)
        return found

    def are_disjoint(self, pointer: str, one: str, other: str, kind: str, keys: Keys = NO_KEYS) -> bool:
        """Whether two branches surely never hold together for values of a type that `pointer` admits."""
        from .schema_overlap import are_disjoint

        first, second = sorted((one, other))
        key = (pointer, first, second, kind, keys)
        found = self._disjoint.get(key)
        if found is None:
            found = self._disjoint[key] = are_disjoint(self, [one, pointer], [other], kind, keys=keys)
        return found
