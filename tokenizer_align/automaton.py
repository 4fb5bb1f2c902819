"""The byte automaton: expressions as states with dense rows, made when a walk first meets them.

A state is one expression in one frame. Building it turns `derivatives.moves` into a row of 256 targets: a state,
nothing, or a list of alternatives that push frames. Literals live in a byte pool and need no rows; an object's keys are
walked in a shared key trie, with the keys still open as bits, so a new set of open keys costs one small instance.
"""

from __future__ import annotations

import bisect
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .counting import clamp_counts, is_large, is_prefix_free
from .derivatives import heads, is_known_live, moves, nullable, one_less
from .expressions import (
    EPSILON,
    K_ANCHOR,
    K_KEYS,
    K_REPEAT,
    K_SEQ,
    K_SET,
    Expr,
    alt,
    intern_node,
    lit,
    literal_bytes,
    seq,
    seq_parts,
)
from .members import MemberSpec, after_extra, after_key, after_member, extra_state, open_ways, plain_extra_state
from .tables import Tables

WIDE_BYTES = 48  # a state that reads at least so many bytes is worth a memo over the whole trie
EAGER_STATES = 48  # how many states of a regular frame are built at once, breadth first

Frames = tuple[Expr, ...]


@lru_cache(maxsize=4096)
def bytes_of(mask: int) -> npt.NDArray[np.intp]:
    """The members of a 256-bit mask as an index array."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask.to_bytes(32, "little"), np.uint8), bitorder="little"))


def words_of(mask: int) -> npt.NDArray[np.uint64]:
    """A 256-bit mask as four words."""
    return np.frombuffer(mask.to_bytes(32, "little"), np.uint64)


class Automaton:
    """States of all constraints over one vocabulary. Not thread-safe by itself: the engine holds a lock."""

    def __init__(self, tables: Tables, longest_token: int, wide_bytes: int = WIDE_BYTES) -> None:
        self.tables = tables
        self.wide_bytes = wide_bytes
        self.longest_token = longest_token
        self.exprs: list[Expr | None] = []
        self._ids: dict[Expr, int] = {}
        self._literals: dict[bytes, int] = {}
        self._seqs: dict[tuple[tuple[int, ...], ...], int] = {}
        self._specs: dict[MemberSpec, tuple[int, int]] = {}  # -> (root of its key trie, first rest code)
        self._instances: dict[tuple[MemberSpec, int, int], int] = {}
        self.instance_nodes: list[Expr] = []
        self._reserved_starts: list[int] = []
        self._reserved: list[Expr] = []  # the K_KEYS node whose after-codes start there
        self._clamped: dict[int, int] = {}
        self.anchors: dict[int, str] = {}  # state -> the kind of a tracked node (`unique`) that it closes
        self.n_built = 0
        assert self._new_state(EPSILON) == k.EPSILON_STATE
        self.build(k.EPSILON_STATE)

    # --- codes ----------------------------------------------------------------------------------------------------

    def code_of(self, expr: Expr) -> int:
        """The code of an expression as a frame."""
        if expr is EPSILON:
            return k.EPSILON_STATE
        text = literal_bytes(expr)
        if text is not None:
            return self._literal(text)
        found = self._ids.get(expr)
        if found is None:
            found = self._new_state(expr)
            self._ids[expr] = found
        return found

    def _literal(self, text: bytes) -> int:
        found = self._literals.get(text)
        if found is None:
            found = k.LIT_BASE + self.tables.lits.extend([*text, k.LIT_END])
            self._literals[text] = found
        return found

    def _new_state(self, expr: Expr) -> int:
        state = self._reserve_states(1)
        self.exprs[state] = expr
        self.tables.state_nullable.array[state] = nullable(expr)
        if expr.kind == K_ANCHOR:
            self.anchors[state] = expr.data
            self.tables.keep_stacks_apart()  # what came belongs to one stack each
        return state

    def _reserve_states(self, n: int) -> int:
        tables = self.tables
        first = tables.state_kind.reserve(n, k.UNBUILT)
        for pool in (tables.state_row, tables.state_flags, tables.state_self, tables.state_reach):
            pool.reserve(n)
        for pool in (tables.state_clamp, tables.state_live, tables.state_nullable):
            pool.reserve(n)
        self.exprs.extend([None] * n)
        return first

    def expr_of(self, code: int) -> Expr:
        """The expression that a code stands for; inverse of `code_of`, also inside literals and keys."""
        if code >= k.KEY_BASE:
            instance, node = (code - k.KEY_BASE) >> k.KEY_SHIFT, (code - k.KEY_BASE) & ((1 << k.KEY_SHIFT) - 1)
            spec, open_keys, count, _ = self.instance_nodes[instance].data
            return intern_node(K_KEYS, (), (spec, open_keys, count, node))
        if code >= k.LIT_BASE:
            lits, at = self.tables.lits.array, code - k.LIT_BASE
            end = at
            while lits[end] != k.LIT_END:
                end += 1
            return lit(bytes(lits[at:end].astype(np.uint8)))
        expr = self.exprs[code]
        return self._reserved_expr(code) if expr is None else expr

    # --- building -------------------------------------------------------------------------------------------------

    def build(self, state: int) -> None:
        """Give a state its row (or its key instance, or the state it is an alias of)."""
        tables = self.tables
        if tables.state_kind.array[state] != k.UNBUILT:
            return
        expr = self.exprs[state]
        if expr is None:
            target = self.code_of(self._reserved_expr(state))
            tables.state_row.array[state] = target
            tables.state_nullable.array[state] = 0
            tables.state_kind.array[state] = k.ALIAS
            if target < k.LIT_BASE:
                self.build(target)
            return
        self.n_built += 1
        if expr.kind == K_KEYS and expr.data[0].is_plain:
            tables.state_row.array[state] = self._instance(expr)
            tables.state_self.row(state)[0] = expr.data[3]
            tables.state_kind.array[state] = k.KEYS
        elif expr.has_call:
            self._build_row(state, self._group(expr))
        else:
            self._build_regular(state)

    def _build_regular(self, state: int) -> None:
        """A call-free frame: its states are built breadth first, up to a bound."""
        work, built = [state], 0
        while work and built < EAGER_STATES:
            following = []
            for here in work:
                if self.tables.state_kind.array[here] != k.UNBUILT:
                    continue
                expr = self.exprs[here]
                assert expr is not None
                targets = self._counted_targets(expr)
                if targets is None:
                    targets = {mask: self.code_of(after) for mask, after in heads(expr) if self._is_live(after)}
                self._build_row(here, targets)
                built += 1
                if self._note_count(here, expr):
                    continue  # masks walk from the other state
                following += [target for target in targets.values() if 0 <= target < k.LIT_BASE]
            work = following

    def _counted_targets(self, expr: Expr) -> dict[int, int] | None:
        """Targets of a large count: the item runs in a frame of its own above the rest of the count.

        So a count costs one state, not one for each place inside an item. Only where that is deterministic: no text of
        the item begins another one or shares a first byte with what may follow.
        """
        count, *tail = seq_parts(expr)
        if count.kind != K_REPEAT or count.args[0].kind == K_SET or not is_large(count, self.longest_token):
            return None
        item, rest = count.args[0], seq(one_less(count), *tail)
        following = (
            [(mask, after) for mask, after in heads(seq(*tail)) if is_known_live(after)] if not count.data[0] else []
        )
        opening = [(mask, after) for mask, after in heads(item) if is_known_live(after)]
        if any(mask & other for mask, _ in opening for other, _ in following) or not is_prefix_free(item):
            return None
        targets = {mask: self.code_of(after) for mask, after in following}
        for mask, after in opening:
            code = self.code_of(rest) if after is EPSILON else self._target([(after, rest)])
            mask |= next((m for m, c in targets.items() if c == code), 0)
            targets = {m: c for m, c in targets.items() if c != code} | {mask: code}
        return targets

    def _is_live(self, expr: Expr) -> bool:
        """Whether a frame can be completed; counts that cannot run out do not matter for that."""
        return is_known_live(clamp_counts(expr, self.longest_token))

    def _note_count(self, state: int, expr: Expr) -> bool:
        """Which state has the same mask, and how many bytes of a counted set may follow. Whether it is another one."""
        clamped = self.clamp(state)
        if clamped != state:
            self.tables.state_clamp.array[state] = clamped
        count = seq_parts(expr)[0]
        if count.kind == K_REPEAT and count.args[0].kind == K_SET and count.data[1] is not None:
            self.tables.state_self.row(state)[:] = words_of(count.args[0].data)
            self.tables.state_reach.array[state] = count.data[1]
        return clamped != state

    def _build_row(self, state: int, targets: dict[int, int]) -> None:
        tables = self.tables
        index = tables.rows.reserve(1)
        row = tables.rows.row(index)
        row[:] = k.DEAD
        live, own = 0, 0
        for mask, target in targets.items():
            row[bytes_of(mask)] = target
            live |= mask
            if target == state:
                own |= mask
        tables.state_live.row(state)[:] = words_of(live)
        tables.state_self.row(state)[:] = words_of(own)
        tables.state_reach.array[state] = k.REACH_ALL if own else 0
        tables.state_row.array[state] = index
        tables.state_flags.array[state] = k.FLAG_WIDE if live.bit_count() >= self.wide_bytes else 0
        tables.state_kind.array[state] = k.ROW

    def _group(self, expr: Expr) -> dict[int, int]:
        """Moves made disjoint by byte; per byte class one code, or the code of a list of alternatives."""
        parts: list[tuple[int, tuple[Frames, ...]]] = []
        for mask, frames in moves(expr):
            split = []
            for other, several in parts:
                common = other & mask
                if common:
                    split.append((common, (*several, frames)))
                    mask &= ~common
                if other & ~common:
                    split.append((other & ~common, several))
            if mask:
                split.append((mask, (frames,)))
            parts = split
        result: dict[int, int] = {}
        for mask, several in parts:
            code = self._target(_merge(several))
            result = {m: c for m, c in result.items() if c != code} | {
                mask | next((m for m, c in result.items() if c == code), 0): code
            }
        return result

    def _target(self, choices: list[Frames]) -> int:
        if len(choices) == 1:
            choices = [_split_literal(choices[0])]
        coded = tuple(sorted({tuple(self.code_of(frame) for frame in frames) or (0,) for frames in choices}))
        if len(coded) == 1 and len(coded[0]) == 1:
            return coded[0][0]
        found = self._seqs.get(coded)
        if found is None:
            flat = [len(coded)]
            for codes in coded:
                flat += [len(codes), *codes]
            found = -2 - self.tables.seqs.extend(flat)
            self._seqs[coded] = found
        return found

    # --- objects --------------------------------------------------------------------------------------------------

    def _instance(self, node: Expr) -> int:
        """An object in one situation: which keys are open, and the codes reserved for what follows each."""
        spec, open_keys, count, _ = node.data
        found = self._instances.get((spec, open_keys, count))
        if found is not None:
            return found
        tables = self.tables
        root, first_rest = self._spec(spec)
        n_keys = len(spec.members)
        allowed, extra = open_ways(spec, open_keys, count)
        n_words = n_keys // 64 + 1
        offset = tables.key_bits.extend(
            np.array([allowed >> (64 * i) & (2**64 - 1) for i in range(n_words)], np.uint64)
        )
        after = self._reserve_states(n_keys + 1)
        tables.state_nullable.array[after : after + n_keys + 1] = 2
        self._reserved_starts.append(after)
        self._reserved.append(node)
        self.instance_nodes.append(node)
        if extra:
            self._need_extra_states(spec, root)
        index = tables.instances.extend([root, offset, n_words, int(extra), after, first_rest, n_keys, 0])
        self._instances[spec, open_keys, count] = index
        return index

    def _reserved_expr(self, code: int) -> Expr:
        """What a reserved after-code stands for."""
        at = bisect.bisect_right(self._reserved_starts, code) - 1
        spec, open_keys, count, _ = self._reserved[at].data
        rank = code - self._reserved_starts[at]
        if rank == len(spec.members):
            return seq(*after_extra(spec, open_keys, count))
        return after_key(spec, open_keys, count, rank)[-1]

    def _spec(self, spec: MemberSpec) -> tuple[int, int]:
        """The key trie and the codes of what follows each key, made once per specification."""
        found = self._specs.get(spec)
        if found is not None:
            return found
        tables, nodes = self.tables, spec.nodes
        root = tables.key_child.n
        child, sibling, key_byte = [-1] * len(nodes), [-1] * len(nodes), [0] * len(nodes)
        for index, node in enumerate(nodes):
            previous = -1
            for byte, target in node.children.items():
                key_byte[target] = byte
                if previous < 0:
                    child[index] = root + target
                else:
                    sibling[previous] = root + target
                previous = target
        tables.key_child.extend(child)
        tables.key_sibling.extend(sibling)
        tables.key_byte.extend(key_byte)
        tables.key_lo.extend([node.lo for node in nodes])
        tables.key_hi.extend([node.hi for node in nodes])
        tables.key_ends.extend([node.ends for node in nodes])
        tables.key_extra.extend([-1] * len(nodes))
        first_rest = tables.key_rests.extend([self.code_of(member.rest) for _, member in spec.ranked])
        self._specs[spec] = (root, first_rest)
        return self._specs[spec]

    def _need_extra_states(self, spec: MemberSpec, root: int) -> None:
        """For every node of the key trie where an undeclared key may go on: its state after the bytes so far."""
        codes = self.tables.key_extra.array
        if codes[root] >= 0 or spec.extra_key is None:
            return
        for node in range(len(spec.nodes)):
            state = extra_state(spec, node)
            if state is not EPSILON and is_known_live(state):
                codes[root + node] = self.code_of(plain_extra_state(spec, node))

    # --- masks of counting states ---------------------------------------------------------------------------------

    def clamp(self, state: int) -> int:
        """A state with the same mask in which counts beyond the longest token are gone, so that masks are shared.

        A token of at most L bytes cannot use up more than L repetitions: {lo, hi} acts as {min(lo, L+1), unbounded}
        where hi exceeds L.
        """
        found = self._clamped.get(state)
        if found is None:
            expr = self.exprs[state] if state < k.LIT_BASE else None
            found = state
            if expr is not None and not expr.has_call:
                code = self.code_of(clamp_counts(expr, self.longest_token))
                found = code if 0 <= code < k.LIT_BASE else state
            self._clamped[state] = found
        return found


def _merge(choices: tuple[Frames, ...]) -> list[Frames]:
    """Alternatives that differ in one frame only become one whose frame is the union."""
    found = list(dict.fromkeys(choices))
    changed = True
    while changed and len(found) > 1:
        changed = False
        for i in range(len(found)):
            for j in range(i + 1, len(found)):
                joined = _join(found[i], found[j])
                if joined is not None:
                    found[i] = joined
                    del found[j]
                    changed = True
                    break
            if changed:
                break
    return found


def _join(a: Frames, b: Frames) -> Frames | None:
    if a[-1:] != b[-1:] and K_ANCHOR in (frame.kind for frame in (*a[-1:], *b[-1:])):
        return None
    if len(a) == 1 and len(b) == 1:
        return (alt(a[0], b[0]),)
    if not a or not b:
        other = a or b
        return (alt(EPSILON, other[0]),) if len(other) == 1 else None
    if len(a) == len(b):
        different = [i for i in range(len(a)) if a[i] is not b[i]]
        if len(different) == 1 and K_KEYS not in (a[different[0]].kind, b[different[0]].kind):
            i = different[0]
            return (*a[:i], alt(a[i], b[i]), *a[i + 1 :])
    return None


def _split_literal(frames: Frames) -> Frames:
    """A literal in front of a frame with calls is run from the literal pool, the rest stays below it."""
    if frames and frames[0].has_call and frames[0].kind == K_SEQ:
        first, rest = frames[0].args
        if literal_bytes(first) is not None and first.kind != 2:
            return (first, rest, *frames[1:])
    return frames


__all__ = ["Automaton", "after_member", "bytes_of", "words_of"]
