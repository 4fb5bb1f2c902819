"""Plain-Python twins of the kernels: the same arguments and answers, over the same arrays, without memos or short cuts.

A twin takes the engine's `Tables` where the kernel takes their addresses. States that are not built yet are built by
`build_all` beforehand, so a twin never asks for anything.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tokenizer_align import kernels as k
from tokenizer_align.engine import Engine, Heads
from tokenizer_align.tables import Tables

Head = tuple[int, int]


def close_heads(tables: Tables, heads: list[Head]) -> list[Head]:
    """The heads, what aliases and sequences stand for, and all that lies below frames that may end, without finished
    frames; one head for each code, or for each stack where these are kept apart."""
    found: dict[object, Head] = {}
    apart = tables.ctx[k.JOIN_CAPACITY] == 0
    work = list(heads)
    while work:
        code, stack = work.pop()
        place: object = (code, stack) if apart else code
        joined = join_stacks(tables, found[place][1], stack) if place in found and not apart else stack
        if found.get(place) == (code, joined):
            continue
        found[place] = code, joined
        if not 0 <= code < k.LIT_BASE:
            continue
        if tables.state_kind.array[code] >= k.ALIAS:
            work += _stands_for(tables, code, joined)
        elif tables.state_nullable.array[code] == 1:
            work += [
                (k.ACCEPT, -1) if member < 0 else (int(tables.cell_state[member]), int(tables.cell_parent[member]))
                for member in members(tables, joined)
            ]
    return [(code, stack) for code, stack in found.values() if not _is_dropped(tables, code)]


def _is_dropped(tables: Tables, code: int) -> bool:
    return code == k.EPSILON_STATE or (0 <= code < k.LIT_BASE and tables.state_kind.array[code] >= k.ALIAS)


def _stands_for(tables: Tables, code: int, stack: int) -> list[Head]:
    """The heads that an alias, a sequence or a choice of sequences stands for."""
    kind, at = int(tables.state_kind.array[code]), int(tables.state_row.array[code])
    if kind == k.ALIAS:
        return [(at, stack)]
    seqs, found = tables.seqs.array.tolist(), []
    n_choices, at = (seqs[at], at + 1) if kind == k.CHOICES else (1, at)
    for _ in range(n_choices):
        top, *below = seqs[at + 1 : at + 1 + seqs[at]]
        cell = stack
        for state in reversed(below):
            cell = push(tables, state, cell)
        found.append((top, cell))
        at += 1 + seqs[at]
    return found


def members(tables: Tables, stack: int) -> list[int]:
    """The members of a set of stacks: cells, and -1 for the bottom."""
    found = []
    while stack >= 0 and tables.cell_state[stack] < 0:
        found.append(-2 - int(tables.cell_state[stack]))
        stack = int(tables.cell_parent[stack])
    return [*found, stack]


def join_stacks(tables: Tables, a: int, b: int) -> int:
    """The union of two sets of stacks, state by state."""
    below: dict[int, int] = {}
    has_bottom = False
    for member in members(tables, a) + members(tables, b):
        if member < 0:
            has_bottom = True
            continue
        state, parent = int(tables.cell_state[member]), int(tables.cell_parent[member])
        below[state] = join_stacks(tables, below[state], parent) if below.get(state, parent) != parent else parent
    cells = [push(tables, state, below[state]) for state in sorted(below)]
    result = -1 if has_bottom else cells.pop(0)
    for cell in cells:
        result = push(tables, -2 - cell, result)
    return result


def push(tables: Tables, state: int, parent: int) -> int:
    """The cell (state, parent), by linear search; made where it is new."""
    n = int(tables.counts.array[0])
    found = np.flatnonzero((tables.cell_state[:n] == state) & (tables.cell_parent[:n] == parent))
    if len(found):
        return int(found[0])
    cell = int(k.push_cell(tables.ctx, np.int64(state), np.int64(parent)))
    while cell < 0:
        tables.make_room()
        cell = int(k.push_cell(tables.ctx, np.int64(state), np.int64(parent)))
    return cell


def _literal_step(tables: Tables, code: int, byte: int) -> int:
    lits = tables.lits.array
    if lits[code - k.LIT_BASE] != byte:
        return k.DEAD
    return k.EPSILON_STATE if lits[code + 1 - k.LIT_BASE] == k.LIT_END else code + 1


def emit(tables: Tables, head: Head, byte: int) -> list[Head]:
    """The heads that one head becomes when it reads a byte, not closed."""
    code, stack = head
    if code < 0:
        return []
    if code >= k.KEY_BASE:
        return _emit_key(tables, code, stack, byte)
    if code >= k.LIT_BASE:
        target = _literal_step(tables, code, byte)
        return [] if target == k.DEAD else [(target, stack)]
    row = int(tables.state_row.array[code])
    if tables.state_kind.array[code] == k.KEYS:
        node = int(tables.state_self.row(code)[0])
        return _emit_key(tables, k.KEY_BASE + (row << k.KEY_SHIFT) + node, stack, byte)
    assert tables.state_kind.array[code] == k.ROW, "a state that is not built"
    target = int(tables.rows.array[row * 256 + byte])
    if target >= 0:
        return [(target, stack)]
    if target == k.DEAD:
        return []
    result, at = [], -target - 2
    seqs = tables.seqs.array.tolist()
    choices, at = seqs[at], at + 1
    for _ in range(choices):
        size = seqs[at]
        cell = stack
        for state in reversed(seqs[at + 2 : at + 1 + size]):
            cell = push(tables, state, cell)
        result.append((seqs[at + 1], cell))
        at += 1 + size
    return result


def _emit_key(tables: Tables, code: int, stack: int, byte: int) -> list[Head]:
    index, node = (code - k.KEY_BASE) >> k.KEY_SHIFT, (code - k.KEY_BASE) & ((1 << k.KEY_SHIFT) - 1)
    root, bits, n_words, extra, after, first_rest, n_keys, _ = tables.instances.row(index).tolist()
    allowed = sum(int(tables.key_bits.array[bits + i]) << (64 * i) for i in range(n_words))
    child = int(tables.key_child.array[root + node])
    while child >= 0 and tables.key_byte.array[child] != byte:
        child = int(tables.key_sibling.array[child])
    if child >= 0:
        lo, hi, ends = (int(pool.array[child]) for pool in (tables.key_lo, tables.key_hi, tables.key_ends))
        is_open = bool(allowed & ((1 << hi) - (1 << lo)))
        if ends >= 0:
            rest = int(tables.key_rests.array[first_rest + ends])
            return [(rest, push(tables, after + ends, stack))] if is_open else []
        goes_on = is_open or (extra and tables.key_extra.array[child] >= 0)
        return [(code - node + (child - root), stack)] if goes_on else []
    state = int(tables.key_extra.array[root + node]) if extra else -1
    if state < 0:
        return []
    if state >= k.LIT_BASE:
        target = _literal_step(tables, state, byte)
    else:
        target = int(tables.rows.array[int(tables.state_row.array[state]) * 256 + byte])
    if target == k.DEAD:
        return []
    below = after + n_keys
    return [(below, stack)] if target == k.EPSILON_STATE else [(target, push(tables, below, stack))]


def step(tables: Tables, heads: list[Head], byte: int) -> list[Head]:
    return close_heads(tables, [after for head in heads for after in emit(tables, head, byte)])


def run_bytes(tables: Tables, heads: Heads, text: bytes) -> list[Head]:
    """The closed heads after the bytes."""
    here = list(heads)
    for byte in text:
        here = step(tables, here, byte)
    return here


def walk(tables: Tables, heads: Heads, mask: npt.NDArray[np.uint32]) -> None:
    """Set the bits of all tokens that the heads can read whole, node by node from the root of the vocabulary's trie."""
    work: list[tuple[int, list[Head]]] = [(0, list(heads))]
    while work:
        node, here = work.pop()
        child = node + 1
        while child < tables.trie_end.array[node]:
            after = step(tables, here, int(tables.trie_byte.array[child]))
            if after:
                start, end = tables.trie_token_start.array[child : child + 2].tolist()
                for token in tables.trie_token_ids.array[start:end].tolist():
                    mask[token >> 5] |= np.uint32(1 << (token & 31))
                work.append((child, after))
            child = int(tables.trie_end.array[child])


