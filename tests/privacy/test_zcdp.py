"""What releases cost in ρ, against the Rényi divergences of exact distributions; and what ρ means in (ε, δ)."""

import math
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from hedgerow.errors import ArgumentError
from hedgerow.privacy import zcdp
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.zcdp import LARGEST_RHO, drawn_rho, epsilon_at, largest_pure, largest_rho, pure_rho
from tests.privacy.renyi import rho_of

EPSILONS = [0.001, 0.1, 0.5, 1, 2, 5, 20]
ROUNDED = 1 + 1e-9  # what divergences are computed to


def normalised(log_weights):
    total = math.log(math.fsum(map(math.exp, log_weights)))
    return {place: weight - total for place, weight in enumerate(log_weights)}


# One release


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.claim("Randomised response is the worst case")
def test_randomised_response_costs_the_most_of_any_pure_release(epsilon):
    """The pair of answers that no other pair of (ε, 0)-differential privacy is further apart than."""
    result = rho_of(normalised([epsilon, 0]), normalised([0, epsilon]))
    assert result <= float(pure_rho(Fraction(epsilon))) * ROUNDED <= epsilon**2 / 2 * ROUNDED
    assert result > (1 - 1e-5 if epsilon <= 1 else 0.98) * float(pure_rho(Fraction(epsilon)))


@pytest.mark.parametrize(("epsilon", "excess"), [(0.01, 1e-12), (1, 1e-5), (2, 5e-4), (4.644, 0.0195), (5, 0.0137)])
def test_the_bound_for_pure_releases_exceeds_the_proven_rho_by_little(epsilon, excess):
    proven = epsilon * math.tanh(epsilon / 2)
    assert proven * (1 - 1e-15) <= float(pure_rho(Fraction(epsilon))) <= proven * (1 + excess)


@given(st.lists(st.tuples(st.floats(-8, 0), st.floats(-3, 3)), min_size=2, max_size=6))
@pytest.mark.claim("*Any release of pure ε* costs at most")
def test_no_pair_costs_more_than_its_epsilon_allows(outcomes):
    item, other = normalised([weight for weight, _ in outcomes]), normalised([w + change for w, change in outcomes])
    epsilon = max(abs(item[place] - other[place]) for place in item)
    assert rho_of(item, other) <= float(pure_rho(Fraction(epsilon))) * ROUNDED + 1e-12


def noised(shift, scale, most):
    """Log-chances of a count of `shift` with discrete Laplace noise; from 0 down, and from `most` up, as one outcome.

    Below and above both counts the likelihood ratio does not change, so that nothing is lost by it.
    """
    p = math.exp(-1 / scale)
    upper = [p**z / (1 + p) if z > 0 else 1 - p ** (1 - z) / (1 + p) for z in range(1 - shift, most + 1 - shift)]
    return np.log([1 - upper[0], *(-np.diff(upper)), upper[-1]])


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
@pytest.mark.parametrize(("counts", "each"), [(1, 1), (2, 1), (4, 1), (2, 2), (3, 3)])
@pytest.mark.claim("Independent noise on d counts, each changed by at most a d-th of the sensitivity")
def test_counts_together_cost_the_sum_of_their_shares_of_epsilon(counts, each, epsilon):
    """By the joint chances of all counts, for all changes by at most `each` that sum to at most ``counts·each``."""
    whole, result, scale = counts * each, [], counts * each / epsilon
    for changes in product(range(each + 1), repeat=counts):
        item, other = (
            [sum(chances) for chances in product(*(noised(now * by, scale, each) for by in changes))] for now in (0, 1)
        )
        result.append(rho_of(dict(enumerate(item)), dict(enumerate(other))))
    told = DiscreteLaplace(Fraction(epsilon), whole, each).rho
    assert max(result) <= float(told) * ROUNDED
    assert each > 1 or max(result) > 0.97 * float(told)


@given(st.lists(st.floats(0.01, 3), min_size=1, max_size=5), st.floats(0.01, 5))
def test_releases_cost_no_more_together_than_the_largest_of_them_allows(parts, more):
    """Any shares of ε, none above `each`: the ρ of each by itself, added up."""
    each, parts = Fraction(max(parts)), [Fraction(part) for part in parts]
    told = pure_rho(sum(parts), each)
    assert (
        sum(map(pure_rho, parts)) <= told * (1 + Fraction(1, 2**50)) <= pure_rho(sum(parts)) * (1 + Fraction(1, 2**40))
    )
    assert told <= pure_rho(sum(parts), each + Fraction(more))


def test_equal_parts_of_a_large_epsilon_cost_no_more_than_the_whole():
    """Rounding up each part made three parts of 100 cost 4e-18 more than 100, which a plan had declared."""
    assert 3 * pure_rho(Fraction(100, 3)) == pure_rho(Fraction(100)) == 100


