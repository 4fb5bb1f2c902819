"""The arrays behind the kernels: pools that grow, and the table of their addresses.

Growth moves an array, so its address is written into the table again; nothing else may keep one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .head_arrays import HeadArrays

Array = npt.NDArray[Any]

JOIN_SLOTS = 1 << 14  # unions of stacks that are remembered
JOIN_ROOM = 1 << 18  # four entries a level of a union
PREPARED_FRAMES = 3  # of a stack, which are built before a walk begins: in one go, not one by one
SHAPE_LIMIT = 1_500  # nodes that a state may visit in the trie by shape; beyond, it has a memo
HEAD_VISITS = 12  # nodes; what a head reads by itself is kept where its walk visits more
TOUCHED_BYTES = 1 << 19  # of each array that states write to
TOUCHED_ROWS = 1280  # a grammar with names less keywords has a thousand
LARGE = 1 << 16  # entries; up to here arrays double


def _filled(n: int, fill: int, dtype: Any) -> Array:
    """An array of n entries; pages of zeros take memory once they are written to."""
    return np.full(n, fill, dtype) if fill else np.zeros(n, dtype)


def _addresses(arrays: dict[int, Array]) -> tuple[list[int], list[int]]:
    """Slots of `ctx` and the addresses that go there."""
    return list(arrays), [array.ctypes.data for array in arrays.values()]


class Pool:
    """One growing array whose address stands in a slot of the table. `n` counts the used entries (of `width` items)."""

    __slots__ = ("array", "n", "slot", "tables", "width")

    def __init__(self, tables: Tables, slot: int, dtype: Any, capacity: int, width: int = 1, fill: int = 0) -> None:
        self.tables, self.slot, self.width, self.n = tables, slot, width, 0
        self.array: Array = _filled(capacity * width, fill, dtype)
        self.publish()

    def publish(self) -> None:
        self.tables.ctx[self.slot] = self.array.ctypes.data
        self.tables.version += 1

    def reserve(self, n: int, fill: int = 0) -> int:
        """Make room for n more entries and take them; returns the first one's index."""
        first, need = self.n, (self.n + n) * self.width
        if need > self.array.size:
            # Large arrays get a quarter more: twice the vocabulary's trie would be moved for one residual trie.
            more = min(need, max(need // 4, LARGE))
            grown = _filled(max(need + more - more % self.width, 1), fill, self.array.dtype)  # whole entries
            grown[: first * self.width] = self.array[: first * self.width]
            self.tables.leaving.append(self.array)
            address = grown.ctypes.data
            self.array = grown  # no call between these two: an interrupt comes before both or after both
            self.tables.ctx[self.slot] = address
            self.tables.version += 1
            self.tables.have_left()
        self.n += n
        return first

    def extend(self, values: Array | list[int]) -> int:
        """Append entries; returns the first one's index."""
        n = len(values) // self.width
        first = self.reserve(n)
        self.array[first * self.width : self.n * self.width] = values
        return first

    def row(self, index: int) -> Array:
        """A view of one entry of a pool whose width is above 1."""
        return self.array[index * self.width : (index + 1) * self.width]


class Tables:
    """All pools of one engine. `ctx`: int64[N_SLOTS], what every kernel takes."""

    cell_state: Array
    cell_parent: Array
    cell_table: Array

    def __init__(self, n_words: int) -> None:
        self.n_words = n_words
        self.version = 0  # counts the times that an array moved
        self.leaving: list[Any] = []  # arrays whose addresses are being replaced: an interrupt must not free them
        self.ctx: npt.NDArray[np.int64] = np.zeros(k.N_SLOTS, dtype=np.int64)
        self.ctx[k.N_WORDS], self.ctx[k.HEAD_VISITS] = n_words, HEAD_VISITS
        self.ctx[k.PREPARED_FRAMES] = PREPARED_FRAMES
        # Room that is not written to takes no memory, and moving an array costs 2 µs for each kB of it.
        pool = lambda slot, dtype, capacity, width=1, fill=0: Pool(self, slot, dtype, capacity, width, fill)  # noqa: E731
        self.trie_byte = pool(k.TRIE_BYTE, np.uint8, 1)
        self.trie_end = pool(k.TRIE_END, np.int32, 1)
        self.trie_token_start = pool(k.TRIE_TOKEN_START, np.int32, 1)
        self.trie_token_ids = pool(k.TRIE_TOKEN_IDS, np.int32, 1)
        self.trie_table = pool(k.TRIE_TABLE, np.int32, 1)
        self.trie_tables = pool(k.TRIE_TABLES, np.int32, 1, 256)
        self.trie_submask = pool(k.TRIE_SUBMASK, np.uint64, 1, 4)
        self.trie_height = pool(k.TRIE_HEIGHT, np.int32, 1)
        self.state_kind = pool(k.STATE_KIND, np.uint8, 8192)
        self.state_row = pool(k.STATE_ROW, np.int32, 8192)
        self.state_nullable = pool(k.STATE_NULLABLE, np.uint8, 8192)
        self.state_flags = pool(k.STATE_FLAGS, np.uint8, 8192)
        self.state_self = pool(k.STATE_SELF, np.uint64, 8192, 4)
        self.state_reach = pool(k.STATE_REACH, np.int32, 8192)
        self.state_clamp = pool(k.STATE_CLAMP, np.int32, 8192)
        self.state_live = pool(k.STATE_LIVE, np.uint64, 8192, 4)
        self.state_head = pool(k.STATE_HEAD, np.int32, 8192)
        self.state_words = pool(k.STATE_WORDS, np.int32, 8192)
        self._state_pools = (
            *(self.state_kind, self.state_row, self.state_nullable, self.state_flags),
            *(self.state_self, self.state_reach, self.state_clamp, self.state_live, self.state_head),
            self.state_words,
        )
        self.rows = pool(k.ROWS, np.int32, 2048, 256)
        self.seqs = pool(k.SEQS, np.int32, 16384)
        self.lits = pool(k.LITS, np.int32, 16384)
        self.key_child = pool(k.KEY_CHILD, np.int32, 8192)
        self.key_sibling = pool(k.KEY_SIBLING, np.int32, 8192)
        self.key_byte = pool(k.KEY_BYTE, np.uint8, 8192)
        self.key_lo = pool(k.KEY_LO, np.int32, 8192)
        self.key_hi = pool(k.KEY_HI, np.int32, 8192)
        self.key_ends = pool(k.KEY_ENDS, np.int32, 8192)
        self.key_extra = pool(k.KEY_EXTRA, np.int32, 8192)
        self.instances = pool(k.INSTANCES, np.int32, 2048, k.INSTANCE_STRIDE)
        self.key_bits = pool(k.KEY_BITS, np.uint64, 4096)
        self.key_rests = pool(k.KEY_RESTS, np.int32, 4096)
        self.memos = pool(k.MEMO_TABLE, np.int32, 64, k.MEMO_STRIDE)
        self.memo_pushes = pool(k.MEMO_PUSHES, np.int32, 64, 2)
        self.base_rows = pool(k.BASE_ROWS, np.uint32, 32, n_words)
        self.base_lists = pool(k.BASE_LISTS, np.int32, 32768)
        self.counts = pool(k.COUNTS, np.int64, k.N_COUNTS)
        self._pools = self.pools()
        self.head_memos = HeadArrays(self, n_words)
        self.shapes: dict[int, Array] = {}  # of the trie by shape, by slot
        self.join_keys, self.join_values = np.full(JOIN_SLOTS, -1, np.int64), np.zeros(JOIN_SLOTS, np.int64)
        self.join_work = np.zeros(JOIN_ROOM, np.int64)
        self._publish({k.JOIN_KEYS: self.join_keys, k.JOIN_VALUES: self.join_values, k.JOIN_WORK: self.join_work})
        self.ctx[k.JOIN_MASK] = JOIN_SLOTS - 1
        self.ctx[k.JOIN_CAPACITY] = JOIN_ROOM
        self._cells(16384)
        self._scratch(4096)
        self._memo_hash(256)
        self._touch()

    def _touch(self) -> None:
        """Write to what the first states will take: a page that is new costs a step of a text some µs, at times 200."""
        for pool in (*self._state_pools, self.seqs, self.lits):
            pool.array[: TOUCHED_BYTES // pool.array.itemsize].fill(0)
        self.rows.array[: 256 * TOUCHED_ROWS].fill(0)
        for array in (self.cell_state, self.cell_parent, self.head_code, self.head_stack, self.work):
            array.fill(0)

    def reserve_states(self, n: int) -> int:
        """Make room for n more states and take them; returns the first one's code."""
        first = self.state_kind.n
        need = first + n
        for pool in self._state_pools:
            if need * pool.width <= pool.array.size:
                pool.n = need
            else:
                pool.reserve(need - pool.n)
        return first

    def mend(self) -> None:
        """After an interrupt: what stands side by side is equally much again; what was half written is nobody's."""
        keys = (
            self.key_child,
            self.key_sibling,
            self.key_byte,
            self.key_lo,
            self.key_hi,
            self.key_ends,
            self.key_extra,
        )
        nodes = (self.trie_byte, self.trie_end, self.trie_submask, self.trie_height, self.trie_table)
        for group in (self._state_pools, keys, nodes):
            most = max(pool.n for pool in group)
            for pool in group:
                pool.reserve(most - pool.n)
        if self.trie_byte.n:
            self.trie_token_start.reserve(self.trie_byte.n + 1 - self.trie_token_start.n)

    def keep_stacks_apart(self) -> None:
        """Join no stacks from now on: every head has one stack."""
        self.ctx[k.JOIN_CAPACITY] = 0
        self.version += 1

    def _cells(self, capacity: int) -> None:
        n = int(self.counts.array[0])
        states, parents = np.zeros(capacity, np.int32), np.zeros(capacity, np.int32)
        if n:
            states[:n], parents[:n] = self.cell_state[:n], self.cell_parent[:n]
        table = np.full(4 * capacity, -1, np.int32)
        k.rehash_cells(states, parents, n, table)
        slots, values = _addresses({k.CELL_STATE: states, k.CELL_PARENT: parents, k.CELL_TABLE: table})
        slots += [k.CELL_CAPACITY, k.CELL_TABLE_MASK]
        values += [capacity, 4 * capacity - 1]
        of_states, of_parents = states.data, parents.data  # gives int in half of the time
        # No call from here on: an interrupt comes before all of this or after it.
        self.ctx[slots] = values
        self.cell_state, self.cell_parent, self.cell_table = states, parents, table
        self.cell_states, self.cell_parents = of_states, of_parents
        self.version += 1

    def _scratch(self, capacity: int) -> None:
        codes, stacks = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        work, requests = np.zeros(3 * capacity, np.int64), np.zeros(256, np.int64)
        of_codes, of_stacks = codes.data, stacks.data
        slots, values = _addresses({k.HEAD_CODE: codes, k.HEAD_STACK: stacks, k.WORK: work, k.REQUESTS: requests})
        slots += [k.HEAD_CAPACITY, k.WORK_CAPACITY, k.REQUEST_CAPACITY]
        values += [capacity, 3 * capacity, 256]
        # No call from here on, as above.
        self.ctx[slots] = values
        self.head_code, self.head_stack, self.work, self.requests = codes, stacks, work, requests
        self.head_codes, self.head_stacks = of_codes, of_stacks
        self.scratch_capacity = capacity
        self.version += 1

    def _memo_hash(self, capacity: int) -> None:
        old = getattr(self, "memo_keys", np.zeros(0, np.int64)), getattr(self, "memo_values", np.zeros(0, np.int32))
        keys, found = np.full(capacity, -1, np.int64), np.zeros(capacity, np.int32)
        slots, values = _addresses({k.MEMO_KEYS: keys, k.MEMO_VALUES: found})
        slots, values = [*slots, k.MEMO_MASK], [*values, capacity - 1]
        # No call up to the loop, as above; a memo that an interrupt leaves out is made anew.
        self.ctx[slots] = values
        self.memo_keys, self.memo_values = keys, found
        self.version += 1
        for key, value in zip(*old, strict=True):
            if key >= 0:
                k.put_memo(self.ctx, key >> 30, key & ((1 << 30) - 1), int(value))

    def publish_shapes(self, root: int) -> None:
        """Walks may go through the trie by shape from now on; its root stands at `root`."""
        self.ctx[k.SHAPE_ROOT], self.ctx[k.SHAPE_LIMIT] = root, SHAPE_LIMIT
        self._publish(self.shapes)

    def _publish(self, arrays: dict[int, Array]) -> None:
        for slot, array in arrays.items():
            self.ctx[slot] = array.ctypes.data
        self.version += 1

    def have_left(self) -> None:
        """The array that was leaving has its successor in place; after an interrupt those before it stay."""
        if len(self.leaving) == 1:
            self.leaving.clear()

    def make_room(self) -> None:
        """Double what a kernel found full: the cells, or the scratch space."""
        scratch = self.head_code, self.head_stack, self.work, self.requests
        self.leaving.append((self.cell_state, self.cell_parent, self.cell_table, *scratch))
        if int(self.counts.array[0]) * 2 > self.ctx[k.CELL_CAPACITY]:
            self._cells(2 * int(self.ctx[k.CELL_CAPACITY]))
        else:
            self._scratch(4 * self.scratch_capacity)
        self.have_left()

    def add_memo(self, node: int, state: int, memo: tuple[int, ...]) -> None:
        """Keep what a state does below a trie node; `memo`: MEMO_STRIDE numbers."""
        index = self.memos.extend(list(memo))
        if 2 * (index + 1) > self.memo_keys.size:
            self.leaving.append((self.memo_keys, self.memo_values))
            self._memo_hash(2 * self.memo_keys.size)
            self.have_left()
        k.put_memo(self.ctx, node, state, index)

    def pools(self) -> list[Pool]:
        return [value for value in vars(self).values() if isinstance(value, Pool)]

    def trie_pools(self) -> list[Pool]:
        return [pool for pool in self.pools() if pool.slot <= k.TRIE_HEIGHT]

    def without_states(self, n_trie: list[int]) -> Tables:
        """New tables that take over the first so many entries of each trie pool, and nothing else."""
        fresh = Tables(self.n_words)
        fresh.version = self.version + 1
        for slot in (k.MEMO_MIN_NODES, k.HEAD_VISITS):
            fresh.ctx[slot] = self.ctx[slot]
        for pool, old, n in zip(fresh.trie_pools(), self.trie_pools(), n_trie, strict=True):
            pool.array, pool.n = old.array, n
            pool.publish()
        if self.shapes:
            fresh.shapes = self.shapes
            fresh.publish_shapes(int(self.ctx[k.SHAPE_ROOT]))
        return fresh

    def n_used_bytes(self) -> int:
        """Bytes in use, without the room that is left in the arrays."""
        of_pools = sum(pool.n * pool.width * pool.array.itemsize for pool in self._pools)
        return of_pools + self.head_memos.n_used_bytes() + 12 * int(self.counts.array[0])

    def n_bytes(self) -> int:
        """Bytes held by all arrays."""
        arrays = [pool.array for pool in self.pools()]
        arrays += [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return sum(int(array.nbytes) for array in arrays) + self.head_memos.n_bytes()
