"""Errors of engines, replaced by hedgerow's own: an engine's message can quote values and is dropped."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from hedgerow.engines.columns import Expression
from hedgerow.errors import EngineError

T = TypeVar("T")

_ADVICE = (
    (("OutOfMemory",), "it ran out of memory; allow more, or declare coarser cut points"),
    (("DiskFull", "ConfigurationLimitExceeded"), "its disk is full, or its limit on temporary files is reached"),
    (
        ("AdminShutdown", "OperationalError", "ConnectionException", "ConnectionFailure"),
        "no connection, or it was lost; check host, database, user and password",
    ),
    (("QueryCanceled", "InterruptException"), "the query was cancelled, or took longer than the server allows"),
    (("PermissionException",), "a view reads files or an address, which is not allowed; open its source instead"),
    (("InsufficientPrivilege",), "the right to SELECT from the table or view is needed"),
    (
        (
            "BinderException",
            "CatalogException",
            "UndefinedColumn",
            "UndefinedTable",
            "TableNotFound",
            "AnalysisException",
        ),
        "the table does not exist, or its columns changed since it was opened",
    ),
    (
        ("IOException", "InvalidInputException", "FileNotFound"),
        "a file is missing, truncated or in use, has a line of more than 2 MB, or a view fails on a row",
    ),
    (
        ("ConversionException", "ArithmeticException", "NumericValueOutOfRange", "InvalidTextRepresentation"),
        "a value does not have its column's type, or the type is no number, as money is not; cast it in a view",
    ),
    (("ValueError", "AttributeError"), "Ibis cannot read the type of a column of this table; cast it in a view"),
)


def answered(engine: str, ask: Callable[[], T]) -> T:
    """Return what an engine answers."""
    try:
        with muted():
            return ask()
    except (Exception, KeyboardInterrupt) as error:
        kind = [base.__name__ for base in type(error).__mro__]
        interrupted = KeyboardInterrupt in (type(error), type(error.__cause__))  # the latter in DuckDB
    if interrupted:
        raise KeyboardInterrupt
    advice = next(
        (text for base in kind for names, text in _ADVICE if any(name in base for name in names)),
        "see its own log for the reason",
    )
    raise EngineError(f"{engine} did not answer: {advice} ({kind[0]}).")


_OF_SPARK = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers that PySpark creates with the first error, whose records quote values."""
_FAMILIES = (*_OF_SPARK, "duckdb", "ibis", "psycopg", "py4j", "pyarrow", "pyspark", "sqlglot")
_lock = threading.Lock()
_inside = 0
_muted: set[logging.Logger] = set()


@contextmanager
def muted() -> Generator[None]:
    """Drop the records of engines' loggers meanwhile, in any thread; other loggers are not changed.

    Loggers are those of the process: each that enters mutes those that are there, the last that leaves unmutes all.
    """
    global _inside
    with _lock:
        _inside += 1
        for logger in _loggers():
            logger.addFilter(_drop)
            _muted.add(logger)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                for logger in _muted:
                    logger.removeFilter(_drop)
                _muted.clear()


def _drop(_record: logging.LogRecord) -> bool:
    return False


def _loggers() -> list[logging.Logger]:
    known = logging.root.manager.loggerDict
    if "pyspark" in sys.modules:
        from pyspark.logger import PySparkLogger

        for name in _OF_SPARK:
            if not isinstance(known.get(name), logging.Logger):
                PySparkLogger.getLogger(name)
    return [
        logger
        for name, logger in list(known.items())
        if isinstance(logger, logging.Logger) and name.partition(".")[0] in _FAMILIES
    ]


_CONSTANTS = {
    "postgres": ("standard_conforming_strings", "on"),
    "pyspark": ("spark.sql.parser.escapedStringLiterals", "false"),
}
"""For each engine the setting by which it reads a backslash in a constant, and the value that Ibis assumes.

By another, names and categories of a schema from others could end their quotes, and be SQL.
"""


def ask(query: Expression) -> pa.Table:
    """Return the rows of a query."""
    backend = query.get_backend()
    check_settings(backend)
    return answered(backend.name, lambda: query.to_pyarrow())


def check_settings(backend: Any) -> None:
    """Check that a connection of Ibis reads constants literally."""
    if backend.name not in _CONSTANTS:
        return
    name, expected = _CONSTANTS[backend.name]
    if backend.name == "postgres":  # which reports each change of the setting
        found = answered(backend.name, lambda: backend.con.info.parameter_status(name))
    else:
        found = answered(backend.name, lambda: backend.raw_sql(f"SET {name}").collect()[0]["value"])
    if str(found).lower() != expected:
        raise EngineError(
            f"{backend.name}: expected a connection with {name} = {expected}, found another value; set it, or give an "
            "address, for a connection of hedgerow's own."
        )
