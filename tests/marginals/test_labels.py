"""Pb. 2 of EXPRIL: labels that explain the answers."""

import numpy as np
import pytest

from hedgerow.marginals.expril import Equations, estimate_labels


def told(bins, y, hypothesis, weights=None, variance=0.0, noise=0.0):
    """Return what a hypothesis' exact error masses say of labels y."""
    weights = np.full(len(y), 1 / len(y)) if weights is None else weights
    errors = (bins * weights) @ np.abs(hypothesis - y) + noise
    return Equations.of(bins, weights, hypothesis, errors, variance)


def test_equation_5_by_hand():
    """R|h − y| = e and R diag(sign(h − ½)) y = R h − e say the same, for any labels."""
    rng = np.random.default_rng(0)
    bins, weights = (rng.random((3, 7)) < 0.5).astype(float), rng.dirichlet(np.ones(7))
    hypothesis, y = rng.integers(0, 2, 7).astype(float), rng.integers(0, 2, 7).astype(float)
    equations = told(bins, y, hypothesis, weights)
    assert equations.matrix @ y == pytest.approx(equations.target)
    assert equations.matrix == pytest.approx(bins * weights * np.where(hypothesis == 1, 1, -1))
    assert equations.target == pytest.approx((bins * weights) @ hypothesis - (bins * weights) @ np.abs(hypothesis - y))


@pytest.mark.parametrize("hypothesis", ["ones", "zeros", "random", "truth"])
def test_labels_are_recovered_where_every_row_has_a_bin(hypothesis):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 12).astype(float)
    guess = {"ones": np.ones(12), "zeros": np.zeros(12), "random": rng.integers(0, 2, 12).astype(float), "truth": y}
    weights = rng.dirichlet(np.full(12, 20.0))
    result = estimate_labels([told(np.eye(12), y, guess[hypothesis], weights)])
    assert result == pytest.approx(y, abs=0.01)


def test_labels_are_recovered_from_answers_that_only_together_tell_them():
    """Eq. 6: rows in a grid, known by the sums of its rows and columns under two hypotheses."""
    side = 4
    place = np.arange(side * side)
    bins = np.vstack([place // side == k for k in range(side)] + [place % side == k for k in range(side)]).astype(float)
    y = (place == 5).astype(float)
    together = [told(bins, y, np.ones(16))]
    assert estimate_labels(together) == pytest.approx(y, abs=0.02)  # one positive: its row and its column tell it
    y = np.isin(place, [5, 10]).astype(float)
    alone = estimate_labels([told(bins, y, np.ones(16))])
    assert np.abs(alone - y).max() > 0.4  # 5 and 10, or 6 and 9: the sums are the same
    second = told(bins, y, np.isin(place, [5]).astype(float))
    result = estimate_labels([told(bins, y, np.ones(16)), second])
    assert result == pytest.approx(y, abs=0.02)


def test_variants_agree_for_a_single_answer_and_a_repeated_one():
    rng = np.random.default_rng(3)
    bins, y = (rng.random((4, 30)) < 0.3).astype(float), rng.integers(0, 2, 30).astype(float)
    item = told(bins, y, np.ones(30))
    assert estimate_labels([item, item]) == pytest.approx(estimate_labels([item]), abs=2e-3)


def test_answers_count_by_the_inverse_of_their_variance():
    """One row said to be ⅕ with variance v and ⁷⁄₁₀ with 4v: (4·0.2 + 0.7)/5 = 0.3."""
    item, other = (
        Equations(np.ones((1, 1)), np.array([value]), np.array([variance]))
        for value, variance in ((0.2, 1e-6), (0.7, 4e-6))
    )
    assert estimate_labels([item, other])[0] == pytest.approx(0.3, abs=1e-3)
    assert estimate_labels([other, item])[0] == pytest.approx(0.3, abs=1e-3)


def test_more_noise_moves_labels_towards_one_half():
    bins, y = np.repeat(np.eye(4), 5, axis=1), np.repeat([1.0, 0.0, 1.0, 1.0], 5)
    sure = [np.abs(estimate_labels([told(bins, y, np.ones(20), variance=v)]) - 0.5).min() for v in (0, 0.01, 0.1, 10)]
    assert sure == sorted(sure, reverse=True)
    assert sure[0] > 0.49
    assert sure[-1] < 0.05


def test_labels_stay_between_0_and_1_whatever_the_noise_says():
    bins, y = np.repeat(np.eye(4), 5, axis=1), np.repeat([1.0, 0.0, 1.0, 1.0], 5)
    result = estimate_labels([told(bins, y, np.ones(20), noise=np.array([-5.0, 5.0, 0.0, 0.0]))])
    assert result[0] == 1.0
    assert result[5] == 0.0
    assert ((result >= 0) & (result <= 1)).all()


def test_rows_without_weight_are_left_undecided():
    bins, y, weights = np.repeat(np.eye(2), 2, axis=1), np.ones(4), np.array([0.5, 0.0, 0.5, 0.0])
    assert estimate_labels([told(bins, y, np.ones(4), weights)])[[1, 3]].tolist() == [0.5, 0.5]
