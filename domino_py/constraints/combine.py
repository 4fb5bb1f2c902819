"""`repeat(c, lo, hi)`: a constraint several times over. One after the other is `a + b`, either of two is `a | b`."""

from __future__ import annotations

from tokenizer_align.errors import InvalidOption

from .base import Constraint, repeat_constraint


def repeat(constraint: Constraint, lo: int, hi: int | None = None) -> Constraint:
    """`constraint` from `lo` to `hi` times, with nothing in between (`hi` None: without bound).

    For a separator, put it into what is repeated. Raises InvalidOption for what is not a constraint or not a range.

        line = regex("[^\\n]+")
        line + repeat(regex("\\n") + line, 0, 9)     # one to ten lines
    """
    if not isinstance(constraint, Constraint):
        raise InvalidOption(
            "constraint",
            f"repeat takes a constraint, not {type(constraint).__name__}. Wrap a text in choice([...]).",
        )
    for name, count in (("lo", lo), ("hi", hi)):
        if (not isinstance(count, int) or isinstance(count, bool)) and not (count is None and name == "hi"):
            raise InvalidOption(name, f"{name} must be a whole number, not {count!r}.")
    if lo < 0:
        raise InvalidOption("lo", f"lo={lo}: a constraint cannot be repeated a negative number of times.")
    if hi is not None and hi < lo:
        raise InvalidOption("hi", f"hi={hi} is below lo={lo}.")
    return repeat_constraint(constraint, lo, hi)
