"""States of a grammar, built with the grammar and before any vocabulary is at hand.

What a grammar's states do is the same for all vocabularies. They are built once, in an automaton of their own; the
automaton of a vocabulary that meets the grammar takes them over in one go, under codes of its own, and builds what is
left (objects, large counts) when a text comes there, as it does any other state.
"""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .automaton import Automaton
from .choices import WIDE_BYTES
from .counted import Count
from .counting import clamp_counts
from .errors import DominoError
from .expressions import K_ANCHOR, K_BOTH, K_KEYS, K_LAZY, K_UNIQUE, Expr
from .less_words import Less, less_of
from .tables import Tables

MAX_BUILT = 512  # states, the nearest to the beginning first
MAX_BUILDING_S = 0.1  # of processor time
MAX_NUMBERS = 1 << 15  # that rows can hold
LONGEST = 16  # bytes of a token; what counts beyond it do depends on the vocabulary
APART = (K_KEYS, K_UNIQUE, K_ANCHOR)  # have codes and tables of their own

Int32Array = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Prebuilt:
    """States by number. What they lead to is a number too: of a state, beyond these of a literal, then of a list of
    alternatives; -1: nothing.

    longest: a vocabulary whose longest token is shorter cannot take them over, as it clamps counts.
    exprs: of each state, None where it has none; is_own: whether it is the state of its expression, or one behind it;
    counts, less: where it is one of a count, or inside a name less keywords, which begins at state `begins`.
    kind, nullable, flags, reach, own, live: as in the tables. plain: the number of the plain name, or -1.
    place: the row, the place in `lists`, or the number of the state that it stands for; words: the place in `lists`
    where the beginnings of keywords stand, or -1.
    rows: int16[n_rows, 256]. lists: lists of alternatives and frames, with numbers where `is_number`; starts: where
    those begin that rows lead to.
    """

    longest: int
    exprs: tuple[Expr | None, ...]
    is_own: tuple[bool, ...]
    counts: tuple[Count | None, ...]
    less: tuple[Less | None, ...]
    begins: dict[Less, int]
    literals: tuple[bytes, ...]
    kind: npt.NDArray[np.uint8]
    nullable: npt.NDArray[np.uint8]
    flags: npt.NDArray[np.uint8]
    reach: Int32Array
    own: npt.NDArray[np.uint64]
    live: npt.NDArray[np.uint64]
    place: Int32Array
    plain: Int32Array
    words: Int32Array
    rows: npt.NDArray[np.int16]
    lists: Int32Array
    is_number: npt.NDArray[np.bool_]
    starts: Int32Array

    def enter(self, automaton: Automaton) -> None:
        """Enter the states into an automaton whose tables nobody reads meanwhile. Those that it has already stay as
        they are, and are built where they were not."""
        if automaton.wide_bytes == WIDE_BYTES and automaton.longest_token >= self.longest:
            _enter(automaton, self)


class _Sketch(Automaton):
    """An automaton of no vocabulary: what depends on one is not built, and what else is needed next has its turn."""

    eager_states = 1
    takes_over = False

    def __init__(self) -> None:
        self.is_building = False
        self.begins: dict[int, int] = {}  # of states inside names less keywords, the one where the name begins
        super().__init__(Tables(1), LONGEST)

    def build(self, state: int) -> None:
        expr = self.exprs[state]
        if not self.is_building and (state in self.count_at if expr is None else _is_buildable(expr)):
            self.is_building, n_less = True, len(self.less_at)
            try:
                super().build(state)
            finally:
                self.is_building = False
                for new in itertools.islice(self.less_at, n_less, None):
                    self.begins[new] = self.begins.get(state, state)


def _is_buildable(expr: Expr) -> bool:
    if expr.has_call:
        return expr.kind not in APART
    if expr.kind == K_BOTH:
        return less_of(expr) is not None
    return expr.kind != K_LAZY and clamp_counts(expr, LONGEST) is expr


