"""Walks side by side: each has scratch space and cells of its own, and none runs while the shared arrays change.

Readers and writers: any number of walks run at once with the interpreter lock released; whoever builds a state or moves
an array waits until the walks under way have ended (`settle`), and new ones wait for it. An interrupt at any moment
leaves neither waiting for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .errors import TooComplex
from .tables import Array, Tables

CAPACITY = 1024  # heads and cells that a new walker has room for
JOIN_SLOTS = 1 << 11  # unions of stacks that it remembers within one walk
JOIN_ROOM = 1 << 15  # four entries a level of a union
PATIENCE_S = 0.02  # after which a waiting thread looks by itself: who was interrupted tells nobody
APART = 32  # int64 between what two walkers write: cache lines that two cores write to are slow
OWN_SLOTS = (
    *(k.COUNTS, k.HEAD_CODE, k.HEAD_STACK, k.HEAD_CAPACITY, k.WORK, k.WORK_CAPACITY, k.REQUESTS, k.REQUEST_CAPACITY),
    *(k.JOIN_KEYS, k.JOIN_VALUES, k.JOIN_WORK, k.JOIN_MASK, k.JOIN_CAPACITY),
    *(k.OWN_STATE, k.OWN_PARENT, k.OWN_TABLE, k.OWN_PLACES, k.OWN_TABLE_MASK, k.OWN_CAPACITY),
    *(k.WAIT_ITEMS, k.WAIT_CAPACITY, k.EXITS, k.EXIT_CAPACITY),
)


class Held:
    """Whether somebody is at something: as long as he holds a view of `buffer` (`with memoryview(held.buffer): ...`).

    Views are made and released by single calls of the interpreter, so that no interrupt (Ctrl-C) comes between what was
    begun and the note of it: a counter would be left wrong for ever.
    """

    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = bytearray(1)

    def is_held(self) -> bool:
        """Whether a view exists: then the buffer cannot change its size. Asked by one thread at a time."""
        try:
            if len(self.buffer) == 1:
                self.buffer.append(0)
            else:
                self.buffer.pop()
        except BufferError:
            return True
        return False


class Walker:
    """What one walk writes to. `ctx`: int64[N_SLOTS], the shared arrays' addresses and those of its own."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.ctx: npt.NDArray[np.int64] = _apart(k.N_SLOTS)
        self._seen: tuple[Tables, int] | None = None  # the tables and their version that ctx was copied from
        self._make(capacity)

    def _make(self, capacity: int) -> None:
        self.capacity = capacity
        self.counts = _apart(k.N_COUNTS)
        self.requests = np.zeros(256, np.int64)
        self.exits = np.zeros(capacity, np.int32)
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
            k.EXITS: self.exits,
            k.OWN_STATE: np.zeros(capacity, np.int32),
            k.OWN_PARENT: np.zeros(capacity, np.int32),
            k.OWN_PLACES: np.zeros(capacity, np.int32),
            k.OWN_TABLE: np.full(4 * capacity, -1, np.int32),
            k.WAIT_ITEMS: np.zeros(4 * capacity, np.int64),
        }
        own = dict.fromkeys(OWN_SLOTS, 0)
        own |= {slot: array.ctypes.data for slot, array in self._arrays.items()}
        own |= {k.HEAD_CAPACITY: capacity, k.WORK_CAPACITY: 3 * capacity, k.REQUEST_CAPACITY: 256}
        own |= {k.WAIT_CAPACITY: 4 * capacity}
        own |= {k.JOIN_MASK: JOIN_SLOTS - 1, k.JOIN_CAPACITY: JOIN_ROOM}
        own |= {k.OWN_CAPACITY: capacity, k.OWN_TABLE_MASK: 4 * capacity - 1, k.EXIT_CAPACITY: capacity}
        self._own_slots = np.array(list(own), np.intp)
        self._own_values = np.array(list(own.values()), np.int64)
        self._seen = None

    def grow(self) -> None:
        """Make room: what a kernel wanted to write did not fit."""
        check_unions(self.counts)
        n_nodes, n_hits = self.counts[k.NODES_VISITED], self.counts[k.MEMO_HITS]
        self._make(4 * self.capacity)
        self.counts[k.NODES_VISITED], self.counts[k.MEMO_HITS] = n_nodes, n_hits

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
        if len(heads) == 1:
            codes[0], stacks[0] = heads[0]
            return
        for i, (code, stack) in enumerate(heads):
            codes[i], stacks[i] = code, stack

    def wanted(self) -> list[int]:
        """What the last walk asked for."""
        asked: list[int] = self.requests[: int(self.counts[1])].tolist()
        return asked


