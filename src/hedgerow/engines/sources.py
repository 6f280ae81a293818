"""Where a table is, by its address: Parquet and CSV files, a DuckDB file, PostgreSQL, Spark."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import ibis

from hedgerow.csv_files import delimiter_of, read_header
from hedgerow.engines.addresses import MEMORY, has_glob, shown
from hedgerow.engines.columns import Expression
from hedgerow.engines.faults import answered
from hedgerow.errors import DomainError

ENGINES = ("duckdb", "spark", "postgres")
_AS_WRITTEN = {"union_by_name": True, "hive_types_autocast": False}
"""Files of one table may differ in types, which become those that hold all values; partitions are text."""
_EXPECTED = (
    "expected data.parquet, data.csv, folder/*.parquet, a folder of Parquet files, duckdb:///file.duckdb::table or "
    "postgresql://user@host/database::schema.table"
)


@contextmanager
def open_table(
    address: str, *, engine: str | None = None, memory: str = MEMORY, master: str | None = None
) -> Generator[Expression]:
    """Open a table where it is, for reading only; nothing is written there, and no row is read yet.

    Parameters
    ----------
    address : str
        ``data.parquet``, ``folder/*.parquet``, a folder of Parquet files (partitioned as ``year=2024/…`` or not), the
        same with ``.csv``; ``duckdb:///file.duckdb::table``; ``postgresql://user@host/database::schema.table``, with
        the password in ``PGPASSWORD`` or ``~/.pgpass``. A view will do.
    engine : {"duckdb", "spark", "postgres"}, optional
        Who counts. Default: PostgreSQL its own tables, DuckDB all else. Spark counts Parquet and CSV files.
    memory : str, default="4GB"
        How much memory DuckDB may take. It fails beyond that: groups of private rows are not written to a disk.
    master : str, optional
        The Spark master, such as ``spark://host:7077``. Default: that of the configuration, or ``local[*]``.

    Yields
    ------
    Ibis table
        The rows. The connection is closed at the end of the block.

    Raises
    ------
    ValueError
        If the address, or what is asked of the engine, is not one of these.
    FileNotFoundError
        If there is no such file.
    ImportError
        If the engine's extra is not installed.
    EngineError
        If the engine cannot open the table.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = duckdb.sql("SELECT i % 2 AS ill FROM range(9) AS t(i)").write_parquet(f"{folder}/a.parquet")
    ...     with open_table(f"{folder}/*.parquet") as table:
    ...         print(table.columns)
    ('ill',)
    """
    scheme = urlsplit(address).scheme if "://" in address else ""
    own = "postgres" if scheme in ("postgresql", "postgres") else "duckdb"
    chosen = engine or ("spark" if master else own)
    if chosen not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}.")
    if scheme not in ("", "duckdb", "postgresql", "postgres"):
        raise ValueError(f"{shown(address)}: {_EXPECTED}.")
    if (own == "postgres") != (chosen == "postgres") or (chosen == "spark" and scheme):
        raise ValueError(f"{shown(address)} is counted by {own}, not by {chosen}.")
    if master is not None and chosen != "spark":
        raise ValueError(f"a Spark master is for engine='spark', but {shown(address)} is counted by {chosen}.")
    if not re.fullmatch(r"[0-9]+([.][0-9]+)? ?[KMGT]i?B", memory, re.IGNORECASE):
        raise ValueError(f"memory must be a size such as 4GB or 500MB, got {memory!r}.")
    if chosen == "postgres":
        opened = _postgres(address)
    elif chosen == "spark":
        opened = _spark(address, master)
    else:
        opened = _duckdb_file(address, memory) if scheme else _files(address, memory)
    with opened as table:
        yield table


@contextmanager
def _files(address: str, memory: str) -> Generator[Expression]:
    kind, pattern = _kind_of_files(address)
    connection = answered("duckdb", lambda: ibis.duckdb.connect(**_duckdb_settings(memory)))
    try:
        if kind == "csv":
            options = _csv_options(pattern)
            yield answered("duckdb", lambda: connection.read_csv(pattern, **options))
        else:
            yield answered("duckdb", lambda: connection.read_parquet(pattern, hive_partitioning=True, **_AS_WRITTEN))
    finally:
        connection.disconnect()


def _kind_of_files(address: str) -> tuple[str, str]:
    """Return whether these are CSV or Parquet files, and the pattern of their names."""
    path = Path(address)
    if path.is_dir():
        if not next(path.glob("**/*.parquet"), None):
            raise ValueError(f"{address}: expected a folder with Parquet files, found none.")
        return "parquet", str(path / "**" / "*.parquet")
    if not has_glob(address) and not path.is_file():
        raise _absent(address)
    name = path.name.lower()
    if not name.endswith((".parquet", ".csv")):
        raise ValueError(f"{address}: {_EXPECTED}.")
    return ("csv" if name.endswith(".csv") else "parquet"), address


