"""`think(constraint)`: free reasoning between two tags, and then the constraint.

Whether the opening tag is still to be written depends on the prompt: many chat templates end with it. `generate` looks
at the prompt's end; a constraint by itself takes both. The reasoning is anything that does not hold the closing tag.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tokenizer_align.errors import ConstraintError, InvalidOption, Problem
from tokenizer_align.expressions import EPSILON, Expr, alt, frame, lit, optional, seq
from tokenizer_align.markers import MAX_NUMBER, Reading, marker, vocabulary_rule

from .base import Constraint
from .free_text import free_text, part, up_to
from .regions import check_count
from .tokens import checked_marker

__all__ = ["build", "opened", "parse", "reasoning", "think"]

DEFAULT_TAGS = ("<think>", "</think>")
_GAPS = ("\n\n", "\n", "")  # between the closing tag and the answer


def think(
    constraint: Any,
    *,
    start: Any = None,
    end: Any = None,
    tokenizer: Any = None,
    max_tokens: int | None = None,
    opened: bool | None = None,
) -> Constraint:
    """Free reasoning between tags, then `constraint`; `parse` gives the constraint's value.

    The tags are `start` and `end`, else those found among a `tokenizer`'s control tokens and in its chat template, else
    `<think>` and `</think>`. After `max_tokens` tokens of reasoning the closing tag is forced. `opened`: whether the
    opening tag stands in the prompt already; None: `generate` finds out, and by itself the constraint takes both.
    Raises InvalidOption.

        answer = domino.think(domino.choice(["yes", "no"]), max_tokens=200)
        answer.matches("<think>Water is a liquid.</think>\\n\\nyes")     # True
    """
    from domino_py.arguments import as_constraint

    made = as_constraint(constraint)
    if made is None:
        raise InvalidOption("constraint", "think needs a constraint for what comes after the reasoning.")
    if (start is None) != (end is None):
        raise InvalidOption("start", "start and end are given together, or not at all.")
    if start is None and tokenizer is not None:
        from domino_py.chat import find_think_tags

        start, end = find_think_tags(tokenizer)
    elif start is None:
        start, end = DEFAULT_TAGS
    start, end = checked_marker(start, "start"), checked_marker(end, "end")
    if start == end:
        raise InvalidOption("end", f"the closing tag is the opening one, {end!r}.")
    if max_tokens is not None:
        check_count("max_tokens", max_tokens, 0, MAX_NUMBER)
    return Constraint("think", (made, start, end), (("max_tokens", max_tokens), ("opened", opened)))


def opened(constraint: Constraint, value: bool) -> Constraint:
    """The same `think` where the opening tag stands in the prompt, or does not."""
    return Constraint("think", constraint.source, (("max_tokens", constraint.option("max_tokens")), ("opened", value)))


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `think` constraint."""
    inner, start, end = constraint.source
    head = {True: EPSILON, False: marker(start), None: optional(marker(start))}[constraint.option("opened")]
    limit = constraint.option("max_tokens")
    rest = seq(alt(*(lit(gap.encode()) for gap in _GAPS)), frame(inner.expression))
    return vocabulary_rule("think", partial(_make, head, end, rest, limit)), inner._problems


def _make(head: Expr, end: str, rest: Expr, limit: int | None, reading: Reading) -> Expr:
    found, spelled = reading.marker(end), end.encode()
    if found is not None:
        text = seq(part(reading, free_text((spelled,)), limit), found)
    else:
        text = part(reading, up_to((spelled,), 0), limit, spelled)
    return seq(reading.plain(head), text, reading.plain(rest))


def parse(constraint: Constraint, text: str) -> Any:
    """The value of what comes behind the reasoning. Raises ConstraintError where the text is not legal."""
    inner: Constraint = constraint.source[0]
    rest = _split(constraint, text)[1]
    for gap in _GAPS:
        if rest.startswith(gap) and inner.matches(rest[len(gap) :]):
            return inner.parse(rest[len(gap) :])
    raise ConstraintError("what stands behind the reasoning does not fit its constraint")


def reasoning(constraint: Constraint, text: str) -> str:
    """What a legal text holds between the tags."""
    return _split(constraint, text)[0]


def _split(constraint: Constraint, text: str) -> tuple[str, str]:
    _, start, end = constraint.source
    if constraint.option("opened") is not True:
        text = text.removeprefix(start)
    inside, found, rest = text.partition(end)
    if not found:
        raise ConstraintError(f"the text does not hold the closing tag {end!r}")
    return inside, rest
