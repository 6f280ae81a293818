"""CSV on the Web (CSVW) metadata, read as a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.draft import (
    Draft,
    DraftColumn,
    Limits,
    category_or_boolean,
    column_within,
    limits_between,
)
from hedgerow.schema.imports.patterns import listed_values
from hedgerow.schema.imports.plain import list_in, mapping_in, mappings_in, text_in

ORIGIN = "CSVW metadata"
_WHOLE = {"integer", "long", "int", "short", "byte", "gYear"}
_LEAST = {"nonNegativeInteger": 0, "unsignedLong": 0, "unsignedInt": 0, "unsignedShort": 0, "unsignedByte": 0}
_LEAST |= {"positiveInteger": 1}
_REAL = {"number", "decimal", "double", "float"}
_INCLUSIVE = (("minimum", "minInclusive"), ("maximum", "maxInclusive"))
_ISO = (None, "yyyy-MM-dd")  # formats of dates that are read
_TEXT = {"string", "normalizedString", "token", "language", "Name", "NMTOKEN", ""}


def is_csvw(data: object) -> bool:
    """Return whether these are the data of CSVW metadata."""
    return isinstance(data, Mapping) and ("tableSchema" in data or "tables" in data)


def csvw_draft(data: object) -> Draft:
    """Return the draft of the one table of CSVW metadata."""
    tables = mappings_in(data, "tables")
    if len(tables) > 1:
        raise SchemaError(f"expected CSVW metadata of one table, got {len(tables)}; leave one.", key="tables")
    table: Any = tables[0] if tables else data
    inherited = [data, table, mapping_in(table, "tableSchema")]
    found = [_column(one, inherited) for one in mappings_in(mapping_in(table, "tableSchema"), "columns")]
    columns = tuple(one for one in found if isinstance(one, DraftColumn))
    if not columns:
        raise SchemaError("expected CSVW metadata with columns that can be attributes, got none.", key="columns")
    return Draft(columns, tuple(one for one in found if isinstance(one, tuple)), ORIGIN)


def _column(column: Mapping[str, Any], above: list[Any]) -> DraftColumn | tuple[str, str] | None:
    name = text_in(column, "titles", "name")
    if name is None or column.get("virtual") is True:
        return None
    parts = [part for part in (*above, column) if isinstance(part, Mapping)]
    own: dict[str, Any] = {key: value for part in parts for key, value in part.items()}
    if reason := _no_attribute(text_in(column, "name") or name, own):
        return name, reason
    given: Any = own.get("datatype", "string")
    kind = text_in(given, "base") or "string" if isinstance(given, Mapping) else str(given)
    limits: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    common: dict[str, Any] = {
        "may_be_missing": column.get("required") is not True,
        "missing_values": tuple(list_in(own, "null")),
        "description": text_in(column, "dc:description", "dcterms:description", "rdfs:comment", "schema:description"),
        "unit": text_in(column, "schema:unitText", "qudt:unit"),
        "source": ORIGIN,
    }
    if kind == "boolean":
        true, _, false = str(limits.get("format") or "").partition("|")
        words = {"true_values": (true,), "false_values": (false,)} if true and false else {}
        return DraftColumn(name=name, kind="boolean", **words, **common)
    if kind in _TEXT:
        values = listed_values(limits.get("format"))
        return category_or_boolean(name, values, **common)
    is_date = kind == "date" and limits.get("format") in _ISO
    if is_date or kind in _WHOLE | _REAL | _LEAST.keys():
        declared = _limits(limits) & Limits(lows=((_LEAST[kind], True),) if kind in _LEAST else ())
        return column_within(name, "date" if is_date else "real" if kind in _REAL else "integer", declared, **common)
    return name, f"values of type {kind} are no attribute; derive a number or a category from them"


def _no_attribute(name: str, own: Mapping[str, Any]) -> str | None:
    """Return why a column is no attribute, whatever its type; None if it can be one."""
    if own.get("separator") is not None:
        return "its cells are lists; derive a number or a category from them"
    return "a key by itself, as identifiers are" if list_in(own, "primaryKey") == [name] else None


def _limits(given: Mapping[str, Any]) -> Limits:
    least, largest = _INCLUSIVE
    both = [
        limits_between(given, low, "minExclusive", high, "maxExclusive")
        for low, high in zip(least, largest, strict=True)
    ]
    return both[0] & both[1]
