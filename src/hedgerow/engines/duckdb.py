"""DuckDB: listed files, or a table or view of a database file; DuckDB cannot open anything else."""

import errno
import os
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from hedgerow.engines import engine
from hedgerow.engines.engine import Engine, Expression, Settings
from hedgerow.engines.files import EXPECTED, CsvForm, Files, check_names, list_files, shown
from hedgerow.engines.packages import ibis
from hedgerow.engines.time_limits import limited
from hedgerow.errors import ArgumentError, EngineError, MissingFileError, SourceUnavailableError

_SETTINGS = {
    "temp_directory": "",  # groups of private rows are not written to a disk
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",  # a name must not refer to a variable of this process
}
_TABLES = """
SELECT table_catalog, table_schema, table_name FROM information_schema.tables
WHERE table_catalog = current_database()
  AND (table_schema || '.' || table_name = ? OR (table_schema = 'main' AND table_name = ?))
"""
_MOST_DIGITS = 38  # DuckDB misreads decimals with more digits as float64
_OF_TABLE = "WHERE database_name = ? AND schema_name = ? AND table_name = ?"
_COLUMNS = (
    f"SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns() {_OF_TABLE} ORDER BY column_index"
)
_CONSTRAINTS = f"SELECT constraint_type, constraint_text, constraint_column_names FROM duckdb_constraints() {_OF_TABLE}"
_INDEXES = f"SELECT expressions FROM duckdb_indexes() {_OF_TABLE} AND is_unique"
_ENUM = re.compile(r"ENUM\((.*)\)", re.DOTALL)
_WORD = re.compile(r"'((?:[^']|'')*)'")
_WHOLE = re.compile("U?(TINY|SMALL|BIG)INT|U?INTEGER")
_UNREAD = "CAST(NULL AS BLOB)"


