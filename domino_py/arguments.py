"""What may stand where a constraint does: a `Constraint`, a Python type, a schema dict, or None for free text.

A bare string may not: it could mean a pattern, a literal, JSON Schema text or a type's name, and a guess would be
wrong in silence for some of them.
"""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any

from domino_py.constraints.base import Constraint
from tokenizer_align.errors import InvalidOption

_WHAT = "a constraint (regex, choice, json, json_schema, of_type …), a Python type, a JSON Schema as a dict, or None"


def as_constraint(value: Any, name: str = "constraint") -> Constraint | None:
    """The constraint that `value` stands for; `name` is the argument's name in error messages.

    Raises InvalidOption for anything that is not a constraint, a type or a schema dict, with what to write instead, and
    what `of_type` and `json_schema` raise.
    """
    if value is None or isinstance(value, Constraint):
        return value
    if isinstance(value, bytes):
        raise InvalidOption(name, f"{name}={_short(value)} is bytes; constraints are made from text.")
    if isinstance(value, str):
        raise InvalidOption(
            name,
            f"{name}={_short(value)} is a bare string, which could mean several things. Write regex({_short(value)}) "
            f"for a pattern, choice([{_short(value)}]) for the literal text, or json_schema({_short(value)}) for "
            "JSON Schema text.",
        )
    if isinstance(value, dict | bool):
        from domino_py.constraints.schema import json_schema

        return json_schema(value)
    if _is_type(value):
        from domino_py.constraints.types import of_type

        return of_type(value)
    if isinstance(value, list | tuple | set | frozenset) and value and all(isinstance(item, str) for item in value):
        raise InvalidOption(
            name, f"{name} is a collection of strings. Write choice({_short(list(value))}) to choose one."
        )
    raise InvalidOption(name, f"{name} must be {_WHAT}, not {type(value).__name__}.")


def constraints_for_rows(value: Any, n_prompts: int, *, batched: bool) -> list[Constraint | None]:
    """One constraint for each of `n_prompts` prompts: the same for all, or a list with one each.

    Equal types and dicts in the list are turned into constraints once.
    """
    if not isinstance(value, list):
        return [as_constraint(value)] * n_prompts
    if not batched:
        if value and all(isinstance(item, str) for item in value):
            as_constraint(value)  # raises with advice
        raise InvalidOption(
            "constraint", "constraint is a list, but there is one prompt; a list needs one prompt a constraint."
        )
    if len(value) != n_prompts:
        raise InvalidOption("constraint", f"constraint is a list of {len(value)}, but there are {n_prompts} prompts.")
    made: dict[int, Constraint | None] = {}
    for index, item in enumerate(value):
        if id(item) not in made:
            made[id(item)] = as_constraint(item, f"constraint[{index}]")
    return [made[id(item)] for item in value]


def check_model(model: Any) -> None:
    """Raise InvalidOption for what cannot be a causal language model, such as a name or swapped arguments."""
    if not callable(model) or not hasattr(model, "config"):
        raise InvalidOption(
            "model", f"model must be a causal language model of transformers, not {type(model).__name__}."
        )


def _is_type(value: Any) -> bool:
    """Classes, Literal, Union, Annotated, generic aliases, NewType, type aliases and functions (their arguments)."""
    if isinstance(value, type | types.GenericAlias | types.UnionType | typing.NewType | typing.ForwardRef):
        return True
    if typing.get_origin(value) is not None or type(value).__name__ == "TypeAliasType" or value is typing.Any:
        return True
    return inspect.isfunction(value) or inspect.ismethod(value) or inspect.isbuiltin(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[-1]
