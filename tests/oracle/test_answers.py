"""What is read off noisy counts."""

import numpy as np
import pytest

from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.oracle.answers import ErrorCounts, ErrorRatios, RowCounts, RowShares
from hedgerow.schema import Boolean, Real, Schema

BINS = Schema(
    {"a": Boolean(missing="bin"), "b": Real(0.0, 1.0, (0.2, 0.4, 0.6, 0.8), missing="bin", outside="clip")}
)  # 3 and 6 bins


def test_the_number_of_rows_is_the_inverse_variance_mean_of_its_estimates():
    """Sums 90 over 3 bins and 120 over 6: (90/3 + 120/6)/(1/3 + 1/6) = 100."""
    noise = AnswerNoise.independent(BINS.sizes, 8.0)
    counts = RowCounts(BINS, np.array([30, 30, 30, 20, 20, 20, 20, 20, 20]), noise)
    assert counts.n_rows == pytest.approx(100)
    assert counts.masses == pytest.approx([0.3] * 3 + [0.2] * 6)
    assert counts.variance == pytest.approx([8 / 100**2] * 9)
    errors = ErrorCounts(BINS, np.array([10] * 9), np.array([20, 20, 20, 10, 10, 10, 10, 10, 10]), noise)
    assert errors.n_rows == pytest.approx(100)
    assert errors.masses == pytest.approx(counts.masses)
    assert errors.variance == pytest.approx([2 * 8 / 100**2] * 9)
    assert errors.error_rate == pytest.approx(90 / 2 / 100)


def test_noise_below_zero_makes_no_mass_nor_rate_below_zero():
    noise = AnswerNoise.independent(BINS.sizes, 8.0)
    counts = RowCounts(BINS, np.array([-50] * 9), noise)
    assert counts.n_rows == 1
    assert (counts.masses == 0).all()
    errors = ErrorCounts(BINS, np.array([-50] * 9), np.array([70] * 9), noise)
    assert errors.error_rate == 0
    assert ErrorCounts(BINS, np.array([70] * 9), np.array([-50] * 9), noise).error_rate == 1


def test_error_masses_average_two_estimates_and_halve_the_noise():
    rng = np.random.default_rng(0)
    wrong, right, noise, draws = np.full(9, 400), np.full(9, 600), 50.0, 4000
    source = (wrong + right) / 3000  # what the weighted source has in each bin
    result = []
    for _ in range(draws):
        noisy = [np.rint(part + rng.normal(scale=np.sqrt(noise), size=9)).astype(int) for part in (wrong, right)]
        answer = ErrorCounts(BINS, noisy[0], noisy[1], AnswerNoise.independent(BINS.sizes, noise))
        masses, variance = answer.errors(source * 3000 / answer.n_rows)
        result.append(masses * answer.n_rows)
        assert variance * answer.n_rows**2 == pytest.approx([noise / 2] * 9)
    assert np.mean(result) == pytest.approx(400, abs=0.5)
    assert np.var(result) == pytest.approx(noise / 2, rel=0.05)


def test_published_ratios_are_shares_of_the_source():
    """(R1)∘q of EXPRIL's eq. 5."""
    masses, variance = ErrorRatios(BINS, np.array([0.5] * 9)).errors(np.linspace(0, 0.8, 9))
    assert masses == pytest.approx(np.linspace(0, 0.4, 9))
    assert variance.tolist() == [0] * 9
    assert RowShares(BINS, np.ones(9)).variance.tolist() == [0] * 9
