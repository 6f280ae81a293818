"""The map from totals to probabilities, fitted to histograms whose map is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from hedgerow.learn.scorecard.calibration import EDGES, calibrated, midpoints


def histogram(log_odds, shift, factor, rows=1e6, start=0.0):
    """Return the expected misses and hits of so many rows a bucket."""
    p = expit(start + shift + factor * log_odds)
    return rows * (1 - p), rows * p


def test_each_bucket_has_a_total_inside_it():
    result = midpoints(2.0)
    edges = np.array(EDGES) * 2
    assert len(result) == len(edges) + 1
    assert (np.searchsorted(edges, result) == np.arange(len(result))).all()
    np.testing.assert_allclose(result, -result[::-1])  # the edges lie alike on both sides


@given(st.floats(-2, 2), st.floats(0.3, 5), st.floats(-3, 3))
def test_a_known_shift_and_factor_are_found_again(shift, factor, start):
    odds = midpoints(2.0)
    misses, hits = histogram(odds, shift, factor, start=start)
    result = calibrated(odds, misses, hits, 1.0, shift=True, start=start)
    np.testing.assert_allclose(result, (shift, factor), atol=0.02, rtol=0.02)


@given(st.floats(0.3, 5))
def test_without_a_shift_the_factor_alone_is_found(factor):
    odds = midpoints(3.0)
    result = calibrated(odds, *histogram(odds, 0, factor), 1.0, shift=False, start=0.0)
    assert result[0] == 0
    assert result[1] == pytest.approx(factor, rel=0.02)


def test_where_noise_is_all_the_prior_stays():
    odds = midpoints(2.0)
    misses, hits = histogram(odds, 1.5, 3.0, rows=100)
    np.testing.assert_allclose(calibrated(odds, misses, hits, 1e12, shift=True, start=0.0), (0, 2 / 3), atol=0.02)


def test_a_mostly_noisy_histogram_hardly_shifts_the_class_shares():
    """At a standard deviation of 100 rows it would move the start by more than half."""
    odds, rng = midpoints(0.5), np.random.default_rng(0)
    for _ in range(20):
        misses, hits = (counts + rng.normal(0, 100, len(odds)) for counts in histogram(odds, 0, 2 / 3, rows=100))
        assert abs(calibrated(odds, misses, hits, 100.0**2, shift=True, start=0.0)[0]) < 0.15


def test_jointly_fitted_values_have_an_expected_factor_of_1():
    odds = midpoints(2.0)
    noisy = calibrated(odds, *histogram(odds, 0, 3.0, rows=1), 1e12, shift=True, start=0.0, expected=1.0)
    np.testing.assert_allclose(noisy, (0, 1), atol=0.02)


def test_more_rows_move_it_further_from_the_prior():
    odds = midpoints(2.0)
    shifts = [
        calibrated(odds, *histogram(odds, 1.0, 2.0, rows=rows), 100.0, shift=True, start=0.0)[0]
        for rows in (1, 10, 50, 1e5)
    ]
    assert shifts == sorted(shifts)
    assert shifts[0] < 0.3 < 0.95 < shifts[-1]


COUNT = st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 100)
COUNTS = st.lists(COUNT, min_size=len(EDGES) + 1, max_size=len(EDGES) + 1).map(lambda each: np.array(each, dtype=float))


@given(COUNTS, COUNTS, st.sampled_from([1e-9, 1.0, 1e20]), st.booleans(), st.floats(0, 1e3))
def test_whatever_is_released_the_shift_is_finite_and_the_factor_bounded(misses, hits, variance, shift, spread):
    result = calibrated(midpoints(spread), misses, hits, variance, shift=shift, start=0.0)
    assert np.isfinite(result).all()
    assert 1 / 20 <= result[1] <= 20
