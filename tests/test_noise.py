"""Noise is a pure function of (seed, row, position, token), and looks random in every one of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from speculative.noise import gumbel, gumbel_at, stream_key, uniform_at

N = 50_000
ALL = np.arange(N)


def test_the_first_numbers_are_what_splitmix64_gives() -> None:
    # Reference output of SplitMix64 started at 1234567 (Vigna's splitmix64.c); the stream adds its key to the counter.
    mask = (1 << 64) - 1
    state, key = 0, stream_key(7, 3, 11)
    expected = []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = (state + key) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        expected.append(((z >> 11) + 0.5) * 2.0**-53)
    assert uniform_at(7, 3, 11, np.arange(3)).tolist() == expected


def test_a_key_always_gives_the_same_noise() -> None:
    assert np.array_equal(gumbel(1, 2, 3, 100), gumbel(1, 2, 3, 100))


def test_noise_of_a_token_does_not_depend_on_the_number_of_tokens_or_on_the_others_asked_for() -> None:
    ids = np.array([0, 7, 4999, 9998])
    assert np.array_equal(gumbel(1, 2, 3, 10_000)[ids], gumbel_at(1, 2, 3, ids))
    assert np.array_equal(gumbel(1, 2, 3, 10_000)[:50], gumbel(1, 2, 3, 50))


@pytest.mark.parametrize(
    "other", [(2, 2, 3), (1, 3, 3), (1, 2, 4), (-1, 2, 3), (2**80 + 1, 2, 3), (12, 3, 3), (1, 23, 3)]
)
def test_any_change_of_the_key_changes_everything(other: tuple[int, int, int]) -> None:
    same = np.sum(uniform_at(1, 2, 3, ALL) == uniform_at(*other, ALL))
    correlation = float(np.corrcoef(uniform_at(1, 2, 3, ALL), uniform_at(*other, ALL))[0, 1])
    assert same == 0
    assert abs(correlation) < 5 / math.sqrt(N)


def test_uniform_numbers_fill_their_intervals_evenly() -> None:
    counts, _ = np.histogram(uniform_at(5, 0, 0, ALL), bins=100, range=(0, 1))
    chi_square = float(((counts - N / 100) ** 2 / (N / 100)).sum())
    assert 50 < chi_square < 160  # 99 degrees of freedom: mean 99, deviation 14


def test_numbers_of_one_token_over_positions_are_even_and_uncorrelated() -> None:
    numbers = np.array([uniform_at(5, 0, position, np.array([17]))[0] for position in range(5000)])
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    assert float(((counts - 250) ** 2 / 250).sum()) < 50  # 19 degrees of freedom
    assert abs(float(np.corrcoef(numbers[:-1], numbers[1:])[0, 1])) < 5 / math.sqrt(5000)


def test_gumbel_noise_has_the_gumbel_law() -> None:
    noise = gumbel(9, 1, 4, N)
    assert np.isfinite(noise).all()
    assert abs(noise.mean() - 0.577216) < 0.03
    assert abs(noise.var() - math.pi**2 / 6) < 0.06
    # The distribution function at a few places, within 5 deviations.
    for place in (-1.0, 0.0, 1.0, 3.0):
        share = math.exp(-math.exp(-place))
        assert abs(float((noise < place).mean()) - share) < 5 * math.sqrt(share * (1 - share) / N)


def test_gumbel_max_samples_the_softmax() -> None:
    probabilities = np.array([0.6, 0.25, 0.1, 0.05])
    draws = [int((np.log(probabilities) + gumbel(3, 0, position, 4)).argmax()) for position in range(8000)]
    counts = np.bincount(draws, minlength=4)
    expected = probabilities * 8000
    assert float(((counts - expected) ** 2 / expected).sum()) < 21  # 3 degrees of freedom, p = 1e-4
