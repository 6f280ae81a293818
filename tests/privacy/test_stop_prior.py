"""The prior of stopping by depth: its formula, its caps, and the rule that makes it from ε."""

from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.privacy.stop_prior import MOST_LOG_ODDS, StopPrior, StopRule
from tests.learn.enumerate_models import PRECISE

numbers = st.floats(-50, 50)
priors = st.builds(StopPrior, numbers, numbers, numbers, st.integers(0, 12))


@given(priors, st.integers(0, 12))
def test_stopping_and_going_on_have_probabilities_that_sum_to_one(prior, depth):
    stop, go = (PRECISE.exp(Decimal(log)) for log in (prior.log_stop(depth), prior.log_go(depth)))
    assert abs(stop + go - 1) < Decimal(2) ** -52 * (1 + abs(Decimal(prior.log_odds(depth))))


@given(priors, st.integers(0, 12))
def test_their_logarithms_differ_by_the_log_odds(prior, depth):
    odds = prior.log_stop(depth) - prior.log_go(depth)
    assert odds == pytest.approx(prior.log_odds(depth), rel=1e-14, abs=1e-14)
    level = prior.offset + depth
    line = prior.start + prior.slope * level + prior.curve * level * (level + 1) / 2
    assert prior.log_odds(depth) == pytest.approx(min(line, MOST_LOG_ODDS), rel=1e-12, abs=1e-12)


@given(priors, st.integers(0, 5), st.integers(0, 5))
def test_a_search_below_begins_at_its_depth(prior, levels, depth):
    assert prior.below(levels).log_stop(depth) == prior.log_stop(levels + depth)


@given(st.floats(1e-12, 1 - 1e-12), st.integers(0, 12))
def test_a_constant_prior_is_the_same_at_every_depth(probability, depth):
    prior = StopPrior.constant(probability)
    assert prior.is_constant
    assert float(PRECISE.exp(Decimal(prior.log_stop(depth)))) == pytest.approx(probability, rel=1e-13)
    assert float(PRECISE.exp(Decimal(prior.log_go(depth)))) == pytest.approx(1 - probability, rel=1e-3)


@given(priors, st.integers(0, 12))
def test_the_cost_covers_stopping_and_going_on_at_different_depths(prior, levels):
    depths = range(max(levels, 1))
    pairs = [-prior.log_stop(depth) - prior.log_go(other) for depth in depths for other in depths]
    assert prior.cost(levels) == pytest.approx(max(pairs), rel=1e-15)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5, 2)])
def test_the_rule_adds_rows_by_depth_and_epsilon(epsilon):
    prior = StopRule(-2.0, 0.5, 1.0).prior(epsilon)
    rows = [0, 1, 3, 6, 10]
    assert [prior.log_odds(d) for d in range(5)] == [-2 + d / 2 + rows[d] * float(epsilon) for d in range(5)]
    assert not prior.is_constant
    assert not StopPrior(-2.0, curve=1.0).is_constant


@pytest.mark.parametrize("epsilon", [Fraction(10**6), Fraction(2**40), Fraction(10**400)])
def test_log_odds_are_capped_however_large_epsilon_is(epsilon):
    prior = StopRule(-2.0, 0.5, 1.0).prior(epsilon)
    assert [prior.log_odds(depth) for depth in (0, 2, 11)] == [-2, MOST_LOG_ODDS, MOST_LOG_ODDS]
    assert prior.log_stop(11) == 0
    assert prior.log_go(11) == -MOST_LOG_ODDS
    assert prior.cost(12) == pytest.approx(MOST_LOG_ODDS + 2.126928)


def test_a_prior_cannot_be_changed_and_is_compared_by_its_numbers():
    prior = StopPrior(-2.0, 3.0)
    assert prior == replace(prior) != prior.below(1)
    with pytest.raises(FrozenInstanceError):
        prior.slope = 0.0
