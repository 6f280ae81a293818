"""Tables in DuckDB, PostgreSQL, Spark or another Ibis backend, counted there by one GROUP BY query."""

from typing import TYPE_CHECKING, Any

from hedgerow.engines.time_limits import TimeLimits

if TYPE_CHECKING:
    from hedgerow.engines.sources import open_table

__all__ = ["TimeLimits", "open_table"]


def __getattr__(name: str) -> Any:
    if name == "open_table":
        from hedgerow.engines.sources import open_table  # Ibis takes long to import

        return open_table
    raise AttributeError(f"module 'hedgerow.engines' has no attribute {name!r}")
