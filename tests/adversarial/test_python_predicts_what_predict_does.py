"""Claim: a model's Python predicts what `predict` and its SQL do, on rows of CSV files, of databases and of NumPy.

Text `01` was category 1, `Decimal("0.3")` above 0.3, 2^53 the category 2^53 + 1. Where `predict` answers, all agree.
"""

from __future__ import annotations

import csv
import datetime
import io
import sqlite3
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Categorical, Date, Real
from hedgerow.schema.attributes import Attribute
from hedgerow.tables.frames import column_of
from hedgerow.text.days import as_plain
from tests.engines.servers import POSTGRES
from tests.engines.values import ATTRIBUTES, COLUMNS, NUMBERS_IN_WORDS, WORDS
from tests.models.sql_engines import SqlEngine, each_literal, in_duckdb, in_postgres

CELL = {"missing": "bin", "outside": "bin"}
NO_NUMBERS = (datetime.time(1), datetime.date(1970, 1, 31))
KINDS = {
    **ATTRIBUTES,
    "far codes": Categorical((1, 2**53, 2**53 + 1, "9007199254740995"), missing_values=("01", 2**60), **CELL),
    "tenths": Real(0, 1, cuts=(0.1, 0.3), missing_values=("0.5", 0.7, "+1"), **CELL),
    "infinite": Categorical(("inf", "1.50", "x"), missing_values=("-inf", "nan", 1e300), **CELL),
}
kinds = st.sampled_from(sorted(KINDS))


@cache
def literals_of(name: str) -> list[tuple[Any, list[bool]]]:
    """Return for each literal of an attribute its Python function, and of which bins it is true."""
    result = []
    for model in each_literal("x", KINDS[name]):
        namespace: dict[str, Any] = {}
        exec(model.to_python(), namespace)
        (literal,) = model.rules[0].antecedent
        result.append((namespace["predict"], KINDS[name].truth(literal).tolist()))
    return result


def bin_of(kind: Attribute, values: Any) -> int | None:
    """Return the bin that `predict` finds for a column of one value, None where it refuses it."""
    try:
        return int(kind.encode(column_of(values, "x"))[0])
    except DomainError:
        return None


def check(name: str, cell: Any, values: Any) -> None:
    """Check every literal of an attribute on a cell, and on the column of one value that it is from."""
    result = bin_of(KINDS[name], values)
    if result is not None:
        for predict, truth in literals_of(name):
            assert predict({"x": cell}) == int(truth[result]), (name, cell)


def near(kind: Attribute) -> list[Any]:
    """Return the values that an attribute tells apart."""
    if isinstance(kind, Boolean):
        own: list[Any] = [*kind.true_values, *kind.false_values, True, False, 0, 1]
    else:
        own = [*kind.values] if isinstance(kind, Categorical) else [kind.low, kind.high, *kind.cuts[:3]]
    return [as_plain(value) for value in (*own, *kind.missing_values)]


SPELLED = [
    "{}",
    "0{}",
    "+{}",
    "{}e0",
    "{}.0",
    "{}.00",
    "{}.",
    " {}\t",
    "\v{}\f",
    "\u00a0{}",
    "{}\u2003",
    "\x1c{}",
    "{}\x85",
]
UPPER = st.sampled_from([str, lambda value: str(value).upper(), lambda value: str(value).title()])


@st.composite
def texts(draw: st.DrawFn, name: str) -> str:
    value = draw(UPPER)(draw(st.sampled_from(near(KINDS[name]))))
    plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
    return draw(
        st.sampled_from(SPELLED).map(lambda form: form.format(value))
        | st.sampled_from([*NUMBERS_IN_WORDS, *WORDS])
        | plain
    )


