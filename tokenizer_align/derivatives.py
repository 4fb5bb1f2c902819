"""What an expression becomes when it reads a byte.

`heads` (call-free nodes): a deterministic derivative per byte class (Brzozowski 1964, with the byte classes of Owens et
al.). `moves` (any node): pairs of a byte mask and the *frames* that take the node's place, topmost first; the frame
below a call is pushed, never inlined, so that the inside of a call is the same automaton everywhere. Moves whose frames
can never be completed are left out, so every frame that is reached can be completed.
"""

from __future__ import annotations

import threading
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
    K_ANCHOR,
    K_BOTH,
    K_CALL,
    K_EMPTY,
    K_EPSILON,
    K_KEYS,
    K_LAZY,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_UNIQUE,
    K_WORDS,
    WAYS,
    Expr,
    Rule,
    alt,
    both_unchecked,
    call,
    frame,
    lit,
    neg,
    repeat,
    seq,
    words_slice,
)
from .left_out import LEFT_OUT, leave_out, note_search
from .left_recursion import callees_first
from .lengths import is_surely_empty, lengths

Heads = tuple[tuple[int, Expr], ...]
Moves = tuple[tuple[int, tuple[Expr, ...]], ...]

MAX_SEARCH = 50_000  # nodes visited to decide whether an intersection is empty, before TooComplex
MAX_SEARCH_S = 2.0  # the same in processor time, once
MAX_MOVES_S = 20.0  # of processor time, for what one expression does, the rules included that are made meanwhile
MAX_FRAMES = 32  # that one byte puts onto the stack; what lies below is one frame that unfolds when it is reached
MAX_WAYS = 8  # stacks behind one byte; where there are more, they are one
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


def moves(node: Expr) -> Moves:
    """(byte mask, frames) pairs, topmost frame first; no frame is EPSILON, no frames means 'finished'. Masks may
    overlap."""
    if node.memo_moves is None:
        is_outermost = budget.stops_at is None
        try:
            if is_outermost:
                budget.stops_at = time.thread_time() + MAX_MOVES_S
            for rule in callees_first(node, lambda rule: rule.body.memo_moves is not None) if node.has_call else ():
                rule.body.memo_moves = _prune(_moves(rule.body))  # kept: rules are reached in several ways
            node.memo_moves = _prune(_moves(node))
        finally:
            if is_outermost:
                budget.stops_at = None
    return node.memo_moves


class _Budget(threading.local):
    """When this thread's derivation of moves gives up with TooComplex, in its processor time. Who finds None sets it
    and takes it back in a `finally` of the same frame, with no call in between that could itself fail."""

    stops_at: float | None = None


budget = _Budget()


def _prune(found: list[tuple[int, tuple[Expr, ...]]]) -> Moves:
    from .productive import is_productive

    if budget.stops_at is not None and time.thread_time() > budget.stops_at:
        raise TooComplex(
            "a part of the grammar can be read in too many ways (rules deep inside each other that may all be empty?)"
        )
    merged: dict[tuple[Expr, ...], int] = {}
    for mask, frames in found:
        merged[frames] = merged.get(frames, 0) | mask
    kept = []
    for frames, mask in merged.items():
        for one in frames:
            if not (one.memo_productive or is_productive(one)):
                break
        else:
            kept.append((mask, frames if len(frames) <= MAX_FRAMES else _folded(frames)))
    return tuple(kept if len(kept) <= MAX_WAYS else _joined(kept))


def _joined(found: list[tuple[int, tuple[Expr, ...]]]) -> list[tuple[int, tuple[Expr, ...]]]:
    """The same moves, where more than MAX_WAYS stacks behind one byte are one frame that unfolds when it is reached.

    Rules that call each other in two ways a level, forty levels deep, would have 2^40 stacks of what follows.
    """
    parts: list[tuple[int, tuple[tuple[Expr, ...], ...]]] = [(ALL_BYTES, ())]
    apart: list[tuple[int, tuple[Expr, ...]]] = []
    for mask, frames in found:
        if any(one.kind in (K_KEYS, K_UNIQUE, K_ANCHOR) for one in frames):
            apart.append((mask, frames))  # objects begin side by side, without derivatives
        else:
            parts = [
                (piece, several)
                for other, before in parts
                for piece, several in ((other & mask, (*before, frames)), (other & ~mask, before))
                if piece
            ]
    if all(len(several) <= MAX_WAYS for _, several in parts):
        return found
    merged: dict[tuple[Expr, ...], int] = {}
    for mask, several in parts:
        if len(several) > MAX_WAYS:
            several = ((_ways(several),),)
        for frames in several:
            merged[frames] = merged.get(frames, 0) | mask
    return apart + [(mask, frames) for frames, mask in merged.items()]


def _ways(several: tuple[tuple[Expr, ...], ...]) -> Expr:
    """A frame that stands for several stacks of frames."""
    body = alt(*(seq(*map(frame, frames)) for frames in several))
    if body.ways_rule is None:
        body.ways_rule = Rule(WAYS, body)
    return call(body.ways_rule)


def _folded(frames: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The topmost frame, and the others as one."""
    return frames[0], frame(seq(*map(frame, frames[1:])))


def _moves(node: Expr) -> list[tuple[int, tuple[Expr, ...]]]:
    if node.memo_moves is not None:
        return list(node.memo_moves)
    if not node.has_call:
        return [(mask, () if after is EPSILON else (after,)) for mask, after in heads(node) if is_known_live(after)]
    kind = node.kind
    if kind == K_CALL:
        return list(moves(node.data.body))
    if kind in (K_ALT, K_SEQ, K_REPEAT):
        found = _composed_moves(node)
        if len(found) > MAX_WAYS:  # kept, and joined: a part may stand in several places, each inside another
            node.memo_moves = _prune(found)
            found = list(node.memo_moves)
        return found
    if kind == K_KEYS:
        from .members import key_moves

        return key_moves(node)
    if kind in (K_UNIQUE, K_ANCHOR):
        from .unique import tracked_moves

        return tracked_moves(node)
    raise ConstraintError(f"{node!r} holds a call inside an intersection or complement")


def _composed_moves(node: Expr) -> list[tuple[int, tuple[Expr, ...]]]:
    if node.kind == K_ALT:
        return [move for arg in node.args for move in _moves(arg)]
    if node.kind == K_SEQ:
        return _seq_moves(node.args[0], node.args[1])
    return _seq_moves(node.args[0], one_less(node), once=True)


def _is_long(node: Expr) -> bool:
    """Whether a sequence is better left apart than copied in front of another part."""
    n_parts = 1
    while node.kind == K_SEQ and n_parts < MAX_FRAMES:
        node, n_parts = node.args[1], n_parts + 1
    return n_parts == MAX_FRAMES


def _seq_moves(first: Expr, rest: Expr, once: bool = False) -> list[tuple[int, tuple[Expr, ...]]]:
    result: list[tuple[int, tuple[Expr, ...]]] = []
    passed: set[Expr] = set()
    while True:
        # `x x` with an x that may be empty: what follows the second x also follows the first, with the second left out.
        for mask, frames in _moves(first) if first not in passed else ():
            if rest is EPSILON:
                result.append((mask, frames))
            elif frames and not (frames[-1].has_call or rest.has_call or _is_long(frames[-1])):
                result.append((mask, (*frames[:-1], seq(frames[-1], rest))))
            else:
                result.append((mask, (*frames, rest)))
        if once or not nullable(first):
            return result
        passed.add(first)
        if rest.kind != K_SEQ:
            return result if rest in passed else result + _moves(rest)
        first, rest = rest.args
