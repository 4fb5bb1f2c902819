"""The error for a text that a constraint does not allow: how far it is legal, and what is wrong behind that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizer_align import recognizer
from tokenizer_align.errors import ConstraintError

if TYPE_CHECKING:
    from .base import Constraint

MAX_SHOWN = 200  # characters of the text


def illegal_text(constraint: Constraint, text: str) -> ConstraintError:
    """The error for a text that is not legal.

    >>> from domino_py.constraints.choice import choice
    >>> print(illegal_text(choice(["yes", "no"]), "nope"))
    'nope' is no text of this choice constraint: 'pe' cannot stand at character 2; inspect(constraint, text) says more
    """
    shown = text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
    at = _n_legal(constraint, text)
    if at == len(text):
        why = "it cannot end there"
    else:
        rest = text[at : at + 20]
        why = f"{rest if len(text) <= at + 20 else rest + '...'!r} cannot stand at character {at}"
    what = f"{shown!r} is no text of this {constraint.kind} constraint"
    return ConstraintError(f"{what}: {why}; inspect(constraint, text) says more")


def _n_legal(constraint: Constraint, text: str) -> int:
    """How many characters may begin a legal text."""
    here = recognizer.start(constraint.expression)
    for at, character in enumerate(text):
        for byte in character.encode("utf-8", "surrogatepass"):
            here = recognizer.step(here, byte)
        if not here:
            return at
    return len(text)
