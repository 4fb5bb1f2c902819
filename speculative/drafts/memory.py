"""What is remembered of a compiled constraint for drafts: counts of what followed its states, and its latest texts.

It lives as long as the compiled constraint. Nothing of it changes a token; it decides what is drafted.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from speculative.drafts.counts import TokenCounts

__all__ = ["DraftMemory", "memory_of", "set_memory"]

_N_RECENT = 8


class DraftMemory:
    """Counts and latest texts of one constraint; threads may share it. `recent`: the latest last."""

    def __init__(self) -> None:
        self.counts = TokenCounts()
        self.recent: tuple[bytes, ...] = ()
        self._lock = threading.Lock()

    def add_text(self, text: bytes) -> None:
        """Take in a finished text."""
        with self._lock:
            self.recent = (*self.recent, text)[-_N_RECENT:]

    def copy(self) -> DraftMemory:
        """An independent memory that knows the same."""
        other = DraftMemory()
        other.counts, other.recent = self.counts.copy(), self.recent
        return other


_MEMORIES: weakref.WeakKeyDictionary[Any, DraftMemory] = weakref.WeakKeyDictionary()
_MEMORIES_LOCK = threading.Lock()


def memory_of(compiled: Any) -> DraftMemory:
    """Return what is remembered of a compiled constraint."""
    with _MEMORIES_LOCK:
        found = _MEMORIES.get(compiled)
        if found is None:
            found = _MEMORIES[compiled] = DraftMemory()
        return found


def set_memory(compiled: Any, memory: DraftMemory | None) -> None:
    """Replace what is remembered; None forgets it all."""
    with _MEMORIES_LOCK:
        _MEMORIES[compiled] = memory if memory is not None else DraftMemory()
