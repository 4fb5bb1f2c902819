"""Tokens as paths of P by their signatures: where all tokens, or some, end when they are read from one state.

What a token does depends on its signature alone (`signatures.py`), so a state's rows are one pass over the vocabulary,
and where a token ends is a look-up: 0.3 ms and 5 ns at 262k, where reading the tokens' bytes takes 5 ms and 50 ns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from .pre_tokens import PreTokens
from .signature_kernels import collect_arcs, join_ends
from .signatures import Signatures

Row = npt.NDArray[np.uint32]
Ids = npt.NDArray[np.int32]

MAX_STATES = 1 << 10  # whose arcs are kept


class SignaturePaths:
    """The signatures of a vocabulary by the state that tokens are read from."""

    def __init__(self, found: Signatures, pre_tokens: PreTokens, never: npt.NDArray[np.bool_]) -> None:
        """never: bool[n_rows], tokens that stand in no canonical text."""
        self.n_signatures = found.n
        self.of_token = np.where((found.of_token < 0) | never, self.n_signatures, found.of_token).astype(np.int32)
        self._found, self._pre_tokens = found, pre_tokens
        self._known: dict[int, tuple[Ids, Ids]] = {}

    def joined(self, of_state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """uint64[n_rows]: of the states in which each token may end, from whatever state, the bits of all."""
        bits = np.zeros(self.n_signatures + 1, np.uint64)
        join_ends(self._found.rows, of_state, bits)
        return bits[self.of_token]

    def arcs(self, p: int) -> tuple[Ids, Ids]:
        """(begins, ends) of a state: ends[begins[s]:begins[s + 1]] are the rows (bit, state) of signature s.

        begins: int32[n_signatures + 2], the last one of tokens that cannot be read; ends: int32[n, 2].
        """
        found = self._known.get(p)
        if found is None:
            begins, ends = np.zeros(self.n_signatures + 2, np.int32), np.empty((0, 2), np.int32)
            if not self._pre_tokens.inside[p]:
                automaton, entered = self._pre_tokens, self._found
                ends = collect_arcs(
                    p, automaton.first, automaton.arcs, entered.entries, entered.first, entered.rows, begins
                )
            if len(self._known) >= MAX_STATES:
                self._known.clear()
            found = self._known[p] = (begins, ends)
        return found

    def rows(self, p: int) -> tuple[Row, Row]:
        """The tokens that can be read from a state as one piece, without and with a boundary before them."""
        begins, ends = self.arcs(p)
        bits = np.zeros(self.n_signatures + 1, np.uint8)
        np.bitwise_or.at(
            bits,
            np.repeat(np.arange(self.n_signatures + 1), np.diff(begins)),
            np.uint8(1) << ends[:, 0].astype(np.uint8),
        )
        rows = np.zeros((2, (len(self.of_token) + 31) // 32), np.uint32)
        fill_rows(self.of_token, bits, rows)
        return rows[0], rows[1]

    def ends(self, p: int, tokens: Ids) -> Ids:
        """int32[n, 3]: (index into tokens, bit, state) for each way to read each token."""
        begins, ends = self.arcs(p)
        signature = self.of_token[tokens]
        out = np.empty((int((begins[signature + 1] - begins[signature]).sum()), 3), np.int32)
        list_ends(signature, begins, ends, out)
        return out


@njit(cache=True, nogil=True)
def fill_rows(of_token: Any, bits: Any, rows: Any) -> None:
    """Set token t in rows[0] where bits[of_token[t]] has bit 0, in rows[1] where it has bit 1.

    of_token: int32[n_rows]; bits: uint8[n_signatures + 1]; rows: uint32[2, n_words].
    """
    for word in range(rows.shape[1]):
        without, with_boundary = np.uint32(0), np.uint32(0)
        for i in range(min(32, of_token.shape[0] - 32 * word)):
            found = np.uint32(bits[of_token[32 * word + i]])
            without |= (found & np.uint32(1)) << np.uint32(i)
            with_boundary |= (found >> np.uint32(1)) << np.uint32(i)
        rows[0, word], rows[1, word] = without, with_boundary


@njit(cache=True, nogil=True)
def list_ends(signature: Any, begins: Any, ends: Any, out: Any) -> None:
    """Rows (index, bit, state) of each signature's ends, into out: int32[n, 3], which they fill."""
    n = 0
    for i in range(signature.shape[0]):
        for at in range(begins[signature[i]], begins[signature[i] + 1]):
            out[n, 0] = i
            out[n, 1] = ends[at, 0]
            out[n, 2] = ends[at, 1]
            n += 1
