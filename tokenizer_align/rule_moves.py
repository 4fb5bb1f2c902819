"""What a grammar's rules do with their first byte, derived before any vocabulary is at hand.

It is the same for all vocabularies, and first masks need most of it.
"""

from __future__ import annotations

from .derivatives import moves
from .expressions import K_ALT, K_CALL, K_REPEAT, K_SEQ, Expr
from .left_recursion import check_left_recursion
from .nodes import Rule

MAX_RULES = 300  # beyond, texts come to few of them


def derive_rules(expr: Expr) -> None:
    """Derive the moves of the rules that an expression calls, and of those that they call, the nearest first.

    Raises ConstraintError where a rule comes to itself before anything was read.
    """
    seen: dict[Rule, None] = {}
    level = [expr]
    while level:
        following: list[Expr] = []
        for node in level:
            if node.kind in (K_SEQ, K_ALT, K_REPEAT) and node.has_call:
                following += node.args
            elif node.kind == K_CALL and node.data not in seen and len(seen) < MAX_RULES:
                seen[node.data] = None
                check_left_recursion(node)
                moves(node.data.body)
                following.append(node.data.body)
        level = following
