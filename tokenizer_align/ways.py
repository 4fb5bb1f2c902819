"""Alternatives as texts: where a constraint leaves few ways open, each of them with what it determines next.

After `"color": "` an enum leaves a handful of words, after a boolean's colon two, after an optional member the comma or
the bracket. Each is followed byte by byte to its next real choice and, while there is room, past it. These are drafts:
the model decides, and the run behind its decision is verified in the same pass (DESIGN.md section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .determined import DeterminedRun
from .layout import Layout

if TYPE_CHECKING:
    from .engine import Engine, Heads

__all__ = ["Way", "likely_ways"]

MAX_WAYS = 6  # bytes open at one choice; a digit or a character of free text has more
MAX_TEXTS = 16
MAX_CHOICES = 8  # one word may need several, where words begin alike
LIMIT = 96  # bytes of one text


@dataclass(frozen=True, slots=True)
class Way:
    """One likely continuation: its bytes, and the offsets at which it took one of so many open bytes."""

    data: bytes
    choices: tuple[tuple[int, int], ...]  # (offset of the byte that chose, how many were open), ascending


def likely_ways(engine: Engine, heads: Heads, layout: Layout, text: Callable[[], bytes]) -> list[Way]:
    """Return the continuations of a running text past its next choices, nearest choices first; none where the next
    choice is free."""
    first = DeterminedRun(engine, heads, layout, text, LIMIT)
    level: list[tuple[DeterminedRun, tuple[tuple[int, int], ...]]] = [(first, ())]
    done: list[Way] = []
    while level and len(level) + len(done) <= MAX_TEXTS:
        following: list[tuple[DeterminedRun, tuple[tuple[int, int], ...]]] = []
        for run, choices in level:
            ways = run.ways() if len(choices) < MAX_CHOICES and len(run.data) < LIMIT else []
            branches = (
                [(run.branch(way), len(run.data) + len(way) - 1) for way in ways] if len(ways) <= MAX_WAYS else []
            )
            taken = [(branch, (*choices, (at, len(ways)))) for branch, at in branches if branch is not None]
            if taken and len(following) + len(taken) + len(done) <= MAX_TEXTS:
                following += taken
            elif choices:
                done.append(Way(bytes(run.data), choices))
        level = following
    return done + [Way(bytes(run.data), choices) for run, choices in level if choices]
