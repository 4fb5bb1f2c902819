"""The smallest object that can stand for a tokenizer: how many rows, and which bytes each id stands for."""

from __future__ import annotations

from numbers import Integral
from typing import Protocol, runtime_checkable

from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.table import TokenTable

__all__ = ["BytesTokenizer", "read_protocol"]


@runtime_checkable
class BytesTokenizer(Protocol):
    """A tokenizer given by its bytes. May also have `eos_token_ids`, `special_ids`, `added` and `encode(text)`.

    `encode` must not add special tokens nor a prefix blank; without it nothing can be drafted from text.
    """

    n_rows: int

    def id_to_bytes(self, token_id: int, /) -> bytes | None:
        """The bytes of an id; None where it stands for no text."""
        ...


def read_protocol(tokenizer: BytesTokenizer) -> TokenTable:
    """Read an object that follows the protocol.

    Raises:
        VocabularyError: `n_rows` is no number of rows, or `id_to_bytes` gave something other than bytes or None.
    """
    name = str(getattr(tokenizer, "name", None) or type(tokenizer).__name__)
    n_rows = tokenizer.n_rows
    if isinstance(n_rows, bool) or not isinstance(n_rows, Integral) or n_rows < 1:
        raise VocabularyError(f"{name}.n_rows is {n_rows!r}, expected a whole number, 1 or more")
    token_bytes = [tokenizer.id_to_bytes(i) for i in range(int(n_rows))]
    for i, data in enumerate(token_bytes):
        if data is not None and not isinstance(data, bytes):
            raise VocabularyError(f"{name}.id_to_bytes({i}) gave {type(data).__name__}, expected bytes or None")
    encode = getattr(tokenizer, "encode", None)
    return TokenTable(
        name=name,
        token_bytes=token_bytes,
        special_ids=frozenset(getattr(tokenizer, "special_ids", ())),
        added=dict(getattr(tokenizer, "added", {})),
        eos_token_ids=tuple(getattr(tokenizer, "eos_token_ids", ())),
        encode=encode if callable(encode) else None,
    )
