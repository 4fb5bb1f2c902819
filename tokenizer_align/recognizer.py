"""Slow, exact matching of whole texts: the independent twin of the compiled automaton.

A configuration is a stack of frames as a linked list; ambiguity gives a set of them. Used by `Constraint.matches`
(no vocabulary needed) and by tests as the reference. Below an array or object without equal items or keys (`unique`)
the stack holds what is known of them in place of the anchor.
"""

from __future__ import annotations

from dataclasses import dataclass

from .derivatives import moves, nullable
from .expressions import EPSILON, K_ANCHOR, Expr
from .unique import Level, first_level, read_level


@dataclass(frozen=True, slots=True)
class Anchored:
    """An anchor with the values that came so far."""

    anchor: Expr
    level: Level


Stack = tuple["Expr | Anchored", "Stack"] | None
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
        if stack is not None and nullable(_expr(stack[0])) and stack[1] not in found:
            found.add(stack[1])
            work.append(stack[1])
    return frozenset(found)


def _expr(frame: Expr | Anchored) -> Expr:
    return frame.anchor if isinstance(frame, Anchored) else frame


def step(stacks: Stacks, byte: int) -> Stacks:
    """The stacks after one more byte; empty where the byte is not legal."""
    result: set[Stack] = set()
    for stack in closure(stacks):
        found = [] if stack is None else [frames for mask, frames in moves(_expr(stack[0])) if mask >> byte & 1]
        if not found:
            continue
        is_read, noted = _note(stack, bytes([byte]))
        if not is_read or noted is None:
            continue
        for frames in found:
            after = noted[1]
            for frame in reversed(frames):
                after = (Anchored(frame, first_level(frame.data)) if frame.kind == K_ANCHOR else frame, after)
            result.add(after)
    return frozenset(result)


def _note(stack: Stack, byte: bytes) -> tuple[bool, Stack]:
    """The stack with the byte noted wherever equal parts are not allowed; False where it makes two parts equal."""
    frames = []
    while stack is not None:
        frame, stack = stack
        if isinstance(frame, Anchored):
            level = read_level(frame.level, byte)
            if level is None:
                return False, None
            frame = Anchored(frame.anchor, level)
        frames.append(frame)
    for frame in reversed(frames):
        stack = (frame, stack)
    return True, stack


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
