"""Whether a text can be divided between two languages in two ways, with an example: by search over derivatives.

`ab`, divided between `a+b?` and `b?a*`, may be `ab` and nothing, or `a` and `b`. There is such a text exactly when
some x and xy belong to the first language, and yz and z to the second, with a y that is not empty. The search reads x,
then y in both, then asks whether what is left of the second language and all of it share a text z.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from .derivatives import heads, is_live
from .errors import TooComplex
from .expressions import (
    EPSILON,
    K_ALT,
    K_CALL,
    K_REPEAT,
    K_SEQ,
    Expr,
    Rule,
    alt,
    both_unchecked,
    repeat,
    seq,
    seq_parts,
)
from .shortest import best_byte, shortest

MAX_INLINED = 2_000  # nodes that are written out in place of calls
MAX_STATES = 3_000  # pairs of states that are looked at
MAX_SEARCH_S = 1.0  # in processor time, the same


class TwoReadings(NamedTuple):
    """A text and the two places where the first part of it may end; `early` is before `late`."""

    text: bytes
    early: int
    late: int


def two_readings(first: Expr, rest: Expr) -> TwoReadings | None:
    """A text of `first` and then `rest` that can be divided in two ways; None where none was found.

    None is a proof where both are call-free and the search did not reach its limit.

    >>> from .expressions import lit, star
    >>> two_readings(star(lit(b"ab")), star(lit(b"ab")))
    TwoReadings(text=b'ab', early=0, late=2)
    >>> two_readings(star(lit(b"a")), lit(b"b")) is None
    True
    """
    if first.has_call or rest.has_call:
        return None
    seen: set[tuple[Expr, Expr | None]] = {(first, None)}
    work = deque([_Place(first, None, b"", 0)])
    stops_at = time.thread_time() + MAX_SEARCH_S
    try:
        while work and len(seen) < MAX_STATES and time.thread_time() < stops_at:
            here = work.popleft()
            if here.rest is not None and here.first.memo_nullable:
                shared = both_unchecked(here.rest, rest)
                if is_live(shared):
                    return TwoReadings(here.text + (shortest(shared) or b""), here.early, len(here.text))
            for place in _following(here, rest):
                if (place.first, place.rest) not in seen:
                    seen.add((place.first, place.rest))
                    work.append(place)
    except TooComplex:
        return None
    return None


class _Place(NamedTuple):
    """Somewhere in the search: what is left of the first language, and of the second once y has begun, at `early`."""

    first: Expr
    rest: Expr | None
    text: bytes
    early: int


def _following(here: _Place, rest: Expr) -> Iterator[_Place]:
    """One byte further: within x, or the first byte of y where x may end, or within y."""
    if here.rest is None:
        for mask, after in heads(here.first):
            yield _Place(after, None, here.text + bytes([best_byte(mask)]), 0)
        if not here.first.memo_nullable:
            return
    early = len(here.text) if here.rest is None else here.early
    for mask, after in heads(here.first):
        for other, behind in heads(rest if here.rest is None else here.rest):
            if mask & other:
                yield _Place(after, behind, here.text + bytes([best_byte(mask & other)]), early)


def without_calls(node: Expr) -> Expr | None:
    """The same language with rules written out; None for what is recursive, an object, or too large."""
    left = [MAX_INLINED]
    return _inlined(node, frozenset(), left) if node.has_call else node


def _inlined(node: Expr, active: frozenset[Rule], left: list[int]) -> Expr | None:
    left[0] -= 1
    if left[0] < 0:
        return None
    if not node.has_call:
        return node
    if node.kind == K_CALL:
        return None if node.data in active else _inlined(node.data.body, active | {node.data}, left)
    if node.kind not in (K_SEQ, K_ALT, K_REPEAT):
        return None
    parts = [_inlined(part, active, left) for part in (seq_parts(node) if node.kind == K_SEQ else node.args)]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    if node.kind == K_SEQ:
        return seq(*found)
    return alt(*found) if node.kind == K_ALT else repeat(found[0], *node.data)


def beginning(parts: list[Expr]) -> Expr:
    """The parts one after the other, up to the first that cannot be written without calls."""
    found: list[Expr] = []
    for part in parts:
        plain = without_calls(part)
        if plain is None:
            break
        found.append(plain)
    return seq(*found) if found else EPSILON
