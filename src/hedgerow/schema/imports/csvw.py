"""CSV on the Web (CSVW) metadata, read as a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.draft import Draft, DraftColumn, bound, bounded_column, category_or_boolean
from hedgerow.schema.imports.patterns import listed_values
from hedgerow.schema.imports.plain import list_in, mapping_in, mappings_in, text_in

ORIGIN = "CSVW metadata"
_WHOLE = {"integer", "long", "int", "short", "byte", "gYear"}
_NATURAL = {"nonNegativeInteger": 0, "unsignedLong": 0, "unsignedInt": 0, "unsignedShort": 0, "unsignedByte": 0}
_POSITIVE = {"positiveInteger": 1}
_REAL = {"number", "decimal", "double", "float"}
_INCLUSIVE = (("minimum", "minInclusive"), ("maximum", "maxInclusive"))
_ISO = (None, "yyyy-MM-dd")  # formats of dates that are read
_TEXT = {"string", "normalizedString", "token", "language", "Name", "NMTOKEN", ""}


def is_csvw(data: object) -> bool:
    """Return whether these are the data of CSVW metadata."""
    return isinstance(data, Mapping) and ("tableSchema" in data or "tables" in data)


def csvw_draft(data: object) -> Draft:
    """Return the draft of the one table of CSVW metadata.

    Raises
    ------
    SchemaError
        If it has no columns, or more than one table.
    """
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
    if kind in _WHOLE | _REAL | _NATURAL.keys() | _POSITIVE.keys():
        whole = kind not in _REAL
        low = _limit(limits, _INCLUSIVE[0], "minExclusive", 1 if whole else 0)
        high = _limit(limits, _INCLUSIVE[1], "maxExclusive", -1 if whole else 0)
        low = (_NATURAL | _POSITIVE).get(kind) if low is None else low
        return bounded_column(name, "integer" if whole else "real", low, high, **common)
    if kind == "date" and limits.get("format") in _ISO:
        low, high = (next((limits[key] for key in keys if key in limits), None) for keys in _INCLUSIVE)
        return bounded_column(name, "date", low, high, **common)
    return name, f"values of type {kind} are no attribute; derive a number or a category from them"


def _limit(limits: Mapping[str, Any], keys: tuple[str, ...], excluded: str, step: int) -> float | None:
    inside = next((limits[key] for key in keys if key in limits), None)
    if inside is not None:
        return bound(inside, whole=False)
    found = bound(limits.get(excluded), whole=False)
    return None if found is None else found + step
