"""The fields of classes and the parameters of functions: their names, types, and whether they must be given."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import Any

from tokenizer_align.errors import ConstraintError

_WRAPPERS = ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar")


@dataclasses.dataclass(frozen=True, slots=True)
class FieldForm:
    """One field of a class: its key in JSON and the Python type."""

    key: str
    annotation: Any
    is_required: bool


def wrapper_name(tp: Any) -> str | None:
    """Required, NotRequired, ReadOnly, Final or ClassVar, from typing or typing_extensions."""
    name = getattr(typing.get_origin(tp) or tp, "_name", None) or getattr(typing.get_origin(tp), "__name__", None)
    return name if name in _WRAPPERS else None


def is_hashable(tp: Any) -> bool:
    """Types are, but `Annotated` with a list among its metadata is not."""
    try:
        hash(tp)
    except TypeError:
        return False
    return True


def is_extension_typeddict(tp: Any) -> bool:
    return isinstance(tp, type) and issubclass(tp, dict) and hasattr(tp, "__required_keys__")


def _hints(tp: Any, base: Any) -> dict[str, Any]:
    """Annotations of a class or function, with the arguments of a generic put in."""
    try:
        hints = typing.get_type_hints(base, include_extras=True)
    except NameError as error:
        raise ConstraintError(f"an annotation of {base!r} names what cannot be looked up: {error}") from error
    chosen = dict(zip(getattr(base, "__parameters__", ()), typing.get_args(tp), strict=False))
    return {name: _substitute(hint, chosen) for name, hint in hints.items()} if chosen else hints


def _substitute(hint: Any, chosen: dict[Any, Any]) -> Any:
    if isinstance(hint, typing.TypeVar):
        return chosen.get(hint, hint)
    inner = getattr(hint, "__parameters__", ())
    return hint[tuple(chosen.get(one, one) for one in inner)] if inner and not isinstance(hint, type) else hint


def dataclass_fields(tp: Any, base: Any, path: str) -> list[FieldForm]:
    """What the class is made from, `InitVar`s included, in the order of its parameters."""
    hints = _hints(tp, base)
    stored = {field.name: field for field in dataclasses.fields(base) if field.init}
    found = []
    for name, parameter in inspect.signature(base).parameters.items():
        hint = hints.get(name, Any)
        if name in stored or isinstance(hint, dataclasses.InitVar):
            annotation = hint.type if isinstance(hint, dataclasses.InitVar) else hint
            found.append(FieldForm(name, annotation, parameter.default is parameter.empty))
    return found


def typed_dict_fields(tp: Any, base: Any) -> list[FieldForm]:
    found = []
    for name, hint in _hints(tp, base).items():
        # With `from __future__ import annotations`, Python does not see NotRequired when it makes the class.
        said = {"Required": True, "NotRequired": False}.get(wrapper_name(hint) or "")
        found.append(FieldForm(name, hint, name in base.__required_keys__ if said is None else said))
    return found


def named_tuple_fields(tp: Any, base: Any) -> list[FieldForm]:
    hints = _hints(tp, base)
    return [FieldForm(name, hints.get(name, Any), name not in base._field_defaults) for name in base._fields]


def parameters(function: Any) -> list[FieldForm]:
    """The parameters of a function as the keys of its arguments object."""
    hints = _hints(function, function)
    fields = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars, instead = ("*", "list") if parameter.kind == parameter.VAR_POSITIONAL else ("**", "dict")
            message = f"{stars}{name} of {function.__name__} takes any number of arguments, and a call must name each"
            raise ConstraintError(f"{message}: make it one parameter that is a {instead}, or leave it out")
        if parameter.kind == parameter.POSITIONAL_ONLY:
            raise ConstraintError(f"the parameter {name!r} of {function.__name__} cannot be given by name")
        fields.append(FieldForm(name, hints.get(name, Any), parameter.default is parameter.empty))
    return fields
