import numpy as np
import pandas as pd
import pytest

from hedgerow.errors import HypothesisError
from hedgerow.oracle.frame_rows import opaque_classifier
from hedgerow.schema import Label
from hedgerow.tables.frames import Table

LABEL = Label("y", (0, 1))
MADE_UP = Table.of(pd.DataFrame({"a": np.arange(8.0)}))
ROWS = Table.of(pd.DataFrame({"a": [1.0, -1.0, 3.0, np.nan, 0.5]}))


class Threshold:
    """Predicts 1 above 0.75; code of somebody else."""

    def predict(self, X):
        return (np.asarray(X["a"]) > 0.75).astype(int)


class Brittle(Threshold):
    def predict(self, X):
        values = np.asarray(X["a"])
        if np.isnan(values).any():
            raise ValueError("a row has no number")
        return np.where(values < 0, 7, super().predict(X))


class Counting(Threshold):
    def predict(self, X):
        return np.full(len(X), int(len(X) > 4))


class Uncopied(Threshold):
    def __deepcopy__(self, memo):
        raise TypeError("no copy of this")


def test_it_predicts_what_the_hypothesis_predicts():
    assert opaque_classifier(Threshold(), MADE_UP, LABEL.classes, allowed=True).codes(ROWS).tolist() == [1, 0, 1, 0, 0]


def test_a_failing_row_has_no_class_and_changes_no_other_row():
    assert opaque_classifier(Brittle(), MADE_UP, LABEL.classes, allowed=True).codes(ROWS).tolist() == [1, -1, 1, -1, 0]


def test_what_was_tried_is_what_is_asked():
    hypothesis = Threshold()
    tried = opaque_classifier(hypothesis, MADE_UP, LABEL.classes, allowed=True)
    hypothesis.predict = lambda X: np.zeros(len(X), dtype=int)
    assert tried.codes(ROWS).tolist() == [1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("hypothesis", "allowed", "match"),
    [
        (
            Threshold(),
            False,
            "own code is not run on private rows, .*A curator who trusts the code can set run_code",
        ),
        (Threshold, True, r"expected a fitted model with predict\(X\), got type"),
        ("yes", True, r"expected a fitted model with predict\(X\), got str"),
        (
            Counting(),
            True,
            "must not depend on the other rows",
        ),
        (Uncopied(), True, "the hypothesis cannot be copied: TypeError: no copy of this"),
    ],
)
def test_invalid_questions_are_refused_before_rows_are_touched(hypothesis, allowed, match):
    with pytest.raises(HypothesisError, match=match):
        opaque_classifier(hypothesis, MADE_UP, LABEL.classes, allowed=allowed)