def walk_head(tables: Tables, code: int, mask: npt.NDArray[np.uint32]) -> list[int]:
    """The same for a head over a state that reads nothing; returns the nodes where that is open and tokens go on."""
    heads, exits = [(code, push(tables, k.BELOW_STATE, -1))], []
    walk(tables, heads, mask)
    work = [(0, heads)]
    while work:
        node, here = work.pop()
        is_whole = any(0 < one < k.LIT_BASE and _keeps_going(tables, node, one) for one, _ in here)
        if any(one == k.BELOW_STATE for one, _ in here) and not is_whole:
            exits.append(node)
        if not is_whole:
            below = [(c, step(tables, here, int(tables.trie_byte.array[c]))) for c in children(tables, node)]
            work += [(c, after) for c, after in below if after and children(tables, c)]
    return sorted(exits)


def _keeps_going(tables: Tables, node: int, state: int) -> bool:
    """Whether a state stays as it is behind every byte below a node."""
    if tables.state_kind.array[state] != k.ROW:
        return False
    last = int(tables.trie_end.array[node])
    bytes_below = {int(byte) for byte in tables.trie_byte.array[node + 1 : last]}
    own = int.from_bytes(tables.state_self.row(state).tobytes(), "little")
    high = int(tables.trie_height.array[node]) <= int(tables.state_reach.array[state])
    return high and all(own >> byte & 1 for byte in bytes_below)


