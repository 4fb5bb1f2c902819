"""Every number of a row's report, against its definition computed from the model's own logits."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

from speculative.loop import DecodeOptions, RowRequest, decode
from speculative.statistics import RowStatistics
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.table_model import TableModel
from tests.reference.tiny_models import N_ROWS, people, random_prompt, tiny_llama, tiny_vocabulary
from tokenizer_align.vocabulary import Vocabulary

VOCABULARY = tiny_vocabulary()
MODEL = tiny_llama(seed=5)
LANGUAGE = FakeCompiled([*people(8), b"red", b"green", b"greenish"], VOCABULARY)


def distributions(prompt: list[int], ids: list[int]) -> Any:
    """log-softmax of the raw logits at every step, float[n_steps, n_rows] (the last row: after all ids)."""
    with torch.no_grad():
        return MODEL(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 :].log_softmax(-1)


def legal_sets(ids: list[int]) -> list[list[int]]:
    matcher = LANGUAGE.matcher()
    sets = []
    for token in [*ids, None]:
        sets.append([t for t in range(N_ROWS) if matcher.accepts(t)])
        if token is not None:
            matcher.advance(token)
    return sets


@pytest.mark.parametrize("seed", range(6))
def test_greedy_numbers_follow_their_definitions(seed: int) -> None:
    prompt = random_prompt(random.Random(seed))
    options = DecodeOptions(measure="full", speculate=bool(seed % 2))
    result = decode(MODEL, VOCABULARY, [RowRequest(prompt, LANGUAGE, 0, 50, (0,))], options)[0]
    ids, numbers = list(result.token_ids), result.statistics
    logp = distributions(prompt, ids)
    chosen = ids + ([0] if result.finish_reason == "stop" else [])
    mass = [float(logp[i, legal].exp().sum()) for i, legal in enumerate(legal_sets(ids))][: len(chosen)]

    assert numbers.logprobs == pytest.approx([float(logp[i, t]) for i, t in enumerate(chosen)], abs=1e-4)
    assert numbers.model_logprobs == pytest.approx(numbers.logprobs, abs=1e-6)
    assert numbers.legal_mass == pytest.approx(mass, rel=1e-3, abs=1e-9)
    assert numbers.projection_tax == pytest.approx(sum(-math.log(a) for a in mass), abs=1e-3)
    assert numbers.log_weight == pytest.approx(-numbers.projection_tax, abs=1e-9)
    assert numbers.logprob == pytest.approx(sum(numbers.logprobs))
    assert numbers.model_logprob == pytest.approx(sum(numbers.logprobs[: len(ids)]))

    wanted = logp.argmax(-1).tolist()
    illegal = [i for i, legal in enumerate(legal_sets(ids)[: len(chosen)]) if wanted[i] not in legal]
    assert [one.step for one in numbers.interventions] == illegal
    for one in numbers.interventions:
        assert (one.wanted_id, one.chosen_id) == (wanted[one.step], chosen[one.step])
        assert one.wanted_logprob == pytest.approx(float(logp[one.step, one.wanted_id]), abs=1e-4)
        assert one.legal_mass == pytest.approx(mass[one.step], rel=1e-3)
        assert one.because == "constraint"

    n_bytes = len(VOCABULARY.decode(ids))
    assert (numbers.n_tokens, numbers.n_bytes, numbers.n_steps) == (len(ids), n_bytes, len(chosen))
    assert numbers.perplexity_per_token == pytest.approx(math.exp(-numbers.model_logprob / len(ids)))
    assert numbers.perplexity_per_byte == pytest.approx(math.exp(-numbers.model_logprob / n_bytes))


@pytest.mark.parametrize("truncate", ["model", "masked"])
def test_sampled_numbers_are_those_of_the_truncated_distribution(truncate: Any) -> None:
    for seed in range(5):
        prompt = random_prompt(random.Random(seed))
        options = DecodeOptions(do_sample=True, seed=seed, temperature=1.7, top_k=40, measure="full", truncate=truncate)
        result = decode(MODEL, VOCABULARY, [RowRequest(prompt, LANGUAGE, 0, 50, (0,))], options)[0]
        ids, numbers = list(result.token_ids), result.statistics
        raw = distributions(prompt, ids)
        scaled = raw / 1.7
        scaled[scaled < scaled.topk(40).values[:, -1:]] = -math.inf
        logp = scaled.log_softmax(-1)
        chosen = ids + ([0] if result.finish_reason == "stop" else [])
        mass = [float(logp[i, legal].exp().sum()) for i, legal in enumerate(legal_sets(ids))][: len(chosen)]
        assert numbers.logprobs == pytest.approx([float(logp[i, t]) for i, t in enumerate(chosen)], abs=1e-3)
        assert numbers.model_logprobs == pytest.approx([float(raw[i, t]) for i, t in enumerate(chosen)], abs=1e-3)
        assert numbers.legal_mass == pytest.approx(mass, rel=1e-2, abs=1e-9)
        assert numbers.n_fallbacks == sum(a == 0 for a in mass)
        if numbers.n_fallbacks:
            assert numbers.projection_tax == math.inf


def test_light_numbers_are_the_full_ones_where_they_were_measured() -> None:
    for seed in range(6):
        row = RowRequest(random_prompt(random.Random(seed)), LANGUAGE, 0, 50, (0,))
        light = decode(MODEL, VOCABULARY, [row])[0].statistics
        full = decode(MODEL, VOCABULARY, [row], DecodeOptions(measure="full"))[0].statistics
        assert light.logprobs == pytest.approx(full.logprobs, abs=1e-4)
        assert [i.step for i in light.interventions] == [i.step for i in full.interventions]
        assert full.n_unmeasured == 0
        assert full.projection_tax is not None
        for a, b in zip(light.legal_mass, full.legal_mass, strict=True):
            assert a is None or a == pytest.approx(b, rel=1e-3)
        assert light.projection_tax_low <= full.projection_tax + 1e-3
        assert full.projection_tax <= light.projection_tax_high + 1e-3
        assert (light.projection_tax is None) == (light.n_unmeasured > 0)


def test_masks_are_only_made_where_the_models_own_choice_is_illegal() -> None:
    vocabulary = Vocabulary.from_bytes([None, b"a", b"b", b"c"], eos_token_ids=[0])
    model = TableModel(lambda prefix: [-9.0, 2.0, 1.0, 0.0], 4)
    for texts, n_masks in (([b"aaa", b"b"], 0), ([b"aab", b"aac"], 1)):
        row = RowRequest([1], FakeCompiled(texts, vocabulary), 0, 9, (0,))
        numbers = decode(model, vocabulary, [row], DecodeOptions(speculate=False))[0].statistics
        assert numbers.n_masks == len(numbers.interventions) == n_masks


def test_free_text_has_no_tax_and_no_interventions() -> None:
    numbers = decode(MODEL, VOCABULARY, [RowRequest([5], None, 0, 9, ())])[0].statistics
    assert numbers.legal_mass == [1.0] * 9
    assert numbers.projection_tax == 0
    assert not numbers.interventions


def test_passes_and_drafts_are_counted() -> None:
    rng = random.Random(3)
    rows = [RowRequest(random_prompt(rng), LANGUAGE, i, 50, (0,)) for i in range(3)]
    for result in decode(MODEL, VOCABULARY, rows, DecodeOptions(speculate=True)):
        numbers = result.statistics
        # Every pass decides one token more than it accepts; the end is a decision without a token.
        assert numbers.forward_passes + sum(numbers.accepted.values()) == numbers.n_steps
        assert sum(numbers.accepted.values()) <= sum(numbers.drafted.values())
        assert numbers.tokens_per_pass == pytest.approx(numbers.n_tokens / numbers.forward_passes)
        assert 0 < numbers.model_s <= numbers.total_s


def test_an_empty_row_has_no_perplexity() -> None:
    assert RowStatistics().perplexity_per_token is None
    assert RowStatistics().perplexity_per_byte is None
    assert RowStatistics().tokens_per_pass is None
    assert RowStatistics().logprob == 0
