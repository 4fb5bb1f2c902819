"""The bench's arithmetic: times of free generation, tokens that were decided, sums and medians."""

from __future__ import annotations

import math

import pytest

from domino_py.bench.measure import time_of
from domino_py.bench.results import Quality, Run, Timing, cell_of


def test_time_of_reads_the_free_text_and_goes_on_at_its_pace() -> None:
    free = Run((7, 7, 7), 0.9, 3, token_times_s=(0.5, 0.6, 0.8))
    assert [time_of(free, n) for n in (1, 2, 3)] == [0.5, 0.6, 0.8]
    assert time_of(free, 5) == pytest.approx(0.8 + 2 * 0.15)


def test_an_end_that_was_chosen_is_decided_like_a_token() -> None:
    runs = [[Run((1, 2), 2.0, 3, chose_end=True), Run((3,), 1.0, 1)]]
    qualities = [Quality("ab", 2, 2, True, True, -1.0, 0, None), Quality("c", 1, 1, True, True, -1.0, 0, None)]
    cell = cell_of("w", "m", runs, qualities, [[Timing(2.0, 1.0), Timing(1.0, 1.0)]], 0.1)
    assert [run.n_decided for run in runs[0]] == [3, 1]
    assert (cell.n_tokens, cell.passes_per_token) == (3, 1.0)


def test_cell_of_adds_prompts_up_and_takes_medians_of_rounds() -> None:
    rounds = [[Run((1, 2), 2.0, 1, mask_s=0.01), Run((3, 4), 4.0, 2, mask_s=0.03)]] * 3
    qualities = [Quality("ab", 2, 2, True, False, -1.0, 1, 0.5), Quality("cdef", 2, 4, True, True, -2.0, 0, None)]
    timings = [[Timing(2.0, 1.0), Timing(4.0, 2.0)], [Timing(6.0, 6.0)], [Timing(9.0, 6.0)]]
    cell = cell_of("w", "m", rounds, qualities, timings, 0.1)
    assert (cell.n_tokens, cell.forward_passes, cell.passes_per_token) == (4, 3, 0.75)
    assert (cell.n_outputs, cell.n_matching, cell.n_valid) == (2, 2, 1)
    assert cell.time_ratio == 1.5 and cell.time_ratios == (2.0, 2.0, 1.0, 1.5) and cell.elapsed_s == 6.0
    assert cell.perplexity_per_byte == pytest.approx(math.exp(3 / 6))
    assert cell.noncanonical_tokens == 1 and cell.alignment_gap is None
    assert cell.mask_ms_per_token == pytest.approx(10.0)
