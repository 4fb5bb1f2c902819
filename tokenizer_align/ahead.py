"""States built before a walk asks for them: those of the frames on top of its stacks, and a grammar's nearest.

A walk that meets a state not yet built waits for it, in Python, and is walked again. The rules of a grammar come back
all over its texts, so some of the time between compiling and the first token goes into their states; the objects of a
schema have too many for that.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from . import kernels as k
from .errors import DominoError
from .unique_runs import Tracked

if TYPE_CHECKING:
    from .engine import Engine, Heads

PREPARED_FRAMES = 3  # of a stack


def first_wanted(engine: Engine, heads: Heads) -> list[int]:
    """What a walk from these heads will ask for first: built before, it need not be walked twice."""
    tables, codes = engine.tables, []
    kinds, states, parents = tables.state_kind.array, tables.cell_states, tables.cell_parents
    for code, stack in heads:
        codes.append(code)
        for _ in range(PREPARED_FRAMES):
            if stack < 0:
                break
            codes.append(states[stack])
            stack = parents[stack]
    return [code for code in codes if 0 < code < k.LIT_BASE and kinds[code] == k.UNBUILT]


def build_ahead(engine: Engine, heads: Heads, budget_s: float) -> None:
    """Build states that texts from these heads on may come to, breadth first, for so much processor time."""
    if isinstance(heads, Tracked):
        return
    stop, now = time.thread_time() + budget_s, time.thread_time
    with engine.lock:
        tables = engine.tables
        work: deque[int] = deque()
        for code, stack in heads:
            work.append(code)
            while stack >= 0:
                work.append(tables.cell_states[stack])
                stack = tables.cell_parents[stack]
        seen, known, newest = set(work), tables.state_kind.n, tables.state_kind.n
        engine.walkers.settle()
        try:
            with engine.changing():
                while work and now() < stop:
                    code = work.popleft()
                    if not 0 < code < k.LIT_BASE:
                        continue
                    if tables.state_kind.array[code] == k.UNBUILT:
                        engine.automaton.build(code)
                        work += range(newest, tables.state_kind.n)  # what it leads to and was not there before
                        newest = tables.state_kind.n
                    elif code < known:
                        for following in _after(engine, code):
                            if following not in seen:
                                seen.add(following)
                                work.append(following)
        except (DominoError, RecursionError):
            return  # the text that comes there is told; how far this came depends on the machine


def _after(engine: Engine, code: int) -> list[int]:
    """The codes that a built state leads to; none behind the keys of an object."""
    tables = engine.tables
    kind, at = int(tables.state_kind.array[code]), int(tables.state_row.array[code])
    if kind == k.ALIAS:
        return [at]
    if kind == k.SPLIT:
        return _codes(engine, at, 1)
    if kind == k.CHOICES:
        return _codes(engine, at + 1, int(tables.seqs.array[at]))
    if kind == k.KEYS:
        return []
    found: list[int] = []
    for target in set(tables.rows.row(at).tolist()):
        if target >= 0:
            found.append(target)
        elif target < k.DEAD:
            place = -target - 2
            found += _codes(engine, place + 1, int(tables.seqs.array[place]))
    return found


def _codes(engine: Engine, at: int, n_lists: int) -> list[int]:
    """The codes of so many lists in the pool of sequences, each its size and then its codes."""
    seqs, found = engine.tables.seqs.array, []
    for _ in range(n_lists):
        size = int(seqs[at])
        found += seqs[at + 1 : at + 1 + size].tolist()
        at += 1 + size
    return found
