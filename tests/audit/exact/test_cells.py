"""Rows by pattern and class."""

import numpy as np

import hedgerow as hr
from hedgerow.audit.exact.outcomes import Cells
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.schema import Boolean, Label, Schema

SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))


def test_only_rows_of_the_table_are_counted():
    X, y = np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 1, 1])
    cells = Cells.of(LabelledRows.of(X, y), LabelledRows.of(np.array([[1, 0], [0, 1]]), np.array([1, 0])), SCHEMA)
    bins, counts = cells.tally.bins_and_counts()
    assert cells.n_members == 3
    assert bins[cells.patterns].tolist() == [[0, 1], [0, 1], [1, 1], [1, 0], [0, 1]]
    assert cells.levels.tolist() == [0, 1, 1, 1, 0]
    assert dict(zip(map(tuple, bins.tolist()), counts.tolist(), strict=True)) == {
        (0, 1): [1, 1],
        (1, 0): [0, 0],
        (1, 1): [0, 1],
    }
    assert cells.tally.distance(hr.Tally.count(X, y, SCHEMA)) == 0


def test_cells_without_other_rows_equal_the_tally():
    X, y = np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 1, 1])
    cells = Cells.of(LabelledRows.of(X, y), None, SCHEMA)
    assert cells.tally.distance(hr.Tally.count(X, y, SCHEMA)) == 0
