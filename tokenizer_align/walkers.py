"""Walks side by side: each has scratch space and cells of its own, and none runs while the shared arrays change.

Readers and writers: any number of walks run at once with the interpreter lock released; whoever builds a state or moves
an array waits until the walks under way have ended (`settle`), and new ones wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .tables import Array, Tables

CAPACITY = 1024  # heads and cells that a new walker has room for
JOIN_SLOTS = 1 << 11  # unions of stacks that it remembers within one walk
JOIN_ROOM = 1 << 15  # four entries a level of a union
OWN_SLOTS = (
    *(k.COUNTS, k.HEAD_CODE, k.HEAD_STACK, k.HEAD_CAPACITY, k.WORK, k.WORK_CAPACITY, k.REQUESTS, k.REQUEST_CAPACITY),
    *(k.JOIN_KEYS, k.JOIN_VALUES, k.JOIN_WORK, k.JOIN_MASK, k.JOIN_CAPACITY),
    *(k.OWN_STATE, k.OWN_PARENT, k.OWN_TABLE, k.OWN_PLACES, k.OWN_TABLE_MASK, k.OWN_CAPACITY),
)


class Walker:
    """What one walk writes to. `ctx`: int64[N_SLOTS], the shared arrays' addresses and those of its own."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.ctx: npt.NDArray[np.int64] = np.zeros(k.N_SLOTS, np.int64)
        self._seen: tuple[Tables, int] | None = None  # the tables and their version that ctx was copied from
        self._make(capacity)

    def _make(self, capacity: int) -> None:
        self.capacity = capacity
        self.counts = np.zeros(8, np.int64)
        self.requests = np.zeros(256, np.int64)
        self._codes, self._stacks = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        self._arrays: dict[int, Array] = {
            k.COUNTS: self.counts,
            k.REQUESTS: self.requests,
            k.HEAD_CODE: self._codes,
            k.HEAD_STACK: self._stacks,
            k.WORK: np.zeros(3 * capacity, np.int64),
            k.JOIN_KEYS: np.full(JOIN_SLOTS, -1, np.int64),
            k.JOIN_VALUES: np.zeros(JOIN_SLOTS, np.int64),
            k.JOIN_WORK: np.zeros(JOIN_ROOM, np.int64),
            k.OWN_STATE: np.zeros(capacity, np.int32),
            k.OWN_PARENT: np.zeros(capacity, np.int32),
            k.OWN_PLACES: np.zeros(capacity, np.int32),
            k.OWN_TABLE: np.full(4 * capacity, -1, np.int32),
        }
        own = dict.fromkeys(OWN_SLOTS, 0)
        own |= {slot: array.ctypes.data for slot, array in self._arrays.items()}
        own |= {k.HEAD_CAPACITY: capacity, k.WORK_CAPACITY: 3 * capacity, k.REQUEST_CAPACITY: 256}
        own |= {k.JOIN_MASK: JOIN_SLOTS - 1, k.JOIN_CAPACITY: JOIN_ROOM}
        own |= {k.OWN_CAPACITY: capacity, k.OWN_TABLE_MASK: 4 * capacity - 1}
        self._own_slots = np.array(list(own), np.intp)
        self._own_values = np.array(list(own.values()), np.int64)
        self._seen = None

    def grow(self) -> None:
        """Make room: what a kernel wanted to write did not fit."""
        self._make(4 * self.capacity)

    def refresh(self, tables: Tables) -> None:
        """Take over the addresses of the shared arrays, where any has moved."""
        seen = self._seen
        if seen is None or seen[0] is not tables or seen[1] != tables.version:
            np.copyto(self.ctx, tables.ctx)
            self.ctx[self._own_slots] = self._own_values
            self.ctx[k.JOIN_CAPACITY] = min(tables.ctx[k.JOIN_CAPACITY], JOIN_ROOM)
            self._seen = tables, tables.version

    def load(self, heads: Sequence[tuple[int, int]]) -> None:
        """Write the heads where a walk begins."""
        codes, stacks = self._codes, self._stacks
        for i, (code, stack) in enumerate(heads):
            codes[i], stacks[i] = code, stack

    def wanted(self) -> list[int]:
        """What the last walk asked for."""
        asked: list[int] = self.requests[: int(self.counts[1])].tolist()
        return asked


class Walkers:
    """The walkers of one engine, and who may change its arrays."""

    def __init__(self, lock: threading.RLock) -> None:
        self.lock = lock
        self._free: list[Walker] = []
        self._left = threading.Condition(lock)
        self.n_nodes = self.n_memo_hits = 0  # of all walks
        self._n_walking = 0
        self._n_waiting = 0

    def take(self, tables: Tables, n_heads: int, n_walkers: int = 1) -> list[Walker]:
        """Walkers with room for so many heads, that know the tables; until `give`, nothing that they read changes.

        All that one thread needs at a time must be taken at once: a second call would wait for one that waits for it.
        """
        with self.lock:
            while self._n_waiting:
                self._left.wait()
            taken = [self._free.pop() if self._free else Walker() for _ in range(n_walkers)]
            for walker in taken:
                while walker.capacity < n_heads:
                    walker.grow()
                walker.refresh(tables)
                walker.counts[1] = 0  # nothing is asked for yet, should it not come to walk
            self._n_walking += 1  # last, so that an interrupt before leaves nobody waiting
            return taken

    def give(self, taken: list[Walker]) -> None:
        """The walks of one `take` have ended."""
        with self.lock:
            for walker in taken:
                self.n_nodes += int(walker.counts[5])
                self.n_memo_hits += int(walker.counts[6])
                walker.counts[5:7] = 0
            self._free += taken
            self._n_walking -= 1
            if self._n_waiting and not self._n_walking:
                self._left.notify_all()

    def settle(self) -> None:
        """Wait until nothing walks; the caller holds the lock, and while it does, no walk begins."""
        if self._n_walking:
            self._n_waiting += 1
            try:
                while self._n_walking:
                    self._left.wait()
            finally:
                self._n_waiting -= 1
            if not self._n_waiting:
                self._left.notify_all()

    def drop(self) -> None:
        """Let go of all scratch space and of the arrays that it knows."""
        self._free.clear()
