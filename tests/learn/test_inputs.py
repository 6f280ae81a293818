"""Rows and labels of every shape: taken, or refused without a word of what they hold."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator

import hedgerow as hr
from hedgerow.errors import DomainError
from hedgerow.learn.inputs import check_labels, homogeneous_labels, number_array, validated_table
from hedgerow.tables.frames import Labels, Table

SECRET = "secret_f00d"
ROWS = np.zeros((3, 2))


def test_labels_are_one_column_as_long_as_the_table():
    for y in ([0, 1, 0], np.zeros(3), pd.Series([1, 2, 3]), ("a", "b", "c")):
        check_labels(Table.of(ROWS), Labels.of(y), None)
    for y, message in (
        (np.zeros((3, 1)), "got 2 dimensions"),
        (7, "got 0 dimensions"),
        (None, "got None; fit requires y to be passed"),
        ([0, 1], "same number of labels as X has rows"),
        ([0, 1, 0, 1], "same number of labels"),
    ):
        with pytest.raises(ValueError, match=message):
            check_labels(Table.of(ROWS), Labels.of(y), None)


def test_a_frame_stays_as_it_is_and_all_else_becomes_numbers():
    frame = pd.DataFrame({"a": ["x"]})
    assert validated_table(BaseEstimator(), frame).data.to_native() is frame
    assert number_array([[1, 0], [0, 1]]).tolist() == [[1, 0], [0, 1]]
    assert number_array([["1.5", "2"]]).tolist() == [[1.5, 2.0]]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (csr_matrix(ROWS), TypeError, "got sparse data"),
        (ROWS + 1j, ValueError, "Complex data not supported"),
        ([[SECRET]], TypeError, "X must be an array of numbers"),
        ([0, 1], ValueError, "Expected a 2D array, got 1 dimensions"),
        (np.zeros((1, 1, 1)), ValueError, "got 3 dimensions"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_and_not_quoted(X, error, message):
    with pytest.raises(error, match=message) as raised:
        number_array(X)
    assert SECRET not in repr((raised.value, raised.value.__context__))


def test_labels_are_of_one_type():
    assert homogeneous_labels([0, 1], "y").dtype.kind == "i"
    assert homogeneous_labels(["a", "b"], "y").dtype.kind == "U"
    assert homogeneous_labels(np.array(["a", "b"], dtype=object), "y").tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="y") as raised:
        homogeneous_labels(np.array([SECRET, 1], dtype=object), "y")
    assert SECRET not in repr((raised.value, raised.value.__context__))


def test_scikit_learn_takes_nan():
    assert np.isnan(validated_table(BaseEstimator(), [[np.nan, 1.0]]).data).tolist() == [[True, False]]


DAYS = np.array(["1970-01-01", "1970-01-02"], dtype="datetime64[s]")
WORDS = hr.Boolean(true_values=("yes",), false_values=("no",), missing="bin")


@pytest.mark.parametrize(
    ("kind", "cells", "labels", "problem"),
    [
        (WORDS, [True, False], [0, 1], "is read as the words true and false"),
        (hr.Categorical(("a", "b")), [True, True], [0, 1], "expected a column of text or numbers, got booleans"),
        (hr.Integer(0, 9), [True, True], [0, 1], "expected a column of text or numbers, got booleans"),
        (hr.Date("2000-01-01", "2010-01-01"), [True, True], [0, 1], "some cells are not dates"),
        (None, [True, False], pd.Series(["no", "yes"], dtype="str"), "not boolean"),
        (None, [True, False], np.array(["no", "yes"]), "not boolean"),
        (hr.Integer(18, 90, outside="clip"), DAYS, [0, 1], "got dates; declare a date"),
        (hr.Real(18, 90, missing="bin", outside="bin"), DAYS, [0, 1], "got dates"),
        (hr.Boolean(), DAYS, [0, 1], "got dates"),
    ],
)
def test_a_type_without_a_value_that_fits_is_refused_before_the_charge(kind, cells, labels, problem):
    schema = None if kind is None else hr.Schema({"x": kind}, hr.Label("label", (0, 1)))
    for rows in (2, 0):  # of no row too: no value is looked at
        budget = hr.Budget(1)
        with pytest.raises(DomainError, match=problem):
            hr.PrivateTreeClassifier(1, schema=schema, budget=budget).fit(
                pd.DataFrame({"x": cells})[:rows], labels[:rows]
            )
        assert budget.spent == 0
