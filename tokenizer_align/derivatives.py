"""What an expression becomes when it reads a byte.

`heads` (call-free nodes): a deterministic derivative per byte class (Brzozowski 1964, with the byte classes of Owens et
al.). What can never be completed is left out by those who read them (`is_known_live`). Calls are for `moves`.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Container
from heapq import heappop, heappush

from .empty_text import nullable
from .errors import ConstraintError, TooComplex
from .expressions import (
    ALL,
    ALL_BYTES,
    EMPTY,
    EPSILON,
    K_ALT,
    K_BOTH,
    K_EMPTY,
    K_EPSILON,
    K_LAZY,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_WORDS,
    Expr,
    alt,
    both_unchecked,
    lit,
    neg,
    repeat,
    seq,
    words_slice,
)
from .left_out import LEFT_OUT, leave_out, note_search
from .lengths import is_surely_empty, lengths

Heads = tuple[tuple[int, Expr], ...]

MAX_SEARCH = 50_000  # nodes visited to decide whether an intersection is empty, before TooComplex
MAX_SEARCH_S = 2.0  # the same in processor time, once
MIN_SEARCH = 1_000  # so many were visited: a pause of the machine decides nothing


def heads(node: Expr) -> Heads:
    """Disjoint (byte mask, derivative) pairs of a call-free node; bytes outside all masks lead nowhere."""
    if node.memo_heads is None:
        node.memo_heads = _heads(node)
    return node.memo_heads


def _heads(node: Expr) -> Heads:
    kind = node.kind
    if kind in (K_EMPTY, K_EPSILON):
        return ()
    if kind == K_SET:
        return ((node.data, EPSILON),)
    if kind == K_LIT:
        return ((1 << node.data[0], lit(node.data[1:])),)
    if kind == K_SEQ:
        found: list[tuple[int, Expr]] = []
        rest = node
        while rest.kind == K_SEQ:
            first, rest = rest.args
            found += [(mask, seq(after, rest)) for mask, after in heads(first)]
            if not first.memo_nullable:
                return _disjoint(found)
        return _disjoint(found + list(heads(rest)))
    if kind == K_ALT:
        return _disjoint([pair for arg in node.args for pair in heads(arg)])
    if kind == K_REPEAT:
        rest = one_less(node)
        return _disjoint([(mask, seq(after, rest)) for mask, after in heads(node.args[0])])
    if kind == K_WORDS:
        return _word_heads(node)
    if kind == K_BOTH:
        return _both_heads(node)
    if kind == K_NEG:
        return _neg_heads(node)
    if kind == K_LAZY:
        behind: Heads | None = node.data.heads
        return heads(node.data.body) if behind is None else behind
    raise ConstraintError(f"{node!r} needs a stack; it cannot stand inside an intersection or complement")


def one_less(node: Expr) -> Expr:
    """A repetition after one of its items."""
    lo, hi = node.data
    return repeat(node.args[0], max(lo - 1, 0), None if hi is None else hi - 1)


def _word_heads(node: Expr) -> Heads:
    source, lo, hi, depth = node.data
    items, begun = source.items, source.items[lo][:depth]
    start = lo + 1 if len(items[lo]) == depth else lo
    result = []
    while start < hi:
        byte, end = items[start][depth], hi
        if items[hi - 1][depth] != byte:
            end = bisect_left(items, begun + bytes([byte + 1]), start, hi)
        result.append((1 << byte, words_slice(source, start, end, depth + 1)))
        start = end
    return tuple(result)


def _both_heads(node: Expr) -> Heads:
    current: list[tuple[int, tuple[Expr, ...]]] = [(ALL_BYTES, ())]
    for arg in node.args:
        current = [
            (mask & other, (*afters, after)) for mask, afters in current for other, after in heads(arg) if mask & other
        ]
    merged: dict[Expr, int] = {}
    for mask, afters in current:
        after = both_unchecked(*afters)
        if after is not EMPTY:
            merged[after] = merged.get(after, 0) | mask
    return tuple((mask, after) for after, mask in merged.items())


def _neg_heads(node: Expr) -> Heads:
    rest, merged = ALL_BYTES, dict[Expr, int]()
    for mask, after in heads(node.args[0]):
        rest &= ~mask
        outside = neg(after)
        if outside is not EMPTY:
            merged[outside] = merged.get(outside, 0) | mask
    if rest:
        merged[ALL] = merged.get(ALL, 0) | rest
    return tuple((mask, after) for after, mask in merged.items())


def _disjoint(pairs: list[tuple[int, Expr]]) -> Heads:
    """Overlapping pairs made disjoint: a byte that leads to several nodes leads to their union."""
    merged: dict[Expr, int] = {}
    union, overlap = 0, False
    for mask, after in pairs:
        overlap = overlap or bool(union & mask)
        union |= mask
        merged[after] = merged.get(after, 0) | mask
    if not overlap:
        return tuple((mask, after) for after, mask in merged.items())
    parts: list[tuple[int, tuple[Expr, ...]]] = []
    for after, mask in merged.items():
        parts = _split(parts, mask, after)
    result: dict[Expr, int] = {}
    for mask, afters in parts:
        after = afters[0] if len(afters) == 1 else alt(*afters)
        result[after] = result.get(after, 0) | mask
    return tuple((mask, after) for after, mask in result.items())


def _split(parts: list[tuple[int, tuple[Expr, ...]]], mask: int, after: Expr) -> list[tuple[int, tuple[Expr, ...]]]:
    result = []
    for other, afters in parts:
        common = other & mask
        if common:
            result.append((common, (*afters, after)))
            mask &= ~common
        if other & ~common:
            result.append((other & ~common, afters))
    if mask:
        result.append((mask, (after,)))
    return result


def holds_text(node: Expr, text: bytes) -> bool:
    """Whether a text belongs to a call-free node: one derivative a byte."""
    for byte in text:
        node = next((after for mask, after in heads(node) if mask >> byte & 1), EMPTY)
        if node is EMPTY:
            return False
    return nullable(node)


def is_live(node: Expr) -> bool:
    """Whether a call-free node holds any string at all; exact, by search over derivatives, memoized.

    Raises TooComplex beyond the budget of the search.
    """
    if node.plain:
        return node is not EMPTY
    if node.memo_live is None:
        _timed_search(node)
    return bool(node.memo_live)


def is_known_live(node: Expr) -> bool:
    """The same while a text is read: what is too hard to decide counts as empty.

    A node that was found to be live keeps a way to its end, whose nodes are all known to be live; so nothing ends dead,
    and at worst a legal text is left out, which `left_out` says.
    """
    if node.plain or node.memo_live is not None:
        return is_live(node)
    if node in LEFT_OUT:
        return False
    try:
        _timed_search(node, undecided=LEFT_OUT)
    except TooComplex as error:
        leave_out(node, str(error))
    return bool(node.memo_live)


def _is_seen_live(node: Expr) -> bool:
    """Whether a node is known to hold a string, without looking further."""
    return bool(node.memo_nullable or node.memo_live or (node.plain and node is not EMPTY))


def _timed_search(start: Expr, undecided: Container[Expr] = ()) -> None:
    began = time.thread_time()
    _search(start, undecided)
    note_search(time.thread_time() - began)


def _search(start: Expr, undecided: Container[Expr] = ()) -> None:
    """The nearest first, by a lower bound of what is to come; where none accepts, all that was visited is dead.

    Ways through `undecided` nodes are not tried again; where no other is left, the start is undecided too.
    """
    parents: dict[Expr, Expr | None] = {start: None}
    work = [(lengths(start)[0], 0, start)]
    stops_at, is_sure = time.thread_time() + MAX_SEARCH_S, True
    while work:
        _, _, node = heappop(work)
        following = heads(node)
        live = node if _is_seen_live(node) else next((after for _, after in following if _is_seen_live(after)), None)
        if live is not None:
            live.memo_live = True
            step: Expr | None = node
            while step is not None:
                step.memo_live = True
                step = parents[step]
            return
        for _, after in following:
            if after not in parents and after.memo_live is not False:
                parents[after] = node
                if after in undecided:
                    is_sure = False
                elif not is_surely_empty(after):
                    heappush(work, (lengths(after)[0], -len(parents), after))
        is_slow = len(parents) > MIN_SEARCH and time.thread_time() > stops_at
        if is_slow or len(parents) > MAX_SEARCH:
            shown = repr(start)
            shown = shown if len(shown) <= 200 else f"{shown[:197]}..."
            raise TooComplex(f"an intersection or complement needs more than {len(parents):,} states: {shown}")
    if not is_sure:
        raise TooComplex(f"an intersection or complement leads on to what needs too many states: {start!r:.200}")
    for node in parents:
        node.memo_live = False
