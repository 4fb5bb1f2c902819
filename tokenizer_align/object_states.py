"""States of objects: keys walked in a shared key trie, with the keys still open as bits.

A new set of open keys costs one small *instance*: its bits, and codes reserved for what follows each key. What follows
is written without derivatives where every part holds some text: the separator and one more key, or the end.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import kernels as k
from .derivatives import is_known_live
from .expressions import EMPTY, EPSILON, K_SEQ, Expr, seq
from .key_tries import key_trie
from .members import (
    MemberSpec,
    after_extra,
    after_member,
    extra_state,
    inside_keys,
    is_done,
    is_whole,
    keys_node,
    open_after,
    open_ways,
    plain_extra_state,
)

if TYPE_CHECKING:
    from .automaton import Automaton

MUST_BUILD = 2  # in `state_nullable`: not known before the state is built


class Place(NamedTuple):
    """Where a specification stands in the tables: the root of its key trie and how many nodes it has, and the place of
    the codes of what follows each key."""

    root: int
    first_rest: int
    n_nodes: int


class ObjectStates:
    """The objects of an automaton. Not thread-safe by itself."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self.nodes: list[Expr] = []  # of each instance, its K_KEYS node
        self._specs: dict[MemberSpec, Place] = {}
        self._around: dict[MemberSpec, tuple[list[int], list[int]]] = {}  # frames of the end and of the separator
        self._instances: dict[tuple[MemberSpec, int, int], int] = {}
        self._reserved_starts: list[int] = []
        self._reserved: list[Expr] = []  # the K_KEYS node whose after-codes start there

    def build_after(self, state: int) -> None:
        """What follows a key: of an undeclared one first its value, then the separator with the next member's key, and
        the object's end where it may come."""
        spec, open_keys, count, rank = self.reserved_at(state)
        if not is_whole(spec):
            self._automaton.build_alias(state, self.reserved_expr(state))
            return
        if rank == len(spec.members):
            assert spec.extra_rest is not None
            codes = [*self._automaton.frames(spec.extra_rest), state + 1]
            self._automaton.tables.state_row.array[state] = self._automaton.tables.seqs.extend([len(codes), *codes])
            self._automaton.tables.state_kind.array[state] = k.SPLIT
            return
        close, separator = self._frames_around(spec)
        open_keys = open_after(spec, open_keys, rank)
        following, may_end = keys_node(spec, open_keys, count + 1), is_done(spec, open_keys, count + 1)
        lists = [close] if may_end else []
        if following is not EMPTY:
            keys = self._automaton.code_of(following)
            self._automaton.build(keys)  # the mask at the separator goes on into the key
            lists.append([*separator, keys])
        flat = [len(lists), *(item for codes in lists for item in (len(codes), *codes))]
        self._automaton.tables.state_row.array[state] = self._automaton.tables.seqs.extend(flat)
        self._automaton.tables.state_kind.array[state] = k.CHOICES

    def _frames_around(self, spec: MemberSpec) -> tuple[list[int], list[int]]:
        """The codes of the frames of the end and of the separator."""
        found = self._around.get(spec)
        if found is None:
            found = self._around[spec] = self._automaton.frames(spec.close), self._automaton.frames(spec.separator)
        return found

    def instance(self, node: Expr) -> int:
        """An object in one situation: which keys are open, and the codes reserved for what follows each."""
        spec, open_keys, count, _ = node.data
        found = self._instances.get((spec, open_keys, count))
        if found is not None:
            return found
        tables = self._automaton.tables
        place = self._spec(spec)
        n_keys = len(spec.members)
        allowed, extra = open_ways(spec, open_keys, count)
        n_words = n_keys // 64 + 1
        offset = tables.key_bits.extend(
            np.array([allowed >> (64 * i) & (2**64 - 1) for i in range(n_words)], np.uint64)
        )
        after = self._automaton.reserve_states(n_keys + 2)
        tables.state_nullable.array[after : after + n_keys + 2] = MUST_BUILD
        self._reserved_starts.append(after)
        self._reserved.append(node)
        self.nodes.append(node)
        if extra:
            self._need_extra_states(spec, place)
        index = tables.instances.extend([place.root, offset, n_words, int(extra), after, place.first_rest, n_keys, 0])
        self._instances[spec, open_keys, count] = index
        return index

    def mend(self) -> None:
        """After an interrupt: an object that has no instance yet is forgotten."""
        del self.nodes[self._automaton.tables.instances.n :]
        del self._reserved_starts[len(self._reserved) :]

    def reserved_at(self, code: int) -> tuple[MemberSpec, int, int, int]:
        """A reserved after-code's object, keys that were open, members so far, and the key.

        Keys by rank; their number: an undeclared one, before its value; one more: after it.
        """
        at = bisect.bisect_right(self._reserved_starts, code) - 1
        spec, open_keys, count, _ = self._reserved[at].data
        return spec, open_keys, count, code - self._reserved_starts[at]

    def reserved_expr(self, code: int) -> Expr:
        """What a reserved after-code stands for."""
        spec, open_keys, count, rank = self.reserved_at(code)
        if rank == len(spec.members):
            return seq(*after_extra(spec, open_keys, count))
        return after_member(spec, open_after(spec, open_keys, rank), count + 1)

    def _spec(self, spec: MemberSpec) -> Place:
        """The key trie and the codes of what follows each key, made once per specification."""
        found = self._specs.get(spec)
        if found is not None:
            return found
        automaton, tables = self._automaton, self._automaton.tables
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
        found = Place(root, tables.key_rests.extend(codes), len(trie.child))
        self._specs[spec] = found
        return found

    def _need_extra_states(self, spec: MemberSpec, place: Place) -> None:
        """For every node of the key trie where an undeclared key may go on: its state after the bytes so far."""
        codes, root = self._automaton.tables.key_extra.array, place.root
        if codes[root] >= 0 or spec.extra_key is None:
            return
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
