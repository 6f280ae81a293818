"""Rounding one after the other, against all ways of rounding."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.scorecard.rounding import one_by_one, units

NUMBERS = st.lists(st.floats(-9, 9), min_size=1, max_size=6).map(np.array)
SEEDS = st.integers(0, 999)


def form_of(n, seed):
    """Return a quadratic form in which some numbers make up for others."""
    root = np.random.default_rng(seed).normal(size=(n + 1, n))
    return root.T @ root


def ways(values):
    return np.array(list(product(*({np.floor(v), np.ceil(v)} for v in values))))


def cost(form, off):
    return np.einsum("...i,ij,...j", off, form, off)


@given(NUMBERS, SEEDS)
def test_greedy_rounding_is_no_worse_than_random_rounding_on_average(values, seed):
    """Were each rounded at random, by its fraction, the form would be Σ a_jj f(1 − f) on average: greedy is no worse.

    For the order and direction with the least rise, the rise is at most the mean of down and up.
    """
    form = form_of(len(values), seed)
    result = one_by_one(values, form, np.full(len(values), 99))
    assert np.abs(result - values).max() < 1
    part = values - np.floor(values)
    assert cost(form, result - values) <= (np.diag(form) * part * (1 - part)).sum() + 1e-9


def test_greedy_rounding_is_near_the_optimum_and_better_than_nearest():
    ratios, nearest = [], []
    for seed in range(60):
        values = np.random.default_rng(seed).uniform(-9, 9, 8)
        form = form_of(8, seed) + 3  # a common shift: sums are worth more than each number
        least = cost(form, ways(values) - values).min()
        ratios.append(cost(form, one_by_one(values, form, np.full(8, 99)) - values) / least)
        nearest.append(cost(form, np.rint(values) - values) / least)
    assert min(ratios) > 1 - 1e-9
    assert np.median(ratios) < 2.5
    assert np.median(nearest) > 1.5 * np.median(ratios)


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=8).map(sorted), SEEDS, st.booleans(), st.integers(1, 9))
def test_what_rises_keeps_rising(values, seed, falls, most):
    places = np.arange(len(values))[:: -1 if falls else 1]
    given_ = np.array(values)[places]
    result = one_by_one(given_, form_of(len(values), seed), np.full(len(values), most), [places])
    assert (np.diff(result[places]) >= 0).all()
    assert np.abs(result).max() <= most
    assert np.abs(result - np.clip(given_, -most, most)).max() < 1


def test_without_that_it_would_not_always():
    broken = 0
    for seed in range(200):
        values = np.sort(np.random.default_rng(seed).uniform(0, 2, 8))
        broken += (np.diff(one_by_one(values, form_of(8, seed), np.full(8, 9))) < 0).any()
    assert broken > 5


def test_whole_numbers_stay():
    assert one_by_one(np.array([-3.0, 0.0, 7.0]), form_of(3, 0), np.full(3, 9)).tolist() == [-3, 0, 7]


@pytest.mark.parametrize("most", [1, 5, 1000])
def test_sizes_of_a_point_are_around_that_of_the_largest(most):
    result = units(np.array([[-40.0], [10.0]]), most)
    assert result.min() == pytest.approx(20 / most)
    assert result.max() == pytest.approx(80 / most)
    assert np.isclose(result, 40 / most).any()
    assert units(np.zeros((0, 1)), most).tolist() == [0.005]
