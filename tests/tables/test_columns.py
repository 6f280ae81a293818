import time
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.errors import DomainError
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table, column_of
from tests.objects import all_that_is_said, objects, read

SECRET = "secret_f00d"
NOT_UTF8 = pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")
NAN = float("nan")


TEXT, NUMBERS, WHOLE, BOOLEANS = ["b", None, "a"], [1.5, None, -2.0], [3, None, 1], [True, None, False]
HOLDERS = {
    "pandas text": (pd.Series(TEXT, dtype="str"), TEXT),
    "pandas text of pyarrow": (pd.Series(TEXT, dtype="string[pyarrow]"), TEXT),
    "pandas objects, text": (pd.Series(TEXT, dtype=object), TEXT),
    "pandas categories": (pd.Series(TEXT, dtype="category"), TEXT),
    "pandas float64": (pd.Series(NUMBERS, dtype=float), NUMBERS),
    "pandas float32": (pd.Series(NUMBERS, dtype=np.float32), NUMBERS),
    "pandas Float64": (pd.Series(NUMBERS, dtype="Float64"), NUMBERS),
    "pandas Int64": (pd.Series(WHOLE, dtype="Int64"), WHOLE),
    "pandas objects, whole": (pd.Series(WHOLE, dtype=object), WHOLE),
    "pandas categories, whole": (pd.Series(WHOLE, dtype="category"), WHOLE),
    "pandas boolean": (pd.Series(BOOLEANS, dtype="boolean"), BOOLEANS),
    "pandas objects, booleans": (pd.Series(BOOLEANS, dtype=object), BOOLEANS),
    "pandas bool": (pd.Series([True, False]), [True, False]),
    "pandas int8": (pd.Series([1, -1], dtype=np.int8), [1, -1]),
    "polars text": (pl.Series(TEXT), TEXT),
    "polars categories": (pl.Series(TEXT, dtype=pl.Categorical), TEXT),
    "polars enum": (pl.Series(TEXT, dtype=pl.Enum(["a", "b"])), TEXT),
    "polars numbers": (pl.Series([*NUMBERS, NAN]), [*NUMBERS, None]),
    "polars whole": (pl.Series(WHOLE), WHOLE),
    "polars booleans": (pl.Series(BOOLEANS), BOOLEANS),
    "polars nothing": (pl.Series([None, None]), [None, None]),
    "polars decimals": (pl.Series([Decimal("1.50"), None]), [1.5, None]),
    "pyarrow text": (pa.chunked_array([TEXT, ["c"]]), [*TEXT, "c"]),
    "pyarrow string view": (pa.chunked_array([pa.array(TEXT, pa.string_view())]), TEXT),
    "pyarrow dictionary": (pa.chunked_array([pa.array(TEXT).dictionary_encode()] * 2), TEXT * 2),
    "pyarrow numbers": (pa.chunked_array([[*NUMBERS, NAN]]), [*NUMBERS, None]),
    "pyarrow halves": (pa.chunked_array([pa.array(objects([1.5, None]), pa.float16())]), [1.5, None]),
    "pyarrow whole": (pa.chunked_array([WHOLE]), WHOLE),
    "pyarrow uint64": (pa.chunked_array([pa.array([2**64 - 1, None], pa.uint64())]), [2**64 - 1, None]),
    "pyarrow booleans": (pa.chunked_array([BOOLEANS]), BOOLEANS),
    "pyarrow decimals": (pa.chunked_array([[Decimal("1.50"), None]]), [1.5, None]),
    "pyarrow no chunk": (pa.chunked_array([], pa.string()), []),
    "array of text": (np.array(["a", " b ", ""]), ["a", "b", None]),
    "array of numbers": (np.array([1.5, NAN]), [1.5, None]),
    "array of objects, text": (objects([*TEXT, NAN, "  "]), [*TEXT, None, None]),
    "array of objects, whole": (objects(WHOLE), WHOLE),
    "array of objects, numbers": (objects([1, 2.5, NAN, None]), [1, 2.5, None, None]),
    "array of objects, decimals": (objects([Decimal("1.50"), Decimal("NaN"), None]), [1.5, None, None]),
    "array of objects, booleans": (objects(BOOLEANS), BOOLEANS),
    "array of objects, empty": (objects([]), []),
    "list": ([1, 2], [1, 2]),
}


