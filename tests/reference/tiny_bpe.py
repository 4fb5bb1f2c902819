"""Small byte-level BPE tokenizers of the kinds in use, trained in milliseconds, and how they split and merge."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tests.reference.canonical_brute_force import CanonicalBruteForce

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KINDS = ("gpt2", "llama3", "digits", "whole")
_CORPUS = [
    '{"name": "Ada", "age": 36, "ok": true}',
    '{"names": ["aba", "abba", "bab"], "n": [12, 123, 1234]}',
    "abab baba aab bba ab ba abc cab bca aabbcc it's Zürich 東京 😀😀",
    '{"a":"b","b":"a"},{"ab":"ba"}}}]]","":"',
    "  ab\n\n\n    cd\n  \t ab",
] * 5
END = "<end>"


@lru_cache
def tiny_bpe(kind: str, n_tokens: int) -> Any:
    """A tokenizer of transformers with all bytes and some merges.

    Kinds: "gpt2" and "llama3" by the regex; "digits": digits one by one before GPT-2's regex; "whole": as "llama3",
    with tokens that only whole pre-tokens are (`ignore_merges`).
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(ignore_merges=kind == "whole"))
    split = pre_tokenizers.Split(Regex(_LLAMA3), "isolated")
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = {
        "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "llama3": pre_tokenizers.Sequence([split, plain]),
        "whole": pre_tokenizers.Sequence([split, plain]),
        "digits": pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
    }[kind]
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=n_tokens, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(_CORPUS, trainer)
    if kind == "whole":
        backend = _with_whole_tokens(backend)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END)


def _with_whole_tokens(backend: Any) -> Any:
    """Without every fifth merge, so that its result and what is built on it comes about only as a whole pre-token."""
    import json

    from tokenizers import Tokenizer

    data = json.loads(backend.to_str())
    merges = data["model"]["merges"]
    data["model"]["merges"] = [merge for i, merge in enumerate(merges) if i % 5 != 4]
    return Tokenizer.from_str(json.dumps(data))


def brute_force(tokenizer: Any, texts: list[str]) -> CanonicalBruteForce:
    """The laws by definition, with the tokenizer's own splits and merges."""
    backend = tokenizer.backend_tokenizer
    plain = _without_whole_tokens(backend)

    def split(text: str) -> list[int]:
        ends = [len(text[:stop].encode()) for _, (_, stop) in backend.pre_tokenizer.pre_tokenize_str(text)]
        return ends

    def merge(model: Any, data: bytes) -> list[int]:
        return [token.id for token in model.tokenize("".join(_letters()[byte] for byte in data))]

    return CanonicalBruteForce(
        texts,
        lambda text: backend.encode(text, add_special_tokens=False).ids,
        split,
        lambda data: merge(backend.model, data),
        lambda data: merge(plain, data),
    )


def _without_whole_tokens(backend: Any) -> Any:
    import json

    from tokenizers import Tokenizer

    data = json.loads(backend.to_str())
    data["model"]["ignore_merges"] = False
    return Tokenizer.from_str(json.dumps(data)).model


@lru_cache
def _letters() -> dict[int, str]:
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters: dict[int, str] = bytes_to_unicode()
    return letters
