"""Ibis, with which every engine is asked: an extra, whose lack is one clear error."""

from hedgerow.errors import MissingPackageError

try:
    import duckdb  # Ibis needs it, and says so late
    import ibis
    import ibis.expr.operations as ops
except ModuleNotFoundError as error:
    if error.name not in ("duckdb", "ibis"):
        raise
    raise MissingPackageError(
        "tables in Parquet or a database, and tallies that are kept, need an extra: pip install 'hedgerow[engines]'."
    ) from error

__all__ = ["duckdb", "ibis", "ops"]
