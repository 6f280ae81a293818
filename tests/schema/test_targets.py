"""The label's classes, and the class of each row."""

import pandas as pd
import pytest

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Label
from hedgerow.tables.frames import column_of


@pytest.mark.parametrize("classes", [(1,), (1, 1), (), ("a", 1), (0, True), (0.5, 1.5), ([1], [2]), (None, None)])
def test_classes_are_at_least_two_distinct_values_of_one_type(classes):
    with pytest.raises(SchemaError, match="attribute 'y': key 'classes': ") as error:
        Label("y", classes)
    assert (error.value.attribute, error.value.key) == ("y", "classes")


@pytest.mark.parametrize(
    ("classes", "labels", "codes"),
    [
        ((False, True), [True, False], [1, 0]),
        ((False, True), [1, 0], [1, 0]),
        ((False, True), ["TRUE", "false"], [1, 0]),
        ((0, 1), [True, False], [1, 0]),
        ((0, 1), [1.0, 0.0], [1, 0]),
        ((3, 1, 2), ["3", " 1"], [2, 0]),
        (("b", "a"), ["b", "a "], [1, 0]),
        (("1", "2"), [2, 1.0], [1, 0]),
    ],
)
def test_labels_encode_to_the_position_of_their_class_in_order(classes, labels, codes):
    assert Label("y", classes).encode(column_of(pd.Series(labels), "y")).tolist() == codes


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None], "some labels are missing; .* classes a, b"),
        (["a", "secret"], "some labels are none of the classes a, b"),
        (["a", "A"], "some labels are none of the classes"),
        ([77, 1], "some labels are none of the classes"),
    ],
)
def test_the_error_for_an_unknown_label_lists_classes_and_quotes_none(labels, message):
    with pytest.raises(DomainError, match=f"column 'y': {message}") as error:
        Label("y", ("a", "b")).encode(column_of(pd.Series(labels), "y"))
    assert not any(bin in str(error.value) for bin in ("secret", "77", "A"))


def test_booleans_and_numbers_are_different_classes():
    """Though True == 1 in Python: their schemas have different digests, and their models predict different values."""
    assert Label("y", (False, True)) != Label("y", (0, 1))
    assert Label("y", (1, 0)) == Label("y", (0, 1))
    assert hash(Label("y", (1, 0))) == hash(Label("y", (0, 1)))
    assert Label("y", (0, 1)) != ("y", (0, 1))


def test_a_column_whose_type_holds_no_class_is_an_error_of_its_type():
    label = Label("y", ("a", "b"))
    label.check_type(column_of(pd.Series(["any"]), "y"))
    with pytest.raises(DomainError, match=r"booleans .*classes a, b"):
        label.check_type(column_of(pd.Series([True]), "y"))
