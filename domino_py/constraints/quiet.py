"""Whether warnings are logged: where findings are listed anyway, they are not said twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)


@contextmanager
def unlogged() -> Iterator[None]:
    """Inside the block no finding is logged: they are listed otherwise."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def is_quiet() -> bool:
    """Whether this runs inside `unlogged`."""
    return _is_quiet.get()
