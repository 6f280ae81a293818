"""Loggers of engines and their clients, muted during queries: their records can quote values."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

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
