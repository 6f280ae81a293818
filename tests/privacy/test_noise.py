"""Noise against its exact probabilities.

Every test draws enough to reject a scale 30 % too small or too large, and checks that it does.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import (
    DiscreteLaplace,
    GumbelChoice,
    PermuteAndFlip,
    SecureNoise,
    SeededNoise,
    Siblings,
    TwoSidedGumbelChoice,
    TwoSidedPermuteAndFlip,
)
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value
from tests.privacy.renyi import rho_of

SIZES = [12_000, pytest.param(400_000, marks=pytest.mark.slow)]
SOURCES = [SecureNoise(), SeededNoise(np.random.default_rng(20260))]


def permute_and_flip(scores, scale):
    """Return exact chances of choosing each index: visit in random order, take i with chance exp(−gap_i/scale)."""
    gaps = np.array(scores) - min(scores)
    accept = tuple(np.exp(-gaps / scale))

    @cache
    def chosen(left):
        chance = np.zeros(len(scores))
        for i in left:
            chance[i] += accept[i] / len(left)
            if len(left) > 1:
                chance += (1 - accept[i]) / len(left) * np.array(chosen(left - {i}))
        return tuple(chance)

    return np.array(chosen(frozenset(range(len(scores)))))


def choices(source, epsilon, scores, sensitivity, draws, kind=PermuteAndFlip):
    run = source.prepare(kind(epsilon, sensitivity))
    return np.bincount([run(np.array(scores)) for _ in range(draws)], minlength=len(scores))


@pytest.mark.statistics
@pytest.mark.parametrize("draws", SIZES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_permute_and_flip_draws_its_exact_probabilities(source, draws):
    scores, sensitivity, epsilon = [0, 3, 5, 9, 9, 30], 4, Fraction(1, 2)
    exact = permute_and_flip(scores, sensitivity / float(epsilon))
    assert exact.sum() == pytest.approx(1)
    result = choices(source, epsilon, scores, sensitivity, draws)
    assert p_value(result, exact) > ALARM
    for factor in FACTORS:
        assert p_value(result, permute_and_flip(scores, float(factor) * sensitivity / float(epsilon))) < ALARM


@pytest.mark.statistics
@pytest.mark.parametrize("draws", SIZES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_two_sided_permute_and_flip_has_noise_of_twice_the_scale(source, draws):
    scores, sensitivity, epsilon = [0, 3, 5, 9, 9, 30], 4, Fraction(1)
    scale = 2 * sensitivity / float(epsilon)
    result = choices(source, epsilon, scores, sensitivity, draws, TwoSidedPermuteAndFlip)
    assert p_value(result, permute_and_flip(scores, scale)) > ALARM
    for factor in (*FACTORS, Fraction(1, 2)):
        assert p_value(result, permute_and_flip(scores, float(factor) * scale)) < ALARM


def gumbel(scores, scale):
    """Return exact chances of the exponential mechanism."""
    weights = np.exp((min(scores) - np.array(scores)) / scale)
    return weights / weights.sum()


@pytest.mark.statistics
@pytest.mark.parametrize("draws", SIZES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize(("kind", "sides"), [(GumbelChoice, 1), (TwoSidedGumbelChoice, 2)])
def test_choices_for_budgets_in_rho_are_the_exponential_mechanism(kind, sides, source, draws):
    scores, scale = [0, 3, 5, 9, 9, 30], 8.0
    result = choices(source, Fraction(sides, 2), scores, 4, draws, kind)
    assert p_value(result, gumbel(scores, scale)) > ALARM
    for factor in FACTORS:
        assert p_value(result, gumbel(scores, float(factor) * scale)) < ALARM
    assert p_value(result, permute_and_flip(scores, scale)) < ALARM


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize(("kind", "moves"), [(GumbelChoice, (0, 1, 2)), (TwoSidedGumbelChoice, (-1, 0, 1))])
@pytest.mark.claim("Gumbel noise replaces permute-and-flip")
def test_a_choice_by_gumbel_noise_costs_its_rho_and_hardly_less(kind, moves, epsilon):
    """On all scores from 0 to 8 in steps of 2 of three candidates and all that a row may change, for many orders."""
    mechanism = kind(Fraction(epsilon), max(moves))
    scale, worst, loss = mechanism._directions * max(moves) / epsilon, 0.0, 0.0
    for scores, change in product(product(range(0, 9, 2), repeat=3), product(moves, repeat=3)):
        if scores[0] == 0:
            item, other = (np.log(gumbel(np.array(scores) + more, scale)) for more in (0, np.array(change)))
            worst, loss = (
                max(worst, rho_of(dict(enumerate(item)), dict(enumerate(other)))),
                max(loss, *abs(item - other)),
            )
    told = float(mechanism.rho)
    assert 0.9 * told < worst <= told * (1 + 1e-9)
    assert loss <= epsilon * (1 + 1e-9)


@pytest.mark.claim("Gumbel noise replaces permute-and-flip")
def test_permute_and_flip_would_cost_more():
    """Its log-ratios have a range of more than ε, and at ε = 1 it costs 1.88 times what Gumbel noise does."""
    item, other = permute_and_flip([0, 1, 1, 1], 1.0), permute_and_flip([1, 1, 1, 1], 1.0)
    log_ratios = np.log(item / other)
    flipped = rho_of(dict(enumerate(np.log(item))), dict(enumerate(np.log(other))))
    assert np.ptp(log_ratios) > 1.3
    assert flipped > 1.8 * float(GumbelChoice(Fraction(1), 1).rho)


@given(st.lists(st.integers(0, 12), min_size=2, max_size=5), st.data())
def test_theorem_two_sided_permute_and_flip_costs_at_most_epsilon(scores, data):
    """Sensitivity 2, scale 4/ε. McKenna and Sheldon 2020, Theorem 1."""
    epsilon = 0.7
    moves = data.draw(st.lists(st.integers(-2, 2), min_size=len(scores), max_size=len(scores)))
    item = permute_and_flip(scores, 4 / epsilon)
    other = permute_and_flip([s + m for s, m in zip(scores, moves, strict=True)], 4 / epsilon)
    assert np.abs(np.log(item / other)).max() <= epsilon + 1e-12


def test_half_of_the_noise_is_too_little_for_two_sided_scores():
    item, other = permute_and_flip([10, 0, 10], 2.0), permute_and_flip([8, 2, 8], 2.0)
    assert np.abs(np.log(item / other)).max() > 1.1  # sensitivity 2, ε = 1: what a monotone score may have


def test_theorem_permute_and_flip_matches_the_paper_for_two_candidates():
    """Scores 0 and 1, scale 1: the better is taken with chance 1 − e⁻¹/2 = .816 (also measured of OpenDP)."""
    assert permute_and_flip([0, 1], 1.0)[0] == pytest.approx(1 - np.exp(-1) / 2)
    assert permute_and_flip([0, 1], 1.0)[0] == pytest.approx(0.816, abs=5e-4)


@given(st.lists(st.integers(0, 12), min_size=2, max_size=5), st.data())
def test_theorem_permute_and_flip_on_monotone_scores_costs_at_most_epsilon(scores, data):
    """The theorem that is charged, checked on exact probabilities: sensitivity 2, scale 2/ε (not 4/ε)."""
    epsilon = 0.7
    rises = data.draw(st.lists(st.integers(0, 2), min_size=len(scores), max_size=len(scores)))
    item = permute_and_flip(scores, 2 / epsilon)
    other = permute_and_flip([s + r for s, r in zip(scores, rises, strict=True)], 2 / epsilon)
    assert np.abs(np.log(item / other)).max() <= epsilon + 1e-12


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [4000, pytest.param(60_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_siblings_are_drawn_independently_with_exact_probabilities(source, draws):
    inputs, sensitivity, epsilon = [[0, 8, 9], [10, 1]], 4, Fraction(1, 2)

    def together(epsilon):
        run = source.prepare(Siblings(PermuteAndFlip(epsilon, sensitivity)))
        chosen = np.array([run([np.array(scores) for scores in inputs]) for _ in range(draws)])
        return np.bincount(chosen[:, 0] * 2 + chosen[:, 1], minlength=6)

    def exact(factor):
        first, second = (permute_and_flip(scores, float(factor) * sensitivity / float(epsilon)) for scores in inputs)
        return np.outer(first, second).ravel()

    result = together(epsilon)
    assert p_value(result, exact(1)) > ALARM
    assert all(p_value(result, exact(factor)) < ALARM for factor in FACTORS)


def test_siblings_cost_what_one_of_them_costs():
    each = PermuteAndFlip(Fraction(1, 3), 7)
    assert (Siblings(each).epsilon, Siblings(each).sensitivity) == (Fraction(1, 3), 7)
    assert Siblings(each).record.words == f"{each.record.words}; nodes hold different rows"
    assert SecureNoise().prepare(Siblings(each))([]) == []
    with pytest.raises(ValueError, match=r"epsilon for one release must be >="):
        Siblings(PermuteAndFlip(Fraction(1, 10**15), 2)).build()


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ([[1, 5], [2]], [[1, 5], [2]], 0),
        ([], [], 0),
        ([[1, 5], [2]], [[3, 5], [2]], 2),
        ([[1, 5], [2]], [[1, 5], [9]], 7),
        ([[1, 5], [2]], [[2, 5], [3]], np.inf),  # more than one input changed: no single row does that
        ([[1, 5], [2]], [[0, 6], [2]], np.inf),  # not monotone
        ([[1, 5], [2]], [[1, 5]], np.inf),
        ([[1, 5], [2]], [[1], [5, 2]], np.inf),
    ],
)
def test_the_distance_of_siblings_is_the_distance_of_the_changed_input(one, other, distance):
    siblings = Siblings(PermuteAndFlip(Fraction(1), 2))
    assert siblings.distance([np.array(x) for x in one], [np.array(x) for x in other]) == distance


def laplace_counts(source, epsilon, draws):
    run = source.prepare(DiscreteLaplace(epsilon))
    noise = np.array([run(np.full(8, 100)) for _ in range(draws // 8)]).ravel() - 100
    return np.bincount(np.clip(noise, -40, 40) + 40, minlength=81)


def discrete_laplace(epsilon):
    """Return exact chances of −40 or less, …, 40 or more."""
    ratio = np.exp(-float(epsilon))
    exact = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-40, 41))
    exact[[0, -1]] += ratio**41 / (1 + ratio)
    assert exact.sum() == pytest.approx(1)
    return exact


@pytest.mark.statistics
@pytest.mark.parametrize("draws", SIZES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_discrete_laplace_draws_its_exact_probabilities(source, draws):
    epsilon = Fraction(1, 4)
    result = laplace_counts(source, epsilon, draws)
    assert p_value(result, discrete_laplace(epsilon)) > ALARM
    assert all(p_value(result, discrete_laplace(epsilon / factor)) < ALARM for factor in FACTORS)


@pytest.mark.statistics
@pytest.mark.parametrize("draws", SIZES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_noise_of_different_counts_is_uncorrelated(source, draws):
    run = source.prepare(DiscreteLaplace(Fraction(1, 4)))
    noise = np.array([run(np.zeros(2, dtype=np.int64)) for _ in range(draws)], dtype=float)
    assert abs(np.corrcoef(noise.T)[0, 1]) < 6.2 / np.sqrt(draws)  # six standard errors: 1e-9


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=1000))
def test_charges_are_at_least_and_hardly_above_opendps_accounting(epsilon):
    for mechanism in (
        PermuteAndFlip(epsilon, 2**21),
        TwoSidedPermuteAndFlip(epsilon, 2**11),
        DiscreteLaplace(epsilon),
        DiscreteLaplace(epsilon, 2**10),
    ):
        accounted = Fraction(mechanism.build().map(mechanism.sensitivity))
        assert accounted <= epsilon
        assert accounted >= epsilon * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize(
    "kind",
    [
        lambda e: PermuteAndFlip(e, 2**21),
        lambda e: TwoSidedPermuteAndFlip(e, 2),
        lambda e: TwoSidedGumbelChoice(e, 2),
        DiscreteLaplace,
    ],
)
def test_an_epsilon_too_small_to_be_of_use_is_refused_in_words(kind):
    with pytest.raises(ValueError, match="epsilon for one release must be >= "):
        kind(Fraction(1, 10**15)).build()


def test_distances_are_those_of_the_declared_metrics():
    flip = PermuteAndFlip(Fraction(1), 2)
    assert flip.distance(np.array([1, 5]), np.array([3, 5])) == 2
    assert flip.distance(np.array([1, 5]), np.array([2, 4])) == np.inf  # not monotone
    assert GumbelChoice(Fraction(1), 2).distance(np.array([1, 5]), np.array([2, 4])) == np.inf
    for kind in (TwoSidedPermuteAndFlip, TwoSidedGumbelChoice):
        either = kind(Fraction(1), 2)
        assert either.distance(np.array([1, 5]), np.array([2, 3])) == 2
        assert either.distance(np.array([1, 5]), np.array([1])) == np.inf
        assert either.distance(np.array([1, 5]), np.array([1, 5])) == 0
        assert either.distance(np.array([]), np.array([])) == 0
    kinds = flip, TwoSidedPermuteAndFlip(Fraction(1), 2), TwoSidedGumbelChoice(Fraction(1), 2)
    assert len(set(kinds)) == 3  # as keys of what is kept by mechanism
    assert DiscreteLaplace(Fraction(1)).distance(np.array([1, 5]), np.array([3, 4])) == 3


def test_mechanisms_say_what_their_noise_is():
    assert (
        PermuteAndFlip(Fraction(1, 2), 7).record.words == "permute-and-flip, monotone, noise of scale 2 sensitivities"
    )
    assert (
        TwoSidedPermuteAndFlip(Fraction(1, 2), 7).record.words
        == "permute-and-flip, two-sided, noise of scale 4 sensitivities"
    )
    assert (
        GumbelChoice(Fraction(1, 2), 7).record.words
        == "exponential mechanism, monotone, noise of scale 2 sensitivities"
    )


def test_sources_say_what_they_are():
    assert SecureNoise().no_guarantee_reason is None
    assert SecureNoise().description.words.startswith("OpenDP 0.")
    assert SeededNoise(np.random.default_rng(0)).no_guarantee_reason == Fact("seeded")
