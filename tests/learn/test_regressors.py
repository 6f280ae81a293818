"""Regressors, costs and ordered classes: by hand, by brute force over whole models, and as scikit-learn asks."""

import re
from fractions import Fraction
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import hedgerow as hr
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.learn.contract import specification_of
from hedgerow.learn.learned import LEAF_COUNTS, LEAF_SUMS, leaf_means
from hedgerow.learn.search.losses import FINE_STEPS, FINER, Loss, LossTable
from hedgerow.learn.searches import SearchPlan, draw_probabilities
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import noise_source
from hedgerow.schema import Boolean, Integer, Label, Number, OrderedLabel, Schema
from tests.learn.replay import Recorder, Replayer

REGRESSORS = [
    hr.PrivateTreeRegressor,
    hr.PrivateRuleListRegressor,
    hr.OptimalTreeRegressor,
    hr.OptimalRuleListRegressor,
]
PRIVATE = REGRESSORS[:2]
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 300)
Y = 10.0 * X[:, 0] + 5.0 * X[:, 1] + 1.5
SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Number("y", 0, 32))
ORDERED = Schema({"a": Boolean(), "b": Boolean()}, OrderedLabel("y", ("low", "mid", "high")))


def made(regressor, **parameters):
    private = {"epsilon": 20.0, "random_state": 0} if regressor in PRIVATE else {}
    return regressor(**private, **{"schema": SCHEMA, **parameters})


@parametrize_with_checks(
    [
        hr.PrivateTreeRegressor(epsilon=5.0, schema="from-data", random_state=0, max_depth=1),
        hr.PrivateScorecardRegressor(epsilon=100.0, schema="from-data", random_state=0),
    ]
)
def test_regressors_are_estimators_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([hr.OptimalRuleListRegressor(max_rules=2), hr.OptimalTreeRegressor(max_depth=1)])
def test_certified_ones_are_too(estimator, check):
    check(estimator)


@pytest.mark.parametrize("regressor", REGRESSORS)
def test_what_is_learned_is_near_the_numbers(regressor):
    model = made(regressor).fit(X, Y)
    assert model.score(X, Y) > 0.85


def test_the_best_regression_tree_predicts_the_level_of_the_mean():
    """Eight rows in one leaf: levels of width 2, values 1, 3, …; the mean of 1, 1, 1, 5 is 2, between 1 and 3."""
    schema = Schema({"a": Boolean()}, Number("y", 0, 32, 16))
    rows = np.array([[0]] * 5)
    result = hr.OptimalTreeRegressor(max_depth=0, clip=1.0, schema=schema).fit(rows, np.array([1.0, 1, 1, 5, 5]))
    assert result.tree_.predictions == (3.0,)  # Σ(y − 3)² = 12 + 8 = 20; of 1 it is 32, of 5 it is 48


@pytest.mark.parametrize("regressor", [hr.OptimalTreeRegressor, hr.OptimalRuleListRegressor])
def test_a_clip_whose_square_is_0_in_float64_is_taken(regressor):
    schema = Schema({"a": Boolean()}, Number("y", 0, 10, 8))
    for numbers, objective in (([1.0, 1.0, 1.0], 0), ([1.0, 9.0, 9.0], 1 / 3)):
        result = regressor(clip=1e-200, schema=schema).fit(np.array([[0]] * 3), np.array(numbers))
        assert (result.objective_, result.lower_bound_) == (objective, objective)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"objective": "absolute"}, 1.0),  # the median
        ({"objective": "quantile", "quantile": 0.9}, 31.0),
        ({"objective": "squared", "clip": 1.0}, 11.0),  # the mean
        ({"objective": "squared", "clip": 0.1}, 1.0),  # nearly the mode
    ],
)
def test_what_a_leaf_predicts_follows_from_the_objective(parameters, expected):
    """Of 1, 1, 1, 1, 11, 31 and 31: mean 11, median 1, ninth decile 31."""
    schema = Schema({"a": Boolean()}, Number("y", 0, 32, 16))
    y = np.array([1.0, 1, 1, 1, 11, 31, 31] * 3)
    result = hr.OptimalTreeRegressor(max_depth=0, schema=schema, **parameters).fit(np.zeros((len(y), 1)), y)
    assert result.tree_.predictions == (expected,)


