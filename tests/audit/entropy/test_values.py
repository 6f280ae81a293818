import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting.bin_values import Unspecified
from hedgerow.audit.entropy.values import Values
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Integer, Real
from hedgerow.tables.frames import Table
from tests.models.strategies import attributes

AGE = Integer(0, 9, cuts=(4,), missing="bin", missing_values=(7,), outside="bin")


@given(attributes(), st.sampled_from([None, 0.1, 0.5, 3.0]))
def test_every_value_is_found_in_its_bin(attribute, step):
    values = Values.of("a", attribute, step if isinstance(attribute, Real) else None)
    assert values.weights == tuple(len(list(bin)) for bin in values.bins)
    assert all(values.bin_of(value) == bin for bin, held in enumerate(values.bins) for value in held)


def test_values_too_many_to_list_are_counted_and_found():
    values = Values.of("n", Integer(0, 2**52, cuts=(5,)))
    assert values.count == 2**52 + 1
    assert values.bins[1][-1] == 2**52
    assert [values.bin_of(n) for n in (5, 6, 2**52, 2**52 + 1, -1, 0.5, "6", [1])] == [0, 1, 1, -1, -1, -1, -1, -1]


def test_distances_are_in_lengths_of_the_domain_and_of_marks_0_or_1():
    table = Table.of(pl.DataFrame({"age": [3, 9, None, 7, 12]}))
    result = Values.of("age", AGE).distances(table, 0)
    np.testing.assert_allclose(result[0], [(3 + 2 + 1 + 0 + 1) / 5 / 9, (2 + 3 + 5 + 6) / 4 / 9, 1, 1])
    np.testing.assert_allclose(result[1], [(9 + 8 + 7 + 6 + 5) / 5 / 9, (4 + 3 + 1 + 0) / 4 / 9, 1, 1])
    assert result[2:].tolist() == [[1, 1, 0, 1], [1, 1, 0, 1], [1, 1, 1, 0]]


def test_intervals_are_as_far_as_their_numbers_are_on_average():
    values = Values.of("r", Real(0, 10, cuts=(4,)))
    table = Table.of(pd.DataFrame({"r": [1.0, 8.0]}))
    grid = np.linspace(0, 10, 1_000_001)
    expected = [[np.abs(part - x).mean() / 10 for part in (grid[grid <= 4], grid[grid > 4])] for x in (1.0, 8.0)]
    np.testing.assert_allclose(values.distances(table, 0), expected, atol=1e-5)


def test_listed_numbers_are_as_far_as_they_differ_and_words_at_1():
    assert Values.listed("n", (0, 5, 20)).distances(Table.of(pd.DataFrame({"n": [5]})), 0).tolist() == [[0.25, 0, 0.75]]
    assert Values.listed("w", ("b", "a")).distances(Table.of(pd.DataFrame({"w": ["a"]})), 0).tolist() == [[1, 0]]
    assert Values.listed("b", (False, True)).distances(Table.of(np.array([[True]])), 0).tolist() == [[1, 0]]


def test_marks_and_intervals_are_read_back():
    frame = pd.DataFrame(
        {"age": [3, Unspecified.OUTSIDE, None, 7], "r": [pd.Interval(0, 4, closed="both"), 8.0, 9.5, 0.5]}
    )
    values, reals = Values.of("age", AGE), Values.of("r", Real(0, 10, cuts=(4,)))
    for table in (Table.of(frame), Table.of(frame.to_numpy(dtype=object))):
        assert values.codes(table, 0).tolist() == [0, 3, 2, 2]
        assert reals.codes(table, 1).tolist() == [0, 1, 1, 0]
        np.testing.assert_allclose(reals.distances(table, 1)[0], [1 / 10, 5 / 10])
    with pytest.raises(DomainError, match="bins"):
        Values.of("age", Integer(0, 9, cuts=())).codes(Table.of(frame), 0)


def test_bad_domains_and_tables_are_refused():
    for given_values, message in (
        ((), "at least one"),
        ((1, 1.0), "duplicates"),
        ((float("nan"),), "NaN"),
        (([1],), "hashable"),
    ):
        with pytest.raises(SchemaError, match=message):
            Values.listed("a", given_values)
    values = Values.listed("a", (0, None))
    assert values.codes(Table.of(pd.DataFrame({"a": [0, None]})), 0).tolist() == [0, 1]
    with pytest.raises(DomainError, match="domain") as caught:
        values.codes(Table.of(pd.DataFrame({"a": [0, 737]})), 0)
    assert "737" not in str(caught.value)
    with pytest.raises(DomainError, match="column"):
        values.codes(Table.of(pd.DataFrame({"b": [0]})), 0)
