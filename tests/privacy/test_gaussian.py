"""Gaussian counts against OpenDP's own accounting, Gaussian differential privacy and exact probabilities."""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.privacy.noise import GaussianCounts, SecureNoise, SeededNoise
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value

EPSILONS = st.fractions(Fraction(1, 1000), 20)
DELTAS = st.sampled_from([Fraction(1, 10), Fraction(1e-3), Fraction(1, 10**6), Fraction(1, 10**12)])


def gaussian(epsilon, delta, answers, cells=None, *, adds_up_rho=True):
    """Return the mechanisms of all answers; the cells of each may differ."""
    cells, total = cells or [3] * answers, (Fraction(epsilon), Fraction(delta))
    return [GaussianCounts(*total, answers, i + 1, d, adds_up_rho=adds_up_rho) for i, d in enumerate(cells)]


def accounted(mechanisms, delta):
    """Return OpenDP's ε of all answers together: their noise is on one more cell each, composed in zCDP."""
    parts = [mechanism.build() for mechanism in mechanisms]
    rho = dp.c.make_composition(parts).map(max(mechanism.sensitivity for mechanism in mechanisms))
    return rho, dp.c.make_zCDP_to_approxDP(dp.c.make_composition(parts)).map(mechanisms[0].sensitivity).epsilon(delta)


@given(EPSILONS, DELTAS, st.integers(1, 6), st.integers(1, 30))
def test_the_charge_is_at_least_opendps_accounting_of_all_answers(epsilon, delta, answers, cells):
    mechanisms = gaussian(epsilon, delta, answers, [cells] * answers)
    _, spent = accounted(mechanisms, float(delta) * (1 - 1e-15))
    assert Fraction(spent) <= epsilon * (1 + Fraction(1, 10**14))
    assert Fraction(spent) >= epsilon * (1 - Fraction(1, 1000))  # and hardly more than needed
    assert [mechanism.epsilon for mechanism in mechanisms] == [epsilon] + [0] * (answers - 1)
    assert [mechanism.delta for mechanism in mechanisms] == [delta] + [0] * (answers - 1)


@given(EPSILONS, DELTAS, st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_answers_of_different_widths_cost_the_same_together(epsilon, delta, cells):
    """ρ = Σ d/(2σ²) in exact arithmetic, converted by OpenDP, is no more than was charged."""
    mechanisms = gaussian(epsilon, delta, len(cells), cells)
    rho = sum(Fraction(d) / (2 * Fraction(m.scale) ** 2) for d, m in zip(cells, mechanisms, strict=True))
    item = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=1 / sqrt(2 * float(rho))
    )
    at = float(delta) if Fraction(float(delta)) <= delta else np.nextafter(float(delta), 0)
    assert sum(m.epsilon for m in mechanisms) == epsilon
    assert dp.c.make_zCDP_to_approxDP(item).map(1.0).epsilon(at) <= float(epsilon) * (1 + 1e-12)
    assert float(item.map(1.0)) == pytest.approx(float(rho))


def test_the_charge_is_near_the_closed_form_of_concentrated_privacy():
    """ε = ρ + 2√(ρ ln(1/δ)) (Bun and Steinke 2016, Proposition 1.3) bounds the tighter conversion that is used."""
    for epsilon, delta, answers in [(1, 1e-6, 3), (0.1, 1e-9, 1), (5, 1e-5, 10)]:
        rho = answers * 3 / (2 * gaussian(epsilon, delta, answers)[0].scale ** 2)
        loose = rho + 2 * sqrt(rho * log(1 / delta))
        assert epsilon < loose < 1.25 * epsilon


def test_a_delta_between_two_floats_is_rounded_down():
    """float(1/10) is above 1/10: accounted at it, ε would hold for a δ that is not charged."""
    assert Fraction(float(Fraction(1, 10))) > Fraction(1, 10)
    below = np.nextafter(0.1, 0)
    assert gaussian(1, Fraction(1, 10), 2)[0].scale == gaussian(1, Fraction(below), 2)[0].scale
    assert gaussian(1, Fraction(1, 10), 2)[0].epsilon == gaussian(1, Fraction(below), 2)[0].epsilon


@st.composite
def unequal(draw, answers=1000):
    """Draw parts that add up to all equal ones, each with how many counts one row changes."""
    cuts = sorted(draw(st.sets(st.integers(1, 3 * answers - 1), max_size=6)))
    parts = [Fraction(high - low, 3) for low, high in zip([0, *cuts], [*cuts, 3 * answers], strict=True)]
    return [(part, draw(st.integers(1, 40) | st.just(2**20))) for part in parts]


