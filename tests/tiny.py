"""A small random model with a byte-level tokenizer: real classes of transformers, made in milliseconds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

CORPUS = [
    '{"name": "Ada Lovelace", "age": 36, "languages": ["English", "French"], "note": null}',
    '{\n  "action": "approve",\n  "score": "low"\n}',
    "The quick brown fox jumps over the lazy dog. yes no maybe true false 0 1 2 3 4 5 6 7 8 9 naïve Zürich 東京 🥐",
]
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% if not loop.last or m['role'] != 'assistant' %}"
    "<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
END = "<|end|>"


@lru_cache
def tiny_tokenizer() -> Any:
    """Byte-level BPE with all 256 bytes and a few merges; `<|end|>` ends a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    specials = [END, "<|user|>", "<|assistant|>", "<|system|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(CORPUS * 4, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END, additional_special_tokens=specials[1:])
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


@lru_cache
def tiny_model(*, n_rows: int = 416, seed: int = 0) -> Any:
    """A two-layer Llama with random weights, float32; `n_rows` output rows, more than there are tokens."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=n_rows,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        eos_token_id=0,
        bos_token_id=None,
        pad_token_id=0,
        initializer_range=0.5,
    )
    return LlamaForCausalLM(config).eval()
