"""One step of a pre-tokenizer as an unambiguous guessing automaton over atoms.

A backtracking engine takes the first match in its order of preference. A state is the live threads of the present match
in that order, and a set of threads that must fail. Where the match could end while preferred threads live, the run
splits: either it ends here, and those threads must fail from now on, or it does not, and one of them must succeed. In
the same way a match begins at a place or, all of its threads failing, does not. Looks ahead are decided by the next
atom where that suffices; else they are guessed, and their threads must fail, or one of them succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tokenizer_align.canonical.split_nodes import Behind
from tokenizer_align.canonical.split_programs import Fork, Glance, Jump, Match, Program, Read
from tokenizer_align.canonical.transducers import Transducer, explore
from tokenizer_align.errors import VocabularyError

__all__ = ["Behaviour", "guess_splits"]

Behaviour = Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]

_START, _MATCH, _GAP = 0, 1, 2
_MATCHED = -1  # in a list of threads: one that has reached the end of the program
_AT_END = -1  # in place of an atom
_MARK = 2  # added to the bit of an arc whose atom lies in a piece of the kind asked for


@dataclass(frozen=True, slots=True)
class _State:
    """Between two atoms.

    kind: what the last atom lies in.
    threads: of the match, most preferred first; one of them must succeed.
    doomed: threads none of which may succeed.
    owed: sets of threads; of each one must succeed.
    behind: what looks behind find here, in the order of the program's.
    """

    kind: int
    behind: tuple[bool, ...] = ()
    threads: tuple[int, ...] = ()
    doomed: frozenset[int] = frozenset()
    owed: frozenset[frozenset[int]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Place:
    """What looks see between two atoms: the next one, what is behind, and what is guessed of longer looks ahead."""

    atom: int
    behind: tuple[bool, ...]
    truths: dict[int, bool]


class _Unknown(Exception):
    """The truth of the look at `at` is needed to go on."""

    def __init__(self, at: int) -> None:
        self.at = at


def guess_splits(
    program: Program,
    holds: Mapping[str, tuple[bool, ...]],
    n_atoms: int,
    behaviour: Behaviour,
    invert: bool,
    *,
    mark_matches: bool = False,
) -> Transducer:
    """The automaton of a Split step.

    Args:
        holds: per set of the program, whether it holds each atom.
        mark_matches: add 2 to the bit of each arc whose atom lies in a match.

    Raises:
        VocabularyError: the step loses text, or needs too many states.
    """
    marks_gaps = behaviour == "removed" and invert
    marked = _GAP if marks_gaps else _MATCH if mark_matches or behaviour == "removed" else None
    guesses = _Guesses(program, holds, behaviour, invert, marked)
    automaton = explore(guesses.start(), n_atoms, guesses.step, guesses.may_end)
    if behaviour == "removed" and any(bit & _MARK for row in automaton.arcs for pairs in row for bit, _ in pairs):
        raise VocabularyError("the pre-tokenizer removes parts of texts, so that tokens cannot give back the text")
    return automaton


class _Guesses:
    def __init__(
        self,
        program: Program,
        holds: Mapping[str, tuple[bool, ...]],
        behaviour: Behaviour,
        invert: bool,
        marked: int | None,
    ) -> None:
        self._code, self._holds = program.instructions, holds
        self._behaviour, self._invert, self._marked = behaviour, invert, marked
        self._looks_behind = tuple(dict.fromkeys(one for one in self._code if isinstance(one, Behind)))

    def start(self) -> _State:
        """The state before a text."""
        return _State(_START, tuple(one.at_start != one.negated for one in self._looks_behind))

    def step(self, state: _State, atom: int) -> Iterator[tuple[int, _State]]:
        """The (bit, next state) pairs of an atom."""
        yield from self._settled({}, lambda truths: list(self._step(state, _Place(atom, state.behind, truths))))

    def may_end(self, state: _State) -> bool:
        """Whether the text may end in a state."""
        attempts = self._settled({}, lambda truths: list(self._end(state, _Place(_AT_END, state.behind, truths))))
        return any(True for _ in attempts)

    def _settled(
        self, truths: dict[int, bool], attempt: Callable[[dict[int, bool]], list[tuple[int, _State]]]
    ) -> Iterator[tuple[int, _State]]:
        """What an attempt gives under each consistent guess about the looks that it meets."""
        try:
            found = attempt(truths)
        except _Unknown as unknown:
            for guess in (True, False):
                yield from self._settled({**truths, unknown.at: guess}, attempt)
        else:
            yield from found

    def _step(self, state: _State, place: _Place) -> Iterator[tuple[int, _State]]:
        duties = self._duties(state, place)
        if duties is None:
            return
        doomed, owed = duties
        if state.kind == _MATCH:
            preferred, matched = self._follow(state.threads, place)
            if matched:
                yield from self._begin(_MATCH, place, doomed | set(preferred), owed)
            yield from self._settle(0, _MATCH, place, preferred, doomed, owed)
        else:
            yield from self._begin(state.kind, place, doomed, owed)

    def _begin(
        self, before: int, place: _Place, doomed: frozenset[int], owed: list[frozenset[int]]
    ) -> Iterator[tuple[int, _State]]:
        """A match begins here or it does not; `before` is what ends here."""
        threads, is_empty = self._follow([0], place)
        yield from self._settle(self._bit(before, _MATCH), _MATCH, place, threads, doomed, owed)
        bit = self._bit(before, _GAP)
        if is_empty and before != _MATCH:  # an empty match cuts, except right behind a match
            if self._behaviour != "isolated":
                raise VocabularyError("the pre-tokenizer's pattern may match nothing, which is not supported")
            bit = 1
        yield from self._settle(bit, _GAP, place, [], doomed | set(threads), owed)

    def _settle(
        self, bit: int, kind: int, place: _Place, threads: list[int], doomed: frozenset[int], owed: list[frozenset[int]]
    ) -> Iterator[tuple[int, _State]]:
        """The state of these threads, in one form per meaning; none where it contradicts itself."""
        if kind == self._marked:
            bit |= _MARK
        threads = [thread for thread in threads if thread not in doomed]
        owed = [some - doomed for some in owed]
        if not all(owed) or (kind == _MATCH and not threads):
            return
        least = frozenset(some for some in owed if not any(other < some for other in owed))
        behind = tuple(
            any(self._holds[name][place.atom] for name in one.names) != one.negated for one in self._looks_behind
        )
        yield bit, _State(kind, behind, tuple(threads), doomed, least)

    def _end(self, state: _State, place: _Place) -> Iterator[tuple[int, _State]]:
        duties = self._duties(state, place)
        if duties is None or duties[1]:
            return
        if state.kind != _MATCH or self._follow(state.threads, place)[1]:
            yield 0, state

    def _duties(self, state: _State, place: _Place) -> tuple[frozenset[int], list[frozenset[int]]] | None:
        """(threads that must fail, sets of which one must succeed) after an atom; None: already broken."""
        failing, fails = self._follow(state.doomed, place)
        if fails:
            return None
        doomed, owed = set(failing), []
        for some in state.owed:
            threads, matched = self._follow(some, place)
            if not matched:
                owed.append(frozenset(threads))
        for body, truth in tuple(place.truths.items()):
            threads, matched = self._follow([body], place)
            if truth and not matched:
                owed.append(frozenset(threads))
            elif not truth:
                if matched:
                    return None
                doomed.update(threads)
        if not all(owed):
            return None
        return frozenset(doomed), owed

    def _follow(self, threads: tuple[int, ...] | frozenset[int] | list[int], place: _Place) -> tuple[list[int], bool]:
        """(threads after an atom, most preferred first, up to one that matches before it; whether one does)."""
        waiting, seen, after, atom = [*threads][::-1], set(), [], place.atom
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            one = self._code[at]
            if isinstance(one, Read):
                if atom != _AT_END and self._holds[one.name][atom]:
                    after.append(at + 1)
            elif isinstance(one, Fork):
                waiting += (one.second, one.first)
            elif isinstance(one, Jump):
                waiting.append(one.to)
            elif isinstance(one, Match):
                return after, True
            elif isinstance(one, Behind):
                if place.behind[self._looks_behind.index(one)]:
                    waiting.append(at + 1)
            elif isinstance(one, Glance):
                seen_set = one.at_end if atom == _AT_END else any(self._holds[name][atom] for name in one.names)
                if seen_set != one.negated:
                    waiting.append(at + 1)
            else:
                if one.body not in place.truths:
                    raise _Unknown(one.body)
                if place.truths[one.body] != one.negated:
                    waiting.append(at + 1)
        return after, False

    def _bit(self, before: int, after: int) -> int:
        if before == _START or before == after == _GAP:
            return int(before == _START)
        left, right = (before == _MATCH) != self._invert, (after == _MATCH) != self._invert
        if self._behaviour == "contiguous":
            return int(left != right)
        if self._behaviour == "merged_with_previous":
            return int(left or not right)
        if self._behaviour == "merged_with_next":
            return int(not left or right)
        return int(before == _MATCH or after == _MATCH)