@pytest.mark.parametrize("digits", [1, 2, 5])
@pytest.mark.parametrize("weight", ["0.115", "0.259", "1.35", "40"])
def test_the_cost_of_a_draw_does_not_depend_on_the_decimal_context(weight, digits):
    of = zcdp._rho_of_range.__wrapped__
    with localcontext(Context(prec=digits, rounding=ROUND_FLOOR)):
        result = of(Fraction(weight))
    assert result == of(Fraction(weight))
    u = float(weight) / -math.expm1(-float(weight))
    assert float(result) == pytest.approx(u - 1 - math.log(u), rel=1e-9)


@pytest.mark.parametrize("weight", [0.1, 1, 4])
@pytest.mark.claim("for every order α > 1 and any two neighbouring tables")
def test_a_draw_costs_at_most_its_loss_on_all_small_neighbours(weight):
    """Exhaustively: losses of up to 2 of three models of unequal priors, and all changes of a loss from 0 to 1."""
    most, prior = float(drawn_rho(Fraction(weight), Fraction(weight))), np.log([0.5, 0.3, 0.2])
    result = [
        rho_of(*(normalised(prior - weight * (np.array(losses) + more)) for more in (0, np.array(changes))))
        for losses in product([0, 1, 2], repeat=3)
        for changes in product([0, 0.5, 1], repeat=3)
    ]
    assert max(result) <= most * ROUNDED
    assert max(result) > 0.99 * most


ALL_ORDERS = list(map(Decimal, ["1", "1.0001", "1.01", "1.1", "1.3", "1.6", "2", "2.5", "3", "5", "10", "100", "1000"]))


@pytest.mark.parametrize("weight", ["0.001", "0.1", "1", "2", "4", "8", "20", "60"])
@pytest.mark.claim("two answers at its ends are the worst case, and among all orders α → 1")
def test_two_models_cost_what_a_draw_of_any_may_cost(weight):
    """By definition, in 60 digits: two models, of which an added row raises the loss of one by 1; any prior, any order.

    The worst prior has 99.99 % of what is charged, at order 1; no other one, of any order, has more.
    """
    with localcontext(prec=60):
        w, e = Decimal(weight), Decimal(weight).exp()
        charged = drawn_rho(Fraction(weight), Fraction(weight))
        charged = Decimal(charged.numerator) / Decimal(charged.denominator)
        odds = (w * e - e + 1) / (e * (e - 1 - w))
        result = {
            (shift, order): divergence(odds * (shift * (1 + w) / 8).exp(), e, order) / order
            for shift in range(-24, 25)
            for order in ALL_ORDERS
        }
        u = w / (1 - 1 / e)
        assert max(result.values()) == result[0, 1] <= charged < result[0, 1] * Decimal("1.0001")
        assert abs(result[0, 1] - (u - 1 - u.ln())) < Decimal("1e-40")
        assert charged <= w**2 / 8


def divergence(odds, ratio, order):
    """The Rényi divergence of two answers with these odds and others in this ratio; order 1: Kullback and Leibler's."""
    p, q = ((x / (1 + x), 1 / (1 + x)) for x in (odds * ratio, odds))
    if order == 1:
        return sum(a * (a / b).ln() for a, b in zip(p, q, strict=True))
    return sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True)).ln() / (order - 1)


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1), st.floats(-1, 1)), min_size=2, max_size=5))
def test_a_draw_that_rounds_costs_no_more_than_is_said(models):
    """The log-ratio of each model is off by up to a tenth, at an ε of 1.1 for a weight of 1."""
    exact = normalised([-loss for loss, _, _ in models])
    moved = normalised([-loss - change for loss, change, _ in models])
    rounded = normalised([moved[place] + off / 20 for place, (_, _, off) in enumerate(models)])
    assert max(abs(moved[place] - rounded[place]) for place in moved) <= 0.1
    assert rho_of(exact, rounded) <= float(drawn_rho(Fraction("1.1"), Fraction(1))) * ROUNDED + 1e-12


def test_a_large_weight_costs_no_more_than_its_epsilon():
    wide, most = Fraction(20), pure_rho(Fraction(20))
    assert drawn_rho(wide, wide) < 17 < drawn_rho(wide, Fraction(1)) == most <= 20
    assert 0.3114 < drawn_rho(Fraction(1, 2), Fraction(1, 2)) * 10 < 0.3115


@given(st.fractions(Fraction(1, 10**6), 100), st.fractions(0, 10))
def test_a_wider_range_costs_no_less(weight, more):
    """Also where the formula takes over from that of small ranges."""
    assert drawn_rho(weight, weight) <= drawn_rho(weight + more, weight + more)


