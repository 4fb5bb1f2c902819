"""Tokenizers from GGUF files, built from the file's metadata as the original tokenizer was.

transformers' own loader falls back to GPT-2's pre-tokenizer for unknown names (SmolLM2), loses `ignore_merges`
(Llama-3) and NFC (Command-R), writes Llama-2's prefix blank with Metaspace, adds ids past the model's last row
(128256), and makes text out of unused rows. Here every id keeps its row and its type (normal, unknown, control,
user-defined, unused, byte).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers import byte_level, gguf_pre_tokenizers
from tokenizer_align.tokenizers.gguf_metadata import read_metadata

__all__ = ["backend_json", "load_gguf_tokenizer"]

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 1, 2, 3, 4, 5
_KEY = "tokenizer.ggml."
_ROLES = {"bos_token": "bos_token_id", "eos_token": "eos_token_id", "pad_token": "padding_token_id"}


def load_gguf_tokenizer(path: str | Path) -> Any:
    """A transformers fast tokenizer of a GGUF file, with its chat template and padding on the left.

    Raises:
        VocabularyError: a family or pre-tokenizer that is not known.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    metadata = read_metadata(path)
    tokens: list[str] = metadata[_KEY + "tokens"]
    backend = Tokenizer.from_str(json.dumps(backend_json(metadata)))
    roles = {role: metadata.get(_KEY + key) for role, key in _ROLES.items()}
    roles["unk_token"] = metadata.get(_KEY + "unknown_token_id") if _is_sentencepiece(metadata) else None
    fast: Any = PreTrainedTokenizerFast  # its constructor has no types
    tokenizer = fast(
        tokenizer_object=backend,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=_context_length(metadata),
        **{role: tokens[i] for role, i in roles.items() if i is not None},
    )
    tokenizer.chat_template = metadata.get("tokenizer.chat_template")
    return tokenizer


def backend_json(metadata: dict[str, Any]) -> dict[str, Any]:
    """The tokenizer.json of a GGUF file's metadata.

    Raises:
        VocabularyError: a family or pre-tokenizer that is not known.
    """
    kind = metadata.get(_KEY + "model")
    tokens: list[str] = metadata[_KEY + "tokens"]
    types: list[int] = list(metadata.get(_KEY + "token_type") or [_NORMAL] * len(tokens))
    for i, token in enumerate(tokens):
        if token == f"[PAD{i}]":  # written by the converter to fill rows that the tokenizer has no token for
            types[i] = _UNUSED
    if kind == "gpt2":
        data = _byte_level_json(metadata, tokens, types)
    elif _is_sentencepiece(metadata):
        data = _sentencepiece_json(metadata, tokens, types)
    else:
        raise VocabularyError(
            f"the GGUF file holds a tokenizer of kind {kind!r} ('bert' is WordPiece, 't5' a Unigram that loses text);"
            " byte-level BPE ('gpt2') and SentencePiece BPE ('llama') are supported"
        )
    added = [
        _added_token(i, _spelled(metadata, token), types[i] != _USER_DEFINED)
        for i, token in enumerate(tokens)
        if types[i] in (_CONTROL, _UNKNOWN, _USER_DEFINED)
    ]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, **data}


def _byte_level_json(metadata: dict[str, Any], tokens: list[str], types: list[int]) -> dict[str, Any]:
    name = metadata.get(_KEY + "pre")
    alphabet = set(map(chr, byte_level.BYTE_OF_CHARACTER))
    spelling = {byte: chr(code) for byte, code in byte_level.CHARACTER_OF_BYTE.items()}
    vocab: dict[str, int] = {}
    for i, token in enumerate(tokens):
        if types[i] == _UNUSED:
            continue
        literal = types[i] != _NORMAL or set(token) <= alphabet
        vocab[token if literal else "".join(spelling[byte] for byte in token.encode())] = i
    model = {
        **_BPE,
        "ignore_merges": gguf_pre_tokenizers.ignores_merges(name),
        "vocab": vocab,
        "merges": [merge.split(" ") for merge in metadata[_KEY + "merges"]],
    }
    byte_part = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    adds_bos = gguf_pre_tokenizers.ignores_merges(name) and name != "glm4"
    return {
        "normalizer": gguf_pre_tokenizers.normalizer(name),
        "pre_tokenizer": gguf_pre_tokenizers.pre_tokenizer(name),
        "decoder": byte_part,
        "post_processor": _template(metadata, tokens, adds_bos),
        "model": model,
    }


