"""Conjuncts about objects that no object satisfies, seen early: before they are multiplied with others.

Chains of `if` by one key and `oneOf` of closed objects have 2^n combinations, of which hardly more than n can hold.
Only what is cheap is looked at, so what is kept may still be empty; what is left out surely is.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from .schema_claims import HAS, Claim, Conjunct, claims_of, positives
from .schema_source import escape_token
from .schema_terms import listed_values
from .schema_values import value_key

if TYPE_CHECKING:
    from .schema_logic import SchemaLogic

_LISTING = frozenset(("const", "enum"))


class Pruner:
    """Answers for one document; remembered by conjunct."""

    def __init__(self, logic: SchemaLogic) -> None:
        self.logic = logic
        self._known: dict[Conjunct, bool] = {}
        self._clashes: dict[frozenset[str], bool] = {}
        self._failing: dict[tuple[str, frozenset[str]], bool] = {}
        self._places: dict[tuple[str, str], str | None] = {}

    def may_hold(self, conjunct: Conjunct) -> bool:
        """False where surely no object satisfies all of this."""
        failing = [
            claim for claim in claims_of(conjunct) if claim.keyword in (HAS, "properties", "additionalProperties")
        ]
        if not failing:
            return True
        found = self._known.get(conjunct)
        if found is None:
            found = self._known[conjunct] = self._may_hold(positives(conjunct), failing)
        return found

    def _may_hold(self, holding: list[str], failing: list[Claim]) -> bool:
        keywords = self.logic.keywords
        absent = {claim.detail for claim in failing if claim.keyword == HAS and not claim.holds}
        required: set[Any] = {claim.detail for claim in failing if claim.keyword == HAS and claim.holds}
        allowed: set[str] | None = None
        for pointer in holding:
            here = keywords(pointer)
            required |= set(here.get("required", ()))
            if here.get("additionalProperties") is False and not here.get("patternProperties"):
                own = set(here.get("properties", ()))
                allowed = own if allowed is None else allowed & own

        asked: dict[Hashable, bool] = {}

        def may_be(key: Hashable) -> bool:
            found = asked.get(key)
            if found is None:
                is_open = key not in absent and (allowed is None or key in allowed)
                found = asked[key] = is_open and not self._clash(holding, str(key))
            return found

        if not all(map(may_be, required)):
            return False
        for claim in failing:
            own = keywords(claim.pointer).get("properties", {})
            if claim.keyword == "properties" and claim.detail is None:
                is_possible = any(may_be(key) and self._may_fail(holding, claim.pointer, key) for key in own)
            elif claim.keyword == "properties":
                is_possible = claim.detail not in required or self._may_fail(holding, claim.pointer, str(claim.detail))
            else:
                is_about_others = claim.keyword == "additionalProperties" and allowed is not None
                is_possible = not is_about_others or any(may_be(key) for key in (allowed or set()) - set(own))
            if not is_possible:
                return False
        return True

    def _below(self, holding: list[str], key: str) -> list[str]:
        found = []
        for pointer in holding:
            pair = (pointer, key)
            if pair in self._places:
                place = self._places[pair]
            else:
                is_named = key in self.logic.keywords(pointer).get("properties", ())
                place = self._places[pair] = f"{pointer}/properties/{escape_token(key)}" if is_named else None
            if place is not None:
                found.append(place)
        return found

    def _clash(self, holding: list[str], key: str) -> bool:
        """Whether what these say about the value under a key excludes each other."""
        from .schema_overlap import are_disjoint

        below = frozenset(self._below(holding, key))
        if len(below) < 2:
            return any(self.logic.document.at[pointer] is False for pointer in below)
        found = self._clashes.get(below)
        if found is None:
            found = self._clashes[below] = are_disjoint(self.logic, sorted(below), [], levels=1)
        return found

    def _may_fail(self, holding: list[str], pointer: str, key: str) -> bool:
        """Whether a value under the key may fail `properties` of one sub-schema beside what must hold."""
        place = f"{pointer}/properties/{escape_token(key)}"
        schema = self.logic.document.at[place]
        if schema is True or schema == {}:
            return False
        below = frozenset(self._below(holding, key))
        found = self._failing.get((place, below))
        if found is None:
            found = self._failing[place, below] = self._may_fail_beside(below, place, schema)
        return found

    def _may_fail_beside(self, below: frozenset[str], place: str, schema: Any) -> bool:
        if place in below:
            return False
        if not isinstance(schema, dict) or not self.logic.keywords(place).keys() & _LISTING:
            return True
        asserting = self.logic.keywords(place).keys() - _LISTING - {"title", "description", "type"}
        admitted = {value_key(value) for value in listed_values(self.logic.keywords(place))}
        listing = [p for p in below if self.logic.keywords(p).keys() & _LISTING]
        return bool(asserting) or not any(
            {value_key(value) for value in listed_values(self.logic.keywords(p))} <= admitted for p in listing
        )
