"""The legal set of a running text: the constraint, the end ids of this row, and the tokens that are left.

The matcher knows the constraint. Two things are added here. A row may name end ids that the vocabulary does not: they
are legal exactly where the text is complete, like all others. And with `remaining` tokens left, a token is legal only
if the text can still be completed after it (law 6 of DESIGN.md); the matcher is asked for that only where it may
matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from speculative.protocols import Mask, MatcherLike, VocabularyLike
from tokenizer_align.errors import DeadEnd

__all__ = ["LegalSet"]


class LegalSet:
    """What may come next in one row; advances its matcher along the tokens taken."""

    def __init__(self, matcher: MatcherLike, vocabulary: VocabularyLike, end_ids: frozenset[int]) -> None:
        self.matcher = matcher
        self.end_ids = end_ids
        self.mask_s = 0.0
        self.n_masks = 0
        self._n_rows = vocabulary.n_rows
        own = frozenset(vocabulary.eos_token_ids)
        self._extra_ends = np.array(sorted(end_ids - own), dtype=np.int64)

    def take(self, token_id: int, remaining: int) -> bool:
        """Advance by a token if it is legal with `remaining` tokens left (this one included); else change nothing.

        An end id is legal where the text is complete; it does not move the matcher.
        """
        if token_id in self.end_ids:
            return self.matcher.is_complete()
        if not 0 <= token_id < self._n_rows or not self.matcher.accepts(token_id):
            return False
        self.matcher.advance(token_id)
        if self.matcher.min_tokens() <= remaining - 1:
            return True
        self.matcher.rollback(1)
        return False

    def may_take(self, token_id: int) -> bool:
        """Whether a token may be drafted: legal here, and no end id; nothing changes."""
        return token_id not in self.end_ids and 0 <= token_id < self._n_rows and self.matcher.accepts(token_id)

    def only(self) -> int | None:
        """The one token that may come next, where the constraint leaves no choice; None where there is one.

        No choice of the model can differ from it. An end is a choice like any other.
        """
        if not self.matcher.forced_bytes() or (len(self._extra_ends) and self.matcher.is_complete()):
            return None
        mask = self.matcher.mask()
        words = np.flatnonzero(mask)
        if len(words) != 1:
            return None
        word = int(mask[words[0]])
        token = int(words[0]) * 32 + word.bit_length() - 1
        return None if word & (word - 1) or token in self.end_ids else token

    def foresee(self, ids: Sequence[int]) -> None:
        """Make the masks here and behind each of these tokens, as far as they are legal, while there is time for it.

        They are kept with the constraint, so that `bits` finds them. The matcher is left as it was.
        """
        started = time.perf_counter()
        taken = 0
        try:
            for token in ids:
                self.matcher.mask()
                if not self.may_take(token):
                    return
                self.matcher.advance(token)
                taken += 1
            if self.matcher.can_continue() or not taken:
                self.matcher.mask()
        finally:
            if taken:
                self.matcher.rollback(taken)
            self.mask_s += time.perf_counter() - started

    def bits(self) -> npt.NDArray[np.bool_]:
        """Return which tokens the constraint allows, bool[n_rows]."""
        return self._unpack(self.matcher.mask)

    def bits_within(self, remaining: int) -> npt.NDArray[np.bool_]:
        """Return the tokens after which the text can be completed within `remaining` tokens (this one included)."""
        return self._unpack(lambda: self.matcher.mask_within(remaining))

    def _unpack(self, make: Callable[[], Mask]) -> npt.NDArray[np.bool_]:
        started = time.perf_counter()
        mask = np.ascontiguousarray(make()).view(np.uint8)
        bits = np.unpackbits(mask, count=self._n_rows, bitorder="little").view(np.bool_)
        if len(self._extra_ends):
            bits[self._extra_ends] = self.matcher.is_complete()
        self.mask_s += time.perf_counter() - started
        self.n_masks += 1
        if not bits.any():
            raise DeadEnd(self.matcher.text_bytes())
        return bits
