"""`repeat(c, lo, hi)`: a constraint several times over. One after the other is `a + b`, either of two is `a | b`."""

from __future__ import annotations

from typing import Any

from tokenizer_align import expressions as ex
from tokenizer_align.errors import InvalidOption, Problem
from tokenizer_align.expressions import Expr, frame, seq

from .base import Constraint
from .choice import choice


def repeat(constraint: Any, lo: int, hi: int | None = None, *, separator: str | Constraint | None = None) -> Constraint:
    """`constraint` from `lo` to `hi` times (`hi` None: without bound), `separator` between two of them.

    `constraint` may be a type or a schema dict too; the separator is a text or a constraint. `parse` gives the list of
    the items' values. Raises InvalidOption for what is not a constraint or not a range.

    >>> from domino_py.constraints.regex import regex
    >>> repeat(regex("[a-z]+"), 1, 3, separator=", ").parse("red, green")
    ['red', 'green']
    """
    from domino_py.arguments import as_constraint

    item = as_constraint(constraint)
    if item is None:
        raise InvalidOption("constraint", "repeat takes a constraint, not None. Wrap a text in choice([...]).")
    for name, count in (("lo", lo), ("hi", hi)):
        if (not isinstance(count, int) or isinstance(count, bool)) and not (count is None and name == "hi"):
            raise InvalidOption(name, f"{name} must be a whole number, not {count!r}.")
    if lo < 0:
        raise InvalidOption("lo", f"lo={lo}: a constraint cannot be repeated a negative number of times.")
    if hi is not None and hi < lo:
        raise InvalidOption("hi", f"hi={hi} is below lo={lo}.")
    if separator is None or separator == "":
        return Constraint("repeat", (item, lo, hi))
    between = choice([separator]) if isinstance(separator, str) else separator
    if not isinstance(between, Constraint):
        raise InvalidOption("separator", f"a separator is a text or a constraint, not {type(separator).__name__}.")
    return Constraint("repeat", (item, lo, hi), (("separator", between),))


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `repeat` constraint."""
    item, lo, hi = constraint.source
    separator = constraint.option("separator")
    if separator is None:
        return ex.repeat(frame(item.expression), lo, hi), item._problems
    problems = (*item._problems, *separator._problems)
    if hi == 0:
        return ex.EPSILON, problems
    one = frame(item.expression)
    more = ex.repeat(seq(frame(separator.expression), one), max(lo - 1, 0), None if hi is None else hi - 1)
    several = seq(one, more)
    return (ex.optional(several) if lo == 0 else several), problems
