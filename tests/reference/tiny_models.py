"""Small random models and a vocabulary for them: every path of the decode loop runs in milliseconds."""

from __future__ import annotations

import random
from typing import Any

from tokenizer_align.vocabulary import Vocabulary

EOS = 0
_PIECES = [
    b'{"', b'":', b'": ', b' "', b'",', b'", "', b'"}', b", ", b"name", b"age", b"city", b"true", b"false", b"null",
    b"an", b"na", b"nam", b"me", b"ag", b"ge", b"Ada", b"Bob", b"Par", b"is", b"Paris", b"12", b"34", b"123",
    b"red", b"re", b"ed", b"green", b"gr", b"ee", b"een", b"blue", b"bl", b"ue", b"yes", b"ye", b"no", b"es",
]  # fmt: skip
N_ROWS = 300


def tiny_vocabulary() -> Vocabulary:
    """Row 0 ends the text, rows 1-256 are the single bytes, then some words (two ids share b"an"), then unused rows."""
    table: list[bytes | None] = [None, *(bytes([b]) for b in range(256)), *_PIECES, b"an"]
    table += [None] * (N_ROWS - len(table))
    return Vocabulary.from_bytes(table, eos_token_ids=[EOS], encode=lambda text: encode_longest(table, text.encode()))


def encode_longest(table: list[bytes | None], data: bytes) -> list[int]:
    """The longest token at each place, the lowest id among equals: this vocabulary's canonical tokens."""
    ids: list[int] = []
    while data:
        found = max(
            (row for row, piece in enumerate(table) if piece and data.startswith(piece)),
            key=lambda row: (len(table[row] or b""), -row),
        )
        ids.append(found)
        data = data[len(table[found] or b"") :]
    return ids


def tiny_llama(seed: int = 0, sharpness: float = 12.0, **config: Any) -> Any:
    """A LlamaForCausalLM with random weights; `sharpness` scales its logits to be as spread as a real model's."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return _made(LlamaForCausalLM, LlamaConfig(**{**_SIZES, **config}), seed, sharpness)


def tiny_gemma3(seed: int = 0, window: int = 8, sharpness: float = 12.0, **config: Any) -> Any:
    """A Gemma 3 text model: every second layer looks back `window` positions only."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    sizes = {**_SIZES, "head_dim": 16, "sliding_window": window, "num_hidden_layers": 4}
    layers = {"layer_types": ["sliding_attention", "full_attention"] * 2}
    return _made(Gemma3ForCausalLM, Gemma3TextConfig(**{**sizes, **layers, **config}), seed, sharpness)


def tiny_qwen3_next(seed: int = 0, sharpness: float = 12.0) -> Any:
    """A model with linear attention, whose past cannot be taken back."""
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

    extra = {
        "head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
        "linear_value_head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32, "layer_types": ["linear_attention", "full_attention"],
    }  # fmt: skip
    return _made(Qwen3NextForCausalLM, Qwen3NextConfig(**{**_SIZES, **extra}), seed, sharpness)


_SIZES: dict[str, Any] = {
    "vocab_size": N_ROWS, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048,
    "bos_token_id": None, "eos_token_id": EOS, "pad_token_id": None, "tie_word_embeddings": False,
}  # fmt: skip


def _made(kind: Any, config: Any, seed: int, sharpness: float) -> Any:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = kind(config).eval()
        with torch.no_grad():
            model.get_output_embeddings().weight.mul_(sharpness)
    return model


def random_prompt(rng: random.Random, low: int = 3, high: int = 12) -> list[int]:
    return [rng.randrange(1, 257) for _ in range(rng.randint(low, high))]


def people(n: int = 24) -> list[bytes]:
    """A small JSON-like language with long forced runs and a few choices."""
    names, ages, cities = ["Ada", "Bob", "Anna"], ["12", "123", "34"], ["Paris", "Par", "Nome"]
    texts = [
        f'{{"name": "{name}", "age": {age}, "city": "{city}"}}'.encode()
        for name in names
        for age in ages
        for city in cities
    ]
    return texts[:n]
