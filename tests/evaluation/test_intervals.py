"""Intervals against the definition, and by simulation: how often they miss, and that half the noise is found out."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import beta, binom

from hedgerow.evaluation.measures import (
    MISSES,
    mean_of_others,
    mean_on_rows,
    share_of_others,
    share_on_rows,
)
from hedgerow.models.count_noise import CountNoise

RUNS, ALARM = 250, 1e-6
HITS = np.array([True, False, False, True])
PLACES = np.array([0.0, 1.0, 1.0, 3.0])
CHANCES = np.array([0.62, 0.08, 0.1, 0.2])
MANY = 8  # times these cells: with so many, tails are as wide as the bound of a mean takes them


def noisy(rows, scale, rng):
    stop = -np.expm1(-1 / scale)
    return rows + rng.geometric(stop, rows.shape) - rng.geometric(stop, rows.shape)


def misses(of, truth, scale, assumed, times=1, rows=400):
    """Return how often an interval misses, where noise of one scale is taken for noise of another."""
    rng, missed = np.random.default_rng(20261125), 0
    for _ in range(RUNS):
        counted = rng.multinomial(rows * times, np.tile(CHANCES / times, times))
        low, high = of(noisy(counted, scale, rng), CountNoise(assumed))
        missed += not low <= truth(counted) <= high
    return missed


def most(chance):
    """Return how many misses in `RUNS` are more than can be at this chance, but for one alarm in a million."""
    return int(binom.isf(ALARM, RUNS, chance))


def of_share(own, noise):
    return share_on_rows(own, np.tile(HITS, len(own) // 4), noise)


def of_mean(own, noise):
    values = np.tile(PLACES, len(own) // 4)
    return mean_on_rows(own, values, values, noise)


def share(rows):
    return rows[np.tile(HITS, len(rows) // 4)].sum() / rows.sum()


def mean(rows):
    return rows @ np.tile(PLACES, len(rows) // 4) / rows.sum()


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [1.0, 8.0, 40.0])
@pytest.mark.parametrize(("of", "truth"), [(of_share, share), (of_mean, mean)])
def test_the_figure_of_the_rows_is_missed_in_no_more_cases_than_said(of, truth, scale):
    assert misses(of, truth, scale, scale) <= most(MISSES)


@pytest.mark.statistics
@pytest.mark.parametrize(("of", "truth"), [(of_share, share), (of_mean, mean)])
def test_twice_the_noise_that_is_assumed_is_found_out(of, truth):
    assert misses(of, truth, 8.0, 4.0, MANY) > most(MISSES)
    assert misses(of, truth, 8.0, 8.0, MANY) <= most(MISSES)


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [0.05, 8.0])
def test_the_chance_of_other_rows_is_missed_in_no_more_cases_than_said(scale):
    for of, truth in (
        (lambda own, noise: share_of_others(own, HITS, noise), CHANCES[HITS].sum()),
        (lambda own, noise: mean_of_others(own, PLACES, PLACES, noise), CHANCES @ PLACES),
    ):
        assert misses(of, lambda _, truth=truth: truth, scale, scale) <= most(MISSES)


def test_an_interval_for_the_rows_alone_misses_the_chance_of_other_rows():
    assert misses(of_share, lambda _: CHANCES[HITS].sum(), 1.0, 1.0) > most(MISSES)


def test_without_noise_ends_are_the_figure_and_those_of_clopper_and_pearson():
    own, noise = np.array([62, 8, 10, 20]), CountNoise(1e-4)
    assert share_on_rows(own, HITS, noise) == pytest.approx((0.82, 0.82))
    ends = beta.ppf(MISSES / 4, 82, 19), beta.ppf(1 - MISSES / 4, 83, 18)
    assert share_of_others(own, HITS, noise) == pytest.approx(ends)
    assert mean_on_rows(own, PLACES, PLACES, noise) == pytest.approx((0.78, 0.78), abs=1e-2)


@pytest.mark.parametrize("own", [(3, 2, -1, 4), (-3, -1, -2, -2), (0, 0, 0, 0), (9, -4, 0, 1)])
def test_all_tables_within_the_noise_are_inside(own):
    """Each sum is off by at most its own spread: the ends are the extremes over all tables that this leaves."""
    own, noise = np.array(own), CountNoise(0.7)
    far = noise.spread(2, 1 - MISSES / 2)
    few, many = (max(int(own[one].sum()), -far) for one in (HITS, ~HITS))
    tables = product(*(range(max(n - far, 0), max(n + far, 0) + 1) for n in (few, many)))
    found = [Fraction(hits, hits + others) for hits, others in tables if hits + others]
    low, high = share_on_rows(own, HITS, noise)
    assert low == pytest.approx(float(min(found, default=0)))
    assert high == pytest.approx(float(max(found, default=1)))


def test_a_mean_is_excluded_by_no_more_than_the_definition_does():
    """Markov's inequality at every step of a grid, for every mean of a grid: what it leaves is inside the interval."""
    own, scale = np.array([40, 12, 5, -3]), 3.0
    low, high = mean_on_rows(own, PLACES, PLACES, CountNoise(scale))
    stay = exp(-1 / scale)

    def moment(step):
        return (1 - stay) ** 2 / ((1 - stay * exp(step)) * (1 - stay * exp(-step)))

    def is_left(value, sign):
        off = sign * (PLACES - value)
        reach = np.abs(off).max() * scale
        steps = [share / reach for share in np.linspace(0.01, 0.99, 99)]
        bounds = [exp(step * float(off @ own)) * np.prod([moment(step * one) for one in off]) for step in steps]
        return min(bounds) >= MISSES / 2

    left = [value for value in np.linspace(0, 3, 301) if is_left(value, 1) and is_left(value, -1)]
    assert low <= min(left) <= low + 0.02
    assert high - 0.02 <= max(left) <= high


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9])
@pytest.mark.parametrize("own", [(0, 0, 0, 0), (-5, -5, 2, 1), (10**9, 3, 10**9, 1)])
def test_intervals_are_within_what_is_possible_whatever_the_counts(own, scale):
    own, noise = np.array(own), CountNoise(scale)
    for low, high in (share_on_rows(own, HITS, noise), share_of_others(own, HITS, noise)):
        assert 0 <= low <= high <= 1
    for low, high in (of_mean(own, noise), mean_of_others(own, PLACES, PLACES, noise)):
        assert 0 <= low <= high <= 3
