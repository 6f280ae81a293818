"""The exact membership risk of a fit, from the estimator to the numbers of each row."""

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta

import hedgerow as hr
from hedgerow.audit import exact_membership
from hedgerow.learn.contract import specification_of
from hedgerow.learn.searches import draw_probabilities

SCHEMA = hr.Schema(
    {"smoker": hr.Boolean(), "sex": hr.Categorical(("F", "M")), "age": hr.Integer(0, 99, (30, 60))},
    hr.Label("risk", ("high", "low")),
)
TREE = hr.PrivateTreeClassifier(epsilon=1.0, release_counts=False, max_depth=2, schema=SCHEMA)
LIST = hr.PrivateRuleListClassifier(epsilon=1.0, release_counts=False, max_rules=3, schema=SCHEMA)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"smoker": rng.random(n) < 0.5, "sex": rng.choice(["F", "M"], n), "age": rng.integers(0, 100, n)}
    )
    high = frame["smoker"] & (frame["age"] > 30) ^ (rng.random(n) < 0.2)
    return frame, pd.Series(np.where(high, "high", "low"), name="risk")


def without(frame, labels, row):
    return frame.drop(index=row), labels.drop(index=row)


@pytest.mark.parametrize(
    "estimator",
    [
        TREE,
        LIST,
        hr.PrivateTreeClassifier(epsilon=0.3, release_counts=False, schema=SCHEMA),
        hr.PrivateRuleListClassifier(epsilon=3, release_counts=False, max_rules=3, max_literals=2, schema=SCHEMA),
        hr.PrivateTreeClassifier(epsilon=1.0, max_depth=2, schema=SCHEMA, release_counts=True),
        hr.PrivateTreeClassifier(epsilon=1.0, max_depth=2, schema=SCHEMA, objective="mixed"),
    ],
    ids=["tree", "list", "drawn size", "two literals", "counts", "mixed"],
)
def test_leaving_and_joining_rows_have_the_same_risk(estimator):
    """From the table with the row, and from the table without it: the same risk, by another pass."""
    frame, labels = people(40)
    result = exact_membership(estimator, frame, labels)
    for row in (0, 7, 23):
        rest = without(frame, labels, row)
        again = exact_membership(estimator, *rest, others=(frame.loc[[row]], labels.loc[[row]]))
        for name in ("error_probability", "advantage", "realised_loss", "label_advantage"):
            assert getattr(again, name)[-1] == pytest.approx(getattr(result, name)[row], rel=1e-7)
        np.testing.assert_allclose(again.trade_off(39).tpr, result.trade_off(row).tpr, atol=1e-9)
    assert (result.realised_loss <= estimator.epsilon).all()
    assert (result.advantage <= result.draw_bound).all()
    assert result.draw_bound < result.advantage_bound


def test_the_risk_of_a_small_table_by_hand():
    """One boolean, depth 0: two labels with odds e^(-w) for each error; docs/attacks.md has the formulas."""
    X, y = np.array([[0], [1], [1]]), np.array([1, 0, 0])
    result = exact_membership(hr.PrivateTreeClassifier(epsilon=1.0, release_counts=False, max_depth=0), X, y)
    w = float(result.weight)
    p = np.exp(-w * np.array([0, 1, 1])) / (1 + np.exp(-w * np.array([0, 2, 2])))  # errors without the row: 0:2, 1:1
    p[0], p[1:] = 1 / (1 + np.exp(-2 * w)), 1 / 2
    np.testing.assert_allclose(result.error_probability, p)
    with_row = p * np.exp(-w) / (1 - (1 - np.exp(-w)) * p)
    np.testing.assert_allclose(result.advantage, p - with_row)
    losses = np.maximum(np.abs(np.log(with_row / p)), np.abs(np.log((1 - with_row) / (1 - p))))
    np.testing.assert_allclose(result.realised_loss, losses)
    assert result.expected_accuracy == pytest.approx(1 - np.mean([1 / (1 + np.exp(-w)), *2 * [1 / (1 + np.exp(w))]]))


