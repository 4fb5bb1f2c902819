"""`cache_implementation` and `cache`: names of transformers, checked before anything runs; the same texts."""

from __future__ import annotations

from typing import Any

import pytest
from transformers import DynamicCache, GenerationConfig, StaticCache

import domino_py as domino
from domino_py.options import resolve_options
from tokenizer_align.errors import InvalidOption

PROMPTS = ["Tom is 4 years old.", "Lucy, aged 31, lives in Rome with her two cats."]
PERSON = domino.json_schema(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
)


def test_the_cache_is_the_callers_else_the_models_configurations() -> None:
    config = GenerationConfig()
    config.cache_implementation = "static"
    assert resolve_options({}, config).cache == "static"
    assert resolve_options({"cache_implementation": "dynamic"}, config).cache == "dynamic"
    cache = DynamicCache()
    assert resolve_options({"cache": cache}, config).cache is cache
    assert resolve_options({}, GenerationConfig()).cache is None
    config.cache_implementation = "quantized"
    assert any("'quantized' is not applied" in note for note in resolve_options({}, config).notes)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cache_implementation": "statc"}, "'dynamic' or 'static'"),
        ({"cache": "static"}, "cache_implementation"),
        ({"cache": DynamicCache(), "cache_implementation": "static"}, "exclude each other"),
    ],
)
def test_what_is_no_cache_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        resolve_options(given)


def test_texts_are_the_same_with_every_cache(default_model: tuple[Any, Any]) -> None:
    model, tokenizer = default_model
    options: dict[str, Any] = {"max_new_tokens": 40, "seed": 1}
    plain = domino.generate(model, tokenizer, PROMPTS, PERSON, speculate=False, **options)
    own = StaticCache(config=model.config, max_cache_len=120)
    for given in ({"cache_implementation": "static"}, {"cache": own}):
        found = domino.generate(model, tokenizer, PROMPTS, PERSON, **given, **options)
        assert [one.token_ids for one in found] == [one.token_ids for one in plain]
        assert sum(one.report.forward_passes for one in found) < sum(one.report.forward_passes for one in plain)
