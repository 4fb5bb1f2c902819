"""Logits read in place and logits summarized where they are say the same."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
import torch

import speculative.loop
from speculative.logits import PassLogits, find_tops
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import people, random_prompt, tiny_llama, tiny_vocabulary


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_both_ways_of_reading_agree(dtype: Any) -> None:
    logits = (torch.randn(3, 4, 500, generator=torch.Generator().manual_seed(1)) * 3).to(dtype)
    here, there = PassLogits(logits, in_place=True), PassLogits(logits, in_place=False)
    assert here.n_rows == there.n_rows == 500
    for row in range(3):
        for column in range(4):
            a, b = here.position(row, column), there.position(row, column)
            assert (a.best, a.best_score) == (b.best, b.best_score)
            assert a.log_normalizer == pytest.approx(b.log_normalizer, abs=1e-5)
            assert np.array_equal(a.scores, b.scores)
            assert a.score(7) == b.score(7) == float(logits[row, column, 7])


def test_the_lowest_id_among_equals_is_the_best() -> None:
    logits = torch.zeros(1, 1, 300)
    logits[0, 0, [17, 40, 299]] = 2.0
    assert find_tops(logits).ids == [[17]]
    assert PassLogits(logits, in_place=True).position(0, 0).best == 17


def test_what_is_not_a_number_shows_in_the_best_score() -> None:
    logits = torch.zeros(1, 1, 10)
    logits[0, 0, 4] = math.nan
    for in_place in (True, False):
        assert math.isnan(PassLogits(logits, in_place=in_place).position(0, 0).best_score)


def test_decoding_is_the_same_when_logits_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    model, vocabulary, rng = tiny_llama(), tiny_vocabulary(), random.Random(2)
    compiled = FakeCompiled(people(), vocabulary)
    rows = [RowRequest(random_prompt(rng), compiled if i % 2 else None, i, 30, (0,)) for i in range(4)]
    options = DecodeOptions(measure="light")
    expected = decode(model, vocabulary, rows, options)
    monkeypatch.setattr(speculative.loop, "PassLogits", lambda logits, in_place: PassLogits(logits, in_place=False))
    results = decode(model, vocabulary, rows, options)
    assert [r.token_ids for r in results] == [r.token_ids for r in expected]
    for a, b in zip(results, expected, strict=True):
        assert a.statistics.logprobs == pytest.approx(b.statistics.logprobs, abs=1e-4)
