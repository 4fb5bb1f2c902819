"""Tokens as paths of the pre-tokenizer's automaton P: from which states a token can be read as one piece, and to where.

P guesses: after a text several of its states may be possible, of which exactly one turns out right. A *cut* of a state
is a byte before which a boundary may lie whatever comes after that byte: P goes on there as at a text's beginning, and
the byte begins no special token, which a text must not spell. Then what follows is tokenized independently of what
stands before. A state without cuts is *poor*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..token_texts import TokenTexts
from .path_kernels import (
    ANYWHERE,
    BEHIND_WHOLE,
    NEVER,
    NOWHERE,
    ORDINARY,
    WHOLE,
    find_cuts,
    may_stop,
    text_ends,
)
from .pre_tokens import PreTokens
from .signature_paths import SignaturePaths
from .signatures import signatures, signatures_cache

Row = npt.NDArray[np.uint32]  # uint32[n_words], token t is bit t & 31 of word t >> 5
Ids = npt.NDArray[np.int32]
States = tuple[int, ...]  # states of P, ascending

MAX_ROWS = 512  # states whose rows are kept
MAX_CUT_SETS = 62
OTHER_STATES = 62  # the bit of what is no set of cuts: see `kernels.unread_sets`
MIN_KEPT_ROWS = 20_000  # of a vocabulary whose signatures are kept on disk


class TokenPaths:
    """P beside one vocabulary. `poor` holds the tokens that may end in a poor state, whichever they are read from."""

    def __init__(
        self,
        pre_tokens: PreTokens,
        token_bytes: Sequence[bytes | None],
        never: Row | None = None,
        texts: TokenTexts | None = None,
    ) -> None:
        self.pre_tokens = pre_tokens
        self.start = pre_tokens.start
        self.n_words = (len(token_bytes) + 31) // 32
        texts = texts or TokenTexts.of(token_bytes)
        self.text, self.text_start = texts.text, texts.starts
        self.lengths = np.diff(texts.starts).astype(np.int32)  # of each token in bytes
        self.stops = np.full(pre_tokens.n_states, ANYWHERE, np.uint8)
        self.stops[pre_tokens.whole] = BEHIND_WHOLE
        self.stops[pre_tokens.inside] = NOWHERE
        self.kinds = np.full(len(token_bytes), ORDINARY, np.uint8)
        self.kinds[pre_tokens.whole_ids] = WHOLE
        if never is not None:
            self.kinds[np.unpackbits(never.view(np.uint8), bitorder="little")[: len(token_bytes)] == 1] = NEVER
        kept = signatures_cache if len(token_bytes) >= MIN_KEPT_ROWS else None
        self._by_signature = SignaturePaths(
            signatures(pre_tokens, token_bytes, kept, texts), pre_tokens, self.kinds == NEVER
        )
        self._rows: dict[int, tuple[Row, Row]] = {}
        self._ends: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        self._after: dict[tuple[States, bytes], States] = {}
        self._steps: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        self.cuts, self.weak_cuts = self._find_cuts()
        self.ends = [bool(end) for end in pre_tokens.ends]
        self.cuts_of = words_of_all(self.cuts)
        self.may_end: npt.NDArray[np.bool_] = np.array(pre_tokens.ends, np.bool_)
        self.cut_sets, self.sets_behind = self._find_cut_sets()
        self.sets_below: npt.NDArray[np.uint64] | None = None  # see `known_states.sets_of_subtrees`
        self.poor = self._poor_tokens()

    # --- single states --------------------------------------------------------------------------------------------

    def step(self, p: int, byte: int) -> tuple[tuple[int, int], ...]:
        """(bit, state) for each way to read a byte."""
        found = self._steps.get((p, byte))
        if found is None:
            arcs, first = self.pre_tokens.arcs, self.pre_tokens.first
            place = p * 256 + byte
            found = tuple((int(bit), int(after)) for bit, after in arcs[first[place] : first[place + 1]])
            self._steps[p, byte] = found
        return found

    def _find_cuts(self) -> tuple[list[int], list[int]]:
        """Per state the bytes that are cuts, and the other bytes before which a boundary may lie (256-bit masks)."""
        automaton = self.pre_tokens
        is_cut, may_cut = np.zeros((2, automaton.n_states, 256), np.bool_)
        find_cuts(automaton.first, automaton.arcs, self.start, automaton.spelling, is_cut, may_cut)
        return _masks_of(is_cut), _masks_of(may_cut)

    def _find_cut_sets(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The different sets of cuts that are not empty, uint64[n, 4], and which of them tokens may have behind, as
        bits: uint64[n_rows]. Where there are more than MAX_CUT_SETS, smaller ones stand for the rarest."""
        n_states = Counter(cuts for cuts in self.cuts if cuts)
        least = {one for one in n_states if not any(other != one and other & ~one == 0 for other in n_states)}
        sets = sorted(n_states, key=lambda one: (one not in least, -n_states[one], one))[:MAX_CUT_SETS]
        place = {one: i for i, one in enumerate(sets)}
        of_state = np.zeros(len(self.cuts), np.uint64)
        for p, cuts in enumerate(self.cuts):
            if cuts:
                smaller = cuts if cuts in place else next(one for one in sets if one & ~cuts == 0)
                of_state[p] = 1 << place[smaller]
        return words_of_all(sets), self._by_signature.joined(of_state) | np.uint64(1 << OTHER_STATES)

    def _poor_tokens(self) -> Row:
        """Tokens that can end in a poor state, from any state that a token may begin in."""
        of_state = np.fromiter((cuts == 0 for cuts in self.cuts), np.uint64, len(self.cuts))
        poor = np.zeros(32 * self.n_words, np.bool_)
        poor[: len(self.kinds)] = self._by_signature.joined(of_state) != 0
        packed: Row = np.packbits(poor, bitorder="little").view(np.uint32)
        return packed

    # --- tokens ---------------------------------------------------------------------------------------------------

    def rows(self, p: int) -> tuple[Row, Row]:
        """The tokens that can be read from a state as one piece, without and with a boundary before them."""
        found = self._rows.get(p)
        if found is None:
            if len(self._rows) >= MAX_ROWS:
                self._rows.clear()
            found = self._rows[p] = self._by_signature.rows(p)
        return found

    def ends_of(self, p: int, token: int) -> tuple[tuple[int, int], ...]:
        """(bit, state) for each way to read a token from a state as one piece."""
        found = self._ends.get((p, token))
        if found is None:
            data = self.text[self.text_start[token] : self.text_start[token + 1]].tolist()
            here = list(self.step(p, data[0])) if data else []
            for byte in data[1:]:
                here = list(
                    dict.fromkeys((b, after) for b, at in here for bit, after in self.step(at, byte) if not bit)
                )
            kind = self.kinds[token]
            found = tuple((bit, after) for bit, after in here if may_stop(self.stops[after], kind))
            if len(self._ends) > 1 << 18:
                self._ends.clear()
            self._ends[p, token] = found
        return found

    def ends_of_all(self, p: int, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n, 3]: (index into tokens, bit, state) for each way to read each token."""
        return self._by_signature.ends(p, tokens)

    def arcs(self, p: int) -> tuple[Ids, Ids, Ids]:
        """(signature of each token, where the arcs of each signature from a state begin, the arcs): see
        `SignaturePaths.arcs`."""
        return (self._by_signature.of_token, *self._by_signature.arcs(p))

    def read_all(self, states: States, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n, 2]: (index into tokens, state) for the states that `read` gives after each token's bytes."""
        automaton, starts = self.pre_tokens, np.array(states, np.int32)
        out = np.zeros((4 * len(tokens) + 16, 2), np.int32)
        while True:
            seen = np.full(automaton.n_states, -1, np.int64)
            n = text_ends(automaton.first, automaton.arcs, starts, tokens, self.text_start, self.text, seen, out)
            if n <= len(out):
                return out[:n]
            out = np.zeros((n, 2), np.int32)

    def read(self, states: States, data: bytes) -> States:
        """The states that are possible after more bytes of the text, however they are split into tokens.

        Those in the middle of a token that is always a whole pre-token are among them: where other tokens wrote it,
        the text goes on behind it all the same. No token begins in them: see `open`.
        """
        found = self._after.get((states, data))
        if found is None:
            here = set(states)
            for byte in data:
                here = {after for p in here for _, after in self.step(p, byte)}
            found = tuple(sorted(here))
            if len(self._after) > 1 << 16:
                self._after.clear()
            self._after[states, data] = found
        return found

    def open(self, states: States) -> States:
        """The states among these in which a token may begin and end."""
        return tuple(p for p in states if self.stops[p] != NOWHERE)


def _masks_of(bits: npt.NDArray[np.bool_]) -> list[int]:
    """bool[n, 256] as 256-bit masks."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def words_of_all(masks: Sequence[int]) -> npt.NDArray[np.uint64]:
    """256-bit masks as uint64[n, 4]."""
    return np.frombuffer(b"".join(mask.to_bytes(32, "little") for mask in masks), np.uint64).reshape(-1, 4).copy()
