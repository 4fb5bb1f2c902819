"""Small Unigram tokenizers with byte fallback, drawn in milliseconds, and how they split and encode."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from typing import Any

from tests.reference.canonical_brute_force import CanonicalBruteForce, spans_to_ends
from tests.reference.tiny_bpe import END
from tokenizer_align.canonical.unigram import Unigram
from tokenizer_align.vocabulary import Vocabulary

KINDS = ("metaspace", "digits", "ties", "gpt2")
_WORDS = [
    "▁", "a", "b", "ab", "ba", "abb", "bba", "aba", "abab", "aa", "aaa", "bb", "▁ab", "▁a", "▁ba", "name", "na", "am",
    "me", "n", "m", "e", "true", "tr", "ue", "t", "r", "u", '{"', '":"', '"}', '":', '",', '","', "{", "}", '"', ":",
    ",", "s", "'s", "it", "'", "Z", "ür", "ü", "rich", "ic", "h", "i", "c", "東京", "京", "1", "2", "12", "123", "234",
    "3", "4", "34", "-", "--", "---", "----", ".", "0", "00", "000", "é", "éa", "€", "▁▁", "x", "\n", "\n\n",
]  # fmt: skip


@lru_cache
def tiny_unigram(kind: str, seed: int) -> Any:
    """A tokenizer of transformers: pieces drawn from a list, with drawn scores.

    Kinds: "metaspace": pre-tokens begin with blanks; "digits": digits are pre-tokens besides; "ties": scores are few
    thirds, so that sums tie and round; "gpt2": pre-tokens by GPT-2's regex, which looks ahead.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    rng = random.Random(f"{kind} {seed}")
    pieces = [word for word in _WORDS if len(word) > 1 or rng.random() < 0.85]
    pieces = ["▁", *rng.sample(pieces[1:], int(len(pieces) * rng.uniform(0.6, 0.95)))]
    marks = ["<unk>", END, *(f"<0x{byte:02X}>" for byte in range(256))]

    def score(piece: str) -> float:
        if kind == "ties":
            return -rng.randint(1, 4) * len(piece) / 3
        return -rng.uniform(1, 4) - len(piece) * rng.uniform(0, 2.5)

    vocab = [(mark, 0.0) for mark in marks] + [(piece, score(piece)) for piece in pieces]
    backend = Tokenizer(models.Unigram(vocab, unk_id=0, byte_fallback=True))
    blanks = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    backend.pre_tokenizer = {
        "metaspace": blanks,
        "ties": blanks,
        "digits": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), blanks]),
        "gpt2": pre_tokenizers.Sequence([_gpt2(), pre_tokenizers.Metaspace(prepend_scheme="never", split=False)]),
    }[kind]
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    data = json.loads(backend.to_str())
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    data["added_tokens"] = [{"id": i, "content": marks[i], **flags} for i in (0, 1)]
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(data)), eos_token=END)


def _gpt2() -> Any:
    from tokenizers import Regex, pre_tokenizers

    pattern = r"'s| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def unigram_brute_force(tokenizer: Any, vocabulary: Vocabulary, texts: list[str]) -> CanonicalBruteForce:
    """The laws by definition, with the tokenizer's own splits and encoding."""
    backend = tokenizer.backend_tokenizer
    assert vocabulary.rules is not None and vocabulary.encode is not None
    unigram = Unigram(vocabulary.rules, vocabulary.token_bytes)
    bytes_ids = [int(i) for i in vocabulary.rules.byte_ids]

    def split(text: str) -> list[int]:
        return spans_to_ends([span for _, span in backend.pre_tokenizer.pre_tokenize_str(text)], text)

    def encode(data: bytes) -> list[int]:
        n_inside = next((i for i, byte in enumerate(data) if byte & 0xC0 != 0x80), len(data))
        return [bytes_ids[byte] for byte in data[:n_inside]] + unigram.encode(data[n_inside:].decode())

    return CanonicalBruteForce(texts, vocabulary.encode, split, encode, encode)
