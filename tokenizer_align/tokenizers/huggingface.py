"""Tokenizers of the tokenizers library (and transformers' fast ones), read from their JSON form.

The bytes of a piece are defined by the *decoder*: ByteLevel, or blanks written "▁" with or without byte fallback.
Added tokens override pieces, and are literal text, never the byte alphabet (deepseek-llm's "ø").
"""

from __future__ import annotations

import json
from typing import Any

from tokenizer_align.canonical.rules import TokenizationRules
from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers import byte_level, sentencepiece_bpe, unigram
from tokenizer_align.tokenizers.fidelity import Part, flatten, normalizer_findings, pre_tokenizer_losses
from tokenizer_align.tokenizers.mid_text import MidTextEncoder
from tokenizer_align.tokenizers.table import TokenTable, is_text_like

__all__ = ["read_backend"]

_PROTOCOL_HINT = (
    "Pass an object with `n_rows` and `id_to_bytes(i) -> bytes | None` instead, or use Vocabulary.from_bytes."
)


def read_backend(backend: Any, serialized: str, name: str) -> TokenTable:
    """Read a `tokenizers.Tokenizer`; `serialized` is its `to_str()`.

    Raises:
        VocabularyError: a family whose pieces do not stand for fixed bytes (WordPiece, WordLevel, suffix BPE).
    """
    data: dict[str, Any] = json.loads(serialized)
    model: dict[str, Any] = data["model"]
    is_byte_level = _is_byte_level(model, data["decoder"], name)
    pieces = _pieces(model)
    fallback = bool(model.get("byte_fallback"))
    unknown = _unknown_ids(model, pieces)
    added_tokens: list[dict[str, Any]] = data["added_tokens"]

    n_ids = 1 + max([*pieces, *(int(token["id"]) for token in added_tokens)], default=-1)
    token_bytes: list[bytes | None] = [None] * n_ids
    for i, piece in pieces.items():
        if i not in unknown:
            token_bytes[i] = (
                byte_level.piece_bytes(piece) if is_byte_level else sentencepiece_bpe.piece_bytes(piece, fallback)
            )
    for token in added_tokens:
        i, content = int(token["id"]), str(token["content"])
        token_bytes[i] = None
        if i not in unknown and is_text_like(content, bool(token["special"])):
            token_bytes[i] = (content if is_byte_level else content.replace(sentencepiece_bpe.BLANK, " ")).encode()

    losses, limits = normalizer_findings(data["normalizer"])
    losses += pre_tokenizer_losses(data["pre_tokenizer"])
    if not is_byte_level:
        limits.append(sentencepiece_bpe.BLANK_LIMIT)
        if not sentencepiece_bpe.has_full_fallback(model, pieces):
            losses.append("it has no byte fallback: text outside its pieces becomes <unk>")
    special = unknown | {int(token["id"]) for token in added_tokens if token["special"]}
    encoder = MidTextEncoder.of_backend(backend, special)
    return TokenTable(
        name=name,
        token_bytes=token_bytes,
        special_ids=special,
        added={str(token["content"]): int(token["id"]) for token in added_tokens},
        encode=encoder,
        normalize=encoder.normalize,
        losses=tuple(losses),
        limits=tuple(limits),
        rules=lambda: _rules(data, is_byte_level, token_bytes),
    )


def _rules(data: dict[str, Any], is_byte_level: bool, token_bytes: list[bytes | None]) -> TokenizationRules | None:
    from tokenizer_align.canonical.read_rules import rules_of_backend

    text_ids = {int(token["id"]) for token in data["added_tokens"] if token_bytes[int(token["id"])] is not None}
    return rules_of_backend(data, is_byte_level, text_ids)


def _is_byte_level(model: dict[str, Any], decoder: Part | None, name: str) -> bool:
    """True for the byte alphabet, False for "▁"; anything else is refused by name."""
    kinds = [part["type"] for part in flatten(decoder)]
    if model["type"] == "WordPiece" or "WordPiece" in kinds:
        raise VocabularyError(
            f"{name} is a WordPiece tokenizer: it drops blanks, its pieces stand for no fixed bytes. {_PROTOCOL_HINT}"
        )
    if model["type"] not in ("BPE", "Unigram"):
        raise VocabularyError(f"{name} is a {model['type']} tokenizer, which is not supported. {_PROTOCOL_HINT}")
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        raise VocabularyError(f"{name} marks parts of words by a prefix or suffix (CLIP, BERT style). {_PROTOCOL_HINT}")
    if "ByteLevel" in kinds and set(kinds) <= {"ByteLevel", "Fuse", "ByteFallback"}:
        return True
    known = {"Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"}
    blanks = "Metaspace" in kinds or any(_writes_blanks(part) for part in flatten(decoder))
    if blanks and set(kinds) <= known:
        return False
    shown = " + ".join(kinds) or "none"
    raise VocabularyError(
        f"{name} has the decoder {shown}, which does not say what bytes each id stands for. {_PROTOCOL_HINT}"
    )


def _writes_blanks(part: Part) -> bool:
    return part["type"] == "Replace" and (part["pattern"].get("String"), part["content"]) == ("▁", " ")


def _pieces(model: dict[str, Any]) -> dict[int, str]:
    if model["type"] == "Unigram":
        return unigram.pieces_by_id(model)
    return {int(i): str(piece) for piece, i in model["vocab"].items()}


def _unknown_ids(model: dict[str, Any], pieces: dict[int, str]) -> frozenset[int]:
    if model["type"] == "Unigram":
        return unigram.unknown_ids(model)
    unknown = model.get("unk_token")
    return frozenset(i for i, piece in pieces.items() if piece == unknown) if unknown else frozenset()
