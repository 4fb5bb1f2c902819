"""Pydantic models and types: their JSON Schema in the spelling that fits generation, read by Pydantic itself.

Objects are closed unless the model says `extra="allow"`. `Decimal` is a JSON number (its decimal places become
`multipleOf`), dates and times are what Python reads. Validators that a schema cannot express speak up when a text is
parsed.
"""

from __future__ import annotations

from typing import Any

from tokenizer_align.errors import ConstraintError, MissingPackage

from .schema_document import child_pointers
from .schema_keywords import DEFAULT_DRAFT
from .schema_values import compact_text
from .types_simple import Form, Schema

_HINT = "Use numbers, text, Literal, Enum, list, dict, a dataclass, TypedDict or Pydantic model."


def pydantic_form(tp: Any, path: str, definitions: dict[str, Schema]) -> Form:
    """The form of a type that Pydantic knows; its definitions are added under names of their own."""
    where = f" at {path}" if path else ""
    try:
        import pydantic
    except ImportError:
        raise MissingPackage("pydantic", f"the type {tp!r}{where}", "domino-decoding[pydantic]") from None
    from .types_pydantic_schema import SchemaForGeneration

    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(tp)
        schema = adapter.json_schema(mode="validation", schema_generator=SchemaForGeneration)
    except (
        pydantic.errors.PydanticUserError,
        pydantic.errors.PydanticUndefinedAnnotation,
        TypeError,
        ImportError,
    ) as error:
        raise ConstraintError(f"{tp!r}{where} has no JSON form: {_reason(error)}") from error
    taken = _take_definitions(schema, definitions)
    _close(taken)
    for name in schema.get("$defs", {}):
        _close(definitions[_prefixed(name)])

    def read(value: Any) -> Any:
        return adapter.validate_json(compact_text(value))

    return Form(taken, read)


def _reason(error: Exception) -> str:
    """Why Pydantic has no schema for a type, without advice about Pydantic's own settings."""
    text = str(error).splitlines()[0]
    if text.startswith("Unable to generate pydantic-core schema for"):
        return f"neither Python's own types nor Pydantic read it from JSON. {_HINT}"
    if text.startswith("Cannot generate a JsonSchema for"):
        what = text.removeprefix("Cannot generate a JsonSchema for ")
        return f"{'it' if what.startswith('core_schema') else what} cannot be read from JSON. {_HINT}"
    return text


def _prefixed(name: str) -> str:
    return f"pydantic.{name}"


def _take_definitions(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Move `$defs` to the common ones under prefixed names. Returns the schema with its references renamed."""
    inner = schema.pop("$defs", {})
    for name, definition in inner.items():
        renamed = _renamed(definition)
        taken = definitions.setdefault(_prefixed(name), renamed)
        if taken != renamed and _without_closing(taken) != _without_closing(renamed):
            raise ConstraintError(f"two different models are called {name!r}; give one of them another name")
    schema["$defs"] = inner
    return {key: value for key, value in _renamed(schema).items() if key != "$defs"}


def _without_closing(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: _without_closing(v) for k, v in schema.items() if k != "additionalProperties"}
    return [_without_closing(item) for item in schema] if isinstance(schema, list) else schema


def _renamed(value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed(item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: _renamed(item) for key, item in value.items()}
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        result["$ref"] = "#/$defs/pydantic." + reference.removeprefix("#/$defs/")
    return result


def _close(schema: Any) -> None:
    """Objects that declare keys take no others, unless the schema says otherwise."""
    work = [schema]
    while work:
        here = work.pop()
        if not isinstance(here, dict):
            continue
        if "properties" in here:
            here.setdefault("additionalProperties", False)
        for keyword, value in here.items():
            work.extend(child for _, child in child_pointers("", keyword, value, DEFAULT_DRAFT))
