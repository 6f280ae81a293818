"""Bounds and noise, against what draws and releases do."""

from fractions import Fraction
from itertools import count
from math import exp, inf

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.search import cost
from hedgerow.planning import expected
from hedgerow.planning.expected import (
    DefaultDraws,
    bin_noise,
    cut_points_noise,
    leaf_noise,
    least_epsilon,
    round_up,
    rows_in_a_bin,
)
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.privacy.stop_prior import STOP_RULE

SCHEMA = hr.Schema(
    {"age": hr.Integer(0, 99, cuts=(50,)), "sex": hr.Categorical(("F", "M", "X", "?"))}, hr.Label("ill", ("no", "yes"))
)


def table(rows, seed):
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 100, rows), rng.choice(["F", "M", "X", "?"], rows)
    ill = np.where((age > 49) ^ (rng.random(rows) < 0.2), "yes", "no")
    return np.array([age, sex], dtype=object).T, ill


@pytest.mark.statistics
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)])
def test_draws_lose_no_more_than_the_bound_on_average(epsilon):
    """Errors of seeded draws, against those of the best model of each size."""
    data, ill = table(200, 0)
    for kind, make, best in (
        ("tree", hr.PrivateTreeClassifier, hr.OptimalTreeClassifier),
        ("rule list", hr.PrivateRuleListClassifier, hr.OptimalRuleListClassifier),
    ):
        models = [make(epsilon, schema=SCHEMA, random_state=seed).fit(data, ill) for seed in range(30)]
        mean = np.mean([np.sum(model.predict(data) != ill) for model in models])
        for one in DefaultDraws.of(SCHEMA).expected(epsilon):
            if one.kind == kind and (kind != "tree" or one.size in (2, 4, 8)):
                size = {"max_depth": one.size.bit_length() - 1} if kind == "tree" else {"max_rules": one.size + 1}
                optimum = best(**size, schema=SCHEMA, min_support=0, regularization=0).fit(data, ill)
                assert mean <= np.sum(optimum.predict(data) != ill) + one.excess(epsilon)


def test_bounds_fall_as_epsilon_rises_and_say_from_where_they_are_met():
    draws = DefaultDraws.of(SCHEMA).expected(Fraction(1))
    for one in draws:
        enough = one.epsilon_for(0.02, 10_000)
        assert one.excess(Fraction(enough)) == pytest.approx(200, rel=0.01)
        same = next(
            two
            for two in DefaultDraws.of(SCHEMA).expected(Fraction(enough))
            if (two.kind, two.size) == (one.kind, one.size)
        )
        assert same.excess(Fraction(enough)) == pytest.approx(200, rel=0.01)
        values = [one.excess(Fraction(epsilon)) for epsilon in (0.01, 0.1, 1, 10, 100)]
        assert values == sorted(values, reverse=True)
    assert [one.name for one in draws][:2] == ["tree, 2 leaves", "tree, 4 leaves"]


def test_no_epsilon_is_enough_if_the_tests_of_a_tree_save_too_few_rows():
    """The least likely shape of 4 leaves has tests at depths 0, 1 and 2, which have to save rows at any epsilon."""
    four = DefaultDraws.of(SCHEMA).expected(Fraction(1))[1]
    prior = STOP_RULE.prior(Fraction(100))
    saved = (prior.log_odds(1) + prior.log_odds(2)) / 100
    assert four.excess(Fraction(100)) == pytest.approx(saved, rel=0.05)
    assert saved > 3.5
    assert four.epsilon_for(0.05, 60) == inf
    forecast = hr.plan(SCHEMA, 60, 1)
    (line,) = (line for line in str(forecast).splitlines() if line.startswith("tree, 4 leaves"))
    assert line.split()[-3:] == ["none", "too", "noisy"]
    assert forecast.to_dict()["draws"][1]["epsilon_for_accuracy_loss"] is None
    with pytest.raises(ValueError, match="with 1 rows no epsilon up to 100"):
        hr.plan(SCHEMA, 1, accuracy_loss=0.01)


