"""Penalties and truncations are transformers' own; sampled frequencies follow the masked law and no other."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import generation

from speculative.loop import DecodeOptions, RowRequest, decode
from speculative.sampling import History, log_sum_exp, penalize, scale, truncate
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.table_model import TableModel
from tokenizer_align.errors import InvalidOption
from tokenizer_align.vocabulary import Vocabulary

TABLES = json.loads((Path(__file__).parent / "cases" / "exact_tables.json").read_text())


def drawn_scores(seed: int, n: int = 200, spread: float = 3.0) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).normal(size=n) * spread).astype(np.float32)


def kept_by_transformers(scores: np.ndarray[Any, Any], warpers: list[Any]) -> set[int]:
    tensor = torch.from_numpy(scores)[None]
    for warper in warpers:
        tensor = warper(torch.zeros((1, 1), dtype=torch.long), tensor)
    return set(torch.isfinite(tensor[0]).nonzero()[:, 0].tolist())


def kept_here(scores: np.ndarray[Any, Any], **options: Any) -> set[int]:
    options = {"do_sample": True, **options}
    ids, left = truncate(None, scale(scores, DecodeOptions(**options)), DecodeOptions(**options))
    if ids is None:
        return set(range(len(scores)))
    assert len(ids) == len(left)
    assert list(ids) == sorted(ids)
    return set(ids.tolist())


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.3, 1.0, 3.0, 10.0]), k=st.integers(1, 250))
def test_top_k_keeps_what_transformers_keeps(seed: int, spread: float, k: int) -> None:
    scores = drawn_scores(seed, spread=spread)
    assert kept_here(scores, top_k=k) == kept_by_transformers(scores, [generation.TopKLogitsWarper(k)])


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.3, 1.0, 3.0, 10.0]), p=st.floats(0.01, 0.999))
def test_top_p_keeps_what_transformers_keeps(seed: int, spread: float, p: float) -> None:
    scores = drawn_scores(seed, spread=spread)
    assert kept_here(scores, top_p=p) == kept_by_transformers(scores, [generation.TopPLogitsWarper(p)])


@pytest.mark.parametrize("spread", [0.1, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 0.99])
def test_top_p_over_a_large_vocabulary_keeps_what_transformers_keeps(spread: float, p: float) -> None:
    scores = drawn_scores(3, n=20_000, spread=spread)
    ours, theirs = kept_here(scores, top_p=p), kept_by_transformers(scores, [generation.TopPLogitsWarper(p)])
    assert len(ours ^ theirs) <= 2  # transformers sums 20,000 float32 numbers; the last one kept is within its rounding


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.3, 1.0, 3.0, 10.0]), p=st.floats(0.001, 1.0))
def test_min_p_keeps_what_transformers_keeps(seed: int, spread: float, p: float) -> None:
    scores = drawn_scores(seed, spread=spread)
    assert kept_here(scores, min_p=p) == kept_by_transformers(scores, [generation.MinPLogitsWarper(p)])


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.3, 1.0, 3.0, 10.0]), p=st.floats(0.01, 0.999))
def test_typical_keeps_what_transformers_keeps(seed: int, spread: float, p: float) -> None:
    scores = drawn_scores(seed, spread=spread)
    ours, theirs = kept_here(scores, typical_p=p), kept_by_transformers(scores, [generation.TypicalLogitsWarper(p)])
    assert len(ours) == len(theirs)
    logs = scores.astype(np.float64) - np.logaddexp.reduce(scores.astype(np.float64))
    distance = np.abs(-logs + (np.exp(logs) * logs).sum())  # from the mean surprise; equal ones may be rounded apart
    apart = sorted(ours ^ theirs)
    assert not apart or np.ptp(distance[apart]) < 1e-5


@given(seed=st.integers(0, 10**6), t=st.floats(0.3, 3), k=st.integers(1, 100), p=st.floats(0.1, 0.99))
def test_truncations_act_one_after_the_other_as_in_transformers(seed: int, t: float, k: int, p: float) -> None:
    scores = drawn_scores(seed)
    warpers = [
        generation.TemperatureLogitsWarper(t),
        generation.TopKLogitsWarper(k),
        generation.TopPLogitsWarper(p),
        generation.MinPLogitsWarper(0.02),
        generation.TypicalLogitsWarper(0.9),
    ]
    kept = kept_here(scores, temperature=t, top_k=k, top_p=p, min_p=0.02, typical_p=0.9)
    assert kept == kept_by_transformers(scores, warpers)


@pytest.mark.parametrize("options", [{"top_k": 3}, {"top_p": 0.5}, {"min_p": 0.3}, {"typical_p": 0.5}])
def test_at_least_one_candidate_survives_where_all_but_one_are_impossible(options: dict[str, Any]) -> None:
    scores = np.full(10, -np.inf, dtype=np.float32)
    scores[4] = 1.5
    assert 4 in kept_here(scores, **options)


def test_top_k_keeps_ties_with_the_last() -> None:
    assert kept_here(np.array([1, 2, 2, 2, 0], dtype=np.float32), top_k=2) == {1, 2, 3}


@given(seed=st.integers(0, 10**6), penalty=st.floats(0.5, 2.0), ids=st.lists(st.integers(0, 199), min_size=1))
def test_repetition_penalty_is_transformers_over_prompt_and_output(seed: int, penalty: float, ids: list[int]) -> None:
    scores = drawn_scores(seed)
    history = History(ids[:3])
    for token in ids[3:]:
        history.add(token)
    ours = penalize(scores, history, DecodeOptions(repetition_penalty=penalty))
    theirs = generation.RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor([ids]), torch.from_numpy(scores)[None])
    assert np.allclose(ours, theirs[0].numpy(), rtol=1e-6, atol=0)


def test_frequency_and_presence_penalties_count_the_output_only() -> None:
    history = History([5, 5, 6])
    for token in (1, 1, 2):
        history.add(token)
    scores = np.zeros(8, dtype=np.float32)
    penalized = penalize(scores, history, DecodeOptions(frequency_penalty=0.5, presence_penalty=0.25))
    assert penalized.tolist() == [0, -1.25, -0.75, 0, 0, 0, 0, 0]
    assert not scores.any()


def test_log_sum_exp_of_nothing_and_of_impossible_scores() -> None:
    assert log_sum_exp(np.zeros(0, dtype=np.float32)) == -math.inf
    assert log_sum_exp(np.full(3, -np.inf, dtype=np.float32)) == -math.inf
    assert abs(log_sum_exp(np.array([1000.0, 1000.0], dtype=np.float32)) - 1000.693147) < 1e-5


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 0.0), ("top_p", 0.0), ("top_p", 1.5), ("min_p", -0.1), ("truncate", "other"), ("max_draft", -1)],
)
def test_an_option_out_of_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidOption, match=name):
        DecodeOptions(**{name: value})


# Frequencies against exact laws -------------------------------------------------------------------------------------


def chi_square(counts: Counter[Any], law: dict[Any, float], n: int) -> tuple[float, int]:
    """The statistic over cells of at least 5 expected counts (the rest pooled), and its degrees of freedom."""
    big = {cell for cell, p in law.items() if p * n >= 5}
    cells = [(counts[cell], law[cell] * n) for cell in big]
    rest = (sum(c for cell, c in counts.items() if cell not in big), n - sum(e for _, e in cells))
    if rest[1] > 1e-9:
        cells.append(rest)
    return sum((c - e) ** 2 / e for c, e in cells), len(cells) - 1


def critical(degrees: int) -> float:
    """About the 0.9999 quantile of the chi-square law (Wilson and Hilferty)."""
    a = 2 / (9 * degrees)
    return degrees * float((1 - a + 3.719 * math.sqrt(a)) ** 3)


class Table:
    """One of the exact tables as a small model: ids renumbered from 1, 0 ends, the last row takes all other mass."""

    def __init__(self, name: str) -> None:
        table = TABLES[name]
        nodes = {tuple(node["ids"]): {int(t): p for t, p in node["next"].items()} for node in table["nodes"]}
        ids = sorted({t for steps in nodes.values() for t in steps} - {2})
        self.number = {2: 0, **{token: index + 1 for index, token in enumerate(ids)}}
        self.n_rows = len(ids) + 2
        self.strings = table["strings"]
        self.nodes = {
            tuple(self.number[t] for t in prefix): {self.number[t]: p for t, p in steps.items()}
            for prefix, steps in nodes.items()
        }
        texts = {tuple(self.number[t] for t in node["ids"]): node["text"] for node in table["nodes"]}
        pieces: list[bytes | None] = [None] * self.n_rows
        for prefix, steps in self.nodes.items():
            for token in steps:
                if token:
                    whole = texts.get((*prefix, token))
                    assert whole is not None
                    pieces[token] = whole[len(texts[prefix]) :].encode()
        self.vocabulary = Vocabulary.from_bytes(pieces, eos_token_ids=[0])
        self.model = TableModel(self._predict, self.n_rows)

    def _predict(self, prefix: tuple[int, ...]) -> list[float]:
        steps = self.nodes.get(prefix[1:], {})
        row = [-60.0] * self.n_rows
        for token, logp in steps.items():
            row[token] = logp
        row[-1] = math.log(max(1e-9, 1 - sum(math.exp(p) for p in steps.values())))
        return row

    def masked_law(self, temperature: float = 1.0) -> dict[tuple[int, ...], float]:
        """Probability of every token sequence when each step is renormalized over what is legal."""
        law: dict[tuple[int, ...], float] = {}
        todo = [((), 1.0)]
        while todo:
            prefix, p = todo.pop()
            steps = self.nodes.get(prefix, {0: 0.0})
            weights = {token: math.exp(logp / temperature) for token, logp in steps.items()}
            total = sum(weights.values())
            for token, weight in weights.items():
                if token == 0:
                    law[prefix] = law.get(prefix, 0.0) + p * weight / total
                else:
                    todo.append(((*prefix, token), p * weight / total))
        return law

    def exact_law(self) -> dict[tuple[int, ...], float]:
        """The model's own distribution over token sequences, conditioned on the whole text being legal."""
        law: dict[tuple[int, ...], float] = {}
        todo = [((), 0.0)]
        while todo:
            prefix, logp = todo.pop()
            for token, step in self.nodes.get(prefix, {0: 0.0}).items():
                if token == 0:
                    law[prefix] = math.exp(logp + step)
                else:
                    todo.append(((*prefix, token), logp + step))
        total = sum(law.values())
        return {ids: p / total for ids, p in law.items()}

    def sample(self, n: int, **options: Any) -> Counter[tuple[int, ...]]:
        compiled = FakeCompiled([s.encode() for s in self.strings], self.vocabulary)
        rows = [RowRequest([self.n_rows - 1], compiled, row, 40, (0,)) for row in range(n)]
        results = decode(self.model, self.vocabulary, rows, DecodeOptions(do_sample=True, **options))
        return Counter(tuple(result.token_ids) for result in results)


