"""Rules that call each other only at one end are regular: their equations are solved (Arden 1961; Kleene 1956).

`digits ::= digit | digit digits` becomes `digit+`, with no calls left. An equation is X_i = rest_i | sum_j C_ij X_j for
calls at the right end, X_i = rest_i | sum_j X_j C_ij for calls at the left end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tokenizer_align.expressions import (
    EMPTY,
    EPSILON,
    K_ALT,
    K_CALL,
    K_LIT,
    K_REPEAT,
    K_SEQ,
    Expr,
    Rule,
    alt,
    seq,
    seq_parts,
    star,
)

MAX_RULES = 12  # that are solved together: the solution can grow with every one
MAX_SIZE = 5_000  # nodes of a solution


@dataclass(slots=True)
class Split:
    """An expression as `rest`, without calls of the rules at the end, and what stands beside each call."""

    rest: Expr
    beside: dict[Rule, Expr]


def mentions(node: Expr, rules: Mapping[Rule, object], memo: dict[Expr, bool]) -> bool:
    """Whether one of the rules is called inside the expression (other rules are not looked into)."""
    if not node.has_call:
        return False
    found = memo.get(node)
    if found is None:
        parts = seq_parts(node) if node.kind == K_SEQ else list(node.args)
        found = node.data in rules if node.kind == K_CALL else any(mentions(part, rules, memo) for part in parts)
        memo[node] = found
    return found


def size(node: Expr, memo: dict[Expr, int]) -> int:
    """How many nodes, and bytes of literals, the expression has when nothing is shared."""
    found = memo.get(node)
    if found is None:
        parts = seq_parts(node) if node.kind == K_SEQ else list(node.args)
        copies = min(node.data[1] or node.data[0] or 1, 1000) if node.kind == K_REPEAT else 1
        own = len(node.data) if node.kind == K_LIT else 1
        found = memo[node] = own + copies * sum(size(part, memo) for part in parts)
    return found


def solve_linear(bodies: dict[Rule, Expr]) -> dict[Rule, Expr] | None:
    """The rules without calls of each other; None where they are not linear, or the solution would be too large."""
    if len(bodies) > MAX_RULES:
        return None
    memo: dict[Expr, bool] = {}
    for is_right in (True, False):
        splits = {rule: _split(body, bodies, is_right, memo) for rule, body in bodies.items()}
        whole = {rule: split for rule, split in splits.items() if split is not None}
        if len(whole) == len(bodies):
            return _solve(whole, (lambda a, b: seq(a, b)) if is_right else (lambda a, b: seq(b, a)))
    return None


def _split(node: Expr, rules: Mapping[Rule, object], is_right: bool, memo: dict[Expr, bool]) -> Split | None:
    if not mentions(node, rules, memo):
        return Split(node, {})
    if node.kind == K_CALL:
        return Split(EMPTY, {node.data: EPSILON})
    if node.kind == K_ALT:
        rest, beside = [], dict[Rule, Expr]()
        for arg in node.args:
            inner = _split(arg, rules, is_right, memo)
            if inner is None:
                return None
            rest.append(inner.rest)
            for rule, expr in inner.beside.items():
                beside[rule] = alt(beside.get(rule, EMPTY), expr)
        return Split(alt(*rest), beside)
    if node.kind == K_SEQ:
        parts = seq_parts(node)
        end, others = (parts[-1], parts[:-1]) if is_right else (parts[0], parts[1:])
        if any(mentions(part, rules, memo) for part in others):
            return None
        inner = _split(end, rules, is_right, memo)
        if inner is None:
            return None
        around = seq(*others)

        def join(expr: Expr) -> Expr:
            return seq(around, expr) if is_right else seq(expr, around)

        return Split(join(inner.rest), {rule: join(expr) for rule, expr in inner.beside.items()})
    return None  # a repetition that holds a call


def _solve(system: dict[Rule, Split], join: Callable[[Expr, Expr], Expr]) -> dict[Rule, Expr] | None:
    """Gaussian elimination; `join(a, b)`: what stands beside a call, then (or before it) the call."""
    sizes: dict[Expr, int] = {}
    order = list(system)
    for at, rule in enumerate(order):
        own = system[rule]
        loop = star(own.beside.pop(rule, EMPTY))
        own.rest = join(loop, own.rest)
        own.beside = {other: join(loop, expr) for other, expr in own.beside.items()}
        for other in order[at + 1 :]:
            _substitute(system[other], rule, own, join)
        if size(own.rest, sizes) > MAX_SIZE or any(size(expr, sizes) > MAX_SIZE for expr in own.beside.values()):
            return None
    for at in range(len(order) - 1, -1, -1):
        for earlier in order[:at]:
            _substitute(system[earlier], order[at], system[order[at]], join)
    result = {rule: split.rest for rule, split in system.items()}
    return None if any(size(expr, sizes) > MAX_SIZE for expr in result.values()) else result


def _substitute(into: Split, rule: Rule, solved: Split, join: Callable[[Expr, Expr], Expr]) -> None:
    factor = into.beside.pop(rule, EMPTY)
    if factor is EMPTY:
        return
    into.rest = alt(into.rest, join(factor, solved.rest))
    for other, expr in solved.beside.items():
        into.beside[other] = alt(into.beside.get(other, EMPTY), join(factor, expr))
