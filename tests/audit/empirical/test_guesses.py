"""What right guesses refute, against direct sums, enumeration, linear programmes and published numbers."""

from fractions import Fraction
from math import comb, exp, log

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import ndtr, ndtri
from scipy.stats import binom, norm

from hedgerow.audit.empirical.one_run import epsilon_bound, mu_bound, power, refutes_gaussian, tail

pytestmark = pytest.mark.statistics

ALARM = 0.05


def slow_tail(right, guesses, canaries, odds, delta):
    """The bound of Corollary 5.4, as it is written, in fractions; `odds` are e^ε."""
    told = Fraction(odds, 1 + odds)
    chance = [comb(guesses, v) * told**v * (1 - told) ** (guesses - v) for v in range(guesses + 1)]
    more = max((sum(chance[right - i : right]) / i for i in range(1, right + 1)), default=0)
    return min(sum(chance[right:]) + 2 * canaries * delta * more, 1)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000), Fraction(1, 50)])
@pytest.mark.parametrize("odds", [1, 3, 20])
def test_the_tail_is_the_direct_sum(odds, delta):
    for guesses, canaries in [(1, 1), (4, 9), (13, 13)]:
        for right in range(guesses + 1):
            expected = float(slow_tail(right, guesses, canaries, odds, delta))
            assert tail(right, guesses, canaries, log(odds), float(delta)) == pytest.approx(expected)


def test_published_bounds():
    """Steinke, Nasr and Jagielski 2023, arXiv 2305.08846v1: Appendix D (p. 46), and Section 7 (p. 28), cut off."""
    assert round(tail(75, 100, 100, log(3), 0), 3) == 0.553
    assert round(epsilon_bound(75, 100, 1000, 1e-4, ALARM), 3) == 0.673
    assert int(1000 * epsilon_bound(1439, 1510, 100_000, 1e-5, ALARM)) == 2675


def wrong_share(chance, bound, truth):
    """The exact chance that a bound by the number of right guesses exceeds the truth."""
    return sum(p for right, p in enumerate(chance) if bound(right) > truth)


@pytest.mark.parametrize(("canaries", "epsilon"), [(10, 1.0), (40, 0.3), (40, 1.0), (40, 2.5), (300, 0.1)])
def test_randomised_response_is_refuted_at_about_the_stated_rate(canaries, epsilon):
    chance = binom.pmf(range(canaries + 1), canaries, 1 / (1 + exp(-epsilon)))
    share = wrong_share(chance, lambda right: epsilon_bound(right, canaries, canaries, 0, ALARM), epsilon)
    assert ALARM / 5 < share <= ALARM


@pytest.mark.parametrize("factor", [1.3, 2.0])
def test_a_claim_that_is_too_small_is_refuted_with_the_stated_power(factor):
    m, claim = 200, 1.0
    chance = binom.pmf(range(m + 1), m, 1 / (1 + exp(-factor * claim)))
    refuted = wrong_share(chance, lambda right: epsilon_bound(right, m, m, 0, ALARM), claim)
    assert power(factor, claim, m, m, 0, ALARM) == pytest.approx(refuted)
    assert refuted > (0.3 if factor == 1.3 else 0.95)


def told_at_times(m, often):
    """All coins are told with a chance of δ, else none: (0, δ)-differential privacy. The chance of right guesses."""
    chance = (1 - often) * binom.pmf(range(m + 1), m, 0.5)
    chance[m] += often
    return chance


def test_delta_is_granted_and_must_be():
    chance = told_at_times(20, 0.08)
    assert wrong_share(chance, lambda right: epsilon_bound(right, 20, 20, 0.08, ALARM), 0) <= ALARM
    assert wrong_share(chance, lambda right: epsilon_bound(right, 20, 20, 0, ALARM), 0) > ALARM


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_coins_disclosed_with_probability_delta_are_not_refuted(epsilon):
    """Each coin is told with a chance of δ, else randomised: (ε, δ)-differential privacy of a coin."""
    delta, m = 0.002, 60
    chance = binom.pmf(range(m + 1), m, delta + (1 - delta) / (1 + exp(-epsilon)))
    share = wrong_share(chance, lambda right: epsilon_bound(right, m, m, delta, ALARM), epsilon)
    assert share <= ALARM


def most(right, guesses, mu):
    """The largest chance of so many right guesses that the inequalities allow, by a linear programme.

    Variables: the chance of each number of right guesses. For each of them, that a guess is right and as many are, is
    at most f̄ of the chance that it is wrong and one fewer are; f̄(x) = Φ(Φ⁻¹(x) + μ), by its tangents from above.
    """
    counts = np.arange(guesses + 1)
    points = np.concatenate([[1e-12], np.linspace(0.0005, 0.9995, 1999)])
    slopes = np.exp(norm.logpdf(ndtri(points) + mu) - norm.logpdf(ndtri(points)))
    rows, limits = [], []
    for level in range(1, guesses + 1):
        told = np.where(counts >= level, counts, 0) / guesses
        missed = np.where(counts >= level - 1, guesses - counts, 0) / guesses
        rows += [told - slope * missed for slope in slopes]
        limits += list(ndtr(ndtri(points) + mu) - slopes * points)
    result = linprog(-(counts >= right).astype(float), rows, limits, [np.ones(guesses + 1)], [1])
    return -result.fun


@pytest.mark.parametrize(("guesses", "right", "mu"), [(1, 1, 0.5), (4, 4, 0.3), (4, 3, 1.0), (7, 6, 0.6)])
def test_gaussian_refutation_equals_a_linear_program(guesses, right, mu):
    limit = most(right, guesses, mu)
    assert 0.05 < limit < 1
    assert refutes_gaussian(right, guesses, guesses, mu, limit * 1.01)
    assert not refutes_gaussian(right, guesses, guesses, mu, limit * 0.99)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.5])
def test_gaussian_noise_is_refuted_at_most_at_the_stated_rate(mu):
    for m in (5, 30, 200):
        chance = binom.pmf(range(m + 1), m, ndtr(mu / 2))
        assert wrong_share(chance, lambda right, m=m: mu_bound(right, m, m, ALARM), mu) <= ALARM


def test_gaussian_noise_four_times_too_small_is_refuted():
    m = 200
    chance = binom.pmf(range(m + 1), m, ndtr(0.5 / 2 * 4))
    assert wrong_share(chance, lambda right: mu_bound(right, m, m, ALARM), 0.5) > 0.9


def test_no_right_guess_refutes_nothing():
    assert tail(0, 10, 10, 1.0, 0.1) == 1
    assert epsilon_bound(0, 10, 10, 0, ALARM) == 0
    assert mu_bound(0, 10, 10, ALARM) == 0


@pytest.mark.parametrize("n", [100, 1000])
def test_n_correct_guesses_refute_about_ln_of_n_thirds(n):
    assert epsilon_bound(n, n, n, 0, ALARM) == pytest.approx(log(n / 3), abs=0.02)
