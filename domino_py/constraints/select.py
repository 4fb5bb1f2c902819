"""`select(...)`: one of several alternatives, and the value says which it was.

`choice([...])` is for many bare texts and its value is the text; here each alternative may be a text, a constraint, a
template, a type, and may have a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tokenizer_align.errors import ConstraintError, EmptyLanguage, InvalidOption, Problem
from tokenizer_align.expressions import Expr, alt, frame

from .base import Constraint
from .choice import choice


class Selected(NamedTuple):
    """Which alternative a text is, and the value it has there.

    `alternative`: its name; without one a text is its own name, anything else is known by its position, from 0.
    """

    alternative: str | int
    value: Any


def select(*alternatives: Any, **named: Any) -> Constraint:
    """One of the alternatives: texts, constraints, templates, types; `parse` gives `Selected(alternative, value)`.

    Alternatives have names as keyword arguments, or in one mapping. A text that several can read is the first one's.
    Raises InvalidOption for what is none of these and for names that stand twice, EmptyLanguage where there are none.

    >>> from domino_py.constraints.regex import regex
    >>> answer = select("yes", "no", later=regex("in [0-9]+ days"))
    >>> answer.parse("no"), answer.parse("in 3 days")
    (Selected(alternative='no', value='no'), Selected(alternative='later', value='in 3 days'))
    """
    listed: list[tuple[str | int, Any]] = []
    if len(alternatives) == 1 and isinstance(alternatives[0], Mapping):
        listed += alternatives[0].items()
    elif len(alternatives) == 1 and isinstance(alternatives[0], list | tuple | set | frozenset):
        raise InvalidOption("alternatives", 'select takes its alternatives one by one: select("yes", "no"), or *list.')
    else:
        listed += [(one if isinstance(one, str) else at, one) for at, one in enumerate(alternatives)]
    listed += named.items()
    if not listed:
        raise EmptyLanguage("select needs at least one alternative.")
    made: dict[str | int, Constraint] = {}
    for name, value in listed:
        if not isinstance(name, str | int):
            raise InvalidOption("alternatives", f"the name of an alternative is a str, not {name!r}.")
        if name in made:
            raise InvalidOption(str(name), f"the alternative {name!r} stands twice.")
        made[name] = _constraint_of(value, name)
    return Constraint("select", tuple(made.items()))


def _constraint_of(value: Any, name: str | int) -> Constraint:
    from domino_py.arguments import as_constraint

    if isinstance(value, str):
        return choice([value])
    shown = name if isinstance(name, str) else f"alternative {name}"
    if isinstance(value, Mapping) and isinstance(name, int):
        raise InvalidOption(shown, f"{shown} is a dict. Write json_schema({{...}}) for a schema, or give all names.")
    try:
        constraint = as_constraint(value, shown)
    except ConstraintError as error:
        raise InvalidOption(shown, f"{shown}: {error}") from error
    if constraint is None:
        raise InvalidOption(shown, f'{shown} is None. Write "" for the empty text.')
    return constraint


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `select` constraint."""
    from .findings import within

    problems = tuple(problem for name, one in constraint.source for problem in within(f"<{name}>", one._problems))
    return alt(*(frame(one.expression) for _, one in constraint.source)), problems
