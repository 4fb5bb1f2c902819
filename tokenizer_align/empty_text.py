"""Whether the empty string belongs to an expression with calls: the least fixed point over rules.

Decided depth first, so that rules are made only as far as the answer needs them; where rules are deep or tangled, by
counting over everything that can be reached, each part once (Dowling and Gallier 1984, for Horn clauses).
"""

from __future__ import annotations

from .expressions import K_ALT, K_CALL, K_SEQ, Expr, Rule, seq_parts

MAX_DEPTH = 60  # rules inside each other that the quick decision looks into
MAX_STEPS = 2_000  # nodes that it looks at


def nullable(node: Expr) -> bool:
    """Whether the empty string belongs to the node; rules are looked into, left recursion counts as 'no'."""
    if node.memo_nullable is None:
        try:
            value, _ = _nullable(node, set(), [MAX_STEPS])
        except _TooDeep:
            value = _by_counting(node)
        node.memo_nullable = value  # firm: a shortest reason for the empty string needs no rule inside itself
    return node.memo_nullable


class _TooDeep(Exception):
    """The quick decision went too deep."""


def _nullable(node: Expr, active: set[Rule], steps: list[int]) -> tuple[bool, bool]:
    """(value, whether the value did not lean on a rule that is still being decided)."""
    if node.memo_nullable is not None:
        return node.memo_nullable, True
    steps[0] -= 1
    if len(active) > MAX_DEPTH or steps[0] < 0:
        raise _TooDeep
    if node.kind == K_CALL:
        rule: Rule = node.data
        if rule in active:
            return False, False
        active.add(rule)
        value, final = _nullable(rule.body, active, steps)
        active.discard(rule)
    else:
        need_all = node.kind != K_ALT
        value, final = need_all, True
        for arg in _parts(node):
            arg_value, arg_final = _nullable(arg, active, steps)
            final = final and arg_final
            if arg_value != need_all:
                value, final = arg_value, arg_final
                break
    if value or final:
        node.memo_nullable = value
    return value, final or value


def _parts(node: Expr) -> tuple[Expr, ...]:
    """One of an alternative's, all of another node's decide."""
    if node.kind == K_CALL:
        return (node.data.body,)
    return tuple(seq_parts(node)) if node.kind == K_SEQ else node.args


def _by_counting(start: Expr) -> bool:
    missing: dict[Expr, int] = {}  # parts that must still be found to hold the empty string
    users: dict[Expr, list[Expr]] = {}
    found, work = list[Expr](), [start]
    while work:
        node = work.pop()
        if node in missing:
            continue
        parts = _parts(node)
        left = 1 if node.kind == K_ALT else len(parts)
        for part in parts:
            left -= part.memo_nullable is True
        missing[node] = left
        if left <= 0:
            found.append(node)
            continue
        if node.kind != K_ALT and any(part.memo_nullable is False for part in parts):
            continue
        for part in parts:
            if part.memo_nullable is None:
                users.setdefault(part, []).append(node)
                work.append(part)
    while found:
        node = found.pop()
        if node.memo_nullable:
            continue
        node.memo_nullable = True
        for user in users.get(node, ()):
            missing[user] -= 1
            if missing[user] == 0:
                found.append(user)
    for node in missing:
        node.memo_nullable = node.memo_nullable is True
    return bool(start.memo_nullable)