def test_where_nothing_is_drawn_as_a_whole_there_is_no_bound(monkeypatch):
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    assert DefaultDraws.of(SCHEMA).expected(Fraction(1)) == ()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 7, 100])
def test_the_noise_of_a_leaf_is_the_least_that_holds_in_95_of_100(epsilon):
    alpha = exp(-epsilon / 5)

    def outside(k):  # by adding up the two geometric tails
        return 2 * sum((1 - alpha) / (1 + alpha) * alpha**n for n in range(k + 1, k + 1 + int(3000 / epsilon)))

    slow = next(k for k in count() if outside(k) <= 0.05) if epsilon >= 0.5 else None
    assert leaf_noise(epsilon) == slow or epsilon < 0.5
    rng = np.random.default_rng(0)
    drawn = DiscreteLaplace(Fraction(epsilon) / 5).simulate(np.zeros(20_000, dtype=np.int64), rng)
    assert np.mean(np.abs(drawn) > leaf_noise(epsilon)) < 0.056


def test_the_least_epsilon_tells_a_leaf_of_5_percent_from_none():
    for rows in (40, 400, 10**6):
        found = least_epsilon(rows)
        assert leaf_noise(found) < rows / 20 <= leaf_noise(found * 0.9)
    assert least_epsilon(1) < inf  # one row in twenty of one: told as soon as there is no noise
    assert round_up(0.1234) == 0.13
    assert round_up(2) == 2
    assert round_up(1234) == 1300


def test_the_noise_of_bins_falls_with_epsilon_and_delta_helps():
    (all_, one), (_, two) = (bin_noise(SCHEMA, Fraction(epsilon), Fraction(0), 800) for epsilon in (1, 2))
    assert all_ == 2
    assert one == pytest.approx(2 * two)
    (two_bins, four_bins) = SharedHistograms(Fraction(24, 25), (2, 4)).count_variances  # 960 parts of a thousand
    assert one == pytest.approx(1.96 * (two_bins / (1 / 2) * four_bins / (3 / 4)) ** 0.25)
    assert one < 0.8 * 1.96 * 2**0.5 * 2 / 0.96  # Laplace noise on two attributes
    wide = hr.Schema({f"x{n}": hr.Boolean() for n in range(200)}, SCHEMA.label)
    (_, gaussian), (_, pure) = (
        bin_noise(wide, Fraction(1), delta, 10**6) for delta in (Fraction(1, 10**6), Fraction(0))
    )
    assert gaussian < pure
    (of_five, *_) = SharedHistograms(Fraction(68, 100), (2,) * 5).count_variances
    assert bin_noise(wide, Fraction(1), Fraction(0), 1000) == (5, pytest.approx(1.96 * (2 * of_five) ** 0.5))
    assert rows_in_a_bin(SCHEMA, 800) == 800 * (1 / 2 + 1 / 4) / 2 / 2


def test_cut_points_are_off_by_less_where_there_are_more_rows(monkeypatch):
    monkeypatch.setattr(expected, "_DRAWS", 1)
    assert cut_points_noise(SCHEMA, Fraction(1), 1000) is None
    number = hr.Schema({"age": hr.Integer(0, 99), "bmi": hr.Real(10, 60)}, SCHEMA.label)
    few, many = (cut_points_noise(number, Fraction(1, 5), rows) for rows in (500, 50_000))
    assert few[0] == many[0] == 2
    assert many[1] / 50_000 < few[1] / 500 / 5


def test_cut_points_of_a_table_are_off_by_about_as_much(monkeypatch):
    monkeypatch.setattr(expected, "_DRAWS", 20)
    number = hr.Schema({"age": hr.Integer(0, 99)}, SCHEMA.label)
    _, off = cut_points_noise(number, Fraction(1, 10), 500)
    rng, found = np.random.default_rng(1), []
    for seed in range(20):
        age = rng.permutation(np.repeat(np.arange(100), 5))
        learned = hr.Schema.learn(age[:, None], hr.Schema({"age": number["age"]}), epsilon="0.1", random_state=seed)
        bins = np.searchsorted(learned["age"].cuts, age)  # up to a cut point belongs to the bin below it
        found.append(np.abs(np.bincount(bins, minlength=5) - 100).sum())
    assert 0.5 < np.mean(found) / off < 2
