"""The engines, tables opened by their address, and queries: Parquet and CSV files, a DuckDB file, PostgreSQL, Spark."""

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
    """A backend whose SQL is printed, and run elsewhere."""

    joins_constants = False


ENGINES = (DuckDB("duckdb"), Spark("spark"), Postgres("postgres"))
PRINTED = (*ENGINES, Warehouse("snowflake"), Warehouse("bigquery"))  # those whose SQL can be printed
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
    """Open a table where it is, for reading only; nothing is written there, and no row is read yet.

    Parameters
    ----------
    address : str
        ``data.parquet``, ``folder/*.parquet``, a folder of Parquet files (partitioned as ``year=2024/…`` or not), the
        same with ``.csv``; ``duckdb:///file.duckdb::table``; ``postgresql://user@host/database::schema.table``, with
        the password in ``PGPASSWORD`` or ``~/.pgpass``. A view will do.
    engine : {"duckdb", "spark", "postgres"}, optional
        The engine that counts. Default: PostgreSQL its own tables, DuckDB all else. Spark counts Parquet and CSV files.
    memory : str, optional
        How much memory DuckDB may take, such as ``"4GB"``, the default. It fails beyond that: groups of private rows
        are not written to a disk. Of other engines it is not taken.
    master : str, optional
        The Spark master, such as ``spark://host:7077``. Default: that of the configuration, or ``local[*]``.
    delimiter : str, optional
        The character between the fields of CSV files, such as ``"|"``. Default: the comma, semicolon, tab
        or ``|`` that is most frequent in the header; ValueError if two of them are equally frequent.
    skip_rows : int, optional
        The number of lines above the header of each CSV file, such as lines of a title. Default: none; ValueError if
        the first line names few columns and another line looks like the header.
    limits : TimeLimits, optional
        How many seconds DuckDB or PostgreSQL may take. Default: as long as it takes.

    Yields
    ------
    Ibis table
        The rows. The connection is closed at the end of the block.

    Raises
    ------
    ValueError
        If the address, or what is asked of the engine, is not one of these; if a session of Spark is active that has
        another master.
    EngineError
        If the engine cannot open the table; FileNotFoundError for a file, ImportError without the engine's extra.

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
    own = next((one for one in ENGINES if scheme in one.schemes), None)
    name = engine or ("spark" if master else own.name if own else "duckdb")
    check_choice("engine", name, [one.name for one in ENGINES])
    chosen = next(one for one in ENGINES if one.name == name)
    if own is None:
        raise ArgumentError(f"{shown(address)}: {EXPECTED}.")
    if scheme not in chosen.schemes:
        raise ArgumentError(f"{shown(address)} is counted by {own.name}, not by {chosen.name}.")
    if master is not None and "master" not in chosen.options:
        problem = f"master must be None unless engine='spark', got one for {shown(address)}"
        raise ArgumentError(f"{problem}, which is counted by {name}.")
    if memory is not None and "memory" not in chosen.options:
        raise ArgumentError(f"memory must be None unless DuckDB counts, got one for {shown(address)} and {name}.")
    text_format = TextFormat(delimiter=delimiter, skip_rows=skip_rows)
    if scheme and not text_format.is_usual:
        name = "skip_rows" if delimiter is None else "delimiter"
        raise ArgumentError(f"{name} must be None unless CSV files are counted, got one for {shown(address)}.")
    limit = MEMORY if memory is None else memory
    if not re.fullmatch(r"[0-9]+([.][0-9]+)? ?[KMGT]i?B", limit, re.IGNORECASE):
        raise ArgumentError(f"memory must be a size such as 4GB or 500MB, got {memory!r}.")
    with chosen.open(address, Settings(limit, master, text_format, limits)) as table:
        yield table


def require_table(table: Any) -> None:
    if not isinstance(table, ibis.Table):
        problem = "expected an Ibis table (hedgerow.engines.sources.open_table opens one)"
        raise ArgumentTypeError(f"{problem}, got {type(table).__name__}.")


def engine_of(value: Expression) -> Engine:
    backend = value.get_backend()
    # A table that is not opened has an engine in the place of a backend
    return backend if isinstance(backend, Engine) else _BY_BACKEND.get(backend.name) or Engine(backend.name)


def ask(query: Expression) -> pa.Table:
    engine = engine_of(query)
    engine.check_settings(query.get_backend())
    return engine.answered(lambda: query.to_pyarrow())