@pytest.mark.parametrize(("holder", "expected"), HOLDERS.values(), ids=HOLDERS)
def test_every_frame_library_gives_the_same_values(holder, expected):
    column = column_of(holder, "c")
    assert read(column) == expected
    assert len(column) == len(expected)
    assert (column.missing is None) == (None not in expected)


@pytest.mark.parametrize(
    "column",
    [pa.array([8675309], pa.int64()).view(pa.date64()), pa.Array.from_buffers(pa.string(), 1, [None, *NOT_UTF8])],
    ids=["a date with a time of day", "text that is not UTF-8"],
)
def test_values_that_contradict_their_type_are_errors(column):
    for held in (column, column.dictionary_encode() if pa.types.is_date(column.type) else column):
        with pytest.raises(DomainError, match=r"column 'c': .*invalid") as error:
            column_of(pa.chunked_array([held]), "c")
        assert error.value.__context__ is None


@pytest.mark.parametrize("n", [0, 2])
def test_a_column_without_a_type_is_text_whether_it_has_a_row_or_not(n):
    for holder in (pa.chunked_array([pa.nulls(n)]), pl.Series([None] * n, dtype=pl.Null), objects([None] * n)):
        column = column_of(holder, "c")
        assert column.is_text
        assert read(column) == [None] * n
        assert column.numbers().tolist() == [0] * n


@given(st.sampled_from(["s", "ms", "us", "ns"]), st.lists(st.none() | st.integers(1 - 2**63, 2**63 - 1), max_size=5))
@example("s", [(2**32 + 3650) * 86_400, 2**63 - 1])  # 11 million years on, the same day modulo 2^32
@example("ns", [1 - 2**63, -1, 0])
def test_a_time_is_its_day_however_far(unit, ticks):
    column = Column.from_arrow(pa.array(ticks, pa.int64()).view(pa.timestamp(unit)), "c")
    of_day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    days = [None if tick is None else max(-(2**31), min(2**31 - 1, tick // of_day)) for tick in ticks]
    assert read(column) == days
    assert column.holds_dates


@given(st.lists(st.none() | st.integers(1 - 2**63, 2**63 - 1), max_size=5))
@example([(2**32 + 3650), -(2**40), 2**63 - 1, None])
def test_a_day_of_numpy_is_itself_however_far(days):
    column = Column.from_numpy(np.array([np.datetime64(day, "D") for day in days], dtype="datetime64[D]"), "c")
    assert read(column) == [None if day is None else max(-(2**31), min(2**31 - 1, day)) for day in days]
    assert column.holds_dates


@pytest.mark.parametrize("day", [5_000, -1, 2**31, 2**32 + 5_000, -(2**33)])
def test_a_date_of_64_bits_is_itself_however_far(day):
    column = Column.from_arrow(pa.array([day * 86_400_000, None], pa.int64()).view(pa.date64()), "c")
    assert read(column) == [max(-(2**31), min(2**31 - 1, day)), None]
    assert column.holds_dates


@pytest.mark.parametrize("kind", ["7D", "25s", "10ms", "100ns"])
def test_times_of_numpy_in_steps_of_several_units_are_refused(kind):
    """Arrow leaves out how many: 1984 became 1972."""
    with pytest.raises(DomainError, match="the values must all be"):
        Column.from_numpy(np.array(["1984-12-27"], dtype=f"datetime64[{kind}]"), "c")


def test_a_column_without_a_value_has_dates_whether_it_has_a_row_or_not():
    for values in ([], [NAN], [NAN, NAN]):
        assert Column.from_numpy(np.array(values), "c").days().tolist() == [0.0] * len(values)


UNREADABLE = {
    "text and numbers": [SECRET, 1],
    "numbers and text": [1, SECRET],
    "booleans and text": [True, SECRET],
    "text that is not unicode": [SECRET + "\ud800", "a"],
    "whole numbers and text in lists": [[1], [SECRET]],
    "dictionaries": [{SECRET: 1}, {"b": 2}],
    "sets": [{SECRET}, {"b"}],
    "bytes": [SECRET.encode(), b"b"],
    "infinite decimals": [Decimal("Infinity"), Decimal(1)],
    "whole numbers of more than 64 bits": [2**80, 1],
    "whole numbers neither signed nor unsigned": [2**63, -1],
    "complex numbers": [1j],
    "dates": [pd.Timestamp("2020-01-01", tz="Europe/Paris")],
}


@pytest.mark.parametrize(
    "hold", [objects, lambda values: pd.Series(objects(values), dtype=object)], ids=["array", "pandas"]
)
@pytest.mark.parametrize("values", UNREADABLE.values(), ids=UNREADABLE)
def test_the_error_for_mixed_types_quotes_no_cell(values, hold):
    with pytest.raises(DomainError, match="column 'c': ") as error:
        column_of(hold(values), "c")
    said = all_that_is_said(error.value)
    assert not any(cell in said for cell in (SECRET, str(2**80), str(2**63), "Infinity", "2020", "Paris"))


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([1, SECRET], dtype=pl.Object),
        pl.Series([2**100], dtype=pl.Int128),
        pl.Series([{SECRET: 1}]),
        pl.Series(["2020-01-01"]).str.to_datetime("%Y-%m-%d", time_zone="UTC"),
    ],
    ids=["objects", "128 bits", "structs", "times"],
)
def test_polars_types_that_are_neither_numbers_nor_text_are_errors_too(series):
    with pytest.raises(DomainError, match="column 'c': ") as error:
        column_of(series, "c")
    assert SECRET not in all_that_is_said(error.value)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (["1", " -2 ", "+3"], [1, -2, 3]),
        (["1.5", "", "2", "1e3"], [1.5, 0, 2, 1000]),
        ([str(2**53 + 1)], [2.0**53]),
        (["", None], [0, 0]),
    ],
)
def test_numeric_text_is_read_as_numbers_with_0_for_missing(text, numbers):
    assert column_of(objects([*text, "0"]), "c").numbers().tolist() == [*numbers, 0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (objects(["1", SECRET]), "text that is not a number"),
        (objects([f"1{SECRET}", "1.5"]), "text that is not a number"),
        (np.array([1.0, np.inf]), "infinite"),
        (np.array([1.0, -np.inf]), "infinite"),
        (objects(["1", "inf"]), "text that is not a number"),
        (objects(["1", "1e999"]), "text that is not a number"),
    ],
)
def test_the_error_for_text_and_infinity_quotes_no_cell(values, message):
    with pytest.raises(DomainError, match=f"column 'c': .*{message}") as error:
        column_of(values, "c").numbers()
    assert SECRET not in all_that_is_said(error.value)


