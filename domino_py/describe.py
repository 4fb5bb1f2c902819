"""A type, schema or template as a model should see it: a skeleton with a word for each kind of value.

    {"name": …, "age": whole number, "languages": […, …], "address": {"city": …, "zip": … or null}}

A skeleton costs a fraction of the tokens of a JSON Schema, and a small model copies its shape and its blanks. A text is
"…", because small models copy a word such as "text" as the value. Descriptions of fields stand beneath it. It only
asks; what may be written is decided by the constraint.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import types
import typing
import uuid
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any

from domino_py.constraints.base import Constraint
from domino_py.constraints.template_text import read_template

_WORDS: dict[Any, str] = {
    str: "…",
    int: "whole number",
    float: "number",
    bool: "true or false",
    decimal.Decimal: "number",
    type(None): "null",
    None: "null",
    datetime.date: '"YYYY-MM-DD"',
    datetime.datetime: '"YYYY-MM-DDThh:mm:ss"',
    datetime.time: '"hh:mm:ss"',
    uuid.UUID: "UUID",
    Any: "value",
    object: "value",
}
_SCHEMA_WORDS = {
    "string": "…",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "{…}",
    "array": "[…]",
}
_FORMATS = {"date": '"YYYY-MM-DD"', "date-time": '"YYYY-MM-DDThh:mm:ss"', "time": '"hh:mm:ss"', "uuid": "UUID"}
_SHOWN_CHOICES = 12


@dataclasses.dataclass(frozen=True, slots=True)
class Description:
    """`skeleton`: the shape on one line; `notes`: (path of a field, its description)."""

    skeleton: str
    notes: tuple[tuple[str, str], ...]


def describe(source: Any, constraint: Constraint) -> Description:
    """Describe what `source` (the caller's type, schema dict or constraint) asks for."""
    describer = _Describer()
    if isinstance(source, dict):
        skeleton = describer.of_schema(source, source, "")
    elif isinstance(source, Constraint):
        skeleton = describer.of_constraint(source)
    else:
        skeleton = describer.of_type(source, "")
    return Description(skeleton, tuple(dict(describer.notes).items()))


class _Describer:
    """Walks a type or schema; collects the descriptions of fields on the way."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []
        self._open: set[Hashable] = set()

    def of_constraint(self, constraint: Constraint) -> str:
        if constraint.kind == "type" and constraint.extra is not None:
            return self.of_type(constraint.extra, "")
        if constraint.kind == "json_schema":
            schema = json.loads(constraint.source) if isinstance(constraint.source, str) else {}
            return self.of_schema(schema, schema, "")
        if constraint.kind == "template":
            holes = dict(constraint.source[1])
            pieces = read_template(constraint.source[0]).pieces
            return "".join(one if isinstance(one, str) else self.of_constraint(holes[one.name]) for one in pieces)
        if constraint.kind == "repeat":
            separator, item = constraint.option("separator"), self.of_constraint(constraint.source[0])
            return item + ("" if separator is None else self.of_constraint(separator)) + "…"
        if constraint.kind == "choice":
            shown = list(constraint.source[:_SHOWN_CHOICES]) + ["…"] * (len(constraint.source) > _SHOWN_CHOICES)
            return " or ".join(shown)
        if constraint.kind in ("select", "alternatives"):
            parts = [one[1] if constraint.kind == "select" else one for one in constraint.source]
            return " or ".join(dict.fromkeys(map(self.of_constraint, parts)))
        if constraint.kind == "sequence":
            return "".join(map(self.of_constraint, constraint.source))
        return "…" if constraint.kind in ("regex", "grammar") else "value"

    def of_type(self, tp: Any, path: str) -> str:
        origin, arguments = typing.get_origin(tp), typing.get_args(tp)
        if origin is typing.Annotated:
            self._note(path, _annotated_description(arguments[1:]))
            return self.of_type(arguments[0], path)
        if origin in (typing.Required, typing.NotRequired):
            return self.of_type(arguments[0], path)
        if origin is typing.Literal:
            return _choices(arguments)
        if origin in (typing.Union, types.UnionType):
            return " or ".join(dict.fromkeys(self.of_type(one, path) for one in arguments))
        renamed = getattr(tp, "__supertype__", None) or getattr(tp, "__value__", None)  # NewType; type X = ...
        if renamed is not None:
            return self.of_type(renamed, path)
        if isinstance(tp, type) and issubclass(tp, enum.Enum):
            return _choices([member.value for member in tp])
        if isinstance(tp, Hashable) and tp in _WORDS:
            return _WORDS[tp]
        fields = _fields_of(tp)
        if fields is not None:
            return self._once(id(tp), lambda: self._of_fields(fields, path))
        return self._of_container(origin or tp, arguments, path)

    def _of_fields(self, fields: list[tuple[str, Any, str | None]], path: str) -> str:
        parts = []
        for name, annotation, description in fields:
            inner = f"{path}.{name}" if path else name
            self._note(inner, description)
            parts.append(f"{json.dumps(name, ensure_ascii=False)}: {self.of_type(annotation, inner)}")
        return "{" + ", ".join(parts) + "}"

    def _of_container(self, container: Any, arguments: tuple[Any, ...], path: str) -> str:
        if not isinstance(container, type) or not issubclass(container, Collection):
            return "value"
        if issubclass(container, Mapping):
            return "{…: " + self.of_type(arguments[1] if len(arguments) > 1 else Any, path) + ", …}"
        if issubclass(container, tuple) and arguments and arguments[-1] is not Ellipsis:
            return "[" + ", ".join(self.of_type(one, path) for one in arguments) + "]"
        return "[" + self.of_type(arguments[0] if arguments else Any, f"{path}[]") + ", …]"

    def of_schema(self, schema: Any, root: Any, path: str) -> str:
        if not isinstance(schema, dict):
            return "value"
        self._note(path, schema.get("description"))
        if isinstance(schema.get("$ref"), str):
            target = _pointed_to(root, schema["$ref"])
            return self._once(schema["$ref"], lambda: self.of_schema(target, root, path))
        if "const" in schema or "enum" in schema:
            return _choices(schema["enum"] if "enum" in schema else [schema["const"]])
        branches = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(branches, list):
            return " or ".join(dict.fromkeys(self.of_schema(one, root, path) for one in branches))
        kinds = schema.get("type")
        if isinstance(schema.get("properties"), dict) and kinds in (None, "object"):
            parts = []
            for name, inner in schema["properties"].items():
                value = self.of_schema(inner, root, f"{path}.{name}" if path else name)
                parts.append(f"{json.dumps(name, ensure_ascii=False)}: {value}")
            return "{" + ", ".join(parts) + "}"
        if "items" in schema and kinds in (None, "array"):
            return "[" + self.of_schema(schema["items"], root, f"{path}[]") + ", …]"
        if kinds == "string" and schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]]
        names = kinds if isinstance(kinds, list) else [kinds]
        return " or ".join(_SCHEMA_WORDS.get(str(name), "value") for name in names)

    def _once(self, key: Hashable, describe_it: Callable[[], str]) -> str:
        """A type within itself is not described again."""
        if key in self._open:
            return "{…}"
        self._open.add(key)
        try:
            return describe_it()
        finally:
            self._open.discard(key)

    def _note(self, path: str, description: Any) -> None:
        if path and isinstance(description, str) and description.strip():
            self.notes.append((path, " ".join(description.split())))


def _fields_of(tp: Any) -> list[tuple[str, Any, str | None]] | None:
    """(name, annotation, description) of the fields of a model, dataclass, TypedDict, named tuple or function."""
    model_fields = getattr(tp, "model_fields", None)
    if isinstance(model_fields, dict):
        return [(info.alias or name, info.annotation, info.description) for name, info in model_fields.items()]
    if isinstance(tp, type) and dataclasses.is_dataclass(tp):
        hints = _hints(tp)
        return [
            (f.name, hints.get(f.name, Any), f.metadata.get("description")) for f in dataclasses.fields(tp) if f.init
        ]
    if isinstance(tp, type) and (typing.is_typeddict(tp) or hasattr(tp, "_fields")):
        return [(name, hint, None) for name, hint in _hints(tp).items()]
    if inspect.isfunction(tp) or inspect.ismethod(tp):
        return [(name, hint, None) for name, hint in _hints(tp).items() if name != "return"]
    return None


def _hints(tp: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(tp, include_extras=True)
    except Exception:  # an annotation that cannot be resolved: the constraint has its say, the description goes without
        return dict.fromkeys(getattr(tp, "__annotations__", {}), Any)


def _annotated_description(metadata: tuple[Any, ...]) -> str | None:
    for item in metadata:
        text = (
            item
            if isinstance(item, str)
            else getattr(item, "description", None) or getattr(item, "documentation", None)
        )
        if isinstance(text, str):
            return text
    return None


def _choices(values: Collection[Any]) -> str:
    shown = [json.dumps(value, ensure_ascii=False, default=str) for value in list(values)[:_SHOWN_CHOICES]]
    return " or ".join(shown) + (" or …" if len(values) > _SHOWN_CHOICES else "")


def _pointed_to(root: Any, reference: str) -> Any:
    """What a reference within the document points to; an empty schema for others."""
    if not reference.startswith("#"):
        return {}
    found = root
    for part in reference[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or part not in found:
            return {}
        found = found[part]
    return found
