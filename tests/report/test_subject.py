"""Subjects of reports: models of any library."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow.privacy.unit import Unit
from hedgerow.report import Report, file_digests
from hedgerow.report.form import Form
from hedgerow.report.subject import Subject
from tests.report.subjects import SCHEMA, a_table, a_tree, overfitted, without_privacy


def test_a_fitted_estimator_is_its_model():
    X, y = a_table()
    clf = hr.OptimalTreeClassifier(max_depth=1, schema=SCHEMA).fit(X, y)
    result = Subject(clf)
    assert result.released is clf.tree_
    assert result.kind == "tree"
    assert not result.is_private
    assert Subject(a_tree()).is_private


def test_a_tree_of_another_library_has_words_with_a_schema():
    tree, schema = overfitted()
    result = Subject(tree, schema=schema)
    assert result.conditions[:2] == ("code <= 0", "0 < code <= 1")
    assert len(result.conditions) == 86
    assert "sklearn (DecisionTreeClassifier)" in result.card.no_guarantee_reason
    assert result.card.software.words == "sklearn (DecisionTreeClassifier)"
    assert Subject(tree).conditions == ()
    assert Subject(tree).title == "untitled model (DecisionTreeClassifier)"
    assert Subject(a_tree(), Form(title="T")).title == "T"


def test_stored_counts_of_another_library_are_taken_before_rows():
    tree, schema = overfitted()
    rows = np.zeros((5, 1), dtype=int), [0] * 5
    assert Subject(tree, schema=schema).leaves(rows).leaves[0].endswith("code <= 0")
    unnamed = Subject(tree)
    assert sum(unnamed.leaves(rows).rows) == sum(unnamed.leaves().rows) == tree.tree_.n_node_samples[0]
    assert unnamed.leaves().leaves[0].startswith("leaf ")


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (LogisticRegression(), {}, "cannot read LogisticRegression"),
        (a_tree(), {"schema": "schema.yaml"}, "schema must be a Schema or None, got str"),
        (a_tree(), {"form": {"title": "x"}}, "form must be a Form or None, got dict"),
        (a_tree(), {"appetite": 10}, "appetite must be an Appetite or None, got int"),
        (a_tree(), {"form": Form(sensitive=["nose"])}, "sensitive .* age, smoker, ill"),
        (a_tree(), {"form": Form(unit_column="age")}, "unit_column .* age is a column that the model uses"),
        (a_tree(), {"form": Form(second_unit="ill")}, "second_unit .* predicted column"),
    ],
)
def test_what_cannot_be_reported_on_is_refused(model, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Subject(model, **given)


def test_a_model_that_predicts_otherwise_is_refused():
    tree, _ = overfitted()

    class Broken:
        apply = tree.apply

        def predict(self, X):
            return X[:1]

    with pytest.raises(ValueError, match="one value for each row of X"):
        Subject(Broken()).predict(np.zeros((3, 1)))


def test_the_file_of_another_model_is_refused(tmp_path):
    (tmp_path / "own.json").write_text(a_tree().to_json(), encoding="utf-8")
    (tmp_path / "other.json").write_text(without_privacy().to_json(), encoding="utf-8")
    (tmp_path / "tree.pmml").write_text("<PMML/>")
    own, other, foreign = (file_digests(model=tmp_path / name) for name in ("own.json", "other.json", "tree.pmml"))
    assert Report.of(a_tree(), files=own).files == own
    assert Report.of(without_privacy(), files=foreign).files == foreign
    for model, files in ((a_tree(), other), (without_privacy(), own), (a_tree(), foreign)):
        with pytest.raises(ValueError, match=r"not the file of the model: .* pass its own file"):
            Report.of(model, files=files)
    with pytest.raises(TypeError, match=r"report\.file_digests"):
        Report.of(a_tree(), files=["own.json"])


def test_the_predicted_column_can_be_sensitive():
    """0.2.0 refused it."""
    subject = Subject(a_tree(), Form(sensitive=["ill", "smoker"]))
    assert (subject.predicted, subject.sensitive_attributes, subject.sensitive_leaves) == ("ill", ("smoker",), (1, 2))


def test_a_form_names_persons_and_the_schema_their_households():
    household = replace(a_tree(), schema=replace(a_tree().schema, unit=Unit("hh", 3)))
    assert (Subject(household).person_unit, Subject(household).second_unit) == ("hh", None)
    named = Subject(household, Form(unit_column="person"))
    assert (named.person_unit, named.second_unit) == ("person", "hh")
    assert Subject(a_tree(), Form(second_unit="smoker")).second_unit == "smoker"
