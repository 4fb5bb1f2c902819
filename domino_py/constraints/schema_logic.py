"""What must hold for a sub-schema to be true, or to be false: alternatives of claims, per JSON type.

`not` is pushed inwards (a schema fails where one of its keywords fails), `oneOf` is exactly one, `if` a choice of two
cases, dependencies a choice by key. A sub-schema with `unevaluatedProperties` or `unevaluatedItems` is a choice of
*ways* to be true, each with the sub-schemas whose annotations count there (`seen`): JSON Schema core, section 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from tokenizer_align.errors import Problem, UnsupportedSchema

from .schema_claims import ANYTHING, HAS, NOTHING, UNEVALUATED, Alternatives, Atom, Claim, Conjunct, simplest
from .schema_document import Document
from .schema_formats import FORMATS
from .schema_keywords import JSON_TYPES, known_keyword, own_keywords
from .schema_source import escape_token
from .schema_values import json_type as type_of
from .schema_values import value_key

MAX_ALTERNATIVES = 500  # alternatives of one place once anyOf, oneOf and negations are multiplied out
MAX_PRODUCTS = 20_000  # the same before those are left out that cannot hold or add nothing

Seen = frozenset[str]
Way = tuple[Conjunct, Seen]
Ways = tuple[Way, ...]
Mode = Literal["none", "some", "all"]  # which annotating sub-schemas a way names: none, some of them, exactly all

_NO_ONE: Seen = frozenset()
_BY_KEY = ("dependentRequired", "dependentSchemas", "dependencies")
_ANNOTATING = {
    "object": frozenset(("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")),
    "array": frozenset(("prefixItems", "items", "additionalItems", "contains", "unevaluatedItems")),
}
_UNEVALUATED_OF = {"object": "unevaluatedProperties", "array": "unevaluatedItems"}


class SchemaLogic:
    """Alternatives of one document's sub-schemas; `dropped`: (pointer, keyword) pairs that are left out on request.

    A dropped `oneOf` is built as `anyOf`, which only ever widens.
    """

    def __init__(self, document: Document, dropped: frozenset[tuple[str, str]] = frozenset()) -> None:
        self.document, self.dropped = document, dropped
        apart = {*_BY_KEY, *UNEVALUATED}
        self.own = {kind: own_keywords(kind, document.draft) - apart for kind in JSON_TYPES}
        self._keywords: dict[str, dict[str, Any]] = {}
        self._ways: dict[tuple[str, str, Mode], Ways] = {}
        self._false: dict[tuple[str, str], Alternatives] = {}
        self._disjoint: dict[tuple[str, str, str, str], bool] = {}

    def keywords(self, pointer: str) -> dict[str, Any]:
        """The keywords that count at a sub-schema."""
        found = self._keywords.get(pointer)
        if found is None:
            draft = self.document.draft
            found = {
                name: value
                for name, value in self.document.keywords(pointer).items()
                if known_keyword(name, draft) and (name == "oneOf" or (pointer, name) not in self.dropped)
            }
            self._keywords[pointer] = found
        return found

    def all_of(self, pointer: str) -> list[str]:
        """The sub-schemas that must hold in the same place whatever the value is: references and `allOf`."""
        keywords = self.keywords(pointer)
        found = self.document.children(pointer, "allOf") if "allOf" in keywords else []
        return [*self.document.targets(pointer, keywords), *found]

    def in_place(self, pointer: str) -> list[str]:
        """All sub-schemas that are asked about the very same value."""
        keywords = self.keywords(pointer)
        found = self.all_of(pointer)
        for keyword in ("anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"):
            if keyword in keywords:
                found = found + self.document.children(pointer, keyword)
        return found

    def alternatives(self, pointer: str, kind: str, holds: bool = True) -> Alternatives:
        """The conjuncts of which one must hold for a value of this type, so that the sub-schema holds (or fails)."""
        if holds:
            return tuple(conjunct for conjunct, _ in self.ways(pointer, kind, "none"))
        key = (pointer, kind)
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
            return ((frozenset(), _NO_ONE),) if schema else ()
        keywords = self.keywords(pointer)
        own = self._own_conjunct(pointer, keywords, kind)
        if own is None:
            return ()
        unevaluated = _UNEVALUATED_OF.get(kind)
        if unevaluated not in keywords:
            return self._combine(pointer, kind, mode, own)
        inner: Mode = "all" if mode == "all" else "some"
        result = []
        for conjunct, seen in self._combine(pointer, kind, inner, own):
            claim = Claim(pointer, unevaluated, True, seen)
            result.append((conjunct | {claim}, _NO_ONE if mode == "none" else seen | {pointer}))
        return _simplest_ways(result, mode)

    def _combine(self, pointer: str, kind: str, mode: Mode, own: Conjunct) -> Ways:
        """All keywords but `unevaluated…`."""
        keywords = self.keywords(pointer)
        annotates = mode != "none" and not _ANNOTATING.get(kind, frozenset()).isdisjoint(keywords)
        result: Ways = ((own, frozenset([pointer]) if annotates else _NO_ONE),)
        for child in self.all_of(pointer):
            result = self._times(pointer, result, self.ways(child, kind, mode), mode)
        if "anyOf" in keywords or ("oneOf" in keywords and (pointer, "oneOf") in self.dropped):
            keyword = "anyOf" if "anyOf" in keywords else "oneOf"
            result = self._times(pointer, result, self._any_of(pointer, keyword, kind, mode), mode)
        if "oneOf" in keywords and (pointer, "oneOf") not in self.dropped:
            result = self._times(pointer, result, self._one_of(pointer, kind, mode), mode)
        if "not" in keywords:
            failing = self.alternatives(f"{pointer}/not", kind, holds=False)
            result = self._times(pointer, result, _plain(failing), mode)
        if "if" in keywords and ("then" in keywords or "else" in keywords or mode != "none"):
            result = self._times(pointer, result, self._if(pointer, kind, mode), mode)
        if kind == "object":
            for key, parts in self._dependencies(pointer):
                absent: Ways = ((frozenset([_has(key, False)]), _NO_ONE),)
                present: Ways = ((frozenset([_has(key, True)]), _NO_ONE),)
                for part in parts:
                    more = self.ways(part, kind, mode) if isinstance(part, str) else _plain((frozenset([part]),))
                    present = self._times(pointer, present, more, mode)
                result = self._times(pointer, result, _simplest_ways([*absent, *present], mode), mode)
        return result

    def _any_of(self, pointer: str, keyword: str, kind: str, mode: Mode) -> Ways:
        branches = self.document.children(pointer, keyword)
        if mode == "none":
            return _simplest_ways([way for branch in branches for way in self.ways(branch, kind, mode)], mode)
        result: Ways = ()  # some branch so far
        none: Ways = ((frozenset(), _NO_ONE),)  # none so far; in mode "some", nothing is said about that
        for branch in branches:
            ways = self.ways(branch, kind, mode)
            if not any(seen for _, seen in ways):  # says nothing about what it has seen: whether it holds is no matter
                more = [*result, *self._times(pointer, none, ways, mode)]
                result = _simplest_ways(more, mode)
                continue
            failing = _plain(self.alternatives(branch, kind, holds=False)) if mode == "all" else None
            rest = result if failing is None else self._times(pointer, result, failing, mode)
            more = [*rest, *self._times(pointer, result, ways, mode), *self._times(pointer, none, ways, mode)]
            result = self._bounded(pointer, _simplest_ways(more, mode))
            none = none if failing is None else self._times(pointer, none, failing, mode)
        return result

    def _one_of(self, pointer: str, kind: str, mode: Mode) -> Ways:
        branches = [b for b in self.document.children(pointer, "oneOf") if self.alternatives(b, kind)]
        result: list[Way] = []
        for branch in branches:
            ways = self.ways(branch, kind, mode)
            for other in branches:
                if other is not branch and ways and not self.are_disjoint(pointer, branch, other, kind):
                    ways = self._times(pointer, ways, _plain(self.alternatives(other, kind, holds=False)), mode)
            result += ways
        return self._bounded(pointer, _simplest_ways(result, mode))

    def _if(self, pointer: str, kind: str, mode: Mode) -> Ways:
        keywords = self.keywords(pointer)
        yes, no = self.ways(f"{pointer}/if", kind, mode), _plain(self.alternatives(f"{pointer}/if", kind, holds=False))
        if "then" in keywords:
            yes = self._times(pointer, yes, self.ways(f"{pointer}/then", kind, mode), mode)
        if "else" in keywords:
            no = self._times(pointer, no, self.ways(f"{pointer}/else", kind, mode), mode)
        return _simplest_ways([*yes, *no], mode)

    # False

    def _when_false(self, pointer: str, kind: str) -> Alternatives:
        schema = self.document.at[pointer]
        if isinstance(schema, bool):
            return NOTHING if schema else ANYTHING
        keywords = self.keywords(pointer)
        own = self._own_conjunct(pointer, keywords, kind)
        if own is None:
            return ANYTHING
        found: set[Conjunct] = set(self._own_failures(pointer, keywords, kind))
        for child in self.all_of(pointer):
            found.update(self.alternatives(child, kind, holds=False))
        for part in self._failing_parts(pointer, keywords, kind):
            if frozenset() in found:
                return ANYTHING
            found.update(part)
        return self._limited(pointer, simplest(found))

    def _failing_parts(self, pointer: str, keywords: dict[str, Any], kind: str) -> Iterator[Alternatives]:
        children = self.document.children
        if "anyOf" in keywords:
            yield self._none_of(pointer, children(pointer, "anyOf"), kind)
        if "oneOf" in keywords:
            branches = children(pointer, "oneOf")
            yield self._none_of(pointer, branches, kind)
            if (pointer, "oneOf") not in self.dropped:
                yield self._two_of(pointer, branches, kind)
        if "not" in keywords:
            yield self.alternatives(f"{pointer}/not", kind)
        if "if" in keywords:
            for keyword, holds in (("then", True), ("else", False)):
                if keyword in keywords:
                    case = self.alternatives(f"{pointer}/if", kind, holds)
                    yield self.product(pointer, case, self.alternatives(f"{pointer}/{keyword}", kind, holds=False))
        if kind == "object":
            for key, parts in self._dependencies(pointer):
                for part in parts:
                    if isinstance(part, str):
                        failing = self.alternatives(part, kind, holds=False)
                    else:
                        failing = (frozenset([part._replace(holds=False)]),)
                    yield self.product(pointer, (frozenset([_has(key, True)]),), failing)
        unevaluated = _UNEVALUATED_OF.get(kind)
        if unevaluated in keywords:
            own = self._own_conjunct(pointer, keywords, kind)
            assert own is not None
            ways = self._combine(pointer, kind, "all", own)
            yield tuple(conjunct | {Claim(pointer, unevaluated, False, seen)} for conjunct, seen in ways)

    def _none_of(self, pointer: str, branches: list[str], kind: str) -> Alternatives:
        result = ANYTHING
        for branch in branches:
            result = self.product(pointer, result, self.alternatives(branch, kind, holds=False))
        return result

    def _two_of(self, pointer: str, branches: list[str], kind: str) -> Alternatives:
        alive = [branch for branch in branches if self.alternatives(branch, kind)]
        found: list[Conjunct] = []
        for i, one in enumerate(alive):
            for other in alive[:i]:
                if not self.are_disjoint(pointer, one, other, kind):
                    found += self.product(pointer, self.alternatives(one, kind), self.alternatives(other, kind))
        return self._limited(pointer, simplest(found))

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
        for name in keywords:
            if name == "required" and kind == "object":
                yield from (frozenset([_has(key, False)]) for key in keywords[name])
            elif name in self.own[kind] and self._can_fail(name, keywords[name]):
                yield frozenset([Claim(pointer, name)])

    def _can_fail(self, keyword: str, value: Any) -> bool:
        """Whether a keyword with this value can fail by itself."""
        if keyword in ("minContains", "maxContains"):
            return False  # `contains` fails, counts included
        if keyword in ("uniqueItems", "contains"):
            return value is not False or keyword == "contains"
        if value is True or value == {} or (isinstance(value, bool) and keyword.startswith("exclusive")):
            return False  # in draft 4, `minimum` fails as `exclusiveMinimum` has it
        if keyword in ("properties", "patternProperties"):
            return any(schema is not True and schema != {} for schema in value.values())
        if keyword == "format":
            return self.asserts_format(value)
        return not (keyword in ("minLength", "minItems", "minProperties") and value == 0)

    def asserts_format(self, name: str) -> bool:
        """Whether a format is enforced, and no annotation."""
        return name in FORMATS

    # Parts

    def _own_conjunct(self, pointer: str, keywords: dict[str, Any], kind: str) -> Conjunct | None:
        """The sub-schema itself if its own keywords say something about the type, None if they exclude it."""
        names = keywords.get("type")
        says = False
        if names is not None:
            names = [names] if isinstance(names, str) else names
            if kind not in names:
                if kind != "number" or "integer" not in names:
                    return None
                says = True
        if "enum" in keywords or "const" in keywords:
            says = True
            if not any(type_of(value) == kind for value in listed_values(keywords)):
                return None
        return frozenset([pointer]) if says or not self.own[kind].isdisjoint(keywords) else frozenset()

    def _dependencies(self, pointer: str) -> Iterator[tuple[str, list[str | Claim]]]:
        """(key, what must hold where an object has it): sub-schemas, and claims about other keys."""
        keywords = self.keywords(pointer)
        for name in _BY_KEY:
            for key, needed in keywords.get(name, {}).items():
                if isinstance(needed, list):
                    yield key, [_has(other, True) for other in needed if other != key]
                else:
                    yield key, [f"{pointer}/{name}/{escape_token(key)}"]

    def are_disjoint(self, pointer: str, one: str, other: str, kind: str) -> bool:
        """Whether two branches surely never hold together for values of a type that `pointer` admits."""
        from .schema_overlap import are_disjoint

        key = (pointer, *sorted((one, other)), kind)
        found = self._disjoint.get(key)  # type: ignore[arg-type]
        if found is None:
            found = self._disjoint[key] = are_disjoint(self, [one, pointer], [other], kind)  # type: ignore[index]
        return found

    def product(self, pointer: str, left: Alternatives, right: Alternatives) -> Alternatives:
        """Both at once."""
        if right == ANYTHING:
            return left
        if left == ANYTHING:
            return right
        self._refuse_above(pointer, len(left) * len(right), MAX_PRODUCTS)
        return self._limited(pointer, simplest([a | b for a in left for b in right]))

    def _times(self, pointer: str, left: Ways, right: Ways, mode: Mode) -> Ways:
        self._refuse_above(pointer, len(left) * len(right), MAX_PRODUCTS)
        return self._bounded(pointer, _simplest_ways([(a | b, s | t) for a, s in left for b, t in right], mode))

    def _bounded(self, pointer: str, ways: Ways) -> Ways:
        self._refuse_above(pointer, len(ways), MAX_ALTERNATIVES)
        return ways

    def _limited(self, pointer: str, alternatives: Alternatives) -> Alternatives:
        self._refuse_above(pointer, len(alternatives), MAX_ALTERNATIVES)
        return alternatives

    def _refuse_above(self, pointer: str, n: int, limit: int) -> None:
        if n > limit:
            message = f"{n:,} combinations of alternatives (at most {limit:,} are built)"
            raise UnsupportedSchema([Problem(pointer, None, message, hint="Split the schema, or use fewer anyOf.")])


def listed_values(keywords: dict[str, Any]) -> list[Any]:
    """The values that `enum` and `const` of one sub-schema leave."""
    if "const" not in keywords:
        return list(keywords["enum"])
    constant = keywords["const"]
    if "enum" in keywords and value_key(constant) not in {value_key(value) for value in keywords["enum"]}:
        return []
    return [constant]


def _has(key: str, holds: bool) -> Claim:
    return Claim("", HAS, holds, key)


def _plain(alternatives: Alternatives) -> Ways:
    return tuple((conjunct, _NO_ONE) for conjunct in alternatives)


def _simplest_ways(ways: Iterable[Way], mode: Mode) -> Ways:
    if mode == "none":
        return _plain(simplest(conjunct for conjunct, _ in ways))
    unique = dict.fromkeys(way for way in ways if simplest([way[0]]))
    if mode == "all" or len(unique) > 64:
        return tuple(unique)
    kept: list[Way] = []
    for conjunct, seen in sorted(unique, key=lambda way: (len(way[0]), -len(way[1]))):
        if not any(other <= conjunct and more >= seen for other, more in kept):
            kept.append((conjunct, seen))
    return tuple(kept)


__all__ = ["Atom", "SchemaLogic", "listed_values"]
