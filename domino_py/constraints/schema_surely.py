"""Which sub-schemas surely have a value, told from their keywords alone.

An object's first key may come only where the object can be finished, and what may stand under a key matters only if
something can: to know that, every property would have to be built before the first key is read. Most need not be: some
simple value (no items, no keys, zero, a short string, one that is listed) satisfies them, whatever else does. "No" here
means that it must be built to be known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .schema_keywords import as_whole, is_number, known_keyword
from .schema_terms import listed_values
from .schema_values import json_type

if TYPE_CHECKING:
    from .schema_logic import SchemaLogic

MAX_DEPTH = 12  # sub-schemas inside each other that are looked into
_NO_CLAIMS = frozenset(
    (
        *("$schema", "id", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description", "default"),
        *("readOnly", "writeOnly", "deprecated", "examples"),
    )
)
_EMPTY_ARRAY = frozenset(("items", "prefixItems", "additionalItems", "maxItems", "uniqueItems"))
_EMPTY_OBJECT = frozenset(
    ("properties", "patternProperties", "additionalProperties", "propertyNames", "maxProperties", "dependentRequired")
)
_SOME_OBJECT = frozenset(("properties", "additionalProperties", "required"))
_BOUNDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))


def surely_has_values(logic: SchemaLogic, pointer: str, depth: int = MAX_DEPTH) -> bool:
    """Whether some value satisfies a sub-schema, as far as a look at its keywords tells."""
    schema = logic.document.at.get(pointer)
    if isinstance(schema, bool) or schema is None:
        return schema is True
    found = logic.surely_has_values.get(pointer)
    if found is None and depth:
        logic.surely_has_values[pointer] = False  # while it is decided: a reference to itself proves nothing
        found = logic.surely_has_values[pointer] = _decide(logic, pointer, depth - 1)
    return bool(found)


def _decide(logic: SchemaLogic, pointer: str, depth: int) -> bool:
    keywords, draft = logic.keywords(pointer), logic.document.draft
    claims = {name: value for name, value in keywords.items() if name not in _NO_CLAIMS and known_keyword(name, draft)}
    if "$ref" in claims:
        targets = logic.document.targets(pointer, {"$ref": claims["$ref"]})
        return len(claims) == 1 == len(targets) and surely_has_values(logic, targets[0], depth)
    if "anyOf" in claims:
        branches = logic.document.children(pointer, "anyOf")
        return len(claims) == 1 and any(surely_has_values(logic, branch, depth) for branch in branches)
    types = claims.pop("type", None)
    named = [types] if isinstance(types, str) else types
    if "enum" in claims or "const" in claims:
        return len(claims) == 1 and any(_is_simple(value, named) for value in listed_values(claims))
    if any(known.of_type is None for name in claims if (known := known_keyword(name, draft))):
        return False  # something that bears on values of all types
    if named is None:
        return True  # null
    return any(_has_type(logic, pointer, claims, name, depth) for name in named)


def _is_simple(value: Any, types: list[str] | None) -> bool:
    """Whether a listed value can be written as it stands and has one of these types."""
    kind = json_type(value)
    if kind == "string" and not (value.isascii() and value.isprintable()):
        return False
    return kind in ("null", "boolean", "string") and (types is None or kind in types)


def _has_type(logic: SchemaLogic, pointer: str, claims: dict[str, Any], name: str, depth: int) -> bool:
    """Whether some value of a type satisfies what is claimed about it."""
    kind = "number" if name == "integer" else name
    own = {name for name in claims if (known := known_keyword(name, logic.document.draft)) and known.of_type == kind}
    if kind in ("null", "boolean"):
        return True
    if kind == "number":
        return own <= _BOUNDS and any(_is_within(number, claims) for number in (0, 1, -1))
    if kind == "string":
        lo, hi = as_whole(claims.get("minLength", 0)), as_whole(claims.get("maxLength", 10**9))
        return own <= {"minLength", "maxLength"} and lo is not None and hi is not None and lo <= min(hi, 10_000)
    if kind == "array":
        return own - {"minItems"} <= _EMPTY_ARRAY and claims.get("minItems", 0) == 0
    if kind != "object" or claims.get("minProperties", 0) != 0:
        return False
    required = claims.get("required", [])
    if not required:
        return own - {"required", "minProperties"} <= _EMPTY_OBJECT
    if not own <= _SOME_OBJECT or not all(isinstance(key, str) and key.isascii() for key in required):
        return False
    places = dict(zip(claims.get("properties", {}), logic.document.children(pointer, "properties"), strict=True))
    return all(key in places and surely_has_values(logic, places[key], depth) for key in required)


def _is_within(number: int, claims: dict[str, Any]) -> bool:
    """Whether a number obeys the bounds; draft 4 says `true` and `false` of some, which is not looked into."""
    if not all(is_number(claims[name]) for name in _BOUNDS if name in claims):
        return False
    above = claims.get("minimum", number) <= number and claims.get("exclusiveMinimum", number - 1) < number
    below = number <= claims.get("maximum", number) and number < claims.get("exclusiveMaximum", number + 1)
    return bool(above and below)
