import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.inference.attacks import Donors, Perturber
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Categorical, Label, Schema
from hedgerow.tables.frames import Table
from tests.learn.tables import SCHEMA, people

FRAME = people(60)
KINDS = {
    "pandas": lambda frame: frame.set_index(np.zeros(len(frame), dtype=int)),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}


def bins(table):
    return np.column_stack(list(SCHEMA.encode(Table.of(table)).values()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distance", [1, 2, 4])
def test_exactly_distance_attributes_change_to_another_bin(kind, distance):
    rows = LabelledRows.of(KINDS[kind](FRAME.drop(columns="risk")), FRAME["risk"].to_numpy())
    perturber = Perturber.of(rows, np.arange(40), SCHEMA)
    index = np.tile(np.arange(60), 5)
    changed = perturber.draw(index, distance, np.random.default_rng(0))
    assert type(changed) is type(rows.X(index))
    assert ((bins(changed) != bins(rows.X(index))).sum(axis=1) == distance).all()
    assert np.array_equal(bins(rows.X(np.arange(60))), bins(FRAME))  # the table itself stays


def test_bits_flip():
    X = np.random.default_rng(0).integers(0, 2, (30, 6))
    rows = LabelledRows.of(X, X[:, 0])
    changed = Perturber.of(rows, np.arange(20), None).draw(np.arange(30), 3, np.random.default_rng(1))
    assert changed.dtype == X.dtype
    assert (np.abs(changed - X).sum(axis=1) == 3).all()


def test_attributes_and_other_bins_are_drawn_evenly():
    frame = pd.DataFrame({"a": [0, 1] * 3, "b": ["x", "y", "y", "y", "z", "z"]})
    schema = Schema({"a": Boolean(), "b": Categorical(("w", "x", "y", "z"))}, Label("c", (0, 1)))
    rows = LabelledRows.of(frame, [0, 1] * 3)
    n = 8000
    changed = Perturber.of(rows, np.arange(6), schema).draw(np.zeros(n, dtype=int), 1, np.random.default_rng(2))
    shares = changed.value_counts(normalize=True).to_dict()
    assert set(shares) == {(1, "x"), (0, "y"), (0, "z")}  # "w" does not occur
    expected = {(1, "x"): 0.5, (0, "y"): 0.25, (0, "z"): 0.25}
    for row, share in expected.items():
        assert abs(shares[row] - share) < 4 * (share * (1 - share) / n) ** 0.5  # false alarm: 1 in 5,000 for the test


@given(st.data())
def test_donors_are_known_and_have_another_bin(data):
    own = np.array(data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=12)))
    known = np.array(data.draw(st.lists(st.integers(0, len(own) - 1), min_size=1, unique=True)))
    donors = Donors.of(own, known)
    if len(set(own[known])) < 2:
        return
    rows = np.repeat(np.arange(len(own)), 20)
    drawn = donors.draw(rows, np.random.default_rng(0))
    assert set(drawn) <= set(known)
    assert (own[drawn] != own[rows]).all()


def test_attributes_of_one_bin_stay():
    X = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 1]])
    perturber = Perturber.of(LabelledRows.of(X, [0, 1, 1]), np.arange(3), None)
    assert list(perturber.donors) == ["x1", "x2"]


def test_bad_tables_are_refused():
    rows = LabelledRows.of(FRAME, FRAME["risk"])
    with pytest.raises(DomainError, match=r"'sex'.* LabelOnlyAttack\(schema\)"):
        Perturber.of(rows, np.arange(60), None)
    with pytest.raises(DomainError, match="column 'age'"):
        Perturber.of(LabelledRows.of(FRAME.drop(columns="age"), FRAME["risk"]), np.arange(60), SCHEMA)
    with pytest.raises(ValueError, match="attribute"):
        Perturber.of(LabelledRows.of(np.ones((4, 2)), [0, 1, 0, 1]), np.arange(4), None)
