"""Spark: listed files as one table, in the active session or in a new one."""

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
    """Spark, of which a process has one session at most."""

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
    has_local_times = False  # they are instants, whose date depends on a setting

    def open(self, address: str, settings: Settings) -> AbstractContextManager[Expression]:
        require_package("pyspark", "spark", "counting with Spark (which also needs Java)")
        return self._open_files(list_files(address, settings.text_format), settings.master)

    @contextmanager
    def _open_files(self, files: Files, master: str | None) -> Generator[Expression]:
        """Open listed files as one table, in the active session, which is left unchanged, or in a new one."""
        if files.csv is not None:
            _check_form(files.csv)
        if any(os.path.basename(path).startswith((".", "_")) for path in files.paths):
            problem = "expected files with names that Spark reads, found one that begins with . or _"
            raise DomainError(f"{problem}; rename it.")
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
                raise EngineError("spark did not answer: it reads other files than were listed")
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
        """Return what Spark answers, once the loggers are there that it would make with its first error."""
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
            problem = "expected a name without ${, which Spark replaces by a setting's value"
            raise DomainError(f"{problem}; rename the column in a view.", column=name)


def _check_form(form: CsvForm) -> None:
    if form.in_quotes.returns:
        raise DomainError("expected CSV files without carriage returns within fields for Spark, found one.")
    if form.header.lines > 1:
        problem = "expected CSV files whose first line is the header for Spark; remove the lines above it"
        raise DomainError(f"{problem}, such as sep=, or count the files with DuckDB.")


def _frame(session: Any, files: Files) -> Any:
    """Return the rows of files; headers of CSV files and the number of fields on each line are checked already."""
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
    """Add a column of text for each key of the files' folders, found by the file that a row is from."""
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
    """Return the session of the process, from any thread; None if there is none."""
    # `getActiveSession` returns that of the thread only. With another master, Spark would silently use the first.
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    if there is None and getattr(SparkContext, "_active_spark_context", None) is not None:
        there = SparkSession.builder.getOrCreate()
    if there is not None and master is not None and there.conf.get("spark.master", None) != master:
        problem = f"expected no active Spark session, or one with master={master!r}, found one with another master"
        raise ArgumentError(f"{problem}; stop it, or leave out master.")
    return there
