"""The engine of constraints with markers: its trie also holds the added tokens, under bytes that no text has.

A vocabulary has two engines at most: constraints without markers share the plain one, and pay nothing for markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .engine import Engine, Heads
from .markers import (
    CODE_LENGTH,
    LIMIT_BYTE,
    MARKER_BYTE,
    MarkedProjection,
    limit_code,
    marker_code,
    marker_tokens,
    split_markers,
)
from .project import Projection
from .trie import Trie, build_trie
from .unique_runs import Tracked, heads_of
from .vocabulary import Vocabulary

__all__ = ["MarkedEngine"]

_SYMBOLS = bytes([MARKER_BYTE, LIMIT_BYTE])


class MarkedEngine(Engine):
    """An engine whose masks hold markers, where the constraint has one."""

    key = "marked"
    reserved = (1 << MARKER_BYTE) | (1 << LIMIT_BYTE)

    def read_vocabulary(self, vocabulary: Vocabulary) -> Trie:
        self.markers = {token: text for text, token in marker_tokens(vocabulary).items()}
        self.marker_row = np.zeros((vocabulary.n_rows + 31) // 32, np.uint32)
        for token in self.markers:
            self.marker_row[token >> 5] |= np.uint32(1 << (token & 31))
        self.longest_token = max(self.longest_token, CODE_LENGTH)
        return _with_markers(vocabulary, self.markers)

    def projection(self, vocabulary: Vocabulary) -> Projection:
        return MarkedProjection(vocabulary)

    def token_text(self, token_id: int) -> npt.NDArray[np.uint8]:
        """The bytes of a token as the automaton reads them; a number below -1 stands for the limit -2 - number."""
        text = self.token_arrays.get(token_id)
        if text is None:
            if token_id < -1:
                data = limit_code(-2 - token_id)
            elif token_id in self.markers:
                data = marker_code(token_id)
            else:
                known = 0 <= token_id < self.vocabulary.n_rows
                data = (self.vocabulary.token_bytes[token_id] if known else None) or b""
                if any(byte in data for byte in _SYMBOLS):
                    data = b""
            text = self.token_arrays[token_id] = np.frombuffer(data, np.uint8)
        return text

    def run_token(self, heads: Heads, token_id: int) -> Heads:
        """The closed heads after a token, or after a limit: that closes the parts that have it, and nothing else."""
        return super().run_token(heads, token_id) if token_id >= 0 else self._close(heads, self.token_text(token_id))

    def _close(self, heads: Heads, code: npt.NDArray[np.uint8]) -> Heads:
        if isinstance(heads, Tracked):
            return heads_of(tuple((self._close(here, code), levels) for here, levels in heads.groups))
        return tuple(sorted({after for head in heads for after in self.run_plain((head,), code) or (head,)}))

    def limits_open(self, heads: Heads, open_bytes: int) -> tuple[int, ...]:
        """The limits of tokens of the parts that the heads are in."""
        if not open_bytes >> LIMIT_BYTE & 1:
            return ()
        return tuple(n for n in sorted(self._limits) if self.run(heads, self.token_text(-2 - n)))

    def stays_within(self, heads: Heads, token_id: int, n_tokens: int) -> bool:
        """Whether a token that begins in a part with this limit, and ends in one, never leaves it in between."""
        if token_id in self.markers:
            return False
        text, ends = self.token_text(token_id), self._limits[n_tokens]
        if not any(ends >> byte & 1 for byte in text.tolist()):
            return True
        code = self.token_text(-2 - n_tokens)
        for byte in text[:-1].tolist():
            heads = self.run(heads, np.array([byte], np.uint8))
            if not self.run(heads, code):
                return False
        return True

    @property
    def _limits(self) -> dict[int, int]:
        assert isinstance(self.project, MarkedProjection)
        return self.project.limits

    def spelled(self, data: bytes) -> bytes:
        """Bytes of the automaton as text: markers as they are called."""
        if MARKER_BYTE not in data:
            return data
        return b"".join(text + self.markers.get(token, "").encode() for text, token in split_markers(data))

    def decode(self, tokens: Sequence[int]) -> bytes:
        """The text of tokens, markers as they are called."""
        table = self.vocabulary.token_bytes
        return b"".join(self.markers[t].encode() if t in self.markers else table[t] or b"" for t in tokens)


def _with_markers(vocabulary: Vocabulary, markers: Iterable[int]) -> Trie:
    """The vocabulary's trie without tokens that hold symbol bytes, and with the markers behind all others."""
    plain = vocabulary.trie
    top = _first_child_from(plain, LIMIT_BYTE)
    if np.isin(plain.byte[1:top], np.frombuffer(_SYMBOLS, np.uint8)).any():
        kept = [None if data and any(b in data for b in _SYMBOLS) else data for data in vocabulary.token_bytes]
        plain = build_trie(kept)
        top = plain.n_nodes
    ids = sorted(markers)
    extra = build_trie([marker_code(token) for token in ids])
    n_tokens = int(plain.token_start[top])
    end = plain.end[:top].copy()
    end[0] = top + extra.n_nodes - 1
    starts = np.concatenate([plain.token_start[:top], extra.token_start[1:] + n_tokens])
    return Trie(
        byte=np.concatenate([plain.byte[:top], extra.byte[1:]]),
        end=np.concatenate([end, extra.end[1:] + (top - 1)]).astype(np.int32),
        depth=np.concatenate([plain.depth[:top], extra.depth[1:]]),
        token_start=starts.astype(np.int32),
        token_ids=np.concatenate([plain.token_ids[:n_tokens], np.array(ids, np.int32)[extra.token_ids]]),
    )


def _first_child_from(trie: Trie, byte: int) -> int:
    """The root's first child whose byte is `byte` or above; the number of nodes where there is none."""
    node = 1
    while node < trie.n_nodes and trie.byte[node] < byte:
        node = int(trie.end[node])
    return node
