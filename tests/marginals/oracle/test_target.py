import numpy as np
import pandas as pd
import pytest

from hedgerow.marginals.oracle.oracle import Oracle
from hedgerow.marginals.oracle.target import binary_label
from hedgerow.schema import Label


def test_classes_are_those_given_or_by_default_of_the_labels_type():
    assert binary_label("y", None, are_boolean=True).classes == (False, True)
    assert [type(value) for value in binary_label("y", None, are_boolean=False).classes] == [int, int]
    for pair in (("yes", "no"), ["yes", "no"], (word for word in ("yes", "no")), np.array(["yes", "no"])):
        assert binary_label("y", pair, are_boolean=True) == Label("y", ("no", "yes"))


@pytest.mark.parametrize("classes", [(), ("a",), ("a", "b", "c")])
def test_other_numbers_of_classes_are_refused(classes):
    with pytest.raises(ValueError, match=rf"^expected two classes, got {len(classes)}\.$"):
        binary_label("y", classes, are_boolean=False)


@pytest.mark.parametrize("classes", ["no", 7])
def test_text_and_what_holds_no_values_are_refused(classes):
    message = r"^classes must be a pair of labels\.$"
    with pytest.raises(TypeError, match=message):
        binary_label("y", classes, are_boolean=False)
    with pytest.raises(TypeError, match=message):
        Oracle(pd.DataFrame({"a": [0, 1]}), ["n", "o"], None, classes=classes)
