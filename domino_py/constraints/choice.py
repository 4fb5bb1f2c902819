"""`choice([...])`: exactly one of finitely many texts, such as labels or names out of a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokenizer_align.errors import EmptyLanguage, InvalidOption, Problem
from tokenizer_align.expressions import Expr, words

from .base import Constraint


def choice(options: Iterable[str], *more: str) -> Constraint:
    """One of these texts, letter by letter; the parsed value is the text itself.

    Options may begin with one another ("New", "New York"), may be empty, and may be many: ten thousand names are
    one trie. Repeated ones count once. Raises InvalidOption for anything but texts, EmptyLanguage where there are none.

        choice(["yes", "no"]).matches("yes")     # True
    """
    if more:
        raise InvalidOption("options", "choice takes one list of texts. Write choice([...]).")
    if isinstance(options, str | bytes) or not isinstance(options, Iterable):
        what = f"the single {type(options).__name__} {options!r}" if isinstance(options, str | bytes) else repr(options)
        raise InvalidOption("options", f"choice takes a list of texts, not {what}. Write choice([...]).")
    if isinstance(options, Mapping):
        raise InvalidOption("options", "choice takes a list of texts, not a mapping. Write choice(list(mapping)).")
    listed = sorted(options, key=repr) if isinstance(options, set | frozenset) else list(options)
    for index, option in enumerate(listed):
        _check(option, index)
    if not listed:
        raise EmptyLanguage("choice needs at least one option, but the list is empty.")
    return Constraint("choice", tuple(dict.fromkeys(listed)))


def _check(option: object, index: int) -> None:
    if not isinstance(option, str):
        advice = f" Write {str(option)!r} for its text, or use of_type(Literal[...])." if option is not None else ""
        raise InvalidOption(
            "options", f"options[{index}] is {option!r} ({type(option).__name__}), but choice takes texts only.{advice}"
        )
    try:
        option.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidOption(
            "options",
            f"options[{index}] = {option!r} holds half of a surrogate pair at position {error.start}, "
            "which no UTF-8 text can hold.",
        ) from None


def build(constraint: Constraint) -> tuple[Expr, tuple[Problem, ...]]:
    """The expression of a choice constraint."""
    return words(option.encode("utf-8") for option in constraint.source), ()
