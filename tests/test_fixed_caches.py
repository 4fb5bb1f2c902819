"""Caches of fixed size and the caller's own: the same tokens, and no more columns than were accepted."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from unittest import mock

import pytest
import torch
from transformers import DynamicCache, StaticCache

from speculative import loop
from speculative.caches import drop_last, emptied, fixed_cache, move_columns, plan_cache, select_rows
from speculative.fixed_caches import choose_cache
from speculative.loop import DecodeOptions, RowRequest, decode
from speculative.passes import CausalModel
from speculative.policy import DraftPolicy, policy_of
from speculative.tree_passes import takes_trees
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import (
    people,
    random_prompt,
    tiny_gemma3,
    tiny_llama,
    tiny_qwen3_next,
    tiny_vocabulary,
)
from tokenizer_align.errors import InvalidOption

VOCABULARY = tiny_vocabulary()
PEOPLE = FakeCompiled(people(), VOCABULARY, determined=people()[5])
BUDGET = 34
LAWS: dict[str, dict[str, Any]] = {"greedy": {}, "sampled": {"do_sample": True, "temperature": 1.3, "seed": 3}}


@lru_cache
def model_of(name: str) -> Any:
    return {"llama": tiny_llama, "gemma": tiny_gemma3, "wide gemma": lambda: tiny_gemma3(window=80)}[name]()


def rows_of(n: int) -> list[RowRequest]:
    rng = random.Random(n)
    return [RowRequest(random_prompt(rng, 2, 16), PEOPLE if i % 3 else None, i, BUDGET, (0,)) for i in range(n)]


@contextmanager
def watched_caches() -> Iterator[list[tuple[int, list[int], list[int]]]]:
    """After every pass: columns of the cache, tokens that each row keeps, and tokens that it has run."""
    seen: list[tuple[int, list[int], list[int]]] = []
    repack, run = loop._Batches._repack, loop._Batches._pass
    running: list[Any] = []

    def seen_pass(self: Any, rows: list[Any], *rest: Any) -> Any:
        running[:] = rows
        return run(self, rows, *rest)

    def seen_repack(self: Any, columns: Any, cache: Any) -> None:
        repack(self, columns, cache)
        rows = [row for row in running if row.finish is None]
        run_so_far = [len(row.request.prompt_ids) + len(row.output) - len(row.head) for row in rows]
        assert columns.width == int(cache.get_seq_length())
        seen.append((columns.width, [int(n) for n in columns.kept.sum(axis=1)], run_so_far))

    with mock.patch.object(loop._Batches, "_pass", seen_pass), mock.patch.object(loop._Batches, "_repack", seen_repack):
        yield seen


GIVEN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "static": ("llama", lambda model: StaticCache(config=model.config, max_cache_len=80)),
    "barely large enough": ("llama", lambda model: StaticCache(config=model.config, max_cache_len=16 + BUDGET)),
    "growing": ("llama", lambda model: DynamicCache()),
    "growing by configuration": ("llama", lambda model: DynamicCache(config=model.config)),
    "windows that nothing leaves": ("wide gemma", lambda model: StaticCache(config=model.config, max_cache_len=70)),
    "growing windows": ("wide gemma", lambda model: DynamicCache(config=model.config)),
    "windows": ("gemma", lambda model: StaticCache(config=model.config, max_cache_len=70)),
    "growing small windows": ("gemma", lambda model: DynamicCache(config=model.config)),
    "all positions of windows": ("gemma", lambda model: fixed_cache(model.config, 80, is_windowed=True)),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_a_static_cache_changes_no_token(name: str, law: str) -> None:
    model, rows = model_of(name), rows_of(5)
    expected = [r.token_ids for r in decode(model, VOCABULARY, rows, DecodeOptions(speculate=False, **LAWS[law]))]
    for speculate in (False, True):
        options = DecodeOptions(speculate=speculate, cache="static", **LAWS[law])
        with watched_caches() as seen:
            found = decode(model, VOCABULARY, rows, options)
        assert [r.token_ids for r in found] == expected
        assert all(kept == run for _, kept, run in seen)
        assert [decode(model, VOCABULARY, [row], options)[0].token_ids for row in rows[:3]] == expected[:3]
    assert sum(sum(r.statistics.accepted.values()) for r in found) > 10
    assert policy_of(model, "cpu", "torch.float32").takes_fixed_trees


@pytest.mark.parametrize(("name", "law"), [*((name, "greedy") for name in GIVEN), ("static", "sampled")])
def test_the_callers_cache_changes_no_token(name: str, law: str) -> None:
    model, rows = model_of(GIVEN[name][0]), rows_of(3)
    expected = [r.token_ids for r in decode(model, VOCABULARY, rows, DecodeOptions(speculate=False, **LAWS[law]))]
    cache = GIVEN[name][1](model)
    for part in (rows, rows[1:]):
        with watched_caches() as seen:
            found = decode(model, VOCABULARY, part, DecodeOptions(speculate=True, cache=cache, **LAWS[law]))
        assert [r.token_ids for r in found] == expected[-len(part) :]
        assert all(kept == run for _, kept, run in seen)


@pytest.mark.parametrize(
    ("name", "can_drop", "can_batch"),
    [
        ("static", True, True),
        ("growing", True, True),
        ("growing by configuration", True, True),
        ("windows that nothing leaves", True, False),
        ("growing windows", True, False),
        ("windows", False, False),
        ("growing small windows", False, False),
        ("all positions of windows", True, True),
    ],
)
def test_what_can_be_taken_back_of_a_cache_is_found(name: str, can_drop: bool, can_batch: bool) -> None:
    model = model_of(GIVEN[name][0])
    runner = CausalModel(model)
    runner.plan = choose_cache(runner.plan, GIVEN[name][1](model), 16 + BUDGET, 24)
    assert (runner.plan.can_drop, runner.can_batch) == (can_drop, can_batch)
    assert takes_trees(runner, DraftPolicy("cpu", is_half=False)) is can_batch


def test_a_cache_that_is_too_small_or_no_cache_is_refused_before_any_pass() -> None:
    model = model_of("llama")
    small = StaticCache(config=model.config, max_cache_len=20)
    for cache, said in ((small, "holds 20 positions"), (object(), "an empty cache of transformers was expected")):
        with pytest.raises(InvalidOption, match=said):
            decode(model, VOCABULARY, rows_of(1), DecodeOptions(cache=cache))
    with pytest.raises(InvalidOption, match="'dynamic', 'static' or a cache"):
        DecodeOptions(cache="statik")


def filled(kind: str, n_rows: int, width: int) -> Any:
    """A cache of 9 columns whose key at (row, column) is row * 100 + column."""
    model = model_of("llama")
    cache = fixed_cache(model.config, 9, is_windowed=True) if kind == "static" else DynamicCache()
    values = torch.arange(width)[None, :] + 100 * torch.arange(n_rows)[:, None]
    states = values[:, None, :, None].expand(n_rows, 2, width, 3).float()
    for layer in range(2):
        cache.update(states, states + 1000, layer)
    return cache


def keys(cache: Any, layer: int) -> list[list[int]]:
    width = int(cache.layers[layer].get_seq_length())
    return [[int(x) for x in row] for row in cache.layers[layer].keys[:, 0, :width, 0]]


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_columns_of_a_fixed_cache_are_dropped_moved_and_overwritten(kind: str) -> None:
    cache = filled(kind, 3, 6)
    drop_last(cache, 2)
    select_rows(cache, torch.tensor([2, 0]))
    move_columns(cache, torch.tensor([[0, 1, 3], [1, 2, 3]]))
    new = torch.full((2, 2, 1, 3), 7.0)
    for layer in range(2):
        assert keys(cache, layer) == [[200, 201, 203], [1, 2, 3]]
        cache.update(new, new, layer)
        assert keys(cache, layer) == [[200, 201, 203, 7], [1, 2, 3, 7]]
    emptied(cache, 2)
    assert int(cache.get_seq_length()) == 0


def test_what_is_sure_takes_one_pass_where_nothing_can_be_taken_back() -> None:
    model = tiny_qwen3_next()
    language = FakeCompiled([bytes(range(130, 150)) + b"red", bytes(range(130, 150)) + b"blue"], VOCABULARY)
    row = RowRequest([5, 6, 7], language, 0, 40, (0,))
    assert not plan_cache(model).can_drop
    without = decode(model, VOCABULARY, [row], DecodeOptions(speculate=False))[0]
    assert without.statistics.forward_passes == len(without.token_ids)
    drafted = decode(model, VOCABULARY, [row], DecodeOptions(speculate=True))[0]
    assert drafted.token_ids == without.token_ids
    assert drafted.statistics.forward_passes <= without.statistics.forward_passes - 18
    assert drafted.statistics.logprobs == pytest.approx(without.statistics.logprobs, abs=1e-3)
