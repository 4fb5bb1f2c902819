"""States of a grammar, built with the grammar and before any vocabulary is at hand.

What a grammar's states do is the same for all vocabularies. They are built once, in an automaton of their own; the
automaton of a vocabulary that meets the grammar takes them over in one go, under codes of its own, and builds what is
left (objects, large counts, names less keywords) when a text comes there, as it does any other state.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .automaton import Automaton
from .choices import WIDE_BYTES
from .counted import Count
from .counting import clamp_counts
from .expressions import K_ANCHOR, K_BOTH, K_KEYS, K_LAZY, K_UNIQUE, Expr
from .tables import Tables

MAX_BUILT = 512  # states, the nearest to the beginning first
MAX_NUMBERS = 1 << 15  # that rows can hold
LONGEST = 16  # bytes of a token; what counts beyond it do depends on the vocabulary
APART = (K_KEYS, K_UNIQUE, K_ANCHOR)  # have codes and tables of their own

Int32Array = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Prebuilt:
    """States by number. What they lead to is a number too: of a state, beyond these of a literal, then of a list of
    alternatives; -1: nothing.

    exprs: of each state, None where it has only a count; is_own: whether it is the state of its expression, or one
    behind it; counts: where there is one. kind, nullable, flags, reach, own, live: as in the tables.
    place: the row, the place in `lists`, or the number of the state that it stands for.
    rows: int16[n_rows, 256]. lists: lists of alternatives and frames, with numbers where `is_number`; starts: where
    those begin that rows lead to.
    """

    exprs: tuple[Expr | None, ...]
    is_own: tuple[bool, ...]
    counts: tuple[Count | None, ...]
    literals: tuple[bytes, ...]
    kind: npt.NDArray[np.uint8]
    nullable: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint8]
    reach: Int32Array
    own: npt.NDArray[np.uint64]
    live: npt.NDArray[np.uint64]
    place: Int32Array
    rows: npt.NDArray[np.int16]
    lists: Int32Array
    is_number: npt.NDArray[np.bool_]
    starts: Int32Array

    def enter(self, automaton: Automaton) -> None:
        """Enter the states into an automaton whose tables nobody reads meanwhile. Those that it has already stay as
        they are, and are built where they were not."""
        if automaton.wide_bytes == WIDE_BYTES and automaton.longest_token >= LONGEST:
            _enter(automaton, self)


class _Sketch(Automaton):
    """An automaton of no vocabulary: what depends on one is not built."""

    eager_states = 1

    def build(self, state: int) -> None:
        expr = self.exprs[state]
        if state in self.count_at if expr is None else _is_buildable(expr):
            super().build(state)


def _is_buildable(expr: Expr) -> bool:
    if expr.has_call:
        return expr.kind not in APART
    return expr.kind not in (K_LAZY, K_BOTH) and clamp_counts(expr, LONGEST) is expr


def prebuild(expr: Expr) -> Prebuilt | None:
    """The states that an expression comes to, as far as no vocabulary is needed; None where they are too many."""
    sketch = _Sketch(Tables(1), LONGEST)
    kinds = sketch.tables.state_kind
    sketch.code_of(expr)
    for state in itertools.count(k.BELOW_STATE + 1):
        if state >= kinds.n or sketch.n_built >= MAX_BUILT:
            break
        if kinds.array[state] == k.UNBUILT:
            sketch.build(state)
    return _Record(sketch).prebuilt()


class _Record:
    """What an automaton has built, with numbers in the place of codes."""

    def __init__(self, sketch: _Sketch) -> None:
        self._sketch, self._tables, self._n = sketch, sketch.tables, sketch.tables.state_kind.n
        self._literals: dict[int, int] = {}  # numbers by code
        self._lists: list[int] = []
        self._is_number: list[bool] = []

    def _number(self, code: int) -> int:
        return code if code < k.LIT_BASE else self._literals.setdefault(code, self._n + len(self._literals))

    def _take_frames(self, at: int) -> int:
        """Copy a list of frames; returns where it stands. Codes lie there side by side, behind how many they are."""
        first, source = len(self._lists), self._tables.seqs.array
        n_codes = int(source[at])
        self._lists += [n_codes, *map(self._number, source[at + 1 : at + 1 + n_codes].tolist())]
        self._is_number += [False, *[True] * n_codes]
        return first

    def _take_choices(self, at: int) -> int:
        """The same for a list of such lists."""
        first, source = len(self._lists), self._tables.seqs.array
        n_lists = int(source[at])
        self._lists.append(n_lists)
        self._is_number.append(False)
        at += 1
        for _ in range(n_lists):
            self._take_frames(at)
            at += 1 + int(source[at])
        return first

    def _places(self, kind: npt.NDArray[np.uint8]) -> Int32Array:
        place: Int32Array = self._tables.state_row.array[: self._n].copy()
        take = {k.ALIAS: self._number, k.SPLIT: self._take_frames, k.CHOICES: self._take_choices}
        for state in np.flatnonzero(np.isin(kind, list(take))).tolist():
            place[state] = take[int(kind[state])](int(place[state]))
        return place

    def _expr(self, state: int) -> Expr | None:
        sketch = self._sketch
        if state in sketch.objects.at_state:
            return sketch.expr_of(state)
        return sketch.exprs[state]

    def prebuilt(self) -> Prebuilt | None:
        sketch, tables, n = self._sketch, self._tables, self._n
        kind = tables.state_kind.array[:n].copy()
        place = self._places(kind)
        rows = tables.rows.array[: 256 * tables.rows.n].reshape(-1, 256)
        targets = np.unique(rows)
        numbers = {target: self._number(target) for target in targets[targets >= k.DEAD].tolist()}
        lists = {target: self._take_choices(-2 - target) for target in targets[targets < k.DEAD].tolist()}
        numbers |= {target: self._n + len(self._literals) + i for i, target in enumerate(lists)}
        if max(numbers.values()) >= MAX_NUMBERS:
            return None
        texts = {code: text for text, code in sketch.literals.items()}
        exprs = [self._expr(state) for state in range(n)]
        own = [expr is None or expr.kind == K_KEYS or sketch.ids.get(expr) == i for i, expr in enumerate(exprs)]
        return Prebuilt(
            exprs=tuple(exprs),
            is_own=tuple(own),
            counts=tuple(sketch.count_at.get(state) for state in range(n)),
            literals=tuple(texts[code] for code in self._literals),
            kind=kind,
            nullable=tables.state_nullable.array[:n].copy(),
            flags=tables.state_flags.array[:n].copy(),
            reach=tables.state_reach.array[:n].copy(),
            own=tables.state_self.array[: 4 * n].reshape(-1, 4).copy(),
            live=tables.state_live.array[: 4 * n].reshape(-1, 4).copy(),
            place=place,
            rows=np.array([numbers[target] for target in targets.tolist()], np.int16)[np.searchsorted(targets, rows)],
            lists=np.array(self._lists, np.int32),
            is_number=np.array(self._is_number, np.bool_),
            starts=np.array(list(lists.values()), np.int32),
        )


def _enter(automaton: Automaton, prebuilt: Prebuilt) -> None:
    tables = automaton.tables
    codes = _codes(automaton, prebuilt)
    literals = [automaton.code_of_literal(text) for text in prebuilt.literals]
    first_list = tables.seqs.reserve(len(prebuilt.lists))
    known = np.concatenate([codes, literals, -2 - first_list - prebuilt.starts, [k.DEAD]]).astype(np.int32)
    lists = prebuilt.lists.copy()
    lists[prebuilt.is_number] = known[lists[prebuilt.is_number]]
    tables.seqs.array[first_list : first_list + len(lists)] = lists

    is_missing = (prebuilt.kind != k.UNBUILT) & (tables.state_kind.array[codes] == k.UNBUILT)
    states, kind, place = codes[is_missing], prebuilt.kind[is_missing], prebuilt.place[is_missing]
    is_row, is_alias = kind == k.ROW, kind == k.ALIAS
    n_rows = int(np.count_nonzero(is_row))
    first_row = tables.rows.reserve(n_rows)
    rows = tables.rows.array[256 * first_row : 256 * (first_row + n_rows)].reshape(n_rows, 256)
    np.take(known, prebuilt.rows[place[is_row]], out=rows, mode="wrap")
    place = place + first_list
    place[is_row] = np.arange(first_row, first_row + n_rows)
    place[is_alias] = known[place[is_alias] - first_list]
    tables.state_row.array[states] = place
    tables.state_nullable.array[states] = prebuilt.nullable[is_missing]
    tables.state_flags.array[states] |= prebuilt.flags[is_missing]
    tables.state_reach.array[states] = prebuilt.reach[is_missing]
    tables.state_self.array.reshape(-1, 4)[states] = prebuilt.own[is_missing]
    tables.state_live.array.reshape(-1, 4)[states] = prebuilt.live[is_missing]
    tables.state_kind.array[states] = kind  # the last: now they are built
    automaton.n_built += len(states)


def _codes(automaton: Automaton, prebuilt: Prebuilt) -> npt.NDArray[np.int64]:
    """The codes of all states; those that are new are reserved."""
    ids, counted, codes = automaton.ids, automaton.counted, list[int]()
    new: list[int] = []
    for number, (expr, is_own, count) in enumerate(zip(prebuilt.exprs, prebuilt.is_own, prebuilt.counts, strict=True)):
        if number <= k.BELOW_STATE:
            code: int | None = number
        elif expr is not None and expr.kind in APART:
            code = automaton.code_of(expr)
        else:
            code = None if expr is None or not is_own else ids.get(expr)
            if code is None and count is not None:
                code = counted.get(count)
        if code is None:
            new.append(number)
        codes.append(-1 if code is None else code)
    first = automaton.reserve_states(len(new))
    automaton.tables.state_nullable.array[first : first + len(new)] = prebuilt.nullable[new]
    for code, number in enumerate(new, first):
        expr, count = prebuilt.exprs[number], prebuilt.counts[number]
        codes[number] = code
        automaton.exprs[code] = expr
        if expr is None or not expr.counts or prebuilt.kind[number] != k.UNBUILT:
            automaton.clamped_states[code] = code
        if count is not None:
            counted[count], automaton.count_at[code] = code, count
        if expr is not None and prebuilt.is_own[number]:
            ids[expr] = code
    return np.array(codes, np.int64)