@given(data=st.data(), name=kinds)
@pytest.mark.claim("Exported SQL and Python return the same predictions as `predict`")
def test_rows_of_a_csv_reader(data: st.DataObject, name: str) -> None:
    written = io.StringIO()
    writer = csv.DictWriter(written, ["x"], quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows({"x": text} for text in data.draw(st.lists(texts(name), min_size=5, max_size=20)))
    for row in csv.DictReader(io.StringIO(written.getvalue(), newline="")):
        check(name, row["x"], pa.array([row["x"]]))


@st.composite
def values(draw: st.DrawFn, name: str) -> Any:
    own = [value for value in near(KINDS[name]) if not isinstance(value, str)] or [1]
    number = draw(st.sampled_from(own))
    near_it = st.sampled_from([number, float(number), -number, number + 1, np.nextafter(float(number), np.inf).item()])
    numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(width=64) | st.sampled_from([2**53, 2**53 + 1, 2.0**53])
    return draw(near_it | numbers | texts(name) | st.none() | st.binary(max_size=2))


@given(data=st.data(), name=kinds)
def test_rows_of_sqlite(data: st.DataObject, name: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    for value in data.draw(st.lists(values(name), min_size=5, max_size=20)):
        if not isinstance(value, int) or -(2**63) <= value < 2**63:
            connection.execute("INSERT INTO t VALUES (?)", [value])
    for (cell,) in connection.execute("SELECT x FROM t"):
        check(name, cell, pa.array([cell]))
    connection.close()


NUMPY = [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint64, np.bool_, np.str_]


@given(data=st.data(), name=kinds, kind=st.sampled_from(NUMPY))
@example(data=None, name="tenths", kind=np.float32)
def test_scalars_of_numpy(data: st.DataObject | None, name: str, kind: type) -> None:
    for value in [0.1, 0.3, 1, 0] if data is None else data.draw(st.lists(values(name), min_size=5, max_size=20)):
        try:
            with np.errstate(all="ignore"):
                cell = kind(value)
        except (ValueError, TypeError, OverflowError):  # not one of this kind
            continue
        check(name, cell, np.array([cell]))


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-(10**17), max_value=10**17)


@given(data=st.data(), name=kinds)
@example(data=None, name="tenths")
def test_decimals(data: st.DataObject | None, name: str) -> None:
    tenths = [Decimal("0.3"), Decimal("0.30"), Decimal("0.1"), Decimal("0.7"), Decimal(1)]
    whole = st.sampled_from([Decimal(2**53), Decimal(2**53 + 1), Decimal(1), Decimal(-9)])
    for cell in tenths if data is None else data.draw(st.lists(DECIMALS | whole, min_size=5, max_size=20)):
        places = max(-int(cell.as_tuple().exponent), 0)
        check(name, cell, pa.array([cell], pa.decimal128(38, places)))


STORED = {
    "far codes": ["whole", "whole digits", "double", "single", "tiny", "unsigned", "text"],
    "tenths": ["whole", "whole digits", "digits", "double", "single", "decimal", "text"],
    "infinite": ["double", "text"],
    "codes in words": ["whole", "double", "text"],
    "boolean, missing": ["boolean", "tiny", "double", "text"],
    "boolean, declared, missing": ["boolean", "tiny", "double", "text"],
    "integer, bins": ["whole", "few whole digits", "double", "decimal", "text"],
    "date, bins": ["date", "time", "text"],
}
"""The columns in which an attribute can be declared; in SQL, others are errors or undefined."""


def differences(engine: SqlEngine) -> list[tuple]:
    """Return the values of which a driver's row says another thing than `predict` does, or SQL."""
    result = []
    for name, storage in [(name, storage) for name, storages in STORED.items() for storage in storages]:
        if (engine.dialect, storage) == ("postgres", "single"):  # psycopg reads the digits 0.1 of a single as a float
            continue
        bins = [bin_of(KINDS[name], COLUMNS[storage].slice(i, 1)) for i in range(len(COLUMNS[storage]))]
        kept = [i for i, bin in enumerate(bins) if bin is not None]
        table = pa.table({"x": COLUMNS[storage].take(pa.array(kept))})
        cells = [row[0] for row in engine.run(f"SELECT x /* {storage} */ FROM t", table)]
        by_sql = engine.select_all(each_literal("x", KINDS[name]), table)
        for (predict, truth), said in zip(literals_of(name), by_sql, strict=True):
            for i, cell, sql in zip(kept, cells, said, strict=True):
                if not predict({"x": cell}) == int(truth[bins[i]]) == sql:
                    result.append((storage, name, cell, truth[bins[i]], sql))
    return result


def test_rows_of_duckdb() -> None:
    with in_duckdb() as engine:
        assert not differences(engine)


@pytest.mark.parametrize("engine", [POSTGRES])
def test_rows_of_postgres(request: pytest.FixtureRequest, engine: str) -> None:
    with in_postgres(request.getfixturevalue("postgres_url")) as result:
        assert engine == result.dialect
        assert not differences(result)


@pytest.mark.parametrize("cell", [datetime.date(1970, 1, 31), datetime.datetime(1970, 1, 31, 23, 59)])
def test_dates_where_dates_are_declared(cell: datetime.date) -> None:
    for name, kind in KINDS.items():
        if isinstance(kind, Date):
            check(name, cell, pa.array([cell]))


@pytest.mark.parametrize("day", ["1900-01-01", "1970-01-31", "2020-01-01"])
@pytest.mark.parametrize("unit", ["D", "h", "s", "ns", "pandas"])
def test_dates_and_times_of_numpy_and_pandas(day: str, unit: str) -> None:
    cell = pd.Timestamp(day) if unit == "pandas" else np.datetime64(day, unit)
    for name, kind in KINDS.items():
        if isinstance(kind, Date):
            check(name, cell, pd.Series([cell]))


@pytest.mark.parametrize("cell", [pd.NA, pd.NaT, np.datetime64("NaT", "ns")])
def test_what_is_missing_in_rows_of_a_frame(cell: Any) -> None:
    for name in KINDS:
        check(name, cell, pa.array([None]))


@pytest.mark.parametrize("cell", ["1,000", "x", "1_000", "\uff11", "nan", True, b"1", memoryview(b"1"), *NO_NUMBERS])
def test_non_numbers_in_number_columns_raise_in_predict(cell: Any) -> None:
    for predict, _ in literals_of("real"):
        with pytest.raises((ValueError, TypeError), match=r"expected a number|unsupported format string"):
            predict({"x": cell})