@given(EPSILONS, DELTAS, unequal())
def test_unequal_parts_cost_no_more_together_than_equal_ones(epsilon, delta, parts):
    """Each by OpenDP's map at its sensitivity; ρ adds up (Bun and Steinke 2016, Lemma 1.7)."""
    mechanisms = [
        GaussianCounts(epsilon, delta, 1000, 1 + bool(i), changes, part, adds_up_rho=True)
        for i, (part, changes) in enumerate(parts)
    ]
    spent = sum(Fraction(mechanism.build().map(mechanism.sensitivity)) for mechanism in mechanisms)
    allowed = mechanisms[0].rho
    assert allowed * (1 - Fraction(1, 10**9)) <= spent <= allowed
    assert sum(mechanism.epsilon for mechanism in mechanisms) == epsilon
    assert sum(mechanism.delta for mechanism in mechanisms) == delta


@given(EPSILONS, DELTAS, st.fractions(Fraction(1, 100), 900), st.integers(1, 2**21))
def test_the_noise_of_a_part_scales_with_its_root(epsilon, delta, part, changes):
    whole = GaussianCounts(epsilon, delta, 1000, 1, 1, adds_up_rho=True).scale
    result = GaussianCounts(epsilon, delta, 1000, 2, changes, part, adds_up_rho=True).scale
    assert result == pytest.approx(whole * sqrt(changes / part), rel=1e-12)


def test_an_answer_that_takes_more_parts_says_so():
    item, three = (
        GaussianCounts(Fraction(1), Fraction(1, 10**6), 9, 2, 4, Fraction(parts), adds_up_rho=True) for parts in (1, 3)
    )
    assert item.record.words == f"discrete Gaussian, answer 2 of 9, sigma {item.scale:.4g}"
    assert three.record.words == f"discrete Gaussian, 3 parts of 9, sigma {three.scale:.4g}"


# In Gaussian differential privacy


@given(EPSILONS, DELTAS, unequal())
def test_answers_of_a_series_use_up_no_more_of_mu_squared_than_there_is(epsilon, delta, parts):
    """By the variance of the noise less its margin, in exact arithmetic; and the charge is that of all of them."""
    mechanisms = [
        GaussianCounts(epsilon, delta, 1000, 1 + bool(i), changes, part, adds_up_rho=False)
        for i, (part, changes) in enumerate(parts)
    ]
    mu, used = mechanisms[0].mu, Fraction(0)
    for mechanism in mechanisms:
        sigma, grid = mechanism._noise
        used += mechanism.changes * grid**2 / ((Fraction(sigma) ** 2 - 2) / (1 + Fraction(1, 10**6)))
        assert mechanism.information == mu**2 * mechanism.parts / 1000
    assert mu**2 * Fraction(99, 100) <= used <= mu**2
    assert [sum(getattr(item, name) for item in mechanisms) for name in ("epsilon", "delta", "rho")] == [
        epsilon,
        delta,
        mu**2 / 2,
    ]


def test_the_information_of_a_series_in_rho_is_twice_its_rho():
    mechanisms = gaussian(1, 1e-6, 4)
    assert sum(mechanism.information for mechanism in mechanisms) == 2 * mechanisms[0].rho


def test_an_answer_in_rho_costs_at_most_its_part_in_exact_arithmetic():
    """The ℓ2 sensitivity is a square root: rounded down to a float, it would make the noise too small."""
    for changes in (2, 3, 7, 385, 2 * 1024**2):
        for rows, parts in ((1, Fraction(1)), (7, Fraction(3, 7)), (3, Fraction(1, 3))):
            answer = GaussianCounts(Fraction(1), Fraction(1, 10**6), 2, 1, changes, parts, rows, adds_up_rho=True)
            assert Fraction(changes * rows**2) / Fraction(answer.scale) ** 2 <= answer.information


def test_noise_for_units_is_as_many_times_as_large():
    item, five = (
        GaussianCounts(Fraction(1), Fraction(1, 10**6), 1, 1, 10**4, rows=rows, adds_up_rho=False) for rows in (1, 5)
    )
    assert five.scale == pytest.approx(5 * item.scale, rel=1e-4)
    assert (five.mu, five.rho, five.sensitivity) == (item.mu, item.rho, 500)


def test_the_record_states_mu():
    (mechanism,) = gaussian(1, 1e-6, 1, adds_up_rho=False)
    words = f"discrete Gaussian, answer 1 of 1, sigma {mechanism.scale:.4g}, all together 0.2368-GDP"
    assert mechanism.record.words == words
    assert mechanism.record["mu"] == mechanism.mu
    assert gaussian(1, 1e-6, 1)[0].record.get("mu") is None


@pytest.mark.parametrize("epsilon", [0.01, 4, 60])
def test_numbers_at_the_ends_of_64_bits_are_answered(epsilon):
    """In steps finer than 1 they would wrap around: they are cut off before."""
    (mechanism,) = gaussian(epsilon, 1e-6, 1, [1], adds_up_rho=False)
    low, zero, high = mechanism.build()(np.array([-(2**63), 0, 2**63 - 1], dtype=np.int64))
    assert low < -(2**50) < zero < 2**50 < high
    assert {type(low), type(zero)} == {int}