def least_cost(rows, labels, cost):
    """The least cost of a tree of depth 1 by trying each test and each pair of classes."""
    classes = range(len(cost))
    best = min(sum(cost[y][said] for y in labels) for said in classes)
    for column in range(rows.shape[1]):
        sides = [[y for row, y in zip(rows, labels, strict=True) if row[column] == side] for side in (0, 1)]
        for said in product(classes, classes):
            best = min(best, sum(cost[y][label] for side, label in zip(sides, said, strict=True) for y in side))
    return best


@settings(max_examples=2 * settings.default.max_examples)
@given(st.data(), st.integers(2, 3))
def test_the_certified_optimum_of_costs_is_the_least_by_trying_each(data, n):
    entries = st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0])
    cost = [[0.0 if i == j else data.draw(entries) for j in range(n)] for i in range(n)]
    cost[0][1] = 4.0  # the largest, so that the others are whole steps
    rows = np.array(data.draw(st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=2, max_size=12)))
    labels = [data.draw(st.integers(0, n - 1)) for _ in rows]
    schema = Schema({f"x{i}": Boolean() for i in range(3)}, Label("y", tuple(range(n))))
    given_costs = {i: {j: cost[i][j] for j in range(n) if i != j} for i in range(n)}
    result = hr.OptimalTreeClassifier(max_depth=1, min_support=0, costs=given_costs, schema=schema).fit(rows, labels)
    assert result.optimal_
    assert result.objective_ * len(rows) * 4.0 == pytest.approx(least_cost(rows, labels, cost))


STAY = Number("y", 0, 32, 8)  # levels of width 4


@given(st.lists(st.lists(st.integers(0, 9), min_size=8, max_size=8), min_size=1, max_size=3))
def test_without_noise_the_mean_of_a_leaf_is_that_of_its_levels(rows):
    """By the two sums and by the counts alike; of a leaf without rows it is the drawn level."""
    for of in (LEAF_COUNTS, LEAF_SUMS):
        means = leaf_means(STAY, np.array(rows) @ of.weights(STAY), Fraction(0), [3] * len(rows))
        for counts, mean in zip(rows, means, strict=True):
            levels = [STAY.values[k] for k, count in enumerate(counts) for _ in range(count)]
            assert mean == pytest.approx(sum(levels) / len(levels) if levels else 14.0, abs=0.01)


def test_a_mean_counts_by_the_inverse_of_its_variance():
    """By hand: 70 and 630 are 100 rows, of mean 0.7 levels, beside a drawn 3 that is taken to be off by half.

    At a scale of 1 row in both counts 10 and 90 the error is √2·√(6.3² + 0.7²)/100 = 0.0896 levels, at 10 it is 0.896.
    """
    for scale, error in ((7, 0.0896), (70, 0.896)):
        (mean,) = leaf_means(STAY, np.array([[70, 630]]), Fraction(scale), [3])
        level = (0.7 * 0.25 + 3 * error**2) / (0.25 + error**2)
        assert mean == pytest.approx(2 + 4 * level, abs=0.01)


def test_leaves_without_a_drawn_level_are_drawn_to_the_mean_of_all():
    """Of the second leaf nothing is known: it has the mean of all, near that of the first."""
    mean, mean_at_noise = leaf_means(STAY, np.array([[7000, 0], [3, 4]]), Fraction(7), None)
    assert mean > 29
    assert mean_at_noise == pytest.approx(mean, abs=2)
    assert leaf_means(STAY, np.array([[-5, 2]]), Fraction(7), None) == [16.0]  # no rows: the middle


