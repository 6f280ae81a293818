"""A choice of several candidates as one answer of a series: exact probabilities, and what it costs."""

from fractions import Fraction
from itertools import permutations
from math import exp, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from hedgerow.privacy.charge import Charge
from hedgerow.privacy.noise import GaussianCounts, SecureNoise, SeededNoise
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.unit import Unit, loss_of
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value

EPSILONS = st.fractions(Fraction(1, 1000), 20)
DELTAS = st.sampled_from([Fraction(1, 10), Fraction(1e-3), Fraction(1, 10**6), Fraction(1, 10**12)])
SCORES = np.array([3, -2, 5, 0], dtype=np.int64)


def peeling(draws, moved=1, rows=1, *, adds_up_rho=True, parts=Fraction(1), epsilon=1, delta=Fraction(1, 10**6)):
    series = Fraction(epsilon), Fraction(delta), 2, 1
    return GumbelPeeling(*series, moved**2, Fraction(parts), rows, adds_up_rho, draws)


def drawn_in_turn(scores, scale, draws):
    """Return the chance of each set of candidates: exponential mechanisms, one after the other."""
    weights, chances = [exp(score / scale) for score in scores], {}
    for order in permutations(range(len(scores)), draws):
        left, chance = sum(weights), 1.0
        for place in order:
            chance *= weights[place] / left
            left -= weights[place]
        chosen = tuple(sorted(order))
        chances[chosen] = chances.get(chosen, 0.0) + chance
    return chances


@given(EPSILONS, DELTAS, st.integers(1, 30), st.integers(1, 3000), st.integers(1, 4))
def test_in_rho_it_costs_its_parts_and_hardly_less(epsilon, delta, draws, moved, rows):
    """Each draw has log-ratios of range 2Δ/b, for a ρ of an eighth of its square."""
    item = peeling(draws, moved, rows, epsilon=epsilon, delta=delta)
    allowed = item.rho * item.parts / item.answers
    spent = draws * Fraction(2 * rows * moved) ** 2 / (8 * Fraction(item.scale) ** 2)
    assert allowed * (1 - Fraction(1, 10**9)) <= spent <= allowed
    assert Fraction(item.build().map(item.sensitivity)) <= allowed
    series = (getattr(item, name) for name in ("total", "total_delta", "answers", "number"))
    sigma = GaussianCounts(*series, 1, adds_up_rho=True).scale
    assert item.scale == pytest.approx(sqrt(draws) * sigma * moved * rows, rel=1e-6)


@settings(max_examples=25)
@given(EPSILONS, DELTAS, st.integers(1, 30), st.integers(1, 3000))
def test_in_gaussian_privacy_the_mu_of_all_draws_is_within_its_parts(epsilon, delta, draws, moved):
    """Two answers with log-ratios of range η are told apart no better than at μ = 2Φ⁻¹(1/(1 + e^(−η/2)))."""
    item = peeling(draws, moved, adds_up_rho=False, epsilon=epsilon, delta=delta)
    width = 2 * moved / item.scale
    each = 2 * norm.ppf(1 / (1 + exp(-width / 2)))
    assert draws * each**2 <= float(item.information) * (1 + 1e-12)
    assert draws * each**2 >= float(item.information) * 0.98 or width > 0.5
    assert item.scale == pytest.approx(moved * sqrt(draws * pi / 2 / float(item.information)), rel=1e-6)
    assert Fraction(item.build().map(item.sensitivity)) <= item.rho * item.parts / item.answers


@pytest.mark.parametrize("top", [0.51, 0.6, 0.9])
@pytest.mark.parametrize("low", [1e-3, 0.1, 0.4])
def test_no_two_answers_of_a_range_are_distinguished_better_than_at_its_mu(top, low):
    """Of two answers with P = (p, 1 − p) and Q = (q, 1 − q), every error of the one kind at every error of the other.

    A test that accepts both answers at random is a mixture, so that the two tests that look at the answer suffice.
    """
    width = np.log(top / low) - np.log((1 - top) / (1 - low))
    mu = width * sqrt(2 * pi) / 4
    for miss, false_alarm in ((1 - top, low), (low, 1 - top)):
        assert miss >= norm.cdf(norm.ppf(1 - false_alarm) - mu)


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [8_000, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chosen", [1, 2, 3])
@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(np.random.default_rng(3))], ids=IDS)
def test_sets_have_the_probabilities_of_consecutive_exponential_mechanisms(source, chosen, draws):
    mechanism = peeling(chosen, epsilon=4)
    run, exact = source.prepare(mechanism), drawn_in_turn(SCORES, mechanism.scale, chosen)
    places = {item: place for place, item in enumerate(sorted(exact))}
    counts = np.bincount([places[tuple(sorted(run(SCORES)))] for _ in range(draws)], minlength=len(places))
    assert p_value(counts, np.array([exact[item] for item in sorted(exact)])) > ALARM
    for factor in FACTORS:
        other = drawn_in_turn(SCORES, mechanism.scale * float(factor), chosen)
        assert p_value(counts, np.array([other[item] for item in sorted(exact)])) < ALARM


def test_scores_of_neighbours_are_as_far_apart_as_the_most_moved_one():
    item = peeling(2, moved=3)
    assert item.distance(np.array([1, 2, 3]), np.array([4, 2, 0])) == 3 == item.sensitivity
    assert item.distance(np.array([1, 2]), np.array([1, 2, 3])) == float("inf")


def test_the_noise_is_made_for_a_unit_of_several_rows():
    assert peeling(2, moved=5, rows=3).sensitivity == 15
    assert peeling(2, moved=5, rows=3).scale == pytest.approx(3 * peeling(2, moved=5).scale)
    assert loss_of(peeling(2, rows=3), 3) == (1, Fraction(1, 10**6), peeling(2).rho)
    with pytest.raises(ValueError, match="noise for 3"):
        loss_of(peeling(2, rows=3), 1)


def test_a_charge_for_a_series_that_a_choice_begins_states_its_mu():
    item = peeling(5, moved=1500, rows=2, adds_up_rho=False)
    amounts = {"epsilon": item.epsilon, "delta": item.delta, "rho": item.rho, "unit": Unit("patient", 2)}
    charge = Charge("choice", mechanism=item.record, **amounts)
    assert Charge.from_dict(charge.to_dict()) == charge
    assert "5 draws, 1 parts of 2, Gumbel noise of scale" in charge.mechanism.words
    for name, factor in (("mu", Fraction(101, 100)), ("scale", 0.99), ("draws", 2), ("changes", 2)):
        with pytest.raises(ValueError, match="series"):
            Charge("choice", mechanism=item.record.having(**{name: item.record[name] * factor}), **amounts)
