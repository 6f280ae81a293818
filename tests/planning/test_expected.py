"""Bounds and noise, against what draws and releases do."""

from fractions import Fraction
from itertools import count
from math import exp, inf

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search import cost
from hedgerow.planning import expected
from hedgerow.planning.bounds import WholeDraw, models_of
from hedgerow.planning.expected import (
    DefaultDraws,
    bin_noise,
    cut_points_noise,
    leaf_noise,
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
        for bound in DefaultDraws.of(SCHEMA).expected():
            if bound.kind == kind and (kind != "tree" or bound.size <= 3):
                size = {"max_depth": bound.size} if kind == "tree" else {"max_rules": bound.size + 1}
                optimum = best(**size, schema=SCHEMA, min_support=0, regularization=0).fit(data, ill)
                assert mean <= np.sum(optimum.predict(data) != ill) + bound.excess(epsilon)


def test_bounds_fall_with_epsilon_and_state_when_they_are_met():
    bounds = DefaultDraws.of(SCHEMA).expected()
    for bound in bounds:
        enough = bound.epsilon_for(0.05, 10_000)
        assert bound.excess(Fraction(enough)) == pytest.approx(500, rel=0.01)
        values = [bound.excess(Fraction(epsilon)) for epsilon in (0.01, 0.1, 1, 10, 100)]
        assert values == sorted(values, reverse=True)
    assert [(bound.kind, bound.size, bound.leaves) for bound in bounds if bound.size < 3] == [
        *(("tree", 1, 2), ("tree", 2, 4)),
        *(("rule list", 1, 2), ("rule list", 2, 3)),
    ]


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("options", [{}, {"release_counts": True}, {"objective": "mixed"}])
def test_bounds_are_those_of_the_learners_own_plan(epsilon, options):
    """Shares of epsilon for the leaves, which may depend on epsilon, come from the plan of a fit at that epsilon."""
    learner = specification_of(hr.PrivateTreeClassifier(1, **options))
    bounds = WholeDraw.of(learner, SCHEMA).bounds()
    plan = specification_of(hr.PrivateTreeClassifier(epsilon, **options)).plan(SCHEMA)
    surprise = models_of(plan.block(0)).surprise(plan.prior, 2)
    assert bounds[1].excess(epsilon) == pytest.approx(surprise / float(plan.mechanism.weight), rel=1e-12)


def test_the_bound_by_depth_is_tighter_than_the_bound_by_leaves():
    """By hand for depth 2: the root and both nodes below it have tests, of which the second level cost more."""
    learner = specification_of(hr.PrivateTreeClassifier(1))
    draw = WholeDraw.of(learner, SCHEMA)
    prior, models = draw.plan(Fraction(1)).prior, draw.models
    leaf = models_of(draw.at(Fraction(1))[0]).surprise(prior, 1)
    assert models.surprise(prior, 2) > leaf
    options, values = np.log(models.n_options), np.log(models.n_values)
    below = -np.logaddexp(prior.log_stop(2) - values, prior.log_go(2) + 2 * _alike(prior, 3, models))
    expected = options - prior.log_go(0) + 2 * (options - prior.log_go(1) + 2 * below)
    assert models.surprise(prior, 2) == pytest.approx(expected, rel=1e-12)


def _alike(prior, level, models):
    """Return ln of the probability, at least, that all leaves from a level on have one given value: slow and plain."""
    if level == max(models.depths):
        return -np.log(models.n_values)
    below = _alike(prior, level + 1, models)
    return np.logaddexp(prior.log_stop(level) - np.log(models.n_values), prior.log_go(level) + 2 * below)


def test_no_epsilon_is_enough_if_the_tests_of_a_tree_save_too_few_rows():
    """A test at depth 1 has to save about a row at any epsilon, and a tree of two levels has two of them."""
    two = DefaultDraws.of(SCHEMA).expected()[1]
    prior = STOP_RULE.prior(Fraction(100))
    saved = 2 * prior.log_odds(1) / 100
    assert two.excess(Fraction(100)) == pytest.approx(saved, rel=0.1)
    assert two.epsilon_for(0.05, 30) == inf
    forecast = hr.plan(SCHEMA, 30, 1)
    (line,) = (line for line in str(forecast).splitlines() if "tree of depth 2, up to 4 leaves" in line)
    assert line.endswith("not reached")
    assert forecast.to_dict()["draws"][1]["epsilon_for_accuracy_loss"] is None
    with pytest.raises(ValueError, match=r"epsilon up to 100 .*1 rows"):
        hr.plan(SCHEMA, 1, accuracy_loss=0.01)


def test_where_nothing_is_drawn_as_a_whole_there_is_no_bound(monkeypatch):
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    assert DefaultDraws.of(SCHEMA).expected() == ()


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 7, 100])
def test_the_noise_of_a_leaf_is_the_least_that_holds_in_95_of_100(epsilon):
    draw = WholeDraw.of(specification_of(hr.PrivateTreeClassifier(1, release_counts=True)), SCHEMA)
    half = leaf_noise(draw.plan(Fraction(epsilon)))
    alpha = exp(-epsilon / 5)

    def outside(k):  # by adding up the two geometric tails
        return 2 * sum((1 - alpha) / (1 + alpha) * alpha**n for n in range(k + 1, k + 1 + int(3000 / epsilon)))

    slow = next(k for k in count() if outside(k) <= 0.05) if epsilon >= 0.5 else None
    assert half == slow or epsilon < 0.5
    rng = np.random.default_rng(0)
    drawn = DiscreteLaplace(Fraction(epsilon) / 5).simulate(np.zeros(20_000, dtype=np.int64), rng)
    assert np.mean(np.abs(drawn) > half) < 0.056


