"""What a tool is, and what a call of one is: definitions in, typed calls out.

A tool is a Python function (its signature says which arguments are legal, its docstring what they mean) or a definition
as OpenAI's API has them.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from domino_py.constraints.base import Constraint
from domino_py.constraints.schema import json_schema
from domino_py.constraints.types import of_type, type_schema
from tokenizer_align.errors import ConstraintError, InvalidOption

__all__ = ["Tool", "ToolCall", "read_tool"]

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_OPENS = ("additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref", "if")


@dataclass(frozen=True)
class Tool:
    """One tool: its name, the constraint of its arguments object, and its definition as JSON text."""

    name: str
    arguments: Constraint
    definition: str
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class ToolCall:
    """A call that a model wrote: the tool's name and its arguments, of the types that the function's annotations say
    (of a definition: as JSON has them)."""

    name: str
    arguments: dict[str, Any]
    function: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    def call(self) -> Any:
        """Call the function with the arguments. Raises ConstraintError where the tool was given as a definition."""
        if self.function is None:
            raise ConstraintError(f"the tool {self.name!r} was given as a definition; there is no function to call.")
        return self.function(**self.arguments)


def read_tool(given: Any) -> Tool:
    """A tool out of a function or an OpenAI-style definition. Raises InvalidOption and what `of_type` and `json_schema`
    raise."""
    if isinstance(given, Tool):
        return given
    if isinstance(given, Mapping):
        return _from_definition(given)
    if callable(given) and not isinstance(given, type):
        return _from_function(given)
    raise InvalidOption("tools", f"a tool is a function or a definition (a dict), not {type(given).__name__}.")


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidOption("tools", f"{name!r} is no name of a tool: letters, digits and _ . : / - are.")
    return name


def _from_function(function: Callable[..., Any]) -> Tool:
    name = _checked_name(getattr(function, "__name__", None))
    if next(iter(inspect.signature(function).parameters), "") == "self" and not inspect.ismethod(function):
        raise InvalidOption("tools", f"{function.__qualname__} is not bound to an object; pass the object's method.")
    schema = _described(_inlined(type_schema(function)[1]), inspect.getdoc(function) or "")
    return _tool(name, _summary(inspect.getdoc(function) or ""), schema, of_type(function), function)


def _from_definition(given: Mapping[str, Any]) -> Tool:
    inner = given.get("function", given)
    if not isinstance(inner, Mapping) or given.get("type", "function") != "function":
        raise InvalidOption("tools", f"this is no definition of a function: {str(dict(given))[:80]}")
    name = _checked_name(inner.get("name"))
    parameters = inner.get("parameters")
    parameters = {"type": "object", "properties": {}} if parameters is None or parameters == {} else parameters
    if not isinstance(parameters, Mapping):
        raise InvalidOption("tools", f"the parameters of {name!r} are no JSON Schema: {parameters!r}")
    arguments = json_schema(_closed(_of_an_object(name, dict(parameters))))
    return _tool(name, str(inner.get("description", "")), dict(parameters), arguments, None)


def _of_an_object(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as one of objects, which arguments are. Raises InvalidOption where none belongs to it."""
    types = schema.get("type", "object")
    if types != "object" and not (isinstance(types, list) and "object" in types):
        raise InvalidOption("tools", f"the parameters of {name!r} are of type {types!r}; arguments are an object.")
    if "$ref" in schema:  # beside which older drafts read nothing
        schema = {**schema, "allOf": [{"$ref": schema["$ref"]}, *schema.get("allOf", ())]}
        del schema["$ref"]
    return {**schema, "type": "object"}


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with no other keys than are declared, unless it says otherwise itself."""
    return schema if any(keyword in schema for keyword in _OPENS) else {**schema, "additionalProperties": False}


def _tool(
    name: str, description: str, parameters: dict[str, Any], arguments: Constraint, function: Callable[..., Any] | None
) -> Tool:
    inner = {"name": name, "description": description, "parameters": parameters}
    return Tool(name, arguments, json.dumps({"type": "function", "function": inner}), function)


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments' object itself instead of a reference to it."""
    definitions = dict(schema.get("$defs", {}))
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name in definitions:
        schema = dict(definitions.pop(name))
        if definitions:
            schema["$defs"] = definitions
    return schema


def _summary(doc: str) -> str:
    """The docstring up to its sections."""
    return re.split(r"\n\s*\n?(?:Args|Arguments|Parameters|Returns|Raises|Example|Examples)\s*:", doc)[0].strip()


def _described(schema: dict[str, Any], doc: str) -> dict[str, Any]:
    """The schema with what the docstring's `Args:` say of each argument."""
    section = re.search(r"(?:^|\n)(?:Args|Arguments)\s*:\s*\n((?:[ \t]+.*(?:\n|$)|\n)+)", doc)
    if section is None or "properties" not in schema:
        return schema
    properties = {key: dict(value) for key, value in schema["properties"].items()}
    lines = section.group(1).splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    current = None
    for line in lines:
        entry = re.match(r"(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)", line[indent:])
        if entry and entry.group(1) in properties:
            current = entry.group(1)
            properties[current]["description"] = entry.group(2).strip()
        elif current is not None and line.strip():
            properties[current]["description"] += " " + line.strip()
    return {**schema, "properties": properties}
