"""Slow, exact matching of whole texts: the independent twin of the compiled automaton.

A configuration is a stack of frames as a linked list; ambiguity gives a set of them. Used by `Constraint.matches`
(no vocabulary needed) and by tests as the reference.
"""

from __future__ import annotations

from .derivatives import moves, nullable
from .expressions import EPSILON, Expr

Stack = tuple["Expr", "Stack"] | None
Stacks = frozenset[Stack]


def start(expr: Expr) -> Stacks:
    """The stacks before anything was read."""
    return frozenset({(expr, None)}) if expr is not EPSILON else frozenset({None})


def closure(stacks: Stacks) -> Stacks:
    """Also the stacks below frames that may end here."""
    found = set(stacks)
    work = list(stacks)
    while work:
        stack = work.pop()
        if stack is not None and nullable(stack[0]) and stack[1] not in found:
            found.add(stack[1])
            work.append(stack[1])
    return frozenset(found)


def step(stacks: Stacks, byte: int) -> Stacks:
    """The stacks after one more byte; empty where the byte is not legal."""
    result: set[Stack] = set()
    for stack in closure(stacks):
        if stack is None:
            continue
        top, below = stack
        for mask, frames in moves(top):
            if mask >> byte & 1:
                after = below
                for frame in reversed(frames):
                    after = (frame, after)
                result.add(after)
    return frozenset(result)


def accepts_end(stacks: Stacks) -> bool:
    """Whether the text may end here."""
    return None in closure(stacks)


def run(expr: Expr, data: bytes) -> Stacks:
    """The stacks after the bytes; empty where they are not the beginning of a legal text."""
    stacks = start(expr)
    for byte in data:
        if not stacks:
            break
        stacks = step(stacks, byte)
    return stacks


def matches(expr: Expr, data: bytes) -> bool:
    """Whether the bytes are exactly a text of the expression."""
    return accepts_end(run(expr, data))
