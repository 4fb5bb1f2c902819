"""The decode loop over compiled constraints: like the brute-force matcher, complete at every budget, drafts neutral."""

from __future__ import annotations

import random
from typing import Any

import pytest

import domino_py as domino
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import people, random_prompt, tiny_llama, tiny_vocabulary
from tokenizer_align import expressions as ex
from tokenizer_align.compiled import compile_expression

VOCABULARY = tiny_vocabulary()
MODEL = tiny_llama(seed=8)
LANGUAGES = {
    "people": people(),
    "words": [b"red", b"green", b"greenish", b"yes", b"no, no", b"no", b""],
    "repeats": [b"ab" * n for n in range(1, 9)] + [b"abba" * n for n in range(1, 5)],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"do_sample": True, "seed": 3},
    "truncated": {"do_sample": True, "seed": 7, "top_k": 30, "top_p": 0.8},
    "full": {"measure": "full"},
}
CONSTRAINTS = {
    "record": domino.json_schema(
        {
            "type": "object",
            "properties": {
                "name": {"enum": ["Ada", "Bob"]},
                "age": {"type": "integer", "minimum": 0, "maximum": 130},
                "tags": {"type": "array", "items": {"type": "string", "maxLength": 6}, "maxItems": 3},
            },
            "required": ["name", "tags"],
            "additionalProperties": False,
        }
    ),
    "json": domino.json(),
    "words": domino.regex(r"[a-z]{2,9}( [a-z]{2,9}){0,6}[.!]"),
    "date": domino.regex(r"\d{4}-(0[1-9]|1[0-2])-\d{2}"),
}


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("law", OPTIONS)
def test_compiled_constraints_decode_like_brute_force(name: str, law: str) -> None:
    rng = random.Random(len(name))
    slow = FakeCompiled(LANGUAGES[name], VOCABULARY)
    fast = compile_expression(ex.words(LANGUAGES[name]), VOCABULARY)
    for budget in (9, 12, 40):
        if slow.shortest_n_tokens() > budget:
            continue
        prompts = [random_prompt(rng) for _ in range(4)]
        options = DecodeOptions(**OPTIONS[law])
        a = decode(MODEL, VOCABULARY, [RowRequest(p, slow, i, budget, (0,)) for i, p in enumerate(prompts)], options)
        b = decode(MODEL, VOCABULARY, [RowRequest(p, fast, i, budget, (0,)) for i, p in enumerate(prompts)], options)
        for x, y in zip(a, b, strict=True):
            assert (x.token_ids, x.finish_reason) == (y.token_ids, y.finish_reason)
            assert [i.step for i in x.statistics.interventions] == [i.step for i in y.statistics.interventions]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_drafts_are_neutral_and_texts_complete_at_every_budget(name: str) -> None:
    constraint, rng = CONSTRAINTS[name], random.Random(len(name))
    compiled = compile_expression(constraint.expression, VOCABULARY)
    shortest = compiled.shortest_n_tokens()
    for budget in (shortest, shortest + 1, shortest + 3, shortest + 12, shortest + 30):
        for law in ("greedy", "sampled"):
            rows = [RowRequest(random_prompt(rng), compiled, i, budget, (0,)) for i in range(4)]
            without = decode(MODEL, VOCABULARY, rows, DecodeOptions(**OPTIONS[law], speculate=False))
            drafted = decode(MODEL, VOCABULARY, rows, DecodeOptions(**OPTIONS[law], speculate=True))
            assert [(r.token_ids, r.finish_reason) for r in without] == [
                (r.token_ids, r.finish_reason) for r in drafted
            ]
            for result in without:
                assert len(result.token_ids) <= budget
                assert constraint.matches(VOCABULARY.decode(result.token_ids))
