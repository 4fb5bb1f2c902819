"""Repetitions with large counts: what one token can tell of them.

A token of at most L bytes cannot use up more than L repetitions, so states that differ only in counts beyond L share
their masks (`clamp_counts`). And a count of items that are told apart by their own bytes needs one state, not one for
each place inside an item: the item runs above it (`is_prefix_free`).
"""

from __future__ import annotations

from functools import lru_cache

from .derivatives import heads
from .expressions import K_ALT, K_REPEAT, K_SEQ, Expr, alt, repeat, seq

MAX_BEFORE = 8  # parts before a count that are looked through
MAX_ITEM_STATES = 48  # a UTF-8 character with JSON's escapes has about twenty


def is_large(count: Expr, longest: int) -> bool:
    """Whether a repetition's count is beyond what one token can use up."""
    lo, hi = count.data
    return bool(lo > longest + 1 if hi is None else hi > longest)


def clamp_counts(expr: Expr, longest: int) -> Expr:
    """The same masks without counts beyond the longest token; counts behind more than a few other parts stay."""
    if expr.kind == K_ALT:
        return alt(*(clamp_counts(arg, longest) for arg in expr.args))
    if expr.kind == K_SEQ:
        before: list[Expr] = []
        while expr.kind == K_SEQ and expr.args[0].kind != K_REPEAT and expr.args[0].plain and len(before) < MAX_BEFORE:
            before.append(expr.args[0])
            expr = expr.args[1]
        first, *rest = expr.args if expr.kind == K_SEQ else (expr,)
        return seq(*before, clamp_counts(first, longest) if first.kind != K_SEQ else first, *rest)
    if expr.kind == K_REPEAT and is_large(expr, longest):
        lo, _ = expr.data
        return repeat(expr.args[0], min(lo, longest + 1), None)
    return expr


@lru_cache(maxsize=1024)
def is_prefix_free(item: Expr) -> bool:
    """Whether no text of a small expression begins another one."""
    seen, work = {item}, [item]
    while work and len(seen) < MAX_ITEM_STATES:
        for _, after in heads(work.pop()):
            if after not in seen:
                seen.add(after)
                work.append(after)
    return not work and not any(state.memo_nullable and heads(state) for state in seen)