def test_infinity_may_be_declared_missing():
    assert Column("c", np.array([np.inf, 2.0]), np.array([True, False])).numbers().tolist() == [0, 2]


@pytest.mark.parametrize(
    ("values", "value", "rows"),
    [
        (np.array([1.0, NAN, 0.0]), 0, [False, False, True]),
        (np.array([1.0, NAN, 0.0]), "1.0", [True, False, False]),
        (np.array([1, 2]), "one", [False, False]),
        (np.array([1, 200], dtype=np.uint8), -9, [False, False]),
        (objects(["-9", "-9.0", None]), -9, [True, True, False]),
        (objects(["1", "01", "1.00"]), "1.0", [True, False, True]),
        (np.array([1, 2]), "01", [False, False]),
        (objects(["a", " A", "a "]), "a", [True, False, True]),
        (objects([True, None]), False, [False, False]),
    ],
)
def test_missing_values_equal_nothing(values, value, rows):
    assert column_of(values, "c").equals(value).tolist() == rows


@pytest.mark.parametrize("pairs", [[(0, 3), (1, 5)], [(1, 0), (1.0, 4)], [(2, 1), ("1", 2)], []])
@pytest.mark.parametrize("values", [[True, False, None, True], [False], []])
def test_booleans_have_the_codes_of_a_slow_lookup(values, pairs):
    held = column_of(pl.Series(values, dtype=pl.Boolean), "x")
    slow = [next((code for value, code in reversed(pairs) if held.equals(value)[row]), -1) for row in range(len(held))]
    assert held.codes_of(pairs).tolist() == slow
    assert held.codes_of(pairs).dtype == np.int32


