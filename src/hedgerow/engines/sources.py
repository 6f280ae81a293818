"""Opening tables by address: Parquet and CSV files, a DuckDB file, PostgreSQL, Spark."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

import ibis

from hedgerow.engines.addresses import EXPECTED, MEMORY, shown
from hedgerow.engines.columns import Expression
from hedgerow.engines.duckdb_tables import duckdb_files, duckdb_table, named_table
from hedgerow.engines.faults import answered
from hedgerow.engines.files import list_files
from hedgerow.errors import ArgumentError, MissingFileError, MissingPackageError

ENGINES = ("duckdb", "spark", "postgres")
_OPTIONS = "-c default_transaction_read_only=on -c standard_conforming_strings=on"
"""Options of the PostgreSQL session, passed last, so that no option of the address overrides them."""
_TABLES = """
SELECT current_database()::text, n.nspname::text, c.relname::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (n.nspname || '.' || c.relname = %s OR (n.nspname = current_schema() AND c.relname = %s))
"""


@contextmanager
def open_table(
    address: str,
    *,
    engine: Literal["duckdb", "spark", "postgres"] | None = None,
    memory: str | None = None,
    master: str | None = None,
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

    Yields
    ------
    Ibis table
        The rows. The connection is closed at the end of the block.

    Raises
    ------
    ValueError
        If the address, or what is asked of the engine, is not one of these; if a session of Spark is active that has
        another master.
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
    scheme = address.partition("://")[0] if "://" in address else ""
    own = "postgres" if scheme in ("postgresql", "postgres") else "duckdb"
    chosen = engine or ("spark" if master else own)
    if chosen not in ENGINES:
        raise ArgumentError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}.")
    if scheme not in ("", "duckdb", "postgresql", "postgres"):
        raise ArgumentError(f"{shown(address)}: {EXPECTED}.")
    if (own == "postgres") != (chosen == "postgres") or (chosen == "spark" and scheme):
        raise ArgumentError(f"{shown(address)} is counted by {own}, not by {chosen}.")
    if master is not None and chosen != "spark":
        raise ArgumentError(
            f"master must be None unless engine='spark', got one for {shown(address)}, which is counted by {chosen}."
        )
    if memory is not None and chosen != "duckdb":
        raise ArgumentError(f"memory must be None unless DuckDB counts, got one for {shown(address)} and {chosen}.")
    limit = MEMORY if memory is None else memory
    if not re.fullmatch(r"[0-9]+([.][0-9]+)? ?[KMGT]i?B", limit, re.IGNORECASE):
        raise ArgumentError(f"memory must be a size such as 4GB or 500MB, got {memory!r}.")
    if chosen == "postgres":
        opened = _postgres(*_split(address))
    elif scheme:
        opened = _duckdb(*_split(address), limit)
    elif chosen == "duckdb":
        opened = duckdb_files(list_files(address), limit)
    else:
        opened = _spark(address, master)
    with opened as table:
        yield table


def _duckdb(where: str, name: str, memory: str) -> AbstractContextManager[Expression]:
    path = where.removeprefix("duckdb://")
    if not path.startswith("/"):
        raise ArgumentError(f"{shown(where)}: {EXPECTED}.")
    if not Path(path[1:]).is_file():
        raise MissingFileError(errno.ENOENT, os.strerror(errno.ENOENT), path[1:])
    return duckdb_table(path[1:], name, memory)


def _spark(address: str, master: str | None) -> AbstractContextManager[Expression]:
    _require("pyspark", "spark", "Spark needs an extra, and Java")
    from hedgerow.engines.spark_tables import spark_files

    return spark_files(list_files(address), master)


@contextmanager
def _postgres(where: str, name: str) -> Generator[Expression]:
    parts = None
    with suppress(ValueError):  # its text can hold the password
        parts = urlsplit(where)
    if parts is None:
        raise ArgumentError(
            f"{shown(where)}: expected postgresql://user@host/database, found text that is not an address."
        )
    options = dict(parse_qsl(parts.query))
    options["options"] = f"{options.get('options', '')} {_OPTIONS}".strip()
    _require("psycopg", "postgres", "PostgreSQL needs an extra")
    plain = parts._replace(query="", scheme="postgresql").geturl()
    connection = answered("postgres", lambda: ibis.connect(plain, **options))
    try:
        yield named_table(connection, where, name, _TABLES)
    finally:
        connection.disconnect()


def _require(module: str, extra: str, what: str) -> None:
    if find_spec(module) is None:
        raise MissingPackageError(f"{what}: pip install 'hedgerow[{extra}]'.")


def _split(address: str) -> tuple[str, str]:
    where, colons, name = address.rpartition("::")
    if not colons or not name:
        start = shown(address).rstrip(":")
        raise ArgumentError(f"{start}: expected the table after two colons, as in {start}::patients.")
    return where, name
