"""Which cache a model gets, how rows stand in a batch's columns, and that nothing of it shows in the tokens."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import DynamicCache

from speculative.caches import drop_last, move_columns, plan_cache, select_rows
from speculative.columns import Columns
from speculative.drafts import Draft, DraftContext
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import (
    people,
    random_prompt,
    tiny_gemma3,
    tiny_llama,
    tiny_qwen3_next,
    tiny_vocabulary,
)

VOCABULARY = tiny_vocabulary()
PEOPLE = FakeCompiled(people(), VOCABULARY)


def configured(**config: Any) -> Any:
    return SimpleNamespace(config=SimpleNamespace(**config))


@pytest.mark.parametrize(
    ("model", "kind", "window"),
    [
        (configured(), "full", None),
        (configured(layer_types=["full_attention"] * 2), "full", None),
        (configured(layer_types=["full_attention"], sliding_window=16), "full", None),
        (configured(sliding_window=16), "windowed", 16),
        (configured(layer_types=["sliding_attention", "full_attention"], sliding_window=16), "windowed", 16),
        (configured(layer_types=["chunked_attention"], attention_chunk_size=32), "windowed", 32),
        (configured(layer_types=["linear_attention", "full_attention"]), "recurrent", None),
        (configured(layer_types=["something_new"]), "recurrent", None),
        (SimpleNamespace(config=SimpleNamespace(), _is_stateful=True), "recurrent", None),
    ],
)
def test_the_cache_is_planned_from_the_models_layers(model: Any, kind: str, window: int | None) -> None:
    plan = plan_cache(model)
    assert (plan.kind, plan.window) == (kind, window)
    assert plan.can_drop == (kind != "recurrent")


def filled_cache(n_rows: int, width: int) -> Any:
    """A cache whose key at (row, column) is row * 100 + column."""
    cache = DynamicCache()
    values = torch.arange(width)[None, :] + 100 * torch.arange(n_rows)[:, None]
    states = values[:, None, :, None].expand(n_rows, 2, width, 3).float()
    for layer in range(2):
        cache.update(states, states + 1000, layer)
    return cache


def keys(cache: Any, layer: int = 0) -> list[list[int]]:
    return [[int(x) for x in row] for row in cache.layers[layer].keys[:, 0, :, 0]]


def test_dropping_nothing_leaves_the_cache_alone() -> None:
    cache = filled_cache(1, 4)
    drop_last(cache, 0)
    assert keys(cache) == [[0, 1, 2, 3]]
    drop_last(cache, 3)
    assert keys(cache) == [[0]]


def test_rows_and_columns_are_moved_in_keys_and_values_of_every_layer() -> None:
    cache = filled_cache(3, 4)
    select_rows(cache, torch.tensor([2, 0]))
    move_columns(cache, torch.tensor([[0, 1, 3], [1, 2, 3]]))
    for layer in range(2):
        assert keys(cache, layer) == [[200, 201, 203], [1, 2, 3]]
        assert torch.equal(cache.layers[layer].values, cache.layers[layer].keys + 1000)


# Columns -------------------------------------------------------------------------------------------------------------


def test_a_block_aligns_heads_right_and_drafts_left() -> None:
    block = Columns(2).block([[7], [4, 5, 6]], [[8, 9], []])
    assert block.input_ids.tolist() == [[0, 0, 7, 8, 9], [4, 5, 6, 0, 0]]
    assert block.attention_mask is not None
    assert block.attention_mask.tolist() == [[0, 0, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert block.position_ids is not None
    assert block.position_ids[0, 2:].tolist() == [0, 1, 2]
    assert block.position_ids[1, :3].tolist() == [0, 1, 2]
    assert (block.first, block.n_positions) == (2, 3)


def test_a_single_row_needs_neither_mask_nor_positions() -> None:
    columns = Columns(1)
    block = columns.block([[4, 5]], [[6, 7, 8]])
    assert block.attention_mask is None
    assert block.position_ids is None
    assert columns.settle([range(1)]) == 2
    assert columns.width == 3
    assert columns.repack(None) is None


def test_columns_no_row_kept_are_dropped_and_the_others_become_holes() -> None:
    columns = Columns(2)
    columns.block([[1], [1]], [[2, 3, 4], [2, 3, 4]])
    assert columns.settle([range(2), ()]) == 1
    assert columns.kept.tolist() == [[True, True, True], [True, False, False]]
    block = columns.block([[5], [5]], [[], []])
    assert block.attention_mask is not None
    assert block.attention_mask.tolist() == [[1, 1, 1, 1], [1, 0, 0, 1]]
    assert block.position_ids is not None
    assert block.position_ids.tolist() == [[3], [1]]


def test_taking_back_the_head_drops_its_last_token() -> None:
    columns = Columns(1)
    columns.block([[1, 2, 3]], [[4, 5]])
    assert columns.settle([None]) == 3
    assert columns.width == 2


def test_repacking_moves_kept_columns_to_the_right_when_holes_cost_too_much() -> None:
    columns = Columns(2)
    columns.block([[1], [1]], [[2, 3, 4], [2, 3, 4]])
    columns.settle([range(3), ()])
    assert columns.repack(None) is None  # as wide as its longest row
    columns.block([[5], [5]], [[6, 7, 8], [6, 7, 8]])
    columns.settle([(), range(3)])
    assert columns.width == 8
    index = columns.repack(None)
    assert index is not None
    assert index.tolist() == [[0, 1, 2, 3, 4], [0, 4, 5, 6, 7]]
    assert columns.kept.all()


def test_a_window_wants_no_hole_between_tokens() -> None:
    columns = Columns(2)
    columns.block([[1, 1], [1]], [[], []])
    columns.settle([(), ()])
    assert columns.repack(8) is None  # padding on the left is no hole
    columns.block([[1], [1]], [[2], [2]])
    columns.settle([(), range(1)])
    index = columns.repack(8)
    assert index is not None
    assert columns.kept.tolist() == [[True, True, True], [True, True, True]]
    assert index.tolist() == [[0, 1, 2], [1, 2, 3]]


def test_a_row_that_is_left_alone_loses_its_holes() -> None:
    columns = Columns(2)
    columns.block([[1, 2, 3], [1]], [[], []])
    columns.settle([(), ()])
    columns.select(np.array([1]))
    index = columns.repack(None)
    assert index is not None
    assert index.tolist() == [[2]]


# Whole models --------------------------------------------------------------------------------------------------------


class RandomDrafts:
    """Proposes the truth, spoiled at a random place: rows of a batch accept different numbers of tokens."""

    name = "random"

    def __init__(self, truth: dict[int, tuple[int, ...]], seed: int) -> None:
        self._truth, self._rng = truth, random.Random(seed)

    def propose(self, context: DraftContext, limit: int) -> list[Draft]:
        truth = self._truth[context.prompt_ids[0]][len(context.output_ids) :]
        ids = list(truth[: self._rng.randint(0, min(6, limit))])
        if ids and self._rng.random() < 0.7:
            ids[self._rng.randrange(len(ids))] = self._rng.randrange(1, 257)
        return [Draft(self.name, tuple(ids), ("guess",) * len(ids))] if ids else []


@pytest.mark.parametrize("make", [tiny_llama, tiny_gemma3])
def test_holes_and_repacking_do_not_change_tokens(make: Any) -> None:
    model, rng = make(), random.Random(1)
    rows = [RowRequest([i + 1, *random_prompt(rng, 1, 30)], None, i, 30 + i, ()) for i in range(5)]
    single = [decode(model, VOCABULARY, [row], DecodeOptions(speculate=False))[0].token_ids for row in rows]
    truth = {i + 1: tuple(ids) for i, ids in enumerate(single)}
    for seed in range(4):
        options = DecodeOptions(speculate=True, draft_sources=(RandomDrafts(truth, seed),))
        results = decode(model, VOCABULARY, rows, options)
        assert [r.token_ids for r in results] == single
        assert sum(r.statistics.accepted.get("random", 0) for r in results) > 20


def test_a_windowed_model_writes_what_transformers_generates_past_its_window() -> None:
    model, rng = tiny_gemma3(window=8), random.Random(4)
    rows = [RowRequest(random_prompt(rng, 1, 30), None, i, 30, ()) for i in range(4)]
    expected = []
    for row in rows:
        ids = model.generate(
            torch.tensor([row.prompt_ids]), max_new_tokens=30, do_sample=False, eos_token_id=None, pad_token_id=0
        )
        expected.append(tuple(ids[0, len(row.prompt_ids) :].tolist()))
    assert [tuple(r.token_ids) for r in decode(model, VOCABULARY, rows)] == expected


def test_a_recurrent_model_runs_row_by_row_and_drafts_what_cannot_be_rejected() -> None:
    model, rng = tiny_qwen3_next(), random.Random(5)
    rows = [RowRequest(random_prompt(rng, 2, 9), PEOPLE if i % 2 else None, i, 24, ()) for i in range(3)]
    rows = [RowRequest(r.prompt_ids, r.compiled, r.row, 40 if r.compiled else 12, ()) for r in rows]
    results = decode(model, VOCABULARY, rows, DecodeOptions(speculate=True))
    assert all(r.statistics.drafted == r.statistics.accepted for r in results)
    sure = [sum(r.statistics.accepted.values()) for r in results]
    assert [r.statistics.forward_passes for r in results] == [
        len(r.token_ids) - n for r, n in zip(results, sure, strict=True)
    ]
    assert VOCABULARY.decode(results[1].token_ids) in PEOPLE.texts
    ids = model.generate(
        torch.tensor([rows[0].prompt_ids]), max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    assert tuple(results[0].token_ids) == tuple(ids[0, len(rows[0].prompt_ids) :].tolist())