@given(st.fractions(Fraction(1, 10**6), 50))
def test_amounts_below_epsilon_are_rounded_up_and_have_few_digits(epsilon):
    rho = pure_rho(epsilon)
    assert float(rho) >= float(epsilon) * math.tanh(float(epsilon) / 2) * (1 - 1e-15)
    if rho != epsilon:  # the amount of a large epsilon is epsilon itself, without rounding
        assert rho.denominator.bit_count() == 1
        assert rho.numerator.bit_length() <= 65


# What it means in (ε, δ)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("rho", [1e-4, 0.03, 0.3125, 2, 30, 250])
def test_gaussian_noise_keeps_the_delta_of_the_converted_epsilon(rho, delta):
    """The exact δ of Gaussian noise at ε: Balle and Wang, ICML 2018, Theorem 8."""
    epsilon, mu = float(epsilon_at(Fraction(rho), Fraction(delta))), math.sqrt(2 * rho)
    exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))
    assert exact <= delta
    assert epsilon <= (rho + 2 * math.sqrt(rho * math.log(1 / delta))) * ROUNDED


@given(st.fractions(Fraction(1, 1000), 20), st.sampled_from([Fraction(1, 10**3), Fraction(1, 10**9)]))
def test_the_largest_rho_implies_epsilon_and_hardly_less(epsilon, delta):
    rho = largest_rho(epsilon, delta)
    assert epsilon_at(rho, delta) <= epsilon
    assert epsilon_at(rho * (1 + Fraction(1, 10**6)), delta) > epsilon or rho == LARGEST_RHO


def bisected(epsilon, delta):
    """Return the largest ρ of a grid by a conversion for each step, of which one is allowed."""
    low = high = LARGEST_RHO
    while low >= Fraction(1, 2**121) and epsilon_at(low, delta) > epsilon:
        low, high = low / 4, low
    while high - low > high / 10**7:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_at(middle, delta) <= epsilon else (low, middle)
    return low


@pytest.mark.parametrize("examples", [1, pytest.param(300, marks=pytest.mark.slow)])
def test_the_largest_rho_agrees_with_bisection_by_conversions(examples):
    @settings(max_examples=examples)
    @given(st.fractions(Fraction(1, 1000), 50), st.sampled_from([Fraction(1, 10**n) for n in (1, 3, 6, 12)]))
    @example(Fraction(1000), Fraction(1, 10**6))  # more than is ever converted
    @example(Fraction(1, 1000), Fraction(1, 2))  # most rho of so little epsilon are (0, δ)
    def same(epsilon, delta):
        assert largest_rho(epsilon, delta) == bisected(epsilon, delta)

    same()


@pytest.mark.parametrize("epsilon", [1, 10**155])
def test_a_delta_that_no_float_has_allows_no_rho(epsilon):
    with pytest.raises(ArgumentError, match="below the supported minimum"):
        largest_rho(Fraction(epsilon), Fraction(1, 10**400))


@pytest.mark.parametrize("near", [0, Fraction(1, 10**9), Fraction("0.02"), 3, LARGEST_RHO])
def test_a_wrong_estimate_of_the_largest_rho_changes_nothing(near, monkeypatch):
    expected = largest_rho(Fraction(1), Fraction(1, 10**6))
    monkeypatch.setattr("hedgerow.privacy.zcdp._near_largest_rho", lambda *_: Fraction(near))
    assert largest_rho.__wrapped__(Fraction(1), Fraction(1, 10**6)) == expected


@given(st.fractions(Fraction(1, 10**6), 500))
def test_the_largest_pure_epsilon_costs_rho_and_hardly_less(rho):
    epsilon = largest_pure(rho)
    assert pure_rho(epsilon) <= rho < pure_rho(epsilon * (1 + Fraction(1, 10**8)))


def test_without_a_delta_there_is_no_epsilon():
    assert epsilon_at(Fraction(0), Fraction(1, 10)) == largest_pure(Fraction(0)) == 0
    with pytest.raises(ArgumentError, match="delta must be > 0"):
        epsilon_at(Fraction(1), Fraction(0))


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", "1e155", "1e160", "1e299"])
def test_every_epsilon_that_can_be_charged_has_a_rho_that_can_be_charged(epsilon):
    """A draw of ε = 1e160 raised OverflowError, as the square of ε has no float."""
    epsilon = exact(epsilon, "epsilon")
    for rho in (drawn_rho(epsilon, epsilon), drawn_rho(epsilon, epsilon * 99 / 100), pure_rho(epsilon)):
        assert 0 < exact(rho, "rho") <= epsilon * (1 + Fraction(1, 2**60))
        assert (epsilon_at(rho, Fraction(1, 10**6)) > 0) == (epsilon > 1)  # so little is (0, δ)
