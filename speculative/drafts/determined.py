"""Determined runs: what the constraint leaves no choice about, alone or up to layout, in its canonical tokens.

The bytes come from the matcher. They are encoded together with the last tokens of the output, because a tokenizer
does not split where the run begins: after `{"` the run `name": ` continues the token stream `{"`, `name`, `":`. The
last token of the encoding may merge with what follows the run, so it is labelled an *edge*, and the policy learns
when edges pay.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from speculative.drafts import Draft, DraftContext
from speculative.protocols import VocabularyLike
from tokenizer_align.markers import MARKER_BYTE, split_markers

__all__ = ["CanonicalRuns", "DeterminedRuns", "runs_of"]

_TAIL_TOKENS = 6
_MEMO_SIZE = 4096


class CanonicalRuns:
    """Encodes a run of bytes the way the tokenizer would in mid-text; remembers what it did."""

    def __init__(self, vocabulary: VocabularyLike) -> None:
        self._token_bytes = vocabulary.token_bytes
        self._encoder = vocabulary.encode
        self._memo: dict[tuple[bytes, bytes], tuple[int, ...]] = {}

    def encode(self, output_ids: Sequence[int], run: bytes) -> tuple[int, ...]:
        """Return the canonical tokens of `run` after these tokens; bytes that end inside a character are left off.

        What follows a marker (`tokenizer_align.markers`) is encoded by itself.
        """
        if MARKER_BYTE in run:
            ids: list[int] = []
            for part, token in split_markers(run):
                written = self.encode(ids or output_ids, part) if part else ()
                if part and not written:
                    break
                ids += (*written, token) if token >= 0 else written
            return tuple(ids)
        encode = self._encoder
        if encode is None:
            return ()
        tail = self._tail(output_ids)
        key = (tail, run)
        found = self._memo.get(key)
        if found is None:
            found = self._encode(encode, tail, run)
            if len(self._memo) >= _MEMO_SIZE:
                self._memo.clear()
            self._memo[key] = found
        return found

    def _tail(self, output_ids: Sequence[int]) -> bytes:
        """The text of the last few tokens, from a character's start."""
        pieces = [self._token_bytes[token] for token in output_ids[-_TAIL_TOKENS:]]
        while None in pieces:
            del pieces[: pieces.index(None) + 1]  # a marker: what follows it is encoded by itself
        tail = b"".join(piece or b"" for piece in pieces)
        start = 0
        while start < len(tail) and 0x80 <= tail[start] < 0xC0:
            start += 1
        return tail[start:]

    def _encode(self, encode: Callable[[str], list[int]], tail: bytes, run: bytes) -> tuple[int, ...]:
        whole = _decodable(tail + run)
        if whole is None:
            return ()
        ids = encode(whole)
        after = self._after(ids, len(tail))
        if after is None:
            # The tokenizer would merge across the place where the run begins; the model has already decided otherwise.
            text = _decodable(run)
            after = tuple(encode(text)) if text is not None else ()
        return after

    def _after(self, ids: Sequence[int], n_bytes: int) -> tuple[int, ...] | None:
        """The tokens after the first n_bytes, or None if no token ends there."""
        table = self._token_bytes
        for index, token in enumerate(ids):
            if n_bytes <= 0:
                return tuple(ids[index:]) if n_bytes == 0 else None
            n_bytes -= len(table[token] or b"")
        return () if n_bytes == 0 else None


def _decodable(data: bytes) -> str | None:
    """The text of the bytes without an unfinished character at the end; None if they are not UTF-8 before that."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(data) or error.reason != "unexpected end of data":
            return None
        return data[: error.start].decode("utf-8")


_RUNS: weakref.WeakKeyDictionary[Any, CanonicalRuns] = weakref.WeakKeyDictionary()


def runs_of(vocabulary: VocabularyLike) -> CanonicalRuns:
    """Return the encoder of a vocabulary, shared by all calls so that what it remembers serves them all."""
    runs = _RUNS.get(vocabulary)
    if runs is None:
        runs = _RUNS[vocabulary] = CanonicalRuns(vocabulary)
    return runs


class DeterminedRuns:
    """The draft source of determined runs; kinds are "forced", "layout" and "edge"."""

    name = "determined"

    def __init__(self, vocabulary: VocabularyLike) -> None:
        self._runs = runs_of(vocabulary)
        self._token_bytes = vocabulary.token_bytes

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        matcher = context.matcher
        run = matcher.determined_bytes(context.layout) if matcher is not None else b""
        if matcher is None or not run:
            return ()
        ids = self._runs.encode(context.output_ids, run)
        if not ids:
            return ()
        n_forced = len(matcher.forced_bytes())
        kinds = []
        position = 0
        for token in ids:
            position += len(self._token_bytes[token] or b"")
            kinds.append("forced" if position <= n_forced else "layout")
        kinds[-1] = "edge"
        return [Draft(self.name, ids, tuple(kinds)).cut(limit)]
