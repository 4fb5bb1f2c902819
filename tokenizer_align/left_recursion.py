"""Rules that come to themselves before reading anything: no automaton can run them, so they are refused."""

from __future__ import annotations

from .derivatives import nullable
from .errors import ConstraintError
from .expressions import K_CALL, K_KEYS, K_SEQ, Expr, seq_parts
from .nodes import Rule


def check_left_recursion(expr: Expr) -> None:
    """Raises ConstraintError where a rule comes to itself before anything was read."""
    work: list[tuple[Expr, frozenset[Rule]]] = [(expr, frozenset())]
    while work:
        node, active = work.pop()
        if not node.has_call or node.kind == K_KEYS:
            continue
        if node.kind == K_CALL:
            rule = node.data
            if rule in active:
                raise ConstraintError(f"rule {rule.name!r} refers to itself before reading anything (left recursion)")
            if not rule.is_checked:
                work.append((rule.body, active | {rule}))
                if not active:
                    rule.is_checked = True
        elif node.kind == K_SEQ:
            for part in seq_parts(node):
                work.append((part, active))
                if not nullable(part):
                    break
        else:
            work += [(arg, active) for arg in node.args]
