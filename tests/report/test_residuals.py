"""Errors of models of numbers, held against definitions in fractions, row by row."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.tree import DecisionTreeRegressor

from hedgerow.models import Leaf, Split, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace, PermuteAndFlip
from hedgerow.report import Report, Subject, residuals
from hedgerow.report.residuals import Error
from hedgerow.schema import Boolean, Integer, Literal, Number, Schema

NUMBER = Number("days", 0, 32, levels=8)
SCHEMA = Schema({"age": Integer(0, 99, cuts=(60,)), "smoker": Boolean()}, NUMBER)
OLD = Literal("age", ">", (60,))


SQUARED = Fact("squared", bound=16)


def a_card(loss=SQUARED):
    draw = ModelDraw(Fraction(1, 2), Fraction(1, 2), loss).record
    counts = Charge(Fact("leaf_counts", of="leaves"), Fraction(1, 2), mechanism=DiscreteLaplace(Fraction(1, 2)).record)
    return PrivacyCard((Charge("draw", Fraction(1, 2), mechanism=draw), counts), noise="OpenDP", software="hedgerow")


def a_tree(counts=(None, None), card=None, said=(22.0, 6.0)):
    leaves = [Leaf(each, label=value) for each, value in zip(counts, said, strict=True)]
    return Tree(SCHEMA, Split(OLD, *leaves), card or a_card())


def a_table(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    age, smoker = rng.integers(0, 100, rows), rng.random(rows) < 0.4
    days = np.where(age > 60, 20, 5) + 6 * smoker + rng.integers(-4, 5, rows)
    return pd.DataFrame({"age": age, "smoker": smoker}), pd.Series(days, name="days")


def by_definition(truth, said, mean, median):
    """Return the means of some rows, in fractions."""
    truth, said = [Fraction(int(y)) for y in truth], [Fraction(float(y)) for y in said]
    n, own = len(truth), sum(truth) / len(truth)

    def of(loss, predicted):
        return sum(loss(p - y) for p, y in zip(predicted, truth, strict=True)) / n

    squared = of(lambda off: off**2, said)
    variance = of(lambda off: off**2, [own] * n)
    return {
        "rows": n,
        "absolute": of(abs, said),
        "median": of(abs, [median] * n),
        "squared": squared,
        "mean": of(lambda off: off**2, [mean] * n),
        "bias": of(lambda off: off, said),
        "reached": Fraction(sum(p >= y for p, y in zip(said, truth, strict=True)), n),
        "r2": 1 - squared / variance if variance else None,
    }


def test_errors_of_all_rows_and_of_groups_are_those_of_the_definition():
    (X, y), tree = a_table(), a_tree()
    known = a_table(201, seed=1)[1]
    mean, median = Fraction(int(known.sum()), 201), Fraction(int(sorted(known)[100]))
    result = Error.measure(Subject(tree), (X, y), "held_out", known.to_numpy(dtype=float), ["smoker", "age"])
    said = tree.predict(X)
    overall, groups = result.performance.overall, result.performance.groups
    for group, chosen in (
        (overall, np.ones(300, dtype=bool)),
        *((group, (X.smoker == (group.group == "true")).to_numpy()) for group in groups[0][1]),
    ):
        slow = by_definition(y[chosen], said[chosen], mean, median)
        (absolute, of_median), (squared, of_mean) = group.means
        measured = {"rows": group.rows, "absolute": absolute, "median": of_median, "squared": squared, "mean": of_mean}
        measured |= {"bias": result.bias(group), "r2": result.r2(group)}
        assert measured == pytest.approx({name: float(slow[name]) for name in measured})
        if group is overall:
            assert result.reached == pytest.approx(float(slow["reached"]))
    assert [name for name, _ in groups] == ["smoker", "age"]
    errors = [group.means[0][0] for group in groups[1][1]]
    assert errors == sorted(errors, reverse=True)  # the worst first


def test_the_sheet_has_the_scores_of_scikit_learn_in_units_of_the_target():
    train, test, tree = a_table(), a_table(100, seed=1), a_tree()
    board = Report.of(tree, train=train, test=test, by=["smoker"]).board
    section, said = board.section("accuracy"), tree.predict(test[0])
    shown = {fact.key: fact.value for fact in section.facts}
    assert shown["mae_held_out"] == pytest.approx(mean_absolute_error(test[1], said))
    assert shown["rmse_held_out"] == pytest.approx(root_mean_squared_error(test[1], said))
    assert shown["r2_held_out"] == pytest.approx(r2_score(test[1], said))
    assert "The prediction of days is off by" in section.answer
    keys = ("rows", "mae", "mae_of_median", "rmse", "rmse_of_mean", "r2", "bias")
    assert [tuple(column.key for column in grid.columns[1:]) for grid in section.grids] == [keys] * 2
    assert {grid.columns[0].name for grid in section.grids} == {"smoker"}
    (about,) = [check for check in board.checks if check.key == "accuracy"]
    assert about.status == "pass"
    assert "accuracy" not in section.answer


def test_regressors_without_gain_and_worse_groups_need_review():
    X, y = a_table()
    useless = Report.of(a_tree(said=(14.0, 14.0)), train=(X, y), test=a_table(seed=1)).board
    assert [check.status for check in useless.checks if check.key == "accuracy"] == ["review"]
    flipped = y.where(~X.smoker, 40 - y)
    result = {
        check.key: check for check in Report.of(a_tree(), train=(X, y), test=(X, flipped), by=["smoker"]).board.checks
    }
    assert result["groups"].status == "review"
    assert "for example smoker = true" in result["groups"].sentence


@pytest.mark.parametrize(
    ("loss", "judged"),
    [(Fact("absolute", range=28), "mean absolute"), (SQUARED, "root mean squared")],
)
def test_a_model_is_judged_by_the_loss_that_it_was_learned_by(loss, judged):
    """Most numbers are 2 and few are 30: the median has less absolute error than the mean, and more squared error."""
    X = pd.DataFrame({"age": [20] * 80 + [70] * 20, "smoker": [False] * 100})
    y = pd.Series([2.0] * 80 + [2.0] * 10 + [30.0] * 10)
    board = Report.of(a_tree(card=a_card(loss), said=(2.0, 2.0)), train=(X, y), test=(X, y)).board
    (about,) = [check for check in board.checks if check.key == "accuracy"]
    assert judged in about.sentence
    assert about.status == "review"  # a constant is no better than itself
    quantile = a_card(Fact("quantile", range=28, weight=0.9))
    board = Report.of(a_tree(card=quantile, said=(2.0, 2.0)), train=(X, y), test=(X, y)).board
    assert [check.status for check in board.checks if check.key == "accuracy"] == ["not_applicable"]
    assert "rows_reached_held_out" in {fact.key for fact in board.section("accuracy").facts}


def test_the_public_sheet_is_the_same_with_rows_and_without():
    train, tree = a_table(), a_tree(counts=((0, 0, 0, 30, 60, 30, 10, 0), (40, 90, 30, 0, 0, 0, 0, 0)))
    alone, with_rows = Report.of(tree), Report.of(tree, train=train, test=a_table(90, seed=1), by=["smoker"])
    assert alone.public.to_dict() == with_rows.public.to_dict()
    assert "level" in with_rows.board.section("leaves").answer
    assert "rows of 2" not in str(with_rows.board.section("leaves").to_dict())  # levels are no columns


EXACT = np.array(((0, 0, 0, 3000, 6000, 3000, 1000, 0), (4000, 9000, 3000, 0, 0, 0, 0, 0)))


def test_errors_by_counts_place_rows_in_the_middle_of_a_level():
    tree = a_tree(counts=tuple(map(tuple, EXACT)), card=PrivacyCard.none("example"))
    truth = np.concatenate([np.repeat(NUMBER.values, leaf) for leaf in EXACT])
    said = np.repeat([22.0, 6.0], EXACT.sum(axis=1))
    values = residuals._by_counts(replace(tree.leaf_release, noise=CountNoise(0.0))).values()
    assert [half for _, half in values] == [0, 0, 0]
    assert [value for value, _ in values] == pytest.approx(
        [mean_absolute_error(truth, said), root_mean_squared_error(truth, said), r2_score(truth, said)]
    )


@pytest.mark.parametrize(("scale", "is_right"), [(1, True), (0.7, False), (1.3, False)])
def test_intervals_by_released_counts_hold_in_95_of_100(scale, is_right):
    """600 releases at ε = 1/2: 3.3 standard deviations of a share of .95 are .03; noise 30 % off is told from it."""
    (_, _, r2) = (fact.value for fact in residuals.released_error(Subject(a_tree(map(tuple, EXACT)))).facts)
    rng, inside = np.random.default_rng(0), 0
    mechanism = DiscreteLaplace(Fraction(1, 2) / Fraction(scale))
    for _ in range(600):
        noisy = np.reshape(mechanism.simulate(EXACT.ravel(), rng), EXACT.shape)
        release = a_tree(tuple(map(tuple, noisy.tolist()))).leaf_release
        (value, half) = residuals._by_counts(replace(release, noise=CountNoise(2.0)))["r2"]
        inside += abs(value - r2) <= half
    assert (abs(inside / 600 - 0.95) < 0.03) is is_right


@pytest.mark.parametrize("charge", [0, 1])
def test_errors_by_counts_of_unknown_noise_are_unknown(charge):
    """Perturbing one word of the mechanism, or leaving out the charge, must not print an error as exact."""
    draw, counts = a_card().charges
    reworded = replace(counts, mechanism=PermuteAndFlip(Fraction(1, 2), 1).record)
    card = PrivacyCard(((draw,), (draw, reworded))[charge], noise="OpenDP", software="hedgerow")
    section = residuals.released_error(Subject(a_tree(counts=tuple(map(tuple, EXACT)), card=card)))
    assert section.facts == ()
    assert section.answer.startswith("Unknown: the privacy card")
    assert "R² is" not in Report.of(a_tree(counts=tuple(map(tuple, EXACT)), card=card)).to_html()


def test_errors_hidden_by_noise_are_not_stated():
    few = a_tree(counts=((0, 0, 0, 3, 6, 3, 1, 0), (4, 9, 3, 0, 0, 0, 0, 0)))
    assert "noise on the released counts is too large" in residuals.released_error(Subject(few)).answer
    none = a_tree(counts=((-1,) * 8, (0,) * 8))
    assert "noise on the released counts is too large" in residuals.released_error(Subject(none)).answer
    assert residuals.released_error(Subject(a_tree())).answer.startswith("Not measured: ")


def test_regressors_of_other_libraries_need_a_schema_with_a_number():
    (X, y), (X_test, y_test) = a_table(), a_table(seed=1)
    other = DecisionTreeRegressor(random_state=0).fit(X[["age"]], y)
    schema = Schema({"age": Integer(0, 99, cuts=())}, NUMBER)
    board = Report.of(other, schema=schema, train=(X[["age"]], y), test=(X_test[["age"]], y_test)).board
    shown = {fact.key: fact.value for fact in board.section("accuracy").facts}
    assert shown["r2_held_out"] == pytest.approx(other.score(X_test[["age"]], y_test))
    with pytest.raises(ValueError, match="needs a schema with a numeric label"):
        Report.of(other)
    with pytest.raises(ValueError, match="classes"):
        Report.of(a_tree(), class_weight={"yes": 5})


def test_numbers_without_variance_or_a_side_of_the_median_are_reported_too():
    X, _ = a_table()
    same = pd.Series(np.full(300, 7.0))
    board = Report.of(a_tree(), train=(X, same), test=(X, same)).board
    assert "not defined: all values are equal" in {fact.text for fact in board.section("accuracy").facts}
    assert "explains" not in board.section("accuracy").answer
    assert "right_guesses" not in {fact.key for fact in board.section("membership").facts}


def test_rows_are_compared_by_the_side_of_the_median():
    train, test = a_table(), a_table(100, seed=1)
    report = Report.of(a_tree(), train=train, test=test)
    assert "side of the median of the training rows" in report.board.section("membership").answer
    rows, distance = 400, 0.0
    for above in (True, False):
        sides = [pair[0].age[(pair[1] > train[1].median()) == above] > 60 for pair in (train, test)]
        distance += sum(map(len, sides)) / rows * abs(sides[0].mean() - sides[1].mean())  # of two leaves
    shown = {fact.key: fact.value for fact in report.board.section("membership").facts}
    assert shown["right_guesses"] == pytest.approx(0.5 + distance / 2)


def test_values_beyond_a_bound_are_not_clipped():
    X, y = a_table()
    board = Report.of(a_tree(), train=(X, y + 100), test=(X, y)).board
    assert {fact.key: fact.value for fact in board.section("accuracy").facts}["rmse_training"] == pytest.approx(
        sqrt(np.mean((a_tree().predict(X) - y - 100) ** 2))
    )
    with pytest.raises(ValueError, match="labels"):
        Report.of(a_tree(), train=(X, y.where(y > 5)))