def test_an_error_probability_of_one_half_reaches_the_draw_bound():
    """tanh(w/4) is reached where the row moves a chance from 1/2 + t to 1/2 - t."""
    X, y = np.zeros((1, 1)), np.array([1])
    result = exact_membership(hr.PrivateTreeClassifier(epsilon=1.0, release_counts=False, max_depth=0), X, y)
    w = float(result.weight)
    assert result.advantage[0] == pytest.approx(0.5 - 1 / (1 + np.exp(w)))
    assert result.advantage[0] < result.draw_bound == pytest.approx(np.tanh(w / 4))


def most_told_apart(w, counts):
    """The largest advantage, by search: a loss of x of 0, 1/2 or 1 under a draw, in any shares, and one noisy count."""
    losses, grid = np.array([0.0, 0.5, 1.0]), np.linspace(0, 1, 101)
    some = np.array([(a, b, 1 - a - b) for a in grid for b in grid if a + b <= 1])
    some = np.concatenate([some, *(np.stack([p, 0 * p, 1 - p], axis=1) for p in [np.linspace(0, 1, 20_001)])])
    inside = some * np.exp(-w * losses)
    inside /= inside.sum(axis=1, keepdims=True)
    with_count = 1 / (1 + np.exp(-counts))
    joint = [np.concatenate([d * up, d * (1 - up)], axis=1) for d, up in ((some, 1 - with_count), (inside, with_count))]
    return np.abs(joint[0] - joint[1]).sum(axis=1).max() / 2


@pytest.mark.parametrize("w", [1e-3, 0.2, 1.0, 2.4, 8.0])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.9, 1.0, 1.5, 3.0])
def test_the_draw_bound_with_counts_is_tight(w, share):
    X, y = np.array([[0], [1], [1]]), np.array([1, 0, 0])
    result = exact_membership(hr.PrivateTreeClassifier(epsilon=1.0, release_counts=False, max_depth=0), X, y)
    result = replace(result, weight=w, epsilon_of_counts=share * w)
    searched = most_told_apart(w, share * w)
    assert searched <= result.draw_bound * (1 + 1e-12)
    assert searched == pytest.approx(result.draw_bound, rel=1e-6)


def test_counts_with_a_small_share_do_not_raise_the_draw_bound():
    """w = 2.4 and .6 for counts: .537, and not .672, which is the union bound."""
    assert f"{most_told_apart(2.4, 0.6):.3f}" == f"{np.tanh(0.6):.3f}" == "0.537"
    assert f"{1 - (1 - np.tanh(0.6)) * (1 - np.tanh(0.3)):.3f}" == "0.672"


@pytest.mark.parametrize("epsilon", [1e-3, 1, 50, 120, 450])
@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_extreme_risks_keep_their_precision(epsilon, n):
    """By hand: no tests, n rows of the label 0, and one of the label 1, which may hardly ever be drawn."""
    X, y = np.zeros((n + 1, 1)), np.array([0] * n + [1])
    result = exact_membership(hr.PrivateTreeClassifier(epsilon, release_counts=False, max_depth=0), X, y)
    w = Decimal(float(result.weight))
    odds = [(-w * more).exp() for more in (n, n - 1, n + 1)]  # of the label 1: without the row, with it, with a 0
    without, inside, other = ((each / (1 + each), 1 / (1 + each)) for each in odds)
    ratios = [abs((a / b).ln()) for a, b in zip(inside, without, strict=True)]
    assert result.advantage[-1] == pytest.approx(float(inside[0] - without[0]), rel=1e-9, abs=1e-14)
    assert result.label_advantage[-1] == pytest.approx(float(inside[0] - other[0]), rel=1e-9, abs=1e-14)
    assert result.realised_loss[-1] == pytest.approx(float(max(ratios)), rel=1e-9)
    assert w / 2 <= max(ratios) <= w


