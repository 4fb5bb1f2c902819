"""Generation under each law of tokenization: drafts change nothing, canonical outputs are canonical, and legal."""

from __future__ import annotations

from typing import Any

import pytest

import domino_py as domino
from tests.tiny import tiny_model, tiny_tokenizer
from tokenizer_align.vocabulary import Vocabulary

CONSTRAINTS = {
    "choice": domino.choice(["yes", "no", "maybe", "approve", "Ada Lovelace"]),
    "object": domino.json_schema(
        {
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
            "required": ["name", "age"],
            "additionalProperties": False,
        },
        whitespace="compact",
    ),
    "regex": domino.regex(r'(\{"[a-z]{1,6}"(:"[a-z ]{0,5}")?\}|[0-9]{1,4}( [0-9]{1,4}){0,3})'),
}
PROMPTS = ["Say:\n", "x ", "The quick "]


def run(law: str, constraint: Any, prompt: str, **options: Any) -> domino.GenerationResult:
    result = domino.generate(
        tiny_model(), tiny_tokenizer(), prompt, constraint, tokenization=law, max_new_tokens=60, **options
    )
    assert isinstance(result, domino.GenerationResult)
    return result


@pytest.mark.parametrize("name", sorted(CONSTRAINTS))
@pytest.mark.parametrize("law", ["any", "aligned", "canonical"])
def test_drafts_change_no_token(law: str, name: str) -> None:
    for prompt in PROMPTS:
        for options in ({}, {"do_sample": True, "seed": 1}, {"do_sample": True, "seed": 2, "top_k": 0}):
            with_drafts = run(law, CONSTRAINTS[name], prompt, speculate=True, **options)
            without = run(law, CONSTRAINTS[name], prompt, speculate=False, **options)
            assert with_drafts.token_ids == without.token_ids
            assert CONSTRAINTS[name].matches(without.text)
            assert without.report.tokenization == law


@pytest.mark.parametrize("heal_prompt", [False, True])
@pytest.mark.parametrize("name", sorted(CONSTRAINTS))
def test_canonical_outputs_are_what_the_tokenizer_writes_behind_the_prompt(name: str, heal_prompt: bool) -> None:
    tokenizer = tiny_tokenizer()
    encode = Vocabulary.from_tokenizer(tokenizer, n_rows=416).encode
    assert encode is not None
    for prompt in PROMPTS:
        for seed in range(6):
            result = run(
                "canonical", CONSTRAINTS[name], prompt, do_sample=True, seed=seed, top_k=0, heal_prompt=heal_prompt
            )
            assert CONSTRAINTS[name].matches(result.text)
            if result.report.notes:
                assert not heal_prompt
                continue
            prompt_ids = encode(prompt)[: result.prompt_n_tokens]
            assert encode(prompt + result.text) == [*prompt_ids, *result.token_ids]
