"""DuckDB tables: listed files, or a table or view of a database file; DuckDB can open nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import ibis

from hedgerow.engines.addresses import shown
from hedgerow.engines.columns import Expression
from hedgerow.engines.faults import answered
from hedgerow.engines.files import CsvForm, Files, check_names
from hedgerow.errors import EngineError
from hedgerow.text.values import printable

_SETTINGS = {
    "temp_directory": "",  # groups of private rows are not written to a disk
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",  # a name is not a variable of this process
}
_TABLES = """
SELECT table_catalog, table_schema, table_name FROM information_schema.tables
WHERE table_catalog = current_database()
  AND (table_schema || '.' || table_name = ? OR (table_schema = 'main' AND table_name = ?))
"""
_MOST_DIGITS = 38
"""Of decimals that DuckDB reads right: of more digits, it takes their bytes for those of a float64."""
_WHOLE = re.compile("U?(TINY|SMALL|BIG)INT|U?INTEGER")
_UNREAD = "CAST(NULL AS BLOB)"


@contextmanager
def duckdb_files(files: Files, memory: str) -> Generator[Expression]:
    """Open listed files as one table; DuckDB reads no other file."""
    connection = answered("duckdb", lambda: ibis.duckdb.connect(memory_limit=memory, **_SETTINGS))
    try:
        answered("duckdb", lambda: _shut(connection, files.paths))
        kinds = [{} for _ in files.paths] if files.csv else _kinds(connection, files)
        yield answered("duckdb", lambda: _table_of(connection, files, kinds))
    finally:
        connection.disconnect()


@contextmanager
def duckdb_table(path: str, name: str, memory: str) -> Generator[Expression]:
    """Open a table or view of a DuckDB file, for reading only. A view that reads other files fails."""
    full = str(Path(path).absolute())  # of a path with a prefix, DuckDB would load an extension
    connection = answered("duckdb", lambda: ibis.duckdb.connect(full, read_only=True, memory_limit=memory, **_SETTINGS))
    try:
        answered("duckdb", lambda: _shut(connection, ()))
        _check_functions(connection)
        yield named_table(connection, path, name, _TABLES)
    finally:
        connection.disconnect()


def _shut(connection: Any, paths: Sequence[str]) -> None:
    """Restrict DuckDB to these files, and lock its extensions and settings."""
    allowed = [*paths, *map(_literal_path, paths)]
    connection.con.execute("SET allowed_paths = ?", [allowed])
    connection.raw_sql("SET enable_external_access = false")
    connection.raw_sql("SET lock_configuration = true")


def named_table(connection: Any, address: str, name: str, tables: str) -> Expression:
    """Return the table or view that a name means, with its schema or, in the usual one, without; both may hold dots."""
    engine = connection.name
    places = answered(engine, lambda: connection.con.execute(tables, [name, name]).fetchall())
    if len(places) != 1:
        found = "more than one table or view" if places else "no table and no view"
        raise EngineError(f"{engine} did not answer: {shown(address)} has {found} named {printable(name)!r}.")
    ((*place, table),) = places
    return answered(engine, lambda: connection.table(table, database=tuple(place)))  # in one text, cut at each dot


def _check_functions(connection: Any) -> None:
    """Refuse a database with a macro that shadows a function of DuckDB: queries would call it."""
    query = (
        "SELECT count(*) FROM duckdb_functions() WHERE NOT internal "
        "AND function_name IN (SELECT function_name FROM duckdb_functions() WHERE internal)"
    )
    ((shadowed,),) = _fetched(connection, query)
    if shadowed:
        raise EngineError(
            "duckdb did not answer: the database has a macro that shadows a function of DuckDB; drop it, or count a "
            "copy of the table."
        )


def _table_of(connection: Any, files: Files, kinds: Sequence[Mapping[str, str]]) -> Expression:
    """Return the files as a view, with a column of text for each key of their folders.

    Files are read together in which the columns that are replaced have the same types.
    """
    view, file = f"rows_{uuid4().hex}", f"file_{uuid4().hex}"
    options = _parquet_options() if files.csv is None else _csv_options(files.csv)
    if files.keys:
        options = {**options, "filename": _text(file)}
    settings = ", ".join(f"{option} = {value}" for option, value in options.items())
    parts: dict[str, list[str]] = {}
    for path, replaced in zip(files.paths, _replaced(kinds), strict=True):
        parts.setdefault(replaced, []).append(path)
    queries: list[str] = []
    for replaced, paths in parts.items():
        reader = f"read_{'parquet' if files.csv is None else 'csv'}({_listed(paths)}, {settings})"
        query = f"SELECT *{replaced} FROM {reader}"
        queries.append(query if not files.keys else _with_partitions(files, f"({query})", file))
    connection.raw_sql(f"CREATE TEMP VIEW {view} AS {' UNION ALL BY NAME '.join(queries)}")
    return connection.table(view, database=("temp", "main"))


def _replaced(kinds: Sequence[Mapping[str, str]]) -> list[str]:
    """Return for each file the clause that replaces its columns whose types, over all files, have no type in common.

    Whole numbers of any width have one. Beside float64, both become text, in which each keeps its digits. Of others,
    and of types that DuckDB misreads, no value is read; they have a type that no attribute has.
    """
    every: dict[str, set[str]] = {}
    for of_file in kinds:
        for name, kind in of_file.items():
            every.setdefault(name.lower(), set()).add(kind)
    clauses: list[str] = []
    for of_file in kinds:
        columns: list[str] = []
        for name, kind in sorted(of_file.items()):
            others = {other for other in every[name.lower()] if not _WHOLE.fullmatch(other)}
            if others == {"DOUBLE"} and len(every[name.lower()]) > 1:
                columns.append(f"{_digits(_name(name), kind)} AS {_name(name)}")
            elif "" in others or (others and len(every[name.lower()]) > 1):
                columns.append(f"{_UNREAD} AS {_name(name)}")
        clauses.append(f" REPLACE ({', '.join(columns)})" if columns else "")
    return clauses


def _digits(x: str, kind: str) -> str:
    """Return numbers as text: whole ones without a point, NaN as NULL."""
    if kind != "DOUBLE":
        return f"CAST({x} AS VARCHAR)"
    whole = f"abs({x}) < 1e38 AND {x} = trunc({x}) THEN CAST(CAST({x} AS HUGEINT) AS VARCHAR)"
    return f"CASE WHEN isnan({x}) THEN NULL WHEN {whole} ELSE CAST({x} AS VARCHAR) END"


def _with_partitions(files: Files, reader: str, file: str) -> str:
    places = ", ".join(
        f"({', '.join([_text(path), *map(_text, values)])})"
        for path, values in zip(files.paths, files.values, strict=True)
    )
    unlisted = "error('a file that was not listed')"
    keys = ", ".join(
        f"CASE WHEN p.f IS NULL THEN {unlisted} ELSE p.k{i} END AS {_name(k)}" for i, k in enumerate(files.keys)
    )
    columns = ", ".join(f"k{i}" for i in range(len(files.keys)))
    return (
        f"SELECT r.* EXCLUDE ({_name(file)}), {keys} FROM {reader} AS r "
        f"LEFT JOIN (VALUES {places}) AS p(f, {columns}) ON r.{_name(file)} = p.f"
    )


def _parquet_options() -> Mapping[str, str]:
    return {"union_by_name": "true", "hive_partitioning": "false"}


def _csv_options(form: CsvForm) -> Mapping[str, str]:
    """Return how CSV files are read: every field as text, as `hedgerow.tables.csv_files` does it."""
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in form.names)
    return {
        "auto_detect": "false",
        "columns": f"{{{columns}}}",
        "compression": "'none'",
        "delim": _text(form.delimiter),
        "escape": "'\"'",
        "header": "true",
        "hive_partitioning": "false",
        "parallel": "false" if form.in_quotes.breaks else "true",
        "quote": "'\"'",
        "strict_mode": "true",
    }


def _kinds(connection: Any, files: Files) -> list[Mapping[str, str]]:
    """Return the types of the columns of each Parquet file; of decimals of too many digits, an empty one."""
    found: list[Mapping[str, str]] = []
    for path in files.paths:
        file = _listed([path])
        long = _fetched(connection, f"SELECT name FROM parquet_schema({file}) WHERE precision > {_MOST_DIGITS}")
        rows = _fetched(connection, f"DESCRIBE SELECT * FROM read_parquet({file}, hive_partitioning = false)")
        if len(files.paths) > 1 or files.keys:
            check_names([row[0] for row in rows], files.keys)
        found.append({name: "" if (name,) in long else kind for name, kind, *_ in rows})
    return found


def _fetched(connection: Any, query: str) -> list[Any]:
    return answered("duckdb", lambda: connection.con.execute(query).fetchall())


def _listed(paths: Sequence[str]) -> str:
    """Return a list of paths, each as a pattern that it alone matches."""
    return f"[{', '.join(_text(_literal_path(path)) for path in paths)}]"


def _literal_path(path: str) -> str:
    """Return a pattern that one path alone matches."""
    return re.sub(r"([*?\[])", r"[\1]", os.fspath(path))


def _text(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
