"""Real tokenizers: known facts, round trips, and equality of GGUF-built ones with reference ids."""

from __future__ import annotations

import json

import pytest

from tests.real.tokenizers import REAL_NAMES, llama_cpp_vocabularies, real_tokenizer, real_vocabulary
from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.gguf import load_gguf_tokenizer
from tokenizer_align.tokenizers.self_test import difficult_texts
from tokenizer_align.vocabulary import Vocabulary

# name: (rows, single bytes, byte strings with several ids, longest token, trie nodes)
# The nodes are those of legal tokens: DeepSeek's and Gemma's markers among the added tokens are not counted.
FACTS = {
    "smollm2": (49152, 235, 0, 81, 100298),
    "gemma3": (262144, 256, 110, 48, 587883),
    "qwen": (151936, 256, 0, 128, 333010),
    "qwen3.6": (248320, 256, 0, 128, 591554),
    "deepseek": (129280, 256, 0, 128, 274130),
    "mistral": (32768, 256, 125, 25, 55881),
    "tekken": (131072, 256, 0, 76, 266313),
}


@pytest.mark.parametrize("name", REAL_NAMES)
def test_known_facts(name: str) -> None:
    vocabulary = real_vocabulary(name)
    n_shared = sum(len(ids) > 1 for ids in vocabulary.ids_by_bytes.values())
    trie = vocabulary.trie
    facts = (vocabulary.n_rows, vocabulary.single_bytes.bit_count(), n_shared, trie.max_depth, trie.n_nodes)
    assert facts == FACTS[name]
    assert vocabulary.is_atomic


@pytest.mark.parametrize("name", REAL_NAMES)
def test_joined_bytes_give_back_the_text(name: str) -> None:
    vocabulary = real_vocabulary(name)
    assert vocabulary.encode is not None
    missing = bytes(byte for byte in range(256) if not vocabulary.usable_bytes >> byte & 1)
    for text in [*difficult_texts(300), json.dumps({"a": [1, {"b": "é\n"}], "c": None}, indent=2)]:
        if any("U+2581" in limit for limit in vocabulary.limits):
            text = text.replace("▁", "_")
        assert vocabulary.decode(vocabulary.encode(text)) == text.encode().translate(None, missing)


@pytest.mark.parametrize("name", ["smollm2", "gemma3", "deepseek"])
def test_mid_text_encoding_is_the_tokenizers_own_where_no_prefix_is_added(name: str) -> None:
    tokenizer, vocabulary = real_tokenizer(name), real_vocabulary(name)
    assert vocabulary.encode is not None
    for text in difficult_texts(100):
        if not any(content in text for content in vocabulary.added) and "▁" not in text:
            assert vocabulary.encode(text) == tokenizer.encode(text, add_special_tokens=False)


def test_smollm2_lacks_21_bytes() -> None:
    vocabulary = real_vocabulary("smollm2")
    missing = [byte for byte in range(256) if not vocabulary.usable_bytes >> byte & 1]
    assert bytes(missing).hex() == "04061314161dc0c1f1f2f5f6f7f8f9fafbfcfdfeff"
    assert vocabulary.limits == ("bytes that cannot be produced: 04 06 13 14 16 1D F1 F2",)


def test_smollm2_splits_digits_one_by_one_after_blanks() -> None:
    tokenizer = real_tokenizer("smollm2")
    assert tokenizer.tokenize("a  123") == ["a", "ĠĠ", "1", "2", "3"]
    assert (tokenizer.padding_side, tokenizer.eos_token_id, tokenizer.pad_token_id) == ("left", 2, 2)
    assert tokenizer.chat_template


def test_gemma3_new_lines_and_blanks_are_legal_and_markers_are_not() -> None:
    vocabulary = real_vocabulary("gemma3")
    assert vocabulary.token_bytes[107] == b"\n"
    assert vocabulary.ids_by_bytes[b"\n"] == (107, 248)
    assert len(vocabulary.ids_by_bytes[b"  "]) >= 1
    assert vocabulary.token_bytes[vocabulary.added["<unused5>"]] is None
    assert vocabulary.encode is not None
    assert vocabulary.decode(vocabulary.encode("<unused5>\n\n  <b>")) == b"<unused5>\n\n  <b>"


def test_deepseek_thinking_marker_is_named_but_not_text() -> None:
    vocabulary = real_vocabulary("deepseek")
    assert vocabulary.token_bytes[vocabulary.added["<think>"]] is None
    assert vocabulary.encode is not None
    assert vocabulary.decode(vocabulary.encode("<think>")) == b"<think>"


GGUF_NAMES = (
    *("llama-spm", "llama-bpe", "phi-3", "gpt-2", "command-r", "gemma-4", "qwen2", "qwen35", "falcon", "mpt"),
    *("refact", "starcoder", "deepseek-coder"),
)


@pytest.mark.parametrize("name", GGUF_NAMES)
def test_gguf_tokenizer_equals_the_reference_ids(name: str) -> None:
    path = llama_cpp_vocabularies() / f"ggml-vocab-{name}.gguf"
    tokenizer = load_gguf_tokenizer(path)
    with open(f"{path}.inp", encoding="utf-8", newline="") as file:
        texts = file.read().split("\n__ggml_vocab_test__\n")
    with open(f"{path}.out", encoding="utf-8") as file:
        expected = [[int(i) for i in line.split()] for line in file.read().split("\n")]
    assert len(texts) > 40
    for text, ids in zip(texts, expected, strict=False):
        assert tokenizer.encode(text, add_special_tokens=False) == ids, text
    assert Vocabulary.from_tokenizer(tokenizer, cache=None).encode is not None


@pytest.mark.parametrize(
    ("name", "reason"), [("bert-bge", "bert"), ("nomic-bert-moe", "t5"), ("deepseek-llm", "deepseek-llm")]
)
def test_gguf_tokenizer_that_is_not_known_is_refused_by_name(name: str, reason: str) -> None:
    path = llama_cpp_vocabularies() / f"ggml-vocab-{name}.gguf"
    with pytest.raises(VocabularyError, match=reason):
        load_gguf_tokenizer(path)