@pytest.mark.parametrize(("of", "sensitivity"), [(LEAF_COUNTS, 1), (LEAF_SUMS, 7)])
def test_a_row_changes_what_is_released_of_leaves_by_their_sensitivity(of, sensitivity):
    """One row of each level more, by one: in ℓ1. No smaller sensitivity could be declared."""
    changes = {int(np.abs(np.eye(8, dtype=int)[level] @ of.weights(STAY)).sum()) for level in range(8)}
    assert changes == {sensitivity}
    assert of.mechanism(STAY, Fraction(1)).sensitivity == sensitivity


def test_costs_move_a_private_tree_toward_the_class_that_is_dear_to_miss():
    """23 in 100 are positive: by errors the best constant is no, at 5 to 1 it is yes."""
    rows = np.zeros((2000, 1), dtype=int)
    labels = np.array([1] * 460 + [0] * 1540)
    schema = Schema({"a": Boolean()}, Label("y", (0, 1)))
    parameters = {"epsilon": 1.0, "max_depth": 0, "schema": schema, "random_state": 1}
    assert hr.PrivateTreeClassifier(**parameters).fit(rows, labels).tree_.predictions == (0,)
    for dear in ({"class_weight": {1: 5}}, {"costs": {1: {0: 5}, 0: {1: 1}}}):
        model = hr.PrivateTreeClassifier(**parameters, **dear).fit(rows, labels)
        assert model.tree_.predictions == (1,)
        assert "cost of errors, in units of 5" in str(model.privacy_)


def test_ordered_classes_are_missed_by_as_many_as_lie_between():
    rows = np.zeros((90, 2), dtype=int)
    labels = np.array(["low"] * 40 + ["mid"] * 15 + ["high"] * 35)
    nearest = hr.OptimalTreeClassifier(max_depth=0, objective="absolute", schema=ORDERED).fit(rows, labels)
    assert nearest.tree_.predictions == ("mid",)  # 75 classes away, of low 85, of high 95
    assert hr.OptimalTreeClassifier(max_depth=0, schema=ORDERED).fit(rows, labels).tree_.predictions == ("low",)
    private = hr.PrivateTreeClassifier(5.0, objective="absolute", schema=ORDERED, max_depth=0, random_state=0)
    assert private.fit(rows, labels).tree_.predictions == ("mid",)


def test_a_table_is_shifted_and_divided_so_that_a_row_costs_0_to_1():
    table = LossTable.of_distances((0.0, 1.0, 3.0), lambda off: off**2, Fact("absolute_classes", classes=2))
    assert table.entries == tuple(
        tuple(Fraction(entry, 9) for entry in row) for row in ((0, 1, 9), (1, 0, 4), (9, 4, 0))
    )
    shifted = LossTable(Fact("absolute_classes", classes=1), ((Fraction(3), Fraction(5)), (Fraction(7), Fraction(4))))
    assert shifted.entries == ((0, Fraction(2, 3)), (1, 0))
    loss = Loss.of(table, 3, FINE_STEPS)
    assert loss.steps == FINE_STEPS * FINER
    assert loss.table[0] == (0, round(loss.steps / 9), loss.steps)


@pytest.mark.parametrize("costs", [[[0, 0], [0, 0]], [[1, 1], [1, 0]], [[0, -1], [1, 0]], [[0, float("nan")], [1, 0]]])
def test_costs_that_are_none_are_refused(costs):
    with pytest.raises(ArgumentError, match=r"at least 0|equal losses"):
        LossTable.of_costs(np.array(costs, dtype=float))


