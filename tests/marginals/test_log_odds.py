"""Log-odds from noisy counts, against sums written out row by row."""

import numpy as np
import pytest

from hedgerow.marginals.logistic import SufficientStatistics, estimated

SIZES = (3, 2, 4)
PRIOR = np.eye(sum(SIZES)) + 0.2


def statistics(noise, n_classes=2, n=300, n_source=200, seed=0, effect=1.0, drawn=1):
    """Return the answer about rows whose log-odds add up, with a source of its own."""
    rng = np.random.default_rng(seed)
    truth = effect * rng.normal(size=(sum(SIZES), n_classes))
    target, source = one_hot(n, rng), one_hot(n_source, rng)
    odds = target.T @ truth
    classes = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    counts = target @ np.eye(n_classes)[classes]
    draws = np.random.default_rng(drawn).normal(size=counts.shape) * np.sqrt(noise)
    rows = rng.random(n_source) + 0.5
    return SufficientStatistics(source, n * rows / rows.sum(), counts + draws, np.full(len(counts), noise))


def one_hot(n, rng):
    return np.vstack([(rng.integers(0, size, n)[None] == np.arange(size)[:, None]) for size in SIZES]).astype(float)


def slow_gradient(given, found, spread):
    """Return the gradient of the logarithm of the posterior of two classes, covariances being taken as they are."""
    n, (base,), theta = given.rows.sum(), found.base, found.values[:, 0]
    size = len(theta) + 1
    mean, slopes, chance = np.zeros(size - 1), np.zeros((size - 1, size)), np.zeros((size - 1, size - 1))
    away, square = np.zeros(size - 1), np.zeros((size - 1, size - 1))
    for bins, weight in zip(given.matrix.T, given.rows, strict=True):
        p = 1 / (1 + np.exp(-base - bins @ theta))
        mean += weight * p * bins
        slopes += weight * p * (1 - p) * np.outer(bins, [*bins, 1])
        chance += weight * p * (1 - p) * np.outer(bins, bins)
        away += weight * (p - 0.5) * bins
        square += weight * (p - 0.5) ** 2 * np.outer(bins, bins)
    chance += (1 + (given.rows**2).sum() / n) * (square - np.outer(away, away) / n)
    chance += np.diag(given.noise / 2 + 1e-6 * n / (size - 1))
    wrong, right = given.counts.T
    residual = (right - wrong + given.matrix @ given.rows) / 2 - mean
    prior = np.zeros((size, size))
    prior[:-1, :-1], prior[-1, -1] = spread**2 * PRIOR, 25
    origin = np.append(np.zeros(size - 1), np.log(given.shares()[1] / given.shares()[0]))
    return slopes.T @ np.linalg.inv(chance) @ residual - np.linalg.inv(prior) @ (np.append(theta, base) - origin)


@pytest.mark.parametrize("noise", [0.0, 1.0, 400.0])
def test_the_log_odds_are_the_most_probable(noise):
    given = statistics(noise)
    result = estimated(given, PRIOR, (1.0,))
    there = np.abs(slow_gradient(given, result, 1.0)).max()
    moved = estimated(given, PRIOR, (1.3,))
    assert there < 0.2 * np.abs(slow_gradient(given, moved, 1.0)).max()
    assert there < 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_estimates_are_correct_with_many_rows_and_no_noise(n_classes):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(sum(SIZES), n_classes))
    given = statistics(0.0, n_classes, n=40_000, n_source=20_000)
    result = estimated(given, PRIOR)
    odds = given.matrix.T @ truth
    expected = odds[:, 1:] - odds[:, :1]
    mine = result.base + given.matrix.T @ result.values
    mine = mine if n_classes == 2 else mine[:, 1:] - mine[:, :1]
    assert np.abs(mine - expected).mean() < 0.1
    assert np.corrcoef(mine[:, 0], expected[:, 0])[0, 1] > 0.995


def test_noise_that_is_larger_than_the_counts_leaves_the_prior():
    result = estimated(statistics(1e8), PRIOR)
    assert np.abs(result.values).max() < 0.02
    assert statistics(1e8).shares().min() >= 0.019


def test_the_prior_is_narrow_without_signal_and_wide_with_signal():
    nothing, much = (estimated(statistics(4.0, n=4000, effect=effect), PRIOR) for effect in (0.0, 4.0))
    assert nothing.spreads == (0.5,)
    assert much.spreads[0] >= 2.0


@pytest.mark.parametrize("draws", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_the_standard_error_is_that_of_new_noise(draws):
    """A row's log-odds over answers with other noise: within 25 %, which 30 % too little or too much is not."""
    many = [statistics(100.0, n=3000, n_source=3000, drawn=draw) for draw in range(draws)]
    result = [estimated(each, PRIOR, (1.0,)) for each in many]
    odds = np.array([each.base[0] + many[0].matrix.T @ each.values[:, 0] for each in result])
    error = np.sqrt(np.mean([each.error**2 for each in result]))
    assert error == pytest.approx(np.sqrt(odds.var(axis=0, ddof=1).mean()), rel=0.25)


def test_a_bin_without_rows_of_the_source_has_no_log_odds():
    given = statistics(4.0)
    empty = given.matrix.copy()
    empty[0] = 0
    result = estimated(SufficientStatistics(empty, given.rows, given.counts, given.noise), PRIOR)
    assert result.values[0].tolist() == [0.0]
    assert np.abs(result.values[1:]).min() > 0


def test_only_differences_between_several_classes_count():
    result = estimated(statistics(1.0, 3), PRIOR)
    assert result.values.sum(axis=1) == pytest.approx(0, abs=1e-9)
    assert len(result.spreads) == len(result.base) == 3
