"""A Python type as a *form*: the JSON Schema of its values, and the reader that turns such a JSON value into the
object.

Both are made together, so what is legal and what is read cannot drift apart. Classes with fields become
definitions, so types may refer to themselves. Simple types are in `types_simple`, Pydantic's in `types_pydantic`.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from tokenizer_align.errors import ConstraintError

from .types_fields import (
    FieldForm,
    dataclass_fields,
    is_extension_typeddict,
    is_hashable,
    named_tuple_fields,
    parameters,
    typed_dict_fields,
    wrapper_name,
)
from .types_simple import (
    ANY,
    SIMPLE,
    Form,
    Reader,
    Schema,
    Unreadable,
    choice_form,
    container_form,
    read_list,
    read_object,
    read_part,
    with_metadata,
)

_LISTS: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
}
_SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_DICTS = (
    dict,
    collections.abc.Mapping,
    collections.abc.MutableMapping,
    collections.OrderedDict,
    collections.defaultdict,
)


class FormBuilder:
    """Makes forms; `definitions` collects the schemas of classes with fields, by a name of their own.

    What a part has no form for is noted in `problems`, so that all of them are told at once.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self.problems: list[str] = []
        self._named: dict[Any, tuple[str, list[Reader]]] = {}

    def form(self, tp: Any, path: str = "") -> Form:
        """The form of a type. `path` says where it stands, for errors. Raises ConstraintError."""
        simple = SIMPLE.get(tp) if is_hashable(tp) else None
        if simple is not None:
            return simple
        if isinstance(tp, str | typing.ForwardRef):
            raise ConstraintError(f"the type {tp!r}{_at(path)} could not be looked up; give the type itself")
        origin = typing.get_origin(tp)
        if origin is typing.Annotated:
            return self._annotated(tp, path)
        if origin is typing.Literal:
            return choice_form([(_plain(value), value) for value in typing.get_args(tp)])
        if origin in (typing.Union, types.UnionType):
            return self._union(typing.get_args(tp), path)
        if type(tp).__name__ == "TypeAliasType":
            return self.form(tp.__value__, path)
        if type(tp).__name__ == "NewType" or hasattr(tp, "__supertype__"):
            return self.form(tp.__supertype__, path)
        if isinstance(tp, typing.TypeVar):
            return self.form(tp.__bound__, path) if tp.__bound__ is not None else ANY
        if wrapper_name(tp) is not None:
            return self.form(typing.get_args(tp)[0] if typing.get_args(tp) else Any, path)
        return self._container(tp, origin, path)

    def _part(self, tp: Any, path: str) -> Form:
        """The form of a part of a type; where there is none, its error is noted and anything stands for it."""
        try:
            return self.form(tp, path)
        except ConstraintError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return ANY

    def _container(self, tp: Any, origin: Any, path: str) -> Form:
        base, arguments = origin or tp, typing.get_args(tp)
        if not is_hashable(base):
            raise ConstraintError(f"{tp!r}{_at(path)} is not a type")
        if base is tuple:
            return container_form(ANY, tuple) if tp in (tuple, typing.Tuple) else self._tuple(arguments, path)  # noqa: UP006
        if base in _LISTS:
            item = self._part(arguments[0], f"{path}[]") if arguments else ANY
            return container_form(item, _LISTS[base], is_set=base in _SETS)
        if base in _DICTS:
            return self._dict(base, arguments, path)
        if isinstance(base, type) and issubclass(base, enum.Enum):
            return _enum_form(base, path)
        if dataclasses.is_dataclass(base) and isinstance(base, type) and not hasattr(base, "__pydantic_fields__"):
            return self._record(tp, base, dataclass_fields(tp, base, path), path)
        if typing.is_typeddict(base) or is_extension_typeddict(base):
            return self._record(tp, dict, typed_dict_fields(tp, base), path)
        if isinstance(base, type) and issubclass(base, tuple) and hasattr(base, "_fields"):
            return self._record(tp, base, named_tuple_fields(tp, base), path)
        if inspect.isroutine(base) or inspect.ismethod(base):
            return self._record(tp, dict, parameters(base), path)
        return self._foreign(tp, path)

    def _foreign(self, tp: Any, path: str) -> Form:
        """Pydantic's models and types, and what else Pydantic can read."""
        from .types_pydantic import pydantic_form

        return pydantic_form(tp, path, self.definitions)

    def _annotated(self, tp: Any, path: str) -> Form:
        inner, *metadata = typing.get_args(tp)
        if any(type(item).__module__.partition(".")[0] == "pydantic" for item in metadata):
            return self._foreign(tp, path)
        return with_metadata(self.form(inner, path), metadata, inner, _at(path))

    def _union(self, choices: tuple[Any, ...], path: str) -> Form:
        forms = [self._part(choice, path) for choice in choices]
        order = sorted(range(len(forms)), key=lambda i: (choices[i] in (float, Any), i))
        readers = [forms[i].read for i in order]

        def read(value: Any) -> Any:
            for reader in readers:
                try:
                    return reader(value)
                except (Unreadable, ValueError, TypeError):
                    continue
            raise Unreadable(f"{value!r} fits no alternative")

        return Form({"anyOf": [form.schema for form in forms]}, read)

    def _tuple(self, arguments: tuple[Any, ...], path: str) -> Form:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return container_form(self._part(arguments[0], f"{path}[]"), tuple)
        forms = [self._part(one, f"{path}[{i}]") for i, one in enumerate(arguments if arguments != ((),) else ())]
        size = {"minItems": len(forms), "maxItems": len(forms)}
        schema: Schema = {"type": "array", **({"prefixItems": [f.schema for f in forms]} if forms else {}), **size}

        def read(value: Any) -> Any:
            items = read_list(value)
            if len(items) != len(forms):
                raise Unreadable(f"{len(items)} items instead of {len(forms)}")
            return tuple(read_part(form, items[i], f"[{i}]") for i, form in enumerate(forms))

        return Form(schema, read)

    def _dict(self, base: Any, arguments: tuple[Any, ...], path: str) -> Form:
        key_form = self.form(arguments[0], path) if arguments else SIMPLE[str]
        value_form = self._part(arguments[1], f"{path}{{}}") if len(arguments) > 1 else ANY
        schema: Schema = {"type": "object", "additionalProperties": value_form.schema}
        if key_form.schema == {"type": "integer"}:
            schema["propertyNames"] = {"pattern": "^(0|-?[1-9][0-9]{0,18})$"}
            read_key: Reader = int
        elif key_form.schema.get("type") == "string" or _all_strings(key_form.schema):
            read_key = key_form.read
            if key_form.schema != {"type": "string"}:
                schema["propertyNames"] = key_form.schema
        else:
            raise ConstraintError(f"keys of type {arguments[0]!r}{_at(path)}: JSON keys are strings")
        build = collections.OrderedDict if base is collections.OrderedDict else dict

        def read(value: Any) -> Any:
            return build((read_key(key), read_part(value_form, v, f".{key}")) for key, v in read_object(value).items())

        return Form(schema, read)

    def _record(self, tp: Any, build: Callable[..., Any], fields: list[FieldForm], path: str) -> Form:
        """An object with these keys and no others, under a name in the definitions."""
        key = tp if is_hashable(tp) else id(tp)
        if key not in self._named:
            name = self._free_name(str(getattr(typing.get_origin(tp) or tp, "__name__", "any")))
            readers: list[Reader] = []
            self._named[key] = (name, readers)
            self.definitions[name] = {}
            forms = {field.key: self._part(field.annotation, f"{path}.{field.key}".lstrip(".")) for field in fields}
            self.definitions[name].update(
                type="object",
                properties={key: form.schema for key, form in forms.items()},
                required=[field.key for field in fields if field.is_required],
                additionalProperties=False,
            )
            readers.append(_record_reader(build, forms, {f.key for f in fields if f.is_required}))
        name, readers = self._named[key]
        return Form({"$ref": f"#/$defs/{name}"}, lambda value: readers[0](value))

    def _free_name(self, wanted: str) -> str:
        name, n = "".join(c if c.isalnum() else "_" for c in wanted), 1
        while name in self.definitions:
            n += 1
            name = f"{wanted}_{n}"
        return name


def _record_reader(build: Callable[..., Any], forms: dict[str, Form], required: set[str]) -> Reader:
    def read(value: Any) -> Any:
        found = read_object(value)
        if found.keys() - forms.keys() or required - found.keys():
            raise Unreadable(f"the keys {sorted(found)} do not fit {getattr(build, '__name__', build)}")
        return build(**{key: read_part(forms[key], item, f".{key}") for key, item in found.items()})

    return read


def _at(path: str) -> str:
    return f" at {path}" if path else ""


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _all_strings(schema: Schema) -> bool:
    return bool(schema.get("enum")) and all(isinstance(value, str) for value in schema["enum"])


def _enum_form(tp: type[enum.Enum], path: str) -> Form:
    """Members by their values; by their names where a value is not a JSON scalar."""
    members = list(tp)
    if not members:
        raise ConstraintError(f"the enum {tp.__name__}{_at(path)} has no members")
    if all(isinstance(member.value, str | int | float | None) for member in members):
        return choice_form([(member.value, member) for member in members])
    return choice_form([(member.name, member) for member in members])
