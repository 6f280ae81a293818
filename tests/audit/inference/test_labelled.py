import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.audit.inference.labelled import LabelledRows, distinct

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]}, index=[7, 7, 8])
INDEX = np.array([2, 2, 0])


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_parts_are_of_the_kind_that_was_given(make):
    frame = make(FRAME)
    labels = frame["a"]
    rows = LabelledRows.of(frame, labels)
    assert type(rows.X(INDEX)) is type(frame)
    assert type(rows.y(INDEX)) is type(labels)
    assert np.asarray(rows.y(INDEX)).tolist() == [3, 3, 1]
    assert rows.values.tolist() == [1, 2, 3]


def test_a_list_of_labels_becomes_an_array():
    rows = LabelledRows.of(np.array([[1, 0], [0, 1], [1, 1]]), ["no", "yes", "no"])
    assert rows.X(INDEX).tolist() == [[1, 1], [1, 1], [1, 0]]
    assert rows.y(INDEX).tolist() == ["no", "no", "no"]


def test_values_without_an_order_are_refused():
    with pytest.raises(TypeError, match="order"):
        distinct(np.array(["a", 1], dtype=object))
    values, numbers = distinct(np.array(["b", "a", "b"]))
    assert (values, numbers.tolist()) == (["a", "b"], [1, 0, 1])
