"""The keywords of JSON Schema, draft 4 to 2020-12: where sub-schemas stand, the shape of values, what they assert.

A keyword that a draft does not know is an annotation there, as the specification says (section 6.5 of the core).
The shapes are those of the meta-schemas; a test compares them with the `jsonschema` package's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

JSON_TYPES = ("null", "boolean", "number", "string", "array", "object")
TYPE_NAMES = frozenset((*JSON_TYPES, "integer"))
DRAFTS = {  # $schema without its empty fragment -> draft
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}
DEFAULT_DRAFT = 2020

Children = Literal["none", "one", "list", "map", "one or list", "map or lists"]


def is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def as_whole(value: Any) -> int | None:
    """A number without fraction as int (`2.0` is 2; above 10**100 all are alike), else None."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, Decimal):
        if value.adjusted() > 100:
            return 10**100 if value > 0 else -(10**100)
        return int(value) if value == value.to_integral_value() else None
    return value


def _is_count(value: Any, draft: int) -> bool:
    whole = as_whole(value)
    return whole is not None and whole >= 0 and (draft > 4 or isinstance(value, int))


def _is_schema(value: Any, draft: int) -> bool:
    return isinstance(value, dict) or (isinstance(value, bool) and draft > 4)


def _is_strings(value: Any, draft: int) -> bool:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return False
    return len(set(value)) == len(value) and (draft > 4 or bool(value))


def _is_type(value: Any, draft: int) -> bool:
    if isinstance(value, list):
        return (
            bool(value) and all(isinstance(v, str) and v in TYPE_NAMES for v in value) and len(set(value)) == len(value)
        )
    return isinstance(value, str) and value in TYPE_NAMES


def _is_schema_list(value: Any, draft: int) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_schema(item, draft) for item in value)


def _is_schema_map(value: Any, draft: int) -> bool:
    return isinstance(value, dict) and all(_is_schema(item, draft) for item in value.values())


def _is_string_map(value: Any, draft: int) -> bool:
    return isinstance(value, dict) and all(isinstance(v, list) and _is_strings(v, 7) for v in value.values())


def _is_dependencies(value: Any, draft: int) -> bool:
    if not isinstance(value, dict):
        return False
    return all(_is_strings(v, draft) if isinstance(v, list) else _is_schema(v, draft) for v in value.values())


def _is_items(value: Any, draft: int) -> bool:
    return _is_schema(value, draft) or (draft < 2020 and _is_schema_list(value, draft))


def _of(*types: type) -> Callable[[Any, int], bool]:
    return lambda value, draft: isinstance(value, types)


def _is_any_number(value: Any, draft: int) -> bool:
    return is_number(value)


def _is_exclusive(value: Any, draft: int) -> bool:
    return isinstance(value, bool) if draft == 4 else is_number(value)


def _is_enum(value: Any, draft: int) -> bool:
    return isinstance(value, list) and (draft > 6 or bool(value))


def _is_anchor(value: Any, draft: int) -> bool:
    pattern = "^[A-Za-z][-A-Za-z0-9.:_]*$" if draft == 2019 else "^[A-Za-z_][-A-Za-z0-9._]*$"
    return isinstance(value, str) and re.search(pattern, value) is not None


