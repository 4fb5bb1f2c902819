"""What had to be left out of a language because it was too hard to decide while a text was read.

A part of an intersection or complement, or an item that may be like one that came, is left out where its search is over
the budget: what is legal stays legal to the end, but some legal texts are lost. That is never silent: a warning in the
log, and a note in the report of every text along which it happened.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from .nodes import K_ALT, K_CALL, K_REPEAT, K_SEQ, Expr
from .partial_json import Partial, Value

if TYPE_CHECKING:
    from .recognizer import Stacks
    from .unique import Level

logger = logging.getLogger(__name__)

MAX_BESIDE = 1_000  # places that are remembered
SLOW_SEARCH_S = 0.1  # processor time of a search that a machine twenty times slower might give up
LEFT_OUT: WeakKeyDictionary[Expr, str] = WeakKeyDictionary()  # node -> why it could not be decided
_LEFT_OUT_BESIDE: set[tuple[frozenset[Value], Partial | None]] = set()  # (values that came, what was read of the next)
_SLOW: list[float] = []  # searches that took so long
BESIDE = "whether a part can differ from those that came is too hard to decide"


def leave_out(node: Expr, why: str) -> None:
    """Remember that a node counts as empty from now on, while texts are read."""
    logger.warning("a part of the language is left out: %s", why)
    LEFT_OUT[node] = why


def note_search(seconds: float) -> None:
    """A search for a way to the end took so much processor time."""
    if seconds > SLOW_SEARCH_S:
        _SLOW[:] = [seconds]


def is_all_decided() -> bool:
    """Whether every search of this process ended, and soon, so that any other process comes to the same answers."""
    return not LEFT_OUT and not _SLOW


def leave_out_beside(levels: Iterable[Level]) -> None:
    """Remember that behind these arrays and objects of different parts some parts count as equal to one that came."""
    logger.warning("a part of the language is left out: %s", BESIDE)
    if len(_LEFT_OUT_BESIDE) > MAX_BESIDE:
        _LEFT_OUT_BESIDE.clear()
    _LEFT_OUT_BESIDE.update((level.used, level.item) for level in levels)


def left_out_along(expression: Expr, data: bytes) -> list[tuple[int, str]]:
    """(byte position, why) of every place along a text at which some continuation was left out."""
    from .recognizer import closure, start, step

    if not LEFT_OUT and not _LEFT_OUT_BESIDE:
        return []
    found: list[tuple[int, str]] = []
    stacks = start(expression)
    for position in range(len(data) + 1):
        tops = [top for top, _ in closure(stacks).tops if isinstance(top, Expr)]
        found += [(position, why) for why in dict.fromkeys(why for top in tops for why in _reasons(top))]
        if _is_beside(stacks):
            found.append((position, BESIDE))
        if position == len(data) or not stacks:
            break
        stacks = step(stacks, data[position])
    return found


def _is_beside(stacks: Stacks) -> bool:
    """Whether some array or object around this place is remembered to have lost something here."""
    from .recognizer import Anchored

    if not _LEFT_OUT_BESIDE:
        return False
    work, seen = [stacks], {stacks}
    while work:
        for frame, below in work.pop().tops:
            if isinstance(frame, Anchored) and (frame.level.used, frame.level.item) in _LEFT_OUT_BESIDE:
                return True
            if below.has_anchor and below not in seen:
                seen.add(below)
                work.append(below)
    return False


def _reasons(node: Expr) -> list[str]:
    """Why continuations of this node are left out."""
    from .derivatives import heads
    from .empty_text import nullable

    work, seen, found = [node], {node}, []
    for here in work:
        if not here.has_call:
            found += [LEFT_OUT[after] for _, after in heads(here) if after in LEFT_OUT]
            continue
        below = list(here.args) if here.kind in (K_ALT, K_REPEAT) else []
        if here.kind == K_SEQ:
            below = [here.args[0], *([here.args[1]] if nullable(here.args[0]) else [])]
        elif here.kind == K_CALL:
            below = [here.data.body]
        work += [part for part in below if part not in seen]
        seen.update(below)
    return found