def check_unions(counts: Array) -> None:
    """Raise TooComplex where a kernel gave up for too many unions of stacks, and not for want of room."""
    if counts[k.UNION_STEPS] > k.MAX_UNION_STEPS:
        counts[k.UNION_STEPS] = 0
        raise TooComplex(
            "what comes next can be read in too many ways (rules deep inside each other that may all be empty?)"
        )


def _apart(n: int) -> npt.NDArray[np.int64]:
    """int64[n] of zeros that shares no cache line with anything else."""
    return np.zeros(n + 2 * APART, np.int64)[APART : APART + n]


class Walkers:
    """The walkers of one engine, and who may change its arrays."""

    def __init__(self, lock: threading.RLock) -> None:
        self.lock = lock
        self._free: list[Walker] = []
        self._left = threading.Condition(lock)
        self.n_nodes = self.n_memo_hits = 0  # of walks whose walkers are gone
        self._walking, self._waiting = Held(), Held()

    def take(self, tables: Tables, n_heads: int, n_walkers: int = 1) -> tuple[memoryview, list[Walker]]:
        """Walkers with room for so many heads, that know the tables, and what holds these: `with` it, nothing that the
        walkers read changes. All that one thread needs at a time must be taken at once.
        """
        with self.lock:
            while self._waiting.is_held():
                self._left.wait(PATIENCE_S)
            taken = [self.take_locked(tables, n_heads) for _ in range(n_walkers)]
            return memoryview(self._walking.buffer), taken

    def take_one(self, tables: Tables, n_heads: int) -> tuple[memoryview, Walker]:
        """The same for one walker."""
        with self.lock:
            while self._waiting.is_held():
                self._left.wait(PATIENCE_S)
            return memoryview(self._walking.buffer), self.take_locked(tables, n_heads)

    def hold(self, walker: Walker, tables: Tables) -> memoryview:
        """The same for a walker that was taken, whose walk waited for something and now goes on."""
        with self.lock:
            while self._waiting.is_held():
                self._left.wait(PATIENCE_S)
            walker.refresh(tables)
            return memoryview(self._walking.buffer)

    def take_locked(self, tables: Tables, n_heads: int) -> Walker:
        """The same where the engine's lock is held as long as it walks: nothing changes meanwhile."""
        walker = self._free.pop() if self._free else Walker()
        while walker.capacity < n_heads:
            walker.grow()
        walker.refresh(tables)
        walker.counts[1] = 0  # nothing is asked for yet, should it not come to walk
        return walker

    def give(self, *taken: Walker) -> None:
        """Walkers are free again. They may also be lost: an interrupted walk need not give back its own."""
        with self.lock:
            self._free += taken
            if self._waiting.is_held():
                self._left.notify_all()

    def visited(self) -> tuple[int, int]:
        """Nodes of the trie that all walks visited, and the memos that they used."""
        with self.lock:
            n_nodes, n_hits = self.n_nodes, self.n_memo_hits
            for walker in self._free:
                n_nodes += int(walker.counts[k.NODES_VISITED])
                n_hits += int(walker.counts[k.MEMO_HITS])
            return n_nodes, n_hits

    def settle(self) -> None:
        """Wait until nothing walks; the caller holds the lock, and while it does, no walk begins."""
        if self._walking.is_held():
            with memoryview(self._waiting.buffer):
                while self._walking.is_held():
                    self._left.wait(PATIENCE_S)
            self._left.notify_all()

    def is_waited_for(self) -> bool:
        """Whether somebody who is to change something waits for walks to end; the lock, which waiting gives away, is
        held by another then."""
        return self._waiting.is_held()

    def drop(self) -> None:
        """Let go of all scratch space and of the arrays that it knows."""
        self.n_nodes, self.n_memo_hits = self.visited()
        self._free.clear()
