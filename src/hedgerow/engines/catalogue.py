"""Draft schemas from the catalogue of a database; no row is read."""

from typing import Any

from hedgerow.engines.engine import DeclaredColumn, Expression
from hedgerow.engines.sources import ENGINES, engine_of, require_table
from hedgerow.errors import SchemaError
from hedgerow.schema.imports.checks import limits_of
from hedgerow.schema.imports.draft import Draft, DraftColumn, typed_column


def catalogue_draft(table: Expression) -> Draft:
    """Return a draft schema for a table in DuckDB or PostgreSQL.

    It is derived from types, enumerations, check constraints, NOT NULL and comments. A column that is a key is omitted.
    Only the catalogue is queried, which requires no permission to read the table. SchemaError for other engines, or if
    no column can be an attribute.
    """
    require_table(table)
    engine = engine_of(table)
    if not engine.has_catalogue:
        supported = " or ".join(kind.title for kind in ENGINES if kind.has_catalogue)
        raise SchemaError(f"expected a table in {supported}, got a table in {engine.name}.")
    declared = engine.answered(lambda: engine.declared_columns(table))
    return Draft.of(map(_column, declared), f"catalogue of {engine.title}", "table with a column")


def _column(column: DeclaredColumn) -> DraftColumn | tuple[str, str]:
    if column.is_unique:
        return column.name, "it is a key, like an identifier"
    kind = column.type.lower().partition("(")[0].strip()
    limits = limits_of(column.name, column.checks) & limits_of("VALUE", column.domain_checks)
    has_times = kind.startswith("timestamp")  # times are read as dates
    values = () if has_times or kind == "boolean" else limits.values or column.labels
    if kind not in _KINDS and not values:
        return column.name, f"type {kind} cannot be an attribute"
    common: dict[str, Any] = {"description": column.comment, "source": "catalogue of the database"}
    common["may_be_missing"] = column.nullable
    return typed_column(column.name, _KINDS.get(kind), values, limits, times=has_times, **common)


_KINDS: dict[str, Any] = {
    "boolean": "boolean",
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), "integer"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint"), "integer"),
    **dict.fromkeys(("real", "float", "double", "double precision", "numeric", "decimal"), "real"),
    **dict.fromkeys(("date", "timestamp", "timestamp without time zone"), "date"),
    **dict.fromkeys(("varchar", "text", "character varying", "character", "enum"), "categorical"),
}
