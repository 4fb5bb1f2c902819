"""The compiled inner loops: one trie walk gives a mask, one run over bytes gives the next configuration.

All kernels stand in this module, because a changed helper elsewhere would leave a cached caller stale. They read one
int64 table `ctx` of addresses (a call costs 0.2 µs instead of 1.0 for twenty arrays); `tables.py` owns the arrays
behind it. A *head* is (code, stack): what runs on top and the cell below it (-1: nothing). Codes: a state id; LIT_BASE
+ place in the literal pool; KEY_BASE + object instance and key-trie node; ACCEPT: the text may end here. Heads are kept
closed: when a frame may end, what lies below it is a head too, and states that stand for others (ALIAS), for several
frames (SPLIT) or for several such stacks (CHOICES) are taken apart. A state that is not built yet is asked for (REQ)
and treated as dead; the caller builds it and walks again.

Two heads with one code are joined: a stack is then a *set* of stacks. A cell whose state is -2 - m holds the member m
and, as its parent, the other members; members stand in the order of their states, no state twice, the bottom (-1) last.
So equal sets are one cell, and ambiguity costs what its different situations cost, not what its readings would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

# --- slots of ctx -------------------------------------------------------------------------------------------------
(
    TRIE_BYTE, TRIE_END, TRIE_TOKEN_START, TRIE_TOKEN_IDS, TRIE_TABLE, TRIE_TABLES, TRIE_SUBMASK, TRIE_HEIGHT,
    STATE_KIND, STATE_ROW, STATE_NULLABLE, STATE_FLAGS, STATE_SELF, STATE_REACH, STATE_CLAMP, STATE_LIVE,
    ROWS, SEQS, LITS,
    CELL_STATE, CELL_PARENT, CELL_TABLE, CELL_TABLE_MASK, CELL_CAPACITY, COUNTS,
    KEY_CHILD, KEY_SIBLING, KEY_BYTE, KEY_LO, KEY_HI, KEY_ENDS, KEY_EXTRA,
    INSTANCES, KEY_BITS, KEY_RESTS,
    MEMO_KEYS, MEMO_VALUES, MEMO_MASK, MEMO_TABLE, MEMO_PUSHES, BASE_ROWS, BASE_LISTS, N_WORDS,
    HEAD_CODE, HEAD_STACK, HEAD_CAPACITY, WORK, WORK_CAPACITY, REQUESTS, REQUEST_CAPACITY,
    MEMO_MIN_NODES, JOIN_KEYS, JOIN_VALUES, JOIN_MASK, JOIN_WORK, JOIN_CAPACITY,
    OWN_STATE, OWN_PARENT, OWN_TABLE, OWN_PLACES, OWN_TABLE_MASK, OWN_CAPACITY,
    SHAPE_ROOT, SHAPE_AT, SHAPE_STARTS, SHAPE_MEMBERS, SHAPE_LEADS, SHAPE_STRETCH,
    SHAPE_OWN_ROW, SHAPE_ROW, SHAPE_ROWS, SHAPE_KIND, SHAPE_LIMIT,
    TEXT_STARTS, TEXT_NODES, TEXT_ABOVE, TEXT_ROW, TEXT_ROWS, WAIT_ITEMS, WAIT_CAPACITY,
    PREPARED_FRAMES, STATE_HEAD, STATE_WORDS, HEAD_MEMOS, HEAD_EXITS, HEAD_IDS, HEAD_ROWS, HEAD_USED, HEAD_VISITS,
    EXITS, EXIT_CAPACITY, N_SLOTS,
) = range(92)  # fmt: skip

# --- codes --------------------------------------------------------------------------------------------------------
DEAD = -1
ACCEPT = -1
EPSILON_STATE = 0
BELOW_STATE = 1  # reads nothing: stands for all that lies below a head that is walked by itself
LIT_BASE = 1 << 29
LIT_END = 256
OWN_BASE = 1 << 28  # from here on: a walker's own cells, which end with its walk
KEY_BASE = 1 << 40
KEY_SHIFT = 20
UNBUILT, ROW, KEYS, ALIAS, SPLIT, CHOICES = 0, 1, 2, 3, 4, 5
FLAG_WIDE, FLAG_NO_MEMO, FLAG_ANCHOR, FLAG_NO_SHAPES, FLAG_WORD = 1, 2, 4, 8, 16
INSTANCE_STRIDE = 8  # root node, first word of allowed bits, words, extra?, first after-code, first rest, keys, unused
# kind of base, place, length, residual root (-1: none), first of the frames pushed, how many, only state where it ends
MEMO_STRIDE = 7
NO_RESIDUAL = -1
HEAD_STRIDE = 5  # of what a head reads by itself: kind of base, place, length, first of the exits, how many
NO_HEAD_MEMO = -1  # in STATE_HEAD: nothing is kept; 0: not walked yet; above: the number of what is kept, plus 1
PLAIN_BASE = -2  # less the code of the plain name, of a name less keywords in which one has begun
ANY_VISITS = 1 << 62
# in HEAD_USED: memos of heads, exits, ids and rows that are used; from HEAD_ROOM on: how many there is room for
HEAD_ROOM = 4
MAX_HEAD_MEMOS = 1_000  # of one generation; a large one takes as much as a mask
MAX_HEAD_VISITS = 2_000  # of a walk for one while the engine's lock is held: some 0.2 ms
MANY_EXITS = 16  # in the trie by shape: going on from more takes longer than from a memo's residual trie
LAZY_CHILD = -2  # in a table by byte: a part of a residual trie that is not made yet
LAZY_HEIGHT = 2**31 - 1  # of the root of a residual trie that has such parts: nothing is known of all that is below
REACH_ALL = 2**31 - 2
BASE_NONE, BASE_DENSE, BASE_LIST = 0, 1, 2
MEMO_REQUEST = 1 << 62
PART_REQUEST = 1 << 61  # with root << 8 | byte: a part of a residual trie
SEVERAL_LEADS, HAS_STRETCH = 1, 2  # of a node of the trie by shape: several bytes lead to it, it holds stretches
SHAPE_HEIGHT = 1 << 30  # of its nodes: no count is known to last, a state that keeps going does
MAX_JOIN_STEPS = 1 << 17  # of one union of stacks; beyond, two heads stay apart
MAX_UNION_STEPS = 1 << 23  # of all unions behind one byte, some 0.2 s; beyond, the text is given up (TooComplex)
NO_MEMBER = -3
NOT_SEEN = -2
N_ASCII = 128
LETTERS_0, LETTERS_1 = 0x03FF << 48, 0x07FFFFFE << 32 | 0x07FFFFFE  # digits and letters, as two words of a set of bytes
# results
OK, NEED_BUILD, NEED_ROOM, EMPTY, NEED_HEADS, LONG, NEED_HEAD_ROOM = 0, 1, 2, 3, 4, 5, 6
# places of COUNTS: cells, requests, lack of room, own cells, requests with repetitions, least place that changed, walk
# NODES_VISITED, MEMO_HITS: added up. Of the walk or run under way: DEEPEST, the least shared cell whose frame was read
# (a cell stands above those below it, so it is the deepest of its stack); SETS_READ, whether one of them was a set's;
# ANCHORS_PUSHED, whether a frame with FLAG_ANCHOR was pushed; SHAPED, node << 30 | state of the last one that went
# through the trie by shape, or was answered as a text, for want of a memo, 0 for none.
# Of a walk that waits: WAITING, how many entries of WAIT_ITEMS are used; LOST, whether it must begin again instead;
# CORRECTING, how many of its items put right what those above them do, so that these cannot wait. UNION_STEPS: of the
# unions behind the byte at hand; where they are too many, room is said to lack.
NODES_VISITED, MEMO_HITS, DEEPEST, SETS_READ, ANCHORS_PUSHED, SHAPED, N_COUNTS = 8, 9, 10, 11, 12, 13, 24
WAITING, LOST, CORRECTING, UNION_STEPS = 7, 14, 15, 17
N_EXITS = 16  # of COUNTS too: places where a head that is walked by itself may end, -1 in other walks
ONE_BYTE = 40  # an item's node << ONE_BYTE holds the only byte that is read there, plus one
ROWS_LEFT, ROWS_EMPTY, N_PROGRESS = 1, 2, 16  # places of what threads that share rows write to
# --- slots of kept rows: addresses, bounds and how much is used -------------------------------------------------
(
    PATTERN_SLOTS, PATTERN_MASK, PATTERNS, PATTERN_CAPACITY, ENTRY_SLOTS, ENTRY_MASK, ENTRIES, ENTRY_CAPACITY,
    KEYS_HELD, KEYS_CAPACITY, ROW_SLOTS, ROW_HASHES, ROW_ADDRESSES, ROW_STAMPS, ROW_CAPACITY,
    KEY, KEY_CAPACITY, RESTS, DEPTHS, STAMP, FOUND_PATTERN,
    N_PATTERNS, N_PATTERN_WORDS, N_ENTRIES, N_KEY_WORDS, N_KEPT_SLOTS,
) = range(26)  # fmt: skip
ENTRY_STRIDE = 5  # hash, row, stamp, first word of its key, how many
OLD_ROW, KEPT_NOW, NO_ROOM_FOR_ROW, NOT_AT_ONCE = 1 << 40, 1 << 41, -2, -16
MAX_PATTERNS = 8  # that are tried for the same codes


@intrinsic
def _pointer(typingctx: Any, address: Any) -> Any:
    signature = types.voidptr(address)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return signature, codegen


@intrinsic
def _lowest_bit(typingctx: Any, word: Any) -> Any:
    """Number of the lowest set bit of a uint64 that is not 0."""
    signature = types.int64(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return signature, codegen


@intrinsic
def _take_next(typingctx: Any, address: Any) -> Any:
    """Add one to the int64 at an address, atomically; returns what it was."""
    signature = types.int64(address)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one = context.get_constant(types.int64, 1)
        place = builder.inttoptr(args[0], one.type.as_pointer())
        return builder.atomic_rmw("add", place, one, "acq_rel")

    return signature, codegen


@njit(cache=True, nogil=True, inline="always")
def _u8(ctx, slot):  # type: ignore[no-untyped-def]
    return carray(_pointer(ctx[slot]), (1,), np.uint8)


@njit(cache=True, nogil=True, inline="always")
def _i32(ctx, slot):  # type: ignore[no-untyped-def]
    return carray(_pointer(ctx[slot]), (1,), np.int32)


@njit(cache=True, nogil=True, inline="always")
def _u32(ctx, slot):  # type: ignore[no-untyped-def]
    return carray(_pointer(ctx[slot]), (1,), np.uint32)


@njit(cache=True, nogil=True, inline="always")
def _i64(ctx, slot):  # type: ignore[no-untyped-def]
    return carray(_pointer(ctx[slot]), (1,), np.int64)


@njit(cache=True, nogil=True, inline="always")
def _u64(ctx, slot):  # type: ignore[no-untyped-def]
    return carray(_pointer(ctx[slot]), (1,), np.uint64)


@njit(cache=True, nogil=True)
def request(ctx, what):  # type: ignore[no-untyped-def]
    """Note something the caller must make; duplicates of the recent ones are left out."""
    counts, requests = _i64(ctx, COUNTS), _i64(ctx, REQUESTS)
    counts[4] += 1
    n = counts[1]
    for i in range(n):
        if requests[i] == what:
            return
    if n < ctx[REQUEST_CAPACITY]:
        requests[n] = what
        counts[1] = n + 1


@njit(cache=True, nogil=True)
def push_own_cell(ctx, state, parent):  # type: ignore[no-untyped-def]
    """A cell of this walk alone, hash-consed among themselves (a shared cell of the same content is another one)."""
    states, parents, table = _i32(ctx, OWN_STATE), _i32(ctx, OWN_PARENT), _i32(ctx, OWN_TABLE)
    mask = ctx[OWN_TABLE_MASK]
    place = ((state * 0x9E3779B97F4A7C15 + parent * 0x2545F4914F6CDD1D) >> 24) & mask
    while True:
        found = np.int64(table[place])
        if found < 0:
            break
        if states[found] == state and parents[found] == parent:
            return OWN_BASE + found
        place = (place + 1) & mask
    counts = _i64(ctx, COUNTS)
    n = counts[3]
    if n >= ctx[OWN_CAPACITY]:
        counts[2] = 1
        return np.int64(-1)
    states[n] = state
    parents[n] = parent
    table[place] = n
    _i32(ctx, OWN_PLACES)[n] = place
    counts[3] = n + 1
    return OWN_BASE + n


@njit(cache=True, nogil=True)
def drop_own_cells(ctx):  # type: ignore[no-untyped-def]
    """Begin a walk: forget the cells of the one before."""
    counts = _i64(ctx, COUNTS)
    table, places = _i32(ctx, OWN_TABLE), _i32(ctx, OWN_PLACES)
    for i in range(counts[3]):
        table[places[i]] = -1
    counts[3] = 0
    counts[6] += 1


@njit(cache=True, nogil=True, inline="always")
def cell_state(ctx, cell):  # type: ignore[no-untyped-def]
    """The frame of a cell, the walk's own or a shared one."""
    if cell >= OWN_BASE:
        return np.int64(_i32(ctx, OWN_STATE)[cell - OWN_BASE])
    counts, state = _i64(ctx, COUNTS), np.int64(_i32(ctx, CELL_STATE)[cell])
    counts[DEEPEST] = min(counts[DEEPEST], cell)
    if state < 0:
        counts[SETS_READ] = 1
    return state


@njit(cache=True, nogil=True, inline="always")
def cell_parent(ctx, cell):  # type: ignore[no-untyped-def]
    """The cell below a cell, or -1."""
    if cell >= OWN_BASE:
        return np.int64(_i32(ctx, OWN_PARENT)[cell - OWN_BASE])
    return np.int64(_i32(ctx, CELL_PARENT)[cell])


@njit(cache=True, nogil=True)
def push_cell(ctx, state, parent):  # type: ignore[no-untyped-def]
    """The cell (state, parent), hash-consed; sets the out-of-room flag where there is none left.

    A walker makes its own cells and leaves the shared ones alone: several may walk at once.
    """
    if 0 < state < LIT_BASE and _u8(ctx, STATE_FLAGS)[state] & FLAG_ANCHOR:
        _i64(ctx, COUNTS)[ANCHORS_PUSHED] = 1
    if ctx[OWN_CAPACITY]:
        return push_own_cell(ctx, state, parent)
    states, parents, table = _i32(ctx, CELL_STATE), _i32(ctx, CELL_PARENT), _i32(ctx, CELL_TABLE)
    mask = ctx[CELL_TABLE_MASK]
    place = ((state * 0x9E3779B97F4A7C15 + parent * 0x2545F4914F6CDD1D) >> 24) & mask
    while True:
        found = table[place]
        if found < 0:
            break
        if states[found] == state and parents[found] == parent:
            return np.int64(found)
        place = (place + 1) & mask
    counts = _i64(ctx, COUNTS)
    n = counts[0]
    if n >= ctx[CELL_CAPACITY]:
        counts[2] = 1
        return np.int64(-1)
    states[n] = state
    parents[n] = parent
    table[place] = n
    counts[0] = n + 1
    return np.int64(n)


@njit(cache=True, nogil=True)
def stack_member(ctx, stack):  # type: ignore[no-untyped-def]
    """The first member of a set of stacks: a cell, or -1 for the bottom."""
    if stack >= 0:
        state = cell_state(ctx, stack)
        if state < 0:
            return -2 - state
    return stack


@njit(cache=True, nogil=True)
def stack_others(ctx, stack):  # type: ignore[no-untyped-def]
    """The set of stacks without its first member; NO_MEMBER where there is no other."""
    if stack >= 0 and cell_state(ctx, stack) < 0:
        return cell_parent(ctx, stack)
    return np.int64(NO_MEMBER)


@njit(cache=True, nogil=True)
def push_joined(ctx, state, parent):  # type: ignore[no-untyped-def]
    """As `push_cell`, but a walker takes a shared cell where there is one: then what was joined before stays itself."""
    if ctx[OWN_CAPACITY] and parent < OWN_BASE and -2 - state < OWN_BASE:
        states, parents, table = _i32(ctx, CELL_STATE), _i32(ctx, CELL_PARENT), _i32(ctx, CELL_TABLE)
        mask = ctx[CELL_TABLE_MASK]
        place = ((state * 0x9E3779B97F4A7C15 + parent * 0x2545F4914F6CDD1D) >> 24) & mask
        while True:
            found = np.int64(table[place])
            if found < 0:
                break
            if states[found] == state and parents[found] == parent:
                return found
            place = (place + 1) & mask
    return push_cell(ctx, state, parent)


@njit(cache=True, nogil=True)
def join_slot(ctx, a, b):  # type: ignore[no-untyped-def]
    """Where the union of two sets of stacks is remembered: (key, place)."""
    key = (max(a, b) << 31) | (min(a, b) + 1)
    return key, ((key * 0x9E3779B97F4A7C15) >> 20) & ctx[JOIN_MASK]


@njit(cache=True, nogil=True)
def join_stacks(ctx, a, b):  # type: ignore[no-untyped-def]
    """The union of two sets of stacks; what lies below a common state is joined in turn.

    NO_MEMBER where that takes too long. What is remembered holds for one walk where the cells are a walker's own.
    Stacks may be deep, so there is no recursion: an entry of the work list is (a, b, phase, member of the result), and
    `done` is the answer of the entry above.
    """
    counts, work = _i64(ctx, COUNTS), _i64(ctx, JOIN_WORK)
    keys, values, walk_number = _i64(ctx, JOIN_KEYS), _i64(ctx, JOIN_VALUES), counts[6]
    work[0], work[1], work[2] = a, b, 0
    n, steps, done = 4, 0, np.int64(a)
    while n > 0:
        a, b, phase = work[n - 4], work[n - 3], work[n - 2]
        if phase == 0:
            steps += 1
            counts[UNION_STEPS] += 1
            if counts[UNION_STEPS] > MAX_UNION_STEPS:
                counts[2] = 1
            if steps > MAX_JOIN_STEPS or n + 8 > ctx[JOIN_CAPACITY]:
                return np.int64(NO_MEMBER)
            if a in (b, NO_MEMBER) or b == NO_MEMBER:
                done = b if a == NO_MEMBER else a
                n -= 4
                continue
            key, place = join_slot(ctx, a, b)
            if keys[place] == key and values[place] >> 32 == walk_number:
                done = values[place] & 0xFFFFFFFF
                n -= 4
                continue
            first, other = stack_member(ctx, a), stack_member(ctx, b)
            first_state = cell_state(ctx, first) if first >= 0 else np.int64(-1)
            other_state = cell_state(ctx, other) if other >= 0 else np.int64(-1)
            if first_state == other_state and first != other:
                work[n - 2] = 1
                work[n], work[n + 1] = cell_parent(ctx, first), cell_parent(ctx, other)
            else:
                work[n - 2] = 2
                work[n - 1] = first if first_state >= other_state else other
                work[n] = stack_others(ctx, a) if first_state >= other_state else a
                work[n + 1] = stack_others(ctx, b) if first_state <= other_state else b
            work[n + 2] = 0
            n += 4
        elif phase == 1:  # what lies below a common state is done
            work[n - 2] = 2
            work[n - 1] = push_joined(ctx, cell_state(ctx, stack_member(ctx, a)), done)
            work[n], work[n + 1], work[n + 2] = stack_others(ctx, a), stack_others(ctx, b), 0
            n += 4
        else:  # the other members are done
            if done == NO_MEMBER:
                done = work[n - 1]
            else:
                done = push_joined(ctx, -2 - work[n - 1], done)
            if counts[2]:
                return np.int64(NO_MEMBER)
            key, place = join_slot(ctx, a, b)
            keys[place] = key
            values[place] = (walk_number << 32) | done
            n -= 4
    return done


@njit(cache=True, nogil=True)
def add_head(ctx, first, n, code, stack):  # type: ignore[no-untyped-def]
    """Put a head into the set that begins at `first`; returns the new end.

    Where the code is there already, the stacks are joined; counts[5] is the least place where that changed something.
    """
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    for i in range(first, n):
        if codes[i] == code:
            if stacks[i] == stack:
                return n
            joined, counts = join_stacks(ctx, np.int64(stacks[i]), np.int64(stack)), _i64(ctx, COUNTS)
            if counts[2]:
                return n
            if joined != NO_MEMBER:
                if joined != stacks[i]:
                    stacks[i] = joined
                    counts[5] = min(counts[5], i)
                return n
    if n >= ctx[HEAD_CAPACITY]:
        _i64(ctx, COUNTS)[2] = 1
        return n
    codes[n] = code
    stacks[n] = stack
    return n + 1


@njit(cache=True, nogil=True)
def push_frames(ctx, at, stack):  # type: ignore[no-untyped-def]
    """The stack with all frames but the first of the list at this place of the pool (size, then codes)."""
    seqs = _i32(ctx, SEQS)
    for k in range(np.int64(seqs[at]) - 1, 0, -1):
        stack = push_cell(ctx, np.int64(seqs[at + 1 + k]), stack)
    return stack


@njit(cache=True, nogil=True)
def add_below(ctx, first, n, stack):  # type: ignore[no-untyped-def]
    """Put what lies on top of a set of stacks into the set of heads that begins at `first`; returns its end."""
    while stack != NO_MEMBER:
        member = stack_member(ctx, stack)
        if member < 0:
            n = add_head(ctx, first, n, np.int64(ACCEPT), np.int64(-1))
        else:
            n = add_head(ctx, first, n, cell_state(ctx, member), cell_parent(ctx, member))
        stack = stack_others(ctx, stack)
    return n


