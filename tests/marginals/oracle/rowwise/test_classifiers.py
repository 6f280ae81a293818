"""Classifiers as data predict what they predict themselves, each row by itself."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from hedgerow.marginals.oracle.hypothesis import codes_of
from tests.marginals.oracle.rowwise.hypotheses import GAPS, N, X, Y, read, ridge

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OF_NUMBERS = {
    "logistic regression": LogisticRegression(),
    "logistic without intercept": LogisticRegression(fit_intercept=False),
    "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(random_state=0),
    "perceptron": Perceptron(),
    "svm": make_pipeline(StandardScaler(), LinearSVC()),
    "lda": LinearDiscriminantAnalysis(),
    "relu": make_pipeline(StandardScaler(), MLPClassifier((16, 8), max_iter=60, random_state=0)),
    "tanh": make_pipeline(RobustScaler(), MLPClassifier((9,), activation="tanh", max_iter=60, random_state=0)),
    "logistic net": make_pipeline(
        MinMaxScaler(),
        MLPClassifier((9,), activation="logistic", max_iter=300, learning_rate_init=0.03, random_state=0),
    ),
    "identity": make_pipeline(MaxAbsScaler(), MLPClassifier((9,), activation="identity", max_iter=60, random_state=0)),
    "clipped": make_pipeline(MinMaxScaler((-1, 2), clip=True), LogisticRegression()),
    "unscaled parts": make_pipeline(StandardScaler(with_mean=False), StandardScaler(with_std=False), RidgeClassifier()),
    "tree": DecisionTreeClassifier(max_depth=6),
    "deep tree": DecisionTreeClassifier(),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
    "nested": make_pipeline(
        "passthrough", make_pipeline(FunctionTransformer(), StandardScaler()), LogisticRegression()
    ),
    "by position": make_pipeline(
        make_column_transformer((StandardScaler(), [0, 3]), ("passthrough", slice(1, 2)), ("drop", [2])),
        LogisticRegression(),
    ),
    "by mask": make_pipeline(
        ColumnTransformer([("s", StandardScaler(), [True, False, False, True, False])], remainder="passthrough"),
        LogisticRegression(),
    ),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes")])
def test_classifiers_of_numbers_predict_what_they_predict_themselves(name, labels):
    model = OF_NUMBERS[name].fit(X[:400], np.array(labels)[Y[:400]])
    predict = read(model, X, labels)
    expected = codes_of(model.predict(X), labels, N)
    assert 0 < expected.sum() < N
    assert predict().tolist() == expected.tolist()
    assert [predict(slice(i, i + 1))[0] for i in range(30)] == expected[:30].tolist()


WITH_GAPS = {
    "tree": DecisionTreeClassifier(max_depth=5),
    "forest": RandomForestClassifier(20, random_state=0),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "imputed medians": make_pipeline(SimpleImputer(strategy="median"), DecisionTreeClassifier(max_depth=5)),
}


@pytest.mark.parametrize("name", WITH_GAPS)
def test_missing_values_go_where_they_go_in_the_library(name):
    model = WITH_GAPS[name].fit(GAPS[:400], Y[:400])
    assert read(model, GAPS)().tolist() == model.predict(GAPS).tolist()


def test_only_missing_values_go_right_of_an_infinite_threshold():
    model = DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan]], [0, 0, 1])
    rows = np.array([[1.0], [1e30], [np.nan]])
    assert read(model, rows)().tolist() == model.predict(rows).tolist() == [0, 0, 1]


def test_a_missing_number_that_a_classifier_does_not_take_has_no_class():
    model = ridge().fit(X, Y)
    rows = np.where(np.arange(N)[:, None] == 3, np.nan, X)
    found = read(model, rows)()
    assert found[3] == -1
    assert np.delete(found, 3).tolist() == model.predict(np.delete(rows, 3, axis=0)).tolist()


def test_numbers_too_large_have_no_class_and_change_no_other_row():
    model = ridge().fit(X, Y)
    rows = X.copy()
    rows[5, 2], rows[9, 1] = 1e300, -1e300
    found = read(model, rows)()
    assert found[[5, 9]].tolist() == [-1, -1]
    assert np.delete(found, [5, 9]).tolist() == np.delete(model.predict(X), [5, 9]).tolist()
