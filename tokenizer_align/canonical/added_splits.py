"""Added tokens that are ordinary text: matched whole before anything else, the leftmost first, then the longest.

What a token's match spells is that one id. So the automaton commits itself within a match: it is either *inside*, where
no token may end, or at the end of the *whole* match, behind which a boundary must follow; text in which no match begins
goes on to the steps of the pre-tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokenizer_align.canonical.guessing import guess_splits
from tokenizer_align.canonical.split_nodes import Alternatives, Characters, Sequence
from tokenizer_align.canonical.split_programs import Program, compile_program
from tokenizer_align.canonical.transducers import Transducer, explore

__all__ = ["INSIDE", "WHOLE", "added_program", "split_at_added"]

INSIDE, WHOLE = 1, 2  # tags of states
_GAP = 0


def added_program(contents: Iterable[str]) -> Program:
    """The program that matches any of the contents, longer ones first; sets are named by their one character."""
    words = sorted(set(contents), key=lambda content: (-len(content), content))
    return compile_program(Alternatives(tuple(Sequence(tuple(map(Characters, word))) for word in words)))


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