def live_bytes(tables: Tables, heads: Heads) -> int:
    """Which bytes the heads can read (256-bit mask)."""
    return sum(1 << byte for byte in range(256) if any(emit(tables, head, byte) for head in heads))


def forced_run(tables: Tables, heads: Heads, limit: int) -> tuple[bytes, list[Head]]:
    """The bytes that are the only way on, and the heads behind them."""
    here, out = list(heads), b""
    while len(out) < limit and (k.ACCEPT, -1) not in here:
        live = live_bytes(tables, tuple(here))
        if live.bit_count() != 1:
            break
        out += bytes([live.bit_length() - 1])
        here = step(tables, here, out[-1])
    return out, here


def walk_frame(
    tables: Tables, start: int, state: int, later: int, mask: npt.NDArray[np.uint32]
) -> tuple[list[int], list[int]]:
    """Tokens below a trie node that the state can read whole, into the mask; the children, by bytes outside of `later`
    (256-bit mask), of nodes where the frame may end; the nodes that pushing leads to and that tokens go on at."""
    edges: list[int] = []
    pushed: list[int] = []
    work = [(start, state)]
    while work:
        node, code = work.pop()
        may_end = node != start and code < k.LIT_BASE and tables.state_nullable.array[code] == 1
        for child in children(tables, node):
            byte = int(tables.trie_byte.array[child])
            if may_end and not later >> byte & 1:
                edges.append(child)
            after = emit(tables, (code, -1), byte)
            first, last = tables.trie_token_start.array[child : child + 2].tolist()
            for token in tables.trie_token_ids.array[first:last].tolist() if after else ():
                mask[token >> 5] |= np.uint32(1 << (token & 31))
            if after and tables.trie_end.array[child] > child + 1:
                if len(after) == 1 and after[0][1] < 0:
                    work.append((child, after[0][0]))
                else:
                    pushed.append(child)
    return edges, pushed


def children(tables: Tables, node: int) -> list[int]:
    """The children of a trie node."""
    found, child = [], node + 1
    while child < tables.trie_end.array[node]:
        found.append(child)
        child = int(tables.trie_end.array[child])
    return found


def loop_bytes(tables: Tables, state: int) -> int:
    """The bytes (256-bit mask) with which a state, or one it leads to, goes on as it is though its frame may end.

    States that begin with a count are left out: what is kept for them says how far the count reaches.
    """
    row = tables.rows.row(int(tables.state_row.array[state])).tolist()
    found = 0
    for target in {state, *row}:
        ends = 0 < target < k.LIT_BASE and tables.state_nullable.array[target] == 1 and tables.state_kind.array[target]
        if ends and tables.state_reach.array[target] == k.REACH_ALL:
            own = tables.rows.row(int(tables.state_row.array[target])).tolist()
            found |= sum(1 << byte for byte in range(256) if own[byte] == target)
    return found