@pytest.mark.parametrize("options", [{"speculate": False}, {"speculate": True}, {"measure": "full"}])
def test_sampled_frequencies_follow_the_masked_law(options: dict[str, Any]) -> None:
    table, n = Table("yesno"), 3000
    counts = table.sample(n, seed=11, **options)
    statistic, degrees = chi_square(counts, table.masked_law(), n)
    assert statistic < critical(degrees)


def test_the_frequency_test_rejects_the_wrong_laws() -> None:
    table, n = Table("yesno"), 3000
    counts = table.sample(n, seed=11)
    for law in (table.exact_law(), table.masked_law(temperature=1.15)):
        statistic, degrees = chi_square(counts, law, n)
        assert statistic > critical(degrees)


def test_temperature_acts_before_the_mask() -> None:
    table, n = Table("yesno"), 2000
    counts = table.sample(n, seed=5, temperature=2.0)
    statistic, degrees = chi_square(counts, table.masked_law(temperature=2.0), n)
    assert statistic < critical(degrees)
    statistic, degrees = chi_square(counts, table.masked_law(), n)
    assert statistic > critical(degrees)


def test_local_masking_gives_90_9_1_on_the_hand_example() -> None:
    # Two tokens, P(a) = 0.9, two of them, "aa" forbidden: the masked law is ab 0.9, ba 0.09, bb 0.01.
    vocabulary = Vocabulary.from_bytes([None, b"a", b"b"], eos_token_ids=[0])
    model = TableModel(lambda prefix: [-30.0, math.log(0.9), math.log(0.1)], 3)
    compiled, n = FakeCompiled([b"ab", b"ba", b"bb"], vocabulary), 4000
    rows = [RowRequest([1], compiled, row, 5, ()) for row in range(n)]
    results = decode(model, vocabulary, rows, DecodeOptions(do_sample=True, seed=1))
    counts = Counter(vocabulary.decode(result.token_ids) for result in results)
    statistic, degrees = chi_square(counts, {b"ab": 0.9, b"ba": 0.09, b"bb": 0.01}, n)
    assert statistic < critical(degrees)


