"""What a grammar's rules do, derived before any vocabulary is at hand.

It is the same for all vocabularies, and first masks need most of it: a state is then built by coding what is known.
"""

from __future__ import annotations

from collections import deque

from .choices import WIDE_BYTES, called, is_joined, known_body, plan_of, split_frames
from .derivatives import heads, moves
from .expressions import K_ALT, K_BOTH, K_CALL, K_REPEAT, K_SEQ, Expr
from .left_recursion import check_left_recursion
from .nodes import Rule
from .prebuilt import prebuild

MAX_RULES, MAX_FRAMES = 300, 3_000  # beyond, texts come to few of them


def derive_rules(expr: Expr) -> None:
    """Derive the moves of the rules that an expression calls, and of those that they call, the nearest first; then what
    their states do.

    Raises ConstraintError where a rule comes to itself before anything was read.
    """
    seen: dict[Rule, None] = {}
    work = deque([expr])
    while work:
        node = work.popleft()
        if node.kind in (K_SEQ, K_ALT, K_REPEAT) and node.has_call:
            work += node.args
        elif node.kind == K_CALL and node.data not in seen and len(seen) < MAX_RULES:
            seen[node.data] = None
            check_left_recursion(node)
            moves(node.data.body)
            work.append(node.data.body)
    if seen:
        _derive_frames(expr)
        body = known_body(expr)
        body.memo_states = prebuild(body)


def _derive_frames(expr: Expr) -> None:
    """Derive what the states do that texts come to, the nearest first."""
    seen, work = {expr: None}, deque([expr])
    while work:
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