def _is_id(value: Any, draft: int) -> bool:
    return isinstance(value, str) and (draft < 2019 or re.search("^[^#]*#?$", value) is not None)


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword: its shape (and that in words), its sub-schemas, the JSON type it constrains, its drafts."""

    shape: Callable[[Any, int], bool]
    words: str
    children: Children = "none"
    of_type: str | None = None
    since: int = 4
    until: int = 9999


_SCHEMA = "a schema (an object, true or false)"
_COUNT = "a whole number, zero or more"
_anything = _of(object)

KEYWORDS: dict[str, Keyword] = {
    "$schema": Keyword(_of(str), "a string"),
    "id": Keyword(_of(str), "a string", until=4),
    "$id": Keyword(_is_id, "a URI reference without a fragment", since=6),
    "$anchor": Keyword(_is_anchor, "a plain name", since=2019),
    "$ref": Keyword(_of(str), "a string"),
    "$dynamicRef": Keyword(_of(str), "a string", since=2020),
    "$dynamicAnchor": Keyword(_is_anchor, "a plain name", since=2020),
    "$recursiveRef": Keyword(_of(str), "a string", since=2019, until=2019),
    "$recursiveAnchor": Keyword(_of(bool), "true or false", since=2019, until=2019),
    "$comment": Keyword(_of(str), "a string", since=7),
    "$defs": Keyword(_is_schema_map, "an object of schemas", "map", since=2019),
    "definitions": Keyword(_is_schema_map, "an object of schemas", "map"),
    "title": Keyword(_of(str), "a string"),
    "description": Keyword(_of(str), "a string"),
    "readOnly": Keyword(_of(bool), "true or false", since=7),
    "writeOnly": Keyword(_of(bool), "true or false", since=2019),
    "deprecated": Keyword(_of(bool), "true or false", since=2019),
    "examples": Keyword(_of(list), "a list", since=6),
    "type": Keyword(_is_type, "the name of a JSON type, or a list of different names"),
    "enum": Keyword(_is_enum, "a list"),
    "const": Keyword(_anything, "any value", since=6),
    "allOf": Keyword(_is_schema_list, "a list of schemas", "list"),
    "anyOf": Keyword(_is_schema_list, "a list of schemas", "list"),
    "oneOf": Keyword(_is_schema_list, "a list of schemas", "list"),
    "not": Keyword(_is_schema, _SCHEMA, "one"),
    "if": Keyword(_is_schema, _SCHEMA, "one", since=7),
    "then": Keyword(_is_schema, _SCHEMA, "one", since=7),
    "else": Keyword(_is_schema, _SCHEMA, "one", since=7),
    "minimum": Keyword(_is_any_number, "a number", of_type="number"),
    "maximum": Keyword(_is_any_number, "a number", of_type="number"),
    "exclusiveMinimum": Keyword(_is_exclusive, "a number (draft 4: true or false)", of_type="number"),
    "exclusiveMaximum": Keyword(_is_exclusive, "a number (draft 4: true or false)", of_type="number"),
    "multipleOf": Keyword(lambda v, _: is_number(v) and v > 0, "a number above zero", of_type="number"),
    "minLength": Keyword(_is_count, _COUNT, of_type="string"),
    "maxLength": Keyword(_is_count, _COUNT, of_type="string"),
    "pattern": Keyword(_of(str), "a string", of_type="string"),
    "format": Keyword(_of(str), "a string", of_type="string"),
    "items": Keyword(_is_items, "a schema (before 2020-12 also a list of schemas)", "one or list", "array"),
    "prefixItems": Keyword(_is_schema_list, "a list of schemas", "list", "array", since=2020),
    "additionalItems": Keyword(lambda v, _: isinstance(v, dict | bool), _SCHEMA, "one", "array", until=2019),
    "contains": Keyword(_is_schema, _SCHEMA, "one", "array", since=6),
    "minContains": Keyword(_is_count, _COUNT, of_type="array", since=2019),
    "maxContains": Keyword(_is_count, _COUNT, of_type="array", since=2019),
    "minItems": Keyword(_is_count, _COUNT, of_type="array"),
    "maxItems": Keyword(_is_count, _COUNT, of_type="array"),
    "uniqueItems": Keyword(_of(bool), "true or false", of_type="array"),
    "unevaluatedItems": Keyword(_is_schema, _SCHEMA, "one", "array", since=2019),
    "properties": Keyword(_is_schema_map, "an object of schemas", "map", "object"),
    "patternProperties": Keyword(_is_schema_map, "an object of schemas", "map", "object"),
    "additionalProperties": Keyword(lambda v, _: isinstance(v, dict | bool), _SCHEMA, "one", "object"),
    "propertyNames": Keyword(_is_schema, _SCHEMA, "one", "object", since=6),
    "required": Keyword(_is_strings, "a list of different strings", of_type="object"),
    "minProperties": Keyword(_is_count, _COUNT, of_type="object"),
    "maxProperties": Keyword(_is_count, _COUNT, of_type="object"),
    "dependencies": Keyword(_is_dependencies, "an object of schemas or lists of keys", "map or lists", "object"),
    "dependentRequired": Keyword(_is_string_map, "an object of lists of keys", of_type="object", since=2019),
    "dependentSchemas": Keyword(_is_schema_map, "an object of schemas", "map", "object", since=2019),
    "unevaluatedProperties": Keyword(_is_schema, _SCHEMA, "one", "object", since=2019),
    "contentEncoding": Keyword(_of(str), "a string", since=7),
    "contentMediaType": Keyword(_of(str), "a string", since=7),
    "contentSchema": Keyword(_is_schema, _SCHEMA, "one", since=2019),
}


@lru_cache(maxsize=16)
def known_keywords(draft: int) -> Mapping[str, Keyword]:
    """The keywords that a draft knows."""
    return {name: keyword for name, keyword in KEYWORDS.items() if keyword.since <= draft <= keyword.until}


def known_keyword(name: str, draft: int) -> Keyword | None:
    """The keyword, if this draft knows it."""
    return known_keywords(draft).get(name)


@lru_cache(maxsize=16)
def keywords_of_schemas(draft: int) -> frozenset[str]:
    """The keywords of a draft under which sub-schemas stand."""
    return frozenset(name for name, keyword in known_keywords(draft).items() if keyword.children != "none")


def own_keywords(json_type: str, draft: int) -> frozenset[str]:
    """The keywords of a draft that constrain values of this JSON type."""
    return frozenset(name for name in KEYWORDS if (k := known_keyword(name, draft)) and k.of_type == json_type)
