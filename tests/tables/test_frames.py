"""Frames and arrays as tables of columns."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.errors import DomainError
from hedgerow.tables.frames import Labels, Table, column_of
from tests.objects import read

NAN = float("nan")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_a_frame_gives_its_columns_by_name(make):
    table = Table.of(make({"text": ["a", " "], "number": [1.0, NAN]}))
    assert (table.names, table.width, len(table)) == (("text", "number"), 2, 2)
    assert read(table.column("number", 0)) == [1.0, None]
    assert read(table.column("text", 1)) == ["a", None]


def test_an_array_gives_its_columns_by_position_each_of_its_own_type():
    table = Table.of(np.array([[True, "a", 1], [None, "", 2.5]], dtype=object))
    assert (table.names, table.column_names, table.width, len(table)) == (None, ("x0", "x1", "x2"), 3, 2)
    assert [read(table.column("any", i)) for i in range(3)] == [[True, None], ["a", None], [1.0, 2.5]]


def test_column_names_that_are_not_text_are_read_as_text():
    table = Table.of(pd.DataFrame([[1, 2]], columns=[0, ("a", 1)]))
    assert [read(table.column(name, 0)) for name in ("0", "('a', 1)")] == [[1], [2]]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=["1", 1]),
        pa.table([[1]] * 2, ["a"] * 2),
    ],
    ids=["same", "same as text", "pyarrow"],
)
def test_repeated_column_names_are_an_error(frame):
    with pytest.raises(DomainError, match=r"occur more than once: [a1]\.$"):
        Table.of(frame)


def test_an_absent_column_is_an_error_that_lists_those_present():
    table = Table.of(pl.DataFrame({"b": [1], "a": [1]}))
    with pytest.raises(DomainError, match="column 'c'") as error:
        table.column("c", 0)
    assert error.value.column == "c"


@pytest.mark.parametrize("data", [[[1, 2]], [], "ab", pd.Series([1]), np.zeros((1, 1, 1)), {"a": [1]}, None])
def test_only_frames_and_two_dimensional_arrays_are_tables(data):
    assert Table.of_frame(data) is None
    with pytest.raises(TypeError, match="Expected a frame or a two-dimensional array"):
        Table.of(data)


@pytest.mark.parametrize("other", ["b", 7])
def test_cells_of_a_column_named_column_names_are_not_names(other):
    """pandas gives such a column as an attribute of the frame: its cells became names, and stood in errors."""
    frame = pd.DataFrame({"column_names": ["SECRET", "SECRET"], other: [1, 2]})
    table = Table.of(frame)
    assert table.names == ("column_names", str(other))
    with pytest.raises(DomainError, match=r"columns: .*column_names") as error:
        table.require(["absent"])
    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize("make", [lambda: pl.LazyFrame({"a": [1]}), lambda: duckdb.sql("SELECT 1 AS a")])
def test_frames_whose_rows_are_elsewhere_are_refused_with_a_way_out(make):
    with pytest.raises(TypeError, match=r"got a lazy .*Tally.from_table"):
        Table.of(make())


def test_labels_of_two_dimensions_are_an_error():
    with pytest.raises(TypeError, match="labels, got 2 dimensions"):
        column_of(np.zeros((2, 1)), "y")


def test_a_table_without_its_rows_has_the_types_of_its_columns():
    frame = {"text": ["a"], "number": [1.5], "truth": [True]}
    tables = (Table.of(make(frame)).without_rows() for make in (pd.DataFrame, pl.DataFrame, pa.table))
    for table in (*tables, Table.of(np.array([["a", 1.5, True]], dtype=object)).without_rows()):
        columns = [table.column(name, place) for place, name in enumerate(frame)]
        assert [len(column) for column in columns] == [len(table)] * 3 == [0] * 3
        typed = [True, False, False] if table.names else [True] * 3
        assert [column.is_text for column in columns] == typed


def test_labels_are_boolean_by_their_type():
    true, typeless = [True, False], pd.Series([True, None], dtype=object)
    held = (
        np.array(true),
        pd.Series(true),
        pd.Series(true, dtype="boolean"),
        pl.Series(true),
        pa.chunked_array([true]),
    )
    assert all(Labels.of(labels).is_boolean for labels in held)
    others = (true, typeless, np.array([0, 1]), np.array(true, dtype=object), pl.Series([0]))
    assert not any(Labels.of(labels).is_boolean for labels in others)


def test_the_error_for_a_sparse_column_states_the_reason():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1, 0])})
    with pytest.raises(DomainError, match=r"column 'a': sparse .*sparse\.to_dense"):
        Table.of(frame).column("a", 0)
    assert Table.of(frame.sparse.to_dense()).column("a", 0).values.tolist() == [0, 1, 0]
