"""Frictionless Table Schema, alone or in a data package, read as a draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.draft import Draft, DraftColumn, category_or_boolean, column_within, limits_between
from hedgerow.schema.imports.patterns import listed_values
from hedgerow.schema.imports.plain import list_in, mapping_in, mappings_in, text_in

ORIGIN = "Frictionless Table Schema"
_BOUNDED: Mapping[str, Any] = {"date": "date", "integer": "integer", "number": "real", "year": "integer"}
_ISO = (None, "default", "%Y-%m-%d")  # formats of dates that are read
_TRUE, _FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
_NO_ATTRIBUTES = ("datetime", "time", "yearmonth", "duration", "object", "array", "list", "geopoint", "geojson")


def is_table_schema(data: object) -> bool:
    """Return whether these are the data of a Table Schema, or of a package that has one."""
    return isinstance(data, Mapping) and ("fields" in data or "resources" in data)


def table_schema_draft(data: object) -> Draft:
    """Return the draft of a Table Schema, or of the one schema of a data package."""
    resources = mappings_in(data, "resources")
    if len(resources) > 1:
        raise SchemaError(
            f"expected a data package of one table, got {len(resources)}; save the schema of one of them as a file."
        )
    table: Any = mapping_in(resources[0], "schema") if resources else data
    found = [_field(one, table) for one in mappings_in(table, "fields") if text_in(one, "name")]
    columns = tuple(one for one in found if isinstance(one, DraftColumn))
    if not columns:
        raise SchemaError("expected a Table Schema with fields that can be attributes, got none.", key="fields")
    return Draft(columns, tuple(one for one in found if not isinstance(one, DraftColumn)), ORIGIN)


def _field(field: Mapping[str, Any], table: Mapping[str, Any]) -> DraftColumn | tuple[str, str]:
    name, kind = text_in(field, "name") or "", text_in(field, "type") or "any"
    limits = mapping_in(field, "constraints")
    if kind in _NO_ATTRIBUTES or (kind == "date" and text_in(field, "format") not in _ISO):
        return name, f"values of type {kind} are no attribute; derive a number or a category from them"
    keys = [
        list_in(table, "primaryKey"),
        *(one if isinstance(one, list) else [one] for one in list_in(table, "uniqueKeys")),
    ]
    if limits.get("unique") is True or [name] in keys:
        return name, "its values are unique, as those of an identifier are"
    tokens = list_in(field if "missingValues" in field else table, "missingValues")
    common: dict[str, Any] = {
        "may_be_missing": limits.get("required") is not True,
        "missing_values": tuple(one.get("value") if isinstance(one, Mapping) else one for one in tokens),
        "description": ": ".join(t for t in (text_in(field, "title"), text_in(field, "description")) if t) or None,
        "unit": text_in(field, "unit"),
        "source": ORIGIN,
    }
    values = list_in(limits, "enum") or _categories(field) or listed_values(limits.get("pattern"))
    if kind == "boolean":
        own = [tuple(list_in(field, key)) for key in ("trueValues", "falseValues")]
        if any(own):  # what is not said of the other is the format's own
            common["true_values"], common["false_values"] = own[0] or _TRUE, own[1] or _FALSE
        return DraftColumn(name=name, kind="boolean", **common)
    if values:
        return category_or_boolean(name, values, **common)
    if kind in _BOUNDED:
        declared = limits_between(limits, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
        return column_within(name, _BOUNDED[kind], declared, **common)
    return DraftColumn(name=name, kind="categorical" if kind == "string" else None, **common)


def _categories(field: Mapping[str, Any]) -> list[Any]:
    return [one.get("value") if isinstance(one, Mapping) else one for one in list_in(field, "categories")]