def test_an_empty_table_has_the_risk_of_the_first_row():
    frame, labels = people(3)
    result = exact_membership(TREE, frame[:0], labels[:0], others=(frame, labels))
    np.testing.assert_allclose(result.error_probability, 0.5)
    assert np.isnan(result.expected_accuracy)
    assert "accuracy   nan expected" in str(result)


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [200, pytest.param(5_000, marks=pytest.mark.slow)])
def test_the_best_attack_on_real_draws_reaches_the_advantage(draws):
    """Seeded. The attack is the likelihood ratio: whether the model errs on the row."""
    frame, labels = people(6, seed=3)
    estimator = hr.PrivateTreeClassifier(epsilon=3.0, release_counts=False, max_depth=1, schema=SCHEMA)
    result = exact_membership(estimator, frame, labels)
    row = int(result.advantage.argmax())
    tables = (hr.Tally.count(frame, labels, SCHEMA), hr.Tally.count(*without(frame, labels, row), SCHEMA))
    rng = np.random.RandomState(5)
    right = []
    for tally in tables:
        models = (
            hr.PrivateTreeClassifier(3.0, release_counts=False, max_depth=1, random_state=rng).fit_tally(tally)
            for _ in range(draws)
        )
        right.append(sum(model.predict(frame.loc[[row]])[0] == labels[row] for model in models))
    expected = result.trade_off(row)
    inside, outside = expected.tpr[1], expected.fpr[1]
    for count, chance in zip(right, (inside, outside), strict=True):
        low, high = beta.ppf([1e-6, 1 - 1e-6], [count, count + 1], [draws - count + 1, draws - count])
        assert low <= chance <= high
    assert inside - outside == pytest.approx(result.advantage[row])
    assert result.advantage[row] > 0.2


def test_frames_arrays_and_repeated_rows_have_the_same_risk():
    frame, labels = people(60)
    result = exact_membership(TREE, frame, labels)
    np.testing.assert_array_equal(result.advantage, exact_membership(TREE, pl.from_pandas(frame), labels).advantage)
    table = pd.DataFrame({"key": pd.cut(frame["age"], [-1, 30, 60, 99]).astype(str) + frame["sex"] + labels})
    table["key"] += frame["smoker"].astype(str)
    assert (pd.Series(result.advantage).groupby(table["key"]).nunique() == 1).all()


def test_booleans_need_no_schema():
    X = np.array([[0, 1], [1, 1], [1, 0]] * 4)
    result = exact_membership(hr.PrivateTreeClassifier(epsilon=1.0, release_counts=False), X, X[:, 0] == 1)
    assert len(result) == 12
    assert 0 < result.expected_accuracy < 1


def test_first_options_match_enumeration():
    frame, labels = people(40)
    first = exact_membership(TREE, frame, labels).first_options
    assert first.sum() == pytest.approx(1)
    assert first.is_monotonic_decreasing
    assert set(first.index) == {"none", "smoker", "sex = F", "age <= 30", "age <= 60"}
    assert first.index[0] == "smoker"


def test_mean_uses_count_the_tests_of_a_tree():
    """Of depth 1, a test is used if it is the first; of depth 2, up to three are."""
    frame, labels = people(40)
    stump = exact_membership(
        hr.PrivateTreeClassifier(1.0, release_counts=False, max_depth=1, schema=SCHEMA), frame, labels
    )
    pd.testing.assert_series_equal(
        stump.mean_uses.sort_index(), stump.first_options.drop("none").sort_index(), check_names=False
    )
    deeper = exact_membership(TREE, frame, labels).mean_uses
    assert stump.mean_uses.sum() < deeper.sum() <= 3
    assert deeper.index[0] == "smoker"


def test_worst_rows_and_groups_are_sorted_by_advantage():
    frame, labels = people(80)
    result = exact_membership(TREE, frame, labels)
    worst = result.worst(3)
    assert worst["advantage"].tolist() == sorted(result.advantage, reverse=True)[:3]
    assert list(worst.columns) == ["error_probability", "advantage", "realised_loss", "label_advantage"]
    groups = result.by_group(frame["sex"])
    assert groups["rows"].sum() == 80
    assert groups["largest advantage"].max() == result.advantage.max()
    assert groups.loc["F", "mean advantage"] == pytest.approx(result.advantage[frame["sex"] == "F"].mean())
    axes = result.plot()
    assert {"rows"} < {line.get_label() for line in axes.get_lines()}
    assert "curator's eyes only" in axes.get_title(loc="left").replace("\n", " ")
    assert "A function of the rows: for the curator's eyes only, not for release." in str(result)


