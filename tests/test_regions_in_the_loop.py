"""Markers, regions and tools through the decode loop: drafts change nothing, and every text is legal."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, Literal

import pytest

import domino_py as domino
from tests.tiny import tiny_model, tiny_tokenizer


def search(query: str, limit: int = 10, mode: Literal["fast", "deep"] = "fast") -> str:
    """Search documents."""
    return f"{query}/{limit}/{mode}"


def ring(number: int) -> str:
    """Ring somebody up."""
    return f"ringing {number}"


@lru_cache
def constraints() -> dict[str, Any]:
    answer = domino.choice(["yes", "no"])
    user, system = domino.token("<|user|>"), domino.token("<|system|>")
    return {
        "markers": user + domino.regex("[a-z]{2,6}") + system,
        "thoughts": domino.think(answer, start=user, end=system, max_tokens=5),
        "thoughts in text": domino.think(answer, max_tokens=7),
        "regions": domino.after({user: answer, "the": domino.regex(" [a-z]{1,4}")}, at_least=1, max_tokens=6),
        "a call": domino.tools([search, ring], tool_choice="required", format="hermes"),
        "calls": domino.tools([search, ring], tool_choice="required", format="mistral", parallel=2),
        "call or text": domino.tools([search, ring], format="llama3"),
        "thoughts and a call": domino.think(
            domino.tools([ring], tool_choice="ring", format="mistral-args"), start=user, end=system, max_tokens=4
        ),
    }


SLOW = os.environ.get("DOMINO_SLOW") == "1"
SAMPLED = {"do_sample": True, "seed": 11, "temperature": 0.8}


@pytest.mark.parametrize("name", constraints())
@pytest.mark.parametrize("options", [{}, SAMPLED], ids=["greedy", "sampled"])
def test_drafts_change_nothing(name: str, options: dict[str, Any]) -> None:
    model, tokenizer, constraint = tiny_model(), tiny_tokenizer(), constraints()[name]
    for law in ("aligned", "any", "canonical") if SLOW else ("aligned",):
        found = []
        for speculate in (False, True, "auto") if SLOW else (False, True):
            results = domino.generate(
                model, tokenizer, ["Hello", "What is the name?"], constraint, max_new_tokens=90, tokenization=law,
                speculate=speculate, **options,
            )  # fmt: skip
            found.append([result.token_ids for result in results])
            for result in results:
                assert result.constraint.matches(result.text), result.text
                assert result.finish_reason in ("stop", "complete", "length")
                result.value  # noqa: B018  (every legal text has one)
        alone = domino.generate(model, tokenizer, "Hello", constraint, max_new_tokens=90, tokenization=law, **options)
        assert found[0] == found[1] == found[-1]
        assert alone.token_ids == found[0][0]


def test_rows_of_different_kinds_in_one_batch() -> None:
    rows = [*constraints().values(), None, domino.regex("[0-9]{3}")]
    model, tokenizer = tiny_model(), tiny_tokenizer()
    prompts = [f"Hello {index}" for index in range(len(rows))]
    together = domino.generate(model, tokenizer, prompts, rows, max_new_tokens=80)
    for prompt, one, result in zip(prompts, rows, together, strict=True):
        alone = domino.generate(model, tokenizer, prompt, one, max_new_tokens=80)
        assert alone.token_ids == result.token_ids and alone.text == result.text


def test_markers_are_shown_in_texts_and_reports() -> None:
    result = domino.generate(tiny_model(), tiny_tokenizer(), "Hello", constraints()["markers"], max_new_tokens=40)
    assert result.text.startswith("<|user|>") and result.text.endswith("<|system|>")
    assert result.token_ids[0] == tiny_tokenizer().convert_tokens_to_ids("<|user|>")
    assert result.report.n_bytes == len(result.text.encode())
    assert result.report.noncanonical_tokens == 0


def test_a_forced_marker_is_drafted() -> None:
    constraint = (
        domino.choice(["yes"]) + domino.token("<|user|>") + domino.choice(["maybe"]) + domino.token("<|system|>")
    )
    results = [
        domino.generate(tiny_model(), tiny_tokenizer(), "Hello", constraint, max_new_tokens=20, speculate=speculate)
        for speculate in (True, False)
    ]
    assert results[0].token_ids == results[1].token_ids
    assert results[0].report.forward_passes < results[1].report.forward_passes


def test_text_and_budget_close_in_time() -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    constraint = domino.think(domino.choice(["yes", "no"]), start="<|user|>", end="<|system|>")
    for budget in range(3, 12):
        result = domino.generate(model, tokenizer, "Hello", constraint, max_new_tokens=budget)
        assert result.constraint.matches(result.text) and len(result.token_ids) <= budget
    with pytest.raises(domino.BudgetTooSmall, match=r"<\|user\|><\|system\|>no"):
        domino.generate(model, tokenizer, "Hello", constraint, max_new_tokens=2)


def test_the_prompt_may_have_opened_the_tag() -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    constraint = domino.think(domino.choice(["yes", "no"]), start="<|user|>", end="<|system|>", max_tokens=3)
    closed = domino.generate(model, tokenizer, "Hello", constraint, max_new_tokens=40)
    assert closed.text.startswith("<|user|>") and closed.reasoning is not None
    opened = domino.generate(model, tokenizer, "Hello<|user|>\n", constraint, max_new_tokens=40)
    assert "<|user|>" not in opened.text and opened.value in ("yes", "no")
    assert opened.reasoning == opened.text.partition("<|system|>")[0]
    spelled = domino.think(domino.choice(["yes", "no"]), max_tokens=3)
    assert "<think>" not in domino.generate(model, tokenizer, "Hello <think>", spelled, max_new_tokens=40).text


def test_a_limit_counts_tokens() -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    user, system = (tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in ("user", "system"))
    for limit in (0, 1, 2, 5, 9):
        constraint = domino.think(domino.choice(["yes"]), start="<|user|>", end="<|system|>", max_tokens=limit)
        ids = domino.generate(model, tokenizer, "Hello", constraint, max_new_tokens=60).token_ids
        assert ids[0] == user and ids.index(system) - 1 <= limit + 3  # the rest of a character
