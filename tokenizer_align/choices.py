"""Alternatives that one byte leads to: stacks of frames, topmost first, taken apart and joined where that is cheap.

A sequence that holds a call becomes one frame a part (`split_frames`): what follows a shared frame then needs no state
of its own for every place where the frame is used. Alternatives that differ in one call-free frame become one, whose
frame is the union: a deterministic automaton there. Others stay apart and run side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .derivatives import heads, is_known_live
from .empty_text import nullable
from .expressions import (
    EPSILON,
    FRAME,
    K_ALT,
    K_ANCHOR,
    K_BOTH,
    K_CALL,
    K_LIT,
    K_REPEAT,
    K_SEQ,
    K_SET,
    WAYS,
    Expr,
    Rule,
    alt,
    byte_set,
    lit,
    seq,
    seq_parts,
)
from .moves import moves

Frames = tuple[Expr, ...]

WIDE_BYTES = 24  # a state that reads at least so many bytes is worth a memo over the whole trie
MANY_MOVES = 12  # of a call; below, it is as well inlined


def split_frames(expr: Expr) -> Frames:
    """The frames that an expression stands for: its calls one by one, what lies between them as it is (`_join_last`).

    >>> from .expressions import Rule, byte_set, call, lit, star
    >>> rule = Rule("item", star(byte_set(b"a")))
    >>> split_frames(seq(lit(b"["), call(rule), lit(b"]")))
    ([b'['], <item>, [b']'])
    """
    if not expr.has_call or expr.kind != K_SEQ or is_joined(expr):
        return (expr,)
    found: list[Expr] = []
    plain: list[Expr] = []
    for part in seq_parts(expr):
        if part.has_call:
            if plain and is_wide_call(part):
                plain, part = _join_last(plain, part)
            if plain:
                found.append(seq(*plain))
                plain = []
            found.append(part)
        else:
            plain.append(part)
    if plain:
        found.append(seq(*plain))
    return tuple(found)


def _join_last(plain: list[Expr], wide: Expr) -> tuple[list[Expr], Expr]:
    """Take the last byte before a call, or what may stand there or not, into one frame with the call: all places that
    call it behind a blank share what is known of it there, and behind " and " is no place of its own."""
    last = plain[-1]
    if last.kind == K_LIT:
        return [*plain[:-1], lit(last.data[:-1])], seq(lit(last.data[-1:]), wide)
    if last.kind == K_SET:
        return plain[:-1], seq(last, wide)
    if last.kind == K_REPEAT and last.data == (0, 1) and last.args[0].kind in (K_SET, K_LIT):
        return plain[:-1], alt(seq(last.args[0], wide), wide)
    return plain, wide


def is_joined(expr: Expr) -> bool:
    """Whether a sequence is a byte and a call that share a frame (`_join_last`)."""
    return expr.args[0].kind == K_SET and is_wide_call(expr.args[1])


def is_wide_call(expr: Expr) -> bool:
    """Whether an expression is the call of a grammar's rule that has many moves, as far as they were derived."""
    if expr.kind != K_CALL or expr.data.name in (FRAME, WAYS) or not expr.data.is_made:
        return False
    found = expr.data.body.memo_moves
    return found is not None and len(found) >= MANY_MOVES


def known_body(expr: Expr) -> Expr:
    """What a call stands for, as far as rules were already made: so that equal languages share their states."""
    seen = 0
    while (
        expr.kind == K_CALL and expr.data.name != WAYS and expr.data.is_made and seen < 100
    ):  # a rule that is only itself is refused elsewhere
        expr, seen = expr.data.body, seen + 1
    return expr


def flatten(frames: Frames) -> Frames:
    """A stack of frames with its sequences taken apart, and bytes before wide calls joined with these."""
    for frame in frames:
        if frame.kind == K_SEQ and frame.has_call:
            frames = tuple([part for frame in frames for part in split_frames(frame)])
            break
    for i in range(1, len(frames)):
        if is_wide_call(frames[i]) and not frames[i - 1].has_call:
            plain, joined = _join_last(seq_parts(frames[i - 1]), frames[i])
            before = frames[: i - 1] if not plain else (*frames[: i - 1], seq(*plain))
            return (*before, joined, *flatten(frames[i + 1 :]))
    return frames


def merge(choices: tuple[Frames, ...]) -> list[Frames]:
    """Alternatives that differ in one call-free frame only, at the top or at the bottom, become one."""
    found = list(dict.fromkeys(choices))
    if len(found) > 1:
        found = _join(found, 0)
    if len(found) > 1:
        found = _join(found, -1)
    return found


