"""The engines, the opening of tables by their address, and the execution of queries."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Literal

import pyarrow as pa

from hedgerow.boundary.arguments import check_choice
from hedgerow.engines.duckdb import DuckDB
from hedgerow.engines.engine import Engine, Expression, Settings
from hedgerow.engines.files import EXPECTED, MEMORY, shown
from hedgerow.engines.packages import ibis
from hedgerow.engines.postgres import Postgres
from hedgerow.engines.spark import Spark
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.tables.table_files import TextFormat


class Warehouse(Engine):
    """Backend whose SQL is printed and executed elsewhere."""

    joins_constants = False


ENGINES = (DuckDB("duckdb"), Spark("spark"), Postgres("postgres"))
PRINTED = (*ENGINES, Warehouse("snowflake"), Warehouse("bigquery"))  # the engines whose SQL can be printed
_BY_BACKEND = {engine.backend or engine.name: engine for engine in PRINTED}


@contextmanager
def open_table(
    address: str,
    *,
    engine: Literal["duckdb", "spark", "postgres"] | None = None,
    memory: str | None = None,
    master: str | None = None,
    delimiter: str | None = None,
    skip_rows: int | None = None,
    limits: TimeLimits | None = None,
) -> Generator[Expression]:
    """Open a table in its database or files for reading only; nothing is written, and no row is read yet.

    Parameters
    ----------
    address : str
        Files: ``data.parquet``, ``folder/*.parquet``, or a folder of Parquet files, which may be partitioned into
        folders such as ``year=2024``; also ``data.csv`` and ``folder/*.csv``. Databases:
        ``duckdb:///file.duckdb::table``, or ``postgresql://user@host/database::schema.table`` with the password in
        ``PGPASSWORD`` or ``~/.pgpass``. The table may be a view.
    engine : {"duckdb", "spark", "postgres"}, optional
        The engine that counts. Default: PostgreSQL for its own tables, otherwise DuckDB. Spark can count files.
    memory : str, optional
        Memory limit of DuckDB. Default: ``"4GB"``. If a query needs more, it fails, since groups of private rows are
        not written to a disk. Other engines do not support this option.
    master : str, optional
        The Spark master, such as ``spark://host:7077``. Default: from Spark's configuration, or ``local[*]``.
    delimiter : str, optional
        The delimiter of CSV files, such as ``"|"``. Default: the comma, semicolon, tab or ``|`` that is most frequent
        in the header; ValueError if two of them are equally frequent.
    skip_rows : int, optional
        The number of lines, such as titles, above the header of each CSV file. Default: 0; ValueError if the first line
        names few columns and another line looks like the header.
    limits : TimeLimits, optional
        Time limits for DuckDB or PostgreSQL. Default: none.

    Yields
    ------
    Ibis table
        The rows. The connection is closed at the end of the block.

    Raises
    ------
    ValueError
        If the address or an option is invalid or does not suit the engine, or if the active Spark session has another
        master.
    EngineError
        If the engine cannot open the table.
    FileNotFoundError
        If a file does not exist.
    ImportError
        If the engine's extra is not installed.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = duckdb.sql("SELECT i % 2 AS ill FROM range(9) AS t(i)").write_parquet(f"{folder}/a.parquet")
    ...     with open_table(f"{folder}/*.parquet") as table:
    ...         print(table.columns)
    ('ill',)
    """
    scheme = address.partition("://")[0] if "://" in address else ""
    own = next((kind for kind in ENGINES if scheme in kind.schemes), None)
    name = engine or ("spark" if master else own.name if own else "duckdb")
    check_choice("engine", name, [kind.name for kind in ENGINES])
    chosen = next(kind for kind in ENGINES if kind.name == name)
    if own is None:
        raise ArgumentError(f"{shown(address)}: {EXPECTED}.")
    if scheme not in chosen.schemes:
        problem = f"engine must be {own.name} for {shown(address)}, got {chosen.name}"
        raise ArgumentError(f"{problem}; remove the engine, or change the address.")
    for option, value in (("master", master), ("memory", memory)):
        if value is not None and option not in chosen.options:
            only = next(kind.name for kind in ENGINES if option in kind.options)
            problem = f"{option} is supported with engine={only!r} only, but {name} counts {shown(address)}"
            raise ArgumentError(f"{problem}; remove {option}.")
    text_format = TextFormat(delimiter=delimiter, skip_rows=skip_rows)
    if scheme and not text_format.is_usual:
        option = "skip_rows" if delimiter is None else "delimiter"
        raise ArgumentError(f"{option} is supported for CSV files only, not for {shown(address)}; remove {option}.")
    limit = MEMORY if memory is None else memory
    if not re.fullmatch(r"[0-9]+([.][0-9]+)? ?[KMGT]i?B", limit, re.IGNORECASE):
        raise ArgumentError(f"memory must be a size such as 4GB or 500MB, got {memory!r}.")
    with chosen.open(address, Settings(limit, master, text_format, limits)) as table:
        yield table


def require_table(table: Any) -> None:
    if not isinstance(table, ibis.Table):
        problem = f"expected an Ibis table, got {type(table).__name__}"
        raise ArgumentTypeError(f"{problem}; open it with hedgerow.open_table.")


def engine_of(value: Expression) -> Engine:
    backend = value.get_backend()
    # A table that was not opened, for printed SQL, has an engine instead of a backend.
    return backend if isinstance(backend, Engine) else _BY_BACKEND.get(backend.name) or Engine(backend.name)


def ask(query: Expression) -> pa.Table:
    engine = engine_of(query)
    engine.check_settings(query.get_backend())
    return engine.answered(lambda: query.to_pyarrow())
