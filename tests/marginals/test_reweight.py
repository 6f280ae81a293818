"""Pb. 1 of EXPRIL: weights, and whether they can stand for the target."""

import numpy as np
import pytest
from scipy.optimize import nnls

from hedgerow.marginals.reweight import _Gram, equal_weights, reweight

TWO = np.array([[1.0, 0, 0, 0], [0, 1, 1, 1]])


def test_equation_2_by_hand():
    """A bin each: ½(w − p)² + α(w − ½)² is least at w = (p + α)/(1 + 2α); α = ½, p = (¾, ¼): (⅝, ⅜)."""
    result = reweight(np.eye(2), np.array([0.75, 0.25]), 1, alpha=0.5)
    assert result.values == pytest.approx([0.625, 0.375])
    assert result.effective_sample_size == pytest.approx(1 / (0.625**2 + 0.375**2))
    assert result.misfit == pytest.approx(0.125)
    assert result.uncovered == 0


def test_noise_raises_alpha_by_half_its_variance_a_row():
    masses, variance = np.array([0.75, 0.25]), 0.3
    noisy = reweight(np.eye(2), masses, 1, alpha=0.5, variance=variance)
    plain = reweight(np.eye(2), masses, 1, alpha=0.5 + 2 * variance / 2)
    assert noisy.values == pytest.approx(plain.values)
    assert noisy.values[0] < 0.625


def test_the_rows_of_a_bin_share_its_mass():
    result = reweight(TWO, np.array([0.7, 0.3]), 1, alpha=1e-9)
    assert result.values == pytest.approx([0.7, 0.1, 0.1, 0.1], abs=1e-6)
    assert result.effective_sample_size == pytest.approx(1 / (0.49 + 0.03))
    assert result.misfit == pytest.approx(0, abs=1e-6)


def test_equation_2_against_nonnegative_least_squares():
    rng = np.random.default_rng(0)
    matrix = np.vstack([bins == k for bins in rng.integers(0, 4, (3, 40)) for k in range(4)]).astype(float)
    masses = np.concatenate([rng.dirichlet(np.full(4, 0.3)) for _ in range(3)])
    stacked = np.vstack([matrix, np.sqrt(2e-3) * np.eye(40)])
    slow, _ = nnls(stacked, np.concatenate([masses, np.full(40, np.sqrt(2e-3) / 40)]))
    result = reweight(matrix, masses, 3)
    assert (slow == 0).any()
    assert result.values == pytest.approx(slow / slow.sum(), abs=1e-7)
    assert result.values.sum() == pytest.approx(1)
    moved = np.abs(matrix @ result.values - masses).reshape(3, 4).sum(axis=1) / 2
    assert result.misfit == pytest.approx(moved.mean())


def test_mass_in_bins_without_source_rows_is_uncovered_and_warned_about():
    matrix = np.array([[1.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    result = reweight(matrix, np.array([0.3, 0.3, 0.4]), 1)
    assert "hardly overlap: 40 % of the target is in bins without source rows" in str(result.problem)
    assert result.uncovered == pytest.approx(0.4)
    little = reweight(matrix, np.array([0.48, 0.48, 0.04]), 1)
    assert (little.uncovered, little.problem) == (pytest.approx(0.04), None)
    assert reweight(matrix, np.array([0.3, 0.3, 0.4]), 1, variance=0.2).problem is None  # as much could be noise


def test_weights_of_few_rows_are_warned_about():
    matrix = np.zeros((2, 100))
    matrix[0, 0], matrix[1, 1:] = 1, 1
    result = reweight(matrix, np.array([1.0, 0.0]), 1, alpha=1e-6)
    assert "the effective sample size is 1 of 100 source rows" in str(result.problem)
    assert result.effective_sample_size == pytest.approx(1, abs=0.01)


def test_targets_without_any_mass_in_common_are_refused():
    with pytest.raises(ValueError, match="overlap"):
        reweight(np.ones((1, 2)), np.array([-1e3]), 1)


def test_incremental_products_equal_those_of_all_free_columns():
    rows = np.array([[1, 2, 3, 4, 5], [0, 7, 11, 13, 17]], dtype=float)
    gram = _Gram(rows)
    for free in ([1, 1, 1, 1, 0], [1, 1, 1, 0, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]):
        chosen = rows[:, np.array(free, dtype=bool)]
        assert gram.of(np.array(free, dtype=bool)).tolist() == (chosen @ chosen.T).tolist()


def test_equal_weights_are_those_of_all_rows():
    result = equal_weights(4)
    assert result.values.tolist() == [0.25] * 4
    assert (result.effective_sample_size, result.uncovered, result.misfit) == (4.0, 0.0, 0.0)
