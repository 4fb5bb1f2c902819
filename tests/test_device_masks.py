"""Packed masks on logits: what torch's operations write, and that greedy decoding with them is the same.

The Triton kernel needs a CUDA device; benchmarks/device.py compares it with these operations there.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from speculative.device_masks import MaskSender, mask_logits, mask_logits_in_torch
from speculative.legality import LegalSet
from speculative.logits import PassLogits
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import people, tiny_vocabulary


def random_masks(n: int, n_rows: int) -> np.ndarray:
    words = np.random.default_rng(n_rows).integers(0, 2**32, (n, -(-n_rows // 32)), dtype=np.uint32)
    words[0] = 0
    words[-1] = 0xFFFFFFFF
    return words


@pytest.mark.parametrize("n_rows", [1, 31, 32, 33, 1000, 49152])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_illegal_scores_become_minus_infinity_and_legal_ones_stay(n_rows: int, dtype: torch.dtype) -> None:
    masks = random_masks(5, n_rows)
    logits = torch.randn(5, n_rows, generator=torch.Generator().manual_seed(3)).to(dtype)
    expected = logits.clone()
    for row in range(5):
        for token in range(n_rows):
            if not masks[row, token >> 5] >> (token & 31) & 1:
                expected[row, token] = -math.inf
    sent = MaskSender(torch.device("cpu"), masks.shape[1]).send(masks)
    for write in (mask_logits, mask_logits_in_torch):
        found = logits.clone()
        write(found, sent)
        assert torch.equal(found, expected)


def test_what_was_sent_stays_when_buffers_are_used_again() -> None:
    sender = MaskSender(torch.device("cpu"), 4)
    sent = [sender.send([np.full(4, i, np.uint32)] * (i + 1)) for i in range(20)]
    assert all((rows == i).all() and len(rows) == i + 1 for i, rows in enumerate(sent))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_best_legal_token_is_found_where_the_logits_are(dtype: torch.dtype) -> None:
    logits = (torch.randn(2, 3, 777, generator=torch.Generator().manual_seed(5)) * 3).to(dtype)
    there = PassLogits(logits, in_place=False)
    legal = np.random.default_rng(1).random(777) < 0.1
    for row in range(2):
        for column in range(3):
            scores = logits[row, column].float().numpy()
            position = there.position(row, column)
            token, log_sum = position.best_legal(legal)
            ids = np.flatnonzero(legal)
            assert token == ids[scores[ids].argmax()]
            assert log_sum == pytest.approx(float(np.log(np.exp(scores[ids].astype(np.float64)).sum())), abs=1e-5)
            assert position.score(token) == scores[token]
            assert position.score(5) == scores[5]
            assert position.is_elsewhere
    assert torch.equal(logits, logits.clone())


def test_the_lowest_id_among_equal_legal_scores_is_the_best() -> None:
    there = PassLogits(torch.zeros(1, 1, 100), in_place=False)
    legal = np.zeros(100, np.bool_)
    legal[[17, 40, 99]] = True
    assert there.position(0, 0).best_legal(legal) == (17, pytest.approx(math.log(3)))


def test_foreseen_masks_leave_the_text_where_it_was() -> None:
    vocabulary = tiny_vocabulary()
    compiled = FakeCompiled(people(), vocabulary)
    legal = LegalSet(compiled.matcher(), vocabulary, frozenset(vocabulary.eos_token_ids))
    text = people()[0]
    ids = [vocabulary.ids_by_bytes[bytes([byte])][0] for byte in text[:5]]
    before = legal.bits()
    for wanted in (ids, [], [*ids[:2], -1], [ids[0], ids[0], ids[0]], [*vocabulary.eos_token_ids]):
        legal.foresee(wanted)
        assert legal.matcher.n_tokens == 0
        assert np.array_equal(legal.bits(), before)
