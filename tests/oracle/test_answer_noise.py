"""The noise of an answer of pure epsilon: how far a row moves it, its variances, and what the card states."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.oracle.answer_noise import AnswerHistograms, AnswerNoise
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Integer, Schema

MIXED = (3, 3, 3, 3, 3, 20, 20, 20, 70)  # two groups, and more bins than share noise
LAPLACE = np.sqrt(2)  # the standard deviation of noise of scale 1


def row(sizes, bins, kinds=1, kind=0, steps=1):
    """Return the counts of one row, in these bins, and of one kind but for one of its steps."""
    counts, starts = np.zeros((kinds, sum(sizes)), dtype=np.int64), np.cumsum([0, *sizes[:-1]])
    counts[kind, starts + bins] = steps - (kinds > 1)
    counts[-1, starts + bins] += kinds > 1
    return counts


@pytest.mark.parametrize("steps", [1, 7])
def test_a_row_moves_every_part_by_its_sensitivity_and_no_further(steps):
    mechanism, rng = AnswerHistograms(Fraction(1), MIXED, steps), np.random.default_rng(0)
    table = rng.integers(0, 1000, (2, sum(MIXED)))
    for _ in range(20):
        added = row(MIXED, rng.integers(0, MIXED), 2, 0, steps)
        assert mechanism.distance(table, table + added) == mechanism.distance(table + added, table) == steps


@pytest.mark.parametrize("place", range(len(MIXED)))
def test_a_row_missing_in_an_attribute_is_no_neighbour_for_shared_noise(place):
    mechanism = AnswerHistograms(Fraction(1), MIXED)
    added = row(MIXED, np.zeros(len(MIXED), dtype=int))
    table = np.zeros_like(added)
    starts = np.cumsum([0, *MIXED])
    added[0, starts[place] : starts[place + 1]] = 0
    far = mechanism.distance(table, added)
    assert far == (1 if place in mechanism.alone else inf)
    assert mechanism.distance(table, table[:, 1:]) == inf


def test_parts_share_epsilon_by_their_attributes():
    mechanism = AnswerHistograms(Fraction(2, 3), MIXED, 5)
    assert [group for group, _ in mechanism.shared] == [(0, 1, 2, 3, 4), (5, 6, 7)]
    assert mechanism.alone == (8,)
    parts = [part.mechanism for part in mechanism._parts]
    assert [part.epsilon for part in parts] == [Fraction(2, 3) * n / 9 for n in (5, 3, 1)]
    assert [part.sensitivity for part in parts] == [5, 5, 5]
    assert mechanism.record.to_dict() == {
        "code": "shared_histograms",
        "attributes": 9,
        "bins": sum(MIXED),
        "sensitivity": 5,
        "scale": "15/2",
        "groups": 2,
        "alone": 1,
    }
    words = mechanism.record.words
    assert "9 attributes with 145 bins, in 2 groups, 1 attribute with discrete Laplace noise of its own" in words
    two = AnswerHistograms(Fraction(1), (70, 80, 3, 3)).alone
    assert [part.mechanism for part in AnswerHistograms(Fraction(1), (70, 80, 3, 3), 2)._parts][1] == DiscreteLaplace(
        Fraction(1, 2), 2 * len(two), 2
    )


@pytest.mark.parametrize(("sizes", "ratio"), [((2,) * 30, 0.31), ((3,) * 30, 0.475), ((6,) * 5, 0.75)])
def test_shared_noise_is_as_much_smaller_as_stated(sizes, ratio):
    """The standard deviation over Laplace's, of counts whose totals are known: at most .01 above the limit."""
    noise = AnswerHistograms(Fraction(1, 10), sizes).noise
    assert ratio - 0.01 < noise.scale / (10 * len(sizes)) < ratio + 0.01


@pytest.mark.parametrize("draws", [300, pytest.param(3000, marks=pytest.mark.statistics)])
@pytest.mark.parametrize(
    ("sizes", "epsilon", "steps"),
    [((2,) * 10, 1, 1), ((6,) * 5, 10, 1), ((3, 3, 3, 9, 9), 2, 7), ((3, 70), 1, 1)],
)
def test_the_variances_are_those_of_draws(sizes, epsilon, steps, draws):
    """Of seeded draws, within four standard errors of a variance of normal noise."""
    mechanism, rng, near = (
        AnswerHistograms(Fraction(epsilon), sizes, steps),
        np.random.default_rng(0),
        4 * (2 / draws) ** 0.5,
    )
    noise, starts = mechanism.noise, np.cumsum([0, *sizes[:-1]])
    result = np.array(mechanism.simulate(np.zeros((draws, sum(sizes)), dtype=np.int64), rng))  # a draw for each class
    if epsilon < 10:  # else rounding removes some of the noise
        for place, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            part = result[:, start : start + size].astype(float)
            total, difference = np.mean(part.sum(axis=1) ** 2), np.mean((part[:, 0] - part[:, 1]) ** 2) / 2
            assert np.mean(part**2) == pytest.approx(noise.counts[place], rel=near)
            assert total == pytest.approx(noise.totals[place], rel=near)
            assert difference == pytest.approx(noise.differences[place], rel=near)
    assert np.mean(result.astype(float) ** 2) < (1 + near) * np.mean(np.repeat(noise.counts, sizes))


