"""A `Budget` caps the loss of all releases under it, whatever an analyst does after each answer."""

from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import BudgetExceededError
from hedgerow.privacy.noise import GaussianCounts
from hedgerow.privacy.zcdp import epsilon_at, largest_pure
from hedgerow.schema import Real, Schema

BINS = Schema({"x0": Real(0.0, 10.0, (2.5, 5.0), missing="bin", outside="clip")})
X, Y = np.arange(20.0)[:, None], np.arange(20) % 2


@pytest.mark.claim("An analyst who stops early has spent the whole amount")
def test_a_planned_series_of_answers_reserves_the_whole_budget():
    """An analyst who stops when the loss so far is large, and spends the rest, broke the cap: δ was 2.55 times it."""
    budget = hr.Budget(1, Fraction(1, 10**6))
    oracle = hr.Oracle(X, Y, budget, 300, release="gaussian")
    oracle.marginals(BINS)
    assert (budget.remaining, budget.remaining_delta) == (0, 0)
    assert (oracle.privacy.epsilon, oracle.privacy.delta) == (1, Fraction(1, 10**6))
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        hr.PrivateTreeClassifier(0.5, schema=None, budget=budget).fit(X.astype(int) % 2, Y)
    for _ in range(4):
        oracle.marginals(BINS)
    assert len(budget.charges) == len(oracle.privacy.charges) == 1


def test_after_draws_the_answers_get_the_rho_that_is_left():
    budget = hr.Budget(1, Fraction(1, 10**6), accounting="zcdp")
    hr.PrivateTreeClassifier(0.2, max_depth=1, release_counts=False, budget=budget).fit(X.astype(int) % 2, Y)
    oracle = hr.Oracle(X, Y, budget, 3, release="gaussian")
    oracle.marginals(BINS)
    assert budget.spent > 1
    assert epsilon_at(budget.spent_rho, Fraction(1, 10**6)) <= 1
    assert 0.88 < float(oracle.privacy.epsilon) < 0.89  # by addition 0.8 would be left
    with pytest.raises(BudgetExceededError):
        budget.charge(0.01, purpose="more")


def test_answers_with_laplace_noise_take_the_pure_epsilon_that_rho_allows():
    budget = hr.Budget(rho=0.5)
    oracle = hr.Oracle(X, Y, budget, 2)
    oracle.marginals(BINS)
    assert oracle.privacy.epsilon * 2 == largest_pure(Fraction(1, 2))
    with pytest.raises(ValueError, match="needs a budget with delta > 0"):
        hr.Oracle(X, Y, budget, 2, release="gaussian")


def loss_of_a_stopping_analyst(epsilon, delta, answers, charge_so_far):
    """Return the δ at ε of an analyst who stops when the loss so far exceeds what is charged, by dynamic programming.

    One count that differs by 1, Gaussian noise of scale σ: the loss of an answer is normal, of mean 1/(2σ²) and
    variance 1/σ² on one side. Where one stops after k answers, what is left of ε is spent in full on something pure.
    """
    scale = GaussianCounts(Fraction(epsilon), Fraction(delta), answers, 1, 1, adds_up_rho=True).scale
    step = 1 / scale / 400
    grid = np.arange(-12 / scale * np.sqrt(answers), 12 / scale * np.sqrt(answers), step)
    mass = np.where(np.abs(grid) == np.abs(grid).min(), 1.0, 0.0)
    mass /= mass.sum()
    mean = 1 / (2 * scale**2)
    kernel_at = np.arange(-10 / scale, 10 / scale, step)
    kernel = np.exp(-((kernel_at - mean) ** 2) * scale**2 / 2)
    kernel /= kernel.sum()
    shift, total = len(kernel_at) // 2, 0.0
    for k in range(1, answers + 1):
        mass = np.convolve(mass, kernel)[shift : shift + len(grid)]
        rest = epsilon - charge_so_far(k)
        stop = (grid > charge_so_far(k)) if k < answers else np.ones(len(grid), dtype=bool)
        above = grid[stop] + rest - epsilon
        total += float((mass[stop] * np.maximum(1 - np.exp(-above), 0.0)).sum())
        mass = np.where(stop, 0.0, mass)
    return total


@pytest.mark.slow
def test_a_charge_by_the_answers_so_far_would_not_cap_the_loss():
    """What was charged before: ε_k of the first k answers at the same δ. The twin of the test above, with numbers."""
    import opendp.prelude as dp

    epsilon, delta, answers = 1.0, 1e-6, 100
    scale = GaussianCounts(Fraction(epsilon), Fraction(delta), answers, 1, 1, adds_up_rho=True).scale
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")

    def so_far(k):
        item = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale / np.sqrt(k)))
        return max(item.map(1.0).epsilon(delta), epsilon * k / answers) if k < answers else epsilon

    assert loss_of_a_stopping_analyst(epsilon, delta, answers, so_far) > 1.5 * delta
    assert loss_of_a_stopping_analyst(epsilon, delta, answers, lambda _: epsilon) <= delta
