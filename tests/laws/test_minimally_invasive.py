"""Law 2: where what the unconstrained model says is legal, the constrained call says it, token for token."""

from __future__ import annotations

import random
from typing import Any

import pytest

from speculative.loop import DecodeOptions, RowRequest, decode
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import random_prompt, tiny_llama, tiny_vocabulary

VOCABULARY = tiny_vocabulary()
MODEL = tiny_llama(seed=3)
LAWS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"do_sample": True, "seed": 23},
    "cool": {"do_sample": True, "seed": 4, "temperature": 0.7},
    "truncated": {"do_sample": True, "seed": 9, "top_k": 10, "top_p": 0.95, "min_p": 0.01},
    "typical": {"do_sample": True, "seed": 2, "typical_p": 0.8},
    "penalized": {"repetition_penalty": 1.3, "frequency_penalty": 0.5},
}
SPOILERS = [b"red", b"greenish", b'{"name": "Ada"}', bytes(range(32, 64))]


def free_text(prompt: list[int], row: int, law: dict[str, Any]) -> list[int]:
    """What the model says unconstrained, up to the first unused row (it has no bytes and could not be legal)."""
    ids = decode(MODEL, VOCABULARY, [RowRequest(prompt, None, row, 14, (0,))], DecodeOptions(**law))[0].token_ids
    kept: list[int] = []
    for token in ids:
        if VOCABULARY.token_bytes[token] is None:
            break
        kept.append(token)
    return kept


@pytest.mark.parametrize("measure", ["light", "full"])
@pytest.mark.parametrize("law", LAWS)
def test_a_legal_unconstrained_output_comes_out_unchanged(law: str, measure: Any) -> None:
    rng = random.Random(len(law))
    for row in range(10):
        prompt = random_prompt(rng)
        ids = free_text(prompt, row, LAWS[law])
        if not ids:
            continue
        compiled = FakeCompiled([VOCABULARY.decode(ids), *SPOILERS], VOCABULARY)
        options = DecodeOptions(**LAWS[law], measure=measure, speculate=True)
        result = decode(MODEL, VOCABULARY, [RowRequest(prompt, compiled, row, 14, (0,))], options)[0]
        assert list(result.token_ids) == ids
        assert result.finish_reason == "complete"
        assert not result.statistics.interventions


@pytest.mark.parametrize("law", LAWS)
def test_an_illegal_wish_changes_nothing_before_it(law: str) -> None:
    rng = random.Random(7)
    for row in range(5):
        prompt = random_prompt(rng)
        ids = free_text(prompt, row, LAWS[law])
        for cut in range(1, len(ids), 4):
            # The text may go on with anything but what the model would say next.
            wanted = VOCABULARY.token_bytes[ids[cut]] or b""
            other = b"!" if not wanted.startswith(b"!") else b"?"
            compiled = FakeCompiled([VOCABULARY.decode(ids[:cut]) + other * 2], VOCABULARY)
            options = DecodeOptions(**LAWS[law])
            result = decode(MODEL, VOCABULARY, [RowRequest(prompt, compiled, row, 40, (0,))], options)[0]
            assert list(result.token_ids[:cut]) == ids[:cut]
            assert result.statistics.interventions[0].step == cut
            assert result.statistics.interventions[0].wanted_id == ids[cut]


def test_light_and_full_measurement_choose_the_same_tokens() -> None:
    rng = random.Random(1)
    texts = [
        b"red",
        b"green",
        b"greenish",
        b"no, no, no",
        b"no, no, no, no, no, no",
        *(b"ab" * n for n in range(2, 12)),
    ]
    compiled = FakeCompiled(texts, VOCABULARY)
    for law in LAWS.values():
        for truncate in ("model", "masked"):
            rows = [RowRequest(random_prompt(rng), compiled, row, 9, (0,)) for row in range(6)]
            light = decode(MODEL, VOCABULARY, rows, DecodeOptions(**law, truncate=truncate, measure="light"))
            full = decode(MODEL, VOCABULARY, rows, DecodeOptions(**law, truncate=truncate, measure="full"))
            for a, b in zip(light, full, strict=True):
                assert (a.token_ids, a.finish_reason) == (b.token_ids, b.finish_reason)
                wished = [(i.step, i.wanted_id, i.because) for i in a.statistics.interventions]
                assert wished == [(i.step, i.wanted_id, i.because) for i in b.statistics.interventions]
