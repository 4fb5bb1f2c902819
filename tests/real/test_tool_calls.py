"""Calls of tools, regions and control tokens with a real model: all texts are legal, arguments of their types."""

from __future__ import annotations

import os
from typing import Any

import pytest

import domino_py as domino
from benchmarks.tool_calls import TOOLS, is_typed, prompts
from domino_py.compilation import compiled_for
from tests.real.tokenizers import real_vocabulary

SLOW = os.environ.get("DOMINO_SLOW") == "1"


def ask(model: Any, tokenizer: Any, text: str, constraint: domino.Constraint, **options: Any) -> Any:
    chat = [{"role": "user", "content": text}]
    return domino.generate(model, tokenizer, chat, constraint, max_new_tokens=128, **options)


@pytest.mark.model
def test_required_calls_are_legal_and_typed(default_model: tuple[Any, Any]) -> None:
    constraint = domino.tools(TOOLS, tool_choice="required", format="hermes")
    for text, _ in prompts(100) if SLOW else prompts(2):
        result = ask(*default_model, text, constraint)
        assert constraint.matches(result.text), result.text
        assert len(result.value) == 1 and is_typed(result.value[0]), result.text


@pytest.mark.model
@pytest.mark.parametrize("name", ["llama3", "mistral", "mistral-args"] if SLOW else ["mistral-args"])
def test_other_formats_and_sampling(default_model: tuple[Any, Any], name: str) -> None:
    constraint = domino.tools(TOOLS, tool_choice="required", format=name, parallel=2)
    for seed, (text, _) in enumerate(prompts(100)[:: 10 if SLOW else 100]):
        result = ask(*default_model, text, constraint, do_sample=True, seed=seed)
        assert constraint.matches(result.text), result.text
        assert 1 <= len(result.value) <= 2 and all(map(is_typed, result.value)), result.text


@pytest.mark.model
def test_what_the_model_says_by_itself_stays_as_it_is(default_model: tuple[Any, Any]) -> None:
    """Law 2: free text in front of a trigger that does not come is the unconstrained model's, token for token."""
    model, tokenizer = default_model
    chat = [{"role": "user", "content": "Name three rivers of Europe, each with a sentence."}]
    kinds = [
        domino.after({"<file_sep>": domino.regex("x"), "<call>": domino.regex("y")}),
        domino.after("<file_sep>", domino.regex("x")),
        domino.tools(TOOLS[:2], tool_choice="none", format="hermes"),
    ]
    n = 60 if SLOW else 20
    for options in ({}, {"do_sample": True, "seed": 4}):
        free = domino.generate(model, tokenizer, chat, None, max_new_tokens=n, **options)
        for constraint in kinds if SLOW else kinds[:1]:
            result = domino.generate(model, tokenizer, chat, constraint, max_new_tokens=n, **options)
            assert result.token_ids == free.token_ids


@pytest.mark.model
def test_drafts_and_control_tokens(default_model: tuple[Any, Any]) -> None:
    model, tokenizer = default_model
    answer = domino.choice(["yes", "no"])
    tags = {"start": "<issue_start>", "end": "<issue_closed>"}
    constraint = domino.think(answer, **tags, max_tokens=12)
    results = [
        ask(model, tokenizer, "Is water wet? Think first.", constraint, speculate=speculate)
        for speculate in (True, False)
    ]
    assert results[0].token_ids == results[1].token_ids
    ids = results[0].token_ids
    start, end = (tokenizer.convert_tokens_to_ids(tag) for tag in tags.values())
    assert ids[0] == start and 1 <= ids.index(end) <= 13
    assert results[0].value in ("yes", "no") and results[0].report.noncanonical_tokens == 0
    assert results[0].text == f"<issue_start>{results[0].reasoning}<issue_closed>" + results[0].text.rpartition(">")[2]


@pytest.mark.parametrize(
    ("name", "marker"), [("deepseek", "<think>"), ("qwen3.6", "<tool_call>"), ("mistral", "[TOOL_CALLS]")]
)
def test_control_tokens_of_real_tokenizers(name: str, marker: str) -> None:
    vocabulary = real_vocabulary(name)
    assert vocabulary.encode is not None
    token = vocabulary.added[marker]
    constraint = domino.after(marker, domino.json(), at_least=1, max_tokens=40)
    matcher = compiled_for(constraint, vocabulary).matcher()
    for one in vocabulary.encode("The river <think flows [TOOL_CALLS through Europe."):
        matcher.advance(one)
    assert matcher.accepts(token) and not matcher.is_complete()
    matcher.advance(token)
    for one in vocabulary.encode('{"a": 1}'):
        assert not matcher.accepts(token)
        matcher.advance(one)
    assert matcher.is_complete() and matcher.accepts(token) and matcher.given_up_at is None
    assert matcher.text_bytes() == b"The river <think flows [TOOL_CALLS through Europe." + marker.encode() + b'{"a": 1}'
    plain = compiled_for(domino.regex("(?s:.*)"), vocabulary).matcher()
    assert not plain.accepts(token)
