"""Queries to an engine, on a connection that is checked to read constants literally."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hedgerow.engines.columns import Expression
from hedgerow.engines.faults import answered
from hedgerow.errors import EngineError

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
