"""What EXPRIL's ratio really costs."""

from fractions import Fraction
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from scipy.stats import laplace

from hedgerow.oracle.release_forms import PublishedRatios
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value


def ratio_density(c, wrong, rows, scale):
    """Return the density of clip((U + L)/(U + V)) at c in (0, 1): with its Jacobian, the number of rows."""
    return rows * laplace.pdf(c * rows, loc=wrong, scale=scale)


@pytest.mark.parametrize("scale", [1.0, 25.0])  # 25: as many attributes, ε = 1 for one question
@pytest.mark.parametrize("rows", [1, 2, 10])
def test_theorem_the_published_ratio_costs_more_than_it_claims(rows, scale):
    """EXPRIL eq. 12 leaves out the Jacobians: one more row that is right (U, V + 1) scales the density by (m + 1)/m.

    With all m rows wrong, at ``c ≤ m/(m + 1)``, the exponents differ by c/λ in the same direction: the loss is
    ``c/λ + ln((m + 1)/m)``, above the claimed 1/λ for every ``c > 1 − λ·ln((m + 1)/m)``.
    """
    claimed, jacobian = 1 / scale, log((rows + 1) / rows)
    losses = {
        c: log(ratio_density(c, rows, rows + 1, scale) / ratio_density(c, rows, rows, scale))
        for c in np.linspace(0.001, 0.999, 999) * rows / (rows + 1)
    }
    for c, loss in losses.items():
        assert loss == pytest.approx(c / scale + jacobian)
        assert (loss > claimed) == (c > 1 - scale * jacobian)
    assert claimed < max(losses.values()) < claimed + jacobian


@pytest.mark.parametrize("scale", [0.25, 0.7, 0.75, 1.0, 2.5, 25.0])
@pytest.mark.parametrize("rows", [1, 2, 3, 10])
def test_the_largest_loss_of_a_bin_with_rows_is_the_stated_loss(scale, rows):
    """All numerators, a row more that is right or wrong, ratios between the clips and at them, either way."""
    told = max(1 / scale, rows / ((rows + 1) * scale) + log((rows + 1) / rows))
    inner = np.unique(np.concatenate([np.linspace(1e-6, 1 - 1e-6, 4001), [rows / (rows + 1), 1 / (rows + 1)]]))
    worst = 0.0
    for wrong in range(rows + 1):
        for more in (wrong, wrong + 1):
            log_of = {
                (u, m): np.concatenate(
                    [
                        np.log(m) + laplace.logpdf(inner * m, loc=u, scale=scale),
                        [laplace.logcdf(0, loc=u, scale=scale), laplace.logsf(m, loc=u, scale=scale)],
                    ]
                )
                for u, m in ((wrong, rows), (more, rows + 1))
            }
            item, other = log_of.values()
            worst = max(worst, np.abs(item - other).max())
    assert worst == pytest.approx(told, abs=1e-12)


def test_theorem_a_bin_of_one_row_loses_seventeen_times_its_claim():
    """m = 1, U = 1, λ = 25, c = ½: ln(2·e^(−0)/(1·e^(−½/25))) = ln 2 + ½/25 = .713, and .04 was claimed."""
    loss = log(ratio_density(0.5, 1, 2, 25.0) / ratio_density(0.5, 1, 1, 25.0))
    assert loss == pytest.approx(log(2) + 0.02)
    assert loss / (1 / 25) > 17


@pytest.mark.statistics
@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(np.random.default_rng(7))], ids=IDS)
def test_ratios_are_drawn_with_their_exact_probabilities(source):
    mechanism, draws, ends = PublishedRatios(Fraction(1), 25), 5_000, np.linspace(0.3, 0.7, 9)
    ratios = source.prepare(mechanism)((np.full(draws, 100), np.full(draws, 200)))
    counts = np.bincount(np.digitize(ratios, ends), minlength=10)

    def chances(factor):
        return np.diff(laplace.cdf([-inf, *(200 * ends), inf], loc=100, scale=25 * float(factor)))

    assert p_value(counts, chances(1)) > ALARM
    assert all(p_value(counts, chances(factor)) < ALARM for factor in FACTORS)


@pytest.mark.statistics
def test_the_ratio_that_is_drawn_has_the_density_that_breaks_the_claim():
    """Frequencies of the mechanism itself in a window where one neighbour is e^.7 as likely; the claim is e^.04."""
    mechanism = PublishedRatios(Fraction(1), 25)
    draws, window = 40_000, (0.1, 0.9)

    def inside(wrong, rows):
        values = np.array([wrong] * draws), np.array([rows] * draws)
        return np.mean([window[0] < c < window[1] for c in mechanism.build()(values)])

    def exact(wrong, rows):
        low, high = (laplace.cdf(c * rows, loc=wrong, scale=25.0) for c in window)
        return high - low

    item, two = inside(1, 1), inside(1, 2)
    for result, wanted in ((item, exact(1, 1)), (two, exact(1, 2))):
        assert result == pytest.approx(wanted, abs=6.2 * sqrt(wanted / draws))
    assert two / item > exp(1 / 25) * 1.3


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_row_in_an_empty_bin_changes_half_of_the_answers(wrong):
    mechanism, draws = PublishedRatios(Fraction(1), 25), 20_000
    result = mechanism.simulate((np.full(draws, wrong), np.ones(draws)), np.random.default_rng(3))
    assert np.mean(np.array(result) != 0) > 0.5 - 6 * sqrt(0.25 / draws)


def test_a_bin_without_rows_tells_so_with_certainty():
    mechanism = PublishedRatios(Fraction(1), 25)
    for draw in (mechanism.build(), lambda values: mechanism.simulate(values, np.random.default_rng(0))):
        assert draw((np.zeros(100, dtype=np.int64), np.zeros(100, dtype=np.int64))) == [0.0] * 100
        assert len(set(draw((np.zeros(100, dtype=np.int64), np.full(100, 50))))) > 20


def test_denominators_that_differ_are_no_neighbours_for_it():
    mechanism = PublishedRatios(Fraction(1, 2), 3)
    item = np.array([1, 2]), np.array([5, 5])
    assert mechanism.distance(item, (np.array([2, 0]), np.array([5, 5]))) == 3
    assert mechanism.distance(item, (np.array([1, 2]), np.array([5, 6]))) == inf
    assert (mechanism.sensitivity, mechanism.scale, mechanism.delta) == (3, 6.0, 0)
    assert "as published" in mechanism.record.words
    assert "the published lemma" in PublishedRatios.__doc__
    assert "Section 3.5" in PublishedRatios.__doc__
