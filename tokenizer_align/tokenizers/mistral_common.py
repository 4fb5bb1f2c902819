"""mistral-common objects: Tekken (tiktoken ranks behind 1,000 special ids) and SentencePiece v1-v7.

Accepts `MistralTokenizer`, `InstructTokenizer`, or the inner tokenizer of either kind.
"""

from __future__ import annotations

from typing import Any

from tokenizer_align.tokenizers import sentencepiece_bpe
from tokenizer_align.tokenizers.table import TokenTable
from tokenizer_align.tokenizers.tiktoken_ranks import rank_rules

__all__ = ["inner_tokenizer", "read_mistral"]


def inner_tokenizer(tokenizer: Any) -> Any | None:
    """The Tekkenizer or SentencePieceTokenizer inside, or None where the object is not mistral-common's."""
    for _ in range(3):
        if any("mistral_common" in base.__module__ for base in type(tokenizer).__mro__):
            if hasattr(tokenizer, "n_words") and hasattr(tokenizer, "_model"):
                return tokenizer
        elif not hasattr(tokenizer, "instruct_tokenizer"):
            return None
        tokenizer = getattr(tokenizer, "instruct_tokenizer", None) or getattr(tokenizer, "tokenizer", None)
    return None


def read_mistral(tokenizer: Any) -> TokenTable:
    """Read the inner tokenizer of mistral-common."""
    if hasattr(tokenizer, "id_to_byte_piece"):
        return _read_tekken(tokenizer)
    table = sentencepiece_bpe.read_processor(tokenizer._model, "Mistral SentencePiece")
    return table


def _read_tekken(tokenizer: Any) -> TokenTable:
    n_ids, n_special = int(tokenizer.n_words), int(tokenizer.num_special_tokens)
    ranks: dict[bytes, int] = tokenizer._model._mergeable_ranks
    token_bytes: list[bytes | None] = [None] * n_ids
    for data, rank in ranks.items():
        token_bytes[rank + n_special] = data

    def encode(text: str) -> list[int]:
        return [rank + n_special for rank in tokenizer._model.encode_ordinary(text)]

    added = {str(tokenizer.id_to_piece(i)): i for i in range(n_special)}
    pattern = str(tokenizer._model._pat_str)
    return TokenTable(
        name="Mistral Tekken",
        token_bytes=token_bytes,
        special_ids=frozenset(range(n_special)),
        added=added,
        eos_token_ids=(int(tokenizer.eos_id),),
        encode=encode,
        rules=lambda: rank_rules(ranks, pattern, added, n_special),
        rules_key=pattern,
    )
