"""Accuracy by group, counted row by row."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.report import Subject, accuracy
from hedgerow.report.accuracy import Accuracy
from tests.report.subjects import a_table, a_tree, overfitted


def counted(X, y, predict, groups):
    """Count row by row."""
    found = {}
    for row, label, group in zip(X.to_dict("records"), y, groups, strict=True):
        rows, right, base = found.get(group, (0, 0, 0))
        found[group] = rows + 1, right + (predict(row) == label), base + (label == "no")
    return found


def test_groups_are_counted_row_by_row():
    X, y = a_table()
    measured = Accuracy.measure(Subject.of(a_tree()), (X, y), "training rows", "no", ["age", "smoker"])

    def predict(row):
        return "yes" if row["age"] > 60 else "no"

    whole = counted(X, y, predict, [0] * len(y))[0]
    assert (measured.overall.rows, measured.overall.right, measured.overall.base) == whole
    bins = ["0 to 30" if age <= 30 else "31 to 60" if age <= 60 else "61 to 99" for age in X["age"]]
    by_age = sorted(counted(X, y, predict, bins).values())
    assert sorted((one.rows, one.right, one.base) for one in measured.groups[0][1]) == by_age
    assert [name for name, _ in measured.groups] == ["age", "smoker"]
    shares = [one.accuracy for one in measured.groups[0][1]]
    assert shares == sorted(shares)  # the worst first


def test_columns_outside_the_schema_are_groups_too_and_others_are_refused():
    X, y = a_table()
    ward = X.assign(ward=np.where(np.arange(90) < 60, "north", "south"))
    measured = Accuracy.measure(Subject.of(a_tree()), (ward, y), "rows", "no", ["ward"])
    assert {one.group for one in measured.groups[0][1]} == {"north", "south"}
    with pytest.raises(ValueError, match="town"):
        Accuracy.measure(Subject.of(a_tree()), (X, y), "rows", "no", ["town"])


def test_an_array_has_the_groups_of_the_schema_alone():
    tree, _ = overfitted()
    values = np.arange(86).reshape(-1, 1)
    with pytest.raises(ValueError, match=r"expected one of the attributes .*, got another name"):
        Accuracy.measure(Subject.of(tree), (values, values[:, 0] % 2), "rows", "0", ["code"])


def test_labels_are_compared_as_classes():
    tree, schema = overfitted()
    values = np.arange(86).reshape(-1, 1)
    measured = Accuracy.measure(Subject.of(tree, schema=schema), (values, values[:, 0] % 2), "rows", "0", [])
    assert measured.overall.right == 86
    text = DecisionTreeClassifier().fit([[0], [1]], ["a", "b"])
    assert (
        Accuracy.measure(Subject.of(text), (np.array([[0], [1], [1]]), ["a", "b", "a"]), "rows", "a", []).overall.right
        == 2
    )


def test_the_commonest_class_is_that_of_the_training_rows():
    subject = Subject.of(a_tree())
    assert accuracy.commonest(subject, pd.Series(["yes", "no", "yes"])) == "yes"
    assert accuracy.commonest(subject, pd.Series(["yes", "no"])) == "no"


def test_a_model_no_better_than_the_commonest_class_and_groups_served_worse_need_a_look():
    X, y = a_table()
    subject = Subject.of(a_tree())
    good = Accuracy.measure(subject, (X, y), "held-out rows", "no", ["age"])
    assert {one.key: one.bucket for one in accuracy.findings([good])} == {"accuracy": "supports"}
    flipped = y.where(X["age"] <= 60, "no")  # nobody is ill: the old are all told wrongly
    bad = Accuracy.measure(subject, (X, flipped), "held-out rows", "no", ["age"])
    found = {one.key: (one.bucket, one.value) for one in accuracy.findings([bad])}
    assert found == {"accuracy": ("look", 60 / 90), "groups": ("look", 1)}


def test_the_section_says_what_was_not_measured():
    assert accuracy.measured_accuracy([]).answer.startswith("Not measured.")
    X, y = a_table()
    one = Accuracy.measure(Subject.of(a_tree()), (X, y), "training rows", "no", [])
    section = accuracy.measured_accuracy([one])
    assert "--by" in section.measure
    assert "--test" in section.measure
    assert section.answer.startswith("Of 100 training rows, 97 get their own class")
