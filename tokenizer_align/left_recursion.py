"""What a rule calls before it reads anything; rules that come to themselves so are refused: no automaton can run them.

Rules are gone through with a list of their own, since a chain of rules may be longer than Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .empty_text import nullable
from .errors import ConstraintError
from .expressions import K_ALT, K_CALL, K_REPEAT, K_SEQ, Expr, Rule, seq_parts


def left_calls(node: Expr) -> list[Rule]:
    """The rules that an expression may call before it reads anything, each once."""
    found: dict[Rule, None] = {}
    seen: set[Expr] = set()
    work = [node]
    while work:
        here = work.pop()
        if not here.has_call or here in seen:
            continue
        seen.add(here)
        if here.kind == K_CALL:
            found[here.data] = None
        elif here.kind == K_SEQ:
            for part in seq_parts(here):
                work.append(part)
                if not nullable(part):
                    break
        elif here.kind in (K_ALT, K_REPEAT):
            work += here.args
    return list(found)


def callees_first(node: Expr, is_done: Callable[[Rule], bool]) -> Iterator[Rule]:
    """The rules that can be called before anything is read, each after those that it calls; not those that are done.

    Raises ConstraintError where a rule comes to itself.
    """
    active: dict[Rule, None] = {}
    finished: set[Rule] = set()
    work: list[tuple[Rule | None, Iterator[Rule]]] = [(None, iter(left_calls(node)))]
    while work:
        owner, waiting = work[-1]
        rule = next(waiting, None)
        if rule is None:
            work.pop()
            if owner is not None:
                del active[owner]
                finished.add(owner)
                yield owner
        elif rule in active:
            raise ConstraintError(f"rule {rule.name!r} refers to itself before reading anything (left recursion)")
        elif rule not in finished and not is_done(rule):
            active[rule] = None
            work.append((rule, iter(left_calls(rule.body))))


def check_left_recursion(expr: Expr) -> None:
    """Raises ConstraintError where a rule comes to itself before anything was read."""
    for rule in callees_first(expr, lambda rule: rule.is_checked):
        rule.is_checked = True
