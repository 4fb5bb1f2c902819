"""Which sub-schemas must be built to know that they can be: those that say several things about one value.

The others (declared keys, items, bounds, a pattern, a reference alone, a union) are built when a text first reaches
them, and only what stands below them is looked at when the constraint is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokenizer_align.errors import ConstraintError

from .schema_document import Document
from .schema_keywords import JSON_TYPES, known_keyword
from .schema_strings import pattern_body

if TYPE_CHECKING:
    from .schema_logic import SchemaLogic

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_BELOW = ("properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties")
FOLLOWED = frozenset((*IN_PLACE, *_BELOW, "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"))
ALIKE = frozenset((*REFERENCES, *IN_PLACE))  # keywords whose sub-schemas are asked about the same value
_LENGTHS = frozenset(("minLength", "maxLength"))
_RISKY = frozenset(
    (
        "uniqueItems",
        "contains",
        "unevaluatedItems",
        "unevaluatedProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "multipleOf",
        "not",
        "if",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
    )
)
_LOOKED_AT = _RISKY | ALIKE | {"pattern", "format"}  # without any of these there is no risk


def parts_of(document: Document, pointer: str, keywords: dict[str, Any]) -> list[str]:
    """The sub-schemas that bear on what these keywords of a sub-schema say."""
    found: list[str] = []
    for name, value in keywords.items():
        if name in REFERENCES:
            found += document.targets(pointer, {name: value})
        elif name in FOLLOWED:
            found += document.children(pointer, name)
    return found


def is_risky(logic: SchemaLogic, pointer: str, keywords: dict[str, Any]) -> bool:
    """Whether parts of this sub-schema that are fine alone may be unsupported together."""
    if _LOOKED_AT.isdisjoint(keywords):
        return False
    if not _RISKY.isdisjoint(keywords) or _combines(keywords, logic.document.draft):
        return True
    if "pattern" in keywords and not _is_plain(keywords["pattern"]):
        return True
    if "allOf" in keywords and len(keywords["allOf"]) > 1:
        return True
    return "oneOf" in keywords and not _excludes_by_itself(logic, pointer)


def _combines(keywords: dict[str, Any], draft: int) -> bool:
    """Whether a sub-schema says several things about one value that must be intersected."""
    if not ALIKE.isdisjoint(keywords):
        n_parts = sum(name in keywords for name in ALIKE)
        if n_parts > 1 or any((keyword := known_keyword(name, draft)) and keyword.of_type for name in keywords):
            return True
    n_regular = ("pattern" in keywords) + ("format" in keywords)
    return n_regular + (n_regular > 0 and not _LENGTHS.isdisjoint(keywords)) > 1


def _is_plain(pattern: str) -> bool:
    """Whether a pattern holds no intersections that have to be searched."""
    try:
        return pattern_body(pattern).plain
    except ConstraintError:
        return True  # refused by itself


def _excludes_by_itself(logic: SchemaLogic, pointer: str) -> bool:
    """Whether the branches of a `oneOf` exclude each other by what they list, so that none need be negated."""
    branches = logic.document.children(pointer, "oneOf")
    try:
        for kind in JSON_TYPES:
            n_alive = sum(bool(logic.alternatives(branch, kind)) for branch in branches)
            if n_alive > 1 and not logic.is_told_apart(pointer, kind):
                return False
    except (ConstraintError, RecursionError):
        return False  # said where the sub-schema is built
    return True
