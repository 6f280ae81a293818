"""Odds, held against Bayes' rule and against tests written out."""

from fractions import Fraction
from math import exp

import pytest

from hedgerow.report.promises import factor_text, largest_belief, largest_rate, percent_up, rounded_up


@pytest.mark.parametrize("prior", [0.001, 0.3, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 10), Fraction(3), Fraction(50)])
def test_a_belief_rises_as_bayes_rule_says(prior, epsilon):
    ratio = exp(epsilon)  # of the chances of an output with the row and without it, at most
    assert largest_belief(prior, epsilon) == pytest.approx(prior * ratio / (prior * ratio + 1 - prior))


def test_half_a_suspicion_is_the_odds_of_the_issue():
    assert largest_belief(0.5, Fraction(2)) == pytest.approx(exp(2) / (1 + exp(2)))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100)])
def test_a_rate_is_the_best_that_randomised_response_reaches(delta):
    """The worst mechanism says all with probability δ, and else answers truthfully e^ε times as often as not."""
    epsilon, best = Fraction(1), {}
    truth = exp(1) / (1 + exp(1))
    outputs = [  # the chance of each output with the row, and without it
        (float(delta), 0.0),
        (0.0, float(delta)),
        ((1 - float(delta)) * truth, (1 - float(delta)) * (1 - truth)),
        ((1 - float(delta)) * (1 - truth), (1 - float(delta)) * truth),
    ]
    result = (0.0, 0.0)
    for inside, outside in sorted(outputs, key=lambda one: -one[0] / max(one[1], 1e-300)):
        result = result[0] + inside, result[1] + outside
        best[result[1]] = result[0]
    for fpr, tpr in best.items():
        assert largest_rate(fpr, epsilon, delta) == pytest.approx(tpr)


def test_rates_and_factors_of_a_huge_epsilon_do_not_overflow():
    huge = Fraction(10**300)
    assert largest_rate(1e-9, huge, Fraction(0)) == 1
    assert largest_belief(1e-9, huge) == 1
    assert "more than 10^300" in factor_text(huge)
    assert factor_text(Fraction(1)) == "2.72"


def test_bounds_are_rounded_up():
    assert percent_up(0.00101) == "0.2 %"
    assert percent_up(0.731) == "73.1 %"
    assert rounded_up(2.7182, 2) == 2.72
    assert rounded_up(2.5, 2) == 2.5