class DuckDB(Engine):
    """DuckDB, in this process."""

    title = "DuckDB"
    schemes = ("", "duckdb")
    options = ("memory",)
    has_catalogue = True
    groups_arrays = True
    loggers = ("duckdb",)
    faults: ClassVar[Mapping[engine.Fault, tuple[str, ...]]] = {
        engine.NO_MEMORY: ("OutOfMemory",),
        engine.NO_CONNECTION: ("ConnectionException",),
        engine.STOPPED: ("InterruptException",),
        engine.Fault("a view reads other files or an address, which is not allowed; open its source instead"): (
            "PermissionException",
        ),
        engine.NO_TABLE: ("BinderException", "CatalogException"),
        engine.NO_FILE: ("IOException", "FatalException"),
        engine.NO_LINE: ("InvalidInputException",),
        engine.NO_TYPE: ("ConversionException",),
    }

    @contextmanager
    def open(self, address: str, settings: Settings) -> Generator[Expression]:
        with self._opened(address, settings) as table:
            if settings.limits is None:
                yield table
                return
            with limited(settings.limits.query, table.get_backend().con.interrupt):
                yield table

    def _opened(self, address: str, settings: Settings) -> AbstractContextManager[Expression]:
        if "://" not in address:
            return self._open_files(list_files(address, settings.text_format), settings.memory)
        where, name = engine.split_address(address)
        path = where.removeprefix("duckdb://")
        if not path.startswith("/"):
            raise ArgumentError(f"{shown(where)}: {EXPECTED}.")
        if not Path(path[1:]).is_file():
            raise MissingFileError(errno.ENOENT, os.strerror(errno.ENOENT), path[1:])
        return self._open_database(path[1:], name, settings.memory)

    @contextmanager
    def _open_files(self, files: Files, memory: str) -> Generator[Expression]:
        before, changed = _stamps(files.paths), False
        try:
            with self._read_files(files, memory) as table:
                yield table
        except EngineError:
            changed = _stamps(files.paths) != before  # DuckDB raises the same exceptions as for a malformed file
            if not changed:
                raise
        if changed:
            problem = f"{self.name} failed: a file was replaced or removed while it was read."
            raise SourceUnavailableError(problem, cause="file")

    @contextmanager
    def _read_files(self, files: Files, memory: str) -> Generator[Expression]:
        connection = self.answered(lambda: ibis.duckdb.connect(memory_limit=memory, **_SETTINGS))
        try:
            self.answered(lambda: _shut(connection, files.paths))
            kinds = [{} for _ in files.paths] if files.csv else self._kinds(connection, files)
            yield self.answered(lambda: _table_of(connection, files, kinds))
        finally:
            connection.disconnect()

    @contextmanager
    def _open_database(self, path: str, name: str, memory: str) -> Generator[Expression]:
        """Open a table or view of a DuckDB file for reading only; a view that reads other files fails."""
        full = str(Path(path).absolute())  # for a path with a prefix, DuckDB would load an extension
        connection = self.answered(lambda: ibis.duckdb.connect(full, read_only=True, memory_limit=memory, **_SETTINGS))
        try:
            self.answered(lambda: _shut(connection, ()))
            self._check_functions(connection)
            yield engine.named_table(self, connection, path, name, _TABLES)
        finally:
            connection.disconnect()

    def _check_functions(self, connection: Any) -> None:
        """Raise EngineError if a macro of the database shadows a function of DuckDB, since queries would call it."""
        own = "SELECT function_name FROM duckdb_functions() WHERE internal"
        query = f"SELECT count(*) FROM duckdb_functions() WHERE NOT internal AND function_name IN ({own})"
        ((shadowed,),) = self._fetched(connection, query)
        if shadowed:
            problem = "duckdb failed: the database has a macro that shadows a function of DuckDB"
            raise EngineError(f"{problem}; drop the macro, or count a copy of the table.")

    def _kinds(self, connection: Any, files: Files) -> list[Mapping[str, str]]:
        """Return the column types of each Parquet file; an empty text stands for decimals with too many digits."""
        by_file: list[Mapping[str, str]] = []
        for path in files.paths:
            file = _listed([path])
            query = f"SELECT name FROM parquet_schema({file}) WHERE precision > {_MOST_DIGITS}"
            long = self._fetched(connection, query)
            rows = self._fetched(connection, f"DESCRIBE SELECT * FROM read_parquet({file}, hive_partitioning = false)")
            if len(files.paths) > 1 or files.keys:
                check_names([row[0] for row in rows], files.keys)
            by_file.append({name: "" if (name,) in long else kind for name, kind, *_ in rows})
        return by_file

    def _fetched(self, connection: Any, query: str) -> list[Any]:
        return self.answered(lambda: connection.con.execute(query).fetchall())

    def declared_columns(self, table: Expression) -> list[engine.DeclaredColumn]:
        backend = table.get_backend()
        catalog, schema, name = engine.place_of(table)
        place = [catalog or backend.current_catalog, schema or backend.current_database, name]
        columns = backend.con.execute(_COLUMNS, place).fetchall()
        constraints = backend.con.execute(_CONSTRAINTS, place).fetchall()
        unique = [names[0] for kind, _, names in constraints if kind in ("PRIMARY KEY", "UNIQUE") and len(names) == 1]
        indexed = {text for (text,) in backend.con.execute(_INDEXES, place).fetchall()}
        checks = tuple(text for kind, text, _ in constraints if kind == "CHECK")

        def is_key(column: str) -> bool:  # the only column of a constraint, or of an index, which may quote it
            quoted = column.replace('"', '""')
            return column in unique or not indexed.isdisjoint((f"[{column}]", f"['\"{quoted}\"']"))

        return [
            engine.DeclaredColumn(name, kind, nullable, comment, _labels(kind), checks, (), is_key(name))
            for name, kind, nullable, comment in columns
        ]

    def as_bytes(self, text: Expression) -> Expression:
        return _encode(text)

    def word_code(self, key: Expression, codes: Mapping[str, int], otherwise: Any) -> Expression:
        """Return the code of a text by its position in a list; DuckDB would evaluate it for each branch of a CASE."""
        place = _list_position(ibis.array([engine.literal_text(word) for word in codes]), key)
        return ibis.cases((place > 0, _list_extract(list(codes.values()), place)), else_=otherwise)


_encode = engine.engine_function("encode", "string", "binary")
_list_position = engine.engine_function("list_position", "array<string>", "string", "int64")
_list_extract = engine.engine_function("list_extract", "array<int32>", "int64", "int32")


