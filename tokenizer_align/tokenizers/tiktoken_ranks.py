"""tiktoken encodings: bytes are the ranks' keys, special tokens stand apart. Ids may have holes (o200k: 19)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokenizer_align.canonical.rules import AddedToken, TokenizationRules
from tokenizer_align.tokenizers.table import TokenTable

__all__ = ["rank_rules", "read_encoding"]

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
        rules=lambda: rank_rules(ranks, encoding._pat_str, special),
        rules_key=encoding._pat_str,
    )


def rank_rules(
    ranks: Mapping[bytes, int], pattern: str, special: Mapping[str, int], first_id: int = 0
) -> TokenizationRules:
    """The rules of an encoding whose special tokens are no text; ids are ranks plus `first_id`."""
    from tokenizer_align.canonical.read_rules import rules_of_ranks

    added = {content: AddedToken(i, True, False, is_matched=False) for content, i in special.items()}
    return rules_of_ranks(ranks, pattern, added, first_id)