CLASSES = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_weight": "balanced"}, "class frequencies"),
        ({"class_weight": {0: 2}, "costs": {0: {1: 1}, 1: {0: 1}}}, "costs and class_weight cannot be combined"),
        ({"class_weight": {0: 2}, "objective": "brier"}, "objective must be 'errors' with costs or class_weight"),
        ({"class_weight": {2: 2}}, "expected classes among 0, 1, got 2"),
        ({"class_weight": {0: -1}}, "must be a finite number > 0, got -1"),
        ({"costs": {0: {1: 1}}}, "costs must include every error"),
        ({"costs": {0: {1: -1}, 1: {0: 1}}}, "costs must be at least 0"),
        ({"costs": {0: {1: 10**400}, 1: {0: 1}}}, "costs must be finite numbers"),
        ({"objective": "absolute"}, "objective='absolute' needs ordered classes"),
        ({"search": "greedy", "lookahead": 2}, "lookahead must be None with search='greedy'"),
    ],
)
def test_a_loss_that_does_not_fit_is_refused_before_the_charge(parameters, message):
    budget = hr.Budget(1)
    estimator = hr.PrivateTreeClassifier(1.0, schema=CLASSES, budget=budget, **parameters)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, X[:, 0])
    assert budget.spent == 0


@pytest.mark.parametrize("regressor", REGRESSORS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "errors"}, "objective must be one of squared, absolute, quantile, got 'errors'"),
        ({"quantile": 0.9}, "quantile needs objective='quantile'"),
        ({"objective": "quantile", "quantile": 1.5}, "quantile must be"),
        ({"clip": 0}, "clip must be a number > 0 and <= 1, got 0"),
        ({"clip": True}, "clip must be a number"),
        ({"objective": "absolute", "clip": 0.2}, "clip needs objective='squared'"),
    ],
)
def test_parameters_of_regressors_are_checked(regressor, parameters, message):
    with pytest.raises(ValueError, match=message):
        made(regressor, **parameters).fit(X, Y)


@pytest.mark.parametrize("regressor", PRIVATE)
@pytest.mark.parametrize("parameters", [{}, {"release_counts": True}, {"objective": "absolute"}])
def test_what_is_grown_greedily_is_near_the_numbers(regressor, parameters):
    size = {hr.PrivateTreeRegressor: "max_depth", hr.PrivateRuleListRegressor: "max_rules"}[regressor]
    model = made(regressor, search="greedy", **{size: 4}, **parameters).fit(X, Y)
    assert model.score(X, Y) > 0.75  # of a list, whose rules have one literal, three leaves
    assert "permute-and-flip" in str(model.privacy_)


@pytest.mark.parametrize("regressor", PRIVATE)
def test_where_no_exact_search_is_quick_auto_grows_greedily(regressor, monkeypatch):
    monkeypatch.setattr("hedgerow.learn.searches.choose_search", lambda *_, **_options: SearchPlan())
    model = made(regressor).fit(X, Y)
    assert model.score(X, Y) > 0.5
    assert "greedy, because no exact search is within the limits" in str(model.privacy_)


def test_a_greedy_classifier_predicts_the_class_of_least_cost():
    """23 in 100 are positive, 46 in one half of the rows: at 3 to 1 it is dearer to miss them there, not elsewhere."""
    rows, labels = np.repeat([[0], [1]], 1000, axis=0), np.array([0] * 1000 + [1] * 460 + [0] * 540)
    schema = Schema({"a": Boolean()}, Label("y", (0, 1)))
    for maker, size in ((hr.PrivateTreeClassifier, "max_depth"), (hr.PrivateRuleListClassifier, "max_rules")):
        parameters = {"search": "greedy", "schema": schema, "random_state": 0, size: 2}
        assert set(maker(5.0, **parameters).fit(rows, labels).predict(rows)) == {0}
        dear = maker(5.0, class_weight={1: 3}, **parameters).fit(rows, labels)
        assert dear.predict(np.array([[0], [1]])).tolist() == [0, 1]
        assert dear._model.leaves[0].counts is not None


@pytest.mark.parametrize("regressor", REGRESSORS)
def test_classes_are_not_predicted_as_numbers_nor_numbers_as_classes(regressor):
    with pytest.raises(SchemaError, match="the label has classes, but a regressor"):
        made(regressor, schema=CLASSES).fit(X, X[:, 0])
    for classifier in (hr.PrivateTreeClassifier(1.0, schema=SCHEMA), hr.OptimalTreeClassifier(schema=SCHEMA)):
        with pytest.raises(SchemaError, match="classes"):
            classifier.fit(X, Y)
    assert not hasattr(made(regressor), "predict_proba")


