"""The steps of a pre-tokenizer as automata, composed into one over bytes.

Steps come as in TokenizationRules. Those before (and within) a byte-level step read code points; those behind it read
the 256 characters that stand for bytes, so that Falcon's `Digits` cuts where a byte is written "²".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokenizer_align.canonical.added_splits import WORD, added_program, split_at_added
from tokenizer_align.canonical.code_point_sets import N_CODE_POINTS, Engine, atoms_of, members
from tokenizer_align.canonical.guessing import Behaviour, guess_splits
from tokenizer_align.canonical.split_patterns import Dialect, parse_pattern
from tokenizer_align.canonical.split_programs import Match, Program, Read, compile_program
from tokenizer_align.canonical.transducers import Transducer, compose, explore
from tokenizer_align.canonical.utf8_arcs import ByteAutomaton, over_bytes
from tokenizer_align.canonical.virtual_boundaries import Joins
from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.byte_level import CHARACTER_OF_BYTE

__all__ = ["Step", "byte_automaton"]

Step = tuple[str | bool | int, ...]

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_BLANK = "[ \u2581]"  # SentencePiece writes both with the same pieces
_BEHAVIOURS: dict[str, Behaviour] = {
    "isolated": "isolated",
    "removed": "removed",
    "contiguous": "contiguous",
    "mergedwithprevious": "merged_with_previous",
    "mergedwithnext": "merged_with_next",
}


@dataclass(frozen=True, slots=True)
class _Split:
    """One step: what is matched, and what becomes of it."""

    program: Program
    behaviour: Behaviour
    invert: bool


def byte_automaton(
    steps: Sequence[Step],
    engine: Engine,
    added: Sequence[str] = (),
    joins: Joins | None = None,
    alone: Sequence[str] = (),
) -> ByteAutomaton:
    """The automaton of steps, one after the other, in the text between added tokens.

    Args:
        added: contents of the added tokens that are matched in ordinary text.
        joins: what merges join, to cut where they don't, last of all.
        alone: those of `added` that are matched only where no word goes on beside them.

    Raises:
        VocabularyError: a step that cannot be represented, or that loses text.
    """
    dialect: Dialect = "fancy" if engine == "tiktoken" else "oniguruma"
    on_text: list[_Split] = []
    on_bytes: list[_Split] = []
    at = on_text
    for step in steps:
        split = _split(step, dialect)
        if split is not None:
            at.append(split)
        if step[0] == "byte_level":
            if at is on_bytes:
                raise VocabularyError("the pre-tokenizer has two byte-level steps, which is not supported")
            at = on_bytes
    names = list(dict.fromkeys(name for split in on_text for name in split.program.set_names()))
    sets = {name: members(engine, name) for name in names}
    letters = {letter: _only(letter) for letter in sorted(set("".join(added)))}
    if alone:
        letters[WORD] = members("tokenizers", WORD)
    classes = joins.sets() if joins is not None else []
    atom_of_code_point, examples = atoms_of([*sets.values(), *letters.values(), *classes])
    holds = {name: tuple(bool(flags[one]) for one in examples) for name, flags in sets.items()}
    automata = [_transducer(split, holds, len(examples)) for split in on_text]
    if joins is not None:
        automata.append(joins.automaton(examples))
    if added:
        holds = {name: tuple(bool(flags[one]) for one in examples) for name, flags in letters.items()}
        automata.insert(0, split_at_added(added_program(added, alone), holds, len(examples)))
    pieces = [joins is not None and bool(joins.has_piece[example]) for example in examples]
    found = over_bytes(_composed(automata, len(examples)), atom_of_code_point, pieces)
    return _behind_bytes(found, on_bytes, engine) if on_bytes else found


def _behind_bytes(earlier: ByteAutomaton, splits: list[_Split], engine: Engine) -> ByteAutomaton:
    """The automaton with further steps, which read the characters that stand for bytes."""
    sets = {name: members(engine, name) for split in splits for name in split.program.set_names()}
    holds = {name: tuple(bool(flags[CHARACTER_OF_BYTE[byte]]) for byte in range(256)) for name, flags in sets.items()}
    later = _composed([_transducer(split, holds, 256) for split in splits], 256)
    arcs = tuple(tuple(row.get(byte, ()) for byte in range(256)) for row in earlier.arcs)
    both = compose(Transducer(256, arcs, tuple(earlier.ends), tuple(earlier.tags)), later)
    rows = [{byte: pairs for byte, pairs in enumerate(row) if pairs} for row in both.arcs]
    return ByteAutomaton(rows, list(both.ends), list(both.tags))


def _only(letter: str) -> npt.NDArray[np.bool_]:
    flags = np.zeros(N_CODE_POINTS, np.bool_)
    flags[ord(letter)] = True
    return flags


def _composed(automata: list[Transducer], n_symbols: int) -> Transducer:
    if not automata:
        return _whole(n_symbols)
    composed = automata[0]
    for automaton in automata[1:]:
        composed = compose(composed, automaton)
    return composed


def _whole(n_symbols: int) -> Transducer:
    """No step: the text is one pre-token."""
    return explore(True, n_symbols, lambda first, _: [(int(first), False)], lambda _: True)


def _transducer(split: _Split, holds: dict[str, tuple[bool, ...]], n_atoms: int) -> Transducer:
    return guess_splits(split.program, holds, n_atoms, split.behaviour, split.invert)


def _split(step: Step, dialect: Dialect) -> _Split | None:
    """A step as a split; None where it splits nothing."""
    kind, *options = step
    if kind == "split":
        pattern, behaviour, invert = options
        return _Split(compile_program(parse_pattern(str(pattern), dialect)), _behaviour(str(behaviour)), bool(invert))
    if kind == "byte_level":
        return _Split(compile_program(parse_pattern(_GPT2, "oniguruma")), "isolated", False) if options[-1] else None
    if kind == "digits":
        return _Split(_one_of("digits"), "isolated" if options[0] else "contiguous", False)
    if kind == "punctuation":
        return _Split(_one_of("punctuation"), _behaviour(str(options[0])), False)
    if kind == "metaspace":
        return _Split(_one_of(_BLANK), "merged_with_next", False) if options[0] else None
    raise VocabularyError(f"the pre-tokenizer's step {step!r} cannot be represented")


def _one_of(name: str) -> Program:
    return Program((Read(name), Match()))


def _behaviour(name: str) -> Behaviour:
    found = _BEHAVIOURS.get(name.lower().replace("_", ""))
    if found is None:
        raise VocabularyError(f"the pre-tokenizer's behaviour {name!r} is not known")
    return found
