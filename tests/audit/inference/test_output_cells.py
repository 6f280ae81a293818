"""Cells of a model's output, and overfitting that they show."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow.audit import overfit
from hedgerow.audit.inference.output_cells import class_cells, number_cells

LEARNERS = [
    RandomForestClassifier(20, random_state=0),
    BaggingClassifier(random_state=0),
    GradientBoostingClassifier(n_estimators=60, max_depth=6, random_state=0),
    HistGradientBoostingClassifier(min_samples_leaf=2, random_state=0),
    make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0)),
]


class Chances:
    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def test_class_cells_have_the_predicted_class_and_a_probability_range():
    cells = class_cells(Chances())(np.array([[0.0], [0.5], [0.55], [0.9], [0.31], [1.0]]))
    assert cells.tolist() == [
        "no, probability 0.9 to 1",
        "no, probability 0.5 to 0.6",
        "yes, probability 0.5 to 0.6",
        "yes, probability 0.9 to 1",
        "no, probability 0.6 to 0.7",
        "yes, probability 0.9 to 1",
    ]


def test_predicted_numbers_are_divided_into_deciles():
    train, test = np.arange(0.0, 60), np.arange(60.0, 100)
    cells = number_cells(lambda X: X, [train, test])
    assert np.bincount(np.concatenate([cells(train), cells(test)])).tolist() == [10] * 10
    assert np.unique(number_cells(lambda X: X, [np.zeros(9)])(np.zeros(9))).tolist() == [0]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_an_overfitted_ensemble_gives_its_training_rows_away(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(2, size=400)
    result = overfit(learner.fit(X[:200], y[:200]), (X[:200], y[:200]), (X[200:], y[200:]))
    assert result.p_value == 0.001
    assert result.vulnerability > 0.7


@pytest.mark.statistics
def test_an_ensemble_that_saw_neither_set_is_rarely_suspected():
    """At most 5 % of 400 false alarms: below 34 with a chance of more than 0.999."""
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(400):
        X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
        learner = RandomForestClassifier(5, random_state=0).fit(X[:100], y[:100])
        result = overfit(learner, (X[100:200], y[100:200]), (X[200:], y[200:]))
        alarms += result.p_value <= 0.05
    assert alarms < 34


def test_other_columns_of_a_frame_are_left_out():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    y = np.arange(60) % 2
    learner = AdaBoostClassifier(n_estimators=5).fit(frame, y)
    wide = frame.assign(house=range(60))
    assert overfit(learner, (wide, y), (wide, y)) == overfit(learner, (frame, y), (frame, y))
