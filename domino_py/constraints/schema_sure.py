"""Sub-schemas that surely have values, told by their keywords alone: nothing of them is built to know it.

Only what is cheap and certain is said: where the answer is yes, some value satisfies the sub-schema and building it
cannot fail; where it is no, nobody knows before it is built. So an object need not build the values of all its keys to
say which keys may come.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tokenizer_align.errors import ConstraintError
from tokenizer_align.expressions import EMPTY

from .schema_keywords import as_whole
from .schema_strings import pattern_body
from .schema_values import json_type

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

_NAMING = ("$schema", "id", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$defs", "definitions")
_TELLING = ("$comment", "title", "description", "readOnly", "writeOnly", "deprecated", "examples")
_SAY_NOTHING = frozenset((*_NAMING, *_TELLING, "contentEncoding", "contentMediaType", "contentSchema"))
_LISTING = frozenset(("enum", "const", "type"))
_STRING = frozenset(("minLength", "maxLength", "pattern", "format"))
_NUMBER = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
_ARRAY = frozenset(("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"))
_OBJECT = frozenset(("properties", "patternProperties", "additionalProperties", "propertyNames", "required"))
_COUNTS = frozenset(("minProperties", "maxProperties"))
_KNOWN = _STRING | _NUMBER | _ARRAY | _OBJECT | _COUNTS | {"type"}

MAX_DEPTH = 40  # sub-schemas inside each other that are looked into


class SureValues:
    """Answers for one document; remembered by pointer."""

    def __init__(self, compiler: SchemaCompiler) -> None:
        self._compiler = compiler
        self._known: dict[str, bool] = {}
        self._depth = 0

    def has(self, pointer: str) -> bool:
        """Whether some value surely satisfies the sub-schema."""
        found = self._known.get(pointer)
        if found is None:
            if self._depth == MAX_DEPTH:
                return False
            self._known[pointer] = False  # what leans on itself is not sure
            self._depth += 1
            try:
                found = self._known[pointer] = self._has(pointer)
            finally:
                self._depth -= 1
        return found

    def has_of_every_type(self, pointer: str) -> bool:
        """Whether a sub-schema that holds no others surely has values of each type that it names: so there is nothing
        to report about it."""
        keywords = self._compiler.keywords(pointer)
        says = keywords.keys() - _SAY_NOTHING
        kinds = _types(keywords)
        if "enum" in says or "const" in says:
            return says <= _LISTING and all(
                _lists_any(keywords, one) for one in ([(k,) for k in kinds] if kinds else [None])
            )
        if not says <= _KNOWN:
            return False
        return all(
            kind in ("null", "boolean") or self._has_of(kind, pointer, keywords, says)
            for kind in kinds or ("string", "number")
        )

    def _has(self, pointer: str) -> bool:
        schema = self._compiler.document.at[pointer]
        if isinstance(schema, bool):
            return schema
        keywords = self._compiler.keywords(pointer)
        says = keywords.keys() - _SAY_NOTHING
        if "$ref" in says or "anyOf" in says:
            if len(says) > 1:
                return False
            if "$ref" in says:
                targets = self._compiler.document.targets(pointer, keywords)
                return bool(targets) and all(map(self.has, targets))
            return any(map(self.has, self._compiler.document.children(pointer, "anyOf")))
        kinds = _types(keywords)
        if "enum" in says or "const" in says:
            return says <= _LISTING and _lists_any(keywords, kinds)
        if not says <= _KNOWN:
            return False
        if kinds is None or "null" in kinds or "boolean" in kinds:
            return True
        return any(self._has_of(kind, pointer, keywords, says) for kind in kinds)

    def _has_of(self, kind: str, pointer: str, keywords: dict[str, Any], says: set[str]) -> bool:
        if kind == "string":
            return _has_string(keywords, says & _STRING)
        if kind in ("number", "integer"):
            most = self._compiler.style.digits.whole
            return _has_number(keywords, says & _NUMBER, 20 if most is None else most)
        if kind == "array":
            return self._has_array(pointer, keywords)
        return self._has_object(pointer, keywords)

    def _has_array(self, pointer: str, keywords: dict[str, Any]) -> bool:
        least = as_whole(keywords.get("minItems", 0)) or 0
        if least == 0:
            return True
        most = as_whole(keywords.get("maxItems", least)) or 0
        if most < least or "prefixItems" in keywords or keywords.get("uniqueItems") is True:
            return False
        if "items" not in keywords:
            return True
        return not isinstance(keywords["items"], list) and self.has(f"{pointer}/items")

    def _has_object(self, pointer: str, keywords: dict[str, Any]) -> bool:
        required = keywords.get("required", ())
        if (as_whole(keywords.get("minProperties", 0)) or 0) > len(required):
            return False
        if not required:
            return True
        if "patternProperties" in keywords or "propertyNames" in keywords:
            return False
        if (as_whole(keywords.get("maxProperties", len(required))) or 0) < len(required):
            return False
        declared = keywords.get("properties", {})
        others = [key for key in required if key not in declared]
        if others and self._compiler.additional_properties is False:
            return False
        if others and "additionalProperties" in keywords and not self.has(f"{pointer}/additionalProperties"):
            return False
        places = self._compiler.document.children(pointer, "properties") if declared else []
        needed = set(required)
        return all(self.has(place) for key, place in zip(declared, places, strict=True) if key in needed)


def _types(keywords: dict[str, Any]) -> tuple[str, ...] | None:
    names = keywords.get("type")
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)


def _lists_any(keywords: dict[str, Any], kinds: tuple[str, ...] | None) -> bool:
    """Whether some scalar that `enum` and `const` list is of these types."""
    if "const" in keywords and "enum" in keywords:
        return False
    for value in keywords["enum"] if "enum" in keywords else [keywords["const"]]:
        kind = json_type(value)
        if kind in ("array", "object"):
            continue
        if kinds is None or kind in kinds or (kind == "number" and "integer" in kinds and isinstance(value, int)):
            return True
    return False


def _has_string(keywords: dict[str, Any], says: set[str]) -> bool:
    if not says:
        return True
    if says <= {"minLength", "maxLength"}:
        least = as_whole(keywords.get("minLength", 0)) or 0
        most = as_whole(keywords["maxLength"]) if "maxLength" in keywords else None
        return most is None or least <= most
    if says == {"format"}:  # each holds some text, and one that is unknown says nothing
        return True
    if says == {"pattern"}:
        try:
            body = pattern_body(keywords["pattern"])
        except ConstraintError:
            return False
        return body.plain and body is not EMPTY
    return False


def _has_number(keywords: dict[str, Any], says: set[str], n_digits: int) -> bool:
    """Whether a whole number of so many digits lies between all bounds, ends left out."""
    bounds = {name: Decimal(keywords[name]) for name in says if not isinstance(keywords[name], bool)}
    lows = [value for name, value in bounds.items() if name.endswith("inimum")]
    highs = [value for name, value in bounds.items() if name.endswith("aximum")]
    if any(abs(value) >= 10 ** min(n_digits, 15) - 2 for value in bounds.values()):
        return False
    return not lows or not highs or min(highs) - max(lows) >= 2
