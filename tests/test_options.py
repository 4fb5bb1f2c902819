"""Generation options: transformers' names and defaults, and errors that say what to write instead."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from transformers import GenerationConfig

import domino_py as domino
from domino_py.options import CALL_OPTIONS, KNOWN_OPTIONS, resolve_options
from tokenizer_align.errors import InvalidOption


def test_defaults_are_those_of_transformers() -> None:
    options = resolve_options({}, GenerationConfig())
    assert (options.do_sample, options.temperature, options.top_k, options.top_p) == (False, 1.0, 50, 1.0)
    assert (options.min_p, options.typical_p, options.repetition_penalty) == (None, 1.0, 1.0)
    assert (options.num_return_sequences, options.max_new_tokens, options.max_new_tokens_given) == (1, 256, False)


def test_defaults_agree_with_what_transformers_would_use() -> None:
    theirs = GenerationConfig._get_default_generation_params()
    ours = resolve_options({}, GenerationConfig())
    for name in (
        "do_sample",
        "temperature",
        "top_k",
        "top_p",
        "typical_p",
        "repetition_penalty",
        "num_return_sequences",
    ):
        assert getattr(ours, name) == theirs[name], name


def test_the_models_own_configuration_counts_where_the_caller_says_nothing() -> None:
    config = GenerationConfig(do_sample=True, temperature=0.6, top_p=0.9)
    assert resolve_options({}, config).temperature == 0.6
    assert resolve_options({"temperature": 1.5}, config).temperature == 1.5
    assert resolve_options({}, config).top_p == 0.9


def test_zero_switches_top_k_off() -> None:
    assert resolve_options({"do_sample": True, "top_k": 0}).top_k == 0


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ("tempature", "temperature"),
        ("topp", "top_p"),
        ("repetition_penality", "repetition_penalty"),
        ("max_tokens", None),
    ],
)
def test_unknown_option_names_the_nearest(given: str, nearest: str | None) -> None:
    with pytest.raises(InvalidOption, match=given) as caught:
        resolve_options({given: 1.0})
    if nearest is not None:
        assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    "name",
    ["num_beams", "no_repeat_ngram_size", "penalty_alpha", "max_time", "use_cache", "streamer", "logits_processor"],
)
def test_options_of_transformers_that_are_not_offered_say_so(name: str) -> None:
    with pytest.raises(InvalidOption, match="not offered here"):
        resolve_options({name: 2})


@pytest.mark.parametrize(("name", "instead"), [("max_length", "max_new_tokens"), ("streamer", "stream")])
def test_what_an_option_of_transformers_is_called_here_is_said(name: str, instead: str) -> None:
    with pytest.raises(InvalidOption, match=f"not offered here. Use {instead}"):
        resolve_options({name: 2})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 0),
        ("temperature", -1.0),
        ("temperature", "hot"),
        ("temperature", float("nan")),
        ("top_k", 1.5),
        ("top_k", True),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("min_p", 2.0),
        ("do_sample", 1),
        ("repetition_penalty", 0.0),
        ("num_return_sequences", 0),
        ("truncate", "mask"),
        ("batch_size", 0),
        ("eos_token_id", "</s>"),
        ("eos_token_id", [1, -2]),
    ],
)
def test_wrong_values_name_the_option_and_the_value(name: str, value: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        resolve_options({"do_sample": True, name: value})
    assert name in str(caught.value)
    assert caught.value.name == name


def test_temperature_zero_says_how_to_be_greedy() -> None:
    with pytest.raises(InvalidOption, match="do_sample=False"):
        resolve_options({"do_sample": True, "temperature": 0.0})


@pytest.mark.parametrize(
    "call", [{"max_new_tokens": 0}, {"max_new_tokens": "9"}, {"seed": -1}, {"speculate": "yes"}, {"measure": "all"}]
)
def test_wrong_call_options_are_refused(call: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        resolve_options({}, **call)


def test_a_wrong_value_in_the_models_configuration_says_where_it_stands() -> None:
    config = GenerationConfig()
    config.top_p = 3.0
    with pytest.raises(InvalidOption, match=r"model\.generation_config"):
        resolve_options({"do_sample": True}, config)


def test_greedy_decoding_cannot_return_several() -> None:
    with pytest.raises(InvalidOption, match="do_sample=True"):
        resolve_options({"num_return_sequences": 3})


def test_sampling_options_without_sampling_warn_and_are_noted() -> None:
    with pytest.warns(UserWarning, match="temperature"):
        options = resolve_options({"temperature": 0.5})
    assert any("temperature" in note for note in options.notes)


def test_what_the_models_configuration_sets_and_is_not_applied_is_noted() -> None:
    options = resolve_options({}, GenerationConfig(no_repeat_ngram_size=3))
    assert any("no_repeat_ngram_size=3" in note for note in options.notes)
    assert resolve_options({}, GenerationConfig()).notes == ()


def test_a_seed_is_drawn_where_none_is_given() -> None:
    assert resolve_options({}, seed=5).seed == 5
    assert resolve_options({}).seed != resolve_options({}).seed


def test_the_models_settings_for_sampling_do_not_disturb_greedy_decoding() -> None:
    """Regression: a model with temperature 0.0 in its configuration could not be used, not even greedily."""
    config = GenerationConfig()
    config.temperature, config.top_k = 0.0, -1
    assert resolve_options({}, config).temperature == 1.0
    with pytest.raises(InvalidOption, match=r"from model\.generation_config"):
        resolve_options({"do_sample": True}, config)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("name", ["temperature", "repetition_penalty", "frequency_penalty", "presence_penalty"])
def test_numbers_are_finite(name: str, value: float) -> None:
    with pytest.raises(InvalidOption, match=name):
        resolve_options({"do_sample": True, name: value})


def test_a_temperature_that_float32_cannot_divide_by_is_refused() -> None:
    """Regression: 1e-320 is zero in float32, and every token came out alike."""
    with pytest.raises(InvalidOption, match="do_sample=False"):
        resolve_options({"do_sample": True, "temperature": 1e-320})


def test_an_option_is_not_the_nearest_to_itself() -> None:
    with pytest.raises(InvalidOption) as caught:
        resolve_options({"prompt": "x"})
    assert caught.value.nearest is None


def test_options_of_extract_say_what_to_use_instead() -> None:
    with pytest.raises(InvalidOption, match=r"option of extract.*\.report"):
        resolve_options({"return_report": True})


def test_compile_names_the_nearest_option() -> None:
    with pytest.raises(InvalidOption, match="tokenization"):
        domino.compile(domino.choice(["a"]), None, tokenisation="any")  # type: ignore[call-arg]


def test_every_option_stands_in_the_documentation() -> None:
    page = (Path(__file__).parent.parent / "docs" / "options.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    known = {*KNOWN_OPTIONS, *CALL_OPTIONS, *inspect.signature(domino.extract).parameters}
    assert known - {"model", "tokenizer", "text", "type", "options"} == rows