@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-300])
@pytest.mark.parametrize("answers", [2, 10, 1000])
def test_epsilon_of_many_answers_is_within_opendps_accounting(answers, delta):
    """At scales far below those of one answer its accounting overflows."""
    mechanism = gaussian(1e9, delta, answers, [1] * answers)[0]
    assert mechanism.scale == pytest.approx(0.05 * sqrt(answers), rel=1e-6)
    assert mechanism.build()(np.array([1, 2, 3])) is not None


@pytest.mark.parametrize("epsilon", [1e9, 3000])
def test_so_much_epsilon_that_no_noise_is_left_is_answered_all_the_same(epsilon):
    mechanism = gaussian(epsilon, 1e-6, 1)[0]
    assert mechanism.epsilon == epsilon
    assert mechanism.build()(np.array([1, 2, 3])) == [1, 2, 3]


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-19, 1e-300), (1, Fraction(1, 10**400)), (1, 0)])
def test_so_little_that_noise_is_all_is_refused_in_words(epsilon, delta):
    with pytest.raises(ValueError, match="below the supported minimum for Gaussian noise"):
        gaussian(epsilon, delta, 1)[0].build()


def gaussian_noise(source, epsilon, draws):
    run = source.prepare(gaussian(epsilon, 1e-6, 1)[0])
    noise = np.array([run(np.full(50, 100)) for _ in range(draws // 50)]).ravel() - 100
    return np.bincount(np.clip(noise, -80, 80) + 80, minlength=161)


def exact_gaussian(scale):
    """Return P(x) ∝ exp(−x²/2σ²) on the whole numbers (Canonne, Kamath and Steinke 2020, Definition 1)."""
    wide = np.arange(-2000, 2001)
    mass = np.exp(-(wide**2) / (2 * scale**2))
    mass /= mass.sum()
    inside = mass[1920:2081].copy()
    inside[[0, -1]] += mass[:1920].sum(), mass[2081:].sum()
    return inside


def test_one_draw_of_a_rare_kind_is_no_alarm():
    """Of 20,000 draws at σ = .56, one in sixty runs has a 3; taken alone, its p-value was below 1e-10."""
    chances = exact_gaussian(0.56)
    counts = np.round(chances * 20_000)
    counts[83] = 1
    assert p_value(counts, chances) > 0.1


def rounded_gaussian(sigma, grid):
    """Return the chances of rounded multiples of 1/grid, of which the numbers are discrete Gaussian."""
    wide = np.arange(-3000 * grid, 3000 * grid + 1)
    mass = np.exp(-((wide / sigma) ** 2) / 2)
    steps = np.clip((2 * wide + grid) // (2 * grid), -80, 80) + 80
    return np.bincount(steps, mass / mass.sum(), minlength=161)


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [20_000, pytest.param(400_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.8, 4, 20])
@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(np.random.default_rng(3))], ids=IDS)
def test_noise_on_a_finer_grid_has_exact_probabilities_of_rounded_steps(source, epsilon, draws):
    (mechanism,) = gaussian(epsilon, 1e-6, 1, adds_up_rho=False)
    (sigma, grid), run = mechanism._noise, source.prepare(mechanism)
    assert grid > 1
    noise = np.array([run(np.full(50, 100)) for _ in range(draws // 50)]).ravel() - 100
    counts, chances = np.bincount(np.clip(noise, -80, 80) + 80, minlength=161), rounded_gaussian(sigma, grid)
    assert p_value(counts, chances) > ALARM
    for factor in FACTORS:
        assert p_value(counts, rounded_gaussian(sigma * float(factor), grid)) < ALARM
    deviation = sqrt(((np.arange(161) - 80) ** 2 * chances).sum())
    assert mechanism.scale == pytest.approx(deviation, rel=0.01)


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [20_000, pytest.param(400_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.8, 4, 20])
@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(np.random.default_rng(3))], ids=IDS)
def test_noise_has_the_exact_probabilities_of_the_discrete_gaussian(source, epsilon, draws):
    scale = gaussian(epsilon, 1e-6, 1)[0].scale
    counts = gaussian_noise(source, epsilon, draws)
    assert p_value(counts, exact_gaussian(scale)) > ALARM
    for factor in FACTORS:
        assert p_value(counts, exact_gaussian(scale * float(factor))) < ALARM


def test_a_large_scale_is_simulated_as_well_as_it_needs_to_be():
    mechanism = gaussian(0.01, 1e-6, 3)[0]
    assert mechanism.scale > 1000
    noise = np.array(mechanism.simulate(np.zeros(200_000, dtype=np.int64), np.random.default_rng(0)))
    assert noise.std() == pytest.approx(mechanism.scale, rel=0.01)
    assert noise.mean() == pytest.approx(0, abs=6 * mechanism.scale / sqrt(len(noise)))


def test_the_distance_of_gaussian_counts_is_euclidean():
    mechanism = gaussian(1, 1e-6, 1)[0]
    assert mechanism.distance(np.array([1, 2, 3]), np.array([1, 6, 0])) == 5
    assert mechanism.sensitivity == sqrt(3)
    assert mechanism.record.words == f"discrete Gaussian, answer 1 of 1, sigma {mechanism.scale:.4g}"
