"""From an automaton over atoms of code points to one over the bytes of UTF-8 (RFC 3629).

Within a character the bit of its first byte is known, the atom is not: a state is what may still come, a table of 64
continuations. Tables that are equal are one state, whatever automaton states and lead bytes they came from, so a few
hundred do. Overlong forms and surrogates lead nowhere. No token may end in a character that leads to tagged states or
that is a piece of its own, so those have tables of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_align.canonical.transducers import Arcs, Transducer

__all__ = ["ByteAutomaton", "over_bytes"]

Ints = npt.NDArray[np.int64]

_BLOCK = 64
_WITHIN = 1  # tag of states where no token may end


@dataclass(slots=True)
class ByteAutomaton:
    """Arcs per state: byte -> (bit, target) pairs; state 0 is the start. Ends and tags as in Transducer."""

    arcs: list[dict[int, Arcs]]
    ends: list[bool]
    tags: list[int]


_N_BLOCKS = 0x110000 // _BLOCK


def over_bytes(
    automaton: Transducer, atom_of_code_point: npt.NDArray[np.int16], pieces: Sequence[bool] = ()
) -> ByteAutomaton:
    """The automaton that reads the bytes of the code points' UTF-8; `pieces`: atoms that are never cut.

    Between characters the states are those of `automaton`, with the same numbers; those within one follow.
    """
    n_states = len(automaton.arcs)
    found = ByteAutomaton(
        [_ascii_arcs(automaton, state, atom_of_code_point) for state in range(n_states)],
        list(automaton.ends),
        list(automaton.tags),
    )
    _add_characters(found, automaton, atom_of_code_point, pieces, is_tagged=False)
    if any(automaton.tags) or any(pieces):
        _add_characters(found, automaton, atom_of_code_point, pieces, is_tagged=True)
    return found


def _add_characters(
    found: ByteAutomaton,
    automaton: Transducer,
    atom_of_code_point: npt.NDArray[np.int16],
    pieces: Sequence[bool],
    is_tagged: bool,
) -> None:
    """Add what lies within the characters that are never cut, or within the others."""
    sets, set_of = _target_sets(automaton, pieces, is_tagged)
    n_before = len(found.arcs) - 1  # nodes are numbered from 1
    blocks, block_of = _distinct(atom_of_code_point.reshape(_N_BLOCKS, _BLOCK))
    # Rows of `set_of` are (state, bit); atom -1 is the last column, of empty sets.
    last = set_of[:, blocks.reshape(-1)].reshape(len(set_of), len(blocks), _BLOCK)
    nodes = _Nodes()
    ends_in = nodes.intern(last)  # [state and bit, block]: node of the last continuation byte
    two = ends_in[:, block_of[: 0x800 // _BLOCK]]  # [.., lead - 0xC0]
    two[:, :2] = 0
    three = nodes.intern(_grouped(ends_in, block_of[: 0x10000 // _BLOCK], 0x800))  # [.., lead - 0xE0]
    middle = nodes.intern(_grouped(ends_in, block_of[0x10000 // _BLOCK :], 0))
    padded = np.zeros((len(set_of), 5 * _BLOCK), np.int64)  # planes 0 to 19; plane 0 is overlong, 17 and on are no text
    padded[:, 16 : 16 + middle.shape[1]] = middle
    four = nodes.intern(padded.reshape(len(set_of), 5, _BLOCK))  # [.., lead - 0xF0]

    for leads, first in ((two, 0xC0), (three, 0xE0), (four, 0xF0)):
        for row, lead in np.argwhere(leads).tolist():
            state, bit = divmod(row, 2)
            arcs = found.arcs[state]
            arcs[first + lead] = (*arcs.get(first + lead, ()), (bit, n_before + int(leads[row, lead])))
    for level, table in nodes.tables:
        going = ((0x80 + int(i), int(table[i])) for i in np.flatnonzero(table))
        found.arcs.append({b: tuple((0, q) for q in sets[i]) if level == 0 else ((0, n_before + i),) for b, i in going})
        found.ends.append(False)
        found.tags.append(_WITHIN if is_tagged else 0)


class _Nodes:
    """Tables within characters, numbered from 1; 0 is the table from which nothing goes on."""

    def __init__(self) -> None:
        self.tables: list[tuple[int, Ints]] = []
        self._number: dict[tuple[int, bytes], int] = {}
        self._n_calls = 0

    def intern(self, tables: Ints) -> Ints:
        """tables: int64[a, b, 64] of numbers; returns int64[a, b] of nodes. The first call gives the last bytes."""
        level = min(self._n_calls, 1)
        self._n_calls += 1
        rows, inverse = _distinct(tables.reshape(-1, _BLOCK))
        number = np.zeros(len(rows), np.int64)
        for i, row in enumerate(rows):
            if row.any():
                name = (level, row.tobytes())
                if name not in self._number:
                    self.tables.append((level, row))
                    self._number[name] = len(self.tables)
                number[i] = self._number[name]
        return number[inverse].reshape(tables.shape[:2])


def _distinct(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """(the rows that differ, per row the number of its equal); faster than a sort of wide rows."""
    number: dict[bytes, int] = {}
    first: list[int] = []
    inverse = np.empty(len(rows), np.int64)
    for i, row in enumerate(rows):
        name = row.tobytes()
        if name not in number:
            number[name] = len(first)
            first.append(i)
        inverse[i] = number[name]
    return rows[first], inverse


def _grouped(ends_in: Ints, block_of: Ints, first: int) -> Ints:
    """Nodes of blocks by 64; those below the code point `first` are no text."""
    nodes = ends_in[:, block_of]
    nodes[:, : first // _BLOCK] = 0
    return nodes.reshape(len(ends_in), -1, _BLOCK)


def _target_sets(automaton: Transducer, pieces: Sequence[bool], is_tagged: bool) -> tuple[list[tuple[int, ...]], Ints]:
    """(sets of tagged or of other states, set_of: int64[2 * state + bit, atom or the missing one]); set 0 is empty."""
    whole = [*pieces, *([False] * (automaton.n_symbols - len(pieces)))]
    number: dict[tuple[int, ...], int] = {(): 0}
    set_of = np.zeros((2 * len(automaton.arcs), automaton.n_symbols + 1), np.int64)
    for state, row in enumerate(automaton.arcs):
        for atom, pairs in enumerate(row):
            for bit in (0, 1):
                targets = tuple(
                    q for one, q in pairs if one == bit and is_tagged == (whole[atom] or bool(automaton.tags[q]))
                )
                set_of[2 * state + bit, atom] = number.setdefault(targets, len(number))
    return list(number), set_of


def _ascii_arcs(automaton: Transducer, state: int, atom_of_code_point: npt.NDArray[np.int16]) -> dict[int, Arcs]:
    pairs = ((byte, automaton.arcs[state][int(atom_of_code_point[byte])]) for byte in range(0x80))
    return {byte: some for byte, some in pairs if some}
