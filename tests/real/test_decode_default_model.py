"""The laws of decoding with a real model and real constraints: a small sample; benchmarks run them at length."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest

import domino_py as domino
from speculative.loop import DecodeOptions, RowRequest, decode, score
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.vocabulary import Vocabulary

pytestmark = pytest.mark.model

TRIAGE = domino.json_schema(
    {
        "type": "object",
        "properties": {
            "action": {"enum": ["approve", "reject", "escalate"]},
            "score": {"enum": ["low", "mid", "high"]},
        },
        "required": ["action", "score"],
        "additionalProperties": False,
    }
)
PERSON = domino.json_schema(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 14}, "age": {"type": "integer", "maximum": 130}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
)
PHONE = domino.regex(r"\(\d{3}\) \d{3}-\d{4}")
SENTENCE = domino.regex(r"[A-Z][^\n]{0,300}[.!?]")
TASKS = [
    (TRIAGE, "The lamp arrived broken, I want a refund. Answer as JSON with action and score."),
    (PERSON, "Ada Lovelace is 36 years old. Write name and age as JSON."),
    (PHONE, "Write a telephone number."),
    (None, "Name three colours."),
]


@lru_cache(maxsize=1)
def vocabulary_of(tokenizer: Any, model: Any) -> Vocabulary:
    return Vocabulary.from_tokenizer(tokenizer, model=model)


@lru_cache
def compiled_of(constraint: Any, vocabulary: Vocabulary) -> Compiled:
    return compile_expression(constraint.expression, vocabulary)


def requests(model: Any, tokenizer: Any, tasks: list[Any] = TASKS, budget: int = 24) -> list[RowRequest]:
    vocabulary = vocabulary_of(tokenizer, model)
    rows = []
    for index, (constraint, text) in enumerate(tasks):
        chat = [{"role": "user", "content": text}]
        ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        compiled = None if constraint is None else compiled_of(constraint, vocabulary)
        rows.append(RowRequest(ids, compiled, index, budget, vocabulary.eos_token_ids))
    return rows


@pytest.mark.parametrize("sampling", [{}, {"do_sample": True, "seed": 3, "temperature": 0.8, "top_k": 50}])
def test_drafts_and_batches_change_no_token(default_model: Any, sampling: dict[str, Any]) -> None:
    model, tokenizer = default_model
    vocabulary, rows = vocabulary_of(tokenizer, model), requests(model, tokenizer)
    without = decode(model, vocabulary, rows, DecodeOptions(speculate=False, **sampling))
    drafted = decode(model, vocabulary, rows, DecodeOptions(speculate=True, **sampling))
    alone = [decode(model, vocabulary, [row], DecodeOptions(**sampling))[0] for row in rows[:3]]
    assert [r.token_ids for r in drafted] == [r.token_ids for r in without]
    assert [r.token_ids for r in alone] == [r.token_ids for r in without[:3]]
    assert sum(sum(r.statistics.accepted.values()) for r in drafted) > 10
    for (constraint, _), result in zip(TASKS, without, strict=True):
        assert constraint is None or constraint.matches(vocabulary.decode(result.token_ids))


def test_a_legal_unconstrained_text_comes_out_token_for_token(default_model: Any) -> None:
    model, tokenizer = default_model
    questions = ["What is a cat?", "Is the sea deep?", "Why is grass green?"]
    vocabulary = vocabulary_of(tokenizer, model)
    free = decode(model, vocabulary, requests(model, tokenizer, [(None, q) for q in questions], 16))
    bound = decode(model, vocabulary, requests(model, tokenizer, [(SENTENCE, q) for q in questions], 30))
    for a, b in zip(free, bound, strict=True):
        # The sentence may end where the free text goes on; up to there nothing differs.
        n = min(len(a.token_ids), len(b.token_ids))
        assert n > 5
        assert a.token_ids[:n] == b.token_ids[:n]
        assert not [one for one in b.statistics.interventions if one.step < n]


def test_the_enum_task_takes_few_passes_once_its_layout_is_known(default_model: Any) -> None:
    model, tokenizer = default_model
    vocabulary, rows = vocabulary_of(tokenizer, model), requests(model, tokenizer, TASKS[:1], 40)
    decode(model, vocabulary, rows, DecodeOptions(speculate=True))
    numbers = decode(model, vocabulary, rows, DecodeOptions(speculate=True))[0].statistics
    assert numbers.forward_passes <= 0.45 * numbers.n_tokens


def test_reported_log_probabilities_are_those_of_scoring_the_text(default_model: Any) -> None:
    model, tokenizer = default_model
    row = requests(model, tokenizer, TASKS[:1], 40)[0]
    result = decode(model, vocabulary_of(tokenizer, model), [row], DecodeOptions(measure="full"))[0]
    assert score(model, row.prompt_ids, result.token_ids) == pytest.approx(result.statistics.model_logprobs, abs=2e-3)
