"""The shortest way to complete a text from a configuration, in bytes and in tokens (law 6: always finishes)."""

from __future__ import annotations

from . import kernels as k
from .engine import Engine, Heads
from .expressions import Expr
from .shortest import shortest


def stack_exprs(engine: Engine, head: tuple[int, int]) -> list[Expr]:
    """The frames of one head as expressions, topmost first."""
    code, cell = head
    if code == k.ACCEPT:
        return []
    frames = [engine.automaton.expr_of(code)]
    states, parents = engine.tables.cell_state, engine.tables.cell_parent
    while cell >= 0:
        frames.append(engine.automaton.expr_of(int(states[cell])))
        cell = int(parents[cell])
    return frames


def shortest_text(engine: Engine, heads: Heads) -> bytes | None:
    """The shortest byte string that completes the text from these heads; None where nothing does."""
    best: bytes | None = None
    with engine.lock:
        for head in heads:
            parts = [shortest(expr) for expr in stack_exprs(engine, head)]
            if None not in parts:
                text = b"".join(part for part in parts if part is not None)
                if best is None or (len(text), text) < (len(best), best):
                    best = text
    return best
