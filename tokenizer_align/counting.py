"""Repetitions with large counts: what one token can tell of them.

A token of at most L bytes cannot use up more than L repetitions, so states that differ only in counts beyond L share
their masks (`clamp_counts`). And a count of items that are told apart by their own bytes needs one state, not one for
each place inside an item: the item runs above it (`is_prefix_free`).
"""

from __future__ import annotations

from functools import lru_cache

from .derivatives import heads
from .expressions import (
    EMPTY,
    EPSILON,
    K_ALT,
    K_BOTH,
    K_EPSILON,
    K_LIT,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_WORDS,
    Expr,
    alt,
    both_unchecked,
    neg,
    repeat,
    seq,
    seq_parts,
)
from .lengths import bytes_of, lengths

MAX_BEFORE = 8  # parts before a count that are looked through
MAX_CONTAINED = 300  # states looked at to see that a pattern's texts are made of the characters that are counted
MAX_WORDS = 1_000
MAX_ITEM_STATES = 48  # a UTF-8 character with JSON's escapes has about twenty


def is_large(count: Expr, longest: int) -> bool:
    """Whether a repetition's count is beyond what one token can use up."""
    lo, hi = count.data
    return bool(lo > longest + 1 if hi is None else hi > longest)


def clamp_counts(expr: Expr, longest: int) -> Expr:
    """The same masks without counts beyond the longest token; counts behind more than a few other parts stay."""
    return _clamp(expr, longest, {}) if expr.counts else expr


def _clamp(expr: Expr, longest: int, known: dict[Expr, Expr]) -> Expr:
    """The same, for parts that may stand in many places."""
    if not expr.counts:
        return expr
    found = known.get(expr)
    if found is None:
        found = known[expr] = _clamp_now(expr, longest, known)
    return found


def _clamp_now(expr: Expr, longest: int, known: dict[Expr, Expr]) -> Expr:
    if expr.kind == K_BOTH:
        return _clamp_both(expr, longest)
    if expr.kind == K_ALT:
        return alt(*(_clamp(arg, longest, known) for arg in expr.args))
    if expr.kind == K_SEQ:
        before: list[Expr] = []
        while expr.kind == K_SEQ and expr.args[0].kind != K_REPEAT and expr.args[0].plain and len(before) < MAX_BEFORE:
            before.append(expr.args[0])
            expr = expr.args[1]
        first, *rest = expr.args if expr.kind == K_SEQ else (expr,)
        return seq(*before, _clamp(first, longest, known) if first.kind != K_SEQ else first, *rest)
    if expr.kind == K_REPEAT and is_large(expr, longest):
        lo, _ = expr.data
        return repeat(expr.args[0], min(lo, longest + 1), None)
    return expr


def slack(expr: Expr, longest: int) -> int | None:
    """How many bytes can surely be read before a count that `clamp_counts` takes away makes a difference; None where
    it takes away none."""
    found: list[int] = []
    if expr.kind == K_BOTH:
        for count, other in _counted(expr):
            rest = completion_bytes(other)
            if clamp_counts(expr, longest) is not expr and rest is not None:
                found.append(count.data[1] - rest[1])
                found += _least(slack(other, longest))
    elif expr.kind == K_ALT:
        found = [one for arg in expr.args for one in _least(slack(arg, longest))]
    elif expr.kind == K_SEQ:
        parts = list(seq_parts(expr))
        while len(parts) > 1 and parts[0].kind != K_REPEAT:
            parts.pop(0)
        found = _least(slack(parts[0], longest))
    elif expr.kind == K_REPEAT and is_large(expr, longest):
        lo, hi = expr.data
        found = ([] if hi is None else [hi]) + ([lo] if lo > longest + 1 else [])
    return min(found, default=None)


def _least(found: int | None) -> list[int]:
    return [] if found is None else [found]


@lru_cache(maxsize=256)
def is_prefix_free(item: Expr) -> bool:
    """Whether no text of a small expression begins another one."""
    seen, work = {item}, [item]
    while work and len(seen) < MAX_ITEM_STATES:
        for _, after in heads(work.pop()):
            if after not in seen:
                seen.add(after)
                work.append(after)
    return not work and not any(state.memo_nullable and heads(state) for state in seen)


