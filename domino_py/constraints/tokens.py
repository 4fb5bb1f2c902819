"""`token("<think>")`: one control token of the vocabulary, legal exactly where it stands."""

from __future__ import annotations

from tokenizer_align.errors import InvalidOption, Problem
from tokenizer_align.expressions import Expr
from tokenizer_align.markers import marker

from .base import Constraint

__all__ = ["build", "checked_marker", "token"]


def token(text: str) -> Constraint:
    """The added token with this text, as one token; its text in ordinary tokens where the tokenizer has no such token.

    Added control tokens are legal nowhere else, and a text that merely spells one is not it. `matches` takes the text.
    Raises InvalidOption for what is no text.

        think = domino.token("<think>") + domino.regex("[^<]*") + domino.token("</think>")
        think.matches("<think>Let me see.</think>")     # True
    """
    return Constraint("token", checked_marker(text, "text"))


def checked_marker(text: object, name: str) -> str:
    """The text of a marker, given as text or as a `token`. Raises InvalidOption."""
    if isinstance(text, Constraint) and text.kind == "token":
        return str(text.source)
    if not isinstance(text, str) or not text:
        raise InvalidOption(name, f"{name}={text!r}: a token's text is needed, such as '<think>'.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidOption(name, f"{name}={text!r} holds a lone surrogate, which no token holds.") from None
    return text


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a `token` constraint."""
    return marker(constraint.source), ()