@pytest.mark.parametrize("regressor", PRIVATE)
def test_all_of_epsilon_is_charged_and_said(regressor):
    budget = hr.Budget(2)
    model = regressor(1.0, schema=SCHEMA, budget=budget, release_counts=True).fit(X, Y)
    assert budget.spent == 1
    assert model.privacy_.is_private
    assert float(model.privacy_.epsilon) == 1
    assert "loss: squared error, scaled so that an error of 16 or more costs 1" in str(model.privacy_)
    assert "predictions (exponential mechanism over all models" in str(model.privacy_)


UNFITTED = [made(regressor, **more) for regressor in REGRESSORS for more in ({}, {"objective": "absolute"})]
UNFITTED += [
    made(regressor, **more) for regressor in PRIVATE for more in ({"release_counts": True}, {"search": "greedy"})
]


@pytest.fixture(scope="module", params=UNFITTED, ids=lambda unfitted: type(unfitted).__name__)
def fitted(request):
    return request.param.fit(X, Y)


def test_sql_python_and_files_predict_the_same_numbers(fitted, tmp_path):
    model, frame = fitted._model, pd.DataFrame(X[:4], columns=["a", "b"])
    expected = fitted.predict(frame).tolist()
    table = pa.Table.from_pandas(frame)
    with duckdb.connect() as connection:
        connection.register("rows", table)
        answers = connection.execute(f"SELECT y, typeof(y) FROM (SELECT {model.to_sql()} AS y FROM rows)").fetchall()
    assert answers == [(value, "DOUBLE") for value in expected]
    space: dict = {}
    exec(model.to_python(), space)
    assert [space["predict"](row) for row in frame.to_dict("records")] == expected
    model.save(tmp_path / "m.json")
    again = hr.load_model(tmp_path / "m.json")
    assert again == model
    assert again.predict(frame).tolist() == expected


def test_numbers_are_shown_in_text_tables_pages_and_pictures(fitted):
    model = fitted._model
    said = f"{round(model.predictions[0], 1):g}"  # to a thousandth of the range of 32, rounded up to a power of ten
    assert said in str(model)
    assert said in fitted.to_page()
    assert all(record["probability"] is None for record in model.get_rules())
    (listing,) = model.listings()
    assert "probability" not in listing.columns
    axes = fitted.plot()
    assert any(said in text.get_text() for text in axes.texts) or axes.get_xlabel() == "y"


def test_quantiles_are_read_from_the_counts_by_level():
    """Four levels of 8: 25, 50, 25 and 0 of 100 rows; half of the rows are below 12, nine tenths below 20.8."""
    schema = Schema({"a": Boolean()}, Number("y", 0, 32, 4))
    y = np.repeat([4.0, 12.0, 20.0], [25, 50, 25])
    model = hr.OptimalTreeRegressor(max_depth=0, schema=schema).fit(np.zeros((100, 1)), y)
    assert model.predict_quantiles(np.zeros((1, 1)), [0.0, 0.25, 0.5, 0.9, 1.0]).tolist() == [
        pytest.approx([0, 8, 12, 20.8, 24])
    ]
    with pytest.raises(ValueError, match="quantiles must be"):
        model.predict_quantiles(np.zeros((1, 1)), [1.2])
    labels_only = made(hr.PrivateTreeRegressor).fit(X, Y)
    with pytest.raises(TypeError, match="released counts"):
        labels_only.predict_quantiles(X[:1])