def _sentencepiece_json(metadata: dict[str, Any], tokens: list[str], types: list[int]) -> dict[str, Any]:
    vocab = {_spelled(metadata, token): i for i, token in enumerate(tokens) if types[i] != _UNUSED}
    is_gemma4 = metadata.get(_KEY + "model") == "gemma4"  # its chat template writes <bos> itself
    unknown = metadata.get(_KEY + "unknown_token_id", 0)
    scores: list[float] | None = metadata.get(_KEY + "scores")
    merges = metadata.get(_KEY + "merges")
    if merges is not None:
        pairs = [tuple(merge.split(" ")) for merge in merges]
    else:
        mergeable = {piece: i for piece, i in vocab.items() if types[i] in (_NORMAL, _USER_DEFINED)}
        # Gemma's scores do not follow the order of its merges; the order of the pieces does.
        by_position = scores is None or _is_gemma(metadata)
        pairs = _merges_of_pieces(mergeable, [-float(i) for i in range(len(tokens))] if by_position else scores or [])
    normalizers: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    decoders: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if metadata.get(_KEY + "add_space_prefix", not _is_gemma(metadata)):
        normalizers.insert(0, {"type": "Prepend", "prepend": "▁"})
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "post_processor": None if is_gemma4 else _template(metadata, tokens, adds_bos=True),
        "model": {
            **_BPE,
            "unk_token": tokens[unknown],
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": vocab,
            "merges": [list(pair) for pair in pairs],
        },
    }


def _merges_of_pieces(pieces: dict[str, int], scores: list[float]) -> list[tuple[str, str]]:
    """Every split of a piece into two pieces, best score first (as SentencePiece merges), then by ids."""
    merges = []
    for piece, i in pieces.items():
        for cut in range(1, len(piece)):
            left = pieces.get(piece[:cut])
            if left is not None:
                right = pieces.get(piece[cut:])
                if right is not None:
                    merges.append((-scores[i], left, right, piece[:cut], piece[cut:]))
    merges.sort()
    return [(left, right) for *_, left, right in merges]


_BPE: dict[str, Any] = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


def _is_sentencepiece(metadata: dict[str, Any]) -> bool:
    return metadata.get(_KEY + "model") in ("llama", "gemma4")


def _is_gemma(metadata: dict[str, Any]) -> bool:
    return str(metadata.get("general.architecture", "")).startswith("gemma")


def _spelled(metadata: dict[str, Any], token: str) -> str:
    """Gemma files store runs of blanks as blanks; the pieces are runs of "▁"."""
    return "▁" * len(token) if _is_sentencepiece(metadata) and token and not token.strip(" ") else token


def _added_token(i: int, content: str, special: bool) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": i, "content": content, **flags, "special": special}


def _template(metadata: dict[str, Any], tokens: list[str], adds_bos: bool) -> dict[str, Any] | None:
    """The post-processor that puts the begin and end tokens around a text, where the file asks for them."""
    bos, eos = metadata.get(_KEY + "bos_token_id"), metadata.get(_KEY + "eos_token_id")
    before = [tokens[bos]] if bos is not None and metadata.get(_KEY + "add_bos_token", adds_bos) else []
    after = [tokens[eos]] if eos is not None and metadata.get(_KEY + "add_eos_token", False) else []
    if not before and not after:
        return None

    def sequence(name: str, type_id: int) -> list[dict[str, Any]]:
        return [
            *({"SpecialToken": {"id": token, "type_id": type_id}} for token in before),
            {"Sequence": {"id": name, "type_id": type_id}},
            *({"SpecialToken": {"id": token, "type_id": type_id}} for token in after),
        ]

    ids = {tokens[i]: i for i in (bos, eos) if i is not None}
    used = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in {*before, *after}}
    pair = sequence("A", 0) + sequence("B", 1)
    return {"type": "TemplateProcessing", "single": sequence("A", 0), "pair": pair, "special_tokens": used}


def _context_length(metadata: dict[str, Any]) -> int:
    length = metadata.get(f"{metadata.get('general.architecture')}.context_length")
    return int(length) if length else 1 << 30
