"""Errors of engines, replaced by hedgerow's own: an engine's message can quote values and is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hedgerow.engines.loggers import muted
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
