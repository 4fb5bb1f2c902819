"""What a grammar's rules do, derived before any vocabulary is at hand.

It is the same for all vocabularies, and first masks need most of it: a state is then built by coding what is known.
"""

from __future__ import annotations

import time
from collections import deque

from .choices import WIDE_BYTES, called, is_joined, known_body, plan_of, split_frames
from .derivatives import heads
from .errors import TooComplex
from .expressions import K_ALT, K_BOTH, K_CALL, K_REPEAT, K_SEQ, Expr
from .left_recursion import check_left_recursion
from .moves import budget, moves
from .nodes import Rule
from .prebuilt import prebuild

MAX_RULES, MAX_FRAMES = 300, 3_000  # beyond, texts come to few of them
MAX_DERIVING_S = 0.5  # of processor time


def derive_rules(expr: Expr) -> None:
    """Derive the moves of the rules that an expression calls, and of those that they call, the nearest first; then what
    their states do.

    Raises ConstraintError where a rule comes to itself before anything was read.
    """
    rules = _check_rules(expr)
    if rules:
        try:
            budget.stops_at = time.thread_time() + MAX_DERIVING_S
            for rule in rules:
                moves(rule.body)
            _derive_frames(expr)
            body = known_body(expr)
            if body.memo_states is None:
                body.memo_states = prebuild(body)
        except TooComplex:
            pass  # what is left is derived when a text comes there
        finally:
            budget.stops_at = None


def _check_rules(expr: Expr) -> list[Rule]:
    """The rules that can be reached, the nearest first."""
    seen: dict[Rule, None] = {}
    work = deque([expr])
    while work:
        node = work.popleft()
        if node.kind in (K_SEQ, K_ALT, K_REPEAT) and node.has_call:
            work += node.args
        elif node.kind == K_CALL and node.data not in seen and len(seen) < MAX_RULES:
            seen[node.data] = None
            check_left_recursion(node)
            work.append(node.data.body)
    return list(seen)


def _derive_frames(expr: Expr) -> None:
    """Derive what the states do that texts come to, the nearest first."""
    seen, work, stops_at = {expr: None}, deque([expr]), time.thread_time() + MAX_DERIVING_S / 2
    while work and time.thread_time() < stops_at:
        for frame in _following(known_body(work.popleft())):
            if frame not in seen and len(seen) < MAX_FRAMES:
                seen[frame] = None
                work.append(frame)


def _following(expr: Expr) -> list[Expr]:
    """The frames that an expression stands for or leads to."""
    if not expr.has_call:
        is_large = expr.counts or expr.kind == K_BOTH  # or built otherwise (`less_words`)
        return [] if is_large else [after for _, after in heads(expr)]
    calls, rest = called(expr)
    if calls:
        return [frame for part in (*calls, rest) for frame in split_frames(part)]
    if expr.kind == K_SEQ and not is_joined(expr):
        return list(split_frames(expr))
    if expr.kind not in (K_SEQ, K_ALT, K_REPEAT):
        return []
    plan = plan_of(expr, WIDE_BYTES)
    stacks = [frames for _, several in plan.groups for frames in several]
    return [frame for frames in (*stacks, *plan.apart) for frame in frames]
