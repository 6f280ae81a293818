"""Ibis, with which every engine is asked: an extra, whose lack is one clear error."""

from hedgerow.errors import MissingPackageError

try:
    import duckdb  # Ibis needs it, and says so late
    import ibis
    import ibis.expr.operations as ops
except ModuleNotFoundError as error:
    if error.name not in ("duckdb", "ibis"):
        raise
    purpose = "reading Parquet files and databases, and saving a tally,"
    raise MissingPackageError.of(purpose, "Ibis and DuckDB", "engines") from error

__all__ = ["duckdb", "ibis", "ops"]