def test_the_noise_of_a_leaf_is_reported_only_if_counts_are_released():
    silent = WholeDraw.of(specification_of(hr.PrivateTreeClassifier(1, release_counts=False)), SCHEMA)
    assert leaf_noise(silent.plan(Fraction(1))) is None
    assert hr.plan(hr.Schema(SCHEMA.attributes, hr.Number("days", 0, 9)), 400, 1).leaf_noise is None


def test_numbers_are_rounded_up_to_two_digits():
    assert [round_up(value) for value in (0.1234, 2, 1234)] == [0.13, 2, 1300]


def test_the_noise_of_bins_falls_with_epsilon_and_delta_helps():
    (all_, first), (_, second) = (bin_noise(SCHEMA, Fraction(epsilon), Fraction(0), 800) for epsilon in (1, 2))
    assert all_ == 2
    assert first == pytest.approx(2 * second)
    (two_bins, four_bins) = SharedHistograms(Fraction(24, 25), (2, 4)).count_variances  # 960 parts of a thousand
    assert first == pytest.approx(1.96 * (two_bins / (1 / 2) * four_bins / (3 / 4)) ** 0.25)
    assert first < 0.8 * 1.96 * 2**0.5 * 2 / 0.96  # Laplace noise on two attributes
    wide = hr.Schema({f"x{n}": hr.Boolean() for n in range(200)}, SCHEMA.label)
    (_, gaussian), (_, pure) = (
        bin_noise(wide, Fraction(1), delta, 10**6) for delta in (Fraction(1, 10**6), Fraction(0))
    )
    assert gaussian < pure
    (of_five, *_) = SharedHistograms(Fraction(68, 100), (2,) * 5).count_variances
    assert bin_noise(wide, Fraction(1), Fraction(0), 1000) == (5, pytest.approx(1.96 * (2 * of_five) ** 0.5))
    assert rows_in_a_bin(SCHEMA, 800) == 800 * (1 / 2 + 1 / 4) / 2 / 2


def test_cut_points_are_more_accurate_with_more_rows(monkeypatch):
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
    rng, result = np.random.default_rng(1), []
    for seed in range(20):
        age = rng.permutation(np.repeat(np.arange(100), 5))
        learned = hr.Schema.learn(age[:, None], hr.Schema({"age": number["age"]}), epsilon="0.1", random_state=seed)
        bins = np.searchsorted(learned["age"].cuts, age)  # up to a cut point belongs to the bin below it
        result.append(np.abs(np.bincount(bins, minlength=5) - 100).sum())
    assert 0.5 < np.mean(result) / off < 2
