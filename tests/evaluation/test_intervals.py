"""Intervals against the definition, and by simulation: how often they miss, and that half the noise is found out."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from hedgerow.evaluation.intervals import MISSES, NoisyCounts, RankedCounts, mean_on_rows, ratio_intervals
from hedgerow.models.count_noise import CountNoise

RUNS, ALARM = 250, 1e-6
HITS = np.array([True, False, False, True])
PLACES = np.array([0.0, 1.0, 1.0, 3.0])
CHANCES = np.array([0.62, 0.08, 0.1, 0.2])
MANY = 8  # times these cells: with so many, tails are as wide as the bound of a mean takes them


def noisy(rows, scale, rng):
    stop = -np.expm1(-1 / scale)
    return rows + rng.geometric(stop, rows.shape) - rng.geometric(stop, rows.shape)


def mean_of_others(own, values, noise):
    return NoisyCounts(own, noise).mean_intervals(values)[1]


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
    return mean_on_rows(own, np.tile(HITS, len(own) // 4).astype(float), noise)


def of_mean(own, noise):
    values = np.tile(PLACES, len(own) // 4)
    return mean_on_rows(own, values, noise)


def share(rows):
    return rows[np.tile(HITS, len(rows) // 4)].sum() / rows.sum()


def mean(rows):
    return rows @ np.tile(PLACES, len(rows) // 4) / rows.sum()


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [1.0, 8.0, 40.0])
@pytest.mark.parametrize(("of", "truth"), [(of_share, share), (of_mean, mean)])
def test_noise_only_intervals_have_the_stated_confidence(of, truth, scale):
    assert misses(of, truth, scale, scale) <= most(MISSES)


@pytest.mark.statistics
@pytest.mark.parametrize(("of", "truth"), [(of_share, share), (of_mean, mean)])
def test_twice_the_noise_that_is_assumed_is_found_out(of, truth):
    assert misses(of, truth, 8.0, 4.0, MANY) > most(MISSES)
    assert misses(of, truth, 8.0, 8.0, MANY) <= most(MISSES)


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [0.05, 8.0])
def test_sampling_intervals_have_the_stated_confidence(scale):
    for of, truth in (
        (lambda own, noise: mean_of_others(own, HITS.astype(float), noise), CHANCES[HITS].sum()),
        (lambda own, noise: mean_of_others(own, PLACES, noise), CHANCES @ PLACES),
    ):
        assert misses(of, lambda _, truth=truth: truth, scale, scale) <= most(MISSES)


def test_noise_only_intervals_miss_the_value_for_new_rows():
    assert misses(of_share, lambda _: CHANCES[HITS].sum(), 1.0, 1.0) > most(MISSES)


SCORES = np.array([0.1, 0.3, 0.3, 0.8])
FIRST, SECOND = np.array([0.5, 0.2, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])


def auroc(first, second):
    """Return AUROC from rows: each count is written out."""
    labels = np.repeat([0, 1], [first.sum(), second.sum()])
    return roc_auc_score(labels, np.concatenate([np.repeat(SCORES, first), np.repeat(SCORES, second)]))


def ranking_misses(scale, assumed, sizes, *, has_sampling):
    rng, missed = np.random.default_rng(20261129), 0
    truth = float(FIRST @ np.where(SCORES[:, None] < SCORES, 1, (SCORES[:, None] == SCORES) / 2) @ SECOND)
    for _ in range(RUNS):
        rows = np.stack([rng.multinomial(size, p) for size, p in zip(sizes, (FIRST, SECOND), strict=True)])
        counts = RankedCounts.of(noisy(rows, scale, rng).astype(float), SCORES, CountNoise(assumed))
        low, high = counts.interval(has_sampling=has_sampling)
        missed += not low <= (truth if has_sampling else auroc(*rows)) <= high
    return missed


@pytest.mark.statistics
@pytest.mark.parametrize("sizes", [(380, 20), (2000, 60), (300, 300)])
@pytest.mark.parametrize("scale", [0.3, 2.0, 15.0])
def test_auroc_is_missed_in_no_more_cases_than_stated(scale, sizes):
    assert ranking_misses(scale, scale, sizes, has_sampling=False) <= most(MISSES)
    assert ranking_misses(scale, scale, sizes, has_sampling=True) <= most(MISSES)


def test_three_times_the_noise_that_is_assumed_misses_auroc():
    assert ranking_misses(24.0, 8.0, (2000, 300), has_sampling=False) > most(MISSES)


@pytest.mark.parametrize(
    "rows", [((5, 2, 2, 1), (1, 2, 3, 4)), ((50, 0, 1, 0), (0, 0, 0, 7)), ((1, 0, 0, 0), (0, 0, 0, 1))]
)
def test_without_noise_auroc_is_the_measure_from_rows(rows):
    counts = RankedCounts.of(np.array(rows, dtype=float), SCORES, CountNoise(0.0))
    assert counts.value == pytest.approx(auroc(*np.array(rows)))
    low, high = counts.interval(has_sampling=False)
    assert low <= counts.value <= high
    assert high - low < 1e-4
    low, high = counts.interval(has_sampling=True)
    assert high - low > 0.01


def test_without_noise_ends_are_the_measure_and_wilson_scores():
    own, noise = np.array([62, 8, 10, 20]), CountNoise(1e-4)
    hits = HITS.astype(float)
    assert mean_on_rows(own, hits, noise) == pytest.approx((0.82, 0.82))
    low, high = mean_of_others(own, hits, noise)
    for end in (low, high):
        assert abs(0.82 - end) == pytest.approx(2 * (end * (1 - end) / 100) ** 0.5)
    assert mean_on_rows(own, PLACES, noise) == pytest.approx((0.78, 0.78))


@pytest.mark.parametrize("own", [(1, 0, 0, 0), (40, 0, 0, 1), (0, 2, 1, 0), (300, 20, 30, 90), (3, -1, 0, 2)])
@pytest.mark.parametrize("scale", [0.12, 1.0])
def test_the_sampling_interval_contains_the_noise_only_interval(own, scale):
    for values in (HITS.astype(float), PLACES):
        counts = NoisyCounts(np.array(own), CountNoise(scale))
        on_rows, others = counts.mean_intervals(values)
        mean_ = np.clip(counts.mean(values), values.min(), values.max())
        assert others[0] <= on_rows[0] <= mean_ <= on_rows[1] <= others[1]


@pytest.mark.parametrize("scale", [0.05, 2.0])
def test_the_largest_of_many_shares_has_the_stated_confidence(scale):
    rng, missed, alone = np.random.default_rng(20261129), np.zeros(2), np.zeros(2)
    for _ in range(RUNS):
        rows = rng.multinomial(1000, np.full(10, 0.1))
        counts = NoisyCounts(noisy(rows, scale, rng), CountNoise(scale))
        largest = np.arange(10) == counts.own.argmax()
        truths = rows[largest].sum() / 1000, 0.1
        for result, choices in ((missed, 10), (alone, 1)):
            intervals = counts.mean_intervals(largest.astype(float), choices)
            result += [not low <= truth <= high for truth, (low, high) in zip(truths, intervals, strict=True)]
    assert (missed <= most(MISSES)).all()
    assert (alone > most(MISSES)).any()


def test_an_interval_has_the_means_that_noise_explains():
    """A mean is inside exactly if the sum of values less the mean is within the error of its noise."""
    own, noise = np.array([400, 12, 50, -3]), CountNoise(3.0)
    low, high = mean_on_rows(own, PLACES, noise)
    inside = []
    for mean_ in np.linspace(0, 3, 3001):
        off = PLACES - mean_
        error = 2.2 * noise.deviation * np.sqrt(off @ off) + 0.5 * 3
        inside += [mean_] if abs(off @ own) <= error else []
    assert (low, high) == pytest.approx((min(inside), max(inside)), abs=2e-3)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9, 2.0**62])
@pytest.mark.parametrize("own", [(0, 0, 0, 0), (-5, -5, 2, 1), (10**9, 3, 10**9, 1), (2**62, 2**62, -(2**62), 0)])
def test_intervals_contain_only_possible_values(own, scale):
    own, noise = np.array(own), CountNoise(scale)
    for low, high in (of_share(own, noise), mean_of_others(own, HITS.astype(float), noise)):
        assert 0 <= low <= high <= 1
    for low, high in (of_mean(own, noise), mean_of_others(own, PLACES, noise)):
        assert 0 <= low <= high <= 3
    counts = RankedCounts.of(np.stack([own, own[::-1]]).astype(float), SCORES, noise)
    for has_sampling in (False, True):
        low, high = counts.interval(has_sampling=has_sampling)
        assert 0 <= low <= high <= 1


@pytest.mark.statistics
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_ratios_of_means_are_missed_in_no_more_cases_than_stated(scale):
    rng, missed = np.random.default_rng(20261129), np.zeros(2)
    squares, around = np.array([0.0, 1.0, 4.0, 9.0]), np.array([1.0, 2.0, 6.0, 12.0])
    chances = np.array([0.5, 0.3, 0.15, 0.05])
    for _ in range(RUNS):
        rows = rng.multinomial(500, chances)
        counts = [NoisyCounts(noisy(rows, scale, rng), CountNoise(scale), rare=0.0) for _ in range(2)]
        truths = (squares @ rows) / (around @ rows), (squares @ chances) / (around @ chances)
        intervals = ratio_intervals(counts[0], squares, counts[1], around)
        missed += [not low <= truth <= high for truth, (low, high) in zip(truths, intervals, strict=True)]
    assert (missed <= most(MISSES)).all()


@pytest.mark.statistics
def test_a_sign_is_wrong_in_no_more_cases_than_stated():
    rng, values = np.random.default_rng(20261129), np.array([3.0, -1.0, -1.0, 0.0])
    rows = np.array([20, 40, 20, 300])  # the sum of the values is 0
    signs = [NoisyCounts(noisy(rows, 4.0, rng), CountNoise(4.0)).sign(values) for _ in range(4 * RUNS)]
    assert np.count_nonzero(signs) <= int(binom.isf(ALARM, 4 * RUNS, MISSES))
    assert NoisyCounts(rows, CountNoise(0.0)).sign(values) == 0
    assert [NoisyCounts(rows + np.array([item, 0, 0, 0]), CountNoise(0.0)).sign(values) for item in (-1, 1)] == [-1, 1]
