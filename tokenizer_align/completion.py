"""The shortest way to complete a text from a configuration, in bytes and in tokens (law 6: always finishes)."""

from __future__ import annotations

from dataclasses import dataclass

from . import kernels as k
from .engine import Engine, Heads
from .shortest import MAX_BYTES, shortest_or_too_long, too_long
from .unique_runs import groups_of
from .unique_shared import shared_completion


@dataclass(frozen=True, slots=True)
class _Way:
    """The shortest way to empty a stack: how many bytes, those of its top frame, and the cell below."""

    n_bytes: int
    part: bytes
    below: int


def shortest_text(engine: Engine, heads: Heads) -> bytes | None:
    """The shortest byte string that completes the text from these heads; None where nothing does.

    Where equal parts are not allowed (`unique`) it is short, and valid, but only as short as greed finds it.
    """
    with engine.lock:
        if not engine.automaton.anchors:
            return shortest_of_automaton(engine, heads)
        return shared_completion(engine.unique, groups_of(heads))


def shortest_of_automaton(engine: Engine, heads: Heads) -> bytes | None:
    """The same for the automaton alone, which takes anchors for brackets."""
    best: bytes | None = None
    is_too_long = False
    with engine.lock:
        ways: dict[int, _Way | None] = {-1: _Way(0, b"", -1)}
        for code, stack in heads:
            own = b"" if code == k.ACCEPT else shortest_or_too_long(engine.automaton.expr_of(code))
            _find_ways(engine, stack, ways)
            below = ways[stack]
            if own is None or below is None:
                continue
            if len(own) + below.n_bytes > MAX_BYTES:
                is_too_long = True
            elif best is None or len(own) + below.n_bytes <= len(best):
                text = own + _text(stack, ways)
                if best is None or (len(text), text) < (len(best), best):
                    best = text
    if best is None and is_too_long:
        raise too_long()
    return best


def _find_ways(engine: Engine, stack: int, ways: dict[int, _Way | None]) -> None:
    """Enter the shortest way of a set of stacks and of all below it. A cell is younger than what it leads to."""
    states, parents = engine.tables.cell_state, engine.tables.cell_parent
    reached, work = set[int](), [stack]
    while work:
        cell = work.pop()
        if cell not in ways and cell not in reached:
            reached.add(cell)
            work.append(int(parents[cell]))
            if states[cell] < 0:
                work.append(-2 - int(states[cell]))
    for cell in sorted(reached):
        state, parent = int(states[cell]), int(parents[cell])
        below = ways[parent]
        if state < 0:
            ways[cell] = _better(ways[-2 - state], below, ways)
            continue
        part = shortest_or_too_long(engine.automaton.expr_of(state))
        ways[cell] = None if part is None or below is None else _Way(len(part) + below.n_bytes, part, parent)


def _better(a: _Way | None, b: _Way | None, ways: dict[int, _Way | None]) -> _Way | None:
    if a is None or b is None:
        return a or b
    if a.n_bytes != b.n_bytes:
        return a if a.n_bytes < b.n_bytes else b
    return min(a, b, key=lambda way: way.part + _text(way.below, ways))


def _text(stack: int, ways: dict[int, _Way | None]) -> bytes:
    parts = []
    while stack >= 0:
        way = ways[stack]
        assert way is not None
        parts.append(way.part)
        stack = way.below
    return b"".join(parts)