def test_the_number_of_rows_weighs_groups_by_their_variance():
    """Two attributes share a total of variance 1; the third has a variance of 3: weights 3/4 and 1/4."""
    noise = AnswerNoise((2, 2, 2), (1.0,) * 3, (1.0, 1.0, 3.0), (0, 0, 2))
    assert noise.rows(np.array([4.0, 6, 8, 2, 9, 11])) == pytest.approx(10 * 3 / 4 + 20 / 4)
    assert AnswerNoise.independent((2, 4), 0.0).rows(np.array([3.0, 3, 3, 3, 3, 3])) == pytest.approx(8)


def test_answers_have_equal_totals_before_rounding():
    mechanism = AnswerHistograms(Fraction(1000), (3, 3, 70))
    table = np.arange(152).reshape(2, 76)
    assert mechanism.build()(table) == table.tolist()  # noise of a hundredth of a row
    coarse = AnswerHistograms(Fraction(1, 10**9), (3, 3, 70)).build()(table)
    assert all(type(count) is int for kind in coarse for count in kind)
    assert max(abs(count) for kind in coarse for count in kind) < 2**63


BINS = Schema({name: Integer(0, 9, (4,), missing="bin", outside="clip") for name in "abc"})
X = np.array([[1, 5, 9], [2, 6, 0], [7, 7, 7]])


@pytest.mark.parametrize(
    ("budget", "code"),
    [
        (hr.Budget(1), "shared_histograms"),
        (hr.Budget(1, 1e-6), "shared_histograms"),
        (hr.Budget(1, 1e-6, accounting="zcdp"), "discrete_laplace"),
        (hr.Budget(1, rho=100), "discrete_laplace"),
        (hr.Budget(rho=1), "discrete_laplace"),
        (hr.Budget(2).allocate(1, purpose="a share"), "shared_histograms"),
        (hr.Budget(2, rho=9).allocate(1, rho=1, purpose="a share"), "discrete_laplace"),
    ],
)
def test_attributes_share_noise_unless_the_budget_adds_up_rho(budget, code):
    oracle = hr.Oracle(X, [0, 1, 1], budget, 2)
    bins = Schema({f"x{i}": kind for i, (_, kind) in enumerate(BINS.attributes)})
    oracle.class_marginals(bins)
    (charge,) = oracle.privacy.charges
    assert charge.mechanism.code == code
    assert (charge.rho is None) == (code == "shared_histograms")
    assert oracle.privacy.reserve.zcdp >= charge.zcdp  # the other question may be one about a single attribute


def test_the_rho_of_an_answer_is_bounded_for_any_next_question():
    """A card's ρ, its reserve included, is that of all questions, whether their attributes share noise or not."""
    bins = Schema({f"x{i}": kind for i, (_, kind) in enumerate(BINS.attributes)})
    oracle = hr.Oracle(X, [0, 1, 1], hr.Budget(1), 3)
    most = 3 * hr.privacy.Charge("any", Fraction(1, 3)).zcdp
    for _ in range(3):
        oracle.marginals(bins)
        card = oracle.privacy
        assert card.rho + (card.reserve.zcdp if card.reserve is not None else 0) == most
    assert card.noise.code == "operating_system"


@pytest.mark.parametrize("budget", [hr.Budget(1, rho=9), hr.Budget(1, 1e-6, accounting="zcdp")])
def test_seeded_answers_with_a_rho_budget_equal_those_of_0_2_0(budget):
    bins = Schema({f"x{i}": kind for i, (_, kind) in enumerate(BINS.attributes)})
    oracle = hr.Oracle(X, ["a", "b", "b"], budget, 3, classes=("a", "b"), random_state=4)
    assert oracle.marginals(bins).rows.tolist() == [23, -4, 21, 1, -2, -34, -2, 5, 4]
    by_class = [-12, 9, 15, 3, 0, 12, 10, 0, 0, -9, -12, -2, -6, 59, -30, 10, -5, 3]
    assert oracle.class_marginals(bins).rows.ravel().tolist() == by_class
    errors = oracle.error_marginals(bins, hr.oracle.Always("a"))
    assert errors.wrong.tolist() == [3, 2, 18, -4, 11, 3, 13, -3, 6]
    assert errors.right.tolist() == [0, -6, -6, 32, -2, 2, -2, 7, -1]
    assert float(oracle.privacy.rho) == pytest.approx(0.05549847011006074, abs=1e-12)


def test_noise_is_asked_for_by_the_numbers_of_bins():
    with pytest.raises(ArgumentTypeError, match=r"numbers of bins .*got 3"):
        hr.Oracle(X, [0, 1, 1], hr.Budget(1)).noise_scale(3)


def test_an_epsilon_that_is_too_small_is_refused_before_the_charge():
    budget = hr.Budget("1e-13")
    oracle = hr.Oracle(X, [0, 1, 1], budget, 1)
    bins = Schema({f"x{i}": kind for i, (_, kind) in enumerate(BINS.attributes)})
    with pytest.raises(ArgumentError, match="epsilon"):
        oracle.marginals(bins)
    assert (budget.spent, oracle.queries_left) == (0, 1)