@pytest.mark.parametrize("regressor", PRIVATE)
def test_means_of_leaves_are_released_by_default_where_errors_are_squared(regressor):
    """Rows are spread evenly over 0 to 16 and 16 to 24: means of 8 and 20, at a tenth of ε."""
    rows = np.repeat([[0, 0], [1, 0]], 4000, axis=0)
    y = np.concatenate([np.linspace(0, 15.99, 4000), np.linspace(16, 23.99, 4000)])
    model = regressor(1.0, schema=SCHEMA, random_state=0).fit(rows, y)
    draw, sums = model.privacy_.charges
    assert (draw.epsilon, sums.epsilon) == (Fraction(9, 10), Fraction(1, 10))
    assert sums.mechanism.words == "discrete Laplace, sensitivity 31, scale 310"
    assert model.predict(np.array([[0, 0], [1, 0]])) == pytest.approx([8, 20], abs=0.15)
    assert re.search(r"about (3,9|4,0)\d0 rows", str(model._model))
    for parameters in ({"release_means": False}, {"objective": "absolute"}):
        (alone,) = regressor(1.0, schema=SCHEMA, **parameters).fit(rows, y).privacy_.charges
        assert alone.epsilon == 1


def test_a_leaf_whose_sums_are_noise_predicts_what_was_drawn():
    model = hr.PrivateTreeRegressor(0.01, schema=SCHEMA, max_depth=0, random_state=3).fit(X[:8], Y[:8]).tree_
    (leaf,) = model.leaves
    assert leaf.mean == pytest.approx(leaf.label, abs=0.1)
    assert "at most 1,000 rows, possibly none" in str(model)


def test_exact_chances_know_the_noise_of_the_sums():
    result = draw_probabilities(
        specification_of(hr.PrivateTreeRegressor(1.0, schema=SCHEMA)), hr.Tally.count(X, Y, SCHEMA)
    )
    top = SCHEMA.target.n_levels - 1
    assert result.counts_epsilon == Fraction(1, 10)
    assert result.step == pytest.approx(0.1 / top)
    assert result.added.tolist() == [[level, top - level] for level in range(top + 1)]


def test_a_number_has_no_probabilities_and_no_decisions():
    model = made(hr.PrivateTreeRegressor, release_counts=True).fit(X, Y).tree_
    for ask in (model.predict_proba, model.decide):
        with pytest.raises(SchemaError, match="classes"):
            ask(X)


TABLE = Schema({"a": Integer(0, 9, cuts=(2, 5)), "b": Boolean(missing="bin")}, Number("y", -5, 5, 8))
row_of = st.tuples(st.integers(0, 9), st.sampled_from([True, False, None]), st.floats(-8, 8))


def frame_of(rows):
    return pd.DataFrame({"a": [r[0] for r in rows], "b": [r[1] for r in rows]}), pd.Series(
        [r[2] for r in rows], name="y"
    )


@pytest.mark.parametrize("examples", [3, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("regressor", PRIVATE)
def test_regressors_do_the_same_on_neighbouring_tables(regressor, examples):
    @settings(max_examples=examples)
    @given(
        st.lists(row_of, min_size=1, max_size=12),
        row_of,
        st.sampled_from(["squared", "absolute", "quantile"]),
        st.sampled_from(
            [
                {},
                {"release_counts": True},
                {"release_means": False},
                {"lookahead": 1},
                {"search": "greedy"},
                {"search": "greedy", "release_counts": True},
            ]
        ),
        st.integers(0, 2**32 - 1),
    )
    def same(rows, row, objective, more, seed):
        size = {hr.PrivateTreeRegressor: "max_depth", hr.PrivateRuleListRegressor: "max_rules"}[regressor]
        more = {} if objective != "squared" and "search" in more and "release_counts" in more else more
        parameters = {"schema": TABLE, "objective": objective, size: 2, **more}
        for table, neighbour in ((rows, [*rows, row]), ([*rows, row], rows)):
            recorder = Recorder(noise_source(np.random.default_rng(seed)))
            result = regressor(1, random_state=recorder, **parameters).fit(*frame_of(table))
            assert sum((mechanism.epsilon for mechanism, _, _ in recorder.trace), Fraction(0)) == 1
            replayer = Replayer(recorder.trace)
            again = regressor(1, random_state=replayer, **parameters).fit(*frame_of(neighbour))
            assert again._model._structure() == result._model._structure()
            assert [c.epsilon for c in again.privacy_.charges] == [c.epsilon for c in result.privacy_.charges]
            replayer.finish(1)

    same()
