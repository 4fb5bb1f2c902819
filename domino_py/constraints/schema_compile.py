"""From schemas to expressions: a schema is a conjunction of assertions, split by JSON type.

A *node* is a set of sub-schemas that must all hold. For each JSON type it has *alternatives* (disjunctive normal
form of allOf, anyOf, oneOf and $ref), each a set of sub-schemas whose own keywords must all hold, a *conjunct*. A
conjunct's keywords are merged per type: strings and numbers become regular expressions, objects and arrays ask for
further nodes by key and index. Nodes and conjuncts are memoized, and a node is a rule whose body is made when it is
first needed: recursion ends, siblings of `$ref` and `allOf` of objects come out right, and only what is visited is
ever built.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from tokenizer_align.errors import ConstraintError, Problem, TooComplex, UnsupportedSchema
from tokenizer_align.expressions import EMPTY, Expr, Rule, alt, call
from tokenizer_align.recognizer import matches

from . import json as grammar
from .json_layout import JsonStyle
from .schema_document import Document
from .schema_keywords import JSON_TYPES, own_keywords
from .schema_numbers import NumberSet, number_set
from .schema_strings import StringSet, string_set
from .schema_values import any_of_values, compact_text, json_type, value_key

Conjunct = frozenset[str]
Alternatives = tuple[Conjunct, ...]

ANYTHING: Alternatives = (frozenset(),)
MAX_ALTERNATIVES = 500  # branches of a node after anyOf and oneOf are multiplied out
MAX_FORCED = 5_000  # nodes built ahead where a schema could turn out to be unsupported only there


class SchemaCompiler:
    """Builds the expressions of one document; `dropped` holds (pointer, keyword) pairs that are left out on request."""

    def __init__(
        self,
        document: Document,
        style: JsonStyle,
        *,
        is_ordered: bool = False,
        additional_properties: bool | None = None,
        merges_repeats: bool = False,
        dropped: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self.document, self.style = document, style
        self.is_ordered, self.additional_properties, self.dropped = is_ordered, additional_properties, dropped
        self.merges_repeats = (
            merges_repeats  # where different items cannot be enforced, repeats will do (Python's sets)
        )
        self.contradictions: dict[tuple[str, str], Problem] = {}
        self._own = {json_type: own_keywords(json_type, document.draft) for json_type in JSON_TYPES}
        self._keywords: dict[str, dict[str, Any]] = {}
        self._alternatives: dict[tuple[str, str], Alternatives] = {}
        self._nodes: dict[Conjunct, Expr] = {}
        self._rules: list[Rule] = []
        self._conjuncts: dict[tuple[str, Conjunct], Expr] = {}

    # What a sub-schema says itself

    def keywords(self, pointer: str) -> dict[str, Any]:
        """The keywords that count at a sub-schema."""
        found = self._keywords.get(pointer)
        if found is None:
            found = self.document.keywords(pointer)
            if self.dropped:
                found = {name: value for name, value in found.items() if (pointer, name) not in self.dropped}
            self._keywords[pointer] = found
        return found

    def alternatives(self, pointer: str, json_type: str) -> Alternatives:
        """The conjuncts of which one must hold for a value of this type."""
        key = (pointer, json_type)
        found = self._alternatives.get(key)
        if found is None:
            found = self._alternatives[key] = self._expand(pointer, json_type)
        return found

    def _expand(self, pointer: str, json_type: str) -> Alternatives:
        schema = self.document.at[pointer]
        if isinstance(schema, bool):
            return ANYTHING if schema else ()
        keywords = self.keywords(pointer)
        own = self._own_conjunct(pointer, keywords, json_type)
        if own is None:
            return ()
        result: Alternatives = (own,)
        for child in self.all_of(pointer):
            result = self._product(pointer, result, self.alternatives(child, json_type))
        for keyword in ("anyOf", "oneOf"):
            if keyword in keywords:
                branches = [self.alternatives(child, json_type) for child in self.document.children(pointer, keyword)]
                result = self._product(pointer, result, _simplest({c for branch in branches for c in branch}))
        return result

    def all_of(self, pointer: str) -> list[str]:
        """The sub-schemas that must hold in the same place whatever the value is: `$ref` and `allOf`."""
        keywords = self.keywords(pointer)
        found = self.document.children(pointer, "allOf") if "allOf" in keywords else []
        target = self.document.resolve(pointer, keywords["$ref"]) if "$ref" in keywords else None
        return found if target is None else [target, *found]

    def _own_conjunct(self, pointer: str, keywords: dict[str, Any], json_type: str) -> Conjunct | None:
        """The sub-schema itself if its own keywords say something about the type, None if they exclude it."""
        names = keywords.get("type")
        says = False
        if names is not None:
            names = [names] if isinstance(names, str) else names
            if json_type not in names:
                if json_type != "number" or "integer" not in names:
                    return None
                says = True
        if "enum" in keywords or "const" in keywords:
            says = True
            if not any(json_type_of == json_type for json_type_of in map(_type_of, listed_values(keywords))):
                return None
        return frozenset([pointer]) if says or not self._own[json_type].isdisjoint(keywords) else frozenset()

    def _product(self, pointer: str, left: Alternatives, right: Alternatives) -> Alternatives:
        if right == ANYTHING:
            return left
        if len(left) * len(right) > MAX_ALTERNATIVES:
            message = f"more than {MAX_ALTERNATIVES} combinations of alternatives"
            raise UnsupportedSchema([Problem(pointer, None, message, hint="Split the schema, or use fewer anyOf.")])
        return _simplest({a | b for a in left for b in right})

    # Nodes

    def value(self, pointers: Iterable[str]) -> Expr:
        """The JSON values that satisfy all these sub-schemas."""
        key = frozenset(pointers)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._node(key)
        return found

    def _node(self, key: Conjunct) -> Expr:
        if any(self.document.at[pointer] is False for pointer in key):
            return EMPTY
        if all(self.document.at[pointer] is True for pointer in key):
            return grammar.any_value(self.style)
        rule = Rule(" & ".join(sorted(pointer or "#" for pointer in key)))
        rule.define(lambda: self._body(key))
        self._rules.append(rule)
        return call(rule)

    def _body(self, key: Conjunct) -> Expr:
        by_type = {json_type: self.conjuncts(key, json_type) for json_type in JSON_TYPES}
        if all(found == ANYTHING for found in by_type.values()):
            return grammar.any_value(self.style)
        body = alt(*(self.conjunct(kind, c) for kind, found in by_type.items() for c in found))
        if body is EMPTY and not any(by_type.values()):
            self.note_contradiction(key, None, "no value satisfies all of this together")
        return body

    def conjuncts(self, key: Conjunct, json_type: str) -> Alternatives:
        """The alternatives of a node for one JSON type."""
        result = ANYTHING
        for pointer in sorted(key, key=self.document.order.__getitem__):
            result = self._product(pointer, result, self.alternatives(pointer, json_type))
        return result

    def conjunct(self, json_type: str, conjunct: Conjunct) -> Expr:
        """The values of one type that satisfy the own keywords of all these sub-schemas."""
        key = (json_type, conjunct)
        found = self._conjuncts.get(key)
        if found is None:
            found = self._conjuncts[key] = self._build_conjunct(json_type, conjunct)
        return found

    def _build_conjunct(self, json_type: str, conjunct: Conjunct) -> Expr:
        places = self.in_order(conjunct)
        listing = [pointer for pointer in places if not self.keywords(pointer).keys().isdisjoint(("enum", "const"))]
        n_known = len(self.contradictions)
        result = self._listed(json_type, places, listing) if listing else self.unlisted(json_type, places)
        if result is EMPTY and len(self.contradictions) == n_known:
            said = dict.fromkeys(text for pointer in places for text in self.said_about(pointer, json_type))
            self.note_contradiction(conjunct, None, f"no {json_type} satisfies {' and '.join(said)}")
        return result

    def unlisted(self, json_type: str, places: list[str]) -> Expr:
        """As `conjunct`, without regard to `enum` and `const`."""
        from .schema_arrays import array_expression
        from .schema_objects import object_expression

        if json_type == "null":
            return grammar.NULL
        if json_type == "boolean":
            return alt(grammar.TRUE, grammar.FALSE)
        if json_type == "number":
            return self.numbers(places).expression(self.style)
        if json_type == "string":
            return self.strings(places).expression()
        build = array_expression if json_type == "array" else object_expression
        return build(
            self, [pointer for pointer in places if not self._own[json_type].isdisjoint(self.keywords(pointer))]
        )

    def numbers(self, places: list[str]) -> NumberSet:
        return number_set((self.keywords(pointer) for pointer in places), self.document.draft)

    def strings(self, places: list[str]) -> StringSet:
        return string_set((self.keywords(pointer) for pointer in places), self.style.digits.fraction)

    def _listed(self, json_type: str, places: list[str], listing: list[str]) -> Expr:
        values = self.listed(json_type, places, listing)
        return any_of_values(values, self.style)

    def listed(self, json_type: str, places: list[str], listing: list[str]) -> list[Any]:
        """The values of this type that all `enum` and `const` name and that the other keywords admit."""
        common: dict[Any, Any] | None = None
        for pointer in listing:
            here = {value_key(v): v for v in listed_values(self.keywords(pointer)) if _type_of(v) == json_type}
            common = here if common is None else {key: value for key, value in common.items() if key in here}
        values = list((common or {}).values())
        if json_type == "number":
            return [value for value in values if self.numbers(places).holds(value)]
        if all(self._own[json_type].isdisjoint(self.keywords(pointer)) for pointer in places):
            return values
        if json_type == "string":
            body = self.strings(places)
            values = [v for v in values if body.lo <= len(v) and (body.hi is None or len(v) <= body.hi)]
            if not body.bodies:
                return values
        others = self.unlisted(json_type, places)
        return [value for value in values if matches(others, compact_text(value))]

    # Order, reports, and building ahead

    def in_order(self, pointers: Iterable[str]) -> list[str]:
        return sorted(pointers, key=self.document.order.__getitem__)

    def said_about(self, pointer: str, json_type: str) -> list[str]:
        """The keywords of a sub-schema that bear on a type, for messages; with their values where those are short."""
        found = []
        for name, value in self.keywords(pointer).items():
            if name in self._own[json_type] or name in ("enum", "const") or value == "integer":
                is_short = isinstance(value, int | Decimal | str) and len(str(value)) <= 40
                found.append(f'"{name}": {str(value).lower()}' if is_short else f'"{name}"')
        return found

    def note_contradiction(self, pointers: Iterable[str], keyword: str | None, message: str) -> None:
        """Remember that these sub-schemas exclude each other here; it matters only if the place is needed."""
        places = self.in_order(pointers) or [""]
        if len(places) > 1:
            message += " (together with " + ", ".join(place or "the root" for place in places[1:]) + ")"
        self.contradictions.setdefault((places[0], message), Problem(places[0], keyword, message))

    def build_ahead(self) -> None:
        """Build every node that can be reached. Raises UnsupportedSchema with all that cannot be built."""
        self.value([""])
        problems: list[Problem] = []
        done = 0
        while done < len(self._rules):
            if done > MAX_FORCED:
                raise TooComplex(
                    f"the schema has more than {MAX_FORCED:,} different places once its parts are combined"
                )
            rule = self._rules[done]
            done += 1
            try:
                _ = rule.body
            except UnsupportedSchema as error:
                problems += error.problems
            except ConstraintError as error:
                place = rule.name.split(" & ")[0]
                problems.append(Problem("" if place == "#" else place, None, str(error)))
        if problems:
            raise UnsupportedSchema(list(dict.fromkeys(problems)))


_type_of = json_type


def listed_values(keywords: dict[str, Any]) -> list[Any]:
    """The values that `enum` and `const` of one sub-schema leave."""
    if "const" not in keywords:
        return list(keywords["enum"])
    constant = keywords["const"]
    if "enum" in keywords and value_key(constant) not in {value_key(value) for value in keywords["enum"]}:
        return []
    return [constant]


def _simplest(conjuncts: set[Conjunct]) -> Alternatives:
    """Without conjuncts that ask for more than another one; in a fixed order."""
    ordered = sorted(conjuncts, key=lambda c: (len(c), sorted(c)))
    if len(ordered) > 64:
        return tuple(ordered)
    kept: list[Conjunct] = []
    for conjunct in ordered:
        if not any(other <= conjunct for other in kept):
            kept.append(conjunct)
    return tuple(kept)
