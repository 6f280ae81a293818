import numpy as np
import pytest

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses.hypothesis import Always, class_codes, codes_of


@pytest.mark.parametrize("label", ["yes", 1, True])
def test_always_predicts_its_class_for_every_row(label):
    assert Always(label).predict([[1], [2], [3]]).tolist() == [label] * 3
    assert Always(label).predict([]).shape == (0,)


def test_codes_are_the_numbers_of_the_classes_and_no_class_has_none():
    assert codes_of(["no", "yes", "perhaps", None], ("no", "yes"), 4).tolist() == [0, 1, -1, -1]
    assert codes_of(np.array([1.0, 0.0, np.nan]), (0, 1), 3).tolist() == [1, 0, -1]
    assert codes_of([], (0, 1), 0).tolist() == []


@pytest.mark.parametrize("predictions", [[0, 1], [[0], [1], [1]], 1, np.zeros((3, 2))])
def test_one_prediction_a_row_is_expected(predictions):
    with pytest.raises(HypothesisError, match=r"expected predictions of shape \(3,\), got \("):
        codes_of(predictions, (0, 1), 3)


def test_a_label_that_is_no_class_is_refused():
    assert class_codes(["yes", "no"], ("no", "yes")) == (1, 0)
    with pytest.raises(HypothesisError, match="must be classes of the target: no, yes"):
        class_codes(["yes", "perhaps"], ("no", "yes"))
