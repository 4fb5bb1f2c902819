"""Tokenizers from GGUF files, on small files written here (real ones with reference ids: test_real_vocabulary)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.byte_level import CHARACTER_OF_BYTE
from tokenizer_align.tokenizers.gguf import load_gguf_tokenizer
from tokenizer_align.tokenizers.gguf_metadata import read_metadata
from tokenizer_align.tokenizers.gguf_pre_tokenizers import ignores_merges, normalizer, pre_tokenizer
from tokenizer_align.vocabulary import Vocabulary

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def packed(value: Any) -> bytes:
    """(type, value) as GGUF writes it."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<IQ", 10, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    kind = packed(value[0])[:4]
    return struct.pack("<I", 9) + kind + struct.pack("<Q", len(value)) + b"".join(packed(item)[4:] for item in value)


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def write_gguf(path: Path, metadata: dict[str, Any]) -> Path:
    pairs = b"".join(text(key) + packed(value) for key, value in metadata.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(metadata)) + pairs)
    return path


def byte_level_file(path: Path, pre: str, **more: Any) -> Path:
    alphabet = [chr(CHARACTER_OF_BYTE[byte]) for byte in range(256)]
    tokens = [*alphabet, "ab", "abc", "<|end|>", "<think>", "[PAD260]", "ĠĠ"]
    types = [NORMAL] * 258 + [CONTROL, USER_DEFINED, USER_DEFINED, NORMAL]
    values = {"model": "gpt2", "pre": pre, "tokens": tokens, "token_type": types, "merges": ["a b", "Ġ Ġ"]}
    values |= {"eos_token_id": 258, **more}
    metadata = {"general.architecture": "llama", "llama.context_length": 2048}
    metadata |= {f"tokenizer.ggml.{key}": value for key, value in values.items()}
    return write_gguf(path, metadata | {"tokenizer.chat_template": "{{ messages }}"})


def test_metadata_of_every_type_is_read(tmp_path: Path) -> None:
    metadata = {
        "s": "é",
        "i": 7,
        "f": 0.5,
        "b": True,
        "strings": ["a", ""],
        "ints": [1, 2],
        "floats": [0.25],
        "flags": [True],
    }
    assert read_metadata(write_gguf(tmp_path / "a.gguf", metadata)) == metadata


def test_file_that_is_no_gguf_or_cut_short_is_refused(tmp_path: Path) -> None:
    path = byte_level_file(tmp_path / "a.gguf", "gpt-2")
    whole = path.read_bytes()
    for length in (30, 200, 3000):
        path.write_bytes(whole[:length])
        with pytest.raises(VocabularyError, match="damaged"):
            read_metadata(path)
    path.write_bytes(b"PK" + whole)
    with pytest.raises(VocabularyError, match="not a GGUF file"):
        read_metadata(path)


def test_types_of_ids_are_kept(tmp_path: Path) -> None:
    tokenizer = load_gguf_tokenizer(byte_level_file(tmp_path / "a.gguf", "gpt-2"))
    vocabulary = Vocabulary.from_tokenizer(tokenizer, n_rows=262, cache=None)
    assert vocabulary.eos_token_ids == (258,)
    assert vocabulary.added == {"<|end|>": 258, "<think>": 259}
    assert vocabulary.token_bytes[256:] == (b"ab", b"abc", None, None, None, b"  ")
    assert (tokenizer.padding_side, tokenizer.model_max_length) == ("left", 2048)
    assert tokenizer.chat_template == "{{ messages }}"


def test_ignore_merges_makes_unmergeable_tokens_reachable(tmp_path: Path) -> None:
    plain = load_gguf_tokenizer(byte_level_file(tmp_path / "a.gguf", "gpt-2"))
    llama = load_gguf_tokenizer(byte_level_file(tmp_path / "b.gguf", "llama-bpe", add_bos_token=False))
    assert plain.encode("abc") == [256, 2 + ord("a")]
    assert llama.encode("abc") == [257]


def test_pre_tokenizer_is_the_models_own(tmp_path: Path) -> None:
    tokens = {
        name: load_gguf_tokenizer(byte_level_file(tmp_path / f"{name}.gguf", name)).tokenize("a  1")
        for name in ("gpt-2", "smollm")
    }
    assert tokens == {"gpt-2": ["a", "Ġ", "Ġ", "1"], "smollm": ["a", "ĠĠ", "1"]}


def test_unknown_pre_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"'no-such-model'.*tokenizer\.json"):
        load_gguf_tokenizer(byte_level_file(tmp_path / "a.gguf", "no-such-model"))


def test_what_the_file_does_not_tell_is_known_by_name() -> None:
    assert ignores_merges("llama-bpe") and ignores_merges("tekken") and not ignores_merges("smollm")
    assert normalizer("command-r") == {"type": "NFC"}
    assert normalizer("llama-bpe") is None
    assert pre_tokenizer("smollm")["pretokenizers"][0] == {"type": "Digits", "individual_digits": True}


def test_sentencepiece_file_writes_the_prefix_blank_with_prepend(tmp_path: Path) -> None:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "ab", "▁ab"]
    types = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * 5]
    values = {"model": "llama", "tokens": pieces, "token_type": types, "scores": [0.0] * 262 + [-1.0, -2.0]}
    values |= {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    metadata = {"general.architecture": "llama"} | {f"tokenizer.ggml.{key}": value for key, value in values.items()}
    tokenizer = load_gguf_tokenizer(write_gguf(tmp_path / "a.gguf", metadata))
    assert tokenizer.convert_ids_to_tokens(tokenizer.encode("ab ab")) == ["<s>", "▁ab", "▁ab"]
    assert tokenizer.tokenize(" ab") == ["▁", "▁ab"]
    assert tokenizer.decode(tokenizer.encode("ab  é"), skip_special_tokens=True) == "ab  é"
    vocabulary = Vocabulary.from_tokenizer(tokenizer, cache=None)
    assert vocabulary.encode is not None
    assert vocabulary.encode("ab") == [262]
    assert vocabulary.ids_by_bytes[b"a"] == (3 + ord("a"), 260)