def _join(choices: list[Frames], place: int) -> list[Frames]:
    """Join those that are equal without the frame at this place; no frames at all are the frame EPSILON."""
    groups: dict[Frames, list[Expr]] = {}
    apart: list[Frames] = []
    for frames in choices:
        frame = frames[place] if frames else EPSILON
        if frame.has_call:
            apart.append(frames)
        else:
            groups.setdefault(frames[1:] if place == 0 else frames[:-1], []).append(frame)
    if len(groups) + len(apart) == len(choices):
        return choices
    for others, several in groups.items():
        joined = alt(*several) if len(several) > 1 else several[0]
        own = () if joined is EPSILON else (joined,)
        apart.append((*own, *others) if place == 0 else (*others, *own))
    return apart


class Plan(NamedTuple):
    """What a state with calls does: alternatives for disjoint sets of bytes; and, `apart` from them, stacks that begin
    with a long call-free frame, as that can have a memo of its own."""

    groups: tuple[tuple[int, tuple[Frames, ...]], ...]
    apart: tuple[Frames, ...]


def plan_of(expr: Expr, wide_bytes: int) -> Plan:
    """The plan of an expression that is built as a row; the same for all vocabularies, so it is kept.

    A frame that is apart is, say, an undeclared key of an object that has several kinds of them, and reads at least
    `wide_bytes` bytes. Anchors (`unique`) come onto the stack with the bracket and not before, so what they lie below
    is not.
    """
    if expr.memo_plan is None or expr.memo_plan[0] != wide_bytes:
        expr.memo_plan = wide_bytes, _plan(expr, wide_bytes)
    plan: Plan = expr.memo_plan[1]
    return plan


def _plan(expr: Expr, wide_bytes: int) -> Plan:
    found = [(mask, flatten(frames)) for mask, frames in moves(expr)]
    frees: dict[Frames, list[tuple[int, Expr]]] = {}
    for mask, frames in found:
        if len(frames) > 1 and not frames[0].has_call and all(frame.kind != K_ANCHOR for frame in frames):
            frees.setdefault(frames[1:], []).append((mask, frames[0]))
    apart = {
        below: beginning(expr, ways)
        for below, ways in frees.items()
        if sum(mask.bit_count() for mask, _ in ways) >= wide_bytes
    }
    rest = [(mask, f) for mask, f in found if f[1:] not in apart or f[0].has_call] if apart else found
    return Plan(_group(rest), tuple((top, *below) for below, tops in apart.items() for top in tops))


def _group(found: Iterable[tuple[int, Frames]]) -> tuple[tuple[int, tuple[Frames, ...]], ...]:
    """Flat moves made disjoint by byte, with the alternatives of each set of bytes."""
    parts: list[tuple[int, tuple[Frames, ...]]] = []
    for mask, frames in found:
        split: list[tuple[int, tuple[Frames, ...]]] = []
        for other, several in parts:
            common = other & mask
            if common:
                split.append((common, (*several, frames)))
                mask &= ~common
            if other & ~common:
                split.append((other & ~common, several))
        if mask:
            split.append((mask, (frames,)))
        parts = split
    return tuple([(mask, tuple(merge(several))) for mask, several in parts])


def called(expr: Expr) -> tuple[list[Expr], Expr]:
    """Of alternatives, those that begin with a wide call, which stay calls, and the rest; none of other expressions."""
    if expr.kind != K_ALT:
        return [], expr
    calls = [arg for arg in expr.args if is_wide_call(arg.args[0] if arg.kind == K_SEQ else arg)]
    return calls, alt(*(arg for arg in expr.args if arg not in calls)) if calls else expr


def beginning(expr: Expr, ways: list[tuple[int, Expr]]) -> list[Expr]:
    """Frames that begin in these ways: (bytes, what the topmost frame becomes), some of the moves of `expr`.

    Intersections come back as they are, since a frame less some words (`less_words`) is one of them.
    """
    left, found = dict.fromkeys(ways), list[Expr]()
    for node in _intersections(expr, set()):
        own = [(mask, after) for mask, after in heads(node) if is_known_live(after)]
        if own and all(way in left for way in own):
            found.append(node)
            for way in own:
                del left[way]
    if left:
        found.append(alt(*(seq(byte_set(mask), top) for mask, top in left)))
    return found


def _intersections(expr: Expr, active: set[Rule]) -> list[Expr]:
    """The call-free intersections that an expression may begin with."""
    if not expr.has_call:
        return [expr] if expr.kind == K_BOTH else []
    if expr.kind == K_CALL:
        if expr.data in active:
            return []
        active.add(expr.data)
        return _intersections(expr.data.body, active)
    found: list[Expr] = []
    if expr.kind in (K_ALT, K_REPEAT, K_SEQ):
        for part in seq_parts(expr) if expr.kind == K_SEQ else expr.args:
            found += _intersections(part, active)
            if expr.kind == K_SEQ and not nullable(part):
                break
    return found
