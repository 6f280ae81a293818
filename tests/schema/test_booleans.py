import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Label, Schema
from hedgerow.schema.booleans import advise, all_boolean, boolean_schema, default_classes


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([True, False], (0, 1)),  # the type of a list would depend on what else is in it
        ([0, 1], (0, 1)),
        (np.array([True]), (False, True)),
        (np.array([1.0]), (0, 1)),
        (pd.Series([True]), (False, True)),
        (pd.Series([True, None], dtype="boolean"), (False, True)),
        (pd.Series([1]), (0, 1)),
        (pl.Series([True, None]), (False, True)),
        (pl.Series([1]), (0, 1)),
        (pa.chunked_array([[True]]), (False, True)),
    ],
)
def test_the_type_of_the_labels_chooses_the_classes(labels, classes):
    result = boolean_schema(["a"], labels).classes
    assert (result, [type(value) for value in result]) == (classes, [type(value) for value in classes])


@pytest.mark.parametrize(
    ("labels", "name"), [([0, 1], "label"), (pd.Series([0]), "label"), (pd.Series([0], name="ill"), "ill")]
)
def test_the_label_has_its_series_name(labels, name):
    assert boolean_schema(["a"], labels).label.name == name
    assert boolean_schema(["a"], labels, "given").label.name == "given"


@pytest.mark.parametrize("one", [[0, 1, 1], [1, 1, 1], [7, 7, 7], ["x", "y", "z"], [None, 0, 1], [0.5, 2.5, np.nan]])
def test_no_value_is_looked_at(one):
    expected = Schema({"a": Boolean(), "b": Boolean()}, Label("label", (0, 1)))
    assert boolean_schema(["a", "b"], one) == expected
    assert boolean_schema(["a", "b"], pd.Series(one)) == expected


def test_the_column_of_the_label_is_not_an_attribute():
    schema = boolean_schema(["a", "ill", "b"], [0, 1], "ill")
    assert (schema.names, schema.label.name) == (("a", "b"), "ill")


def test_the_advice_names_the_column_and_three_ways_to_a_schema():
    advice = advise(DomainError("some values are outside", column="age"))
    assert advice.column == "age"
    assert str(advice).startswith("column 'age': not boolean")
    assert all(way in str(advice) for way in ("Schema.load", "Schema.from_public", "Schema.learn"))


@pytest.mark.parametrize(("are_boolean", "classes"), [(True, (False, True)), (False, (0, 1))])
def test_undeclared_classes_have_the_type_of_their_column(are_boolean, classes):
    result = default_classes(are_boolean)
    assert (result, [type(value) for value in result]) == (classes, [type(value) for value in classes])


def test_the_label_is_not_an_attribute():
    schema = all_boolean(["a", "ill", "b"], "ill", (0, 1))
    assert schema == Schema({"a": Boolean(), "b": Boolean()}, Label("ill", (0, 1)))
