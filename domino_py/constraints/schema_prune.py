"""Conjuncts about objects that no object satisfies, seen early: before they are multiplied with others.

Chains of `if` by one key and `oneOf` of closed objects have 2^n combinations, of which hardly more than n can hold.
Only what is cheap is looked at, so what is kept may still be empty; what is left out surely is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .schema_claims import HAS, Conjunct, claims_of
from .schema_implied import Facts, Implications

if TYPE_CHECKING:
    from .schema_products import SchemaProducts

_ABOUT_KEYS = (HAS, "properties", "additionalProperties")


class Pruner:
    """Answers for one document; remembered by conjunct."""

    def __init__(self, logic: SchemaProducts, implied: Implications) -> None:
        self.logic, self.implied = logic, implied
        self._known: dict[Conjunct, bool] = {}
        self._clashes: dict[frozenset[str], bool] = {}

    def may_hold(self, conjunct: Conjunct) -> bool:
        """False where surely no object satisfies all of this."""
        if all(claim.keyword not in _ABOUT_KEYS for claim in claims_of(conjunct)):
            return True
        found = self._known.get(conjunct)
        if found is None:
            found = self._known[conjunct] = self._may_hold(self.implied.facts(conjunct))
        return found

    def _may_hold(self, facts: Facts) -> bool:
        asked: dict[str, bool] = {}

        def may_be(key: str) -> bool:
            found = asked.get(key)
            if found is None:
                found = asked[key] = facts.may_be(key) and not self._clash(facts, key)
            return found

        if not all(map(may_be, facts.required)):
            return False
        for claim in facts.failing:
            here = self.logic.keywords(claim.pointer)
            own = here.get("properties", {})
            if claim.keyword == "properties" and claim.detail is None:
                optional = [key for key in own if key not in here.get("required", ())]
                is_possible = any(may_be(key) and self._may_fail(facts, claim.pointer, key) for key in optional)
            elif claim.keyword == "properties":
                key = str(claim.detail)
                is_possible = key not in facts.required or self._may_fail(facts, claim.pointer, key)
            elif claim.keyword == "additionalProperties" and facts.allowed is not None:
                is_possible = any(may_be(key) for key in facts.allowed - own.keys())
            else:
                continue
            if not is_possible:
                return False
        return True

    def _clash(self, facts: Facts, key: str) -> bool:
        """Whether what these say about the value under a key excludes each other."""
        from .schema_overlap import are_disjoint

        below = self.implied.below(facts, key)
        if len(below) < 2:
            return any(self.logic.document.at[pointer] is False for pointer in below)
        found = self._clashes.get(below)
        if found is None:
            found = self._clashes[below] = are_disjoint(self.logic, sorted(below), [], levels=1)
        return found

    def _may_fail(self, facts: Facts, pointer: str, key: str) -> bool:
        """Whether a value under the key may fail `properties` of one sub-schema beside what must hold."""
        place = self.implied.place(pointer, key)
        assert place is not None
        return not self.implied.is_within(self.implied.below(facts, key), place)
