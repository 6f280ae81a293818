"""Which rows of a unit are counted, against counting by hand; and that nobody's choice depends on another's rows."""

from collections import Counter
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from hedgerow.errors import DomainError
from hedgerow.privacy.unit import Unit
from hedgerow.schema.contributions import check_unit, counted, counted_rows, draw_key
from hedgerow.tables.frames import Table

KEY = b"a key"


def kept(whose, most, key=KEY):
    return counted(Table.of(pd.DataFrame({"who": whose})), Unit("who", most), key)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 4))
def test_of_each_unit_as_many_rows_as_it_has_or_may_have(whose, most):
    result = kept(np.array(whose, dtype=np.int64), most)
    expected = {who: min(n, most) for who, n in Counter(whose).items()}
    assert Counter(np.array(whose)[result].tolist()) == expected


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=20), st.integers(1, 6), st.integers(1, 3), st.randoms())
def test_the_rows_of_another_unit_do_not_change_the_choice(whose, more, most, random):
    """Fact 7 of docs/mathematics.md: with the same key, tables that differ by a unit differ by its rows alone."""
    places = sorted(random.sample(range(len(whose) + more), len(whose)))
    mixed = np.full(len(whose) + more, "zoe", dtype=object)
    mixed[places] = whose
    item, other = kept(np.array(whose, dtype=object), most), kept(mixed, most)
    assert other[places].tolist() == item.tolist()
    assert other.sum() - item.sum() == min(more, most)


@pytest.mark.statistics
def test_every_choice_of_rows_is_as_likely():
    """Two of four rows: six choices; false alarms one in a million."""
    result = Counter(tuple(np.flatnonzero(kept([7] * 4, 2, n.to_bytes(4, "big")))) for n in range(3000))
    assert set(result) == set(combinations(range(4), 2))
    assert chisquare(list(result.values())).pvalue > 1e-6


@pytest.mark.statistics
def test_choices_of_two_units_do_not_go_together():
    pairs = Counter(tuple(np.flatnonzero(kept(["a", "a", "b", "b"], 1, n.to_bytes(4, "big")))) for n in range(2000))
    assert chisquare([pairs[i, j] for i in (0, 1) for j in (2, 3)]).pvalue > 1e-6


def test_spellings_of_a_value_are_the_same_unit():
    """Merged units count fewer rows, which is the safe side."""
    assert kept(["7", " 7", "7.0", "8"], 1).sum() == 2
    assert kept([7.0, 7.0, 8.0], 1).sum() == 2


CLOSE = [Decimal(2**53), Decimal(2**53 + 1), Decimal(2**53 + 1)]  # one float64


@pytest.mark.parametrize(
    "whose",
    [
        pa.array(CLOSE, pa.decimal128(20, 3)),
        pa.array(CLOSE, pa.decimal256(60, 3)),
        pa.array(CLOSE, pa.decimal128(20)).dictionary_encode(),
        pd.array(CLOSE, dtype=pd.ArrowDtype(pa.decimal128(20, 3))),
        pd.Categorical(pd.array(CLOSE, dtype=pd.ArrowDtype(pa.decimal128(20, 3)))),
        pl.Series(CLOSE, dtype=pl.Decimal(20, 3)),
        np.array([2**53, 2**53 + 1, 2**53 + 1]),
        pd.array([2**53, 2**53 + 1, 2**53 + 1], dtype="Int64"),
    ],
)
def test_rounding_never_merges_two_units(whose):
    """Merged, the rows of one would take the place of the other's: twice as far apart as is charged for."""
    make = pl.DataFrame if isinstance(whose, pl.Series) else pa.table if isinstance(whose, pa.Array) else pd.DataFrame
    assert counted(Table.of(make({"who": whose})), Unit("who", 1), KEY).sum() == 2


@pytest.mark.parametrize("kind", [object, "category"])
def test_untyped_decimals_that_float64_would_round_are_errors(kind):
    fine = pd.Series([Decimal("1.5"), Decimal("1.50"), Decimal(10**14 + 1), 10**14], dtype=object)
    assert counted(Table.of(pd.DataFrame({"who": fine.astype(kind)})), Unit("who", 1), KEY).sum() == 3
    many = pd.DataFrame({"who": pd.Series(CLOSE, dtype=object).astype(kind)})
    with pytest.raises(DomainError, match=r"digits .*float64"):
        counted(Table.of(many), Unit("who", 1), KEY)


@pytest.mark.parametrize("kind", ["datetime64[us]", object, "category"])
def test_times_cannot_identify_units(kind):
    times = pd.Series(pd.to_datetime(["2020-01-01 08:00", "2020-01-01 09:00"])).astype(kind)
    with pytest.raises(DomainError, match=r"column 'who': .*values"):
        counted(Table.of(pd.DataFrame({"who": times})), Unit("who", 1), KEY)


def test_zeros_of_both_signs_are_the_same_unit():
    assert kept([0.0, -0.0, 1.0], 1).sum() == 2


@pytest.mark.parametrize("whose", [["a", None], [1.0, np.nan], ["a", " "]])
def test_a_row_without_a_unit_is_refused(whose):
    with pytest.raises(DomainError, match="column 'who': some rows have no value in this column"):
        kept(whose, 1)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_any_frame_keeps_the_same_rows(make):
    table = Table.of(make({"who": ["a", "b", "a", "a"], "n": [1, 2, 3, 4]}))
    result = counted_rows(table, Unit("who", 2), KEY)
    expected = np.array([1, 2, 3, 4])[kept(["a", "b", "a", "a"], 2)]
    assert result.column("n", 0).numbers().tolist() == expected.tolist()
    assert counted_rows(table, None, KEY) is table


def test_a_table_without_the_column_is_refused_before_a_row_is_touched():
    with pytest.raises(DomainError, match="column 'who'"):
        check_unit(Unit("who", 1), Table.of(pd.DataFrame({"n": [1]})))
    with pytest.raises(DomainError, match="who"):
        check_unit(Unit("who", 1), Table.of(np.zeros((2, 2))))


def test_keys_are_secret_but_for_seeds():
    assert draw_key(None) != draw_key(None)
    assert draw_key(3) == draw_key(np.int64(3)) != draw_key(4)
    assert len(draw_key(np.random.default_rng(0))) == 32
