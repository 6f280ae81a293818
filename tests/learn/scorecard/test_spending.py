"""Shares of a budget: they add up, and the noise of each is that of its share."""

from fractions import Fraction
from math import exp, log, sqrt

import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.scorecard.spending import PARTS, Spending, variance_of
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts

EPSILONS = st.fractions(Fraction(1, 1000), 20)
DELTAS = st.sampled_from([Fraction(1e-3), Fraction(1, 10**6), Fraction(1, 10**12)])


@st.composite
def shares(draw):
    """Draw shares that are all of a thousand parts, some of them equal parts of one, with their sensitivities."""
    cuts = sorted(draw(st.sets(st.integers(1, PARTS - 1), max_size=4)))
    result = []
    for low, high in zip([0, *cuts], [*cuts, PARTS], strict=True):
        n = draw(st.integers(1, 7))
        result += [(Fraction(high - low, n), draw(st.integers(1, 40)), draw(st.sampled_from([1, 2**10, 2**11])))] * n
    return result


@given(EPSILONS, shares())
def test_shares_of_a_pure_budget_add_up_to_it_exactly(epsilon, releases):
    mechanisms = [Spending(epsilon, Fraction(0)).counts(*share) for share in releases]
    assert sum(mechanism.epsilon for mechanism in mechanisms) == epsilon
    assert sum(mechanism.delta for mechanism in mechanisms) == 0
    for (parts, changes, steps), mechanism in zip(releases, mechanisms, strict=True):
        assert mechanism == DiscreteLaplace(epsilon * parts / 1000, changes * steps, steps if changes > 1 else None)


@given(EPSILONS, DELTAS, shares())
def test_a_gaussian_series_is_charged_at_once_and_covers_opendps_account(epsilon, delta, releases):
    spending = Spending(epsilon, delta, adds_up_rho=True)
    mechanisms = [(spending.continued if i else spending).counts(*share) for i, share in enumerate(releases)]
    assert (sum(m.epsilon for m in mechanisms), sum(m.delta for m in mechanisms)) == (epsilon, delta)
    assert (mechanisms[0].epsilon, mechanisms[0].delta) == (epsilon, delta)
    rho = sum(Fraction(m.build().map(m.sensitivity)) for m in mechanisms)
    gaussian = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=1 / sqrt(2 * float(rho))
    )
    spent = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(float(delta) * (1 - 1e-15))
    assert epsilon * (1 - Fraction(1, 1000)) <= Fraction(spent) <= epsilon * (1 + Fraction(1, 10**12))
    for (_, changes, steps), mechanism in zip(releases, mechanisms, strict=True):
        assert mechanism.sensitivity == pytest.approx(sqrt(changes) * steps)


@given(st.fractions(1, 20), DELTAS, shares())
def test_sigma_is_that_of_its_share_in_closed_form(epsilon, delta, releases):
    """σ² = Δ²/(2ρ), for the part of ρ; and ρ + 2√(ρ ln(1/δ)) bounds ε (Bun and Steinke 2016, Proposition 1.3)."""
    spending = Spending(epsilon, delta, adds_up_rho=True)
    rho = PARTS / (2 * GaussianCounts(epsilon, delta, PARTS, 1, 1, adds_up_rho=True).scale ** 2)
    assert epsilon <= rho + 2 * sqrt(rho * log(1 / delta)) <= 1.5 * epsilon
    for parts, changes, steps in releases:
        variance = variance_of(spending.counts(parts, changes, steps))
        assert variance == pytest.approx(changes * steps**2 / (2 * rho * float(parts) / PARTS), rel=1e-6)


@pytest.mark.parametrize("scale", [2.0, 10.0, 1e4])
def test_the_variance_of_laplace_noise_is_about_that_of_the_discrete_one(scale):
    """2q/(1 − q)² with q = exp(−1/scale), which 2·scale² is near."""
    noise = Spending(1000 / Fraction(scale), Fraction(0)).counts(Fraction(1), 1)
    q = exp(-1 / scale)
    assert variance_of(noise) == pytest.approx(2 * q / (1 - q) ** 2, rel=0.03)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("epsilon", [1e9, 1e100, 1e200])
def test_no_noise_is_so_little_that_its_variance_is_0(epsilon, delta):
    """Weights are its inverse: a float64 underflows at 1e-324."""
    assert variance_of(Spending(Fraction(epsilon), Fraction(delta)).counts(Fraction(PARTS), 1)) > 1e-12


@given(EPSILONS, DELTAS | st.just(Fraction(0)), st.integers(1, 900), st.integers(1, 30))
def test_more_parts_have_less_noise_and_more_changes_more(epsilon, delta, parts, changes):
    spending = Spending(epsilon, delta)
    variance = variance_of(spending.counts(Fraction(parts), changes))
    assert variance_of(spending.counts(Fraction(parts + 100), changes)) < variance
    assert variance_of(spending.counts(Fraction(parts), changes + 1)) > variance


@given(EPSILONS, DELTAS, st.integers(1, 5), shares())
def test_a_series_after_a_pure_release_takes_all_that_this_leaves(epsilon, delta, rows, releases):
    """In Gaussian differential privacy its parts, a choice's included, use up no more than its μ."""
    pure = Spending(epsilon / rows, Fraction(0))
    series = pure.after(Fraction(40), delta, rows)
    first, later = (way.counts(Fraction(100), 3) for way in (series, series.continued))
    assert rows * pure.counts(Fraction(40), 1).epsilon + first.epsilon == epsilon
    assert (first.delta, later.epsilon, later.delta) == (delta, 0, 0)
    mechanisms = [series.continued.counts(parts * 960 / 1000, *more) for parts, *more in releases]
    peeling = series.continued.peeling(releases[0][0] * 960 / 1000, 4, 2048)
    assert sum(mechanism.information for mechanism in mechanisms) == first.mu**2
    assert peeling.information == mechanisms[0].information
    assert peeling.scale >= 2048 * rows * sqrt(4 * 3.14159 / 2 / float(peeling.information))
