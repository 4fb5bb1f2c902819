"""Signatures of tokens: what a token does to the pre-tokenizer's automaton, for all its states at once.

The signature of a token is the set of (p, bit, q): read from state p inside one pre-token, with this bit before its
first byte, the token ends in state q. Tokens have few different ones (some thousand in a vocabulary of 250,000), so
whatever depends on a token only through them is computed once a signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_align.cache import ArrayCache
from tokenizer_align.canonical.pre_tokens import PreTokens
from tokenizer_align.canonical.signature_kernels import token_kinds
from tokenizer_align.token_texts import TokenTexts

__all__ = ["Signatures", "signatures", "signatures_cache"]

IntArray = npt.NDArray[np.int32]

# Raise the version whenever signatures come out otherwise than before.
signatures_cache = ArrayCache("signatures", version=1)


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """of_token: int32[n_rows]: the signature of each id, -1 where an id has no bytes.

    first: int32[n_signatures + 1]: where the rows of a signature begin.
    rows: int32[n, 3]: (p, bit, q), ascending within a signature.
    """

    of_token: IntArray
    first: IntArray
    rows: IntArray

    def arcs(self, signature: int, p: int) -> tuple[tuple[int, int], ...]:
        """The (bit, q) pairs of a signature from a state."""
        rows = self.rows[self.first[signature] : self.first[signature + 1]]
        low, high = np.searchsorted(rows[:, 0], [p, p + 1])
        return tuple((int(bit), int(q)) for _, bit, q in rows[low:high])


def signatures(
    pre_tokens: PreTokens,
    token_bytes: Sequence[bytes | None],
    cache: ArrayCache | None = signatures_cache,
    texts: TokenTexts | None = None,
) -> Signatures:
    """The signatures of a vocabulary's tokens; `texts`: the same bytes in one array, where they are at hand.

    Only ids of `pre_tokens.whole_ids` end in `whole` states, and only there; none ends in an `inside` state.
    """
    texts = texts or TokenTexts.of(token_bytes)
    digest = hashlib.sha256(texts.text.tobytes() + texts.starts.tobytes() + pre_tokens.whole_ids.tobytes())
    for array in (pre_tokens.first, pre_tokens.arcs, pre_tokens.inside, pre_tokens.whole):
        digest.update(array.tobytes())
    stored: Any = cache.load(digest.hexdigest()) if cache is not None else None
    if stored is not None:
        return Signatures(**stored)
    made = _make(pre_tokens, texts.text, texts.starts)
    if cache is not None:
        cache.store(digest.hexdigest(), {"of_token": made.of_token, "first": made.first, "rows": made.rows})
    return made


def _make(pre_tokens: PreTokens, text: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> Signatures:
    """Many states read a first byte into few; from those the rest of each token is walked, and what comes of it
    spread over the states before it once a kind of token."""
    entries, entered, first_entered = _entries(pre_tokens)
    stops = (pre_tokens.whole * 2 + ~(pre_tokens.whole | pre_tokens.inside)).astype(np.int8)
    wanted = np.ones(len(starts) - 1, np.int8)
    wanted[pre_tokens.whole_ids] = 2
    kind_of_token, example, kind_first, kind_rows = token_kinds(
        pre_tokens.first, pre_tokens.arcs, stops, entered, first_entered, text, starts, wanted
    )
    number: dict[bytes, int] = {}
    parts: list[IntArray] = []
    of_kind = np.full(len(example) + 1, -1, np.int32)  # the last is of tokens without bytes
    for kind, token in enumerate(example):
        here = kind_rows[kind_first[kind] : kind_first[kind + 1]]
        spread = _spread(entries[int(text[starts[token]])], here)
        name = spread.tobytes()
        if name not in number:
            number[name] = len(parts)
            parts.append(spread)
        of_kind[kind] = number[name]
    first = np.zeros(len(parts) + 1, np.int32)
    np.cumsum([len(part) for part in parts], out=first[1:])
    rows = np.concatenate(parts) if parts else np.empty((0, 3), np.int32)
    return Signatures(of_kind[kind_of_token], first, rows)


def _entries(pre_tokens: PreTokens) -> tuple[list[IntArray], IntArray, IntArray]:
    """(per byte the rows (p, bit, place) of its arcs; the states they lead to, byte by byte, each once; where those of
    a byte begin). A place counts the states of its byte. No token begins in an inside state."""
    entries, entered = [], []
    counts = np.diff(pre_tokens.first).reshape(-1, 256)
    begins = pre_tokens.first[:-1].reshape(-1, 256)
    for byte in range(256):
        states = np.flatnonzero((counts[:, byte] > 0) & ~pre_tokens.inside)
        p = np.repeat(states, counts[states, byte])
        nth = np.arange(len(p)) - np.searchsorted(p, p)
        bits, targets = pre_tokens.arcs[begins[p, byte] + nth].T
        reached, place = np.unique(targets, return_inverse=True)
        entries.append(np.stack([p, bits, place], axis=1).astype(np.int32))
        entered.append(reached)
    first_entered = np.cumsum([0, *map(len, entered)]).astype(np.int32)
    return entries, np.concatenate(entered).astype(np.int32), first_entered


def _spread(entries: IntArray, ends: IntArray) -> IntArray:
    """Rows (p, bit, q) out of (p, bit, place) and (place, q), the latter ascending."""
    low = np.searchsorted(ends[:, 0], entries[:, 2], "left")
    counts = np.searchsorted(ends[:, 0], entries[:, 2], "right") - low
    offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.repeat(entries, counts, axis=0)
    rows[:, 2] = ends[np.repeat(low, counts) + offsets, 1]
    return rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
