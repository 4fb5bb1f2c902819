"""Unambiguous guessing automata over any finite alphabet: composition, trimming, merging of equal states.

An arc (bit, target) reads one symbol; bit 1 says that a boundary lies before it. Several arcs of a state may read the
same symbol, but every text has exactly one run to a state that may end: the others guessed wrong and die. The start of
a text counts as a boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from tokenizer_align.errors import VocabularyError

__all__ = ["Arcs", "Transducer", "compose", "explore"]

Arcs = tuple[tuple[int, int], ...]
_State = TypeVar("_State", bound=Hashable)
_MAX_STATES = 50_000


@dataclass(frozen=True, slots=True)
class Transducer:
    """States 0 to n-1, of which 0 is the start.

    arcs: per state and symbol the (bit, target) pairs, sorted.
    ends: per state, whether a text may end there.
    tags: per state, what else is to be told about it; states of different tags are never merged.
    """

    n_symbols: int
    arcs: tuple[tuple[Arcs, ...], ...]
    ends: tuple[bool, ...]
    tags: tuple[int, ...]


def explore(
    start: _State,
    n_symbols: int,
    step: Callable[[_State, int], Iterable[tuple[int, _State]]],
    may_end: Callable[[_State], bool],
    tag: Callable[[_State], int] = lambda _: 0,
    max_states: int = _MAX_STATES,
) -> Transducer:
    """The transducer of a step function, without states from which no text may end, equal ones merged.

    Raises:
        VocabularyError: more than `max_states` states.
    """
    number: dict[_State, int] = {start: 0}
    waiting = [start]
    arcs: list[tuple[Arcs, ...]] = []
    ends: list[bool] = []
    for state in waiting:  # grows while it is worked off
        row: list[Arcs] = []
        for symbol in range(n_symbols):
            found = set()
            for bit, target in step(state, symbol):
                if target not in number:
                    if len(number) >= max_states:
                        raise VocabularyError(f"the pre-tokenizer needs more than {max_states} states")
                    number[target] = len(number)
                    waiting.append(target)
                found.add((bit, number[target]))
            row.append(tuple(sorted(found)))
        arcs.append(tuple(row))
        ends.append(may_end(state))
    return _merge(_trim(Transducer(n_symbols, tuple(arcs), tuple(ends), tuple(map(tag, waiting)))))


def compose(first: Transducer, second: Transducer) -> Transducer:
    """Each piece of the first is split by the second, which sees nothing beyond the piece.

    Tags are those of the first; a piece in tagged states is left whole.
    """

    def step(state: tuple[int, int], symbol: int) -> Iterable[tuple[int, tuple[int, int]]]:
        outer, inner = state
        for cut, after in first.arcs[outer][symbol]:
            if cut and not second.ends[inner]:
                continue
            if first.tags[after]:
                yield cut, (after, 0)
                continue
            for bit, target in second.arcs[0 if cut else inner][symbol]:
                yield cut | bit, (after, target)

    def may_end(state: tuple[int, int]) -> bool:
        return first.ends[state[0]] and second.ends[state[1]]

    return explore((0, 0), first.n_symbols, step, may_end, lambda state: first.tags[state[0]])


def _trim(whole: Transducer) -> Transducer:
    """Drop the states from which no text may end; the start stays."""
    before: list[set[int]] = [set() for _ in whole.arcs]
    for state, row in enumerate(whole.arcs):
        for pairs in row:
            for _, target in pairs:
                before[target].add(state)
    waiting = [state for state, end in enumerate(whole.ends) if end]
    alive = set(waiting)
    while waiting:
        for state in before[waiting.pop()] - alive:
            alive.add(state)
            waiting.append(state)
    number = {state: i for i, state in enumerate(sorted(alive | {0}))}
    arcs = (
        tuple(tuple((bit, number[q]) for bit, q in pairs if q in alive) for pairs in whole.arcs[state])
        for state in number
    )
    kept_ends, kept_tags = [whole.ends[state] for state in number], [whole.tags[state] for state in number]
    return Transducer(whole.n_symbols, tuple(arcs), tuple(kept_ends), tuple(kept_tags))


def _merge(whole: Transducer) -> Transducer:
    """Merge states of which the same can be said for ever after (partition refinement); the start comes first."""
    names: dict[Hashable, int] = {}
    block = [names.setdefault(said, len(names)) for said in zip(whole.ends, whole.tags, strict=True)]
    n_blocks = len(names)
    # Few sets of arcs occur, in many places: each is named once a round.
    set_number: dict[Arcs, int] = {}
    rows = [[set_number.setdefault(pairs, len(set_number)) for pairs in row] for row in whole.arcs]
    while True:
        names, refined = {}, []
        said: dict[Hashable, int] = {}
        of_set = [said.setdefault(frozenset((bit, block[q]) for bit, q in pairs), len(said)) for pairs in set_number]
        for state, numbers in enumerate(rows):
            name = (block[state], *map(of_set.__getitem__, numbers))
            refined.append(names.setdefault(name, len(names)))
        block = refined
        if len(names) == n_blocks:
            break
        n_blocks = len(names)
    # Numbered in the order of their first state: the start is 0.
    first = [block.index(i) for i in range(n_blocks)]
    arcs = (
        tuple(tuple(sorted({(bit, block[q]) for bit, q in pairs})) for pairs in whole.arcs[state]) for state in first
    )
    kept_ends, kept_tags = [whole.ends[state] for state in first], [whole.tags[state] for state in first]
    return Transducer(whole.n_symbols, tuple(arcs), tuple(kept_ends), tuple(kept_tags))
