"""Findings about a schema that do not stop it: what is not enforced, what has no effect, what is probably a mistake."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from tokenizer_align.errors import Problem

from .quiet import is_quiet
from .schema_compile import SchemaCompiler
from .schema_document import Document
from .schema_formats import FORMATS
from .schema_keywords import KEYWORDS, known_keyword, known_keywords
from .schema_source import escape_token
from .schema_values import json_type

_NEEDS = {  # keyword -> keywords without which it says nothing
    "then": ("if",),
    "else": ("if",),
    "if": ("then", "else"),
    "minContains": ("contains",),
    "maxContains": ("contains",),
    "contentSchema": ("contentMediaType",),
}
# Keywords that only some drafts know, and that assert nothing.
_NAMING = frozenset(("id", "$id", "$anchor", "definitions", "$defs", "examples", "$comment", "readOnly", "writeOnly"))
# Words of OpenAPI, of Pydantic and of form builders that only look like misspelt keywords.
_FOREIGN = frozenset(
    ("nullable", "discriminator", "example", "xml", "externalDocs", "default", "enumNames", "strict", "name")
)


def findings(document: Document, compiler: SchemaCompiler, reached: list[str]) -> list[Problem]:
    """Warnings and notes about every sub-schema that can be reached."""
    result: list[Problem] = []
    for pointer in reached:
        schema = document.at[pointer]
        if isinstance(schema, dict):
            for rule in (_formats, _wrong_type, _alone, _unknown, _hidden, _impossible_values):
                result += rule(document, pointer, schema)
            result += _closed_objects(document, compiler, pointer, schema)
            result += _closed_parts(document, compiler, pointer, schema)
            result += _required_misspelt(document, compiler, pointer, schema)
    return result


def _formats(document: Document, pointer: str, schema: dict[str, Any]) -> Iterator[Problem]:
    name = schema.get("format")
    if isinstance(name, str) and name not in FORMATS:
        message = f'the format "{name}" is not enforced (it is an annotation)'
        yield Problem(f"{pointer}/format", "format", message, "note", "Use a pattern to enforce it.")


def _types(schema: dict[str, Any]) -> set[str] | None:
    names = schema.get("type")
    if names is None:
        return None
    return {"number" if n == "integer" else n for n in ([names] if isinstance(names, str) else names)}


def _wrong_type(document: Document, pointer: str, schema: dict[str, Any]) -> Iterator[Problem]:
    types = _types(schema)
    for name in schema:
        keyword = known_keyword(name, document.draft)
        if keyword and keyword.of_type and types is not None and keyword.of_type not in types:
            message = f'"{name}" has no effect: it is about {keyword.of_type}s, and "type" excludes them,'
            yield Problem(f"{pointer}/{name}", name, message, "warning")


def _alone(document: Document, pointer: str, schema: dict[str, Any]) -> Iterator[Problem]:
    for name, needed in _NEEDS.items():
        if name in schema and known_keyword(name, document.draft) and schema.keys().isdisjoint(needed):
            message = f'"{name}" has no effect without ' + " or ".join(f'"{other}"' for other in needed)
            yield Problem(f"{pointer}/{name}", name, message, "warning")
    if "additionalItems" in schema and not isinstance(schema.get("items"), list):
        message = '"additionalItems" has no effect' + (
            ' without a list in "items"' if document.draft < 2020 else ' since 2020-12: use "prefixItems" and "items"'
        )
        yield Problem(f"{pointer}/additionalItems", "additionalItems", message, "warning")


def _unknown(document: Document, pointer: str, schema: dict[str, Any]) -> Iterator[Problem]:
    for name in schema:
        if known_keyword(name, document.draft) or name in _FOREIGN or name.startswith("x-"):
            continue
        place = f"{pointer}/{escape_token(name)}"
        if name in KEYWORDS:
            if name != "additionalItems":
                message = f'"{name}" is unknown in draft {document.draft} and has no effect'
                yield Problem(place, name, message, "warning", 'Say which draft is meant by "$schema".')
            continue
        near = _nearest(name, document.draft)
        if near:
            message = f'the unknown keyword "{name}" has no effect'
            yield Problem(place, name, message, "warning", f'Did you mean "{near}"?')


@lru_cache(maxsize=4096)
def _nearest(name: str, draft: int) -> str | None:
    folded = {other.lower().strip("$"): other for other in KEYWORDS if known_keyword(other, draft)}
    near = difflib.get_close_matches(name.lower().strip("$"), folded, n=1, cutoff=0.8)
    return folded[near[0]] if near else None


def log_misspelt(document: Document, logger: logging.Logger) -> None:
    """Warn of misspelt keywords where a schema is used that may never have been checked."""
    for problem in () if is_quiet() else misspelt(document):
        logger.warning("%s", problem)


def misspelt(document: Document) -> list[Problem]:
    """Unknown keywords that look like known ones, or are known in other drafts: legal, without effect, hardly meant."""
    known = known_keywords(document.draft).keys()
    return [
        problem
        for pointer, schema in document.at.items()
        if isinstance(schema, dict) and not schema.keys() <= known
        for problem in _unknown(document, pointer, schema)
        if problem.keyword not in _NAMING
    ]


def _hidden(document: Document, pointer: str, schema: dict[str, Any]) -> Iterator[Problem]:
    if document.draft < 2019 and "$ref" in schema:
        hidden = [
            name for name in schema if name != "$ref" and (k := known_keyword(name, document.draft)) and _asserts(k)
        ]
        if hidden:
            message = f'{", ".join(hidden)} beside "$ref" has no effect before 2019-09'
            yield Problem(f"{pointer}/$ref", "$ref", message, "warning", "Put both into allOf.")


def _asserts(keyword: Any) -> bool:
    return keyword.of_type is not None or keyword in (KEYWORDS["type"], KEYWORDS["enum"], KEYWORDS["const"])


def _impossible_values(document: Document, pointer: str, schema: dict[str, Any]) -> Iterator[Problem]:
    types = _types(schema)
    if types is None:
        return
    for i, value in enumerate(schema.get("enum", ())):
        if json_type(value) not in types:
            message = f'the value {value!r} can never occur: "type" excludes it,'
            yield Problem(f"{pointer}/enum/{i}", "enum", message, "warning")


def _closed_objects(
    document: Document, compiler: SchemaCompiler, pointer: str, schema: dict[str, Any]
) -> Iterator[Problem]:
    if schema.get("additionalProperties") is not False or schema.get("patternProperties"):
        return
    own = set(schema.get("properties", ()))
    for key in schema.get("required", ()):
        if key not in own:
            message = f"the required key {key!r} is not allowed: it is not among the properties,"
            hint = 'Declare it, or drop "additionalProperties": false.'
            yield Problem(f"{pointer}/required", "required", message, "warning", hint)
    beside = sorted(_keys_beside(document, compiler, pointer) - own)
    if beside:
        message = (
            f'"additionalProperties": false also forbids the keys of the schemas beside it ({", ".join(beside[:8])}),'
        )
        hint = "It sees only the properties of its own object; declare them there as well."
        yield Problem(f"{pointer}/additionalProperties", "additionalProperties", message, "warning", hint)


def _closed_parts(
    document: Document, compiler: SchemaCompiler, pointer: str, schema: dict[str, Any]
) -> Iterator[Problem]:
    """Parts of an `allOf` that forbid the keys of its other parts, or of the object around it."""
    parts = document.children(pointer, "allOf") if "allOf" in schema else []
    keys = {part: _keys_beside(document, compiler, part) | _own_keys(compiler, part) for part in parts}
    for part in parts:
        others = set().union(_own_keys(compiler, pointer), *(found for place, found in keys.items() if place != part))
        for place in [part, *compiler.all_of(part)] if isinstance(document.at[part], dict) else []:
            here = document.at[place]
            if not isinstance(here, dict) or here.get("additionalProperties") is not False:
                continue
            beside = sorted(others - _own_keys(compiler, place)) if not here.get("patternProperties") else []
            if beside:
                message = (
                    f'"additionalProperties": false under allOf forbids the keys beside it ({", ".join(beside[:8])}),'
                )
                hint = 'Use "unevaluatedProperties": false beside the allOf (2019-09 and later), or declare all keys.'
                yield Problem(f"{place}/additionalProperties", "additionalProperties", message, "warning", hint)


def _own_keys(compiler: SchemaCompiler, pointer: str) -> set[str]:
    is_schema = isinstance(compiler.document.at[pointer], dict)
    return set(compiler.keywords(pointer).get("properties", ())) if is_schema else set()


def _required_misspelt(
    document: Document, compiler: SchemaCompiler, pointer: str, schema: dict[str, Any]
) -> Iterator[Problem]:
    """Required keys that nothing declares, where a declared one that is not required looks much the same."""
    required, own = schema.get("required", ()), schema.get("properties", {})
    if schema.get("additionalProperties") is False or not isinstance(required, list) or not own:
        return
    beside = _keys_beside(document, compiler, pointer)
    open_keys = [key for key in own if key not in required]
    for key in required:
        near = difflib.get_close_matches(key, open_keys, n=1, cutoff=0.8) if key not in own else []
        if near and key not in beside and not schema.get("patternProperties"):
            message = f"the required key {key!r} is not among the properties"
            yield Problem(f"{pointer}/required", "required", message, "warning", f"Is {near[0]!r} meant?")


def _keys_beside(document: Document, compiler: SchemaCompiler, pointer: str) -> set[str]:
    """Keys that allOf, anyOf, oneOf and `$ref` declare for the same object."""
    found: set[str] = set()
    seen = {pointer}
    work = [pointer]
    while work:
        here = work.pop()
        below = [] if isinstance(document.at[here], bool) else compiler.all_of(here)
        below += document.children(here, "anyOf") + document.children(here, "oneOf")
        for child in below:
            if child not in seen:
                seen.add(child)
                work.append(child)
                found |= set(compiler.keywords(child).get("properties", ()))
    return found