def _csv_options(pattern: str) -> Mapping[str, Any]:
    """Return how CSV files are read, by the first one's header: every cell as text, as `hedgerow.csv_files` does it."""
    matching = sorted(Path().glob(pattern)) if not Path(pattern).is_absolute() else sorted(Path("/").glob(pattern[1:]))
    if not matching:
        raise _absent(pattern)
    names, delimiter = read_header(matching[0]), delimiter_of(matching[0])
    for other in matching[1:]:
        if (read_header(other), delimiter_of(other)) != (names, delimiter):
            raise DomainError(f"{other}: expected the header of {matching[0]}, in the same order; found another.")
    return {
        "columns": dict.fromkeys(names, "VARCHAR"),
        "header": True,
        "delim": delimiter,
        "quote": '"',
        "escape": '"',
        "auto_detect": False,
    }


@contextmanager
def _duckdb_file(address: str, memory: str) -> Generator[Expression]:
    where, name = _split(address)
    path = urlsplit(where).path.removeprefix("/")
    if not Path(path).is_file():
        raise _absent(path)
    settings = _duckdb_settings(memory)
    connection = answered("duckdb", lambda: ibis.duckdb.connect(path, read_only=True, **settings))
    try:
        yield answered("duckdb", lambda: _named(connection, name))
    finally:
        connection.disconnect()


def _duckdb_settings(memory: str) -> dict[str, str]:
    return {"memory_limit": memory, "temp_directory": "", "autoinstall_known_extensions": "false"}


@contextmanager
def _postgres(address: str) -> Generator[Expression]:
    where, name = _split(address)
    parts = urlsplit(where)
    options = dict(parse_qsl(parts.query))
    options["options"] = f"{options.get('options', '')} -c default_transaction_read_only=on".strip()
    _require("psycopg", "postgres", "PostgreSQL needs an extra")
    plain = parts._replace(query="", scheme="postgresql").geturl()
    connection = answered("postgres", lambda: ibis.connect(plain, **options))
    try:
        yield answered("postgres", lambda: _named(connection, name))
    finally:
        connection.disconnect()


@contextmanager
def _spark(address: str, master: str | None) -> Generator[Expression]:
    _require("pyspark", "spark", "Spark needs an extra, and Java")
    from pyspark.sql import SparkSession

    kind, pattern = _kind_of_files(address)
    builder = SparkSession.builder.appName("hedgerow").config("spark.log.level", "OFF")  # its errors can quote cells
    users = SparkSession.getActiveSession()  # theirs to configure and to stop
    view = f"hedgerow_{uuid4().hex}"
    start = (builder.master(master) if master else builder).getOrCreate
    session: Any = users or answered("spark", start)
    try:
        answered("spark", lambda: _spark_frame(session, kind, pattern).createOrReplaceTempView(view))
        yield answered("spark", lambda: ibis.pyspark.connect(session).table(view))
    finally:
        if users is None:
            session.stop()
        else:
            users.catalog.dropTempView(view)


def _spark_frame(session: Any, kind: str, pattern: str) -> Any:
    if kind == "parquet":
        return session.read.parquet(pattern.removesuffix("/**/*.parquet"))
    options = _csv_options(pattern)
    names = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in options["columns"])
    reader = session.read.option("header", True).option("enforceSchema", False).option("mode", "FAILFAST")
    return reader.schema(names).csv(pattern, sep=options["delim"], quote='"', escape='"')


def _absent(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _require(module: str, extra: str, what: str) -> None:
    if find_spec(module) is None:
        raise ImportError(f"{what}: pip install 'hedgerow[{extra}]'.")


def _split(address: str) -> tuple[str, str]:
    where, colons, name = address.rpartition("::")
    if not colons or not name:
        start = shown(address).rstrip(":")
        raise ValueError(f"{start}: expected the table after two colons, as in {start}::patients.")
    return where, name


def _named(connection: Any, name: str) -> Expression:
    schema, _, table = name.rpartition(".")
    return connection.table(table, database=schema) if schema else connection.table(table)
