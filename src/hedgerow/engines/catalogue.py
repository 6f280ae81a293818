"""What the catalogue of a database declares of a table's columns, as a draft of a schema; no row is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.engines.columns import Expression, require_table
from hedgerow.engines.faults import answered
from hedgerow.errors import SchemaError
from hedgerow.schema.imports.checks import limits_of
from hedgerow.schema.imports.draft import Draft, DraftColumn, bounded_column, category_or_boolean

_ENUM = re.compile(r"ENUM\((.*)\)", re.DOTALL)
_WORD = re.compile(r"'((?:[^']|'')*)'")

_POSTGRES_COLUMNS = """
SELECT a.attname, t.typtype::text, format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL),
  NOT (a.attnotnull OR t.typnotnull), col_description(a.attrelid, a.attnum),
  ARRAY(SELECT e.enumlabel::text FROM pg_enum e
        WHERE e.enumtypid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END ORDER BY e.enumsortorder),
  ARRAY(SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
        WHERE c.conrelid = a.attrelid AND c.contype = 'c' AND a.attnum = ANY (c.conkey)),
  ARRAY(SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.contypid = t.oid AND t.typtype = 'd'),
  EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indpred IS NULL
          AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_DUCKDB_COLUMNS = """
SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns()
WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index
"""
_DUCKDB_CONSTRAINTS = """
SELECT constraint_type, constraint_text, constraint_column_names FROM duckdb_constraints()
WHERE database_name = ? AND schema_name = ? AND table_name = ?
"""
_DUCKDB_INDEXES = """
SELECT expressions FROM duckdb_indexes() WHERE is_unique AND database_name = ? AND schema_name = ? AND table_name = ?
"""


@dataclass(frozen=True)
class _Declared:
    """What a catalogue says of one column."""

    name: str
    type: str
    nullable: bool
    comment: str | None
    labels: tuple[str, ...]
    checks: tuple[str, ...]
    domain_checks: tuple[str, ...]
    is_unique: bool


def catalogue_draft(table: Expression) -> Draft:
    """Return the draft of a table in DuckDB or PostgreSQL: types, enumerations, check constraints, NOT NULL, comments.

    A column that is a key by itself is left out. The queries are on the catalogue alone, which needs no right to read
    the table.

    Raises
    ------
    TypeError
        If this is no Ibis table.
    SchemaError
        If the engine is another one, or no column can be an attribute.
    EngineError
        If the engine does not answer.
    """
    require_table(table)
    engine = table.get_backend().name
    if engine not in ("duckdb", "postgres"):
        raise SchemaError(f"expected a table of DuckDB or PostgreSQL, got one of {engine}.")
    declared = answered(engine, lambda: _of_postgres(table) if engine == "postgres" else _of_duckdb(table))
    found = [_column(one) for one in declared]
    columns = tuple(one for one in found if isinstance(one, DraftColumn))
    if not columns:
        raise SchemaError("expected columns with types that can be attributes, got none.")
    origin = f"catalogue of {'PostgreSQL' if engine == 'postgres' else 'DuckDB'}"
    return Draft(columns, tuple(one for one in found if not isinstance(one, DraftColumn)), origin)


def _place(table: Expression) -> tuple[str | None, str | None, str]:
    node: Any = table.op()
    return node.namespace.catalog, node.namespace.database, node.name


def _of_postgres(table: Expression) -> list[_Declared]:
    _, schema, name = _place(table)
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name) if part)
    with table.get_backend().con.cursor() as cursor:
        rows: Sequence[Any] = cursor.execute(_POSTGRES_COLUMNS, [quoted]).fetchall()
    return [
        _Declared(column, kind, nullable, comment, tuple(labels), tuple(checks), tuple(domain), unique)
        for column, _, kind, nullable, comment, labels, checks, domain, unique in rows
    ]


def _of_duckdb(table: Expression) -> list[_Declared]:
    backend = table.get_backend()
    catalog, schema, name = _place(table)
    place = [catalog or backend.current_catalog, schema or backend.current_database, name]
    columns = backend.con.execute(_DUCKDB_COLUMNS, place).fetchall()
    constraints = backend.con.execute(_DUCKDB_CONSTRAINTS, place).fetchall()
    unique = [names[0] for kind, _, names in constraints if kind in ("PRIMARY KEY", "UNIQUE") and len(names) == 1]
    indexed = {text for (text,) in backend.con.execute(_DUCKDB_INDEXES, place).fetchall()}
    checks = tuple(text for kind, text, _ in constraints if kind == "CHECK")
    return [
        _Declared(
            column, kind, nullable, comment, _labels(kind), checks, (), column in unique or _is_indexed(column, indexed)
        )
        for column, kind, nullable, comment in columns
    ]


def _is_indexed(column: str, indexed: set[str]) -> bool:
    """Return whether a column stands alone among the expressions of some index, as DuckDB writes them."""
    quoted = column.replace('"', '""')
    return not indexed.isdisjoint((f"[{column}]", f"['\"{quoted}\"']"))


def _labels(kind: str) -> tuple[str, ...]:
    found = _ENUM.fullmatch(kind)
    return tuple(word.replace("''", "'") for word in _WORD.findall(found[1])) if found else ()


def _column(one: _Declared) -> DraftColumn | tuple[str, str]:
    if one.is_unique:
        return one.name, "a key by itself, as identifiers are"
    kind = one.type.lower().partition("(")[0].strip()
    limits = limits_of(one.name, one.checks) & limits_of("VALUE", one.domain_checks)
    has_times = kind.startswith("timestamp")
    common: dict[str, Any] = {
        "may_be_missing": one.nullable,
        "description": one.comment,
        "source": "catalogue of the database",
    }
    if kind == "boolean":
        return DraftColumn(name=one.name, kind="boolean", **common)
    values = () if has_times else limits.values or one.labels  # a time is read as its date
    if values:
        return category_or_boolean(one.name, values, **common)
    if kind in _BOUNDED:
        whole = _BOUNDED[kind] != "real"
        low, high = limits.low(whole=whole, times=has_times), limits.high(whole=whole)
        return bounded_column(one.name, _BOUNDED[kind], low, high, **common)
    if kind in _TEXT:
        return DraftColumn(name=one.name, kind="categorical", **common)
    return one.name, f"of type {kind}, whose values are no attribute"


_BOUNDED: dict[str, Any] = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "bigint", "hugeint"), "integer"),
    **dict.fromkeys(("utinyint", "usmallint", "uinteger", "ubigint"), "integer"),
    **dict.fromkeys(("real", "float", "double", "double precision", "numeric", "decimal"), "real"),
    **dict.fromkeys(("date", "timestamp", "timestamp without time zone"), "date"),
}
_TEXT = {"varchar", "text", "character varying", "character", "enum"}
