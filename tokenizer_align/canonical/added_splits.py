"""Added tokens that are ordinary text: matched whole before anything else, the leftmost first, then the longest.

What a token's match spells is that one id. So the automaton commits itself within a match: it is either *inside*, where
no token may end, or at the end of the *whole* match, behind which a boundary must follow; text in which no match begins
goes on to the steps of the pre-tokenizer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby

from tokenizer_align.canonical.guessing import guess_splits
from tokenizer_align.canonical.split_nodes import Alternatives, Behind, Characters, Look, Node, Sequence
from tokenizer_align.canonical.split_programs import Program, compile_program
from tokenizer_align.canonical.transducers import Transducer, explore

__all__ = ["INSIDE", "WHOLE", "WORD", "added_program", "split_at_added"]

INSIDE, WHOLE = 1, 2  # tags of states
_GAP = 0
WORD = "word"  # names the set of the characters that words are made of


def added_program(contents: Iterable[str], alone: Collection[str] = ()) -> Program:
    """The program that matches any of the contents, longer ones first; sets are named by their one character.

    `alone`: those that are matched only where no word goes on beside them; they overlap no others.
    """
    before, behind = Behind((WORD,), at_start=False, negated=True), Look(Characters(WORD), negated=True)
    ways: list[Node] = [Sequence((before, *map(Characters, content), behind)) for content in sorted(alone)]
    others = sorted({*contents} - {*alone})
    if others:
        ways.append(_trie(others, 0))
    return compile_program(Alternatives(tuple(ways)))


def _trie(words: list[str], depth: int) -> Node:
    """What may follow the first `depth` characters, which the words share: going on is tried before stopping."""
    ways: list[Node] = []
    for letter, group in groupby((word for word in words if len(word) > depth), key=lambda word: word[depth]):
        some = list(group)
        first, last = some[0], some[-1]  # sorted: what these two share, all do
        shared = next((i for i, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first))
        head = [Characters(letter), *map(Characters, first[depth + 1 : shared])]
        ways.append(Sequence((*head, _trie(some, shared))))
    if any(len(word) == depth for word in words):
        ways.append(Sequence(()))
    return Alternatives(tuple(ways))


def split_at_added(program: Program, holds: Mapping[str, tuple[bool, ...]], n_atoms: int) -> Transducer:
    """The automaton that cuts before and behind each match; states within one are tagged."""
    splits = guess_splits(program, holds, n_atoms, "isolated", invert=False, mark_matches=True)

    def step(state: tuple[int, int], symbol: int) -> Iterable[tuple[int, tuple[int, int]]]:
        at, tag = state
        for marked, target in splits.arcs[at][symbol]:
            bit, in_match = marked & 1, marked > 1
            if (tag == INSIDE and bit) or (tag == WHOLE and not bit):
                continue
            for after in (INSIDE, WHOLE) if in_match else (_GAP,):
                yield bit, (target, after)

    def may_end(state: tuple[int, int]) -> bool:
        return splits.ends[state[0]] and state[1] != INSIDE

    return explore((0, _GAP), n_atoms, step, may_end, lambda state: state[1])
