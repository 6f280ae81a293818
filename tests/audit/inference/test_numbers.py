"""Audits of models of numbers: attacks by the size of the error, leaves by level, and what is refused in words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import hedgerow as hr
from hedgerow import audit
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.targets import confidence
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.schema import Boolean, Integer, Number, Schema

SCHEMA = Schema({"a": Boolean(), "b": Integer(0, 9, cuts=(4,))}, Number("y", 0, 32, 4))
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 4)), RNG.normal(size=200)
ROWS = pd.DataFrame({"a": [True] * 12 + [False] * 9, "b": [1] * 21})
NUMBERS = np.array([3.0] * 10 + [30.0] * 2 + [17.0] * 9)
TREE = hr.OptimalTreeRegressor(schema=SCHEMA, max_depth=1).fit(ROWS, NUMBERS)
PRIVATE = hr.PrivateTreeRegressor(5.0, schema=SCHEMA, max_depth=1, release_counts=True).fit(ROWS, NUMBERS)


def test_confidence_in_a_number_decreases_with_the_scaled_error():
    y = np.array([0.0, 0.0, 4.0, 4.0])
    fitted = DummyRegressor(strategy="constant", constant=4.0).fit(np.zeros((4, 1)), y)
    result = confidence(fitted, LabelledRows.of(np.zeros((4, 1)), y))
    np.testing.assert_allclose(result, [1 / 3, 1 / 3, 1, 1], atol=1e-9)  # errors of 4, where s is 2


@pytest.mark.parametrize("attack", ["online", "offline", "rmia", "rmia-offline"])
def test_shadow_models_find_memorised_rows_only(attack):
    grown = audit.lira(DecisionTreeRegressor(), X, Y, repeats=6, attack=attack, random_state=0)
    constant = audit.lira(DummyRegressor(strategy="constant", constant=0.0), X, Y, repeats=6, attack=attack)
    assert grown.auc > 0.8
    assert constant.auc == pytest.approx(0.5)


def test_a_forest_on_the_error_finds_rows_that_a_tree_memorises():
    result = audit.membership(DecisionTreeRegressor(), X, Y, repeats=2, random_state=0)
    assert result.auc > 0.9
    piped = make_pipeline(StandardScaler(), DecisionTreeRegressor())
    assert audit.membership(piped, X, Y, repeats=2, random_state=0).auc > 0.9


def test_private_learners_of_numbers_are_attacked():
    learner = hr.PrivateTreeRegressor(0.5, schema=SCHEMA, max_depth=1)
    frame, y = ROWS.sample(400, replace=True, random_state=0), RNG.uniform(0, 32, 400)
    y = pd.Series(y, index=frame.index, name="y").reset_index(drop=True)
    frame = frame.reset_index(drop=True)
    assert 0.3 < audit.membership(learner, frame, y, repeats=2, random_state=0).auc < 0.7
    assert 0.3 < audit.lira(learner, frame, y, repeats=5, random_state=0).auc < 0.7


def test_labels_that_are_not_numbers_raise_for_regressors():
    class Odd(LinearRegression):
        def fit(self, X, _):
            return super().fit(X, np.arange(len(X)))

    words = np.array(["no", "yes"] * 100)
    for attack in (audit.membership, audit.lira):
        with pytest.raises(ArgumentError, match="numbers"):
            attack(Odd(), X, words, repeats=5)
        with pytest.raises(ArgumentError, match="classes"):
            attack(LinearRegression(), X, np.ones(200), repeats=5)


def test_a_label_only_attack_is_one_on_classes():
    with pytest.raises(ArgumentError, match="attack"):
        audit.membership(DecisionTreeRegressor(), X, Y, attack="label-only", repeats=1)


@pytest.mark.parametrize("model", [TREE, PRIVATE, PRIVATE.tree_, DecisionTreeRegressor(max_depth=1).fit(ROWS, NUMBERS)])
def test_overfitting_is_measured_of_classes(model):
    with pytest.raises(ArgumentError, match="regressor"):
        audit.overfit(model, (ROWS, NUMBERS), (ROWS, NUMBERS))


def test_leaves_are_pure_if_all_numbers_have_the_same_level():
    """Levels of 8: ten rows of the first and two of the last in one leaf; nine of the third in the other."""
    for result in (audit.leaf_risk(TREE), audit.leaf_risk(TREE, (ROWS, NUMBERS))):
        assert result.rows == (12, 9)
        assert result.counts == ((10, 0, 0, 2), (0, 0, 9, 0))
        assert (result.small, result.pure, result.few) == ((1,), (1,), (0, 1))
        assert result.classes == (4.0, 12.0, 20.0, 28.0)
    assert audit.leaf_risk(PRIVATE).view == "noisy"


def test_leaves_of_other_libraries_regressors_are_counted_by_rows():
    other = DecisionTreeRegressor(max_depth=1).fit(ROWS, NUMBERS)
    for result in (audit.leaf_risk(other, (ROWS, NUMBERS)), audit.leaf_risk(other, schema=SCHEMA)):
        assert sorted(result.rows) == [9, 12]
        assert (result.counts, result.pure, len(result.small)) == (None, (), 1)
        assert "pure leaves   unknown" in str(result)


def test_numbers_beyond_the_bounds_name_the_column_alone():
    strict = Schema(SCHEMA.attributes, Number("y", 0, 32, 4, outside="error"))
    model = hr.OptimalTreeRegressor(schema=strict, max_depth=1).fit(ROWS, NUMBERS)
    with pytest.raises(DomainError, match="column 'y'") as caught:
        audit.leaf_risk(model, (ROWS, NUMBERS + 12345.6))
    assert "1234" not in str(caught.value)


def test_a_model_of_a_number_has_rows_in_its_regions_and_no_classes():
    paths, _ = paths_of(TREE)
    assert (paths.supports, paths.counts) == ((12, 9), ((10, 0, 0, 2), (0, 0, 9, 0)))
    assert audit.reconstruction(TREE).supports == (12, 9)
    assert audit.reconstruction(PRIVATE).view == "noisy"
    assert audit.ProbabilisticDataset.of(TREE).labels is None


def test_one_run_refutes_a_tree_that_memorises_numbers():
    result = audit.one_run_epsilon(DecisionTreeRegressor(), X, Y, claim=1.0, random_state=0)
    assert result.refutes
    private = hr.PrivateTreeRegressor(1.0, schema=SCHEMA, max_depth=1, random_state=0)
    honest = audit.one_run_epsilon(private, ROWS, NUMBERS, claim=1.0, random_state=0)
    assert not honest.refutes


def test_worst_neighbours_have_numbers_at_both_ends():
    (_, fewer), (_, more) = audit.worst_neighbours(SCHEMA)["a row far out"]
    assert set(fewer) == {4.0}
    assert more.iloc[-1] == 28.0


@pytest.mark.slow
@pytest.mark.statistics
def test_a_regression_draw_with_a_threefold_weight_is_refuted():
    """Of the worst pair, the draw of one leaf's value: honest draws are not refuted, and those of 3 ε are."""
    tables = audit.worst_neighbours(SCHEMA, rows=2)["one row"]
    for epsilon, is_refuted in ((1.0, False), (3.0, True)):
        learner = hr.PrivateTreeRegressor(epsilon, schema=SCHEMA, max_depth=0, objective="absolute")
        result = audit.empirical_epsilon(learner, *tables, runs=800, claim=1.0, random_state=0)
        assert result.refutes == is_refuted
