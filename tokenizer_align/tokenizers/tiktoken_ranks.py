"""tiktoken encodings: bytes are the ranks' keys, special tokens stand apart. Ids may have holes (o200k: 19)."""

from __future__ import annotations

from typing import Any

from tokenizer_align.tokenizers.table import TokenTable

__all__ = ["read_encoding"]

_END_TOKENS = ("<|endoftext|>", "<|return|>")


def read_encoding(encoding: Any, name: str | None = None) -> TokenTable:
    """Read a `tiktoken.Encoding`."""
    ranks: dict[bytes, int] = encoding._mergeable_ranks
    special: dict[str, int] = dict(encoding._special_tokens)
    n_ids = 1 + max([*ranks.values(), *special.values()], default=-1)
    token_bytes: list[bytes | None] = [None] * n_ids
    for data, i in ranks.items():
        token_bytes[i] = data
    for i in special.values():
        token_bytes[i] = None
    return TokenTable(
        name=name or f"tiktoken {encoding.name}",
        token_bytes=token_bytes,
        special_ids=frozenset(special.values()),
        added=special,
        eos_token_ids=tuple(special[content] for content in _END_TOKENS if content in special),
        encode=encoding.encode_ordinary,
    )
