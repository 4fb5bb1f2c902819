"""Schemas as other tools write and read them: each sub-schema is adapted when it is read, so that pointers stay.

`formats="annotate"` takes formats out. `openapi=True` is OpenAPI 3.0 (draft 4 with `nullable` and `discriminator`;
OpenAPI 3.1 is plain 2020-12). `strict=True` is OpenAI's strict mode for structured outputs: objects hold exactly the
keys that they declare, all of them required, and what that mode refuses is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tokenizer_align.errors import Problem

from .schema_source import escape_token

Adapt = Callable[[dict[str, Any]], dict[str, Any]]

OPENAPI_DRAFT = 4
REFUSED_IN_STRICT_MODE = (
    *("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"),
    *("patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems"),
)


def adapter(*, formats: str = "assert", openapi: bool = False, strict: bool = False) -> Adapt | None:
    """What to do with every sub-schema when it is read; None: nothing."""
    steps: list[Adapt] = []
    if formats == "annotate":
        steps.append(_without_format)
    if openapi:
        steps += [_with_null, _discriminated]
    if strict:
        steps.append(_closed)
    if not steps:
        return None

    def adapt(schema: dict[str, Any]) -> dict[str, Any]:
        for step in steps:
            schema = step(schema)
        return schema

    return adapt


def _without_format(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != "format"} if "format" in schema else schema


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """`nullable` beside `type` (OpenAPI 3.0.3: without a type it says nothing, and an enum must list null itself)."""
    names = schema.get("type")
    if schema.get("nullable") is not True or not isinstance(names, str) or names == "null":
        return schema
    return {**schema, "type": [names, "null"]}


def _discriminated(schema: dict[str, Any]) -> dict[str, Any]:
    """`discriminator`: in the branch of a named schema, the property has that name, or one that maps to it."""
    discriminator = schema.get("discriminator")
    if not isinstance(discriminator, dict) or not isinstance(discriminator.get("propertyName"), str):
        return schema
    key, mapping = discriminator["propertyName"], discriminator.get("mapping")
    mapping = mapping if isinstance(mapping, dict) else {}
    adapted = dict(schema)
    for keyword in ("oneOf", "anyOf"):
        if isinstance(schema.get(keyword), list):
            adapted[keyword] = [_branch(branch, key, mapping) for branch in schema[keyword]]
    return adapted


def _branch(branch: Any, key: str, mapping: dict[str, Any]) -> Any:
    reference = branch.get("$ref") if isinstance(branch, dict) else None
    if not isinstance(reference, str):
        return branch
    name = reference.rpartition("/")[2]
    names = [given for given, target in mapping.items() if target in (reference, name)] or [name]
    return {"allOf": [branch, {"required": [key], "properties": {key: {"enum": names}}}]}


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") != "object" and not isinstance(schema.get("properties"), dict):
        return schema
    properties = schema.get("properties")
    adapted = {"additionalProperties": False, **schema}
    if isinstance(properties, dict) and properties:
        adapted["required"] = list(properties)
    return adapted


def strict_problems(schemas: dict[str, Any]) -> Iterator[Problem]:
    """What OpenAI's strict mode refuses, in adapted sub-schemas by pointer."""
    root = schemas[""]
    if not isinstance(root, dict) or root.get("type") != "object":
        yield Problem("", "type", 'in strict mode the whole value must be an object ("type": "object")')
    for pointer, schema in schemas.items():
        if not isinstance(schema, dict):
            continue
        for name in REFUSED_IN_STRICT_MODE:
            if name in schema:
                yield Problem(f"{pointer}/{escape_token(name)}", name, f'"{name}" is not allowed in strict mode')
        if schema.get("additionalProperties", False) is not False:
            message = "objects cannot have other keys than those they declare in strict mode"
            yield Problem(f"{pointer}/additionalProperties", "additionalProperties", message, hint="Set it to false.")
