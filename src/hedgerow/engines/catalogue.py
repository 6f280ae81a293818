"""What the catalogue of a database declares of a table's columns, as a draft of a schema; no row is read."""

from typing import Any

from hedgerow.engines.engine import DeclaredColumn, Expression
from hedgerow.engines.sources import ENGINES, engine_of, require_table
from hedgerow.errors import SchemaError
from hedgerow.schema.imports.checks import limits_of
from hedgerow.schema.imports.draft import Draft, DraftColumn, typed_column


def catalogue_draft(table: Expression) -> Draft:
    """Return the draft of a table in DuckDB or PostgreSQL: types, enumerations, check constraints, NOT NULL, comments.

    A column that is a key by itself is left out. The queries are on the catalogue alone, which needs no right to read
    the table. SchemaError if the engine is another one, or no column can be an attribute.
    """
    require_table(table)
    engine = engine_of(table)
    if not engine.has_catalogue:
        known = " or ".join(one.title for one in ENGINES if one.has_catalogue)
        raise SchemaError(f"expected a table of {known}, got one of {engine.name}.")
    declared = engine.answered(lambda: engine.declared_columns(table))
    return Draft.of(map(_column, declared), f"catalogue of {engine.title}", "columns with types")


def _column(one: DeclaredColumn) -> DraftColumn | tuple[str, str]:
    if one.is_unique:
        return one.name, "a key by itself, as identifiers are"
    kind = one.type.lower().partition("(")[0].strip()
    limits = limits_of(one.name, one.checks) & limits_of("VALUE", one.domain_checks)
    has_times = kind.startswith("timestamp")
    # a time is read as its date
    values = () if has_times or kind == "boolean" else limits.values or one.labels
    if kind not in _KINDS and not values:
        return one.name, f"of type {kind}, which cannot be an attribute"
    common: dict[str, Any] = {"description": one.comment, "source": "catalogue of the database"}
    common["may_be_missing"] = one.nullable
    return typed_column(one.name, _KINDS.get(kind), values, limits, times=has_times, **common)


_KINDS: dict[str, Any] = {
    "boolean": "boolean",
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), "integer"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint"), "integer"),
    **dict.fromkeys(("real", "float", "double", "double precision", "numeric", "decimal"), "real"),
    **dict.fromkeys(("date", "timestamp", "timestamp without time zone"), "date"),
    **dict.fromkeys(("varchar", "text", "character varying", "character", "enum"), "categorical"),
}
