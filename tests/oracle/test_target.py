import numpy as np
import pandas as pd
import pytest

from hedgerow.oracle.frame_rows import target_label
from hedgerow.oracle.oracle import Oracle
from hedgerow.schema import Label


def test_classes_are_those_given_or_by_default_of_the_labels_type():
    assert target_label("y", None, are_boolean=True).classes == (False, True)
    assert [type(value) for value in target_label("y", None, are_boolean=False).classes] == [int, int]
    for pair in (("yes", "no"), ["yes", "no"], (word for word in ("yes", "no")), np.array(["yes", "no"])):
        assert target_label("y", pair, are_boolean=True) == Label("y", ("no", "yes"))


def test_there_can_be_more_than_two_classes():
    assert target_label("y", ("b", "c", "a"), are_boolean=False).classes == ("a", "b", "c")


@pytest.mark.parametrize("classes", [(), ("a",), ("a", "a")])
def test_fewer_classes_are_refused(classes):
    with pytest.raises(ValueError, match=r"^classes .*two or more"):
        target_label("y", classes, are_boolean=False)


@pytest.mark.parametrize("classes", ["no", 7])
def test_text_and_what_holds_no_values_are_refused(classes):
    message = r"^classes must be a tuple of labels, got"
    with pytest.raises(TypeError, match=message):
        target_label("y", classes, are_boolean=False)
    with pytest.raises(TypeError, match=message):
        Oracle(pd.DataFrame({"a": [0, 1]}), ["n", "o"], None, classes=classes)