def _shut(connection: Any, paths: Sequence[str]) -> None:
    """Restrict DuckDB to these files, and lock its settings."""
    allowed = [*paths, *map(_literal_path, paths)]
    connection.con.execute("SET allowed_paths = ?", [allowed])
    connection.raw_sql("SET enable_external_access = false")
    connection.raw_sql("SET lock_configuration = true")


def _stamps(paths: Sequence[str]) -> list[tuple[int, ...] | None]:
    """Return for each file values that change if it is replaced or written to; None for a missing file."""
    stamps: list[tuple[int, ...] | None] = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
    return stamps


def _table_of(connection: Any, files: Files, kinds: Sequence[Mapping[str, str]]) -> Expression:
    """Return the files as a view with a text column for each key; files with the same types are read together."""
    view, file = f"rows_{uuid4().hex}", f"file_{uuid4().hex}"
    parquet = {"union_by_name": "true", "hive_partitioning": "false"}
    options = parquet if files.csv is None else _csv_options(files.csv)
    if files.keys:
        options = {**options, "filename": _text(file)}
    settings = ", ".join(f"{option} = {value}" for option, value in options.items())
    parts: dict[str, list[str]] = {}
    for path, replaced in zip(files.paths, _replaced(kinds), strict=True):
        parts.setdefault(replaced, []).append(path)
    read = f"read_{'parquet' if files.csv is None else 'csv'}"
    queries = [f"SELECT *{replaced} FROM {read}({_listed(paths)}, {settings})" for replaced, paths in parts.items()]
    if files.keys:
        queries = [_with_partitions(files, f"({query})", file) for query in queries]
    connection.raw_sql(f"CREATE TEMP VIEW {view} AS {' UNION ALL BY NAME '.join(queries)}")
    return connection.table(view, database=("temp", "main"))


def _replaced(kinds: Sequence[Mapping[str, str]]) -> list[str]:
    """Return for each file the clause that replaces columns whose types differ between the files."""
    # Whole numbers of any width have a common type. Whole numbers and float64 become text, which keeps all digits. For
    # other combinations, and for types that DuckDB misreads, no value is read: no attribute accepts the resulting type.
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
    """Return numbers as text: whole numbers without a decimal point, NaN as NULL."""
    if kind != "DOUBLE":
        return f"CAST({x} AS VARCHAR)"
    whole = f"abs({x}) < 1e38 AND {x} = trunc({x}) THEN CAST(CAST({x} AS HUGEINT) AS VARCHAR)"
    return f"CASE WHEN isnan({x}) THEN NULL WHEN {whole} ELSE CAST({x} AS VARCHAR) END"


def _with_partitions(files: Files, reader: str, file: str) -> str:
    rows = zip(files.paths, files.values, strict=True)
    places = ", ".join(f"({', '.join([_text(path), *map(_text, values)])})" for path, values in rows)
    case = "CASE WHEN p.f IS NULL THEN error('a file that was not listed') ELSE"
    keys = ", ".join(f"{case} p.k{i} END AS {_name(key)}" for i, key in enumerate(files.keys))
    columns = ", ".join(f"k{i}" for i in range(len(files.keys)))
    joined = f"LEFT JOIN (VALUES {places}) AS p(f, {columns}) ON r.{_name(file)} = p.f"
    return f"SELECT r.* EXCLUDE ({_name(file)}), {keys} FROM {reader} AS r {joined}"


def _csv_options(form: CsvForm) -> Mapping[str, str]:
    """Return the options with which CSV files are read like in `hedgerow.tables.csv_files`, every field as text."""
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in form.header.names)
    return {
        "auto_detect": "false",
        "columns": f"{{{columns}}}",
        "compression": "'none'",
        "delim": _text(form.header.delimiter),
        "escape": "'\"'",
        "header": "true",
        "hive_partitioning": "false",
        "parallel": "false" if form.in_quotes.breaks else "true",
        "quote": "'\"'",
        "skip": str(form.header.lines - 1),
        "strict_mode": "true",
    }


def _listed(paths: Sequence[str]) -> str:
    """Return a list of paths as patterns that match only these paths."""
    return f"[{', '.join(_text(_literal_path(path)) for path in paths)}]"


def _literal_path(path: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", os.fspath(path))


def _text(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _labels(kind: str) -> tuple[str, ...]:
    match = _ENUM.fullmatch(kind)
    return tuple(word.replace("''", "'") for word in _WORD.findall(match[1])) if match else ()
