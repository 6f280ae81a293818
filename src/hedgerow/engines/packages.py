"""Import of Ibis and DuckDB, which are an extra, with a clear error if they are not installed."""

from hedgerow.errors import MissingPackageError

try:
    import duckdb  # Ibis needs it, but imports it later
    import ibis
    import ibis.expr.operations as ops
except ModuleNotFoundError as error:
    if error.name not in ("duckdb", "ibis"):
        raise
    purpose = "reading Parquet files and databases, and saving a tally,"
    raise MissingPackageError.of(purpose, "Ibis and DuckDB", "engines") from error

__all__ = ["duckdb", "ibis", "ops"]
