"""The same values in files: Parquet by every writer, with and without statistics, in one row group and in several."""

from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.engines.values import COLUMNS

NAN, INF = float("nan"), float("inf")
ROWS = 24
HIDDEN_BY_STATISTICS = {
    "NaN within bounds": [0.25, NAN, 0.75, None],
    "NaN with one value": [1.0, NAN, 1.0],
    "NaN with a value that means missing": [-9.0, NAN, -9.0, 0.5],
    "NaN late": [*[0.25, 0.5, 0.75, 0.5] * 5, NAN, 0.25, 0.5, 0.75],
    "NaN alone": [NAN],
    "NaN below the domain": [-20.0, NAN, -1.0],
    "NaN above the domain": [500.0, NAN, 200.0],
    "NaN with infinity": [INF, NAN, 0.5],
    "NaN with zeros of both signs": [0.0, -0.0, -NAN],
    "NULL and NaN": [None, NAN],
}
"""Numbers of which Parquet's statistics tell bounds, but not that one of them is none."""
NUMBERS = {
    f"{name}, {kind}": pa.array(list(islice(cycle(values), ROWS)), kind)
    for name, values in HIDDEN_BY_STATISTICS.items()
    for kind in (pa.float64(), pa.float32())
}
FAR = [0, -1, 10**9, -(10**9), 2**31 - 1, -(2**31), 10**12, -(10**12), 2**62, -(2**62), None]
IN_FILES = {
    "wide decimal": pa.array([Decimal("0.5"), Decimal(2**53 + 1), Decimal("-9"), None], pa.decimal256(38, 2)),
    "decimals in a dictionary": pa.array([Decimal("0.5"), Decimal(30), None], pa.decimal128(20, 2)).dictionary_encode(),
    "text in a dictionary": pa.array(["red", "1.0", None]).dictionary_encode(),
    "times in milliseconds": pa.array([x if x is None else x // 2**10 for x in FAR], pa.timestamp("ms")),
    "times in microseconds": pa.array(FAR, pa.timestamp("us")),
    "far days": pa.array([x if x is None else max(min(x, 2**31 - 1), 1 - 2**31) for x in FAR], pa.date32()),
}
"""What only files by pyarrow hold, and days and times far from any bound."""


def one_table(columns: dict[str, pa.Array], rows: int) -> pa.Table:
    """Return columns as one table, their values repeated up to so many rows, with the rows' numbers as ``i``."""
    repeated = {name: values.take(pa.array([i % len(values) for i in range(rows)])) for name, values in columns.items()}
    return pa.table({"i": pa.array(range(rows), pa.int64()), **repeated}).combine_chunks()


EVERY_STORAGE = one_table({**COLUMNS, **NUMBERS}, max(ROWS, *map(len, COLUMNS.values())))
ONLY_IN_FILES = one_table(IN_FILES, ROWS)


def _arrow(**options):
    return lambda table, path: pq.write_table(table, path, **options)


def _by_duckdb(table: pa.Table, path: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("arrow", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM arrow")
        connection.table("t").write_parquet(str(path))


PARQUET = {
    "pyarrow": _arrow(),
    "pyarrow, row groups of two": _arrow(row_group_size=2, write_page_index=True),
    "pyarrow, no statistics": _arrow(write_statistics=False),
    "pyarrow, no dictionary": _arrow(use_dictionary=False, data_page_version="2.0", compression="none"),
    "polars": lambda table, path: pl.from_arrow(table).write_parquet(path),
    "polars, no statistics": lambda table, path: pl.from_arrow(table).write_parquet(path, statistics=False),
    "polars, full statistics": lambda table, path: pl.from_arrow(table).write_parquet(path, statistics="full"),
    "duckdb": _by_duckdb,
}
"""Writers: an Arrow table and a path in, a file there."""
