"""How much an engine may keep.

Two budgets, because two things are dropped in two ways. Kept masks and configurations are dropped one by one, least
recently used first (`configuration.py`). States, memos and cells refer to each other by number: over budget, the engine
begins a new generation without any, and what is used is built again. Neither changes a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["DEFAULT_BUDGET", "STATE_BYTES", "Budget", "Keeper"]

STATE_BYTES = 3000  # what a state costs in Python objects, besides its arrays (measured on JSON schemas)


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes an engine may hold besides the vocabulary.

    kept_bytes: masks and configurations; a mask takes a bit a row of the model's output.
    state_bytes: states, memos, cells, literals; passed by up to twice while texts run and nothing new is compiled.
    """

    kept_bytes: int = 24 << 20
    state_bytes: int = 32 << 20


DEFAULT_BUDGET = Budget()


class Keeper(Protocol):
    """Something that keeps what it found with an engine. It is told, with the engine's lock held, what to let go."""

    def age(self) -> None:
        """What is kept fills half of its budget: drop what was used longest ago."""
        ...

    def drop(self) -> None:
        """A new generation begins, and nobody is at work: codes, cells and heads have lost their meaning."""
        ...

    def n_bytes(self) -> int:
        """Bytes that count for `kept_bytes`."""
        ...
