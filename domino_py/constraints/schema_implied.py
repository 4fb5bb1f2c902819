"""What claims about one object already say: alternatives that hold anyway need not be multiplied out.

Branches of a union tell each other apart by what they say about one key, and so does what fails them: beside
`"type": "a"`, "the type is not b" is nothing new. Without that, what fails twelve branches is 2^12 combinations.
Only what is cheap is looked at, so what is not found to be implied may still be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .schema_claims import HAS, Claim, Conjunct, claims_of, positives
from .schema_literals import literal_start
from .schema_source import escape_token
from .schema_terms import listed_values
from .schema_values import value_key

if TYPE_CHECKING:
    from .schema_overlap import Outline
    from .schema_products import SchemaProducts

_REMARKS = frozenset(("title", "description", "default", "examples", "$comment", "readOnly", "writeOnly", "deprecated"))
_VALUES = frozenset(("enum", "const", "default", "examples"))
_LISTING = frozenset(("enum", "const"))
_DECIDED = frozenset(("type", "enum", "const"))  # sub-schemas of these alone are compared by what they admit


@dataclass(frozen=True, slots=True)
class Facts:
    """What a conjunct says about keys: `allowed` (None: all) are the only ones, `failing` the claims that are left."""

    holding: tuple[str, ...]
    failing: tuple[Claim, ...]
    required: frozenset[str]
    absent: frozenset[str]
    allowed: frozenset[str] | None

    def may_be(self, key: str) -> bool:
        return key not in self.absent and (self.allowed is None or key in self.allowed)


class Implications:
    """Answers for one document; remembered by conjunct and by places."""

    def __init__(self, logic: SchemaProducts) -> None:
        self.logic = logic
        self._facts: dict[Conjunct, Facts] = {}
        self._places: dict[tuple[str, str], str | None] = {}
        self._within: dict[tuple[frozenset[str], str], bool] = {}
        self._apart: dict[tuple[frozenset[str], str], bool] = {}
        self._same: dict[str, str] = {}

    def facts(self, conjunct: Conjunct) -> Facts:
        """What a conjunct about objects says about keys."""
        found = self._facts.get(conjunct)
        if found is None:
            found = self._facts[conjunct] = self._read(conjunct)
        return found

    def _read(self, conjunct: Conjunct) -> Facts:
        holding, failing = positives(conjunct), claims_of(conjunct)
        absent = frozenset(str(claim.detail) for claim in failing if claim.keyword == HAS and not claim.holds)
        required = {str(claim.detail) for claim in failing if claim.keyword == HAS and claim.holds}
        allowed: frozenset[str] | None = None
        for pointer in holding:
            here = self.logic.keywords(pointer)
            required |= set(here.get("required", ()))
            if here.get("additionalProperties") is False and not here.get("patternProperties"):
                own = frozenset(here.get("properties", ()))
                allowed = own if allowed is None else allowed & own
        return Facts(tuple(holding), tuple(failing), frozenset(required), absent, allowed)

    def place(self, pointer: str, key: str) -> str | None:
        """The sub-schema that `properties` of another one has for a key."""
        pair = (pointer, key)
        if pair not in self._places:
            is_named = key in self.logic.keywords(pointer).get("properties", ())
            self._places[pair] = f"{pointer}/properties/{escape_token(key)}" if is_named else None
        return self._places[pair]

    def below(self, facts: Facts, key: str) -> frozenset[str]:
        """The sub-schemas that the value under a key must satisfy, as far as `properties` say."""
        places = (self.place(pointer, key) for pointer in facts.holding)
        return frozenset(place for place in places if place is not None)

    def holds_anyway(self, held: Conjunct, more: Conjunct) -> bool:
        """Whether every object of which all of `held` is true surely satisfies all of `more`."""
        new = more - held
        if not new:
            return True
        facts = self.facts(held)
        return all(self._says(facts, atom) if isinstance(atom, Claim) else self._holds(facts, atom) for atom in new)

    def _says(self, facts: Facts, claim: Claim) -> bool:
        key, pointer = claim.detail, claim.pointer
        if claim.keyword == HAS:
            return key in facts.required if claim.holds else not facts.may_be(str(key))
        if claim.holds or claim.keyword not in ("properties", "additionalProperties"):
            return False
        own = self.logic.keywords(pointer).get("properties", {})
        if claim.keyword == "additionalProperties":
            here = self.logic.keywords(pointer)
            is_closed = here.get("additionalProperties") is False and not here.get("patternProperties")
            return is_closed and not facts.required <= own.keys()
        if key is None:
            optional = own.keys() - set(self.logic.keywords(pointer).get("required", ()))
            return any(self._must_fail(facts, pointer, name) for name in facts.required & optional)
        return not facts.may_be(str(key)) or self._must_fail(facts, pointer, str(key))

    def _must_fail(self, facts: Facts, pointer: str, key: str) -> bool:
        """Whether a value under the key surely fails what `properties` of one sub-schema say."""
        place = self.place(pointer, key)
        assert place is not None
        if self.are_apart(self.below(facts, key), place):
            return True
        for claim in facts.failing:
            if claim.keyword == "properties" and claim.detail == key and not claim.holds:
                other = self.place(claim.pointer, key)
                if other is not None and self.is_within(frozenset([place]), other):
                    return True
        return False

    def _holds(self, facts: Facts, pointer: str) -> bool:
        """Whether `properties` and `required` of a sub-schema hold, where it says nothing else about objects."""
        here = self.logic.keywords(pointer)
        said = self.logic.own["object"] & here.keys()
        if not said <= {"properties", "required"} or not _DECIDED.isdisjoint(here.keys() - {"type"}):
            return False
        if not facts.required >= set(here.get("required", ())):
            return False
        for key in here.get("properties", ()):
            place = self.place(pointer, key)
            assert place is not None
            below = self.below(facts, key)
            if facts.may_be(key) and not (below and self.is_within(below, place)):
                return False
        return True

    # Values

    def are_apart(self, places: frozenset[str], place: str) -> bool:
        """Whether surely no value satisfies all of the first and the other one."""
        from .schema_overlap import are_disjoint

        if not places or place in places:
            return False
        found = self._apart.get((places, place))
        if found is None:
            found = self._apart[places, place] = are_disjoint(self.logic, sorted(places), [place], levels=1)
        return found

    def is_within(self, places: frozenset[str], place: str) -> bool:
        """Whether surely every value that satisfies all of the first satisfies the other one."""
        if place in places:
            return True
        found = self._within.get((places, place))
        if found is None:
            found = self._within[places, place] = self._is_within(places, place)
        return found

    def _is_within(self, places: frozenset[str], place: str) -> bool:
        from .schema_overlap import outline_of

        schema = self.logic.document.at[place]
        if isinstance(schema, bool):
            return schema
        same = self.same_as(place)
        if any(self.same_as(other) == same for other in places):
            return True
        keywords = self.logic.keywords(place)
        said = keywords.keys() - _REMARKS
        if not said:
            return True
        outline = outline_of(self.logic, sorted(places))
        if said == {"type", "pattern"} and keywords["type"] == "string" and outline.listed is not None:
            start = literal_start(keywords["pattern"])
            return start is not None and start[1] and outline.listed.keys() <= {value_key(start[0])}
        if not said <= _DECIDED | {"not"}:
            return False
        if "not" in said and not self._avoids(outline, keywords["not"]):
            return False
        if "type" in keywords:
            names = {keywords["type"]} if isinstance(keywords["type"], str) else set(keywords["type"])
            if "integer" in names and "number" not in names and outline.is_integer:
                names.add("number")
            if not outline.types <= names:
                return False
        if said <= {"type", "not"}:
            return True
        if outline.listed is None:
            return False
        return outline.listed.keys() <= {value_key(value) for value in listed_values(keywords)}

    def _avoids(self, outline: Outline, unwanted: Any) -> bool:
        """Whether the values of an outline surely are none that a sub-schema of listed values alone admits."""
        if not isinstance(unwanted, dict) or not unwanted.keys() <= _LISTING or not unwanted:
            return False
        listed = {value_key(value) for value in listed_values(unwanted)}
        return listed <= outline.excluded or (outline.listed is not None and listed.isdisjoint(outline.listed))

    def same_as(self, place: str) -> str:
        """Equal for sub-schemas that say the same, by their text and where their references are read from."""
        found = self._same.get(place)
        if found is None:
            document = self.logic.document
            scope = place.partition("!")[0] if place.startswith("~") else ""
            found = self._same[place] = f"{scope} {document.base_of(place)} {_shape(document.at[place])}"
        return found


def _shape(value: Any, is_value: bool = False) -> str:
    """One text for what says the same, remarks left out; inside listed values nothing is a remark."""
    if isinstance(value, dict):
        kept = [(key, item) for key, item in value.items() if is_value or not _is_remark(key, item)]
        inside = sorted((key, _shape(item, is_value or key in _VALUES)) for key, item in kept)
        return "{" + ",".join(f"{key!r}:{text}" for key, text in inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_shape(item, is_value) for item in value) + "]"
    return repr(value)


def _is_remark(key: str, item: Any) -> bool:
    return key in ("title", "description") and isinstance(item, str)