def texts_below(tables: Tables, edges: list[int]) -> list[tuple[bytes, int]]:
    """(text, id) of every token at or below trie nodes, the text from the node's own byte on; in no order."""
    found = []
    for edge in edges:
        work = [(edge, bytes([int(tables.trie_byte.array[edge])]))]
        while work:
            node, text = work.pop()
            first, last = tables.trie_token_start.array[node : node + 2].tolist()
            found += [(text, token) for token in tables.trie_token_ids.array[first:last].tolist()]
            work += [(child, text + bytes([int(tables.trie_byte.array[child])])) for child in children(tables, node)]
    return found


def find_nodes(tables: Tables, node: int, word: tuple[int, ...]) -> list[int]:
    """The trie nodes below `node` that a word of byte sets (256-bit masks) leads to."""
    here = [node]
    for mask in word:
        here = [
            child for node in here for child in children(tables, node) if mask >> int(tables.trie_byte.array[child]) & 1
        ]
    return here


def subtree_masks(ends: list[int], trie_bytes: list[int]) -> list[int]:
    """For every node the set of bytes strictly below it, as 256-bit masks."""
    return [sum({1 << trie_bytes[below] for below in range(node + 1, end)}) for node, end in enumerate(ends)]


def subtree_heights(ends: list[int]) -> list[int]:
    """How many levels lie below each node."""

    def height(node: int) -> int:
        child, best = node + 1, 0
        while child < ends[node]:
            best = max(best, height(child) + 1)
            child = ends[child]
        return best

    return [height(node) for node in range(len(ends))]


def count_children(ends: list[int]) -> list[int]:
    """How many children each node has."""
    counts = []
    for node, end in enumerate(ends):
        child, n = node + 1, 0
        while child < end:
            child, n = ends[child], n + 1
        counts.append(n)
    return counts


def fewest_tokens(tokens: list[bytes | None], text: bytes) -> list[int]:
    """Fewest tokens that spell text[i:] for every i; -1 where none do."""
    best = [-1] * len(text) + [0]
    for at in range(len(text) - 1, -1, -1):
        counts = [best[at + len(t)] + 1 for t in tokens if t and text.startswith(t, at) and best[at + len(t)] >= 0]
        best[at] = min(counts, default=-1)
    return best


def build_all(engine: Engine, heads: Heads, text: bytes) -> None:
    """Build every state that reading the text, and any one token after it, can meet."""
    here = heads
    for byte in text:
        engine.mask(here)
        here = engine.run(here, np.frombuffer(bytes([byte]), np.uint8))
        engine.live_bytes(here)
    for data in engine.vocabulary.token_bytes:
        if data:
            engine.run(here, np.frombuffer(data, np.uint8))
    engine.mask(here)


Counts = dict[int, int]  # token id -> items begun


def walk_counted(tables: Tables, start: int, state: int, opening: int) -> tuple[Counts, Counts, dict[int, int]] | None:
    """Items begun by tokens below a trie node that end in the items of `item* tail`, and in the tail; the nodes where
    the frame may end with theirs. None for a frame that pushes."""
    inside: Counts = {}
    in_tail: Counts = {}
    exits: dict[int, int] = {}
    work = [(start, state, 0, False)]
    while work:
        node, code, count, is_tail = work.pop()
        child = node + 1
        while child < tables.trie_end.array[node]:
            byte = int(tables.trie_byte.array[child])
            for target, stack in emit(tables, (code, -1), byte):
                if stack >= 0:
                    return None
                n, after_tail = count, is_tail
                if code == state and not is_tail:
                    after_tail = not opening >> byte & 1
                    n += not after_tail
                first, last = tables.trie_token_start.array[child : child + 2].tolist()
                for token in tables.trie_token_ids.array[first:last].tolist():
                    (in_tail if after_tail else inside)[token] = n
                if tables.trie_end.array[child] > child + 1:
                    if target < k.LIT_BASE and tables.state_nullable.array[target] == 1:
                        exits[child] = n
                    work.append((child, target, n, after_tail))
            child = int(tables.trie_end.array[child])
    return inside, in_tail, exits
