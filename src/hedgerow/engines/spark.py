"""Spark: listed files as one table, in the active session or in a new session."""

import json
import logging
import os
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from hedgerow.engines.engine import (
    NO_MEMORY,
    NO_TABLE,
    NO_TYPE,
    Engine,
    Expression,
    Fault,
    Settings,
    T,
    require_package,
)
from hedgerow.engines.files import CsvForm, Files, check_names, list_files
from hedgerow.engines.packages import ibis
from hedgerow.errors import ArgumentError, DomainError, EngineError

_ERROR_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers that PySpark creates with the first error, whose records quote values."""


class Spark(Engine):
    """Spark; a process has at most one session."""

    title = "Spark"
    backend = "pyspark"
    schemes = ("",)
    options = ("master",)
    setting = ("spark.sql.parser.escapedStringLiterals", "false")
    loggers = (*_ERROR_LOGGERS, "py4j", "pyspark")
    faults: ClassVar[Mapping[Fault, tuple[str, ...]]] = {
        NO_MEMORY: ("OutOfMemory",),
        NO_TABLE: ("AnalysisException",),
        NO_TYPE: ("ArithmeticException",),
    }
    group = "$1"
    has_local_times = False  # times are instants, whose date depends on a setting

    def open(self, address: str, settings: Settings) -> AbstractContextManager[Expression]:
        require_package("pyspark", "spark", "counting with Spark (which also needs Java)")
        return self._open_files(list_files(address, settings.text_format), settings.master)

    @contextmanager
    def _open_files(self, files: Files, master: str | None) -> Generator[Expression]:
        """Open listed files as one table in the active session, which is not changed, or in a new session."""
        if files.csv is not None:
            _check_form(files.csv)
        if any(os.path.basename(path).startswith((".", "_")) for path in files.paths):
            raise DomainError("Spark ignores files whose names begin with . or _; rename these files.")
        from pyspark.sql import SparkSession

        users = session_of_user(master)
        builder = SparkSession.builder.appName("hedgerow").config("spark.sql.parser.escapedStringLiterals", False)
        builder = builder.config("spark.log.level", "OFF")  # its errors can quote cells
        start = (builder.master(master) if master else builder).getOrCreate
        session: Any = users or self.answered(start)
        view = f"hedgerow_{uuid4().hex}"
        try:
            frame = self.answered(lambda: _frame(session, files))
            uris = self.answered(frame.inputFiles)
            read = {unquote(urlsplit(uri).path): _plain(uri) for uri in uris}
            if sorted(read) != sorted(files.paths):
                raise EngineError("spark failed: it reads other files than were listed.")
            if files.keys:
                check_names(frame.columns, files.keys)
                frame = self.answered(lambda: _with_partitions(session, files, frame, [read[p] for p in files.paths]))
            self.answered(lambda: frame.createOrReplaceTempView(view))
            yield self.answered(lambda: ibis.pyspark.connect(session).table(view))
        finally:
            if users is None:
                session.stop()
            else:
                users.catalog.dropTempView(view)

    def answered(self, ask: Callable[[], T]) -> T:
        """Return Spark's answer; the loggers that it would create with its first error are created before."""
        from pyspark.logger import PySparkLogger

        known = logging.root.manager.loggerDict
        for name in _ERROR_LOGGERS:
            if not isinstance(known.get(name), logging.Logger):
                PySparkLogger.getLogger(name)
        return super().answered(ask)

    def read_setting(self, connection: Any, name: str) -> Any:
        return connection.raw_sql(f"SET {name}").collect()[0]["value"]

    def check_name(self, name: str) -> None:
        if "${" in name:
            problem = "the name contains ${, which Spark would replace by the value of a setting"
            raise DomainError(f"{problem}; rename the column in a view.", column=name)


def _check_form(form: CsvForm) -> None:
    if form.in_quotes.returns:
        problem = "Spark does not support CSV files with carriage returns within fields"
        raise DomainError(f"{problem}; count the files with DuckDB.")
    if form.header.lines > 1:
        problem = "Spark does not support CSV files with lines above the header"
        raise DomainError(f"{problem}; remove these lines, or count the files with DuckDB.")


def _frame(session: Any, files: Files) -> Any:
    """Return the rows of files, whose grammar was checked before if they are CSV."""
    reader = session.read.option("ignoreCorruptFiles", False).option("ignoreMissingFiles", False)
    paths = ["file://" + re.sub(r"([\\*?\[\]{},])", r"\\\1", path) for path in files.paths]
    form = files.csv
    if form is None:
        return reader.option("mergeSchema", True).parquet(*paths)
    columns = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in form.header.names)  # every field as text
    options = {
        "encoding": "UTF-8",
        "enforceSchema": True,
        "escape": '"',
        "header": True,
        "maxColumns": len(form.header.names) + 1,
        "mode": "FAILFAST",
        "multiLine": form.in_quotes.breaks,
        "quote": '"',
        "sep": form.header.delimiter,
    }
    return reader.schema(columns).options(**options).csv(paths)


def _with_partitions(session: Any, files: Files, frame: Any, uris: list[str]) -> Any:
    """Return a frame with a text column for each key of the files' folders, joined by the file of each row."""
    from pyspark.sql import functions as f

    uri, keys = f"uri_{uuid4().hex}", [f"key_{uuid4().hex}" for _ in files.keys]
    cells = [(path, *values) for path, values in zip(uris, files.values, strict=True)]
    rows = [dict(zip((uri, *keys), row, strict=True)) for row in cells]
    kind = f"array<struct<{', '.join(f'{name}: string' for name in (uri, *keys))}>>"
    places = session.range(1).select(f.inline(f.from_json(f.lit(json.dumps(rows)), kind)))
    here = f.regexp_replace(frame.metadataColumn("_metadata").getField("file_path"), "^file:/+", "/")
    joined = frame.withColumn("here_" + uri, here).join(f.broadcast(places), f.col("here_" + uri) == f.col(uri), "left")
    unlisted = f.raise_error("a file that was not listed")
    columns = [f.when(f.col(uri).isNull(), unlisted).otherwise(f.col(key)) for key in keys]
    partitions = [column.alias(name) for column, name in zip(columns, files.keys, strict=True)]
    return joined.select(*(frame[f"`{name.replace('`', '``')}`"] for name in frame.columns), *partitions)


def _plain(uri: str) -> str:
    return re.sub("^file:/+", "/", uri)


def session_of_user(master: str | None) -> Any:
    """Return the session of the process, from any thread; None without a session.

    ArgumentError if it has another master, which Spark would silently keep.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()  # the session of this thread only
    if session is None and getattr(SparkContext, "_active_spark_context", None) is not None:
        session = SparkSession.builder.getOrCreate()
    if session is not None and master is not None and session.conf.get("spark.master", None) != master:
        problem = f"the active Spark session has another master than {master!r}"
        raise ArgumentError(f"{problem}; stop the session, or remove master.")
    return session