@njit(cache=True, nogil=True)
def close_heads(ctx, first, n):  # type: ignore[no-untyped-def]
    """Add what lies below frames that may end and what aliases and sequences stand for; drop those and finished
    frames. Returns the new end."""
    codes, stacks, counts = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _i64(ctx, COUNTS)
    nullable, kinds, rows, seqs = _u8(ctx, STATE_NULLABLE), _u8(ctx, STATE_KIND), _i32(ctx, STATE_ROW), _i32(ctx, SEQS)
    i, dropped = first, False
    while i < n and not counts[2]:
        code, stack = codes[i], stacks[i]
        counts[5] = n  # a head whose stack gets others is gone through again
        if 0 <= code < LIT_BASE:
            kind = kinds[code]
            if kind == ALIAS:
                dropped = True
                n = add_head(ctx, first, n, np.int64(rows[code]), stack)
            elif kind == SPLIT:
                dropped = True
                at = np.int64(rows[code])
                n = add_head(ctx, first, n, np.int64(seqs[at + 1]), push_frames(ctx, at, stack))
            elif kind == CHOICES:
                dropped = True
                at = np.int64(rows[code]) + 1
                for _ in range(np.int64(seqs[at - 1])):
                    n = add_head(ctx, first, n, np.int64(seqs[at + 1]), push_frames(ctx, at, stack))
                    at += 1 + np.int64(seqs[at])
            elif nullable[code] == 1:
                dropped = dropped or code == EPSILON_STATE
                n = add_below(ctx, first, n, stack)
            elif kind == UNBUILT and nullable[code] == 2:
                request(ctx, code)
        i = min(i + 1, counts[5])
    if not dropped:
        return n
    kept = first
    for i in range(first, n):
        code = codes[i]
        if code != EPSILON_STATE and not (0 <= code < LIT_BASE and kinds[code] >= ALIAS):
            codes[kept] = code
            stacks[kept] = stacks[i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def find_key(ctx, node, byte):  # type: ignore[no-untyped-def]
    """The child of a key-trie node for a byte, or -1."""
    siblings, key_bytes = _i32(ctx, KEY_SIBLING), _u8(ctx, KEY_BYTE)
    child = np.int64(_i32(ctx, KEY_CHILD)[node])
    while child >= 0:
        if key_bytes[child] == byte:
            return child
        child = np.int64(siblings[child])
    return np.int64(-1)


@njit(cache=True, nogil=True)
def key_open(ctx, instance, child):  # type: ignore[no-untyped-def]
    """Whether some key below this key-trie node may still be written."""
    instances, bits = _i32(ctx, INSTANCES), _u64(ctx, KEY_BITS)
    offset = np.int64(instances[instance * INSTANCE_STRIDE + 1])
    lo, hi = np.int64(_i32(ctx, KEY_LO)[child]), np.int64(_i32(ctx, KEY_HI)[child])
    for rank in range(lo, hi):
        if (bits[offset + (rank >> 6)] >> np.uint64(rank & 63)) & np.uint64(1):
            return True
    return False


@njit(cache=True, nogil=True)
def key_code(ctx, code):  # type: ignore[no-untyped-def]
    """The code of a place in an object's keys, for such a code or for a state that stands for it."""
    if code >= KEY_BASE:
        return code
    row = np.int64(_i32(ctx, STATE_ROW)[code])
    return np.int64(KEY_BASE) + (row << KEY_SHIFT) + np.int64(_u64(ctx, STATE_SELF)[code * 4])


@njit(cache=True, nogil=True)
def key_node(ctx, code):  # type: ignore[no-untyped-def]
    """The node of the key trie where a key code stands."""
    instance = (code - KEY_BASE) >> KEY_SHIFT
    node = (code - KEY_BASE) & ((1 << KEY_SHIFT) - 1)
    return node + np.int64(_i32(ctx, INSTANCES)[instance * INSTANCE_STRIDE])


@njit(cache=True, nogil=True)
def extra_code(ctx, code):  # type: ignore[no-untyped-def]
    """The state of an undeclared key at a key code, or -1 where none may come."""
    instance = (code - KEY_BASE) >> KEY_SHIFT
    if not _i32(ctx, INSTANCES)[instance * INSTANCE_STRIDE + 3]:
        return np.int64(-1)
    return np.int64(_i32(ctx, KEY_EXTRA)[key_node(ctx, code)])


@njit(cache=True, nogil=True)
def after_declared(ctx, instance, key, stack, n, first):  # type: ignore[no-untyped-def]
    """Append the head after a declared key was written in full; returns the new end."""
    instances, base = _i32(ctx, INSTANCES), instance * INSTANCE_STRIDE
    rank = np.int64(_i32(ctx, KEY_ENDS)[key])
    cell = push_cell(ctx, np.int64(instances[base + 4]) + rank, stack)
    rest = np.int64(_i32(ctx, KEY_RESTS)[np.int64(instances[base + 5]) + rank])
    return add_head(ctx, first, n, rest, cell)


@njit(cache=True, nogil=True)
def emit_key(ctx, code, stack, byte, first, n):  # type: ignore[no-untyped-def]
    """Heads after a byte inside an object's key."""
    instance = (code - KEY_BASE) >> KEY_SHIFT
    node = (code - KEY_BASE) & ((1 << KEY_SHIFT) - 1)
    instances = _i32(ctx, INSTANCES)
    base = instance * INSTANCE_STRIDE
    node += np.int64(instances[base])
    extra, after = instances[base + 3], np.int64(instances[base + 4])
    child = find_key(ctx, node, byte)
    if child >= 0:
        ends = np.int64(_i32(ctx, KEY_ENDS)[child])
        if ends >= 0:
            return after_declared(ctx, instance, child, stack, n, first) if key_open(ctx, instance, child) else n
        if (extra and _i32(ctx, KEY_EXTRA)[child] >= 0) or key_open(ctx, instance, child):
            return add_head(
                ctx, first, n, code - (node - np.int64(instances[base])) + (child - np.int64(instances[base])), stack
            )
        return n
    if extra:
        state = np.int64(_i32(ctx, KEY_EXTRA)[node])
        if state < 0:
            return n
        target = np.int64(DEAD)
        if state >= LIT_BASE:
            lits = _i32(ctx, LITS)
            if lits[state - LIT_BASE] == byte:
                target = state + 1
                if lits[target - LIT_BASE] == LIT_END:
                    target = np.int64(EPSILON_STATE)
        elif _u8(ctx, STATE_KIND)[state] == UNBUILT:
            request(ctx, state)
        else:
            target = np.int64(_i32(ctx, ROWS)[np.int64(_i32(ctx, STATE_ROW)[state]) * 256 + byte])
        if target >= 0:
            below = after + np.int64(instances[base + 6])
            if target == EPSILON_STATE:
                return add_head(ctx, first, n, below, stack)
            return add_head(ctx, first, n, target, push_cell(ctx, below, stack))
    return n


@njit(cache=True, nogil=True)
def emit(ctx, code, stack, byte, first, n):  # type: ignore[no-untyped-def]
    """Append the heads that one head becomes when it reads a byte; returns the new end."""
    if code < 0:
        return n
    if code >= KEY_BASE:
        return emit_key(ctx, code, stack, byte, first, n)
    if code >= LIT_BASE:
        lits = _i32(ctx, LITS)
        if lits[code - LIT_BASE] != byte:
            return n
        following = code + 1
        if lits[following - LIT_BASE] == LIT_END:
            following = np.int64(EPSILON_STATE)
        return add_head(ctx, first, n, following, stack)
    kind = _u8(ctx, STATE_KIND)[code]
    row = np.int64(_i32(ctx, STATE_ROW)[code])
    if kind == KEYS:
        node = np.int64(_u64(ctx, STATE_SELF)[code * 4])  # where in the key trie the state stands
        return emit_key(ctx, np.int64(KEY_BASE) + (row << KEY_SHIFT) + node, stack, byte, first, n)
    if kind != ROW:  # others are left where there was no room to take them apart; the call is made again
        if kind == UNBUILT:
            request(ctx, code)
        return n
    target = np.int64(_i32(ctx, ROWS)[row * 256 + byte])
    if target >= 0:
        return add_head(ctx, first, n, target, stack)
    if target == DEAD:
        return n
    seqs = _i32(ctx, SEQS)
    at = -target - 2
    choices = np.int64(seqs[at])
    at += 1
    for _ in range(choices):
        n = add_head(ctx, first, n, np.int64(seqs[at + 1]), push_frames(ctx, at, stack))
        at += 1 + np.int64(seqs[at])
    return n


@njit(cache=True, nogil=True)
def step(ctx, begin, end, byte, first):  # type: ignore[no-untyped-def]
    """The closed heads after one byte, written from `first` on; returns their end."""
    codes, stacks, counts = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _i64(ctx, COUNTS)
    counts[UNION_STEPS] = 0
    n = first
    for i in range(begin, end):
        n = emit(ctx, codes[i], stacks[i], byte, first, n)
    return close_heads(ctx, first, n) if n > first else n


@njit(cache=True, nogil=True)
def run_bytes(ctx, n_heads, text):  # type: ignore[no-untyped-def]
    """Advance the first `n_heads` heads over bytes (uint8[n]). Returns (result, number of heads, now first in the
    pool)."""
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    counts[ANCHORS_PUSHED] = 0
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    end = np.int64(n_heads)
    for at in range(text.shape[0]):
        after = step(ctx, 0, end, np.int64(text[at]), end)
        size = after - end
        for i in range(size):
            codes[i] = codes[end + i]
            stacks[i] = stacks[end + i]
        end = size
        if end == 0:
            break
    if counts[2]:
        return NEED_ROOM, end
    return (NEED_BUILD if counts[1] else OK), end


@njit(cache=True, nogil=True)
def start_heads(ctx, code):  # type: ignore[no-untyped-def]
    """The closed heads before anything was read. Returns (result, number of heads)."""
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    n = add_head(ctx, 0, 0, np.int64(code), np.int64(-1))
    n = close_heads(ctx, 0, n)
    if counts[2]:
        return NEED_ROOM, n
    return (NEED_BUILD if counts[1] else OK), n


@njit(cache=True, nogil=True)
def add_key_bytes(ctx, code, end, out):  # type: ignore[no-untyped-def]
    """The bytes that may come inside an object's key, as `add_live_bytes`."""
    code = key_code(ctx, code)
    node = key_node(ctx, code)
    siblings, key_bytes = _i32(ctx, KEY_SIBLING), _u8(ctx, KEY_BYTE)
    state = extra_code(ctx, code)
    if state >= LIT_BASE:
        byte = np.int64(_i32(ctx, LITS)[state - LIT_BASE])
        if find_key(ctx, node, byte) < 0:
            out[byte >> 6] |= np.uint64(1) << np.uint64(byte & 63)
    elif state >= 0 and _u8(ctx, STATE_KIND)[state] == UNBUILT:
        request(ctx, state)
    elif state >= 0:
        live, rows = _u64(ctx, STATE_LIVE), _i32(ctx, ROWS)
        row = np.int64(_i32(ctx, STATE_ROW)[state]) * 256
        for word in range(4):
            left = live[state * 4 + word]
            while left:
                byte = word * 64 + _lowest_bit(left)
                if rows[row + byte] >= 0 and find_key(ctx, node, byte) < 0:
                    out[word] |= left & (~left + np.uint64(1))
                left &= left - np.uint64(1)
    child = np.int64(_i32(ctx, KEY_CHILD)[node])
    while child >= 0:
        byte = np.int64(key_bytes[child])
        bit = np.uint64(1) << np.uint64(byte & 63)
        if emit_key(ctx, code, np.int64(-1), byte, end, end) > end:
            out[byte >> 6] |= bit
        child = np.int64(siblings[child])


@njit(cache=True, nogil=True)
def add_live_bytes(ctx, begin, end, out):  # type: ignore[no-untyped-def]
    """The bytes that the heads can read, into out: uint64[4]; requests and lack of room are left in the counts."""
    codes = _i64(ctx, HEAD_CODE)
    live = _u64(ctx, STATE_LIVE)
    for i in range(4):
        out[i] = np.uint64(0)
    for i in range(begin, end):
        code = codes[i]
        if code < 0:
            continue
        if code >= KEY_BASE or (code < LIT_BASE and _u8(ctx, STATE_KIND)[code] == KEYS):
            add_key_bytes(ctx, code, end, out)
        elif code >= LIT_BASE:
            first = np.int64(_i32(ctx, LITS)[code - LIT_BASE])
            out[first >> 6] |= np.uint64(1) << np.uint64(first & 63)
        elif _u8(ctx, STATE_KIND)[code] == UNBUILT:
            request(ctx, code)
        else:
            for k in range(4):
                out[k] |= live[code * 4 + k]


@njit(cache=True, nogil=True)
def live_bytes(ctx, begin, end, out):  # type: ignore[no-untyped-def]
    """Which bytes the heads can read, into out: uint64[4]. Returns OK, NEED_BUILD or NEED_ROOM."""
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    add_live_bytes(ctx, begin, end, out)
    if counts[2]:
        return NEED_ROOM
    return NEED_BUILD if counts[1] else OK


@njit(cache=True, nogil=True)
def forced_run(ctx, n_heads, out, live):  # type: ignore[no-untyped-def]
    """Follow the heads while exactly one byte is open and the text may not end; bytes into out: uint8[limit].

    Returns (result, number of heads, bytes written); `live` (uint64[4]) holds the bytes open at the end.
    """
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    counts = _i64(ctx, COUNTS)
    end, written = np.int64(n_heads), 0
    while True:
        result = live_bytes(ctx, 0, end, live)
        if result != OK:
            return result, end, written
        open_bytes, only = 0, -1
        for k in range(4):
            word = live[k]
            while word:
                open_bytes += 1
                if open_bytes > 1:
                    return OK, end, written
                only = k * 64 + _lowest_bit(word)
                word &= word - np.uint64(1)
        for i in range(end):
            if codes[i] == ACCEPT:
                return OK, end, written
        if open_bytes == 0 or written >= out.shape[0]:
            return OK, end, written
        after = step(ctx, 0, end, only, end)
        if counts[2]:
            return NEED_ROOM, end, written
        if counts[1]:
            return NEED_BUILD, end, written
        size = after - end
        for i in range(size):
            codes[i] = codes[end + i]
            stacks[i] = stacks[end + i]
        end = size
        out[written] = only
        written += 1


@njit(cache=True, nogil=True)
def find_memo(ctx, node, state):  # type: ignore[no-untyped-def]
    """The memo of (trie node, state), or -1."""
    keys, values, mask = _i64(ctx, MEMO_KEYS), _i32(ctx, MEMO_VALUES), ctx[MEMO_MASK]
    key = (node << 30) | state
    place = ((key * 0x9E3779B97F4A7C15) >> 20) & mask
    while keys[place] >= 0:
        if keys[place] == key:
            return np.int64(values[place])
        place = (place + 1) & mask
    return np.int64(-1)


@njit(cache=True, nogil=True)
def put_memo(ctx, node, state, value):  # type: ignore[no-untyped-def]
    """Enter a memo; the caller keeps the table at most half full."""
    keys, values, mask = _i64(ctx, MEMO_KEYS), _i32(ctx, MEMO_VALUES), ctx[MEMO_MASK]
    key = (node << 30) | state
    place = ((key * 0x9E3779B97F4A7C15) >> 20) & mask
    while keys[place] >= 0:
        place = (place + 1) & mask
    keys[place] = key
    values[place] = value


@njit(cache=True, nogil=True)
def set_tokens(ctx, begin, end, mask):  # type: ignore[no-untyped-def]
    """Set the bits of the tokens at places begin..end-1 of the trie's token list."""
    ids = _i32(ctx, TRIE_TOKEN_IDS)
    for i in range(begin, end):
        token = np.int64(ids[i])
        mask[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@njit(cache=True, nogil=True)
def add_base(ctx, memo, mask):  # type: ignore[no-untyped-def]
    """Or a memo's tokens into the mask."""
    table = _i32(ctx, MEMO_TABLE)
    kind, place = table[memo * MEMO_STRIDE], np.int64(table[memo * MEMO_STRIDE + 1])
    if kind == BASE_DENSE:
        n_words = ctx[N_WORDS]
        rows = _u32(ctx, BASE_ROWS)
        start = place * n_words
        for i in range(n_words):
            mask[i] |= rows[start + i]
    elif kind == BASE_LIST:
        tokens = _i32(ctx, BASE_LISTS)
        for i in range(place, place + np.int64(table[memo * MEMO_STRIDE + 2])):
            token = np.int64(tokens[i])
            mask[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@njit(cache=True, nogil=True)
def whole_subtree(ctx, node, state):  # type: ignore[no-untyped-def]
    """Whether every byte below the node keeps the state (or its count) going: then every token below is legal."""
    if _i32(ctx, TRIE_HEIGHT)[node] > _i32(ctx, STATE_REACH)[state]:
        return False
    below, own = _u64(ctx, TRIE_SUBMASK), _u64(ctx, STATE_SELF)
    for k in range(4):
        if below[node * 4 + k] & ~own[state * 4 + k]:
            return False
    return True


@njit(cache=True, nogil=True)
def heads_live(ctx, begin, end):  # type: ignore[no-untyped-def]
    """The bytes that may lead on from the heads, as four words; too many where a state must be built first."""
    codes, live, kinds = _i64(ctx, HEAD_CODE), _u64(ctx, STATE_LIVE), _u8(ctx, STATE_KIND)
    w0, w1, w2, w3 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(begin, end):
        code = codes[i]
        if code < 0:
            continue
        byte = np.int64(-1)
        sibling = np.int64(-1)
        if code >= KEY_BASE or (code < LIT_BASE and kinds[code] == KEYS):
            key = key_code(ctx, code)
            sibling = np.int64(_i32(ctx, KEY_CHILD)[key_node(ctx, key)])
            code = extra_code(ctx, key)
        if code >= LIT_BASE:
            byte = np.int64(_i32(ctx, LITS)[code - LIT_BASE])
        elif code >= 0 and kinds[code] == UNBUILT:
            request(ctx, code)
        elif code >= 0:
            w0 |= live[code * 4]
            w1 |= live[code * 4 + 1]
            w2 |= live[code * 4 + 2]
            w3 |= live[code * 4 + 3]
        while byte >= 0 or sibling >= 0:
            if byte < 0:
                byte = np.int64(_u8(ctx, KEY_BYTE)[sibling])
                sibling = np.int64(_i32(ctx, KEY_SIBLING)[sibling])
            bit = np.uint64(1) << np.uint64(byte & 63)
            if byte < 64:
                w0 |= bit
            elif byte < 128:
                w1 |= bit
            elif byte < 192:
                w2 |= bit
            else:
                w3 |= bit
            byte = np.int64(-1)
    return w0, w1, w2, w3


@njit(cache=True, nogil=True)
def trie_child(ctx, node, byte):  # type: ignore[no-untyped-def]
    """The child of a trie node for a byte, or -1."""
    table = np.int64(_i32(ctx, TRIE_TABLE)[node])
    if table >= 0:
        return np.int64(_i32(ctx, TRIE_TABLES)[table * 256 + byte])
    ends, trie_bytes = _i32(ctx, TRIE_END), _u8(ctx, TRIE_BYTE)
    child, last = node + 1, np.int64(ends[node])
    while child < last:
        if trie_bytes[child] == byte:
            return child
        child = np.int64(ends[child])
    return np.int64(-1)


@njit(cache=True, nogil=True)
def find_node(ctx, node, text):  # type: ignore[no-untyped-def]
    """The trie node below `node` that the bytes (uint8[n]) lead to, or -1."""
    node = np.int64(node)
    for i in range(text.shape[0]):
        node = trie_child(ctx, node, np.int64(text[i]))
        if node < 0:
            break
    return node


@njit(cache=True, nogil=True)
def find_nodes(ctx, node, sets, lengths, which, depth, found):  # type: ignore[no-untyped-def]
    """The trie nodes below `node` that some of the words lead to, of which `depth` bytes were read. A word is a row of
    byte sets: sets: uint64[n_words, longest, 4], lengths: int64[n_words], which: int64[n]. Into found: int32[n];
    returns how many there are, which may be more than fit."""
    work, n_found = np.empty((256 * sets.shape[1] + 1, 2), np.int64), 0
    for i in range(which.shape[0]):
        word = which[i]
        work[0, 0] = node
        work[0, 1] = depth
        n_work = 1
        while n_work > 0:
            n_work -= 1
            here, at = work[n_work, 0], work[n_work, 1]
            if at == lengths[word]:
                if n_found < found.shape[0]:
                    found[n_found] = here
                n_found += 1
                continue
            for k in range(4):
                bits = sets[word, at, k]
                while bits:
                    byte = k * 64 + _lowest_bit(bits)
                    bits &= bits - np.uint64(1)
                    child = trie_child(ctx, here, byte)
                    if child >= 0:
                        work[n_work, 0] = child
                        work[n_work, 1] = at + 1
                        n_work += 1
    return n_found


@njit(cache=True, nogil=True)
def visit_child(ctx, child, byte, begin, end, top, n_work, mask):  # type: ignore[no-untyped-def]
    """Read one edge of the trie with the heads begin..end-1; returns (top of the head pool, work items)."""
    if np.int64(_i32(ctx, TRIE_END)[child]) == child + 1 and ctx[JOIN_CAPACITY]:  # whatever reads it will do
        codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
        for i in range(begin, end):
            if emit(ctx, codes[i], stacks[i], byte, top, top) > top:
                set_tokens(
                    ctx,
                    np.int64(_i32(ctx, TRIE_TOKEN_START)[child]),
                    np.int64(_i32(ctx, TRIE_TOKEN_START)[child + 1]),
                    mask,
                )
                break
        return top, n_work
    after = step(ctx, begin, end, byte, top)
    if after == top:
        return top, n_work
    starts = _i32(ctx, TRIE_TOKEN_START)
    set_tokens(ctx, np.int64(starts[child]), np.int64(starts[child + 1]), mask)
    if np.int64(_i32(ctx, TRIE_END)[child]) == child + 1:
        return top, n_work
    return after, push_work(ctx, child, top, after, n_work)


@njit(cache=True, nogil=True)
def push_work(ctx, node, begin, end, n_work):  # type: ignore[no-untyped-def]
    """A new work item, where there is room; returns the number of entries."""
    if n_work + 3 > ctx[WORK_CAPACITY]:
        _i64(ctx, COUNTS)[2] = 1
        return n_work
    work = _i64(ctx, WORK)
    work[n_work] = node
    work[n_work + 1] = begin
    work[n_work + 2] = end
    return n_work + 3


@njit(cache=True, nogil=True)
def wait(ctx, node, code, stack):  # type: ignore[no-untyped-def]
    """Note that a head is to go on at a node once what was asked for is there."""
    counts, items = _i64(ctx, COUNTS), _i64(ctx, WAIT_ITEMS)
    n = counts[WAITING]
    if counts[CORRECTING] > 0 or n + 4 > ctx[WAIT_CAPACITY]:
        counts[LOST] = 1
        return
    is_open = 0 <= code < LIT_BASE and _u8(ctx, STATE_NULLABLE)[code] == 2  # what lies below it is not among the heads
    items[n], items[n + 1], items[n + 2], items[n + 3] = node, code, stack, np.int64(is_open)
    counts[WAITING] = n + 4


@njit(cache=True, nogil=True)
def wait_unbuilt(ctx, node, begin, end):  # type: ignore[no-untyped-def]
    """The same for those of the heads begin..end-1 that cannot be read before they are built."""
    codes, stacks, kinds = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _u8(ctx, STATE_KIND)
    for i in range(begin, end):
        code = codes[i]
        if code >= KEY_BASE or (0 <= code < LIT_BASE and kinds[code] == KEYS):
            code = extra_code(ctx, key_code(ctx, code))
        if 0 <= code < LIT_BASE and kinds[code] == UNBUILT:
            wait(ctx, node, codes[i], stacks[i])


@njit(cache=True, nogil=True)
def memo_state(ctx, code):  # type: ignore[no-untyped-def]
    """The state whose memo answers a head, -1 where there is none: counts beyond the longest token make no
    difference."""
    if code >= KEY_BASE:
        code = extra_code(ctx, code)
    if not 0 < code < LIT_BASE:
        return np.int64(-1)
    clamp = np.int64(_i32(ctx, STATE_CLAMP)[code])
    if clamp:
        code = clamp
    kind = _u8(ctx, STATE_KIND)[code]
    if kind == UNBUILT:
        request(ctx, code)
    if kind != ROW or _u8(ctx, STATE_FLAGS)[code] & (FLAG_WIDE | FLAG_NO_MEMO) != FLAG_WIDE:
        return np.int64(-1)
    return code


@njit(cache=True, nogil=True)
def shape_at(ctx, node, state):  # type: ignore[no-untyped-def]
    """The node of the trie by shape that stands for a node of the vocabulary's trie alone; -1 where there is none, or
    where the state should not go through it."""
    shapes = ctx[SHAPE_ROOT]
    if not 0 <= node < shapes or _u8(ctx, STATE_FLAGS)[state] & FLAG_NO_SHAPES:
        return np.int64(-1)
    return np.int64(_i32(ctx, SHAPE_AT)[node])


@njit(cache=True, nogil=True)
def avoid_shapes(ctx, begin, end):  # type: ignore[no-untyped-def]
    """Note that these heads take long in the trie by shape."""
    codes, flags, clamps = _i64(ctx, HEAD_CODE), _u8(ctx, STATE_FLAGS), _i32(ctx, STATE_CLAMP)
    for i in range(begin, end):
        code = codes[i]
        if 0 <= code < LIT_BASE:
            flags[code] |= np.uint8(FLAG_NO_SHAPES)
            flags[clamps[code]] |= np.uint8(FLAG_NO_SHAPES if clamps[code] else 0)


@njit(cache=True, nogil=True)
def shape_origin(ctx, node):  # type: ignore[no-untyped-def]
    """The only node of the vocabulary's trie that a node of the trie by shape stands for."""
    at = node - ctx[SHAPE_ROOT]
    return np.int64(_i32(ctx, SHAPE_MEMBERS)[np.int64(_i32(ctx, SHAPE_STARTS)[at])]) if at else np.int64(0)


@njit(cache=True, nogil=True)
def read_alike(ctx, begin, end, slot, node, first):  # type: ignore[no-untyped-def]
    """Whether each head goes on in one way behind all bytes of a node's set, of which `first` is one; a head that must
    be built counts as if."""
    codes, kinds, state_rows = _i64(ctx, HEAD_CODE), _u8(ctx, STATE_KIND), _i32(ctx, STATE_ROW)
    rows, lits, sets = _i32(ctx, ROWS), _i32(ctx, LITS), _u64(ctx, slot)
    for i in range(begin, end):
        code = codes[i]
        if code < 0:
            continue
        if code >= KEY_BASE:
            return False
        if code >= LIT_BASE:
            byte = np.int64(lits[code - LIT_BASE])
            if sets[node * 4 + (byte >> 6)] >> np.uint64(byte & 63) & np.uint64(1):
                return False
        elif kinds[code] == ROW:
            at = np.int64(state_rows[code]) * 256
            target = rows[at + first]
            for k in range(4):
                word = sets[node * 4 + k]
                while word:
                    if rows[at + k * 64 + _lowest_bit(word)] != target:
                        return False
                    word &= word - np.uint64(1)
        elif kinds[code] != UNBUILT:
            return False
    return True


@njit(cache=True, nogil=True)
def stay_alike(ctx, begin, end, node):  # type: ignore[no-untyped-def]
    """Whether the heads stay as they are, whichever bytes the node's stretches go on with."""
    sets, byte = _u64(ctx, SHAPE_STRETCH), np.int64(-1)
    for k in range(4):
        if byte < 0 and sets[node * 4 + k]:
            byte = k * 64 + _lowest_bit(sets[node * 4 + k])
    if not read_alike(ctx, begin, end, np.int64(SHAPE_STRETCH), node, byte):
        return False
    after = step(ctx, begin, end, byte, end)
    if after - end != end - begin:
        return False
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    for i in range(begin, end):
        is_there = False
        for j in range(end, after):
            if codes[j] == codes[i] and stacks[j] == stacks[i]:
                is_there = True
                break
        if not is_there:
            return False
    return True


@njit(cache=True, nogil=True)
def keeps_going(ctx, state, node):  # type: ignore[no-untyped-def]
    """Whether a state stays as it is, whichever bytes the node's stretches go on with."""
    own, sets = _u64(ctx, STATE_SELF), _u64(ctx, SHAPE_STRETCH)
    if _i32(ctx, STATE_REACH)[state] != REACH_ALL:
        return False
    for k in range(4):
        if sets[node * 4 + k] & ~own[state * 4 + k]:
            return False
    return True


@njit(cache=True, nogil=True)
def suits_shapes(ctx, begin, end):  # type: ignore[no-untyped-def]
    """Whether heads without memos may gain by the trie by shape: one keeps going, and none is an object's keys."""
    codes, kinds, flags, reach = (
        _i64(ctx, HEAD_CODE),
        _u8(ctx, STATE_KIND),
        _u8(ctx, STATE_FLAGS),
        _i32(ctx, STATE_REACH),
    )
    found = False
    for i in range(begin, end):
        code = codes[i]
        if code >= KEY_BASE:
            return False
        if 0 <= code < LIT_BASE:
            if kinds[code] == KEYS or flags[code] & FLAG_NO_SHAPES:
                return False
            found = found or reach[code] == REACH_ALL
    return found


@njit(cache=True, nogil=True)
def add_shape_tokens(ctx, row, begin, end, mask):  # type: ignore[no-untyped-def]
    """Set the bits of a row, or where there is none (-1) of the tokens at places begin..end-1."""
    if row < 0:
        set_tokens(ctx, begin, end, mask)
        return
    n_words, rows = ctx[N_WORDS], _u32(ctx, SHAPE_ROWS)
    start = np.int64(row) * n_words
    for i in range(n_words):
        mask[i] |= rows[start + i]


@njit(cache=True, nogil=True)
def visit_shape(ctx, node, begin, end, n_work, mask):  # type: ignore[no-untyped-def]
    """Read the edges of a node of the trie by shape with the heads begin..end-1; returns the work items."""
    codes, ends, trie_bytes = _i64(ctx, HEAD_CODE), _i32(ctx, TRIE_END), _u8(ctx, TRIE_BYTE)
    starts, kinds, shapes = _i32(ctx, TRIE_TOKEN_START), _u8(ctx, STATE_KIND), ctx[SHAPE_ROOT]
    own_rows, all_rows = _i32(ctx, SHAPE_OWN_ROW), _i32(ctx, SHAPE_ROW)
    member_starts, members, leads = _i32(ctx, SHAPE_STARTS), _i32(ctx, SHAPE_MEMBERS), _u64(ctx, SHAPE_LEADS)
    shape_kinds, nullable, rows, stacks = (
        _u8(ctx, SHAPE_KIND),
        _u8(ctx, STATE_NULLABLE),
        _i32(ctx, ROWS),
        _i64(ctx, HEAD_STACK),
    )
    row, stack = np.int64(-1), stacks[begin]
    if end - begin == 1 and 0 < codes[begin] < LIT_BASE and kinds[codes[begin]] == ROW:
        row = np.int64(_i32(ctx, STATE_ROW)[codes[begin]])
    last = np.int64(ends[node])
    for i in range(begin, end):
        code = codes[i]
        if 0 < code < LIT_BASE and kinds[code] == ROW and whole_subtree(ctx, node, code):
            add_shape_tokens(ctx, all_rows[node - shapes], np.int64(starts[node + 1]), np.int64(starts[last]), mask)
            return n_work
    live = heads_live(ctx, begin, end)
    top, child = end, node + 1
    while child < last:
        at, following, is_live = child - shapes, np.int64(ends[child]), False
        for k in range(4):
            is_live = is_live or live[k] & leads[at * 4 + k] != 0
        if is_live:
            kind, byte = shape_kinds[at], np.int64(trie_bytes[child])
            is_one = not kind & SEVERAL_LEADS or read_alike(ctx, begin, end, np.int64(SHAPE_LEADS), at, byte)
            target = np.int64(rows[row * 256 + byte]) if row >= 0 and is_one else np.int64(DEAD)
            if 0 < target < LIT_BASE and kinds[target] == ROW and nullable[target] == 0 and top < ctx[HEAD_CAPACITY]:
                # one head that stays inside its frame: no step is needed
                is_one = not kind & HAS_STRETCH or keeps_going(ctx, target, at)
                if is_one:
                    add_shape_tokens(ctx, own_rows[at], np.int64(starts[child]), np.int64(starts[child + 1]), mask)
                    if following > child + 1:
                        codes[top] = target
                        stacks[top] = stack
                        n_work = push_work(ctx, child, top, top + 1, n_work)
                        top += 1
            elif is_one:
                after = step(ctx, begin, end, byte, top)
                is_one = after == top or not kind & HAS_STRETCH or stay_alike(ctx, top, after, at)
                if is_one and after > top:
                    add_shape_tokens(ctx, own_rows[at], np.int64(starts[child]), np.int64(starts[child + 1]), mask)
                    if following > child + 1:
                        n_work = push_work(ctx, child, top, after, n_work)
                        top = after
            if not is_one:  # each stretch by itself, in the vocabulary's trie
                before, n = np.int64(-1), top
                for i in range(np.int64(member_starts[at]), np.int64(member_starts[at + 1])):
                    member = np.int64(members[i])
                    byte = np.int64(trie_bytes[member])
                    if byte != before:
                        before, top = byte, n
                        n = step(ctx, begin, end, byte, top)
                    if n > top:
                        set_tokens(ctx, np.int64(starts[member]), np.int64(starts[member + 1]), mask)
                        if np.int64(ends[member]) > member + 1:
                            n_work = push_work(ctx, member, top, n, n_work)
                top = n
        child = following
    return n_work


@njit(cache=True, nogil=True)
def common_target(ctx, state, first, last):  # type: ignore[no-untyped-def]
    """The state behind all bytes of a range that the vocabulary has; -1 where it is not one, NOT_SEEN where it has
    none."""
    if not 0 < state < LIT_BASE or _u8(ctx, STATE_KIND)[state] != ROW:
        return np.int64(-1)
    known, rows, found = _u64(ctx, TRIE_SUBMASK), _i32(ctx, ROWS), np.int64(NOT_SEEN)
    at = np.int64(_i32(ctx, STATE_ROW)[state]) * 256
    for byte in range(first, last + 1):
        if known[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
            target = np.int64(rows[at + byte])
            if target < 0 or (found >= 0 and target != found):
                return np.int64(-1)
            found = target
    return found


@njit(cache=True, nogil=True)
def reads_characters(ctx, state, first_lead, last_lead, first_second, last_second, n_more):  # type: ignore[no-untyped-def]
    """Whether a state is itself again behind the characters with such first and second bytes and `n_more` others, and
    meanwhile inside its frame, and reads no other bytes behind such a first one."""
    nullable, live = _u8(ctx, STATE_NULLABLE), _u64(ctx, STATE_LIVE)
    here = common_target(ctx, np.int64(state), first_lead, last_lead)
    for i in range(n_more + 1):
        if here >= 0 and nullable[here] != 0:
            return False
        if here >= 0:
            first, last = 0x80 if i else first_second, 0xBF if i else last_second
            others = ~(np.uint64(2**64 - 1) >> np.uint64(0xBF - last) & np.uint64(2**64 - 1) << np.uint64(first - 0x80))
            if live[here * 4] or live[here * 4 + 1] or live[here * 4 + 2] & others or live[here * 4 + 3]:
                return False
            here = common_target(ctx, here, first, last)
    return here in (state, NOT_SEEN)


@njit(cache=True, nogil=True)
def is_text_state(ctx, state):  # type: ignore[no-untyped-def]
    """Whether a state stays as it is behind every character, but for ASCII that is neither a letter nor a digit, and
    reads nothing else."""
    own, live = _u64(ctx, STATE_SELF), _u64(ctx, STATE_LIVE)
    if not ctx[SHAPE_ROOT] or _i32(ctx, STATE_REACH)[state] != REACH_ALL:
        return False
    if np.uint64(LETTERS_0) & ~own[state * 4] or np.uint64(LETTERS_1) & ~own[state * 4 + 1]:
        return False
    if live[state * 4 + 2] or live[state * 4 + 3] & np.uint64(0xFFE0000000000003):  # 80 to C1, F5 to FF
        return False
    return (
        reads_characters(ctx, state, 0xC2, 0xDF, 0x80, 0xBF, 0)
        and reads_characters(ctx, state, 0xE0, 0xE0, 0xA0, 0xBF, 1)
        and reads_characters(ctx, state, 0xE1, 0xEC, 0x80, 0xBF, 1)
        and reads_characters(ctx, state, 0xED, 0xED, 0x80, 0x9F, 1)
        and reads_characters(ctx, state, 0xEE, 0xEF, 0x80, 0xBF, 1)
        and reads_characters(ctx, state, 0xF0, 0xF0, 0x90, 0xBF, 2)
        and reads_characters(ctx, state, 0xF1, 0xF3, 0x80, 0xBF, 2)
        and reads_characters(ctx, state, 0xF4, 0xF4, 0x80, 0x8F, 2)
    )


@njit(cache=True, nogil=True)
def text_heads(ctx, state, stack, first):  # type: ignore[no-untyped-def]
    """Such a state and what lies below it where it may end, from `first` on in the head pool; returns their end. None
    at all where that reads what the text would go on with."""
    n = add_head(ctx, first, first, np.int64(state), stack)
    if _u8(ctx, STATE_NULLABLE)[state] != 0:
        n = close_heads(ctx, first, n)
        if _i64(ctx, COUNTS)[N_EXITS] >= 0:  # nothing is known of what lies below
            return first
        own, live = _u64(ctx, STATE_SELF), heads_live(ctx, first + 1, n)
        if own[state * 4] & live[0] or own[state * 4 + 1] & live[1] or live[2] or live[3]:
            return first
    return n


@njit(cache=True, nogil=True)
def use_text(ctx, state, begin, end, n_work, mask):  # type: ignore[no-untyped-def]
    """Answer such a state (of these heads) at the root: tokens that are text and hold none of its other bytes into the
    mask, and where one of those that it reads comes first, what follows as work items.

    Returns (top of the head pool, work items)."""
    n_words, rows, row_of = ctx[N_WORDS], _u32(ctx, TEXT_ROWS), _i32(ctx, TEXT_ROW)
    starts, nodes, above = _i32(ctx, TEXT_STARTS), _i32(ctx, TEXT_NODES), _u64(ctx, TEXT_ABOVE)
    token_starts, ids, ends = _i32(ctx, TRIE_TOKEN_START), _i32(ctx, TRIE_TOKEN_IDS), _i32(ctx, TRIE_END)
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    others0, others1 = ~_u64(ctx, STATE_SELF)[state * 4], ~_u64(ctx, STATE_SELF)[state * 4 + 1]
    own = np.empty(n_words, np.uint32)
    for i in range(n_words):
        own[i] = rows[i]
    for byte in range(N_ASCII):
        if not (others0 if byte < 64 else others1) >> np.uint64(byte & 63) & np.uint64(1):
            continue
        if row_of[byte] >= 0:
            start = np.int64(row_of[byte]) * n_words
            for i in range(n_words):
                own[i] &= ~rows[start + i]
            continue
        for at in range(np.int64(starts[byte]), np.int64(starts[byte + 1])):
            node = np.int64(nodes[at])
            for i in range(np.int64(token_starts[node]), np.int64(token_starts[ends[node]])):
                own[ids[i] >> 5] &= ~(np.uint32(1) << np.uint32(ids[i] & 31))
    for i in range(n_words):
        mask[i] |= own[i]
    top = end
    for byte in range(N_ASCII):
        if not (others0 if byte < 64 else others1) >> np.uint64(byte & 63) & np.uint64(1):
            continue
        after = step(ctx, begin, end, byte, top) if starts[byte] < starts[byte + 1] else top
        if after == top:
            continue
        free = after
        for at in range(np.int64(starts[byte]), np.int64(starts[byte + 1])):
            node = np.int64(nodes[at])
            if above[2 * at] & others0 or above[2 * at + 1] & others1:
                continue
            set_tokens(ctx, np.int64(token_starts[node]), np.int64(token_starts[node + 1]), mask)
            if node + 1 < np.int64(ends[node]) < node + ctx[MEMO_MIN_NODES]:
                n_work = push_work(ctx, node, top, after, n_work)
        for at in range(np.int64(starts[byte]), np.int64(starts[byte + 1])):
            node = np.int64(nodes[at])
            if np.int64(ends[node]) - node < ctx[MEMO_MIN_NODES]:
                continue
            if above[2 * at] & others0 or above[2 * at + 1] & others1:
                continue
            n = free  # memos take heads out of their item's, so it has its own; an item's heads lie above those before
            for i in range(top, after):
                n = add_head(ctx, free, n, codes[i], stacks[i])
            n_work = push_work(ctx, node, free, n, n_work)
            free = n
        top = free
    return top, n_work


@njit(cache=True, nogil=True)
def use_memos(ctx, node, begin, end, n_work, mask):  # type: ignore[no-untyped-def]
    """Answer wide states from memos: base into the mask, residual trie and frame below as a new work item.
    Where there is none, a text is answered from what is known of texts; another state goes on by itself in the trie by
    shape, unless that was seen to take long.

    Returns (end of the heads that remain, top of the head pool, work items)."""
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    top, kept = end, begin
    for i in range(begin, end):
        code, stack = codes[i], stacks[i]
        if 0 <= code < LIT_BASE and _u8(ctx, STATE_KIND)[code] == KEYS:
            code = key_code(ctx, code)
        asked = _i64(ctx, COUNTS)[4]
        state = memo_state(ctx, code)
        if _i64(ctx, COUNTS)[4] != asked:  # nobody knows yet whether it has a memo
            wait(ctx, node, code, stack)
            continue
        memo = find_memo(ctx, node, state) if state >= 0 else np.int64(-1)
        if state >= 0 and memo < 0:
            if node == 0 and code == state and is_text_state(ctx, state):
                n = text_heads(ctx, state, stack, top)
                if _i64(ctx, COUNTS)[4] != asked:
                    wait(ctx, node, code, stack)
                    continue
                if n > top:
                    top, n_work = use_text(ctx, state, top, n, n_work, mask)
                    _i64(ctx, COUNTS)[SHAPED] = (node << 30) | state
                    continue
            by_shape = shape_at(ctx, node, state) if code < KEY_BASE else np.int64(-1)
            if by_shape >= 0:
                n = add_head(ctx, top, top, code, stack)
                n_work = push_work(ctx, by_shape, top, n, n_work)
                top = n
                _i64(ctx, COUNTS)[SHAPED] = (node << 30) | state
            else:
                request(ctx, np.int64(MEMO_REQUEST) | (node << 30) | state)
                wait(ctx, node, code, stack)
            continue
        if memo >= 0:
            _i64(ctx, COUNTS)[MEMO_HITS] += 1
        if memo < 0:
            codes[kept] = code
            stacks[kept] = stack
            kept += 1
        elif code >= KEY_BASE:
            if end - begin > 1:  # what it corrects must be its own: it becomes an item by itself
                n = add_head(ctx, top, top, code, stack)
                n_work = push_work(ctx, node, top, n, n_work)
                top = n
            else:
                top, n_work = use_key_memo(ctx, node, code, stack, memo, top, n_work, mask)
        else:
            add_base(ctx, memo, mask)
            residual = np.int64(_i32(ctx, MEMO_TABLE)[memo * MEMO_STRIDE + 3])
            if residual >= 0 and stack >= 0:
                n = close_heads(ctx, top, add_below(ctx, top, top, stack))
                n = drop_repeated(ctx, np.int64(_i32(ctx, MEMO_TABLE)[memo * MEMO_STRIDE + 6]), stack, top, n)
                if n > top:
                    n_work = push_work(ctx, residual, top, n, n_work)
                top = n
            top, n_work = push_memo_frames(ctx, memo, stack, top, n_work)
    return kept, top, n_work


@njit(cache=True, nogil=True)
def drop_repeated(ctx, state, stack, begin, end):  # type: ignore[no-untyped-def]
    """Take out heads that only read again what a frame reads that may end in `state` alone (-1: not known).

    In `(text | tag)*` with `text: char+` the text may end behind every character and begin again: whoever goes on in
    the old one over the same stack reads all that the new one would. Returns the new end of the heads.
    """
    if state < 0:
        return end
    codes, stacks, rows = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _i32(ctx, ROWS)
    kinds, state_rows, kept = _u8(ctx, STATE_KIND), _i32(ctx, STATE_ROW), begin
    for i in range(begin, end):
        code, below = codes[i], stacks[i]
        same = below == stack or (
            below >= 0
            and stack >= 0
            and cell_state(ctx, below) == cell_state(ctx, stack)
            and cell_parent(ctx, below) == cell_parent(ctx, stack)
        )
        if same and 0 < code < LIT_BASE and kinds[code] == ROW:
            first, own = np.int64(state_rows[code]) * 256, np.int64(state_rows[state]) * 256
            for byte in range(256):
                if rows[first + byte] != DEAD and rows[first + byte] != rows[own + byte]:
                    same = False
                    break
        else:
            same = False
        if not same:
            codes[kept] = code
            stacks[kept] = below
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def only_end(ctx, state, seen):  # type: ignore[no-untyped-def]
    """The only state in which a state's frame may end after at least one byte; -1 where there are several, none, or one
    that is not built. seen: int64[n], room for as many states of the frame as are looked at."""
    rows, nullable, kinds = _i32(ctx, ROWS), _u8(ctx, STATE_NULLABLE), _u8(ctx, STATE_KIND)
    state_rows, n, at, found = _i32(ctx, STATE_ROW), 1, 0, np.int64(-1)
    seen[0] = state
    while at < n:
        first, before = np.int64(state_rows[seen[at]]) * 256, np.int64(DEAD)
        at += 1
        for byte in range(256):
            target = np.int64(rows[first + byte])
            if target < 0 or target == before or target >= LIT_BASE:
                continue
            before = target
            if target == EPSILON_STATE or kinds[target] != ROW:
                return np.int64(-1)
            if nullable[target] == 1:
                if found >= 0 and found != target:
                    return np.int64(-1)
                found = target
            is_new = True
            for i in range(n):
                is_new = is_new and seen[i] != target
            if is_new:
                if n == seen.shape[0]:
                    return np.int64(-1)
                seen[n] = target
                n += 1
    return found


@njit(cache=True, nogil=True)
def push_memo_frames(ctx, memo, stack, top, n_work):  # type: ignore[no-untyped-def]
    """A work item for each list of frames that a memo's state pushes: the residual trie behind, and those frames.

    Returns (top of the head pool, work items)."""
    table, pushes, seqs = _i32(ctx, MEMO_TABLE), _i32(ctx, MEMO_PUSHES), _i32(ctx, SEQS)
    first = np.int64(table[memo * MEMO_STRIDE + 4])
    for i in range(first, first + np.int64(table[memo * MEMO_STRIDE + 5])):
        n, at = top, -np.int64(pushes[2 * i]) - 2
        choices = np.int64(seqs[at])
        at += 1
        for _ in range(choices):
            n = add_head(ctx, top, n, np.int64(seqs[at + 1]), push_frames(ctx, at, stack))
            at += 1 + np.int64(seqs[at])
        n = close_heads(ctx, top, n)
        n_work = push_work(ctx, np.int64(pushes[2 * i + 1]), top, n, n_work)
        top = n
    return top, n_work


@njit(cache=True, nogil=True)
def list_key_paths(ctx, code, node, first):  # type: ignore[no-untyped-def]
    """Pairs (key-trie node, trie node) of the declared keys' beginnings that the trie holds, from `first` on in the
    head pool; keys that ended, and beginnings that nothing may follow, are not gone into. Returns their end."""
    codes, nodes = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    siblings, key_bytes = _i32(ctx, KEY_SIBLING), _u8(ctx, KEY_BYTE)
    n = add_head(ctx, first, first, key_node(ctx, code), node)
    i = first
    while i < n:
        if i == first or key_goes_on(ctx, code, codes[i]):
            key = np.int64(_i32(ctx, KEY_CHILD)[codes[i]])
            while key >= 0:
                child = trie_child(ctx, nodes[i], np.int64(key_bytes[key]))
                if child >= 0:
                    n = add_head(ctx, n, n, key, child)
                key = np.int64(siblings[key])
        i += 1
    return n


@njit(cache=True, nogil=True)
def key_goes_on(ctx, code, key):  # type: ignore[no-untyped-def]
    """Whether this node of the key trie is the beginning of a key that may come, and no whole declared key."""
    instance = (code - KEY_BASE) >> KEY_SHIFT
    if _i32(ctx, KEY_ENDS)[key] >= 0:
        return False
    if _i32(ctx, INSTANCES)[instance * INSTANCE_STRIDE + 3] and _i32(ctx, KEY_EXTRA)[key] >= 0:
        return True
    return key_open(ctx, instance, key)


@njit(cache=True, nogil=True)
def use_key_memo(ctx, node, code, stack, memo, top, n_work, mask):  # type: ignore[no-untyped-def]
    """Answer an object's key from the memo of undeclared keys; what this gets wrong is below the declared keys.

    So an item is left to correct that (`~node`, with the key, how many pairs, the pairs, and the tokens below whole
    declared keys that were in the mask before), and above it the residual trie, whose walk must come first.
    """
    codes, nodes = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    starts, ends, ids = _i32(ctx, TRIE_TOKEN_START), _i32(ctx, TRIE_END), _i32(ctx, TRIE_TOKEN_IDS)
    n = add_head(ctx, top, top, code, stack)
    n = list_key_paths(ctx, code, node, n)
    stop = n
    for i in range(top + 2, stop):
        if not key_goes_on(ctx, code, codes[i]):
            for at in range(np.int64(starts[nodes[i]]), np.int64(starts[ends[nodes[i]]])):
                token = np.int64(ids[at])
                if mask[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
                    n = add_head(ctx, n, n, token, np.int64(0))
    if n >= ctx[HEAD_CAPACITY]:
        _i64(ctx, COUNTS)[2] = 1
        return top, n_work
    codes[top + 1] = stop
    add_base(ctx, memo, mask)
    n_work = push_work(ctx, -1 - node, top, n, n_work)
    _i64(ctx, COUNTS)[CORRECTING] += 1
    residual = np.int64(_i32(ctx, MEMO_TABLE)[memo * MEMO_STRIDE + 3])
    if residual >= 0:
        base = ((code - KEY_BASE) >> KEY_SHIFT) * INSTANCE_STRIDE
        instances = _i32(ctx, INSTANCES)
        below = np.int64(instances[base + 4]) + np.int64(instances[base + 6])
        end = close_heads(ctx, n, add_head(ctx, n, n, below, stack))
        n_work = push_work(ctx, residual, n, end, n_work)
        n = end
    return n, n_work


@njit(cache=True, nogil=True)
def correct_keys(ctx, begin, end, n_work, mask):  # type: ignore[no-untyped-def]
    """Put right what the memo of undeclared keys said below declared ones: see `use_key_memo`. Returns work items."""
    codes, nodes = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    starts, ends, ids = _i32(ctx, TRIE_TOKEN_START), _i32(ctx, TRIE_END), _i32(ctx, TRIE_TOKEN_IDS)
    code, stack, stop, top = codes[begin], nodes[begin], codes[begin + 1], end
    instance = (code - KEY_BASE) >> KEY_SHIFT
    for i in range(begin + 2, stop):
        key, child = codes[i], nodes[i]
        if key_goes_on(ctx, code, key):
            set_tokens(ctx, np.int64(starts[child]), np.int64(starts[child + 1]), mask)
            continue
        for at in range(np.int64(starts[child]), np.int64(starts[ends[child]])):
            token = np.int64(ids[at])
            mask[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))
        if _i32(ctx, KEY_ENDS)[key] >= 0 and key_open(ctx, instance, key):
            n = close_heads(ctx, top, after_declared(ctx, instance, key, stack, top, top))
            set_tokens(ctx, np.int64(starts[child]), np.int64(starts[child + 1]), mask)
            if ends[child] > child + 1:
                n_work = push_work(ctx, child, top, n, n_work)
                top = n
    for i in range(stop, end):
        token = codes[i]
        mask[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
    return n_work


@njit(cache=True, nogil=True)
def correct_words(ctx, at, mask):  # type: ignore[no-untyped-def]
    """Put right the mask of a name in which a keyword has begun, the head at `at` of the pool: it is that of the plain
    name, which may also end behind a keyword.

    Of the tokens that hold the end of a keyword only those that go on with a byte that is read below the name can have
    got in: they are read again. What is asked for and lack of room are left in the counts.
    """
    counts, codes, kinds, flags = _i64(ctx, COUNTS), _i64(ctx, HEAD_CODE), _u8(ctx, STATE_KIND), _u8(ctx, STATE_FLAGS)
    ends, work, stack = _i32(ctx, TRIE_END), _i64(ctx, WORK), np.int64(_i64(ctx, HEAD_STACK)[at])
    words, seqs = _i32(ctx, STATE_WORDS), _i32(ctx, SEQS)
    if stack < 0:
        return
    below = heads_live(ctx, at + 1, close_heads(ctx, at + 1, add_below(ctx, at + 1, at + 1, stack)))
    n_work = push_work(ctx, 0, codes[at], 0, 0)
    while n_work > 0 and not counts[2]:
        n_work -= 3
        node, code = work[n_work], work[n_work + 1]
        if kinds[code] != ROW:
            request(ctx, code)
            continue
        place = np.int64(words[code]) - 1
        for i in range(np.int64(seqs[place])):
            byte, target = np.int64(seqs[place + 1 + 2 * i]), np.int64(seqs[place + 2 + 2 * i])
            here = trie_child(ctx, node, byte)
            if here < 0 or np.int64(ends[here]) == here + 1:
                continue
            if flags[target] & FLAG_WORD:
                read_again(ctx, here, at, below, n_work, mask)
            n_work = push_work(ctx, here, target, 0, n_work)


@njit(cache=True, nogil=True)
def read_again(ctx, last, at, below, n_work, mask):  # type: ignore[no-untyped-def]
    """Read the tokens below a node of the vocabulary's trie again that go on with these bytes (four words), with the
    head at `at` of the pool."""
    counts, work, ends, trie_bytes = _i64(ctx, COUNTS), _i64(ctx, WORK), _i32(ctx, TRIE_END), _u8(ctx, TRIE_BYTE)
    starts, ids, floor, child = _i32(ctx, TRIE_TOKEN_START), _i32(ctx, TRIE_TOKEN_IDS), n_work, last + 1
    begin, end = np.int64(at), np.int64(at)  # the heads at the node, once they are needed
    while child < ends[last]:
        following, byte = np.int64(ends[child]), np.int64(trie_bytes[child])
        if below[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
            for i in range(np.int64(starts[child]), np.int64(starts[following])):
                mask[ids[i] >> 5] &= ~(np.uint32(1) << np.uint32(ids[i] & 31))
            if end == at:
                node, end = np.int64(0), np.int64(at + 1)
                while node != last:
                    node += 1
                    while ends[node] <= last:
                        node = np.int64(ends[node])
                    begin, end = end, step(ctx, begin, end, np.int64(trie_bytes[node]), end)
            _, n_work = visit_child(ctx, child, byte, begin, end, end, floor, mask)
            while n_work > floor and not counts[2]:
                n_work -= 3
                inner, first, top = work[n_work] + 1, work[n_work + 1], work[n_work + 2]
                behind, stop = top, np.int64(ends[inner - 1])
                while inner < stop:
                    byte = np.int64(trie_bytes[inner])
                    behind, n_work = visit_child(ctx, inner, byte, first, top, behind, n_work, mask)
                    inner = np.int64(ends[inner])
        child = following


@njit(cache=True, nogil=True)
def walk_rows(ctx, heads, jobs, progress, ends):  # type: ignore[no-untyped-def]
    """Walk rows until none is left; several threads share them. What must be built for any of them is in REQUESTS.

    heads: int64[n_heads, 2], closed; jobs: int64[n_rows, 6], a row's first head, how many, the address of its mask
    (uint32[n_words]), what came of it: rows that are OK or EMPTY (nothing is legal) are passed over; and of its walk
    what stands in COUNTS at DEEPEST and SETS_READ;
    progress: int64[N_PROGRESS], how many were begun, at ROWS_LEFT how many must be walked again, at ROWS_EMPTY how
    many are EMPTY; ends: int32[n], the ids that belong to the mask of a text that may end.
    """
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    n_words = ctx[N_WORDS]
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    while True:
        row = _take_next(progress.ctypes.data)
        if row >= jobs.shape[0]:
            break
        if jobs[row, 3] == OK or jobs[row, 3] == EMPTY:
            continue
        first, n_heads, complete = jobs[row, 0], jobs[row, 1], False
        for i in range(n_heads):
            codes[i] = heads[first + i, 0]
            stacks[i] = heads[first + i, 1]
            complete = complete or (codes[i] == ACCEPT and stacks[i] == -1)
        mask = carray(_pointer(jobs[row, 2]), (n_words,), np.uint32)
        for i in range(n_words):
            mask[i] = np.uint32(0)
        result = walk_on(ctx, n_heads, mask, ANY_VISITS)
        if result == OK:
            if complete:
                for i in range(ends.shape[0]):
                    mask[ends[i] >> 5] |= np.uint32(1) << np.uint32(ends[i] & 31)
            else:
                result = EMPTY
                for i in range(n_words):
                    if mask[i]:
                        result = OK
                        break
                if result == EMPTY:
                    _take_next(progress.ctypes.data + 8 * ROWS_EMPTY)
        else:
            _take_next(progress.ctypes.data + 8 * ROWS_LEFT)
        jobs[row, 3] = result
        jobs[row, 4] = counts[DEEPEST]
        jobs[row, 5] = counts[SETS_READ]


@njit(cache=True, nogil=True)
def begin_walk(ctx):  # type: ignore[no-untyped-def]
    """Forget the walk before; what was asked for stays."""
    counts = _i64(ctx, COUNTS)
    counts[2] = 0
    counts[4] = 0
    counts[DEEPEST] = OWN_BASE
    counts[SETS_READ] = 0
    counts[ANCHORS_PUSHED] = 0
    counts[SHAPED] = 0
    counts[WAITING] = 0
    counts[LOST] = 0
    counts[CORRECTING] = 0
    counts[N_EXITS] = -1
    drop_own_cells(ctx)


@njit(cache=True, nogil=True)
def walk_on(ctx, n_heads, mask, limit):  # type: ignore[no-untyped-def]
    """Set the bit of every token that the first `n_heads` heads can read whole; mask: uint32[n_words], zeroed before.

    Heads are closed and every state reached can be completed, so 'can be read' is 'is legal'. Returns OK, NEED_BUILD
    (REQUESTS says what, added to what was asked for before; the mask is incomplete), NEED_ROOM, or LONG after `limit`
    visits.
    """
    begin_walk(ctx)
    return walk_items(ctx, push_work(ctx, 0, 0, n_heads, 0), mask, -1, limit)


@njit(cache=True, nogil=True)
def note_exit(ctx, node, begin, end):  # type: ignore[no-untyped-def]
    """Keep a place where a head that is walked by itself may end. Returns whether nothing else is open there."""
    codes, kinds, counts = _i64(ctx, HEAD_CODE), _u8(ctx, STATE_KIND), _i64(ctx, COUNTS)
    is_exit = False
    for i in range(begin, end):
        code = codes[i]
        if 0 < code < LIT_BASE and kinds[code] == ROW and whole_subtree(ctx, node, code):
            return False
        is_exit = is_exit or code == BELOW_STATE
    if is_exit:
        n = counts[N_EXITS]
        if n == ctx[EXIT_CAPACITY]:
            counts[2] = 1
        else:
            _i32(ctx, EXITS)[n] = node
            counts[N_EXITS] = n + 1
    return is_exit and end - begin == 1


@njit(cache=True, nogil=True)
def walk_items(ctx, n_work, mask, floor, limit):  # type: ignore[no-untyped-def]
    """Work off the items of a walk; see `walk_on`. floor: 0 where all are in the trie by shape and stay there however
    long that takes, else -1. Also returns LONG after `limit` visits, EMPTY where a head cannot be walked by itself."""
    counts, may_leave = _i64(ctx, COUNTS), floor < 0
    limit += counts[NODES_VISITED]
    codes, stacks, work, ends = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _i64(ctx, WORK), _i32(ctx, TRIE_END)
    trie_bytes, tables, starts = _u8(ctx, TRIE_BYTE), _i32(ctx, TRIE_TABLE), _i32(ctx, TRIE_TOKEN_START)
    kinds, by_byte, heights = _u8(ctx, STATE_KIND), _i32(ctx, TRIE_TABLES), _i32(ctx, TRIE_HEIGHT)
    shapes = ctx[SHAPE_ROOT]
    shapes_end = np.int64(ends[shapes]) if shapes else np.int64(0)
    asked, visits = np.int64(0), 0  # of the heads that go through the trie by shape from `floor` on
    first, behind = np.int64(0), np.int64(0)  # where these heads stand
    while n_work > 0:
        n_work -= 3
        counts[NODES_VISITED] += 1
        node, begin, end = work[n_work], work[n_work + 1], work[n_work + 2]
        if node < 0:
            if counts[N_EXITS] >= 0:
                return EMPTY  # what is put right there was read behind the exits
            counts[CORRECTING] -= 1
            n_work = correct_keys(ctx, begin, end, n_work, mask)
            continue
        only = node >> ONE_BYTE
        if only:
            node &= (1 << ONE_BYTE) - 1
            child = np.int64(by_byte[np.int64(tables[node]) * 256 + only - 1])
            if child >= 0:
                _, n_work = visit_child(ctx, child, only - 1, begin, end, end, n_work, mask)
            elif child == LAZY_CHILD:
                request(ctx, np.int64(PART_REQUEST) | (node << 8) | (only - 1))
                for i in range(begin, end):
                    wait(ctx, node | only << ONE_BYTE, codes[i], stacks[i])
            continue
        if counts[N_EXITS] >= 0 and note_exit(ctx, node, begin, end):
            continue
        if counts[NODES_VISITED] > limit:
            return LONG
        is_shape = shapes <= node < shapes_end
        if n_work < floor:
            floor = -1
        if is_shape and floor < 0:
            floor, visits, first, behind = n_work, 0, begin, end
            asked = shape_origin(ctx, node)
        if floor >= 0:
            visits += 1
            if visits > ctx[SHAPE_LIMIT] and may_leave:
                n_work, floor = push_work(ctx, asked, first, behind, floor), -1
                avoid_shapes(ctx, first, behind)
                continue
        if is_shape:
            before = counts[4]
            n_work = visit_shape(ctx, node, begin, end, n_work, mask)
            if counts[4] != before:
                counts[LOST] = 1
            if counts[2]:
                return NEED_ROOM
            continue
        top = end
        last = np.int64(ends[node])
        whole = False
        for i in range(begin, end):
            code = codes[i]
            if 0 < code < LIT_BASE and kinds[code] == ROW and whole_subtree(ctx, node, code):
                whole = True
                break
        if whole:
            set_tokens(ctx, np.int64(starts[node + 1]), np.int64(starts[last]), mask)
            continue
        if last - node >= ctx[MEMO_MIN_NODES] and heights[node] != LAZY_HEIGHT and floor < 0:
            end, top, n_work = use_memos(ctx, node, begin, end, n_work, mask)
            if end == begin:
                continue
            if shape_at(ctx, node, 0) >= 0 and suits_shapes(ctx, begin, end):
                first = top
                for i in range(begin, end):
                    top = add_head(ctx, first, top, codes[i], stacks[i])
                n_work = push_work(ctx, shape_at(ctx, node, 0), first, top, n_work)
                continue
        before = counts[4]
        live = heads_live(ctx, begin, end)
        if counts[4] != before:
            wait_unbuilt(ctx, node, begin, end)
        table = np.int64(tables[node])
        if table >= 0:
            for k in range(4):
                word = live[k]
                while word:
                    byte = k * 64 + _lowest_bit(word)
                    word &= word - np.uint64(1)
                    child = np.int64(by_byte[table * 256 + byte])
                    if child >= 0:
                        top, n_work = visit_child(ctx, child, byte, begin, end, top, n_work, mask)
                    elif child == LAZY_CHILD and step(ctx, begin, end, byte, top) > top:
                        request(ctx, np.int64(PART_REQUEST) | (node << 8) | byte)
                        for i in range(begin, end):
                            wait(ctx, node | (byte + 1) << ONE_BYTE, codes[i], stacks[i])
        else:
            child = node + 1
            while child < last:
                byte = np.int64(trie_bytes[child])
                if live[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
                    top, n_work = visit_child(ctx, child, byte, begin, end, top, n_work, mask)
                child = np.int64(ends[child])
        if counts[2]:
            return NEED_ROOM
    if counts[2]:
        return NEED_ROOM
    return NEED_BUILD if counts[WAITING] or counts[LOST] else OK  # what else was asked for makes no difference


@njit(cache=True, nogil=True)
def request_nearest(ctx, n_heads):  # type: ignore[no-untyped-def]
    """Ask for the states of the heads and of the frames on top of their stacks: built before, a walk that comes there
    need not be walked again."""
    codes, stacks, kinds = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _u8(ctx, STATE_KIND)
    states, parents = _i32(ctx, CELL_STATE), _i32(ctx, CELL_PARENT)
    for i in range(n_heads):
        code, stack = codes[i], stacks[i]
        for _ in range(ctx[PREPARED_FRAMES] + 1):
            if 0 < code < LIT_BASE and kinds[code] == UNBUILT:
                request(ctx, code)
            if stack < 0:
                break
            code, stack = np.int64(states[stack]), np.int64(parents[stack])


@njit(cache=True, nogil=True)
def walk_row(ctx, n_heads, mask, limit):  # type: ignore[no-untyped-def]
    """The same as `walk_on` for a row that need not be zero, from heads on whose stacks the first frames are built
    before all else. n_heads: -1 where a walk goes on that answered NEED_BUILD and has not LOST what waits.
    """
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    if n_heads < 0:
        return walk_again(ctx, mask)
    request_nearest(ctx, n_heads)
    if counts[1]:
        counts[LOST] = 1
        return NEED_BUILD
    for i in range(mask.shape[0]):
        mask[i] = np.uint32(0)
    return walk_on(ctx, n_heads, mask, limit)


@njit(cache=True, nogil=True)
def walk_again(ctx, mask):  # type: ignore[no-untyped-def]
    """Go on with the heads that waited for what is there now; all else is in the mask already."""
    counts, items, top, n_work = _i64(ctx, COUNTS), _i64(ctx, WAIT_ITEMS), np.int64(0), 0
    counts[2] = 0
    counts[4] = 0
    for i in range(0, counts[WAITING], 4):
        n = add_head(ctx, top, top, items[i + 1], items[i + 2])
        if items[i + 3]:
            n = close_heads(ctx, top, n)
        n_work = push_work(ctx, items[i], top, n, n_work)
        top = n
    counts[WAITING] = 0
    return walk_items(ctx, n_work, mask, -1, ANY_VISITS)


@njit(cache=True, nogil=True)
def walk_alone(ctx, code, first, mask, limit):  # type: ignore[no-untyped-def]
    """Walk a head that is put at `first`, whatever lies below it: see `walk_head`. Returns as `walk_items`."""
    counts, codes, stacks = _i64(ctx, COUNTS), _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    codes[first] = code
    stacks[first] = push_own_cell(ctx, np.int64(BELOW_STATE), np.int64(-1))
    counts[N_EXITS] = 0
    return walk_items(ctx, push_work(ctx, 0, first, first + 1, 0), mask, -1, limit)


@njit(cache=True, nogil=True)
def walk_head(ctx, code, mask):  # type: ignore[no-untyped-def]
    """What a head reads whatever lies below it: the tokens that it reads whole into the mask (uint32[n_words], zeroed
    before), and into EXITS the nodes of the tries where it may end and tokens go on.

    At a node of the trie by shape it may end behind any byte of the stretches too. Returns (OK, NEED_BUILD, NEED_ROOM,
    or EMPTY where it cannot be told, how many exits).
    """
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    begin_walk(ctx)
    result = walk_alone(ctx, np.int64(code), np.int64(0), mask, ANY_VISITS)
    return result, counts[N_EXITS]


@njit(cache=True, nogil=True)
def head_memo(ctx, code):  # type: ignore[no-untyped-def]
    """What stands in STATE_HEAD of a head: see NO_HEAD_MEMO and PLAIN_BASE."""
    return np.int64(_i32(ctx, STATE_HEAD)[code]) if 0 < code < LIT_BASE else np.int64(NO_HEAD_MEMO)


@njit(cache=True, nogil=True)
def plain_code(ctx, code):  # type: ignore[no-untyped-def]
    """A head's code, or that of the plain name where a keyword has begun in it."""
    memo = head_memo(ctx, code)
    return PLAIN_BASE - memo if memo <= PLAIN_BASE else np.int64(code)


@njit(cache=True, nogil=True)
def enter_head(ctx, code, mask, exits, n_exits):  # type: ignore[no-untyped-def]
    """Keep what a head reads by itself: the tokens in mask (uint32[n_words]) and where it may end; exits: int32[n_exits
    at least]. Nobody else enters meanwhile. Returns OK or NEED_HEAD_ROOM."""
    used, n_words = _i64(ctx, HEAD_USED), ctx[N_WORDS]
    memo, first, place, n_rows = used[0], used[1], used[2], used[3]
    is_full = memo >= used[HEAD_ROOM] or first + n_exits > used[HEAD_ROOM + 1]
    if is_full or place + n_words > used[HEAD_ROOM + 2] or n_rows >= used[HEAD_ROOM + 3]:
        return NEED_HEAD_ROOM
    ids, rows, kept, memos = _i32(ctx, HEAD_IDS), _u32(ctx, HEAD_ROWS), _i32(ctx, HEAD_EXITS), _i32(ctx, HEAD_MEMOS)
    n, kind = 0, BASE_NONE
    for i in range(n_words):
        word = mask[i]
        while word and n <= n_words:
            if n < n_words:
                ids[place + n] = i * 32 + _lowest_bit(np.uint64(word))
            word &= word - np.uint32(1)
            n += 1
    if n > n_words:
        kind = BASE_DENSE
        for i in range(n_words):
            rows[n_rows * n_words + i] = mask[i]
        place, used[3] = n_rows, n_rows + 1
    elif n:
        kind, used[2] = BASE_LIST, place + n
    for i in range(n_exits):
        kept[first + i] = exits[i]
    used[0], used[1] = memo + 1, first + n_exits
    at = memo * HEAD_STRIDE
    memos[at], memos[at + 1], memos[at + 2], memos[at + 3], memos[at + 4] = kind, place, n, first, n_exits
    _i32(ctx, STATE_HEAD)[code] = memo + 1
    return OK


@njit(cache=True, nogil=True)
def ends_by_shape(ctx, exits, n_exits):  # type: ignore[no-untyped-def]
    """How many of these exits are in the trie by shape."""
    shapes, n = ctx[SHAPE_ROOT], 0
    last = np.int64(_i32(ctx, TRIE_END)[shapes]) if shapes else np.int64(0)
    for i in range(n_exits):
        n += shapes <= exits[i] < last
    return n


@njit(cache=True, nogil=True)
def list_long_heads(ctx, n_heads, may_keep):  # type: ignore[no-untyped-def]
    """Walk heads that were not walked yet by themselves, to see which take long. What those read is kept, where nobody
    else may do so now (`may_keep`) and their walks are no longer than that allows; else they are asked for. Returns OK,
    NEED_BUILD, NEED_ROOM, NEED_HEAD_ROOM or NEED_HEADS."""
    counts, codes, known, n_long = _i64(ctx, COUNTS), _i64(ctx, HEAD_CODE), _i32(ctx, STATE_HEAD), 0
    long_heads, own, exits = np.empty(n_heads, np.int64), np.empty(0, np.uint32), _i32(ctx, EXITS)
    for i in range(n_heads):
        code = plain_code(ctx, codes[i])
        if head_memo(ctx, code) != 0:
            continue
        if not len(own):  # such a walk may end before what it set is put right
            own = np.zeros(ctx[N_WORDS], np.uint32)
        else:
            for j in range(len(own)):
                own[j] = np.uint32(0)
        before = counts[NODES_VISITED]
        counts[SHAPED] = 0
        result = walk_alone(ctx, code, n_heads, own, MAX_HEAD_VISITS if may_keep else ctx[HEAD_VISITS])
        n_exits = counts[N_EXITS]
        counts[N_EXITS] = -1
        if result == NEED_ROOM:
            return result
        if result == NEED_BUILD:
            continue
        is_short = result == EMPTY or counts[NODES_VISITED] - before <= ctx[HEAD_VISITS]
        if is_short or (may_keep and result == OK and _i64(ctx, HEAD_USED)[0] >= MAX_HEAD_MEMOS):
            known[code] = NO_HEAD_MEMO
        elif not may_keep or result == LONG or (counts[SHAPED] and ends_by_shape(ctx, exits, n_exits) > MANY_EXITS):
            long_heads[n_long] = code  # or another kind of memo is better
            n_long += 1
        elif enter_head(ctx, code, own, exits, n_exits) != OK:
            return NEED_HEAD_ROOM
    if counts[WAITING] or counts[LOST]:
        return NEED_BUILD
    for i in range(n_long):
        request(ctx, long_heads[i])
    return NEED_HEADS if n_long else OK


@njit(cache=True, nogil=True)
def leaves_stretch(ctx, memo, begin, end):  # type: ignore[no-untyped-def]
    """Whether the heads begin..end-1 read what comes within a stretch where a head may end: it is walked with them."""
    memos, exits, sets = _i32(ctx, HEAD_MEMOS), _i32(ctx, HEAD_EXITS), _u64(ctx, SHAPE_STRETCH)
    shapes, ends, live = ctx[SHAPE_ROOT], _i32(ctx, TRIE_END), heads_live(ctx, begin, end)
    first = np.int64(memos[memo * HEAD_STRIDE + 3])
    for at in range(first, first + np.int64(memos[memo * HEAD_STRIDE + 4])):
        node = np.int64(exits[at])
        if shapes and shapes <= node < np.int64(ends[shapes]):
            for k in range(4):
                if sets[(node - shapes) * 4 + k] & live[k]:
                    return True
    return False


@njit(cache=True, nogil=True)
def push_exits(ctx, memo, begin, end, by_shape, n_work):  # type: ignore[no-untyped-def]
    """Go on with the heads begin..end-1 where the head above them may end: in the trie by shape, or elsewhere. Returns
    (top of the head pool, work items)."""
    memos, exits, ends = _i32(ctx, HEAD_MEMOS), _i32(ctx, HEAD_EXITS), _i32(ctx, TRIE_END)
    below, shapes, top = _u64(ctx, TRIE_SUBMASK), ctx[SHAPE_ROOT], end
    codes, stacks, live = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), heads_live(ctx, begin, end)
    shapes_end = np.int64(ends[shapes]) if shapes else np.int64(0)
    first = np.int64(memos[memo * HEAD_STRIDE + 3])
    last = first + np.int64(memos[memo * HEAD_STRIDE + 4])
    for large in range(2):  # memos take heads out of their item's: where there may be some, it has its own
        for at in range(first, last):
            node, is_read = np.int64(exits[at]), False
            if (shapes <= node < shapes_end) != by_shape:
                continue
            if (np.int64(ends[node]) - node >= ctx[MEMO_MIN_NODES] and not by_shape) != (large == 1):
                continue
            for k in range(4):
                is_read = is_read or live[k] & below[node * 4 + k] != 0
            if not is_read and _i32(ctx, TRIE_HEIGHT)[node] != LAZY_HEIGHT:
                continue
            if large:
                n = top
                for i in range(begin, end):
                    n = add_head(ctx, top, n, codes[i], stacks[i])
                n_work = push_work(ctx, node, top, n, n_work)
                top = n
            else:
                n_work = push_work(ctx, node, begin, end, n_work)
    return top, n_work


@njit(cache=True, nogil=True)
def walk_kept(ctx, first, last, mask, limit):  # type: ignore[no-untyped-def]
    """Walk the heads first..last-1, the last ones of the pool, from what is kept of each. Returns as `walk_on`.

    Others are walked together, as is a head that may end within a stretch with which what lies below goes on.
    """
    counts, codes, stacks = _i64(ctx, COUNTS), _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    memos, rows, tokens, n_words = _i32(ctx, HEAD_MEMOS), _u32(ctx, HEAD_ROWS), _i32(ctx, HEAD_IDS), ctx[N_WORDS]
    together = np.zeros(last - first, np.bool_)
    for i in range(first, last):
        memo = head_memo(ctx, codes[i]) - 1
        together[i - first] = memo < 0
        if memo < 0 or stacks[i] < 0:
            continue
        before = counts[4]
        n = close_heads(ctx, last, add_below(ctx, last, last, stacks[i]))
        together[i - first] = leaves_stretch(ctx, memo, last, n)
        if counts[4] != before:
            counts[LOST] = 1
        if not together[i - first]:
            n, n_work = push_exits(ctx, memo, last, n, True, 0)
            if n_work:
                walk_items(ctx, n_work, mask, 0, ANY_VISITS)
    top, n_work = last, 0
    for i in range(first, last):
        if together[i - first]:
            continue
        memo = head_memo(ctx, codes[i]) - 1
        place, size = np.int64(memos[memo * HEAD_STRIDE + 1]), np.int64(memos[memo * HEAD_STRIDE + 2])
        if memos[memo * HEAD_STRIDE] == BASE_DENSE:
            for j in range(n_words):
                mask[j] |= rows[place * n_words + j]
        elif size:
            for j in range(place, place + size):
                token = np.int64(tokens[j])
                mask[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        if stacks[i] >= 0 and memos[memo * HEAD_STRIDE + 4]:
            n = close_heads(ctx, top, add_below(ctx, top, top, stacks[i]))
            top, n_work = push_exits(ctx, memo, top, n, False, n_work)
    n = top
    for i in range(first, last):
        if together[i - first]:
            n = add_head(ctx, top, n, codes[i], stacks[i])
    if n > top:
        n_work = push_work(ctx, 0, top, n, n_work)
    return walk_items(ctx, n_work, mask, -1, limit)


@njit(cache=True, nogil=True)
def walk_apart(ctx, n_heads, mask, limit, may_keep):  # type: ignore[no-untyped-def]
    """As `walk_on`, from what is kept of each head by itself; may_keep: see `list_long_heads`.

    Returns as `walk_on` and `list_long_heads`; NEED_HEADS: REQUESTS are codes of heads whose walks are to be kept.
    """
    counts, codes, stacks = _i64(ctx, COUNTS), _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    counts[1] = 0
    begin_walk(ctx)
    n_heads = np.int64(n_heads)
    request_nearest(ctx, n_heads)
    if counts[1]:
        return NEED_BUILD
    result = list_long_heads(ctx, n_heads, may_keep)
    if result != OK:
        return result
    n_begun = 0
    for i in range(n_heads):
        if head_memo(ctx, codes[i]) <= PLAIN_BASE:
            own = np.zeros(ctx[N_WORDS], np.uint32) if n_begun else mask  # what is put right must be its own
            codes[n_heads], stacks[n_heads] = plain_code(ctx, codes[i]), stacks[i]
            if walk_kept(ctx, n_heads, n_heads + 1, own, limit) == LONG:
                return LONG
            codes[n_heads], stacks[n_heads] = codes[i], stacks[i]
            before = counts[4]
            correct_words(ctx, n_heads, own)
            if counts[4] != before:
                counts[LOST] = 1
            for j in range(ctx[N_WORDS] if n_begun else 0):
                mask[j] |= own[j]
            n_begun += 1
    if counts[2]:
        return NEED_ROOM
    n = n_heads
    for i in range(n_heads):
        if head_memo(ctx, codes[i]) > PLAIN_BASE and codes[i] != ACCEPT:
            n = add_head(ctx, n_heads, n, codes[i], stacks[i])
    return walk_kept(ctx, n_heads, n, mask, limit)


@njit(cache=True, nogil=True)
def walk_frame(ctx, start, later, mask, edges, pushes, items, n):  # type: ignore[no-untyped-def]
    """Walk states alone below trie nodes, without their stacks: the tokens that they can read whole into the mask.

    start: the node where the first walk began; edges: int32[as many as nodes below], the children of nodes where the
    frame may end, without those by the bytes in later: uint64[4]; pushes: int32[n, 2], nodes that are reached by
    pushing frames, and the target that says which; items: int64[n, 2], nodes and states to go on from;
    n: int64[3], how many items, edges and pushes there are.
    Returns OK, NEED_BUILD (items are what waits for a state; all else is done, and a further call goes on there),
    NEED_ROOM (all is to be begun again) or EMPTY (there are more pushes than fit).
    """
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    work, ends, starts = _i64(ctx, WORK), _i32(ctx, TRIE_END), _i32(ctx, TRIE_TOKEN_START)
    trie_bytes, kinds, nullable = _u8(ctx, TRIE_BYTE), _u8(ctx, STATE_KIND), _u8(ctx, STATE_NULLABLE)
    rows, state_rows, lits = _i32(ctx, ROWS), _i32(ctx, STATE_ROW), _i32(ctx, LITS)
    reach, below = _i32(ctx, STATE_REACH), _u64(ctx, TRIE_SUBMASK)
    n_work = 2 * n[0]
    if n_work > ctx[WORK_CAPACITY]:
        return NEED_ROOM
    for i in range(n[0]):
        work[2 * i] = items[i, 0]
        work[2 * i + 1] = items[i, 1]
    n[0] = 0
    while n_work > 0:
        n_work -= 2
        node, code = work[n_work], work[n_work + 1]
        if code < LIT_BASE and kinds[code] != ROW:
            if kinds[code] != UNBUILT:
                return EMPTY
            if n[0] == items.shape[0]:
                return NEED_ROOM
            request(ctx, code)
            items[n[0], 0] = node
            items[n[0], 1] = code
            n[0] += 1
            continue
        last = np.int64(ends[node])
        may_end = node != start and code < LIT_BASE and nullable[code] == 1
        if may_end:
            may_end = False
            for k in range(4):
                if below[node * 4 + k] & ~later[k]:
                    may_end = True
        if code < LIT_BASE and not may_end and reach[code] == REACH_ALL and whole_subtree(ctx, node, code):
            set_tokens(ctx, np.int64(starts[node + 1]), np.int64(starts[last]), mask)
            continue
        child = node + 1
        while child < last:
            byte = np.int64(trie_bytes[child])
            if may_end and not later[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
                edges[n[1]] = child
                n[1] += 1
            target = np.int64(DEAD)
            if code >= LIT_BASE:
                if lits[code - LIT_BASE] == byte:
                    target = code + 1
                    if lits[target - LIT_BASE] == LIT_END:
                        target = np.int64(EPSILON_STATE)
            else:
                target = np.int64(rows[np.int64(state_rows[code]) * 256 + byte])
            if target < DEAD and pushes_anchor(ctx, target):
                return EMPTY
            if target != DEAD:
                set_tokens(ctx, np.int64(starts[child]), np.int64(starts[child + 1]), mask)
                if np.int64(ends[child]) > child + 1:
                    if target < DEAD:
                        if n[2] == pushes.shape[0]:
                            return EMPTY
                        pushes[n[2], 0] = child
                        pushes[n[2], 1] = target
                        n[2] += 1
                    else:
                        if n_work + 2 > ctx[WORK_CAPACITY]:
                            return NEED_ROOM
                        work[n_work] = child
                        work[n_work + 1] = target
                        n_work += 2
            child = np.int64(ends[child])
    return NEED_BUILD if n[0] else OK


@njit(cache=True, nogil=True)
def pushes_anchor(ctx, target):  # type: ignore[no-untyped-def]
    """Whether one of the lists of frames that a target stands for holds a frame with FLAG_ANCHOR."""
    seqs, flags, at = _i32(ctx, SEQS), _u8(ctx, STATE_FLAGS), -target - 2
    choices = np.int64(seqs[at])
    at += 1
    for _ in range(choices):
        for k in range(np.int64(seqs[at])):
            state = np.int64(seqs[at + 1 + k])
            if state < LIT_BASE and flags[state] & FLAG_ANCHOR:
                return True
        at += 1 + np.int64(seqs[at])
    return False


@njit(cache=True, nogil=True)
def loop_bytes(ctx, state, out):  # type: ignore[no-untyped-def]
    """The bytes with which a built state, or one it leads to, goes on as it is though its frame may end: uint64[4]."""
    rows, nullable, own = _i32(ctx, ROWS), _u8(ctx, STATE_NULLABLE), _u64(ctx, STATE_SELF)
    reach, first = _i32(ctx, STATE_REACH), np.int64(_i32(ctx, STATE_ROW)[state]) * 256
    for k in range(4):
        out[k] = np.uint64(0)
    target, before = np.int64(state), np.int64(DEAD)
    for byte in range(-1, 256):
        if byte >= 0:
            target = np.int64(rows[first + byte])
        if 0 < target < LIT_BASE and target != before and nullable[target] == 1 and reach[target] == REACH_ALL:
            for k in range(4):
                out[k] |= own[target * 4 + k]
        before = target


@njit(cache=True, nogil=True)
def list_children(ctx, nodes, later, out):  # type: ignore[no-untyped-def]
    """The children of trie nodes (int32[n]) without those by the bytes in later (uint64[4]); returns how many."""
    ends, trie_bytes, n = _i32(ctx, TRIE_END), _u8(ctx, TRIE_BYTE), 0
    for i in range(nodes.shape[0]):
        node = np.int64(nodes[i])
        child = node + 1
        while child < ends[node]:
            byte = np.int64(trie_bytes[child])
            if not later[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
                out[n] = child
                n += 1
            child = np.int64(ends[child])
    return n


@njit(cache=True, nogil=True)
def subtree_sizes(ctx, edges, nodes_by_byte):  # type: ignore[no-untyped-def]
    """Add up the nodes of the subtrees at edges (int32[n]) by the edge's byte: int64[256], zeroed before. Returns how
    many tokens are in them."""
    ends, trie_bytes, starts = _i32(ctx, TRIE_END), _u8(ctx, TRIE_BYTE), _i32(ctx, TRIE_TOKEN_START)
    n_tokens = np.int64(0)
    for i in range(edges.shape[0]):
        node = np.int64(edges[i])
        nodes_by_byte[trie_bytes[node]] += ends[node] - node
        n_tokens += starts[ends[node]] - starts[node]
    return n_tokens


@njit(cache=True, nogil=True)
def group_by_byte(ctx, found, n, members, top, groups, n_groups, depth):  # type: ignore[no-untyped-def]
    """Write nodes found[:n] to members from `top` on, by descending byte, and note a group (first, end, depth) for each
    byte; returns the number of groups. The last one has the least byte and lies on top."""
    trie_bytes = _u8(ctx, TRIE_BYTE)
    counts = np.zeros(257, np.int64) if n > 8 else np.zeros(1, np.int64)
    if n > 8:
        for i in range(n):
            counts[255 - trie_bytes[found[i]] + 1] += 1
        for i in range(256):
            counts[i + 1] += counts[i]
        for i in range(n):
            byte = 255 - np.int64(trie_bytes[found[i]])
            members[top + counts[byte]] = found[i]
            counts[byte] += 1
    else:
        for i in range(n):
            at = top + i
            while at > top and trie_bytes[members[at - 1]] < trie_bytes[found[i]]:
                members[at] = members[at - 1]
                at -= 1
            members[at] = found[i]
    first = top
    for i in range(top, top + n):
        if i + 1 == top + n or trie_bytes[members[i + 1]] != trie_bytes[members[i]]:
            groups[n_groups, 0] = first
            groups[n_groups, 1] = i + 1
            groups[n_groups, 2] = depth
            n_groups += 1
            first = i + 1
    return n_groups


@njit(cache=True, nogil=True)
def merge_subtrees(ctx, edges, scratch, groups, parents, trie_byte, end, token_start, token_ids):  # type: ignore[no-untyped-def]
    """One trie, in preorder, of the texts at and below trie nodes (edges: int32[n], each with its own byte).

    trie_byte, end, token_start (int32[n_nodes], one more), token_ids: the new trie, large enough for all subtrees and
    a root. scratch: int32[2, as many nodes]; groups: int32[as many, 3]; parents: int32[as many, 2]. Returns how many
    nodes.
    """
    ends, trie_bytes, starts = _i32(ctx, TRIE_END), _u8(ctx, TRIE_BYTE), _i32(ctx, TRIE_TOKEN_START)
    ids, members, found = _i32(ctx, TRIE_TOKEN_IDS), scratch[0], scratch[1]
    trie_byte[0] = 0
    token_start[0] = 0
    token_start[1] = 0
    n_nodes, n_ids, n_parents = np.int64(1), np.int64(0), 1
    parents[0, 0] = 0  # nodes whose subtree is being written, and their depths
    parents[0, 1] = 0
    for i in range(edges.shape[0]):
        found[i] = edges[i]
    n_groups = group_by_byte(ctx, found, edges.shape[0], members, 0, groups, 0, 1)
    while n_groups > 0:
        n_groups -= 1
        first, stop, depth = np.int64(groups[n_groups, 0]), np.int64(groups[n_groups, 1]), groups[n_groups, 2]
        while parents[n_parents - 1, 1] >= depth:
            n_parents -= 1
            end[parents[n_parents, 0]] = n_nodes
        parents[n_parents, 0] = n_nodes
        parents[n_parents, 1] = depth
        n_parents += 1
        trie_byte[n_nodes] = trie_bytes[members[first]]
        if stop - first == 1:
            node = np.int64(members[first])
            shift = n_nodes - node
            for i in range(node, ends[node]):
                trie_byte[i + shift] = trie_bytes[i]
                end[i + shift] = ends[i] + shift
                token_start[i + shift + 1] = n_ids + starts[i + 1] - starts[node]
            for i in range(starts[node], starts[ends[node]]):
                token_ids[n_ids] = ids[i]
                n_ids += 1
            n_nodes += ends[node] - node
            continue
        n_found = 0
        for i in range(first, stop):
            node = np.int64(members[i])
            for at in range(starts[node], starts[node + 1]):
                token_ids[n_ids] = ids[at]
                n_ids += 1
            child = node + 1
            while child < ends[node]:
                found[n_found] = child
                n_found += 1
                child = np.int64(ends[child])
        n_nodes += 1
        token_start[n_nodes] = n_ids
        n_groups = group_by_byte(ctx, found, n_found, members, first, groups, n_groups, depth + 1)
    while n_parents > 0:
        n_parents -= 1
        end[parents[n_parents, 0]] = n_nodes
    return n_nodes


@njit(cache=True, nogil=True)
def walk_counted(ctx, start, state, opening, counts, tail_counts, exits, exit_counts):  # type: ignore[no-untyped-def]
    """Walk `item* tail` (its state, built without pushes) below a trie node and count items.

    opening: uint64[4], the bytes that begin an item. counts, tail_counts: int32[n_rows], filled with -1 before: items
    begun by tokens that end in the items, and in the tail (-2 there: a token ends between two items). exits,
    exit_counts: int64[as many as nodes below]: nodes where the frame may end.
    Returns (result, number of exits, 0; EMPTY: a frame pushes).
    """
    flags = _i64(ctx, COUNTS)
    flags[1] = 0
    flags[2] = 0
    work, ends, starts, ids = (
        _i64(ctx, WORK),
        _i32(ctx, TRIE_END),
        _i32(ctx, TRIE_TOKEN_START),
        _i32(ctx, TRIE_TOKEN_IDS),
    )
    trie_bytes, kinds, nullable = _u8(ctx, TRIE_BYTE), _u8(ctx, STATE_KIND), _u8(ctx, STATE_NULLABLE)
    rows, state_rows, lits = _i32(ctx, ROWS), _i32(ctx, STATE_ROW), _i32(ctx, LITS)
    work[0] = start
    work[1] = state
    work[2] = 0  # items begun; in the tail: -1 - that many
    n_work, n_exits = 3, 0
    while n_work > 0:
        n_work -= 3
        node, code, count = work[n_work], work[n_work + 1], work[n_work + 2]
        last = np.int64(ends[node])
        if code < LIT_BASE:
            if kinds[code] == UNBUILT:
                request(ctx, code)
                continue
            if kinds[code] != ROW:
                return EMPTY, n_exits, 0
        child = node + 1
        while child < last:
            byte = np.int64(trie_bytes[child])
            target, after = np.int64(DEAD), count
            if code >= LIT_BASE:
                if lits[code - LIT_BASE] == byte:
                    target = code + 1
                    if lits[target - LIT_BASE] == LIT_END:
                        target = np.int64(EPSILON_STATE)
            else:
                target = np.int64(rows[np.int64(state_rows[code]) * 256 + byte])
                if target < DEAD:
                    return EMPTY, n_exits, 0
                if count >= 0 and code == state:
                    if opening[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
                        after = count + 1
                    else:
                        after = -1 - count
            if target >= 0:
                n = after if after >= 0 else -1 - after
                for i in range(starts[child], starts[child + 1]):
                    if after >= 0:
                        counts[ids[i]] = n
                        if target == state:
                            tail_counts[ids[i]] = -2
                    else:
                        tail_counts[ids[i]] = n
                if np.int64(ends[child]) > child + 1:
                    if target < LIT_BASE and nullable[target] == 1:
                        exits[n_exits] = child
                        exit_counts[n_exits] = n
                        n_exits += 1
                    if target != EPSILON_STATE:
                        if n_work + 3 > ctx[WORK_CAPACITY]:
                            flags[2] = 1
                            return NEED_ROOM, n_exits, 0
                        work[n_work] = child
                        work[n_work + 1] = target
                        work[n_work + 2] = after
                        n_work += 3
            child = np.int64(ends[child])
    return (NEED_BUILD if flags[1] else OK), n_exits, 0


@njit(cache=True, nogil=True)
def set_ids(ids, mask):  # type: ignore[no-untyped-def]
    """Set the bits of these tokens (int32[n])."""
    for i in range(ids.shape[0]):
        token = np.int64(ids[i])
        mask[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@njit(cache=True, nogil=True)
def clear_ids(ids, mask):  # type: ignore[no-untyped-def]
    """Clear the bits of these tokens (int32[n])."""
    for i in range(ids.shape[0]):
        token = np.int64(ids[i])
        mask[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))


@njit(cache=True, nogil=True)
def subtree_masks(ends, trie_bytes, out):  # type: ignore[no-untyped-def]
    """For every node the set of bytes strictly below it; out: uint64[n_nodes, 4], zeroed."""
    for node in range(ends.shape[0] - 1, -1, -1):
        child = np.int64(node + 1)
        while child < ends[node]:
            for k in range(4):
                out[node, k] |= out[child, k]
            byte = np.int64(trie_bytes[child])
            out[node, byte >> 6] |= np.uint64(1) << np.uint64(byte & 63)
            child = np.int64(ends[child])


@njit(cache=True, nogil=True)
def subtree_heights(ends, out):  # type: ignore[no-untyped-def]
    """How many levels lie below each node; out: int32[n_nodes], zeroed."""
    for node in range(ends.shape[0] - 1, -1, -1):
        child = np.int64(node + 1)
        while child < ends[node]:
            out[node] = max(out[node], out[child] + 1)
            child = np.int64(ends[child])


@njit(cache=True, nogil=True)
def count_children(ends, out):  # type: ignore[no-untyped-def]
    """How many children each node has; out: int32[n_nodes]."""
    for node in range(ends.shape[0]):
        child, n = np.int64(node + 1), 0
        while child < ends[node]:
            n += 1
            child = np.int64(ends[child])
        out[node] = n


@njit(cache=True, nogil=True)
def rehash_cells(states, parents, n, table):  # type: ignore[no-untyped-def]
    """Enter the first n cells into a fresh table (int32, -1 where empty, size a power of two)."""
    mask = np.int64(table.shape[0] - 1)
    for i in range(n):
        state, parent = np.int64(states[i]), np.int64(parents[i])
        place = ((state * 0x9E3779B97F4A7C15 + parent * 0x2545F4914F6CDD1D) >> 24) & mask
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = i


@njit(cache=True, nogil=True)
def fewest_tokens(ctx, text, best, first):  # type: ignore[no-untyped-def]
    """Fewest tokens that spell text[i:] for every i, by dynamic programming over the trie.

    best: int32[n + 1], how many (-1: no tokens spell it); first: int32[n + 1], the id of the first of them.
    """
    ends, trie_bytes, starts = _i32(ctx, TRIE_END), _u8(ctx, TRIE_BYTE), _i32(ctx, TRIE_TOKEN_START)
    ids = _i32(ctx, TRIE_TOKEN_IDS)
    n = text.shape[0]
    best[n] = 0
    for at in range(n - 1, -1, -1):
        best[at] = -1
        node, i = np.int64(0), at
        while i < n:
            child, last = node + 1, np.int64(ends[node])
            while child < last and trie_bytes[child] != text[i]:
                child = np.int64(ends[child])
            if child >= last:
                break
            i += 1
            if starts[child] < starts[child + 1] and best[i] >= 0 and (best[at] < 0 or best[i] + 1 < best[at]):
                best[at] = best[i] + 1
                first[at] = ids[starts[child]]
            node = child


@njit(cache=True, nogil=True)
def row_hash(mask):  # type: ignore[no-untyped-def]
    """A hash of a row (uint32[n]); 0 exactly where no bit is set.

    Products of two words, a key of its own added to each (NH of Black et al., "UMAC", 1999): no sum waits for another.
    """
    total, rest, n = np.uint64(0), np.uint32(0), mask.shape[0] // 2
    for i in range(n):
        a, b = np.uint32(mask[2 * i]), np.uint32(mask[2 * i + 1])
        key = np.uint32(i) * np.uint32(0x9E3779B1) + np.uint32(0x7F4A7C15)
        total += np.uint64(np.uint32(a + key)) * np.uint64(np.uint32(b + (key ^ np.uint32(0x5BD1E995))))
        rest |= a | b
    for i in range(2 * n, mask.shape[0]):
        total += np.uint64(mask[i]) * np.uint64(0x9E3779B97F4A7C15)
        rest |= mask[i]
    if rest == 0:
        return np.int64(0)
    return np.int64((total ^ (total >> np.uint64(29))) >> np.uint64(1)) | 1


@njit(cache=True, nogil=True)
def same_row(a, b):  # type: ignore[no-untyped-def]
    """Whether two rows (uint32[n]) are equal."""
    differs = np.uint32(0)
    for i in range(a.shape[0]):  # to the end: equal ones are the rule, and so several words are compared at a time
        differs |= a[i] ^ b[i]
    return differs == 0


@njit(cache=True, nogil=True)
def allowed_ids(mask, out):  # type: ignore[no-untyped-def]
    """The ids whose bits are set, in order, into out: int32[n]; returns how many."""
    n = 0
    for word_index in range(mask.shape[0]):
        word = mask[word_index]
        while word:
            out[n] = word_index * 32 + _lowest_bit(np.uint64(word))
            n += 1
            word &= word - np.uint32(1)
    return n


@njit(cache=True, nogil=True)
def reads_more(ctx, state, some, n):  # type: ignore[no-untyped-def]
    """Whether a state reads more than n bytes of a set: uint64[4]."""
    live = _u64(ctx, STATE_LIVE)
    for k in range(4):
        left = live[state * 4 + k] & some[k]
        while left:
            n -= 1
            if n < 0:
                return True
            left &= left - np.uint64(1)
    return False


@njit(cache=True, nogil=True)
def unread_sets(ctx, code, sets, known):  # type: ignore[no-untyped-def]
    """Which of some sets of bytes, uint64[n, 4], a state reads no byte of, as bits; all bits for states of other kinds
    than rows, and for those inside a character. Remembered in known: uint64[>= number of states], 0 where not known.

    Inside an object's key an undeclared one may go on with every byte but those of declared ones.
    """
    n_taken = 0
    if code >= KEY_BASE or (0 < code < LIT_BASE and _u8(ctx, STATE_KIND)[code] == KEYS):
        code = key_code(ctx, code)
        child, siblings = np.int64(_i32(ctx, KEY_CHILD)[key_node(ctx, code)]), _i32(ctx, KEY_SIBLING)
        while child >= 0:
            n_taken += 1
            child = np.int64(siblings[child])
        code = extra_code(ctx, code)
    if not 0 < code < LIT_BASE or _u8(ctx, STATE_KIND)[code] != ROW:
        return ~np.uint64(0)
    if n_taken == 0 and known[code]:
        return known[code]
    found = np.uint64(1) << np.uint64(63)
    if _u64(ctx, STATE_LIVE)[code * 4 + 2]:  # bytes 0x80 to 0xBF
        found = ~np.uint64(0)
    for i in range(sets.shape[0]):
        if not reads_more(ctx, code, sets[i], n_taken):
            found |= np.uint64(1) << np.uint64(i)
    if n_taken == 0:
        known[code] = found
    return found


# Of what a look ahead (`look_ahead`) says.
NO_SET_UNREAD = 1 << 63  # of `unread_sets`: a byte of each set is read
NARROW, WIDE, UNKNOWN = 0, 1, 2  # what may end in a state: narrow tokens, none but inside a character, not built yet
ANY_DEPTH = 1 << 30
FEW_STEPS = 6  # up to here a byte that leads elsewhere is left out; beyond, the look ends
NO_STATE = -(1 << 40)


@njit(cache=True, nogil=True)
def ending_kind(ctx, code, sets, known, left_out):  # type: ignore[no-untyped-def]
    """Whether no token that ends in a state is narrow, but for those that end inside a character, and those of the
    sets left_out, as bits."""
    if not 0 < code < LIT_BASE:
        return NARROW
    kind = _u8(ctx, STATE_KIND)[code]
    if kind != ROW:
        return UNKNOWN if kind == UNBUILT else NARROW
    live = _u64(ctx, STATE_LIVE)
    if live[code * 4 + 2]:
        return NARROW if live[code * 4] or live[code * 4 + 1] or live[code * 4 + 3] else WIDE
    return WIDE if unread_sets(ctx, code, sets, known) & ~left_out == np.uint64(0) else NARROW


@njit(cache=True, nogil=True)
def look_ahead(ctx, code, n_bytes, keeps_bytes, sets, known, left_out, seen, queue, stamp, safe):  # type: ignore[no-untyped-def]
    """With which bytes below n_bytes a built state may go on, into safe: uint64[4], and how many of them in a row, so
    that all states on the way are WIDE, and nothing but them reads on where the frame may end. Also whether some state
    was not built. A byte that cannot be read is safe.

    keeps_bytes: whether as many bytes as possible are safe at first, and then fewer of them in a row; else a byte that
    leads elsewhere within a few steps is not. left_out: see `ending_kind`.
    """
    rows, state_rows, nullable = _i32(ctx, ROWS), _i32(ctx, STATE_ROW), _u8(ctx, STATE_NULLABLE)
    row, before, is_safe, is_limited = np.int64(state_rows[code]) * 256, np.int64(DEAD), False, False
    for word in range(4):
        safe[word] = np.uint64(0)
    for byte in range(n_bytes):
        target = np.int64(rows[row + byte])
        if target == DEAD:
            is_safe = nullable[code] == 0
        elif target != before:
            kind = ending_kind(ctx, target, sets, known, left_out)
            is_safe = kind == WIDE
            is_limited = is_limited or kind == UNKNOWN
        before = target
        if is_safe:
            safe[byte >> 6] |= np.uint64(1) << np.uint64(byte & 63)
    depth, begin, n, mark = 0, 0, 1, stamp[0]
    stamp[0] += 1
    queue[0], seen[code] = code, mark
    while depth < ANY_DEPTH:
        end = n
        for i in range(begin, end):
            here = queue[i]
            row, before, is_good = np.int64(state_rows[here]) * 256, np.int64(NO_STATE), True
            for word in range(4):
                left = safe[word]
                while left:
                    bit = left & (~left + np.uint64(1))
                    left ^= bit
                    target = np.int64(rows[row + word * 64 + _lowest_bit(bit)])
                    if target != before:
                        before = target
                        if target == DEAD:
                            is_good = i == 0 or nullable[here] == 0
                        elif 0 < target < LIT_BASE and seen[target] == mark:
                            is_good = True
                        else:
                            kind = ending_kind(ctx, target, sets, known, left_out)
                            is_good = kind == WIDE
                            is_limited = is_limited or kind == UNKNOWN
                            if is_good:
                                if n == queue.shape[0]:
                                    return depth, is_limited
                                queue[n], seen[target] = target, mark
                                n += 1
                    if not is_good:
                        if keeps_bytes or depth > FEW_STEPS:
                            return depth, is_limited
                        safe[word] &= ~bit
        depth += 1
        if n == end:
            depth = ANY_DEPTH
        begin = end
    return depth, is_limited


@njit(cache=True, nogil=True)
def safe_bytes(ctx, begin, end, which, sets, known, memo, safe):  # type: ignore[no-untyped-def]
    """The same for all heads begin..end-1 together, of ASCII (which 0, 1) or all bytes (2, 3), first (even) with fewer
    bytes; 0 where nothing is known of some of them. With 4 added, the sets that a head does not read are left out."""
    codes, kinds = _i64(ctx, HEAD_CODE), _u8(ctx, STATE_KIND)
    kept, depths, seen, queue, stamp, _ = memo
    least = ANY_DEPTH
    for word in range(4):
        safe[word] = ~np.uint64(0)
    for i in range(begin, end):
        code = codes[i]
        if code < 0:
            continue
        if not 0 < code < LIT_BASE or kinds[code] != ROW:
            return 0
        depth = depths[code, which]
        if depth == 0 or (depth < 0 and -depth >> 32 != stamp[1]):
            left_out = np.uint64(NO_SET_UNREAD)
            if which >= 4:
                left_out |= unread_sets(ctx, code, sets, known)
            found, is_limited = look_ahead(
                ctx, code, 256 if which & 2 else 128, which & 1, sets, known, left_out, seen, queue, stamp,
                kept[code, which],
            )  # fmt: skip
            depth = np.int64(found + 1)
            depths[code, which] = -(stamp[1] << 32 | depth) if is_limited else depth
        elif depth < 0:
            depth = -depth & 0xFFFFFFFF
        least = min(least, depth - 1)
        for word in range(4):
            safe[word] &= kept[code, which, word]
        if least == 0:
            return 0
    return least


@njit(cache=True, nogil=True)
def is_covered(safe, byte, below, at):  # type: ignore[no-untyped-def]
    """Whether a byte and all of a set, the four words from `at` on, are safe."""
    if not safe[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
        return False
    for word in range(4):
        if below[at + word] & ~safe[word]:
            return False
    return True


@njit(cache=True, nogil=True)
def walk_narrow(ctx, starts_at, n_heads, known, sets, of_token, of_subtree, memo, out, exits):  # type: ignore[no-untyped-def]
    """List the tokens below some trie nodes, int32[n], that the heads can read whole and behind each head of which one
    of the token's sets is unread; where a state goes on through a whole subtree, also tokens of which that holds for
    this state. Those that end inside a character may be left out.

    known, sets: see `unread_sets`; of_token: uint64[n_rows], the sets of each token as bits, bit 62 for states of other
    kinds; of_subtree: uint64[n], those of all tokens at or below the first n nodes; memo: (safe: uint64[n_states, 8,
    4], depths: int64[n_states, 8], what `safe_bytes` remembers of states, seen: int64[n_states], queue: int64[n],
    stamps: int64[3], of `seen`, of what has been built, and the least nodes of a subtree that is looked at, room:
    uint64[8, 4]); out: int32[n_rows]; exits: int32[m], nodes with something below
    them where the heads' frames may end. Returns (OK, NEED_BUILD or NEED_ROOM, how many tokens, how many exits; where
    that is more than m, the rest is missing).
    """
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    codes, work, ends = _i64(ctx, HEAD_CODE), _i64(ctx, WORK), _i32(ctx, TRIE_END)
    trie_bytes, tables, starts = _u8(ctx, TRIE_BYTE), _i32(ctx, TRIE_TABLE), _i32(ctx, TRIE_TOKEN_START)
    kinds, by_byte, ids = _u8(ctx, STATE_KIND), _i32(ctx, TRIE_TABLES), _i32(ctx, TRIE_TOKEN_IDS)
    height, reach, below = _i32(ctx, TRIE_HEIGHT), _i32(ctx, STATE_REACH), _u64(ctx, TRIE_SUBMASK)
    room, ahead, n_known = memo[5], np.empty(8, np.int64), of_subtree.shape[0]
    n_out, n_exits = 0, 0
    row_only = np.uint64(NO_SET_UNREAD)
    n_work = 0
    for i in range(starts_at.shape[0]):
        n_work = push_work(ctx, np.int64(starts_at[i]), 0, n_heads, n_work)
    while n_work > 0:
        n_work -= 3
        node, begin, end = work[n_work], work[n_work + 1], work[n_work + 2]
        top = end
        last = np.int64(ends[node])
        skip = False
        for i in range(begin, end):
            code = codes[i]
            if (
                0 < code < LIT_BASE
                and kinds[code] == ROW
                and height[node] < reach[code]
                and whole_subtree(ctx, node, code)
            ):
                unread = unread_sets(ctx, code, sets, known)
                if unread == row_only or end == begin + 1:
                    if unread != row_only:
                        for at in range(np.int64(starts[node + 1]), np.int64(starts[last])):
                            if of_token[ids[at]] & unread & ~row_only:
                                out[n_out] = ids[at]
                                n_out += 1
                    skip = True
                    break
        if skip:
            continue
        unread_here, is_small = np.uint64(0), last - node < memo[4][2]
        for which in range(8):
            ahead[which] = 0 if is_small else -1  # not looked at yet
        if not is_small:
            for i in range(begin, end):
                unread_here |= unread_sets(ctx, codes[i], sets, known)
            unread_here &= ~row_only
        live = heads_live(ctx, begin, end)
        table = np.int64(tables[node])
        child = node + 1
        k, word = 0, live[0]
        while True:
            if table >= 0:
                while word == 0 and k < 3:
                    k += 1
                    word = live[k]
                if word == 0:
                    break
                byte = k * 64 + _lowest_bit(word)
                word &= word - np.uint64(1)
                child = np.int64(by_byte[table * 256 + byte])
                if child < 0:
                    continue
            else:
                if child >= last:
                    break
                byte = np.int64(trie_bytes[child])
            this = child
            child = np.int64(ends[child])
            if not live[byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
                continue
            is_wide, at = False, this * 4
            which = 0 if byte < 128 and not below[at + 2] and not below[at + 3] else 2
            is_outside = this < n_known and unread_here != 0 and of_subtree[this] & unread_here == 0
            for way in range(which, which + (8 if is_outside else 4)):
                if is_wide or way & 2 != which:
                    continue
                if ahead[way] < 0:
                    ahead[way] = safe_bytes(ctx, begin, end, way, sets, known, memo, room[way])
                is_wide = ahead[way] > height[this] and is_covered(room[way], byte, below, at)
            if is_wide:
                continue
            after = step(ctx, begin, end, byte, top)
            if after == top:
                continue
            for at in range(np.int64(starts[this]), np.int64(starts[this + 1])):
                is_narrow = True
                for i in range(top, after):
                    unread = unread_sets(ctx, codes[i], sets, known)
                    is_narrow = is_narrow and of_token[ids[at]] & unread & ~row_only != 0
                if is_narrow:
                    out[n_out] = ids[at]
                    n_out += 1
            if np.int64(ends[this]) > this + 1:
                for i in range(top, after):
                    if codes[i] == ACCEPT:
                        if n_exits < exits.shape[0]:
                            exits[n_exits] = this
                        n_exits += 1
                n_work = push_work(ctx, this, top, after, n_work)
                top = after
        if counts[2]:
            return NEED_ROOM, n_out, n_exits
    if counts[2]:
        return NEED_ROOM, n_out, n_exits
    return (NEED_BUILD if counts[1] else OK), n_out, n_exits


@njit(cache=True, nogil=True)
def sets_of_subtrees(ctx, of_token, out):  # type: ignore[no-untyped-def]
    """What `walk_narrow` asks of the first nodes of the trie, a whole tree, into out: uint64[n_nodes]."""
    ends, starts, ids = _i32(ctx, TRIE_END), _i32(ctx, TRIE_TOKEN_START), _i32(ctx, TRIE_TOKEN_IDS)
    for node in range(out.shape[0] - 1, -1, -1):
        found = np.uint64(0)
        for at in range(np.int64(starts[node]), np.int64(starts[node + 1])):
            found |= of_token[ids[at]]
        child = np.int64(node + 1)
        while child < ends[node]:
            found |= out[child]
            child = np.int64(ends[child])
        out[node] = found


@njit(cache=True, nogil=True)
def heads_below(ctx, stack):  # type: ignore[no-untyped-def]
    """The closed heads when the frame above some stacks has ended, first in the pool. Returns (result, how many)."""
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    n = close_heads(ctx, 0, add_below(ctx, 0, 0, stack))
    if counts[2]:
        return NEED_ROOM, n
    return (NEED_BUILD if counts[1] else OK), n


@njit(cache=True, nogil=True)
def narrow_keys(ctx, code, stack, out):  # type: ignore[no-untyped-def]
    """List the tokens that read the beginning of a declared key, and those below whole ones, into out: int32[n_rows];
    for all others, the memo of undeclared keys holds. The closed heads behind such a key come first in the pool.

    Returns (result, how many heads, how many tokens).
    """
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    codes, nodes, ends = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _i32(ctx, TRIE_END)
    starts, ids, instances = _i32(ctx, TRIE_TOKEN_START), _i32(ctx, TRIE_TOKEN_IDS), _i32(ctx, INSTANCES)
    n_out = 0
    n = list_key_paths(ctx, code, np.int64(0), np.int64(0))
    if n >= ctx[HEAD_CAPACITY] or counts[2]:
        return NEED_ROOM, np.int64(0), n_out
    for i in range(1, n):
        node = nodes[i]
        last = node + 1 if key_goes_on(ctx, code, codes[i]) else np.int64(ends[node])
        for at in range(np.int64(starts[node]), np.int64(starts[last])):
            out[n_out] = ids[at]
            n_out += 1
    base = ((code - KEY_BASE) >> KEY_SHIFT) * INSTANCE_STRIDE
    below = np.int64(instances[base + 4]) + np.int64(instances[base + 6])
    n = close_heads(ctx, np.int64(0), add_head(ctx, np.int64(0), np.int64(0), below, stack))
    if counts[2]:
        return NEED_ROOM, n, n_out
    return (NEED_BUILD if counts[1] else OK), n, n_out


@njit(cache=True, nogil=True)
def same_heads(ctx, begin, size, codes, stacks, first):  # type: ignore[no-untyped-def]
    """Whether heads of the pool are those that stand in arrays from `first` on."""
    head_codes, head_stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    for j in range(size):
        if codes[first + j] != head_codes[begin + j] or stacks[first + j] != head_stacks[begin + j]:
            return False
    return True


@njit(cache=True, nogil=True)
def end_groups(ctx, n_heads, tokens, text_start, text, marks, group, bounds, out_codes, out_stacks, live, complete):  # type: ignore[no-untyped-def]
    """Run each token from the heads and group the tokens by the heads behind them.

    tokens: int32[n], best those that begin alike side by side, since what two share is read once; the bytes of token t:
    text[text_start[t]:text_start[t + 1]]; marks: int64[m, 2], room for one more than the bytes of a token. group:
    int32[n], -1 where a token cannot be read. Of group g: its heads in out_codes and out_stacks (int64[m]) at
    bounds[g]:bounds[g + 1]; which bytes they read, live: uint64[k, 4]; whether the text may end, complete: bool[k].
    Returns (result, number of groups; -1: an array is too small).
    """
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    n_groups = 0
    bounds[0] = 0
    marks[0, 0], marks[0, 1] = 0, n_heads
    depth, is_dead, before = 0, False, np.int64(0)  # bytes of the last token, at `before`, that were read
    for i in range(tokens.shape[0]):
        token = np.int64(tokens[i])
        first, size = np.int64(text_start[token]), np.int64(text_start[token + 1]) - np.int64(text_start[token])
        common = 0
        while common < depth and common < size and text[first + common] == text[before + common]:
            common += 1
        group[i] = -1
        if is_dead and common == depth and size > depth and text[first + depth] == text[before + depth]:
            continue
        depth, is_dead, before = common, False, first
        while depth < size:
            begin, end = marks[depth, 0], marks[depth, 1]
            after = step(ctx, begin, end, np.int64(text[first + depth]), end)
            if after == end:
                is_dead = True
                break
            depth += 1
            marks[depth, 0], marks[depth, 1] = end, after
        if counts[2]:
            return NEED_ROOM, n_groups
        if is_dead:
            continue
        begin, end = marks[depth, 0], marks[depth, 1]
        n = end - begin
        if n == 0:
            continue
        for g in range(n_groups - 1, -1, -1):
            if bounds[g + 1] - bounds[g] == n and same_heads(ctx, begin, n, out_codes, out_stacks, bounds[g]):
                group[i] = g
                break
        if group[i] < 0:
            at = bounds[n_groups]
            if n_groups >= complete.shape[0] or at + n > out_codes.shape[0]:
                return OK, -1
            complete[n_groups] = False
            for j in range(n):
                out_codes[at + j] = codes[begin + j]
                out_stacks[at + j] = stacks[begin + j]
                complete[n_groups] = complete[n_groups] or codes[begin + j] == ACCEPT
            add_live_bytes(ctx, begin, end, live[n_groups])
            group[i] = n_groups
            n_groups += 1
            bounds[n_groups] = at + n
    if counts[2]:
        return NEED_ROOM, n_groups
    return (NEED_BUILD if counts[1] else OK), n_groups


@njit(cache=True, nogil=True)
def open_bytes_of(ctx, begin, end, reserved, may_end, live):  # type: ignore[no-untyped-def]
    """The bytes of text that the heads can read, into live: uint64[4]; whether a text may end there (`may_end`), or a
    reserved byte (uint64[4]), in front of which the text's tokens end, come next."""
    add_live_bytes(ctx, begin, end, live)
    ends = live[3] >> np.uint64(63) & reserved[3] >> np.uint64(63) != np.uint64(0)
    codes = _i64(ctx, HEAD_CODE)
    for i in range(begin, end):
        ends = ends or (may_end and codes[i] == ACCEPT)
    for i in range(4):
        live[i] &= ~reserved[i]
    return ends


@njit(cache=True, nogil=True)
def settles(live, ends, cuts, p, may_stop):  # type: ignore[no-untyped-def]
    """Whether a boundary of pre-tokens surely may come next, or the text end, in a state p of P."""
    common = np.uint64(0)
    for i in range(4):
        common |= live[i] & cuts[p, i]
    return common != 0 or (ends and may_stop[p])


@njit(cache=True, nogil=True)
def next_place(live, order, place):  # type: ignore[no-untyped-def]
    """The next place in the order of bytes whose byte is in a set: uint64[4]; 256 where there is none."""
    place += 1
    while place < 256 and not live[order[place] >> 6] >> np.uint64(order[place] & 63) & np.uint64(1):
        place += 1
    return place


@njit(cache=True, nogil=True)
def reaches_boundary(ctx, begin, end, p, plan, frames, live):  # type: ignore[no-untyped-def]
    """Whether some legal text from the heads on leads P from p to where a boundary surely may lie, or the text end:
    1, 0, or -1 where a short search does not tell.

    plan: see `list_texts`; frames: int64[n, 5], live: uint64[n, 4], room for as many bytes.
    """
    first, arcs, cuts, _, may_stop, reserved, order, may_end = plan
    counts = _i64(ctx, COUNTS)
    n_nodes, depth, unsure = 0, 0, False
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3], frames[0, 4] = begin, end, p, -1, 0
    ends = open_bytes_of(ctx, begin, end, reserved, may_end, live[0])
    if settles(live[0], ends, cuts, p, may_stop):
        return 1
    while depth >= 0:
        place, arc = frames[depth, 3], frames[depth, 4]
        at = frames[depth, 2]
        if place < 0 or arc >= first[at * 256 + order[place] + 1]:
            place = next_place(live[depth], order, place)
            if place == 256:
                depth -= 1
                continue
            frames[depth, 3], frames[depth, 4] = place, first[at * 256 + order[place]]
            continue
        frames[depth, 4] = arc + 1
        low, high = frames[depth, 0], frames[depth, 1]
        after = step(ctx, low, high, np.int64(order[place]), high)
        n_nodes += 1
        if counts[1] or counts[2] or n_nodes > 48:
            return -1
        if after == high:
            continue
        if depth + 1 >= frames.shape[0]:
            unsure = True
            continue
        depth += 1
        then = np.int64(arcs[arc, 1])
        frames[depth, 0], frames[depth, 1], frames[depth, 2], frames[depth, 3] = high, after, then, -1
        ends = open_bytes_of(ctx, high, after, reserved, may_end, live[depth])
        if settles(live[depth], ends, cuts, then, may_stop):
            return 1
    return -1 if unsure else 0


@njit(cache=True, nogil=True)
def may_cut(ctx, begin, end, p, ends, open_bytes, plan, frames, live):  # type: ignore[no-untyped-def]
    """Whether a boundary may lie behind the heads, or the text end: 1, 0, or -1: not known; see `reaches_boundary`."""
    first, arcs, cuts, weak_cuts, may_stop = plan[0], plan[1], plan[2], plan[3], plan[4]
    if settles(open_bytes, ends, cuts, p, may_stop):
        return 1
    answer = 0
    for word in range(4):
        left = open_bytes[word] & weak_cuts[p, word]
        while left:
            byte = word * 64 + _lowest_bit(left)
            left &= left - np.uint64(1)
            for arc in range(first[p * 256 + byte], first[p * 256 + byte + 1]):
                if arcs[arc, 0]:
                    after = step(ctx, begin, end, byte, end)
                    if after > end:
                        found = reaches_boundary(ctx, end, after, np.int64(arcs[arc, 1]), plan, frames, live)
                        if found > 0:
                            return 1
                        answer = min(answer, found)
    return answer


@njit(cache=True, nogil=True)
def list_texts(ctx, n_heads, start, is_thorough, limits, plan, rooms, texts, n_texts):  # type: ignore[no-untyped-def]
    """The legal texts from the heads on that P reads from a state as going on with the open pre-token, each up to where
    a boundary may lie behind it.

    plan: (first, arcs, cuts, weak_cuts, may_stop, reserved, order, may_end) of P: see `TokenPaths`; order: uint8[256],
    which bytes are tried first. texts: (text: uint8[m], path: int32[m], the state of P behind each byte, text_ends:
    int64[k + 1]), of which there are n_texts. limits: bytes of a text, places looked at. A first look, not thorough,
    takes one text for each first byte. Returns (result, n_texts, 2: the heads' own place may be a boundary, 1: these
    are all texts, 0: there may be more).
    """
    max_bytes, max_nodes = limits
    text, path, text_ends = texts
    first, arcs, reserved, order, may_end = plan[0], plan[1], plan[5], plan[6], plan[7]
    frames, live, spare_frames, spare_live = rooms
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    n_nodes, depth, is_all, n_before = 0, 0, True, n_texts
    ends = open_bytes_of(ctx, 0, n_heads, reserved, may_end, live[0])
    found = may_cut(ctx, np.int64(0), np.int64(n_heads), start, ends, live[0], plan, spare_frames, spare_live)
    if counts[1] or counts[2]:
        return (NEED_ROOM if counts[2] else NEED_BUILD), n_before, 0
    if found > 0:
        return OK, n_texts, 2
    is_all = found == 0
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3], frames[0, 4] = 0, n_heads, start, -1, 0
    while depth >= 0:
        place, arc = frames[depth, 3], frames[depth, 4]
        p = frames[depth, 2]
        if place < 0 or arc >= first[p * 256 + order[place] + 1]:
            place = next_place(live[depth], order, place)
            if place == 256:
                depth -= 1
                continue
            frames[depth, 3], frames[depth, 4] = place, first[p * 256 + order[place]]
            continue
        frames[depth, 4] = arc + 1
        if arcs[arc, 0]:
            continue
        byte = np.int64(order[place])
        low, high = frames[depth, 0], frames[depth, 1]
        after = step(ctx, low, high, byte, high)
        n_nodes += 1
        if after == high:
            if counts[1] or counts[2]:
                return (NEED_ROOM if counts[2] else NEED_BUILD), n_before, 0
            continue
        if n_nodes > max_nodes or text_ends[n_texts] + depth + 1 >= text.shape[0] or depth >= max_bytes:
            return OK, n_texts, 0
        then = np.int64(arcs[arc, 1])
        begun = text_ends[n_texts]
        text[begun + depth], path[begun + depth] = byte, then
        depth += 1
        frames[depth, 0], frames[depth, 1], frames[depth, 2], frames[depth, 3] = high, after, then, -1
        ends = open_bytes_of(ctx, high, after, reserved, may_end, live[depth])
        found = may_cut(ctx, high, after, then, ends, live[depth], plan, spare_frames, spare_live)
        if counts[1] or counts[2]:
            return (NEED_ROOM if counts[2] else NEED_BUILD), n_before, 0
        is_all = is_all and found >= 0
        if found <= 0:
            continue
        if n_texts + 2 >= text_ends.shape[0] or begun + 2 * depth >= text.shape[0]:
            return OK, n_texts, 0
        n_texts += 1
        text_ends[n_texts] = begun + depth
        if is_thorough:
            for i in range(depth):
                text[begun + depth + i], path[begun + depth + i] = text[begun + i], path[begun + i]
            continue
        # On to another first byte; what is left out on the way?
        while depth > 0:
            p = frames[depth, 2]
            while is_all and frames[depth, 3] < 256:
                place = frames[depth, 3]
                if place >= 0:
                    for arc in range(frames[depth, 4], first[p * 256 + order[place] + 1]):
                        is_all = is_all and arcs[arc, 0] != 0
                place = next_place(live[depth], order, place)
                frames[depth, 3] = place
                if place < 256:
                    frames[depth, 4] = first[p * 256 + order[place]]
            depth -= 1
    return OK, n_texts, 1 if is_all else 0


@njit(cache=True, nogil=True)
def list_all_texts(ctx, groups, lots, todo, is_thorough, limits, plan, rooms, texts, lot_ends, kinds, done):  # type: ignore[no-untyped-def]
    """`list_texts` for lots, int32[n, 2]: (group of heads, state of P), as far as todo: bool[n], from lot `done` on.

    groups: (bounds, codes, stacks), as by `end_groups`; lot_ends: int64[n + 1], how many texts there are behind each;
    kinds: int8[n]. Returns (result, lots done).
    """
    bounds, codes, stacks = groups
    head_codes, head_stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    for lot in range(done, lots.shape[0]):
        n_texts = lot_ends[lot]
        kinds[lot] = 0
        if todo[lot]:
            g = lots[lot, 0]
            n = bounds[g + 1] - bounds[g]
            for i in range(n):
                head_codes[i], head_stacks[i] = codes[bounds[g] + i], stacks[bounds[g] + i]
            p = np.int64(lots[lot, 1])
            result, n_texts, kind = list_texts(ctx, n, p, is_thorough, limits, plan, rooms, texts, n_texts)
            if result != OK:
                return result, lot
            kinds[lot] = kind
        lot_ends[lot + 1] = n_texts
    return OK, lots.shape[0]


@njit(cache=True, nogil=True)
def intern_heads(codes, stacks, begin, end, heads):  # type: ignore[no-untyped-def]
    """The number of a set of heads, codes and stacks begin..end-1, entered where it is new; -1: there is no room.

    heads: (bounds: int64[n + 1], codes: int64[m], stacks: int64[m], table: int64[k], open addressing by content, -1:
    free, count: int64[1], how many sets there are).
    """
    bounds, known_codes, known_stacks, table, count = heads
    total = np.uint64(0)
    for i in range(begin, end):
        mixed = np.uint64(codes[i]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(stacks[i])
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        total += mixed ^ (mixed >> np.uint64(32))
    mask, size = table.shape[0] - 1, end - begin
    slot = np.int64(total >> np.uint64(8)) & mask
    while table[slot] >= 0:
        g = table[slot]
        first = bounds[g]
        if bounds[g + 1] - first == size:
            n_same = 0
            for i in range(size):
                for j in range(size):
                    at = first + (i + j) % size  # mostly they stand in the same order
                    if known_codes[at] == codes[begin + i] and known_stacks[at] == stacks[begin + i]:
                        n_same += 1
                        break
            if n_same == size:
                return g
        slot = (slot + 1) & mask
    g = count[0]
    first = bounds[g]
    if g + 2 > bounds.shape[0] or first + size > known_codes.shape[0] or 2 * (g + 1) > mask:
        return np.int64(-1)
    for i in range(size):
        known_codes[first + i], known_stacks[first + i] = codes[begin + i], stacks[begin + i]
    bounds[g + 1] = first + size
    table[slot], count[0] = g, g + 1
    return g


@njit(cache=True, nogil=True)
def intern_groups(bounds, codes, stacks, wanted, heads, out):  # type: ignore[no-untyped-def]
    """Numbers of groups of heads: see `intern_heads`; wanted: int64[n], which; out: int64[n]. False: there is no
    room."""
    for i in range(wanted.shape[0]):
        out[i] = intern_heads(codes, stacks, bounds[wanted[i]], bounds[wanted[i] + 1], heads)
        if out[i] < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def list_ways(ctx, g, p, limits, plan, kinds_of, rooms, heads, good, n_good, ways, n_ways):  # type: ignore[no-untyped-def]
    """The tokens that may follow a set of heads g and a state p of P inside the open pre-token or behind a boundary:
    those behind which a boundary surely may lie, or the text end, into good: int32[n]; the others as rows (token, bit
    before it, set of heads, state) into ways: int64[m, 4].

    kinds_of: (stops: uint8[n_states], kinds: uint8[n_rows]), see `path_kernels`; plan: see `list_texts`; heads: see
    `intern_heads`; limits: (steps in all, steps below a first byte that has shown some good ones). Returns (result,
    n_good, n_ways, 2: whatever leads here can be continued, 1: these are all, 0: there may be more, -1: the heads are
    full, -2: good is, -3: ways is).
    """
    first, arcs, cuts, _, may_stop, reserved, _, may_end = plan
    stops, kinds = kinds_of
    items, marks, frames, live, spare_live = rooms
    bounds, known_codes, known_stacks = heads[0], heads[1], heads[2]
    counts = _i64(ctx, COUNTS)
    counts[1] = 0
    counts[2] = 0
    codes, stacks = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK)
    trie_bytes, trie_ends, starts = _u8(ctx, TRIE_BYTE), _i32(ctx, TRIE_END), _i32(ctx, TRIE_TOKEN_START)
    tables, by_byte, ids = _i32(ctx, TRIE_TABLE), _i32(ctx, TRIE_TABLES), _i32(ctx, TRIE_TOKEN_IDS)
    old_good, old_ways = n_good, n_ways
    n = bounds[g + 1] - bounds[g]
    for i in range(n):
        codes[i], stacks[i] = known_codes[bounds[g] + i], known_stacks[bounds[g] + i]
    ends = open_bytes_of(ctx, np.int64(0), n, reserved, may_end, live[0])
    found = may_cut(ctx, np.int64(0), n, p, ends, live[0], plan, frames, spare_live)
    if counts[1] or counts[2]:
        return (NEED_ROOM if counts[2] else NEED_BUILD), old_good, old_ways, 0
    if found > 0:
        return OK, old_good, old_ways, 2
    is_all, n_steps, base, base_steps, base_good, n_first = found == 0, 0, 0, 0, n_good, 0
    marks[0, 0], marks[0, 1] = 0, p
    items[0, 0], items[0, 1], items[0, 2], items[0, 3], items[0, 4] = 0, 0, n, 0, 1
    n_items = 1
    while n_items > 0:
        if n_steps - base_steps > limits[1] and n_good > base_good + 1 and n_items > base:
            n_items, is_all = base, False  # on to another first byte
            continue
        n_items -= 1
        node, begin, end, low, high = items[n_items]
        if n_items < n_first:
            base, base_steps, base_good = n_items, n_steps, n_good
        top, top_mark = end, high
        add_live_bytes(ctx, begin, end, live[0])
        for i in range(4):
            live[0, i] &= ~reserved[i]
        table, child, last = np.int64(tables[node]), node + 1, np.int64(trie_ends[node])
        word, k = live[0, 0], 0
        while True:
            if table >= 0:
                while word == 0 and k < 3:
                    k += 1
                    word = live[0, k]
                if word == 0:
                    break
                byte = k * 64 + _lowest_bit(word)
                word &= word - np.uint64(1)
                child = np.int64(by_byte[table * 256 + byte])
                if child < 0:
                    continue
            else:
                if child >= last:
                    break
                byte = np.int64(trie_bytes[child])
            this = child
            child = np.int64(trie_ends[child])
            if not live[0, byte >> 6] >> np.uint64(byte & 63) & np.uint64(1):
                continue
            m = top_mark
            if m + 2 * (high - low) + 64 > marks.shape[0] or n_items + 1 >= items.shape[0]:
                return OK, old_good, old_ways, 0
            for j in range(low, high):
                place = marks[j, 1] * 256 + byte
                for arc in range(first[place], first[place + 1]):
                    bit, target = np.int64(arcs[arc, 0]), np.int64(arcs[arc, 1])
                    if node != 0:
                        if bit:
                            continue
                        bit = marks[j, 0]
                    is_new = True
                    for i in range(top_mark, m):
                        is_new = is_new and not (marks[i, 0] == bit and marks[i, 1] == target)
                    if is_new:
                        if m >= marks.shape[0]:
                            return OK, old_good, old_ways, 0
                        marks[m, 0], marks[m, 1] = bit, target
                        m += 1
            if m == top_mark:
                continue
            after = step(ctx, begin, end, byte, top)
            n_steps += 1
            if after == top:
                continue
            if n_steps > limits[0]:
                return (NEED_ROOM if counts[2] else NEED_BUILD if counts[1] else OK), n_good, n_ways, 0
            behind, is_known, ends = np.int64(-1), False, False
            for at in range(np.int64(starts[this]), np.int64(starts[this + 1])):
                token = np.int64(ids[at])
                for j in range(top_mark, m):
                    q = marks[j, 1]
                    stop, kind = stops[q], kinds[token]
                    if not ((kind == 0 and stop == 0) or (kind == 1 and stop == 1)):
                        continue
                    if not is_known:
                        ends, is_known = open_bytes_of(ctx, top, after, reserved, may_end, live[1]), True
                    if settles(live[1], ends, cuts, q, may_stop):
                        if marks[j, 0]:
                            if counts[1] or counts[2]:
                                return (NEED_ROOM if counts[2] else NEED_BUILD), old_good, old_ways, 0
                            return OK, old_good, old_ways, 2
                        if n_good >= good.shape[0]:
                            return OK, old_good, old_ways, -2
                        good[n_good] = token
                        n_good += 1
                        continue
                    if behind < 0:
                        behind = intern_heads(codes, stacks, top, after, heads)
                    if behind < 0 or n_ways >= ways.shape[0]:
                        return OK, old_good, old_ways, -1 if behind < 0 else -3
                    ways[n_ways, 0], ways[n_ways, 1], ways[n_ways, 2], ways[n_ways, 3] = token, marks[j, 0], behind, q
                    n_ways += 1
            if np.int64(trie_ends[this]) > this + 1:
                items[n_items, 0], items[n_items, 1], items[n_items, 2] = this, top, after
                items[n_items, 3], items[n_items, 4] = top_mark, m
                n_items += 1
                top, top_mark = after, m
        if node == 0:
            n_first = n_items
        if counts[1] or counts[2]:
            return (NEED_ROOM if counts[2] else NEED_BUILD), old_good, old_ways, 0
    return OK, n_good, n_ways, 1 if is_all else 0


@njit(cache=True, nogil=True)
def node_slot(keys, key):  # type: ignore[no-untyped-def]
    """Where a node is in a table with open addressing, or would be."""
    mask = keys.shape[0] - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(8)) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def list_all_ways(ctx, wanted, limits, plan, kinds_of, rooms, heads, good, ways, nodes, used):  # type: ignore[no-untyped-def]
    """`list_ways` for nodes (set of heads, state of P), wanted: int64[n], of those that are not listed yet.

    nodes: (keys: int64[k], open addressing by node, -1: free, places: int32[k], spans: int64[m, 5]: where the good ones
    and the others of a node begin and end, and of which kind they are); used: int64[3], how many good tokens, ways and
    nodes there are. Returns (result, what is full: 0 nothing, -1 the heads, -2 good, -3 ways, -4 nodes).
    """
    keys, places, spans = nodes
    n_states = plan[2].shape[0]
    for i in range(wanted.shape[0]):
        slot = node_slot(keys, wanted[i])
        if keys[slot] >= 0:
            continue
        at = used[2]
        if at >= spans.shape[0] or 2 * at > keys.shape[0]:
            return OK, -4
        g, p = wanted[i] // n_states, wanted[i] % n_states
        result, n_good, n_ways, kind = list_ways(
            ctx, g, p, limits, plan, kinds_of, rooms, heads, good, used[0], ways, used[1]
        )
        if result != OK or kind < 0:
            return result, kind
        spans[at, 0], spans[at, 1], spans[at, 2], spans[at, 3], spans[at, 4] = used[0], n_good, used[1], n_ways, kind
        keys[slot], places[slot] = wanted[i], at
        used[0], used[1], used[2] = n_good, n_ways, at + 1
    return OK, 0


# --- kept rows: `row_table.py` owns the arrays behind `kept`, one int64 table of addresses ---------------------------


@njit(cache=True, nogil=True)
def hash_of(words, n):  # type: ignore[no-untyped-def]
    """A hash of the first n of int64 words; never negative."""
    total = np.uint64(n) + np.uint64(0x9E3779B97F4A7C15)
    for i in range(n):
        total = (total ^ np.uint64(words[i])) * np.uint64(0x2545F4914F6CDD1D)
        total ^= total >> np.uint64(32)
    return np.int64(total >> np.uint64(1))


@njit(cache=True, nogil=True)
def pattern_slot(ctx, kept, n_heads):  # type: ignore[no-untyped-def]
    """The place of the slot for the codes of the first heads; what stands there is the newest of their patterns, or
    -1."""
    codes, slots, data = _i64(ctx, HEAD_CODE), _i64(kept, PATTERN_SLOTS), _i64(kept, PATTERNS)
    place = hash_of(codes, n_heads) & kept[PATTERN_MASK]
    while slots[place] >= 0:
        at, same = slots[place], True
        if data[at] == n_heads:
            for i in range(n_heads):
                if data[at + 2 + i] != codes[i]:
                    same = False
                    break
            if same:
                return place
        place = (place + 1) & kept[PATTERN_MASK]
    return place


@njit(cache=True, nogil=True)
def write_key(ctx, kept, n_heads, pattern):  # type: ignore[no-untyped-def]
    """The frames of the first heads down to a pattern's depths, and which of the rests below them are equal, into KEY:
    int64[KEY_CAPACITY]; returns how many words, -1 where there is no room. All of a stack is its cell's number."""
    stacks, states, parents = _i64(ctx, HEAD_STACK), _i32(ctx, CELL_STATE), _i32(ctx, CELL_PARENT)
    data, key, rests = _i64(kept, PATTERNS), _i64(kept, KEY), _i64(kept, RESTS)
    room = kept[KEY_CAPACITY] - 3
    if n_heads > room:
        return -1
    key[0], at, n_rests = pattern, 1, 0
    for i in range(n_heads):
        depth, stack, n = data[pattern + 2 + n_heads + i], stacks[i], 0
        if depth < 0:
            key[at] = stack
            at += 1
            if at > room:
                return -1
            continue
        begin = at
        at += 1
        while n < depth and stack >= 0:
            if at > room:
                return -1
            key[at] = np.int64(states[stack])
            stack = np.int64(parents[stack])
            at += 1
            n += 1
        key[begin] = n
        rest = 0
        if stack >= 0:
            while rest < n_rests and rests[rest] != stack:
                rest += 1
            if rest == n_rests:
                rests[rest] = stack
                n_rests += 1
            rest += 1
        key[at] = rest
        at += 1
    return at


@njit(cache=True, nogil=True)
def entry_slot(kept, length, hashed):  # type: ignore[no-untyped-def]
    """The place of the slot for the key in KEY; what stands there is its entry, or -1."""
    slots, entries = _i64(kept, ENTRY_SLOTS), _i64(kept, ENTRIES)
    key, keys = _i64(kept, KEY), _i32(kept, KEYS_HELD)
    place = hashed & kept[ENTRY_MASK]
    while slots[place] >= 0:
        at = slots[place] * ENTRY_STRIDE
        if entries[at] == hashed and entries[at + 4] == length:
            start, same = entries[at + 3], True
            for i in range(length):
                if keys[start + i] != key[i]:
                    same = False
                    break
            if same:
                return place
        place = (place + 1) & kept[ENTRY_MASK]
    return place


@njit(cache=True, nogil=True)
def find_row(ctx, kept, n_heads):  # type: ignore[no-untyped-def]
    """The number of the kept row of the first heads, plus OLD_ROW where it was not used since rows aged last; -1 where
    there is none, -2 where KEY is too short. FOUND_PATTERN: the pattern that it was found by."""
    data, entries, stamps, now = _i64(kept, PATTERNS), _i64(kept, ENTRIES), _i64(kept, ROW_STAMPS), kept[STAMP]
    pattern = _i64(kept, PATTERN_SLOTS)[pattern_slot(ctx, kept, n_heads)]
    for _ in range(MAX_PATTERNS):
        if pattern < 0:
            break
        length = write_key(ctx, kept, n_heads, pattern)
        if length < 0:
            return np.int64(-2)
        entry = _i64(kept, ENTRY_SLOTS)[entry_slot(kept, length, hash_of(_i64(kept, KEY), length))]
        if entry >= 0:
            at = entry * ENTRY_STRIDE
            row = entries[at + 1]
            kept[FOUND_PATTERN] = pattern
            if entries[at + 2] == now:
                return row
            entries[at + 2] = now
            stamps[row] = now
            return row | OLD_ROW
        pattern = data[pattern + 1]
    return np.int64(-1)


@njit(cache=True, nogil=True)
def depths_read(ctx, n_heads, deepest, depths):  # type: ignore[no-untyped-def]
    """How many cells of each of the first heads' stacks stand from `deepest` on: cells stand above those below them."""
    stacks, parents = _i64(ctx, HEAD_STACK), _i32(ctx, CELL_PARENT)
    for i in range(n_heads):
        stack, n = stacks[i], 0
        while stack >= deepest:
            stack = np.int64(parents[stack])
            n += 1
        depths[i] = n


@njit(cache=True, nogil=True)
def keep_row(ctx, kept, n_heads, deepest, row, mask):  # type: ignore[no-untyped-def]
    """Keep a mask (uint32[n_words]) as the row with this number, for the first heads; where an equal one is kept, that
    is the row. Returns the row's number, plus OLD_ROW where it is new or was not used since rows aged last; -2 where
    some array has no room left.

    deepest: the least cell that the mask depends on; -1: on all of the stacks; -2: on the depths in DEPTHS.
    """
    if kept[N_ENTRIES] >= kept[ENTRY_CAPACITY] or row >= kept[ROW_CAPACITY]:
        return np.int64(-2)
    if 2 * (kept[N_PATTERNS] + 1) > kept[PATTERN_MASK]:
        return np.int64(-2)
    if kept[N_PATTERN_WORDS] + 2 * n_heads + 2 > kept[PATTERN_CAPACITY] or n_heads > kept[KEY_CAPACITY] - 3:
        return np.int64(-2)
    data, depths, codes = _i64(kept, PATTERNS), _i64(kept, DEPTHS), _i64(ctx, HEAD_CODE)
    if deepest == -1:
        for i in range(n_heads):
            depths[i] = -1
    elif deepest >= 0:
        depths_read(ctx, n_heads, deepest, depths)
    place = pattern_slot(ctx, kept, n_heads)
    newest = _i64(kept, PATTERN_SLOTS)[place]
    pattern, n_tried, found = newest, 0, np.int64(-1)
    while pattern >= 0 and n_tried < MAX_PATTERNS and found < 0:
        found = pattern
        for i in range(n_heads):
            if data[pattern + 2 + n_heads + i] != depths[i]:
                found = np.int64(-1)
                break
        pattern = data[pattern + 1]
        n_tried += 1
    if found < 0:
        found = kept[N_PATTERN_WORDS]
        data[found], data[found + 1] = n_heads, newest
        for i in range(n_heads):
            data[found + 2 + i] = codes[i]
            data[found + 2 + n_heads + i] = depths[i]
        kept[N_PATTERN_WORDS] += 2 * n_heads + 2
        kept[N_PATTERNS] += np.int64(newest < 0)
        _i64(kept, PATTERN_SLOTS)[place] = found
    length = write_key(ctx, kept, n_heads, found)
    if length < 0 or kept[N_KEY_WORDS] + length > kept[KEYS_CAPACITY]:
        return np.int64(-2)
    row = enter_row(kept, row, mask)
    entries, key, keys = _i64(kept, ENTRIES), _i64(kept, KEY), _i32(kept, KEYS_HELD)
    hashed = hash_of(key, length)
    place = entry_slot(kept, length, hashed)
    entry = _i64(kept, ENTRY_SLOTS)[place]
    if entry < 0:
        entry, start = kept[N_ENTRIES], kept[N_KEY_WORDS]
        for i in range(length):
            keys[start + i] = key[i]
        kept[N_ENTRIES] += 1
        kept[N_KEY_WORDS] += length
        at = entry * ENTRY_STRIDE
        entries[at], entries[at + 3], entries[at + 4] = hashed, start, length
        _i64(kept, ENTRY_SLOTS)[place] = entry
    entries[entry * ENTRY_STRIDE + 1] = row & ~OLD_ROW
    entries[entry * ENTRY_STRIDE + 2] = kept[STAMP]
    return row


@njit(cache=True, nogil=True)
def enter_row(kept, row, mask):  # type: ignore[no-untyped-def]
    """The number of a kept row with these bits, else this one's, plus OLD_ROW as `keep_row`."""
    slots, hashes, addresses = _i64(kept, ROW_SLOTS), _i64(kept, ROW_HASHES), _i64(kept, ROW_ADDRESSES)
    stamps, hashed, now = _i64(kept, ROW_STAMPS), row_hash(mask), kept[STAMP]
    place = (hashed >> 1) & kept[ENTRY_MASK]
    while slots[place] >= 0:
        other = slots[place]
        if hashes[other] == hashed and same_row(carray(_pointer(addresses[other]), mask.shape, np.uint32), mask):
            if stamps[other] == now:
                return other
            stamps[other] = now
            return other | OLD_ROW
        place = (place + 1) & kept[ENTRY_MASK]
    slots[place] = row
    hashes[row], addresses[row], stamps[row] = hashed, mask.ctypes.data, now
    return row | OLD_ROW


@njit(cache=True, nogil=True)
def row_at_once(ctx, kept, n_heads, is_apart, end_ids, row, mask, limit):  # type: ignore[no-untyped-def]
    """Find the kept row of the first heads, or walk for it and keep it as the row with this number, in one call.

    is_apart: whether it is put together of what is kept of each head (`walk_apart`); end_ids: int32[n], set where the
    text is complete. Returns the row's number as `keep_row`, plus KEPT_NOW where it walked, or -2; else what hinders
    it, as NOT_AT_ONCE less the answer of the walk: LONG after `limit` visits, or where a mask is more than a walk.
    """
    found = find_row(ctx, kept, n_heads)
    if found != -1:
        return found
    all_codes, all_stacks, counts = _i64(ctx, HEAD_CODE), _i64(ctx, HEAD_STACK), _i64(ctx, COUNTS)
    codes, stacks, is_complete = np.empty(n_heads, np.int64), np.empty(n_heads, np.int64), False
    for i in range(n_heads):
        codes[i], stacks[i] = all_codes[i], all_stacks[i]
        is_complete = is_complete or (codes[i] == ACCEPT and stacks[i] == -1)
    if is_apart:
        for i in range(mask.shape[0]):
            mask[i] = np.uint32(0)
        result = walk_apart(ctx, n_heads, mask, limit, True)
    else:
        result = walk_row(ctx, n_heads, mask, limit)
    if result == OK and counts[ANCHORS_PUSHED]:
        result = LONG
    if result != OK:
        return np.int64(NOT_AT_ONCE - result)
    if is_complete:
        set_ids(end_ids, mask)
    for i in range(n_heads):
        all_codes[i], all_stacks[i] = codes[i], stacks[i]
    found = keep_row(ctx, kept, n_heads, np.int64(-1) if counts[SETS_READ] else counts[DEEPEST], row, mask)
    return found if found < 0 else found | KEPT_NOW


@njit(cache=True, nogil=True)
def take_over_rows(old, fresh, since):  # type: ignore[no-untyped-def]
    """Copy into new, empty arrays what was used at stamp `since` or later, and all patterns."""
    for at in range(old[N_PATTERN_WORDS]):
        _i64(fresh, PATTERNS)[at] = _i64(old, PATTERNS)[at]
    fresh[N_PATTERN_WORDS], fresh[STAMP] = old[N_PATTERN_WORDS], old[STAMP]
    slots, data = _i64(fresh, PATTERN_SLOTS), _i64(fresh, PATTERNS)
    for i in range(old[PATTERN_MASK] + 1):
        pattern = _i64(old, PATTERN_SLOTS)[i]
        if pattern >= 0:
            codes = carray(_pointer(fresh[PATTERNS] + 8 * (pattern + 2)), (data[pattern],), np.int64)
            place = hash_of(codes, data[pattern]) & fresh[PATTERN_MASK]
            while slots[place] >= 0:
                place = (place + 1) & fresh[PATTERN_MASK]
            slots[place] = pattern
            fresh[N_PATTERNS] += 1
    entries, taken, keys, held = _i64(old, ENTRIES), _i64(fresh, ENTRIES), _i32(old, KEYS_HELD), _i32(fresh, KEYS_HELD)
    for i in range(old[N_ENTRIES]):
        at = i * ENTRY_STRIDE
        if entries[at + 2] >= since:
            n, start, length = fresh[N_ENTRIES], fresh[N_KEY_WORDS], entries[at + 4]
            for j in range(length):
                held[start + j] = keys[entries[at + 3] + j]
            for j in range(ENTRY_STRIDE):
                taken[n * ENTRY_STRIDE + j] = entries[at + j]
            taken[n * ENTRY_STRIDE + 3] = start
            place = entries[at] & fresh[ENTRY_MASK]
            while _i64(fresh, ENTRY_SLOTS)[place] >= 0:
                place = (place + 1) & fresh[ENTRY_MASK]
            _i64(fresh, ENTRY_SLOTS)[place] = n
            fresh[N_ENTRIES] += 1
            fresh[N_KEY_WORDS] += length
    stamps, hashes = _i64(old, ROW_STAMPS), _i64(old, ROW_HASHES)
    for row in range(old[ROW_CAPACITY]):
        _i64(fresh, ROW_STAMPS)[row] = stamps[row] if stamps[row] >= since else np.int64(-1)
        if stamps[row] >= since and stamps[row] >= 0:
            _i64(fresh, ROW_HASHES)[row] = hashes[row]
            _i64(fresh, ROW_ADDRESSES)[row] = _i64(old, ROW_ADDRESSES)[row]
            place = (hashes[row] >> 1) & fresh[ENTRY_MASK]
            while _i64(fresh, ROW_SLOTS)[place] >= 0:
                place = (place + 1) & fresh[ENTRY_MASK]
            _i64(fresh, ROW_SLOTS)[place] = row
