"""Log-odds by bin against Gaussian posteriors that are written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import multivariate_normal

from hedgerow.learn.scorecard.smoothing import Evidence, Part, Prior, newton_step, smoothed

SD = st.floats(0.05, 50)
PRIORS = st.builds(Prior, across=SD, each=SD)


@st.composite
def problems(draw):
    """Draw sums, slopes, spreads, noise and prior of some bins."""
    n = draw(st.integers(1, 8))
    sums = draw(st.lists(st.floats(-500, 500), min_size=n, max_size=n))
    slopes, spreads = (draw(st.lists(st.floats(0, 500), min_size=n, max_size=n)) for _ in range(2))
    prior = draw(PRIORS).precision(n, draw(st.integers(0, n)))
    return np.array(sums), np.array(slopes), np.array(spreads), draw(st.floats(0.01, 1e4)), prior


@given(PRIORS, st.integers(1, 8), st.integers(0, 3))
def test_the_prior_is_a_random_walk_with_a_mean_of_its_own(prior, n_ordered, more):
    """Log-odds along a number are a mean plus steps whose sum is centred; each of these is independent."""
    n = n_ordered + more
    steps = np.tril(np.ones((n_ordered, n_ordered)))[:, 1:]
    made = np.column_stack([np.full(n_ordered, prior.each), (steps - steps.mean(axis=0)) * prior.across])
    made[:, 1:] /= np.sqrt(max(n_ordered - 1, 1))
    covariance = np.eye(n) * prior.each**2
    covariance[:n_ordered, :n_ordered] = made @ made.T
    np.testing.assert_allclose(prior.precision(n, n_ordered) @ covariance, np.eye(n), atol=1e-6)
    if n_ordered > 1:
        ends = np.eye(n)[n_ordered - 1] - np.eye(n)[0]
        assert ends @ covariance @ ends == pytest.approx(prior.across**2)


@pytest.mark.slow
def test_the_finest_prior_of_the_most_bins_is_inverted_well():
    """The least `smooth` and the most bins that a scorecard takes, where no row was seen."""
    precision = Prior(across=0.01, each=2.0).precision(2000, 1999)
    result = smoothed(np.ones(2000), np.zeros(2000), np.zeros(2000), 1.0, [precision])
    assert (result.values == 0).all()
    np.testing.assert_allclose(np.linalg.inv(precision) @ precision, np.eye(2000), atol=1e-3)


def average_of_gains(sums, slopes, spreads, noise, priors, nothing):
    """Return the map from sums to the mean of their posterior: by the joint covariance for each prior."""
    design, rows = np.diag(slopes), np.diag(noise + spreads)
    covariances = [np.linalg.inv(prior) for prior in priors] + [np.zeros_like(rows)] * (nothing > 0)
    gains, densities = [], []
    for covariance in covariances:
        joint = design @ covariance @ design.T + rows
        gains.append(np.linalg.solve(joint, design @ covariance.T).T)
        densities.append(multivariate_normal(cov=(joint + joint.T) / 2).logpdf(sums))
    if nothing:
        densities[-1] += np.log(nothing)
    return np.tensordot(softmax(densities), gains, 1)


def several(problem, widths, nothing):
    *first, prior = problem
    return *first, [prior / width**2 for width in widths], nothing


WIDTHS = st.lists(st.floats(0.1, 2), min_size=1, max_size=3)


@given(problems(), WIDTHS, st.sampled_from([0.0, 0.3]))
def test_values_are_the_mean_of_gaussian_posteriors_of_several_priors(problem, widths, nothing):
    """By the joint covariance of log-odds and sums: the other form of what is computed; and their errors."""
    sums, slopes, _, noise, *_ = given = several(problem, widths, nothing)
    gain, result = average_of_gains(*given), smoothed(*given)
    np.testing.assert_allclose(result.values, gain @ sums, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(result.covariance, noise * gain @ gain.T, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(result.trust, gain * slopes, rtol=1e-4, atol=1e-6)


@given(problems())
def test_values_are_those_of_least_squares_with_the_prior_as_further_rows(problem):
    sums, slopes, spreads, noise, prior = problem
    weight = 1 / np.sqrt(noise + spreads)
    design = np.vstack([np.diag(slopes * weight), np.linalg.cholesky(prior).T])
    expected = np.linalg.lstsq(design, np.concatenate([sums * weight, np.zeros(len(sums))]), rcond=None)[0]
    np.testing.assert_allclose(smoothed(*problem[:-1], [prior]).values, expected, rtol=1e-4, atol=1e-4)


def test_evidence_of_two_releases_is_that_of_one_with_their_noise_averaged():
    """Weighted least squares on both, by hand: means weighted by precision, and the sampling error counted once."""
    slopes, prior = np.array([40.0, 10.0]), Prior(4.0, 2.0).precision(2, 0)
    first = Evidence.of(np.zeros(2), np.array([40.0, -5.0]), slopes, 30.0)
    second = Evidence.of(np.array([0.5, 0.5]), np.array([20.0, -20.0]), slopes, 10.0)
    both = first.joined(second)
    np.testing.assert_allclose(both.means, [(1 / 30 + 1 / 10) / (1 / 30 + 1 / 10), (-0.5 / 30 - 1.5 / 10) * 7.5])
    np.testing.assert_allclose(both.information, slopes**2 / 7.5)
    result = both.smoothed(1 / slopes, prior)
    expected = smoothed(slopes * both.means, slopes, slopes, 7.5, [prior])
    np.testing.assert_allclose(result.values, expected.values)
    np.testing.assert_allclose(result.covariance, expected.covariance)


@given(problems())
def test_evidence_of_one_release_makes_the_values_of_least_squares(problem):
    sums, slopes, spreads, noise, prior = problem
    slopes = np.maximum(slopes, 1.0)
    result = Evidence.of(np.zeros(len(sums)), sums, slopes, noise).smoothed(spreads / slopes**2, prior)
    expected = smoothed(sums, slopes, spreads, noise, [prior])
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(result.trust, expected.trust, rtol=1e-4, atol=1e-6)


def test_a_part_that_is_weighed_keeps_its_evidence_in_the_same_units():
    """Log-odds of half the size have half the error: four times the information."""
    evidence = [Evidence(np.array([1.0, -2.0]), np.array([4.0, 100.0]))]
    part = Part(0, np.array([[1.0], [-2.0]]), [np.eye(2)], np.ones(2), evidence=evidence, alone=evidence)
    part.weigh(0.5)
    (weighed,) = part.evidence
    assert weighed.means.tolist() == part.values[:, 0].tolist() == [0.5, -1.0]
    assert weighed.information.tolist() == [16.0, 400.0]


def test_evidence_counts_less_once_its_log_odds_have_moved():
    """The variance of the move adds to that of the noise."""
    evidence = Evidence(np.array([1.0, 1.0]), np.array([4.0, 100.0])).moved(np.array([0.25, 0.25]))
    np.testing.assert_allclose(evidence.information, [1 / (0.25 + 0.25), 1 / (0.01 + 0.25)])
    assert evidence.means.tolist() == [1.0, 1.0]


def test_values_are_exact_without_noise_and_the_prior_mean_with_huge_noise():
    prior, slopes = Prior(4.0, 2.0).precision(4, 3), np.array([10.0, 40, 90, 20])
    true = np.array([-1.0, 0.2, 1.5, 0.7])
    exact = smoothed(slopes * true, slopes, np.zeros(4), 1e-9, [prior])
    np.testing.assert_allclose(exact.values, true, atol=1e-6)
    np.testing.assert_allclose(exact.trust, np.eye(4), atol=1e-6)
    nothing = smoothed(slopes * true, slopes, np.zeros(4), 1e15, [prior])
    np.testing.assert_allclose(nothing.values, 0, atol=1e-6)
    np.testing.assert_allclose(nothing.covariance, 0, atol=1e-6)


def test_an_empty_bin_is_interpolated_and_an_empty_category_is_0():
    sums, slopes = np.array([-50.0, 0, 50]), np.array([100.0, 0, 100])
    ordered = smoothed(sums, slopes, slopes, 1.0, [Prior(4.0, 2.0).precision(3, 3)]).values
    assert ordered[1] == pytest.approx(0, abs=1e-9)
    ordered = smoothed(sums * [0, 0, 1], slopes, slopes, 1.0, [Prior(4.0, 2.0).precision(3, 3)]).values
    assert ordered[0] < ordered[1] < ordered[2]
    assert smoothed(sums * [0, 0, 1], slopes, slopes, 1.0, [Prior(4.0, 2.0).precision(3, 0)]).values[1] == 0


def test_less_across_is_smoother():
    sums, slopes = np.array([30.0, -30, 30, -30]), np.full(4, 60.0)
    ranges = [
        np.ptp(smoothed(sums, slopes, slopes, 10.0, [Prior(across, 2.0).precision(4, 4)]).values)
        for across in (0.1, 1.0, 4.0, 100.0)
    ]
    assert ranges == sorted(ranges)
    assert ranges[0] < 0.2 < 0.9 < ranges[-1]


CURVATURE = np.array([[50.0, 20.0, 0.0], [20.0, 40.0, -5.0], [0.0, -5.0, 30.0]])
SLOPES, PRIOR = np.array([10.0, -4.0, 6.0]), np.array([4.0, 1.0, 2.0])
FOUND = np.concatenate([SLOPES, CURVATURE[np.triu_indices(3)]])


def test_without_noise_it_is_newtons_with_the_prior():
    expected = np.linalg.solve(CURVATURE + np.diag(PRIOR), SLOPES)
    np.testing.assert_allclose(newton_step(FOUND, 0.0, PRIOR), expected)


def test_the_more_noise_the_smaller_the_step():
    sizes = [np.abs(newton_step(FOUND, noise, PRIOR)).max() for noise in (0.0, 1e3, 1e6, 1e12)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-6


@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_the_prior_bounds_steps_with_negative_second_derivatives(sign):
    step = newton_step(np.concatenate([SLOPES, sign * FOUND[3:]]), 100.0, PRIOR)
    assert np.isfinite(step).all()
    assert np.abs(step).max() < np.abs(SLOPES / PRIOR).max()
