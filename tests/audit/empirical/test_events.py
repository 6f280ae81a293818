"""Events and what their counts refute, against all sets of outcomes and against simulation."""

from itertools import combinations, pairwise
from math import exp, log

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from hedgerow.audit.empirical.epsilon import (
    Event,
    chances,
    choose,
    epsilon_bounds,
    gaussian_bound,
    power,
    spread_events,
)

TABLE, NEIGHBOUR = ["a"] * 50 + ["b"] * 30 + ["c"] * 20, ["a"] * 20 + ["b"] * 30 + ["c"] * 48 + ["d"] * 2


def test_chances_are_the_exact_intervals_of_clopper_and_pearson():
    low, high = chances([0, 7, 40], [0, 7, 40], 40, 0.02)
    for count, least, most in zip((0, 7, 40), low, high, strict=True):
        exact = binomtest(count, 40).proportion_ci(0.98, "exact")
        assert (least, most) == pytest.approx((exact.low, exact.high))


def test_the_chosen_event_is_the_best_of_all_sets_of_outcomes():
    def expected(event):
        likely, unlikely = event.count(TABLE, NEIGHBOUR)
        return float(epsilon_bounds(10 * likely, 10 * (unlikely + 0.5), 1000, 0.01, 0.05))

    sets = [frozenset(some) for n in range(1, 4) for some in combinations("abcd", n)]
    best = max(expected(Event(some, side)) for some in sets for side in (False, True))
    chosen = choose(TABLE, NEIGHBOUR, 1000, 0.01, 0.05)
    assert expected(chosen) == pytest.approx(best)


def test_no_event_is_chosen_for_equal_outcomes():
    assert choose(TABLE, TABLE, 1000, 0, 0.05).outcomes == frozenset()


def test_bounds_follow_from_the_intervals():
    (low,), (high,) = chances([80], [10], 100, 0.05)
    assert float(epsilon_bounds(80, 10, 100, 0.1, 0.05)) == pytest.approx(log((low - 0.1) / high))
    assert gaussian_bound(80, 10, 100, 0.05) == pytest.approx(norm.ppf(low) - norm.ppf(high))
    assert float(epsilon_bounds(0, 10, 100, 0, 0.05)) == -np.inf
    assert gaussian_bound(0, 10, 100, 0.05) == -np.inf


def test_the_bound_holds_at_its_confidence():
    """Randomised response of ε = 1: of 4,000 audits at 80 % at most 20 % may exceed it, less 5 deviations."""
    rng, p = np.random.default_rng(0), exp(1) / (1 + exp(1))
    likely, unlikely = rng.binomial(300, p, 4000), rng.binomial(300, 1 - p, 4000)
    share = (epsilon_bounds(likely, unlikely, 300, 0, 0.2) > 1).mean()
    assert 0.001 < share < 0.2 - 5 * np.sqrt(0.2 * 0.8 / 4000)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.3, 0.0), (1.1, 0.0), (2.0, 0.01)])
def test_power_is_how_often_a_claim_is_refuted(epsilon, delta):
    rng, q, n = np.random.default_rng(1), 0.1, 2000
    p = min(exp(epsilon) * q + delta, 1 - exp(-epsilon) * (1 - q - delta))
    bounds = epsilon_bounds(rng.binomial(n, p, 20_000), rng.binomial(n, q, 20_000), n, delta, 0.05)
    assert power(epsilon, 1.0, q, n, delta, 0.05) == pytest.approx((bounds > 1).mean(), abs=0.02)


def test_events_of_a_curve_are_nested_and_of_both_directions():
    result = spread_events(TABLE, NEIGHBOUR, 12)
    for side in (False, True):
        some = [event.outcomes for event in result if event.on_neighbour == side]
        assert all(item < other for item, other in pairwise(some))
        assert len(some) > 1