def prebuild(expr: Expr) -> Prebuilt | None:
    """The states that an expression comes to, as far as no vocabulary is needed; None where they are too many."""
    sketch = _Sketch()
    kinds = sketch.tables.state_kind
    sketch.code_of(expr)
    stops_at = time.thread_time() + MAX_BUILDING_S
    for state in itertools.count(k.BELOW_STATE + 1):
        if state >= kinds.n or sketch.n_built >= MAX_BUILT or time.thread_time() > stops_at:
            break
        if kinds.array[state] == k.UNBUILT:
            with suppress(DominoError):  # whoever comes there is told
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

    def _words(self) -> Int32Array:
        """Copy what states of names less keywords list of keywords: how many, and pairs of a byte and a code."""
        found, source = np.full(self._n, -1, np.int32), self._tables.seqs.array
        words = self._tables.state_words.array[: self._n]
        for state in np.flatnonzero(words).tolist():
            at = int(words[state]) - 1
            n_pairs = int(source[at])
            found[state] = len(self._lists)
            self._lists.append(n_pairs)
            self._is_number.append(False)
            for byte, code in source[at + 1 : at + 1 + 2 * n_pairs].reshape(-1, 2).tolist():
                self._lists += [byte, self._number(code)]
                self._is_number += [False, True]
        return found

    def _longest(self, kind: npt.NDArray[np.uint8]) -> int:
        """The least length of tokens for which no count of a state that is built is clamped."""
        found = 0
        for state in np.flatnonzero(kind != k.UNBUILT).tolist():
            expr, count = self._sketch.exprs[state], self._sketch.count_at.get(state)
            while expr is not None and not expr.has_call and clamp_counts(expr, found) is not expr:
                found += 1
            while count is not None and count.clamped(found) is not count:
                found += 1
        return found

    def _expr(self, state: int) -> Expr | None:
        sketch = self._sketch
        if state in sketch.objects.at_state:
            return sketch.expr_of(state)
        return sketch.exprs[state]

    def prebuilt(self) -> Prebuilt | None:
        sketch, tables, n = self._sketch, self._tables, self._n
        kind = tables.state_kind.array[:n].copy()
        place, words = self._places(kind), self._words()
        heads = tables.state_head.array[:n]
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
            longest=self._longest(kind),
            exprs=tuple(exprs),
            is_own=tuple(own),
            counts=tuple(sketch.count_at.get(state) for state in range(n)),
            less=tuple(sketch.less_at.get(state) for state in range(n)),
            begins={less: sketch.begins[state] for state, less in sketch.less_at.items()},
            literals=tuple(texts[code] for code in self._literals),
            kind=kind,
            nullable=tables.state_nullable.array[:n].copy(),
            flags=tables.state_flags.array[:n].copy(),
            reach=tables.state_reach.array[:n].copy(),
            own=tables.state_self.array[: 4 * n].reshape(-1, 4).copy(),
            live=tables.state_live.array[: 4 * n].reshape(-1, 4).copy(),
            place=place,
            plain=np.where(heads <= k.PLAIN_BASE, k.PLAIN_BASE - heads, -1).astype(np.int32),
            words=words,
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
    words, plain = prebuilt.words[is_missing], prebuilt.plain[is_missing]
    tables.state_words.array[states] = np.where(words < 0, 0, words + first_list + 1)
    tables.state_head.array[states[plain >= 0]] = k.PLAIN_BASE - known[plain[plain >= 0]]
    tables.state_kind.array[states] = kind  # the last: now they are built
    automaton.n_built += len(states)


def _codes(automaton: Automaton, prebuilt: Prebuilt) -> npt.NDArray[np.int64]:
    """The codes of all states; those that are new are reserved."""
    ids, counted, codes, kinds = automaton.ids, automaton.counted, list[int](), automaton.tables.state_kind.array
    new: list[int] = []
    for number, (expr, is_own, count, less) in enumerate(
        zip(prebuilt.exprs, prebuilt.is_own, prebuilt.counts, prebuilt.less, strict=True)
    ):
        code: int | None = None
        if number <= k.BELOW_STATE:
            code = number
        elif expr is not None and expr.kind in APART:
            code = automaton.code_of(expr)
        elif expr is not None and is_own:
            code = ids.get(expr)
        elif less is not None:
            begin = prebuilt.exprs[prebuilt.begins[less]]
            if begin in ids and kinds[ids[begin]] != k.UNBUILT:
                code = k.EPSILON_STATE  # the whole name is known, under other codes: nothing leads here
        if code is None and count is not None:
            code = counted.get(count)
        if code is None:
            new.append(number)
        codes.append(k.EPSILON_STATE if code is None else code)
    first = automaton.reserve_states(len(new))
    automaton.tables.state_nullable.array[first : first + len(new)] = prebuilt.nullable[new]
    for code, number in enumerate(new, first):
        expr, count, less = prebuilt.exprs[number], prebuilt.counts[number], prebuilt.less[number]
        codes[number] = code
        automaton.exprs[code] = expr
        if expr is None or not expr.counts or prebuilt.kind[number] != k.UNBUILT:
            automaton.clamped_states[code] = code
        if count is not None:
            counted[count], automaton.count_at[code] = code, count
        elif less is not None:
            automaton.less_at[code] = less
        if expr is not None and prebuilt.is_own[number]:
            ids[expr] = code
    return np.array(codes, np.int64)