def test_the_repr_has_only_the_number_of_rows_and_no_budget_is_charged():
    frame, labels = people(30)
    budget = hr.Budget(1)
    result = exact_membership(
        hr.PrivateTreeClassifier(1.0, release_counts=False, max_depth=1, schema=SCHEMA, budget=budget), frame, labels
    )
    assert repr(result) == "<ExactMembership of 30 rows; private>"
    assert budget.remaining == Fraction(1)


def test_reprs_of_private_distributions_have_no_numbers():
    draw = draw_probabilities(specification_of(TREE), hr.Tally.count(*people(30), SCHEMA))
    for private in (draw, draw.chances):
        assert re.fullmatch("<.* object at .*>", repr(private))


@pytest.mark.parametrize(
    ("estimator", "kind", "message"),
    [
        (hr.GreedyRuleListClassifier(schema=SCHEMA), TypeError, "GreedyRuleListClassifier"),
        (hr.PrivateScorecardClassifier(1.0, schema=SCHEMA), TypeError, "PrivateScorecardClassifier"),
        (hr.PrivateTreeClassifier(1.0, schema="from-data"), ValueError, "'from-data'"),
        (
            hr.PrivateTreeClassifier(
                1.0, schema=hr.Schema(SCHEMA.attributes, SCHEMA.label, no_guarantee="taken from the rows")
            ),
            ValueError,
            "voids the guarantee",
        ),
        (hr.PrivateTreeClassifier(600, max_depth=1, schema=SCHEMA), ValueError, "weight of the draw is at most 500"),
        (
            hr.PrivateTreeClassifier(
                1.0, max_depth=1, schema=hr.Schema(SCHEMA.attributes, SCHEMA.label, unit=hr.Unit("who", 1))
            ),
            ValueError,
            "unit",
        ),
        (
            hr.PrivateTreeClassifier(1.0, search="greedy", schema=SCHEMA),
            ValueError,
            "greedy",
        ),
        (
            hr.PrivateTreeClassifier(1.0, max_depth=2, lookahead=1, search="exact", schema=SCHEMA),
            ValueError,
            "2 blocks",
        ),
        (hr.PrivateTreeClassifier(schema=SCHEMA), ValueError, "epsilon, the privacy budget"),
        (hr.PrivateTreeClassifier(1.0, max_depth=-1, schema=SCHEMA), ValueError, "max_depth must be"),
    ],
)
def test_estimators_without_exact_risk_raise(estimator, kind, message):
    with pytest.raises(kind, match=message):
        exact_membership(estimator, *people(10))


def test_a_draw_with_too_many_probabilities_raises():
    """A fit may search what an audit cannot hold: 50 values of a leaf, times boxes, times bins."""
    numbers = {name: hr.Integer(0, 99, tuple(range(99))) for name in "abc"}
    wide = hr.Schema(numbers, hr.Label("y", tuple(range(10))))
    learner = hr.PrivateTreeClassifier(1.0, max_depth=3, objective="brier", search="exact", schema=wide)
    learner.search_cost(wide)
    with pytest.raises(hr.errors.SearchTooLargeError, match="588,060"):
        exact_membership(learner, np.zeros((2, 3)), [0, 1])


def test_invalid_rows_and_arguments_raise():
    frame, labels = people(10)
    result = exact_membership(TREE, frame, labels)
    with pytest.raises(ValueError, match="labels"):
        exact_membership(TREE, frame, labels[:-1])
    with pytest.raises(ValueError, match="column 'age'"):
        exact_membership(TREE, frame.assign(age=200), labels)
    with pytest.raises(TypeError, match="others"):
        exact_membership(TREE, frame, labels, others=frame)
    with pytest.raises(ValueError, match="at least one row"):
        exact_membership(TREE, frame[:0], labels[:0])
    with pytest.raises(ValueError, match=r"row .* got 10"):
        result.trade_off(10)
    for row in (-1, 1.5, "first", None, True):
        with pytest.raises(ValueError, match="row"):
            result.trade_off(row)
    with pytest.raises(ValueError, match=r"^n "):
        result.worst(0)
    with pytest.raises(ValueError, match="groups"):
        result.by_group(["a"] * 9)
    with pytest.raises(ValueError, match="groups"):
        result.by_group(["a", None] * 5)
