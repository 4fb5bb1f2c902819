"""The byte automaton: expressions as states with dense rows, made when a walk first meets them.

A state is one expression in one frame. Building it turns `moves.moves` into a row of 256 targets: a state,
nothing, or a list of alternatives that push frames. Literals live in a byte pool and need no rows; an object's keys are
walked in a shared key trie, with the keys still open as bits, so a new set of open keys costs one small instance.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from . import kernels as k
from .byte_masks import bytes_of, words_of
from .choices import WIDE_BYTES, Frames, called, is_joined, known_body, plan_of, split_frames
from .counted import MAX_REACH, Count, build_chain, count_of
from .counting import clamp_counts
from .derivatives import heads, is_known_live
from .empty_text import nullable
from .expressions import (
    EMPTY,
    EPSILON,
    K_ALT,
    K_ANCHOR,
    K_CALL,
    K_KEYS,
    K_REPEAT,
    K_SEQ,
    K_SET,
    WAYS,
    Expr,
    intern_node,
    lit,
    literal_bytes,
    seq_parts,
)
from .left_recursion import check_left_recursion
from .less_words import Less, less_of, less_targets
from .object_states import MUST_BUILD, ObjectStates
from .tables import Tables

FEW_BYTES = 8  # are written one by one: an index array takes longer
EAGER_STATES = 16  # how many states of a regular frame are built at once, breadth first


class Automaton:
    """States of all constraints over one vocabulary. Not thread-safe by itself: the engine holds a lock."""

    eager_states = EAGER_STATES
    takes_over = True  # states that were built with a grammar

    def __init__(self, tables: Tables, longest_token: int, wide_bytes: int = WIDE_BYTES) -> None:
        self.tables = tables
        self.wide_bytes = wide_bytes
        self.longest_token = longest_token
        self.exprs: list[Expr | None] = []
        self.ids: dict[Expr, int] = {}  # codes of expressions, and of byte strings
        self.literals: dict[bytes, int] = {}
        self._seqs: dict[tuple[tuple[int, ...], ...], int] = {}
        self.objects = ObjectStates(self)
        self.clamped_states: dict[int, int] = {}  # as far as they were asked for
        self.anchors: dict[int, str] = {}  # state -> the kind of a tracked node (`unique`) that it closes
        self.counted: dict[Count, int] = {}  # states of chains of counts, and back
        self.count_at: dict[int, Count] = {}
        self.less_at: dict[int, Less] = {}  # states inside frames less finitely many words
        self.n_built = 0
        assert self._new_state(EPSILON) == k.EPSILON_STATE
        self.build(k.EPSILON_STATE)
        assert self.reserve_states(1) == k.BELOW_STATE
        self._build_row(k.BELOW_STATE, {})

    @property
    def n_exprs(self) -> int:
        """How many states have an expression; those that are only reserved take their place in the arrays."""
        return len(self.ids)

    # --- codes ----------------------------------------------------------------------------------------------------

    def code_of(self, expr: Expr) -> int:
        """The code of an expression as a frame."""
        expr = known_body(expr)
        if expr is EPSILON:
            return k.EPSILON_STATE
        if expr.kind == K_KEYS and expr.data[3] == 0 and expr.data[0].is_plain:
            return self.objects.code_of(expr)
        text = literal_bytes(expr)
        if text is not None:
            return self.code_of_literal(text)
        found = self.ids.get(expr)
        if found is None:
            count = count_of(expr)
            found = self.counted.get(count) if count is not None else None
            if found is None:
                found = self._new_state(expr)
                if count is not None:
                    self.counted[count], self.count_at[found] = found, count
            self.ids[expr] = found
            if expr.memo_states is not None and self.takes_over:
                expr.memo_states.enter(self)
        return found

    def code_of_count(self, count: Count) -> int:
        """The code of a counted repetition, whose expression is only made where it is new."""
        found = self.counted.get(count)
        return self.code_of(count.expr) if found is None else found

    def code_of_literal(self, text: bytes) -> int:
        found = self.literals.get(text)
        if found is None:
            found = k.LIT_BASE + self.tables.lits.extend([*text, k.LIT_END])
            self.literals[text] = found
        return found

    def _new_state(self, expr: Expr) -> int:
        state = self.reserve_states(1)
        self.exprs[state] = expr
        is_open = expr.has_call and not (expr.kind == K_KEYS and expr.data[0].is_plain)  # it may take making rules
        self.tables.state_nullable.array[state] = MUST_BUILD if is_open else expr.memo_nullable
        if expr.kind == K_ANCHOR:
            self.anchors[state] = expr.data
            self.tables.state_flags.array[state] = k.FLAG_ANCHOR
            self.tables.keep_stacks_apart()  # what came belongs to one stack each
        return state

    def mend(self) -> None:
        """After an interrupt: what stands side by side is equally much again."""
        self.tables.mend()
        self.exprs.extend([None] * (self.tables.state_kind.n - len(self.exprs)))
        self.objects.mend()

    def reserve_states(self, n: int) -> int:
        """Codes of n new states; returns the first."""
        first = self.tables.reserve_states(n)
        self.exprs.extend([None] * n)
        return first

    def expr_of(self, code: int) -> Expr:
        """The expression that a code stands for; inverse of `code_of`, also inside literals and keys."""
        if code >= k.KEY_BASE:
            instance, node = (code - k.KEY_BASE) >> k.KEY_SHIFT, (code - k.KEY_BASE) & ((1 << k.KEY_SHIFT) - 1)
            place, open_keys, n_members = self.objects.situations[instance]
            return intern_node(K_KEYS, (), (place.spec, open_keys, n_members, node))
        if code >= k.LIT_BASE:
            lits, at = self.tables.lits.array, code - k.LIT_BASE
            end = at
            while lits[end] != k.LIT_END:
                end += 1
            return lit(bytes(lits[at:end].astype(np.uint8)))
        expr = self.exprs[code]
        if expr is None:
            made = self.count_at.get(code) or self.less_at.get(code)
            return self.objects.reserved_expr(code) if made is None else made.expr
        return expr

    # --- building -------------------------------------------------------------------------------------------------

    def build(self, state: int) -> None:
        """Give a state its row (or its key instance, or the state it is an alias of)."""
        tables = self.tables
        if tables.state_kind.array[state] != k.UNBUILT:
            return
        expr = self.exprs[state]
        if expr is None:
            if state in self.count_at:
                build_chain(self, state, self.count_at[state])
            elif state in self.objects.at_state:
                self.objects.build_keys(state)
            elif state in self.less_at:
                self._build_row(state, less_targets(self, state, self.less_at[state]))
            else:
                self.objects.build_after(state)
            return
        self.n_built += 1
        if expr.kind == K_KEYS and expr.data[0].is_plain:
            tables.state_row.array[state] = self.objects.instance(expr)
            tables.state_self.row(state)[0] = expr.data[3]
            tables.state_kind.array[state] = k.KEYS
        elif expr.kind == K_CALL and expr.data.name == WAYS:
            body = expr.data.body
            self._enter_choices(state, [self.frames(arg) for arg in (body.args if body.kind == K_ALT else (body,))])
        elif expr.kind == K_CALL:
            check_left_recursion(expr)
            self.build_alias(state, expr.data.body)
        elif expr.kind == K_SEQ and expr.has_call and not (is_joined(expr) or _is_tangled(expr)):
            codes = self.frames(expr)
            tables.state_row.array[state] = tables.seqs.extend([len(codes), *codes])
            tables.state_kind.array[state] = k.SPLIT
            if self.ids.get(expr) != state:  # what follows a key, which tokens run into: the value is asked for next
                for code in codes:
                    if code < k.LIT_BASE:
                        self.build(code)
        elif expr.has_call:
            check_left_recursion(expr)
            self._build_choices(state, expr)
        else:
            self._build_regular(state)

    def frames(self, expr: Expr) -> list[int]:
        """The codes of the frames that an expression stands for."""
        return [self.code_of(frame) for frame in split_frames(expr)]

    def build_alias(self, state: int, expr: Expr) -> None:
        """A state that is another one; that one is built too, as it is needed next."""
        tables = self.tables
        target = self.code_of(expr)
        tables.state_row.array[state] = target
        tables.state_kind.array[state] = k.ALIAS
        if target < k.LIT_BASE:
            self.build(target)

    def _build_choices(self, state: int, expr: Expr) -> None:
        """A row, and apart from it what is better a frame of its own; or alternatives that stay calls, whose states
        (and what is known of their masks) all places share where they are called."""
        calls, rest = called(expr)
        if calls:
            lists = [self.frames(arg) for arg in calls] + ([self.frames(rest)] if rest is not EMPTY else [])
            self._enter_choices(state, lists)
            for codes in lists:
                if codes[0] < k.LIT_BASE:
                    self.build(codes[0])
            return
        plan = plan_of(expr, self.wide_bytes)
        row_state = self.reserve_states(1) if plan.apart else state
        self.exprs[row_state] = expr
        self.tables.state_nullable.array[row_state] = nullable(expr)
        targets: dict[int, int] = {}
        for mask, several in plan.groups:
            targets[mask] = self._target(several)
        self._build_row(row_state, targets)
        if plan.apart:
            self._enter_choices(state, [[row_state], *(list(map(self.code_of, frames)) for frames in plan.apart)])

    def _enter_choices(self, state: int, lists: list[list[int]]) -> None:
        """Make a state one that stands for several stacks of frames."""
        flat = [len(lists), *(item for codes in lists for item in (len(codes), *codes))]
        self.tables.state_row.array[state] = self.tables.seqs.extend(flat)
        self.tables.state_kind.array[state] = k.CHOICES

    def _build_regular(self, state: int) -> None:
        """A call-free frame: its states are built breadth first, up to a bound."""
        work, built = [state], 0
        while work and built < self.eager_states:
            following = []
            for here in work:
                if self.tables.state_kind.array[here] != k.UNBUILT:
                    continue
                expr = self.exprs[here]
                assert expr is not None
                if here in self.count_at:
                    build_chain(self, here, self.count_at[here])
                    built += 1
                    continue
                less = less_of(expr)
                if less is not None:
                    self._build_row(here, less_targets(self, here, less))
                    built += 1
                    continue
                targets = {mask: self.code_of(after) for mask, after in heads(expr) if self.is_live(after)}
                self._build_row(here, targets)
                built += 1
                if self._note_count(here, expr):
                    continue  # masks walk from the other state
                following += [target for target in targets.values() if 0 <= target < k.LIT_BASE]
            work = following

    def is_live(self, expr: Expr) -> bool:
        """Whether a frame can be completed; counts that cannot run out do not matter for that."""
        if expr.plain:
            return expr is not EMPTY
        return bool(expr.memo_nullable or expr.memo_live or is_known_live(clamp_counts(expr, self.longest_token)))

    def _note_count(self, state: int, expr: Expr) -> bool:
        """Which state has the same mask, and how many bytes of a counted set may follow. Whether it is another one."""
        clamped = self.clamp(state)
        if clamped != state:
            self.tables.state_clamp.array[state] = clamped
        count = seq_parts(expr)[0]
        if count.kind == K_REPEAT and count.args[0].kind == K_SET and count.data[1] is not None:
            self.tables.state_self.row(state)[:] = words_of(count.args[0].data)
            self.tables.state_reach.array[state] = min(count.data[1], MAX_REACH)
        return clamped != state

    def _build_row(self, state: int, targets: dict[int, int]) -> None:
        tables = self.tables
        index = tables.rows.reserve(1)
        row, union, own = tables.rows.row(index), 0, 0
        row.fill(k.DEAD)
        for mask, target in targets.items():
            union |= mask
            if target == state:
                own |= mask
            if mask.bit_count() > FEW_BYTES:
                row[bytes_of(mask)] = target
                continue
            while mask:
                row[(mask & -mask).bit_length() - 1] = target
                mask &= mask - 1
        if own:
            tables.state_reach.array[state] = k.REACH_ALL
            tables.state_self.row(state)[:] = words_of(own)
        tables.state_live.row(state)[:] = words_of(union)
        tables.state_row.array[state] = index
        if union.bit_count() >= self.wide_bytes:
            tables.state_flags.array[state] |= k.FLAG_WIDE
        tables.state_kind.array[state] = k.ROW

    def _target(self, choices: Iterable[Frames]) -> int:
        """The code of alternatives: of one frame, or of a list of stacks."""
        coded = tuple(
            sorted({tuple(self.code_of(frame) for frame in frames) or (k.EPSILON_STATE,) for frames in choices})
        )
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

    # --- masks of counting states ---------------------------------------------------------------------------------

    def clamp(self, state: int) -> int:
        """A state with the same mask in which counts beyond the longest token are gone, so that masks are shared.

        A token of at most L bytes cannot use up more than L repetitions: {lo, hi} acts as {min(lo, L+1), unbounded}
        where hi exceeds L.
        """
        found = self.clamped_states.get(state)
        if found is None:
            expr = self.exprs[state] if state < k.LIT_BASE else None
            found = state
            count = self.count_at.get(state)
            if count is not None:
                found = self.code_of_count(count.clamped(self.longest_token))
            elif expr is not None and not expr.has_call:
                code = self.code_of(clamp_counts(expr, self.longest_token))
                found = code if 0 <= code < k.LIT_BASE else state
            self.clamped_states[state] = found
        return found


def _is_tangled(expr: Expr) -> bool:
    """Whether a sequence may end everywhere and its first part has frames: taken apart it would be all its parts at
    once, each on top of all ways to go on; so it is one state."""
    return expr.args[0].has_call and all(map(nullable, seq_parts(expr)))
