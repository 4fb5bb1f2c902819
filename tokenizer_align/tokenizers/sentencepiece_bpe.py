"""SentencePiece pieces (BPE with byte fallback): "▁" stands for a blank, "<0x0A>" for one byte.

Covers Llama-2, Mistral v1-v7, Phi-3 and Gemma as tokenizers of the tokenizers library, and bare
`sentencepiece.SentencePieceProcessor` objects of either kind (BPE or Unigram).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tokenizer_align.canonical.rules import AddedToken, TokenizationRules
from tokenizer_align.tokenizers.table import TokenTable, is_text_like

__all__ = ["BLANK", "BLANK_LIMIT", "fallback_byte", "has_full_fallback", "piece_bytes", "read_processor"]

BLANK = "▁"
BLANK_LIMIT = "a literal U+2581 (▁) in text cannot be told from a blank: the tokenizer writes both with the same pieces"
_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")
# Field 3 (normalizer_spec) of a serialized ModelProto with add_dummy_prefix (3) and remove_extra_whitespaces (4) off.
# Appended to a model it is merged into what is there: protocol buffers merge repeated singular messages.
_NO_PREFIX_NO_COLLAPSE = b"\x1a\x04\x18\x00\x20\x00"
_PROBE = "ﬁ①Ａ½ e\u0301\u200dx\u3000y"


def fallback_byte(piece: str) -> bytes | None:
    """The byte of a byte piece: "<0x0A>" gives b"\\n"; None for any other piece."""
    match = _BYTE_PIECE.fullmatch(piece)
    return bytes([int(match[1], 16)]) if match else None


def piece_bytes(piece: str, byte_fallback: bool) -> bytes:
    """The bytes that a SentencePiece piece stands for in the middle of a text."""
    if byte_fallback:
        byte = fallback_byte(piece)
        if byte is not None:
            return byte
    return piece.replace(BLANK, " ").encode()


def has_full_fallback(model: dict[str, Any], pieces: dict[int, str]) -> bool:
    """Whether every byte can be written by a byte piece (`model` as in a tokenizer.json)."""
    return (
        bool(model.get("byte_fallback")) and sum(fallback_byte(piece) is not None for piece in pieces.values()) == 256
    )


def read_processor(processor: Any, name: str = "SentencePiece model") -> TokenTable:
    """Read a `sentencepiece.SentencePieceProcessor`."""
    n_pieces = int(processor.get_piece_size())
    token_bytes: list[bytes | None] = [None] * n_pieces
    special: set[int] = set()
    added: dict[str, int] = {}
    n_bytes = 0
    for i in range(n_pieces):
        piece = str(processor.id_to_piece(i))
        if processor.is_control(i) or processor.is_unknown(i):
            special.add(i)
            added[piece] = i
        elif processor.is_byte(i):
            n_bytes += 1
            token_bytes[i] = fallback_byte(piece)
        elif not processor.is_unused(i):
            token_bytes[i] = piece.replace(BLANK, " ").encode()
    # The Python API does not tell user-defined pieces from learnt ones; markers among them have score 0.
    for i, data in enumerate(token_bytes):
        piece = str(processor.id_to_piece(i))
        if data and not processor.is_byte(i) and processor.get_score(i) == 0 and _is_marker(piece):
            added[piece] = i
            token_bytes[i] = None
    encode, normalize = _mid_text(processor)
    probe = normalize(_PROBE)
    losses = [] if probe == _PROBE else [f"its normalizer rewrites text ({_PROBE!r} becomes {probe!r})"]
    if n_bytes < 256:
        losses.append("it has no byte fallback: text outside its pieces becomes <unk>")
    eos = int(processor.eos_id())
    return TokenTable(
        name=name,
        token_bytes=token_bytes,
        special_ids=frozenset(special),
        added=added,
        eos_token_ids=(eos,) if eos >= 0 else (),
        encode=encode,
        normalize=normalize,
        losses=tuple(losses),
        limits=(BLANK_LIMIT,),
        rules=lambda: _rules(processor, added) if _is_bpe(processor) else None,
        rules_key="BPE" if _is_bpe(processor) else "Unigram",
    )


def _rules(processor: Any, added: dict[str, int]) -> TokenizationRules:
    from tokenizer_align.canonical.read_rules import rules_of_pieces

    n_pieces = int(processor.get_piece_size())
    byte_ids = np.full(256, -1, np.int32)
    pieces: dict[str, int] = {}
    for i in range(n_pieces):
        piece = str(processor.id_to_piece(i))
        byte = fallback_byte(piece) if processor.is_byte(i) else None
        if byte is not None:
            byte_ids[byte[0]] = i
        elif piece not in added and not processor.is_unused(i):
            pieces[piece] = i
    scores = [float(processor.get_score(i)) for i in range(n_pieces)]
    tokens = {content: AddedToken(i, True, False, is_matched=False) for content, i in added.items()}
    return rules_of_pieces(pieces, scores, byte_ids, tokens)


def _is_bpe(processor: Any) -> bool:
    """Whether trainer_spec (field 2 of the ModelProto) has model_type (field 3) BPE (2); the default is Unigram."""
    spec = _fields(processor.serialized_model_proto()).get(2, b"")
    return isinstance(spec, bytes) and _fields(spec).get(3) == 2


def _fields(message: bytes) -> dict[int, int | bytes]:
    """The last value of each field of a protocol buffers message: int for varints, bytes for the rest."""
    found: dict[int, int | bytes] = {}
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        key = varint()
        if key & 7 == 0:
            found[key >> 3] = varint()
        else:
            n_bytes = {1: 8, 5: 4}.get(key & 7) or varint()
            found[key >> 3] = message[place : place + n_bytes]
            place += n_bytes
    return found


def _is_marker(piece: str) -> bool:
    framed = len(piece) > 3 and piece[0] in "<[" and piece[-1] in ">]"
    return framed and bool(piece.strip("<>[]/ ")) and not is_text_like(piece, special=False)


def _mid_text(processor: Any) -> tuple[Callable[[str], list[int]], Callable[[str], str]]:
    """(encode, normalize) of a copy of the processor that adds no prefix blank and keeps runs of blanks."""
    copy = type(processor)()
    copy.LoadFromSerializedProto(processor.serialized_model_proto() + _NO_PREFIX_NO_COLLAPSE)

    def encode(text: str) -> list[int]:
        return [int(i) for i in copy.encode(text, out_type=int)]

    def normalize(text: str) -> str:
        return str(copy.normalize(text)).replace(BLANK, " ")

    return encode, normalize
