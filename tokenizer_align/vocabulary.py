"""A model's vocabulary as bytes: which bytes each row of the model's output stands for.

The size is the number of output rows, never `len(tokenizer)`: that may be smaller (padding), larger (surplus added
tokens) or leave holes. Ids without text (special, unused, padding) have None and are never legal, unless a constraint
names an added token. Several ids may share bytes. Reading a tokenizer is slow once, then comes from a disk cache.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenizer_align.cache import ArrayCache, vocabulary_cache
from tokenizer_align.errors import VocabularyError
from tokenizer_align.token_texts import TokenTexts
from tokenizer_align.trie import Trie, build_trie

if TYPE_CHECKING:
    from tokenizer_align.canonical.rules import TokenizationRules

__all__ = ["Vocabulary"]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Bytes per token id, with what masks need to know; immutable and shared.

    token_bytes: one entry an output row; None where a row is never legal.
    eos_token_ids: sorted; each ends the text, none is text.
    added: content -> id of added tokens, special or not, so that a constraint may name them.
    fingerprint: SHA-256 over the content; equal fingerprints mean interchangeable vocabularies.
    usable_bytes, single_bytes: 256-bit masks of bytes in any legal token, and of bytes that are a token by themselves.
    encode: ids of a text from the middle of a longer one (no special tokens, no prefix blank), or None.
    limits: what cannot be written, or not told apart, in words.
    rules: how the tokenizer splits and merges a text, or None where that is not known.
    """

    token_bytes: tuple[bytes | None, ...]
    n_rows: int
    eos_token_ids: tuple[int, ...]
    special_ids: frozenset[int]
    added: dict[str, int]
    fingerprint: str
    usable_bytes: int
    single_bytes: int
    encode: Callable[[str], list[int]] | None = field(repr=False)
    name: str
    limits: tuple[str, ...]
    rules: TokenizationRules | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Vocabulary({self.name!r}, n_rows={self.n_rows}, eos_token_ids={self.eos_token_ids})"

    @property
    def is_atomic(self) -> bool:
        """Whether every byte that occurs in a token is also a token by itself (then liveness is a matter of bytes)."""
        return self.usable_bytes == self.single_bytes

    @cached_property
    def trie(self) -> Trie:
        """All legal tokens as a preorder trie."""
        return build_trie(self.token_bytes)

    @cached_property
    def texts(self) -> TokenTexts:
        """The bytes of all tokens in one array."""
        return TokenTexts.of(self.token_bytes)

    @cached_property
    def ids_by_bytes(self) -> dict[bytes, tuple[int, ...]]:
        """Bytes -> all ids that stand for them, ascending."""
        ids: dict[bytes, tuple[int, ...]] = {}
        for i, data in enumerate(self.token_bytes):
            if data:
                ids[data] = (*ids.get(data, ()), i)
        return ids

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes of a sequence of ids; ids without text give nothing.

        Raises:
            VocabularyError: an id outside the model's rows.
        """
        parts = []
        for i in ids:
            if not 0 <= i < self.n_rows:
                raise VocabularyError(f"token id {i} is outside 0..{self.n_rows - 1}")
            parts.append(self.token_bytes[i] or b"")
        return b"".join(parts)

    @classmethod
    def from_bytes(
        cls,
        token_bytes: Sequence[bytes | None],
        eos_token_ids: Sequence[int] = (),
        encode: Callable[[str], list[int]] | None = None,
        *,
        special_ids: Iterable[int] = (),
        added: dict[str, int] | None = None,
        name: str = "bytes",
        limits: Sequence[str] = (),
        source: str = "",
        rules: TokenizationRules | None = None,
    ) -> Vocabulary:
        """A vocabulary given as bytes per id; None and b"" are never legal, nor are end ids.

        Args:
            source: what else identifies the tokenizer (a hash of its merges), for the fingerprint.
            rules: how it splits and merges a text, where that is known.

        Example:
            >>> v = Vocabulary.from_bytes([b"a", b"ab", b"a", None], eos_token_ids=[3])
            >>> v.ids_by_bytes[b"a"], v.is_atomic
            ((0, 2), False)

        Raises:
            VocabularyError: an end id that is no row.
        """
        n_rows = len(token_bytes)
        ends = tuple(sorted(set(eos_token_ids)))
        if ends and (ends[0] < 0 or ends[-1] >= n_rows):
            raise VocabularyError(f"end-of-sequence ids {ends} are not all within the {n_rows} rows of {name}")
        rows = [data or None for data in token_bytes]
        for i in ends:
            rows[i] = None
        special = frozenset(special_ids) | frozenset(ends)
        usable, single = _byte_masks(rows)
        digest = hashlib.sha256(source.encode())
        digest.update(json.dumps([n_rows, ends, sorted(special), sorted((added or {}).items())]).encode())
        digest.update(np.fromiter((-1 if d is None else len(d) for d in rows), np.int64, n_rows).tobytes())
        digest.update(b"".join(d for d in rows if d))
        return cls(
            token_bytes=tuple(rows),
            n_rows=n_rows,
            eos_token_ids=ends,
            special_ids=special,
            added=dict(added or {}),
            fingerprint=digest.hexdigest(),
            usable_bytes=usable,
            single_bytes=single,
            encode=encode,
            name=name,
            limits=tuple(limits),
            rules=rules,
        )

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        *,
        n_rows: int | None = None,
        eos_token_ids: int | Sequence[int] | None = None,
        model: Any = None,
        allow_lossy: bool = False,
        cache: ArrayCache | None = vocabulary_cache,
    ) -> Vocabulary:
        """Read a tokenizer of any supported kind (see `tokenizer_align.tokenizers`).

        Args:
            tokenizer: the tokenizer, or a Vocabulary (returned as it is where rows and end ids agree).
            n_rows: rows of the model's output; taken from `model` if given, else the largest id plus one.
            eos_token_ids: added to those of the tokenizer and of the model's generation config.
            model: a transformers model, for rows and end ids.
            allow_lossy: accept a tokenizer whose normalizer does not keep text; what is lost is stated in `limits`.
            cache: where prepared vocabularies are kept; None for nowhere.

        Raises:
            VocabularyError: a tokenizer that cannot be read as bytes, loses text, or fails its self-test.
        """
        from tokenizer_align.loading import load_vocabulary

        return load_vocabulary(tokenizer, n_rows, eos_token_ids, model, allow_lossy=allow_lossy, cache=cache)


def _byte_masks(rows: Sequence[bytes | None]) -> tuple[int, int]:
    """(bytes that occur in any token, bytes that are a token), as 256-bit masks."""
    usable = single = 0
    for byte in set(b"".join(data for data in rows if data)):
        usable |= 1 << byte
    for data in rows:
        if data is not None and len(data) == 1:
            single |= 1 << data[0]
    return usable, single
