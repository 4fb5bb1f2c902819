"""Limits of what is built from one schema, so that any schema is built or refused in bounded time and memory.

Sizes are looked at before anything is built; time is asked for where combinations multiply. What is built later, when a
text first reaches it, is under no time limit: it was tried when the constraint was made, or cannot fail.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tokenizer_align.errors import TooComplex, UnsupportedSchema

IGNORE_HINT = 'Remove it, or pass on_unsupported="ignore".'
MAX_BUILD_S = 4.5  # of the processor, in the thread that builds: a busy machine refuses nothing
MAX_SUBSCHEMAS = 30_000  # that can be reached from the root
MAX_LISTED = 50_000  # values inside the arrays and objects of one enum or const
MAX_PATTERN = 100_000  # characters

_stops_at: ContextVar[float | None] = ContextVar("stops_at", default=None)


@contextmanager
def time_limit(limit_s: float = MAX_BUILD_S) -> Iterator[None]:
    """Raises TooComplex inside the block after so many seconds of the processor, wherever `check_time` is called."""
    stops_at = time.thread_time() + limit_s
    token = _stops_at.set(stops_at)
    try:
        yield
    except UnsupportedSchema:
        if time.thread_time() > stops_at:
            raise _out_of_time(limit_s) from None  # every place that was left said so; once is enough
        raise
    finally:
        _stops_at.reset(token)


def check_time() -> None:
    """Raises TooComplex where the time of the block around is over."""
    if is_over():
        raise _out_of_time(None)


def is_over() -> bool:
    """Whether the time of the block around is over."""
    stops_at = _stops_at.get()
    return stops_at is not None and time.thread_time() > stops_at


def _out_of_time(limit_s: float | None) -> TooComplex:
    within = f" within {limit_s:g} s" if limit_s is not None else " in time"
    return TooComplex(f"the combinations of this schema cannot be built{within}")


def size_reason(keyword: str, value: Any) -> str | None:
    """Why a keyword's value is too large, None where it is not."""
    if keyword in ("pattern", "patternProperties"):
        longest = max(map(len, [value] if isinstance(value, str) else value), default=0)
        if longest > MAX_PATTERN:
            return f'"{keyword}" has a pattern of more than {MAX_PATTERN:,} characters'
    if keyword in ("enum", "const"):
        values = value if keyword == "enum" else [value]
        n_inside = sum(_n_values(item, MAX_LISTED) for item in values if isinstance(item, list | dict))
        if n_inside > MAX_LISTED:
            return f'"{keyword}" holds arrays or objects of more than {MAX_LISTED:,} values'
    return None


def _n_values(value: Any, most: int) -> int:
    """How many values a value is made of, itself included; counting ends above `most`."""
    n, work = 0, [value]
    while work and n <= most:
        item = work.pop()
        n += 1
        work += item if isinstance(item, list) else item.values() if isinstance(item, dict) else ()
    return n