def _clamp_both(expr: Expr, longest: int) -> Expr:
    """One other part beside a count of characters: the other part alone, as long as the count cannot run out."""
    for count, other in _counted(expr):
        hi = count.data[1]
        if hi is not None and hi > longest and _asks_for_no_more(count, other):
            rest = completion_bytes(other)
            if rest is not None and hi >= longest + rest[1] and is_made_of(other, count.args[0]):
                return clamp_counts(other, longest)
    return expr


def _asks_for_no_more(count: Expr, other: Expr) -> bool:
    """Whether every text of the other part has as many characters as a count asks for at least."""
    lo, largest = count.data[0], lengths(count.args[0])[1]
    return lo == 0 or (largest is not None and lo * largest <= lengths(other)[0])


def _counted(expr: Expr) -> list[tuple[Expr, Expr]]:
    """(count, other part) of an intersection of two."""
    if len(expr.args) != 2:
        return []
    pairs = (expr.args, expr.args[::-1])
    return [(one, two) for one, two in pairs if one.kind == K_REPEAT and not one.args[0].memo_nullable]


@lru_cache(maxsize=4096)
def completion_bytes(node: Expr) -> tuple[int, int] | None:
    """At most (bytes of a shortest text, bytes that complete any text that is begun); None: unknown.

    By structure: after a beginning, the node is a union of parts of itself, and a union ends as soon as one part does.
    """
    kind = node.kind
    if kind in (K_EPSILON, K_SET):
        return (0, 0) if kind == K_EPSILON else (1, 1)
    if kind == K_LIT:
        return len(node.data), len(node.data)
    if kind == K_WORDS:
        source, first, last, depth = node.data
        sizes = [len(word) - depth for word in source.items[first:last]] if last - first <= MAX_WORDS else []
        return (min(sizes), max(sizes)) if sizes else None
    if kind == K_BOTH:
        return _completion_beside_count(node)
    if kind not in (K_SEQ, K_ALT, K_REPEAT):
        return None
    found = [completion_bytes(part) for part in (seq_parts(node) if kind == K_SEQ else node.args)]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return None
    if kind == K_ALT:
        return min(least for least, _ in parts), max(worst for _, worst in parts)
    if kind == K_REPEAT:
        (least, worst), lo = parts[0], node.data[0]
        return lo * least, max(lo * least, worst + max(lo - 1, 0) * least)
    total = worst_total = 0
    for least, worst in reversed(parts):
        worst_total = max(worst_total, worst + total)
        total += least
    return total, worst_total


def _completion_beside_count(node: Expr) -> tuple[int, int] | None:
    """Where the count leaves less than the other part wants, some completion is within it."""
    for count, other in _counted(node):
        rest, widest = completion_bytes(other), lengths(count.args[0])[1]
        if rest is None or widest is None or count.data[0] * widest > lengths(other)[0]:
            continue
        if is_made_of(other, count.args[0]):
            return rest[0] * widest, rest[1] * widest
    return None


@lru_cache(maxsize=4096)
def is_made_of(node: Expr, item: Expr) -> bool:
    """Whether every text of the node is one of any number of items: by its parts, or by a short search."""
    single = sum(mask for mask, after in heads(item) if after is EPSILON)
    if not bytes_of(node) & ~single:
        return True
    if node.kind == K_BOTH and any(is_made_of(part, item) for part in node.args):
        return True
    if node.kind in (K_SEQ, K_ALT, K_REPEAT):
        parts = dict.fromkeys(seq_parts(node) if node.kind == K_SEQ else node.args)
        if all(is_made_of(part, item) for part in parts):
            return True
    return _is_within(node, repeat(item, 0, None))


def _is_within(node: Expr, larger: Expr) -> bool:
    """Whether every text of one node is one of the other; False where a short search does not show it."""
    start = both_unchecked(node, neg(larger))
    seen, work = {start}, [start]
    for here in work:
        if here.memo_nullable or here.memo_live:
            return False
        for _, after in heads(here) if here.memo_live is None else ():
            if after not in seen and after is not EMPTY:
                seen.add(after)
                work.append(after)
        if len(seen) > MAX_CONTAINED:
            return False
    return True