def test_every_byte_of_a_boolean_but_0_is_true():
    """NumPy allows more than 1: `np.array([255], np.uint8).view(bool)`."""
    held = Column.from_numpy(np.array([0, 1, 2, 255], dtype=np.uint8).view(bool), "x")
    assert held.codes_of([(0, 3), (1, 5)]).tolist() == [3, 5, 5, 5]
    assert held.equals(True).tolist() == [False, True, True, True]
    assert held.without([True]).is_missing.tolist() == [False, True, True, True]


@given(st.lists(st.sampled_from(["a", "b", "B", None, "c"])), st.booleans())
def test_index_in_is_the_position_of_each_word(rows, ignore_case):
    words = ["b", "a"]
    read_as = [row.lower() if row and ignore_case else row for row in rows]
    expected = [words.index(row) if row in words else -1 for row in read_as]
    column = column_of(pl.Series(rows, dtype=pl.String), "c")
    assert column.index_in(words, ignore_case=ignore_case).tolist() == expected


@given(st.lists(st.none() | st.floats(allow_infinity=False)))
def test_present_values_are_all_values_that_are_not_missing(rows):
    expected = [row for row in rows if row is not None and row == row]
    series = nw.from_native(pl.Series(rows, dtype=pl.Float64), series_only=True)
    assert column_of(series, "c").present().tolist() == expected
    text = column_of(pl.Series([None if row is None else f"t{row}" for row in rows], dtype=pl.String), "c")
    assert text.present().tolist() == [f"t{row}" for row in rows if row is not None]


def test_a_narrow_float_is_compared_with_bounds_it_cannot_hold():
    assert (column_of(np.array([1.0], dtype=np.float16), "c").numbers() < 1e39).all()


def test_neither_columns_nor_tables_show_their_cells():
    frame = pd.DataFrame({"a": [SECRET]})
    assert SECRET not in repr(Table.of(frame)) + repr(Table.of(frame).column("a", 0))


NEAR = [2**53, 2**53 + 1, 2**63 - 1, -(2**63), 0, 1]


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (2**53 + 1, [1]),
        (2.0**53, [0]),
        (str(2**53), [0]),
        (2**63 - 1, [2]),
        (2**63, []),
        (2.0**63, []),
        (-(2.0**63), [3]),
        (10**500, []),
        (float("inf"), []),
        (float("nan"), []),
        (0.5, []),
        (True, [5]),
    ],
)
def test_whole_numbers_are_compared_digit_by_digit(value, rows):
    column = Column.from_arrow(pa.array(NEAR), "x")
    assert np.flatnonzero(column.equals(value)).tolist() == rows
    assert np.flatnonzero(column.without([value]).missing).tolist() == rows


def test_whole_numbers_without_a_sign_are_compared_digit_by_digit():
    column = Column.from_arrow(pa.array([2**53 + 1, 2**63, 2**64 - 1], pa.uint64()), "x")
    assert [column.equals(value).tolist().index(True) for value in (2**53 + 1, 2**63, 2.0**63, 2**64 - 1)] == [
        0,
        1,
        1,
        2,
    ]
    assert not any(column.equals(value).any() for value in (2**53, -1, 2**64, 2.0**64))


def test_a_float_equals_no_whole_number_that_it_cannot_hold():
    column = Column.from_arrow(pa.array([2.0**53, 2.0**60, 1e22, 1e30, 1e300]), "x")
    assert column.equals(2**60).tolist() == [False, True, False, False, False]
    assert column.equals(10**22).tolist() == [False, False, True, False, False]
    assert column.equals(1e30).tolist() == [False, False, False, True, False]
    for value in (2**53 + 1, 2**60 + 1, 10**30, 10**500, "9007199254740993"):
        assert not column.equals(value).any()
        assert column.without([value]).missing is None or not column.without([value]).missing.any()


def test_many_missing_values_are_looked_up_at_once():
    text = Column.from_arrow(pa.array([str(i) for i in range(20_000)]), "x")
    start = time.process_time()
    assert text.without(tuple(range(3000))).missing.sum() == 3000
    assert time.process_time() - start < 2  # 11 s, one after the other
