"""Signatures of tokens: what a token does to the pre-tokenizer's automaton, for all its states at once.

From few states a token's first byte leads to many others, and what follows depends on these alone: an *entry* is a
byte and a state that it may lead to. The signature of a token is the set of (entry, end) of its first byte: behind the
entry, the rest of the token ends in this state. Tokens have few different ones (some thousand in a vocabulary of
250,000), so whatever depends on a token only through them is computed once a signature.
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
from tokenizer_align.canonical.signature_kernels import sort_by_entry, token_kinds
from tokenizer_align.token_texts import TokenTexts

__all__ = ["Signatures", "signatures", "signatures_cache"]

IntArray = npt.NDArray[np.int32]

# Raise the version whenever signatures come out otherwise than before.
signatures_cache = ArrayCache("signatures", version=2)


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """of_token: int32[n_rows]: the signature of each id, -1 where an id has no bytes.

    n: how many signatures.
    entries: int32[n_entries]: byte * n_states + state of each, ascending.
    first: int32[n_entries + 1]: where the rows of an entry begin.
    rows: int32[n_rows, 2]: (signature, end), ascending within an entry.
    """

    of_token: IntArray
    n: int
    entries: IntArray
    first: IntArray
    rows: IntArray


def signatures(
    pre_tokens: PreTokens,
    token_bytes: Sequence[bytes | None],
    cache: ArrayCache | None = signatures_cache,
    texts: TokenTexts | None = None,
) -> Signatures:
    """The signatures of a vocabulary's tokens; `texts`: the same bytes in one array, where they are at hand.

    Only ids of `pre_tokens.whole_ids` end in `whole` states, and only there; none begins or ends in an `inside` state.
    """
    texts = texts or TokenTexts.of(token_bytes)
    key = hashlib.sha256(f"{texts.fingerprint} {pre_tokens.fingerprint}".encode()).hexdigest()
    stored: Any = cache.load(key) if cache is not None else None
    if stored is not None:
        return Signatures(n=int(stored.pop("n")), **stored)
    made = _make(pre_tokens, texts.text, texts.starts)
    if cache is not None:
        arrays = {name: getattr(made, name) for name in ("of_token", "entries", "first", "rows")}
        cache.store(key, {"n": np.array(made.n, np.int32), **arrays})
    return made


def _make(pre_tokens: PreTokens, text: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> Signatures:
    entries = _entries(pre_tokens)
    first_entered = np.searchsorted(entries, np.arange(257) * pre_tokens.n_states).astype(np.int32)
    stops = (pre_tokens.whole * 2 + ~(pre_tokens.whole | pre_tokens.inside)).astype(np.int8)
    wanted = np.ones(len(starts) - 1, np.int8)
    wanted[pre_tokens.whole_ids] = 2
    entered = entries % pre_tokens.n_states
    of_token, example, begin, rows = token_kinds(
        pre_tokens.first, pre_tokens.arcs, stops, entered, first_entered, text, starts, wanted
    )
    owner = np.repeat(np.arange(len(example), dtype=np.int32), np.diff(begin))
    entry = first_entered[text[starts[example[owner]]]] + rows[:, 0]
    first, by_entry = sort_by_entry(entry, owner, rows[:, 1], len(entries))
    return Signatures(of_token, len(example), entries, first, by_entry)


def _entries(pre_tokens: PreTokens) -> IntArray:
    """Byte * n_states + state for each state that a byte leads to from a state in which tokens may begin, ascending."""
    places = np.repeat(np.arange(len(pre_tokens.first) - 1, dtype=np.int32), np.diff(pre_tokens.first))
    found = np.zeros(256 * pre_tokens.n_states, np.bool_)
    begins = ~pre_tokens.inside[places >> 8]
    found[((places & 255) * pre_tokens.n_states + pre_tokens.arcs[:, 1])[begins]] = True
    return np.flatnonzero(found).astype(np.int32)
