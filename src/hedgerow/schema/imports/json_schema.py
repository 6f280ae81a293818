"""JSON Schema of an object or of a list of them, read as a draft; only references within the file are followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.draft import Draft, DraftColumn, bound, bounded_column, category_or_boolean
from hedgerow.schema.imports.patterns import listed_values
from hedgerow.schema.imports.plain import list_in, mapping_in, text_in

ORIGIN = "JSON Schema"
_MOST_STEPS = 20  # from reference to reference
_NUMBERS = {
    frozenset({"integer"}): "integer",
    frozenset({"number"}): "real",
    frozenset({"integer", "number"}): "real",
}
_TIMES = ("date-time", "time", "duration")


def is_json_schema(data: object) -> bool:
    """Return whether these are the data of a JSON Schema of a table."""
    return isinstance(data, Mapping) and any(key in data for key in ("properties", "items", "$ref", "$schema"))


def json_schema_draft(data: object) -> Draft:
    """Return the draft of the properties of an object, or of each object of a list.

    Raises
    ------
    SchemaError
        If it has no properties that can be attributes.
    """
    row = _resolved(data, data)
    row = _resolved(row["items"], data) if "items" in row and "properties" not in row else row
    required = list_in(row, "required")
    found = [_property(str(name), one, data, name in required) for name, one in mapping_in(row, "properties").items()]
    columns = tuple(one for one in found if isinstance(one, DraftColumn))
    if not columns:
        raise SchemaError("expected a JSON Schema with properties that can be attributes, got none.", key="properties")
    return Draft(columns, tuple(one for one in found if not isinstance(one, DraftColumn)), ORIGIN)


def _property(name: str, given: object, top: object, required: bool) -> DraftColumn | tuple[str, str]:
    one = _resolved(given, top)
    options = [_resolved(option, top) for option in (*list_in(one, "oneOf"), *list_in(one, "anyOf"))]
    types = {kind for part in (one, *options) for kind in list_in(part, "type") if isinstance(kind, str)}
    merged: dict[str, Any] = {k: v for part in (*options, one) if part.get("type") != "null" for k, v in part.items()}
    constants = [option["const"] for option in options if "const" in option]
    if types & {"object", "array"}:
        return name, "objects and lists are no attribute; derive a number or a category from them"
    if merged.get("format") in _TIMES:
        return name, "times are no attribute; derive a number or a category from them"
    values = list_in(merged, "enum") or constants or ([merged["const"]] if "const" in merged else [])
    values = values or listed_values(merged.get("pattern"))
    common: dict[str, Any] = {
        "may_be_missing": not required or "null" in types or None in values,
        "description": ": ".join(t for t in (text_in(one, "title"), text_in(one, "description")) if t) or None,
        "unit": text_in(one, "unit", "x-unit"),
        "source": ORIGIN,
    }
    known = types - {"null"}
    if values:
        return category_or_boolean(name, values, **common)
    if known == {"boolean"}:
        return DraftColumn(name=name, kind="boolean", **common)
    kind: Any = "date" if merged.get("format") == "date" else _NUMBERS.get(frozenset(known))
    if kind:
        return bounded_column(name, kind, *_bounds(merged, kind), **common)
    return DraftColumn(name=name, kind="categorical" if known == {"string"} else None, **common)


def _bounds(limits: Mapping[str, Any], kind: str) -> list[Any]:
    """Return the bounds; of whole numbers, the next one where a bound itself is excluded."""
    if kind == "date":
        return [limits.get("formatMinimum"), limits.get("formatMaximum")]
    found, whole = list[Any](), kind == "integer"
    for inside, outside, step in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        excluded = limits.get(outside)
        old = excluded is True  # as drafts before 6 had it: a flag beside the bound
        limit = bound(limits.get(inside) if old or excluded is None else excluded, whole=whole)
        found.append(limit + step if whole and limit is not None and (old or excluded is not None) else limit)
    return found


def _resolved(given: object, top: object) -> Mapping[str, Any]:
    """Return a schema after its references within the file; an empty one for a reference that leads elsewhere."""
    one: Any = given
    for _ in range(_MOST_STEPS):
        if not isinstance(one, Mapping):
            return {}
        target: Any = one.get("$ref")
        if not isinstance(target, str):
            return dict(one)
        if not target.startswith("#/"):
            return {}
        one = _found(top, target)
    return {}


def _found(top: object, target: str) -> object:
    place: Any = top
    for step in target[2:].split("/")[:100]:
        place = _under(place, step.replace("~1", "/").replace("~0", "~"))
    return place


def _under(place: object, step: str) -> object:

    return place.get(step) if isinstance(place, Mapping) else None  # type: ignore[reportUnknownVariableType]
