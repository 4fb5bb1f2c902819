"""Whether an expression with calls holds any text: the least fixed point over rules.

Every node is a list of clauses "so many of these parts hold some text": one of an alternative's, all of a sequence's, a
number of an object's members. Decided depth first, so that rules are made only as far as the answer needs them; where
rules are deep or tangled, by counting over everything that can be reached.
"""

from __future__ import annotations

from .derivatives import is_live
from .expressions import K_ALT, K_ANCHOR, K_CALL, K_REPEAT, K_SEQ, K_UNIQUE, Expr, Rule, seq_parts
from .member_steps import Clause

MAX_DEPTH = 60  # rules inside each other that the quick decision looks into
MAX_STEPS = 20_000  # nodes that it looks at


def is_productive(node: Expr) -> bool:
    """Whether the node holds any string; rules are looked into (least fixed point, memoized)."""
    if node.memo_productive is None:
        try:
            value, _ = _productive(node, set(), [MAX_STEPS])
        except _TooDeep:
            value = _productive_by_counting(node)
        node.memo_productive = value
    return node.memo_productive


class _TooDeep(Exception):
    """The quick decision of productivity went too deep."""


def _productive(node: Expr, active: set[Rule], steps: list[int]) -> tuple[bool, bool]:
    """(value, whether it did not lean on a rule that is still being decided); a memo is kept only for firm answers.

    Depth first, so that rules are made only as far as the answer needs them.
    """
    if node.memo_productive is not None:
        return node.memo_productive, True
    if not node.has_call:
        node.memo_productive = is_live(node)
        return node.memo_productive, True
    if node.kind == K_CALL and node.data in active:
        return False, False
    steps[0] -= 1
    if len(active) > MAX_DEPTH or steps[0] < 0:
        raise _TooDeep
    if node.kind == K_CALL:
        active.add(node.data)
    value, final = True, True
    for needed, parts in _clauses(node):
        left, waiting, firm = needed, len(parts), True
        for part in parts:
            if left == 0 or left > waiting:
                break
            waiting -= 1
            part_value, part_final = _productive(part, active, steps)
            left -= part_value
            firm = firm and (part_value or part_final)
        if left > 0:
            value, final = False, firm
            break
    if node.kind == K_CALL:
        active.discard(node.data)
    if value or final:
        node.memo_productive = value
    return value, final or value


def _clauses(node: Expr) -> list[Clause]:
    """What a node with calls needs: of each clause, so many of these parts must hold some text."""
    if node.kind == K_CALL:
        return [(1, (node.data.body,))]
    if node.kind == K_ALT:
        return [(1, node.args)]
    if node.kind == K_SEQ:
        parts = tuple(seq_parts(node))
        return [(len(parts), parts)]
    if node.kind == K_REPEAT:
        return [(1, node.args)] if node.data[0] else []
    if node.kind == K_ANCHOR:
        return []
    if node.kind == K_UNIQUE:
        parts = (*node.args, *(need.around for need in node.data[1]))
        return [(len(parts), parts)]
    from .members import clauses

    return clauses(node)


def _productive_by_counting(start: Expr) -> bool:
    """The same over everything that can be reached, each part once: for deep or tangled rules.

    Every clause counts down how many of its parts are still missing (Dowling and Gallier 1984, for Horn clauses).
    """
    needs: dict[Expr, list[tuple[int, tuple[Expr, ...]]]] = {}
    work = [start]
    while work:
        node = work.pop()
        if node in needs or node.memo_productive is not None:
            continue
        if not node.has_call:
            node.memo_productive = is_live(node)
            continue
        needs[node] = [(needed, tuple(parts)) for needed, parts in _clauses(node)]
        work += [part for _, parts in needs[node] for part in parts]
    missing: list[int] = []  # of each clause
    owner: list[Expr] = []
    n_open = dict.fromkeys(needs, 0)  # clauses that are not met yet
    users: dict[Expr, list[int]] = {}  # part -> clauses, as often as it counts there
    for node, clauses in needs.items():
        for needed, parts in clauses:
            left = needed - sum(part.memo_productive is True for part in parts)
            for part in parts if left > 0 else ():
                if part in needs:
                    users.setdefault(part, []).append(len(missing))
            n_open[node] += left > 0
            missing.append(left)
            owner.append(node)
    met = [node for node, n in n_open.items() if n == 0]
    while met:
        node = met.pop()
        if node.memo_productive:
            continue
        node.memo_productive = True
        for clause in users.get(node, ()):
            missing[clause] -= 1
            if missing[clause] == 0:
                n_open[owner[clause]] -= 1
                if n_open[owner[clause]] == 0:
                    met.append(owner[clause])
    for node in needs:
        node.memo_productive = node.memo_productive is True
    return bool(start.memo_productive)
