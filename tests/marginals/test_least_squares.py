"""Least squares within bounds, against SciPy's active-set method on the stacked problem, and its own conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from hedgerow.marginals.reweight import bounded_least_squares


def slow(matrix, target, centre, ridge, low, high):
    """Return the minimiser of the problem with the ridge as further equations, by bounded-variable least squares."""
    stacked = np.vstack([matrix, np.sqrt(ridge) * np.eye(len(centre))])
    wanted = np.concatenate([target, np.sqrt(ridge) * centre])
    return lsq_linear(stacked, wanted, (low, high), method="bvls", tol=1e-14).x


def distance_from_optimal(x, matrix, target, centre, ridge, low, high):
    """Return how far a step down the gradient, and back within the bounds, moves x: 0 at the minimiser only."""
    gradient = matrix.T @ (matrix @ x - target) + ridge * (x - centre)
    step = gradient / (np.linalg.norm(matrix, 2) ** 2 + ridge)
    return np.abs(x - np.clip(x - step, low, high)).max()


@given(
    st.integers(0, 2**32),
    st.integers(1, 30),
    st.integers(1, 12),
    st.floats(-6, 2),
    st.sampled_from([(0.0, 1.0), (0.0, np.inf), (-1.0, 1.0)]),
    st.sampled_from([0.1, 1.0, 100.0]),
    st.booleans(),
)
def test_it_is_the_minimiser(seed, n, equations, magnitude, bounds, size, zero_one):
    rng = np.random.default_rng(seed)
    matrix = (rng.random((equations, n)) < 0.4).astype(float) if zero_one else rng.normal(size=(equations, n))
    problem = matrix, rng.normal(size=equations) * size, rng.normal(size=n), 10.0**magnitude, *bounds
    result = bounded_least_squares(*problem)
    scale = max(1.0, np.abs(result).max())
    assert result == pytest.approx(slow(*problem), abs=1e-6 * scale)
    assert distance_from_optimal(result, *problem) < 1e-6 * scale
    assert ((result >= bounds[0]) & (result <= bounds[1])).all()


@pytest.mark.parametrize(("answers", "low", "high", "ridge"), [(1, 0.0, np.inf, 2e-3), (3, 0.0, 1.0, 0.06)])
def test_it_is_the_minimiser_at_the_size_of_marginals(answers, low, high, ridge):
    """With the ridges that both problems have, and noise on the right-hand side; relative to the centre."""
    rng = np.random.default_rng(1)
    n = 300
    bins = rng.integers(0, 5, (answers * 10, n))
    matrix = (bins[:, None, :] == np.arange(5)[None, :, None]).reshape(-1, n).astype(float)
    truth = rng.dirichlet(np.ones(n)) if answers == 1 else (rng.random(n) < 0.4).astype(float)
    centre = np.full(n, 1 / n if answers == 1 else 0.5)
    target = matrix @ truth + rng.normal(size=len(matrix)) * matrix.sum(axis=1) * centre[0] * 0.2
    problem = matrix, target, centre, ridge, low, high
    result = bounded_least_squares(*problem)
    assert distance_from_optimal(result, *problem) < 1e-6 * centre[0]
    assert ((result == low) | (result == high)).any()  # the bounds are active
    assert result == pytest.approx(slow(*problem), abs=1e-4 * centre[0])


def test_without_active_bounds_it_is_the_ridge_solution():
    rng = np.random.default_rng(2)
    matrix, target, centre = rng.normal(size=(4, 9)), rng.normal(size=4), rng.normal(size=9)
    closed = np.linalg.solve(matrix.T @ matrix + 0.3 * np.eye(9), matrix.T @ target + 0.3 * centre)
    assert bounded_least_squares(matrix, target, centre, 0.3, -np.inf, np.inf) == pytest.approx(closed, abs=1e-10)


def test_a_vanishing_ridge_gives_the_solution_nearest_to_the_centre():
    """x₁ + x₂ = 1 and centre (½, 0): the projection on the line is (¾, ¼)."""
    result = bounded_least_squares(np.array([[1.0, 1.0]]), np.array([1.0]), np.array([0.5, 0.0]), 1e-10, 0.0, 1.0)
    assert result == pytest.approx([0.75, 0.25], abs=1e-8)


def test_no_equation_at_all_leaves_the_centre():
    assert bounded_least_squares(np.zeros((2, 3)), np.ones(2), np.array([-1.0, 0.5, 2.0]), 1.0, 0.0, 1.0).tolist() == [
        0.0,
        0.5,
        1.0,
    ]


@pytest.mark.parametrize(
    ("matrix", "target", "centre", "ridge", "match"),
    [
        (np.ones((2, 3)), np.ones(3), np.ones(3), 1.0, "shape \\(n_targets, n_unknowns\\)"),
        (np.ones((2, 3)), np.ones(2), np.ones(2), 1.0, "shape \\(n_targets, n_unknowns\\)"),
        (np.ones((2, 3)), np.ones(2), np.ones(3), 0.0, "a ridge > 0"),
        (np.ones((2, 3)), np.ones(2), np.ones(3), np.nan, "a ridge > 0"),
        (np.full((2, 3), np.nan), np.ones(2), np.ones(3), 1.0, "expected finite numbers"),
        (np.ones((2, 3)), np.array([1, np.inf]), np.ones(3), 1.0, "expected finite numbers"),
        (np.ones((2, 3)), np.ones(2), np.array([1, np.nan, 1]), 1.0, "expected finite numbers"),
    ],
)
def test_a_problem_that_is_none_is_refused(matrix, target, centre, ridge, match):
    with pytest.raises(ValueError, match=match):
        bounded_least_squares(matrix, target, centre, ridge, 0.0, 1.0)
