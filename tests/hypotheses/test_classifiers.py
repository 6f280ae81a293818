"""Classifiers as data predict what they predict themselves, each row by itself."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.hypotheses.hypothesis import codes_of
from tests.hypotheses.hypotheses import GAPS, OF_NUMBERS, WITH_GAPS, N, X, Y, read, ridge

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes")])
def test_classifiers_of_numbers_predict_what_they_predict_themselves(name, labels):
    model = OF_NUMBERS[name].fit(X[:400], np.array(labels)[Y[:400]])
    predict = read(model, X, labels)
    expected = codes_of(model.predict(X), labels, N)
    assert 0 < expected.sum() < N
    assert predict().tolist() == expected.tolist()
    assert [predict(slice(i, i + 1))[0] for i in range(8)] == expected[:8].tolist()


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
    result = read(model, rows)()
    assert result[3] == -1
    assert np.delete(result, 3).tolist() == model.predict(np.delete(rows, 3, axis=0)).tolist()


def test_numbers_too_large_have_no_class_and_change_no_other_row():
    model = ridge().fit(X, Y)
    rows = X.copy()
    rows[5, 2], rows[9, 1] = 1e300, -1e300
    result = read(model, rows)()
    assert result[[5, 9]].tolist() == [-1, -1]
    assert np.delete(result, [5, 9]).tolist() == np.delete(model.predict(X), [5, 9]).tolist()
