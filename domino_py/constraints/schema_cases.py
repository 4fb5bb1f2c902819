"""Cases by the value of one key, where alternatives would be too many when multiplied out.

Chains of dependencies and unions of branches often ask for one key again and again (`"type": {"enum": …}`). Inside one
case (the key is missing; its value is one of those that all of them treat alike; it is none they name) most of them
hold or fail for sure, so a few cases stand for what would be 2^n combinations. The cases are sub-schemas that the
document does not have; together they say nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from .schema_claims import Alternatives, Claim, Conjunct
from .schema_terms import has_key
from .schema_values import json_type

if TYPE_CHECKING:
    from .schema_products import SchemaProducts

MAX_CASES = 100
LEAST_FACTORS = 3  # that say something about the key


def key_cases(logic: SchemaProducts, pointer: str, factors: list[Alternatives]) -> Alternatives:
    """Cases by the key that most of these list values of; none where no key will do."""
    lists: dict[str, dict[frozenset[Hashable], dict[Hashable, Any]]] = {}
    n_factors: dict[str, int] = {}
    for factor in factors:
        here = dict.fromkeys(found for conjunct in factor for found in _listing(logic, conjunct))
        for key, place in here:
            listed = logic.outline_at(place).listed or {}
            lists.setdefault(key, {})[frozenset(listed)] = listed
        for key in dict.fromkeys(key for key, _ in here):
            n_factors[key] = n_factors.get(key, 0) + 1
    for key in sorted(n_factors, key=lambda key: -n_factors[key]):
        if n_factors[key] >= LEAST_FACTORS:
            found = _cases(logic, pointer, key, list(lists[key].values()))
            if found:
                return found
    return ()


def _listing(logic: SchemaProducts, conjunct: Conjunct) -> Iterable[tuple[str, str]]:
    """(key, the sub-schema of its value) wherever that lists its values."""
    for atom in conjunct:
        if isinstance(atom, Claim) and (atom.keyword != "properties" or atom.holds):
            continue
        pointer = atom.pointer if isinstance(atom, Claim) else atom
        only = atom.detail if isinstance(atom, Claim) else None
        for key in logic.keywords(pointer).get("properties", ()):
            place = logic.property_place(pointer, key)
            if only in (None, key) and place is not None and logic.outline_at(place).listed is not None:
                yield key, place


def _cases(logic: SchemaProducts, pointer: str, key: str, lists: list[dict[Hashable, Any]]) -> Alternatives:
    values = {name: value for listed in lists for name, value in listed.items()}
    if any(json_type(value) in ("array", "object") for value in values.values()):
        return ()
    classes: dict[tuple[bool, ...], list[Any]] = {}
    for name, value in values.items():
        classes.setdefault(tuple(name in listed for listed in lists), []).append(value)
    if len(classes) + 2 > MAX_CASES:
        return ()
    inside: list[dict[str, Any]] = [{"enum": members} for members in classes.values()]
    inside.append({"not": {"enum": list(values.values())}})
    made = [logic.document.add_case(pointer, {"properties": {key: part}, "required": [key]}) for part in inside]
    return (frozenset([has_key(key, False)]), *(frozenset([place]) for place in made))
