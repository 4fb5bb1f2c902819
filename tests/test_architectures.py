"""Drafts and batches change nothing with models of many architectures, whatever their caches and attention can do.

Small random models of transformers' own classes: full and sliding windows, learned and rotary positions, positions by
attention bias, recurrent and convolutional layers. Where no cache can be rolled back, or no tree mask is obeyed, drafts
are chains or none; the tokens are those of transformers' own greedy `generate`.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

import pytest
import torch
import transformers

from speculative.caches import plan_cache
from speculative.loop import DecodeOptions, RowRequest, decode
from speculative.passes import CausalModel
from speculative.policy import policy_of
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import EOS, N_ROWS, people, random_prompt, tiny_vocabulary

VOCABULARY = tiny_vocabulary()
PEOPLE = FakeCompiled(people(), VOCABULARY, determined=people()[5])

_BASE: dict[str, Any] = {
    "vocab_size": N_ROWS, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "bos_token_id": None, "eos_token_id": EOS, "pad_token_id": None, "tie_word_embeddings": False,
}  # fmt: skip
_GPT: dict[str, Any] = {
    "vocab_size": N_ROWS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256,
    "bos_token_id": None, "eos_token_id": EOS, "pad_token_id": None,
}  # fmt: skip
_HYBRID = {"layer_types": ["conv", "full_attention"], "block_ff_dim": 64, "conv_L_cache": 3}
_SSM = {"state_size": 8, "num_hidden_layers": 2, "hidden_size": 32}

# name -> (model class, configuration class, its arguments, kind of cache)
MODELS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", _BASE, "full"),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**_BASE, "sliding_window": 8}, "windowed"),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", _BASE, "full"),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**_BASE, "head_dim": 8}, "full"),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {**_BASE, "sliding_window": 9}, "windowed"),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**_BASE, "head_dim": 8, "sliding_window": 8}, "windowed"),
    "gemma3": (
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        {**_BASE, "head_dim": 8, "sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]},
        "windowed",
    ),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", _GPT, "full"),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {**_BASE, "rotary_pct": 0.5}, "full"),
    "opt": (
        "OPTForCausalLM",
        "OPTConfig",
        {**_BASE, "ffn_dim": 64, "word_embed_proj_dim": 32, "pad_token_id": 1},
        "full",
    ),
    "bloom": (
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": N_ROWS, "hidden_size": 32, "n_layer": 2, "n_head": 4, "eos_token_id": EOS, "bos_token_id": None},
        "full",
    ),
    "falcon": (
        "FalconForCausalLM",
        "FalconConfig",
        {
            "vocab_size": N_ROWS,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "alibi": True,
            "new_decoder_architecture": False,
            "eos_token_id": EOS,
            "bos_token_id": None,
        },
        "full",
    ),
    "stablelm": ("StableLmForCausalLM", "StableLmConfig", _BASE, "full"),
    "lfm2": ("Lfm2ForCausalLM", "Lfm2Config", {**_BASE, **_HYBRID}, "recurrent"),
    "mamba": ("MambaForCausalLM", "MambaConfig", {**_SSM, "vocab_size": N_ROWS, "eos_token_id": EOS}, "recurrent"),
    "falcon_h1": (
        "FalconH1ForCausalLM",
        "FalconH1Config",
        {**_BASE, "mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_state": 8, "head_dim": 8},
        "recurrent",
    ),
}


@lru_cache
def model_of(name: str) -> Any:
    model_class, config_class, arguments, _ = MODELS[name]
    for one in (model_class, config_class):
        if not hasattr(transformers, one):
            pytest.skip(f"this version of transformers has no {one}")
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = getattr(transformers, model_class)(getattr(transformers, config_class)(**arguments)).eval()
        with torch.no_grad():
            for weights in model.parameters():
                if weights.dim() > 1:
                    weights.normal_(0.0, 0.25)
            model.get_output_embeddings().weight.mul_(4.0)
    return model


def rows_of(n: int, budget: int = 30) -> list[RowRequest]:
    rng = random.Random(n)
    return [RowRequest(random_prompt(rng, 2, 16), PEOPLE if i % 2 else None, i, budget, (EOS,)) for i in range(n)]


@pytest.mark.parametrize("name", MODELS)
def test_the_kind_of_cache_is_found(name: str) -> None:
    assert plan_cache(model_of(name)).kind == MODELS[name][3]


@pytest.mark.parametrize("name", MODELS)
def test_free_text_is_what_transformers_generates(name: str) -> None:
    model, rng = model_of(name), random.Random(2)
    prompt = random_prompt(rng, 6, 12)
    expected = model.generate(
        torch.tensor([prompt]), max_new_tokens=16, do_sample=False, eos_token_id=None, pad_token_id=EOS
    )[0, len(prompt) :].tolist()
    (result,) = decode(model, VOCABULARY, [RowRequest(prompt, None, 0, 16, ())], DecodeOptions(speculate=True))
    assert list(result.token_ids) == expected


@pytest.mark.parametrize("law", [{}, {"do_sample": True, "seed": 4, "temperature": 1.2}], ids=["greedy", "sampled"])
@pytest.mark.parametrize("name", MODELS)
def test_drafts_and_batches_change_no_token(name: str, law: dict[str, Any]) -> None:
    model, rows = model_of(name), rows_of(4)
    alone = [decode(model, VOCABULARY, [row], DecodeOptions(speculate=False, **law))[0] for row in rows]
    for speculate in (False, True):
        together = decode(model, VOCABULARY, rows, DecodeOptions(speculate=speculate, **law))
        assert [r.token_ids for r in together] == [r.token_ids for r in alone]
    (one,) = decode(model, VOCABULARY, rows[1:2], DecodeOptions(speculate=True, **law))
    assert one.token_ids == alone[1].token_ids
    if CausalModel(model).plan.can_drop:
        assert sum(one.statistics.accepted.values()) > 0
    else:  # what is drafted there cannot be rejected
        assert one.statistics.drafted == one.statistics.accepted


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen2", "gemma2", "gemma3", "gpt2", "gpt_neox"])
def test_these_take_trees(name: str) -> None:
    model = model_of(name)
    decode(model, VOCABULARY, rows_of(4), DecodeOptions(speculate=True))
    assert policy_of(model, "cpu", "torch.float32").takes_trees
