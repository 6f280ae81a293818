"""The encoder of a schema's tests: what it answers, and pipelines of scikit-learn with it."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 -- makes the search importable
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import hedgerow as hr
from hedgerow.errors import BudgetExceededError, DomainError, PreparationWarning

SCHEMA = hr.Schema(
    {
        "age": hr.Integer(0, 120, (30, 60), missing="bin"),
        "ward": hr.Categorical(("surgery", "cardiology", "other")),
        "smoker": hr.Boolean(),
    },
    hr.Label("ill", ("no", "yes")),
)
ROWS = pd.DataFrame(
    {
        "age": [25, 31, np.nan, 90],
        "ward": ["surgery", "other", "cardiology", "other"],
        "smoker": [True, False, True, False],
    }
)
RNG = np.random.default_rng(0)
MANY = pd.DataFrame(
    {
        "age": RNG.integers(0, 121, 400).astype(float),
        "ward": RNG.choice(["surgery", "cardiology", "other"], 400),
        "smoker": RNG.random(400) < 0.5,
    }
)
ILL = np.where((MANY["age"] > 60) ^ (RNG.random(400) < 0.1), "yes", "no")


def by_hand(name, row):
    age, ward, smoker = row
    return {
        "age <= 30": age <= 30,
        "age <= 60": age <= 60,
        "age > 30": age > 30,
        "age > 60": age > 60,
        "30 < age <= 60": 30 < age <= 60,
        "age is missing": age != age,
        "ward = surgery": ward == "surgery",
        "ward = cardiology": ward == "cardiology",
        "ward = other": ward == "other",
        "smoker": smoker,
    }[name]


def test_each_column_is_the_answer_to_a_test():
    encoder = hr.SchemaEncoder(SCHEMA).fit(ROWS)
    names = list(encoder.get_feature_names_out())
    assert {"age <= 30", "age > 60", "age is missing", "ward = other", "smoker"} <= set(names)
    expected = [[bool(by_hand(name, row)) for name in names] for row in ROWS.itertuples(index=False)]
    assert encoder.transform(ROWS).tolist() == expected
    array = hr.SchemaEncoder(SCHEMA).fit(ROWS.to_numpy())
    assert array.transform(ROWS.to_numpy()).tolist() == expected


def test_no_row_is_looked_at_before_transform():
    wrong = ROWS.assign(ward="unknown")
    encoder = hr.SchemaEncoder(SCHEMA).fit(wrong)
    with pytest.raises(DomainError, match="ward"):
        encoder.transform(wrong)
    with pytest.raises(DomainError, match="smoker"):
        encoder.fit(ROWS.drop(columns="smoker"))
    with pytest.raises(TypeError, match="schema must be a Schema, got str"):
        hr.SchemaEncoder("patients.yaml").fit(ROWS)


@pytest.mark.parametrize(
    "schema",
    [
        hr.Schema.learn(MANY, hr.Schema({"age": hr.Real(0, 120)}), epsilon=5, bins=3),
        hr.Schema({"age": hr.Integer(0, 120, (30,))}, unit=hr.Unit("ward", 2)),
        hr.Schema({"age": hr.Integer(0, 120, (30,))}, weight=hr.Weight("w", 4)),
    ],
    ids=["charged", "unit", "weight"],
)
def test_a_schema_with_more_than_domains_is_refused(schema):
    """The estimator behind would have a card that knows nothing of it."""
    with pytest.raises(ValueError, match=r"no charge, unit, weight .* Schema\(schema\.attributes, schema\.label\)"):
        hr.SchemaEncoder(schema).fit(MANY)


def test_tests_that_read_alike_are_refused():
    schema = hr.Schema({"a": hr.Integer(0, 9, (3,)), "a <= 3": hr.Boolean()})
    with pytest.raises(ValueError, match="same text"):
        hr.SchemaEncoder(schema).fit(np.zeros((2, 2), dtype=int))


def test_a_row_is_encoded_as_it_is_alone():
    encoder = hr.SchemaEncoder(SCHEMA)
    together = encoder.fit_transform(MANY)
    assert all((encoder.fit_transform(MANY.iloc[[row]])[0] == together[row]).all() for row in range(0, 400, 37))
    assert encoder.fit_transform(MANY.iloc[:0]).shape == (0, together.shape[1])


def test_a_private_tree_behind_it_keeps_its_guarantee_and_is_not_warned_of():
    steps = make_pipeline(hr.SchemaEncoder(SCHEMA), hr.PrivateTreeClassifier(2.0, max_depth=2))
    steps.set_output(transform="pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PreparationWarning)
        steps.fit(MANY, ILL == "yes")
    assert steps[-1].privacy_.is_private
    assert steps.score(MANY, ILL == "yes") > 0.7
    assert "age" in str(steps[-1].tree_)


def test_it_stands_before_other_learners():
    steps = make_pipeline(hr.SchemaEncoder(SCHEMA), LogisticRegression())
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = make_pipeline(hr.SchemaEncoder(SCHEMA), LogisticRegression().set_fit_request(sample_weight=True))
        weighted.fit(MANY, ILL, sample_weight=np.ones(400))
    assert (weighted.predict(MANY) == steps.fit(MANY, ILL).predict(MANY)).all()
    assert cross_val_score(steps, MANY, ILL).mean() > 0.8


@pytest.mark.parametrize("search", [GridSearchCV, HalvingGridSearchCV])
def test_a_search_charges_the_budget_for_each_fit(search):
    budget, depths = hr.Budget(1), {"max_depth": [1, 2, 3]}
    tree = hr.PrivateTreeClassifier(0.02, schema=SCHEMA, budget=budget)
    with pytest.warns(PreparationWarning, match="a search selects by exact scores"):
        result = search(tree, depths, cv=3, error_score="raise").fit(MANY, ILL)
    fits = 3 * sum(getattr(result, "n_candidates_", [3])) + 1
    assert fits == (10 if search is GridSearchCV else 13)
    assert len(budget.charges) == fits
    assert float(budget.spent) == pytest.approx(0.02 * fits)
    assert result.best_estimator_.privacy_.is_private
    short = tree.set_params(budget=hr.Budget(0.05))
    with pytest.warns(PreparationWarning), pytest.raises(BudgetExceededError):
        search(short, depths, cv=3, error_score="raise").fit(MANY, ILL)


SCORING = {
    "score": lambda tree: cross_val_score(tree, MANY, ILL, cv=2),
    "scorer": lambda tree: cross_val_score(tree, MANY, ILL, cv=2, scoring="accuracy"),
    "pipeline": lambda tree: cross_validate(make_pipeline(tree), MANY, ILL, cv=2),
    "curve": lambda tree: validation_curve(tree, MANY, ILL, param_name="max_depth", param_range=[1, 2], cv=2),
}
STACKING = {
    "predictions": lambda tree: cross_val_predict(tree, MANY, ILL == "yes", cv=2),
    "calibration": lambda tree: CalibratedClassifierCV(tree, cv=2).fit(MANY, ILL == "yes"),
    "stack": lambda tree: StackingClassifier([("tree", tree)], cv=2).fit(MANY, (ILL == "yes").astype(int)),
}


@pytest.mark.parametrize("call", SCORING.values(), ids=SCORING)
def test_cross_validation_on_exact_rows_is_warned_of(call):
    with pytest.warns(PreparationWarning, match="cross-validation"):
        call(hr.PrivateTreeClassifier(1, max_depth=1, schema=SCHEMA))


@pytest.mark.parametrize("call", STACKING.values(), ids=STACKING)
def test_a_model_of_exact_predictions_is_warned_of(call):
    schema = hr.Schema(SCHEMA.attributes, hr.Label("ill", (0, 1)))
    tree = hr.PrivateTreeClassifier(1, max_depth=1, objective="mixed", schema=schema)
    with pytest.warns(PreparationWarning, match="another estimator learns from predictions"):
        call(tree)


def test_folds_that_the_budget_refuses_are_named_with_the_reason():
    """scikit-learn replaces the scores of failed fits by NaN; its warning quotes the error."""
    tree = hr.PrivateTreeClassifier(0.4, schema=SCHEMA, budget=hr.Budget(1), random_state=0)
    with pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 5(.|\n)*BudgetExceededError"):
        scores = cross_val_score(tree, MANY, ILL, cv=5)
    assert np.isnan(scores).sum() == 3
    with pytest.raises(BudgetExceededError):
        cross_val_score(tree, MANY, ILL, cv=5, error_score="raise")


PLAIN = """
import sys, warnings
import numpy as np
import hedgerow as hr
from sklearn.model_selection import GridSearchCV
assert "sklearn.pipeline" not in sys.modules
X, y = np.tile([[0], [1]], (30, 1)), np.tile([0, 1], 30)
warnings.simplefilter("error", hr.errors.PreparationWarning)
GridSearchCV(hr.PrivateTreeClassifier(1.0), {"max_depth": [1, 2]}, cv=2, error_score="raise").fit(X, y)
"""


def test_a_search_is_warned_of_where_nobody_has_made_a_pipeline():
    ended = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "PreparationWarning: a search selects by exact scores" in ended.stderr


class Own(GridSearchCV):
    """A search of a user's."""


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda tree: make_pipeline(MinMaxScaler(), Own(tree, {"max_depth": [1]}, cv=2)),
            {"a search", "an earlier step"},
        ),
        (lambda tree: FixedThresholdClassifier(tree), set()),
        (lambda tree: TunedThresholdClassifierCV(tree, cv=2), {"a search"}),
    ],
    ids=["both", "no search", "threshold"],
)
def test_all_that_is_in_no_charge_is_named_and_nothing_else(make, told):
    X, y = np.tile([[0.0, 1.0], [1.0, 1.0]], (30, 1)), np.tile([0, 1], 30)
    tree = hr.PrivateTreeClassifier(
        1.0,
        objective="mixed",
        schema=hr.Schema({"a": hr.Real(0, 1, (0.5,)), "b": hr.Real(0, 1)}, hr.Label("y", (0, 1))),
    )
    with warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("always", PreparationWarning)
        make(tree).fit(X, y)
    assert {" ".join(str(item.message).split()[: len(start.split())]) for item in result for start in told} >= told
    assert bool(result) == bool(told)
