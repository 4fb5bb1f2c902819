"""States built before a walk asks for them: those of the frames on top of its stacks.

A walk that meets a state not yet built waits for it, in Python, and is walked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernels as k

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
