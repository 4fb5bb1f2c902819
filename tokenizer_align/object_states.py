"""States of objects: keys walked in a shared key trie, with the keys still open as bits.

A new set of open keys costs one small *instance*: its bits, and codes reserved for what follows each key. What follows
is written without derivatives where every part holds some text: the separator and one more key, or the end.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import kernels as k
from .derivatives import is_known_live
from .expressions import EPSILON, K_KEYS, K_SEQ, Expr, intern_node, seq
from .key_tries import key_trie
from .member_spec import clip
from .members import (
    MemberSpec,
    after_extra,
    after_member,
    extra_state,
    inside_keys,
    is_done,
    is_whole,
    open_after,
    open_ways,
    plain_extra_state,
)

if TYPE_CHECKING:
    from .automaton import Automaton

MUST_BUILD = 2  # in `state_nullable`: not known before the state is built


@dataclass(eq=False, slots=True)
class Place:
    """Where a specification stands in the tables: the root of its key trie and how many nodes it has, and the place of
    the codes of what follows each key (-1: not written yet); the states and instances of its situations."""

    spec: MemberSpec
    root: int = -1
    n_nodes: int = 0
    first_rest: int = -1
    states: dict[tuple[int, int], int] = field(default_factory=dict)  # open keys, members so far -> state
    instances: dict[tuple[int, int], int] = field(default_factory=dict)
    around: tuple[list[int], list[int]] | None = None  # frames of the end and of the separator
    extra_frames: list[int] | None = None  # of what follows an undeclared key
    is_simple: bool | None = None  # whether the open keys alone say which may come; None: not known

    def ways(self, open_keys: int, count: int) -> tuple[int, bool]:
        """As `open_ways`."""
        spec = self.spec
        if self.is_simple is None:
            self.is_simple = not spec.ordered and spec.hi is None and spec.lo <= 1 and is_whole(spec)
        return (open_keys, spec.extra_key is not None) if self.is_simple else open_ways(spec, open_keys, count)


class Situation(NamedTuple):
    """An object with some keys still open, after so many members."""

    place: Place
    open_keys: int
    n_members: int


class ObjectStates:
    """The objects of an automaton. Not thread-safe by itself."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._places: dict[MemberSpec, Place] = {}
        self.at_state: dict[int, Situation] = {}  # of states where a member's key begins
        self.situations: list[Situation] = []  # of each instance
        self._starts: list[int] = []  # of each instance, the first of its after-codes

    def code_of(self, node: Expr) -> int:
        """The state of a K_KEYS node of a plain specification that stands at the beginning of a key."""
        spec, open_keys, count, _ = node.data
        return self._state(self._place(spec), open_keys, count)

    def _place(self, spec: MemberSpec) -> Place:
        found = self._places.get(spec)
        if found is None:
            found = self._places[spec] = Place(spec)
        return found

    def _state(self, place: Place, open_keys: int, count: int) -> int:
        found = place.states.get((open_keys, count))
        if found is None:
            found = self._automaton.reserve_states(1)
            self.at_state[found] = Situation(place, open_keys, count)
            place.states[open_keys, count] = found
        return found

    def build_keys(self, state: int) -> None:
        """Give a state where a member's key begins its instance."""
        tables = self._automaton.tables
        if tables.state_kind.array[state] == k.UNBUILT:
            tables.state_row.array[state] = self._instance(*self.at_state[state])
            tables.state_kind.array[state] = k.KEYS

    def build_after(self, state: int) -> None:
        """What follows a key: of an undeclared one first its value, then the separator with the next member's key, and
        the object's end where it may come."""
        (place, open_keys, count), rank = self.reserved_at(state)
        automaton, spec, n_keys = self._automaton, place.spec, len(place.spec.members)
        if not is_whole(spec):
            automaton.build_alias(state, self.reserved_expr(state))
            return
        if rank == n_keys:
            if place.extra_frames is None:
                assert spec.extra_rest is not None
                place.extra_frames = automaton.frames(spec.extra_rest)
            flat, kind = [len(place.extra_frames) + 1, *place.extra_frames, state + 1], k.SPLIT
        else:
            if place.around is None:
                place.around = automaton.frames(spec.close), automaton.frames(spec.separator)
            close, separator = place.around
            open_keys = open_after(spec, open_keys, rank)
            allowed, extra = place.ways(open_keys, count + 1)
            flat, kind = [0], k.CHOICES
            if is_done(spec, open_keys, count + 1):
                flat += [len(close), *close]
                flat[0] += 1
            if allowed or extra:
                keys = self._state(place, open_keys, clip(spec, count + 1))
                self.build_keys(keys)  # the mask at the separator goes on into the key
                flat += [len(separator) + 1, *separator, keys]
                flat[0] += 1
        tables = automaton.tables
        tables.state_row.array[state] = tables.seqs.extend(flat)
        tables.state_kind.array[state] = kind

    def instance(self, node: Expr) -> int:
        """The instance of a K_KEYS node."""
        spec, open_keys, count, _ = node.data
        return self._instance(self._place(spec), open_keys, count)

    def _instance(self, place: Place, open_keys: int, count: int) -> int:
        """An object in one situation: which keys are open, and the codes reserved for what follows each."""
        found = place.instances.get((open_keys, count))
        if found is not None:
            return found
        tables = self._automaton.tables
        if place.first_rest < 0:
            self._write(place)
        n_keys = len(place.spec.members)
        allowed, extra = place.ways(open_keys, count)
        n_words = n_keys // 64 + 1
        if extra and tables.key_extra.array[place.root] < 0:
            self._write_extra_states(place)
        bits = np.frombuffer(allowed.to_bytes(8 * n_words, "little"), np.uint64)
        numbers = [place.root, tables.key_bits.extend(bits), n_words, int(extra)]
        after = self._automaton.reserve_states(n_keys + 2)
        tables.state_nullable.array[after : after + n_keys + 2] = MUST_BUILD
        self._starts.append(after)
        self.situations.append(Situation(place, open_keys, count))
        index = tables.instances.extend([*numbers, after, place.first_rest, n_keys, 0])
        place.instances[open_keys, count] = index
        return index

    def mend(self) -> None:
        """After an interrupt: an object that has no instance yet is forgotten."""
        del self._starts[self._automaton.tables.instances.n :]
        del self.situations[self._automaton.tables.instances.n :]

    def reserved_at(self, code: int) -> tuple[Situation, int]:
        """A reserved after-code's object before the key, and which key.

        Keys by rank; their number: an undeclared one, before its value; one more: after it.
        """
        at = bisect.bisect_right(self._starts, code) - 1
        return self.situations[at], code - self._starts[at]

    def reserved_expr(self, code: int) -> Expr:
        """What a reserved code stands for."""
        if code in self.at_state:
            place, open_keys, count = self.at_state[code]
            return intern_node(K_KEYS, (), (place.spec, open_keys, count, 0))
        (place, open_keys, count), rank = self.reserved_at(code)
        spec = place.spec
        if rank == len(spec.members):
            return seq(*after_extra(spec, open_keys, count))
        return after_member(spec, open_after(spec, open_keys, rank), count + 1)

    def _write(self, place: Place) -> None:
        """The key trie and the codes of what follows each key, written once per specification."""
        automaton, tables, spec = self._automaton, self._automaton.tables, place.spec
        trie = key_trie([member.text for _, member in spec.ranked])
        root = tables.key_child.n
        tables.key_child.extend(np.array([root + node if node >= 0 else -1 for node in trie.child], np.int32))
        tables.key_sibling.extend(np.array([root + node if node >= 0 else -1 for node in trie.sibling], np.int32))
        tables.key_byte.extend(trie.byte)
        tables.key_lo.extend(trie.lo)
        tables.key_hi.extend(trie.hi)
        tables.key_ends.extend(trie.ends)
        tables.key_extra.extend([-1] * len(trie.child))
        rests = [member.rest for _, member in spec.ranked]
        state = automaton.reserve_states(len(rests))  # what follows a key is taken apart when a text comes there
        automaton.exprs[state:] = rests
        tables.state_nullable.array[state : state + len(rests)] = MUST_BUILD
        codes = [
            state + i if rest.kind == K_SEQ and rest.has_call else automaton.code_of(rest)
            for i, rest in enumerate(rests)
        ]
        place.root, place.n_nodes = root, len(trie.child)
        place.first_rest = tables.key_rests.extend(codes)  # the last: it says that all is there

    def _write_extra_states(self, place: Place) -> None:
        """For every node of the key trie where an undeclared key may go on: its state after the bytes so far."""
        codes, root, spec = self._automaton.tables.key_extra.array, place.root, place.spec
        inside = inside_keys(spec)
        if inside is not None:
            first = self._automaton.code_of(plain_extra_state(spec, 0))
            n = place.n_nodes - 1
            is_whole = self._automaton.tables.key_ends.array[root + 1 : root + 1 + n] >= 0
            codes[root + 1 : root + 1 + n] = np.where(is_whole, -1, self._automaton.code_of(inside))
            codes[root] = first  # the last: it says that all are there
            return
        for node in reversed(range(place.n_nodes)):
            state = extra_state(spec, node)
            if state is not EPSILON and is_known_live(state):
                codes[root + node] = self._automaton.code_of(plain_extra_state(spec, node))
