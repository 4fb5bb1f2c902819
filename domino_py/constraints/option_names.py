"""Calls that name the nearest right option where they are given an unknown one, as `generate` does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tokenizer_align.errors import InvalidOption

P = ParamSpec("P")
R = TypeVar("R")


def names_its_options(call: Callable[P, R]) -> Callable[P, R]:
    """The same call; it raises InvalidOption for a keyword argument that it does not have.

    >>> from domino_py.constraints.json import json
    >>> json(whitespce="compact")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    InvalidOption: 'whitespce' is not an option of json(). Did you mean 'whitespace'?
    """
    parameters = inspect.signature(call).parameters.values()
    known = [one.name for one in parameters if one.kind is not inspect.Parameter.POSITIONAL_ONLY]

    @functools.wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise InvalidOption(name, f"{name!r} is not an option of {call.__name__}().", known)
        return call(*args, **kwargs)

    return checked
