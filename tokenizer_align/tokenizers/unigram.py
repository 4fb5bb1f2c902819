"""Unigram models of the tokenizers library: pieces with scores, the best path through a text wins.

Bytes are those of SentencePiece pieces. What differs: an id is a position in the list, the unknown id is named by
position, and without byte fallback most bytes cannot be written at all (XLM-R: 95 of 256 single bytes).
"""

from __future__ import annotations

from typing import Any

__all__ = ["pieces_by_id", "unknown_ids"]


def pieces_by_id(model: dict[str, Any]) -> dict[int, str]:
    """Id -> piece of the `model` part of a tokenizer.json."""
    return {i: str(piece) for i, (piece, _) in enumerate(model["vocab"])}


def unknown_ids(model: dict[str, Any]) -> frozenset[int]:
    """The ids that stand for text outside the vocabulary."""
    unknown = model.get("unk_id")
    return frozenset() if unknown is None else frozenset([int(unknown)])