def two_token_rows(options: DecodeOptions, n: int = 1500) -> Counter[int]:
    """One step over tokens 1..4 with p = .5 .3 .15 .05, where 1 is illegal."""
    vocabulary = Vocabulary.from_bytes([None, b"w", b"x", b"y", b"z"], eos_token_ids=[0])
    model = TableModel(lambda prefix: [-30.0, *map(math.log, (0.5, 0.3, 0.15, 0.05))], 5)
    compiled = FakeCompiled([b"x", b"y", b"z"], vocabulary)
    rows = [RowRequest([1], compiled, row, 5, ()) for row in range(n)]
    return Counter(result.token_ids[0] for result in decode(model, vocabulary, rows, options))


def test_truncation_acts_on_the_models_own_distribution_first() -> None:
    # top_k=2 leaves 1 and 2, of which only 2 is legal; transformers' order would leave 2 and 3.
    assert set(two_token_rows(DecodeOptions(do_sample=True, top_k=2), 200)) == {2}


def test_masked_truncation_is_transformers_order() -> None:
    counts = two_token_rows(DecodeOptions(do_sample=True, top_k=2, truncate="masked"))
    statistic, degrees = chi_square(counts, {2: 2 / 3, 3: 1 / 3}, 1500)
    assert statistic < critical(degrees)


def test_where_truncation_leaves_nothing_legal_the_masked_distribution_is_truncated() -> None:
    counts = two_token_rows(DecodeOptions(do_sample=True, top_p=0.45))  # leaves token 1 alone, which is illegal
    assert set(counts) == {2}  # 0.45 of the masked distribution, in which 2 has 0.6


def test_rows_of_one_seed_are_independent() -> None:
    vocabulary = Vocabulary.from_bytes([None, b"a", b"b"], eos_token_ids=[0])
    model = TableModel(lambda prefix: [-30.0, math.log(0.5), math.log(0.5)], 3)
    rows = [RowRequest([1], None, row, 8, ()) for row in range(400)]
    results = decode(model, vocabulary, rows, DecodeOptions(do_sample=True, seed=4))
    bits = np.array([[token == 1 for token in result.token_ids] for result in results], dtype=float)
    for a, b in itertools.combinations(range(8), 2):
        assert abs(np.corrcoef(bits[:, a], bits[:, b])[0, 1]) < 5 / math.sqrt(400)
    assert abs(np.corrcoef(bits[:-1].ravel(), bits[1:].ravel())[0, 1]) < 5 / math.sqrt(3200)
