"""What an expression with calls does with its next byte: stacks of frames, topmost first.

What follows a call is pushed, never inlined, so that the inside of a call is the same automaton everywhere. Call-free
parts are derived (`derivatives`).
"""

from __future__ import annotations

import threading
import time

from .derivatives import heads, is_known_live, one_less
from .empty_text import nullable
from .errors import ConstraintError, TooComplex
from .expressions import (
    ALL_BYTES,
    EPSILON,
    K_ALT,
    K_ANCHOR,
    K_CALL,
    K_KEYS,
    K_REPEAT,
    K_SEQ,
    K_UNIQUE,
    WAYS,
    Expr,
    Rule,
    alt,
    call,
    frame,
    seq,
)
from .left_recursion import callees_first

Moves = tuple[tuple[int, tuple[Expr, ...]], ...]

MAX_MOVES_S = 5.0  # of processor time, for what one expression does, without rules that are made meanwhile
MAX_FRAMES = 32  # that one byte puts onto the stack; what lies below is one frame that unfolds when it is reached
MAX_WAYS = 8  # stacks behind one byte; where there are more, they are one


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
            if not (one.memo_productive or _is_productive(one)):
                break
        else:
            kept.append((mask, frames if len(frames) <= MAX_FRAMES else _folded(frames)))
    return tuple(kept if len(kept) <= MAX_WAYS else _joined(kept))


def _is_productive(node: Expr) -> bool:
    """Whether a frame holds any text. The time for it, as for rules made meanwhile, is no sign of too many ways."""
    from .productive import is_productive

    started = time.thread_time()
    found = is_productive(node)
    if budget.stops_at is not None:
        budget.stops_at += time.thread_time() - started
    return found


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
