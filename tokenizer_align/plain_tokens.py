"""How an engine reads its vocabulary's tokens. Here: as their bytes, and no others; see `marked_engine.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .project import Projection
from .trie import Trie
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .engine import Heads

__all__ = ["PlainTokens"]

NO_BYTES = np.zeros(0, np.uint8)


class PlainTokens:
    """Tokens as their bytes.

    key: which of a vocabulary's engines. reserved: bytes that stand for no text (256-bit mask). markers: token id ->
    text of the added tokens that constraints may name. marker_row: uint32[n_words], their bits. token_arrays: bytes of
    tokens that were asked for.
    """

    key = ""
    reserved = 0
    vocabulary: Vocabulary
    markers: dict[int, str]
    token_arrays: dict[int, npt.NDArray[np.uint8]]
    marker_row: npt.NDArray[np.uint32]

    def read_vocabulary(self, vocabulary: Vocabulary) -> Trie:
        """The trie of all tokens that masks may hold."""
        self.markers, self.marker_row = {}, np.zeros((vocabulary.n_rows + 31) // 32, np.uint32)
        return vocabulary.trie

    def projection(self, vocabulary: Vocabulary) -> Projection:
        """What makes an expression one over the vocabulary's bytes."""
        return Projection(vocabulary.usable_bytes)

    def token_text(self, token_id: int) -> npt.NDArray[np.uint8]:
        """The bytes of a token; none where it is not legal."""
        text = self.token_arrays.get(token_id)
        if text is None:
            if not 0 <= token_id < self.vocabulary.n_rows or not self.vocabulary.token_bytes[token_id]:
                return NO_BYTES
            text = np.frombuffer(self.vocabulary.token_bytes[token_id] or b"", np.uint8)
            self.token_arrays[token_id] = text
        return text

    def spelled(self, data: bytes) -> bytes:
        """Bytes of the automaton as text."""
        return data

    def decode(self, tokens: Sequence[int]) -> bytes:
        """The text of tokens."""
        return self.vocabulary.decode(tokens)

    def limits_open(self, heads: Heads, open_bytes: int) -> tuple[int, ...]:
        """The limits of tokens of the parts that the heads are in."""
        return ()

    def stays_within(self, heads: Heads, token_id: int, n_tokens: int) -> bool:
        """Whether a token that begins in a part with this limit, and ends in one, never leaves it in between."""
        return True
