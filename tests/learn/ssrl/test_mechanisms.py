"""The mechanisms of SSRL against their exact probabilities; see `tests.privacy.chances`."""

from fractions import Fraction
from functools import cache
from math import log, sqrt

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import cauchy, laplace, norm

from hedgerow.learn.ssrl.mechanisms import Exponential, global_gaussian, global_laplace, smooth_cauchy, smooth_laplace
from hedgerow.learn.ssrl.mechanisms import log as log_of
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value

SOURCES = [SecureNoise(), SeededNoise(np.random.default_rng(20261))]
SIZES = [1, pytest.param(10, marks=pytest.mark.slow)]
SCORES = np.array([0.0, 2.0, 3.0, 4.0])  # in units of the noise's scale
DELTA = Fraction(1, 10**6)
KINDS = {
    "smooth-laplace": (lambda e: smooth_laplace(e, DELTA), laplace, 5_000),
    "smooth-cauchy": (smooth_cauchy, cauchy, 12_000),
    "global-laplace": (global_laplace, laplace, 5_000),
    "global-gaussian": (lambda e: global_gaussian(e, DELTA), norm, 5_000),
}
"""Each with its noise and how many draws tell a scale from one 30 % smaller or larger."""


@cache
def smallest(name, factor=1):
    """Return exact chances that each score is the smallest: the mean over its noise that all others are larger."""
    noise, scores = KINDS[name][1], SCORES / factor
    own = noise.ppf((np.arange(20_000) + 0.5) / 20_000)
    return np.array([np.mean(np.prod([noise.sf(own + s - t) for t in np.delete(scores, i)], axis=0))
                     for i, s in enumerate(scores)])  # fmt: skip


def choices(source, mechanism, scores, draws):
    run = source.prepare(mechanism)
    return np.bincount([run(scores) for _ in range(draws)], minlength=len(scores))


@pytest.mark.statistics
@pytest.mark.parametrize("times", SIZES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize("name", KINDS)
def test_the_smallest_noisy_score_has_its_exact_probabilities(name, source, times):
    make, _, draws = KINDS[name]
    epsilon, draws = Fraction(1, 3), times * draws
    scores, exact = SCORES * make(epsilon).scale, smallest(name)
    assert exact.sum() == pytest.approx(1, abs=1e-4)
    result = choices(source, make(epsilon), scores, draws)
    assert p_value(result, exact) > ALARM
    for factor in FACTORS:
        assert make(epsilon / factor).scale == pytest.approx(factor * make(epsilon).scale)
        assert p_value(result, smallest(name, float(factor))) < ALARM


@pytest.mark.statistics
@pytest.mark.parametrize("times", SIZES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_the_exponential_mechanism_has_its_exact_probabilities(source, times):
    epsilon, scores, draws = Fraction(5), np.array([0.0, 0.1, 0.3, 0.5]), 6_000 * times
    result = choices(source, Exponential(epsilon), scores, draws)
    assert p_value(result, softmax(-5 * scores / (2 * 0.5))) > ALARM
    for factor in FACTORS:
        assert p_value(result, softmax(-5 * scores / (2 * 0.5 * float(factor)))) < ALARM


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_two_scores_far_apart_are_told_apart_by_any_mechanism(source):
    for mechanism in (*(make(Fraction(10**6)) for make, _, _ in KINDS.values()), Exponential(Fraction(10**6))):
        assert [source.prepare(mechanism)(scores) for scores in (np.array([0.0, 0.4]), np.array([0.5, 0.2]))] == [0, 1]


def test_scales_and_smoothness_are_those_of_the_paper():
    """SSRL §3.3 and §2.2, with ε_node = 1/14 and δ_node = 1e-8/4 of K = 5."""
    each, delta = Fraction(1, 14), Fraction(1, 4 * 10**8)
    smooth = smooth_laplace(each, delta)
    assert (smooth.scale, smooth.sensitivity) == (28, 1)
    assert smooth.beta == pytest.approx(1 / (14 * 2 * log(8e8)))
    assert (smooth_cauchy(each).scale, smooth_cauchy(each).beta) == (84, pytest.approx(1 / 84))
    assert global_laplace(Fraction(1, 9)).scale == 4.5
    c = global_gaussian(Fraction(1, 9), delta).scale / 4.5
    assert c**2 > 2 * log(1.25 * 4e8)
    assert c == pytest.approx(sqrt(2 * log(5e8)))
    assert Exponential(Fraction(1, 9)).weight == pytest.approx(1 / 9)


def test_the_weight_of_the_exponential_mechanism_is_at_most_epsilon():
    for epsilon in (Fraction(1, 3), Fraction(2, 3), Fraction(10**17 + 1), Fraction(1, 9)):
        assert epsilon * (1 - Fraction(1, 2**52)) <= Fraction(Exponential(epsilon).weight) <= epsilon


def test_logarithms_of_fractions_beyond_floats():
    assert log_of(Fraction(10) ** 500) == pytest.approx(500 * log(10))
    assert log_of(Fraction(1, 10**500)) == pytest.approx(-500 * log(10))
    assert smooth_laplace(Fraction(1), Fraction(1, 10**500)).beta > 0


def test_distance_is_the_largest_change():
    for mechanism in (*(make(Fraction(1)) for make, _, _ in KINDS.values()), Exponential(Fraction(1))):
        assert mechanism.distance(np.array([0.5, 0.2]), np.array([0.25, 0.3])) == 0.25


def test_a_release_charges_delta_too():
    budget = Budget(1, Fraction(1, 1000))
    gate = Gate(budget, SecureNoise())
    gate.release(smooth_laplace(Fraction(1, 2), Fraction(1, 2000)), lambda: SCORES, query="choice")
    gate.release(smooth_cauchy(Fraction(1, 4)), lambda: SCORES, query="choice")
    assert [(charge.epsilon, charge.delta) for charge in budget.charges] == [
        (Fraction(1, 2), Fraction(1, 2000)),
        (Fraction(1, 4), 0),
    ]
    assert (
        budget.charges[0].mechanism.words
        == "smallest score after Laplace noise of scale 4 smooth sensitivities, beta 0.03014"
    )
    with pytest.raises(ValueError, match=r"delta=0\.0005 left, .*delta=0\.001"):
        gate.release(global_gaussian(Fraction(1, 10), Fraction(1, 1000)), lambda: pytest.fail("touched"), query="x")
