import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import Shadows
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.targets import AttackTarget, confidence, shadow_fits
from hedgerow.errors import LabelsOnlyWarning

X = np.random.default_rng(0).normal(size=(31, 3))
Y = np.random.default_rng(1).integers(2, size=31)


class Recorder:
    """A learner that says of each row whether it was fitted on it; its rows are named by their only column."""

    fitted: tuple = ()

    def fit(self, X, _):
        self.rows = set(X[:, 0].tolist())
        type(self).fitted += (self.rows,)

    def predict(self, X):
        return np.array([int(name in self.rows) for name in X[:, 0].tolist()])


def test_each_row_is_in_exactly_one_fit_of_each_split():
    names = np.arange(21)[:, None]
    target = AttackTarget(Recorder, LabelledRows.of(names, np.ones(21, dtype=int)), seeded=True)
    Recorder.fitted = ()
    result = shadow_fits(target, np.random.default_rng(0).spawn(5), None, verbose=False)
    assert len(result) == 5
    for split in range(5):
        item, other = Recorder.fitted[2 * split : 2 * split + 2]
        assert not item & other
        assert item | other == set(range(21))
        assert set(np.flatnonzero(result.first[split]).tolist()) == item
    assert (result.inside == 1).all()  # said to be right by the fit that has it
    assert (result.outside == 0).all()
    assert len({frozenset(item) for item in Recorder.fitted}) == 10
    assert len({len(item) for item in Recorder.fitted}) > 2  # of a size that coins decide
    assert len(result.without(2)) == 4
    assert np.array_equal(result.without(2).first, result.first[[0, 1, 3, 4]])


def test_confidence_is_the_probability_of_the_label():
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    expected = fitted.predict_proba(X)[np.arange(31), Y]
    np.testing.assert_allclose(confidence(fitted, LabelledRows.of(X, Y)), expected, atol=1e-9)


def test_confidence_of_hard_labels_is_1_or_0():
    fitted = LinearSVC(random_state=0).fit(X, Y)
    assert confidence(fitted, LabelledRows.of(X, Y)).tolist() == (fitted.predict(X) == Y).tolist()


def test_labels_of_a_private_tree_are_attacked_without_a_warning():
    drawn = hr.PrivateTreeClassifier(50.0, max_depth=1, release_counts=False, random_state=0)
    tree = drawn.fit(X > 0, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelsOnlyWarning)
        result = confidence(tree, LabelledRows.of(X > 0, Y))
        with pytest.raises(LabelsOnlyWarning, match="label"):
            tree.predict_proba(X > 0)
    assert result.tolist() == (tree.predict(X > 0) == Y).tolist()


def test_confidence_in_a_class_that_a_fit_has_not_seen_is_nothing():
    names = pd.Series(np.array([" no", "yes", "maybe"])[np.arange(31) % 3])
    rows = LabelledRows.of(pd.DataFrame(X, columns=list("abc")), names)
    known = names != "maybe"
    fitted = DecisionTreeClassifier(random_state=0).fit(pd.DataFrame(X, columns=list("abc"))[known], names[known])
    result = confidence(fitted, rows)
    assert (result[known] == 1).all()
    assert (result[~known] == 0).all()


def test_labels_that_are_never_predicted_raise():
    for learner in (DecisionTreeClassifier(), LinearSVC()):
        with pytest.raises(ValueError, match="labels"):
            confidence(learner.fit(X, Y), LabelledRows.of(X, np.where(Y, "yes", "no")))


def test_arrays_are_of_one_shape():
    with pytest.raises(ValueError, match="shape"):
        Shadows(np.zeros((4, 3)), np.zeros((4, 2)), np.zeros((4, 3), dtype=bool))
