"""JSON Schema of an object or of a list of them, read as a draft; only references within the file are followed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, Self

from hedgerow.days import Day
from hedgerow.errors import SchemaError
from hedgerow.schema.imports.draft import (
    NO_LIMITS,
    Draft,
    DraftColumn,
    Limits,
    category_or_boolean,
    column_within,
    limits_between,
)
from hedgerow.schema.imports.patterns import listed_values
from hedgerow.schema.imports.plain import list_in, mapping_in, text_in

ORIGIN = "JSON Schema"
_MOST_STEPS = 20  # from reference to reference
_MOST_SCHEMAS, _DEEPEST = 1_000, 50  # of one property
_ANCHORED = re.compile(r"\^\(.*\)\$")  # other patterns are looked for anywhere
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

    Of ``anyOf`` and ``oneOf`` it has the union, of ``allOf`` what all of them allow.
    """
    row = _resolved(data, data)
    row = _resolved(row["items"], data) if "items" in row and "properties" not in row else row
    required = list_in(row, "required")
    found = [_property(str(name), one, data, name in required) for name, one in mapping_in(row, "properties").items()]
    columns = tuple(one for one in found if isinstance(one, DraftColumn))
    if not columns:
        raise SchemaError("expected a JSON Schema with properties that can be attributes, got none.", key="properties")
    return Draft(columns, tuple(one for one in found if not isinstance(one, DraftColumn)), ORIGIN)


@dataclass(frozen=True, kw_only=True)
class _Allowed:
    """What a schema allows, null apart: the types, None for any, with the formats of text, bounds and values."""

    types: frozenset[str] | None = None
    formats: frozenset[str] = frozenset()
    limits: Limits = NO_LIMITS
    null: bool = False

    def __and__(self, other: Self) -> Self:
        types = self.types if other.types is None else other.types
        if self.types is not None and other.types is not None:
            types = frozenset(one for one in self.types if one in other.types or _wider(one) in other.types)
            types |= frozenset(one for one in other.types if _wider(one) in self.types)
        formats, limits = self.formats | other.formats, self.limits & other.limits
        return type(self)(types=types, formats=formats, limits=limits, null=self.null and other.null)

    def __or__(self, other: Self) -> Self:
        for one, another in ((self, other), (other, self)):
            if one.types is not None and not one.types:  # it allows null, or nothing
                return replace(another, null=one.null or another.null)
        types = None if self.types is None or other.types is None else self.types | other.types
        formats = self.formats | other.formats
        formats |= {"several"} if self.formats != other.formats else frozenset()
        return type(self)(types=types, formats=formats, limits=self.limits | other.limits, null=self.null or other.null)


def _wider(kind: str) -> str:
    return "number" if kind == "integer" else kind


class _Reader:
    """A reader of schemas with references to others of the same file, of which it follows so many."""

    def __init__(self, top: object) -> None:
        self._top, self._left = top, _MOST_SCHEMAS

    def allowed(self, given: object, depth: int = 0) -> _Allowed:
        """Return what a schema allows; anything where it is nested too deep, or refers to too many others."""
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return _Allowed(null=True)
        one = _resolved(given, self._top)
        found = _own(one)
        for part in list_in(one, "allOf"):
            found &= self.allowed(part, depth + 1)
        for key in ("anyOf", "oneOf"):
            if options := list_in(one, key):
                found &= reduce(or_, [self.allowed(option, depth + 1) for option in options])
        return found


def _own(one: Mapping[str, Any]) -> _Allowed:
    """Return what the keywords of one schema allow, without those that hold schemas."""
    types = frozenset(kind for kind in list_in(one, "type") if isinstance(kind, str))
    given = [one["const"]] if "const" in one else list_in(one, "enum")
    values = tuple(value for value in given if value is not None)
    is_text = types - {"null"} == frozenset({"string"})  # a pattern says nothing of other values
    pattern = str(one.get("pattern")) if is_text else ""
    listed = values or (listed_values(pattern) if _ANCHORED.fullmatch(pattern) else ())
    named, limits = one.get("format"), _bounds(one, of_dates=is_text)
    return _Allowed(
        types=frozenset() if given and not values else types - {"null"} if types else None,
        formats=frozenset([named]) if isinstance(named, str) and named in (*_TIMES, "date") else frozenset(),
        limits=limits & Limits(values=tuple(listed)) if listed else limits,
        null=(not types or "null" in types or one.get("nullable") is True) and (not given or None in given),
    )


def _property(name: str, given: object, top: object, required: bool) -> DraftColumn | tuple[str, str]:
    one, found = _resolved(given, top), _Reader(top).allowed(given)
    types = found.types or frozenset[str]()
    if types & {"object", "array"}:
        return name, "objects and lists are no attribute; derive a number or a category from them"
    formats = found.formats if not types or "string" in types else frozenset[str]()  # which are those of text alone
    if formats & {*_TIMES, "several"} or (formats and len(types) > 1):
        return name, "times, or dates among others, are no attribute; derive a number or a category from them"
    is_typed = found.types is not None or found.limits.values is not None
    common: dict[str, Any] = {
        "may_be_missing": not required or (found.null and is_typed),
        "description": ": ".join(t for t in (text_in(one, "title"), text_in(one, "description")) if t) or None,
        "unit": text_in(one, "unit", "x-unit"),
        "source": ORIGIN,
    }
    if found.limits.values:
        return category_or_boolean(name, found.limits.values, **common)
    if types == frozenset({"boolean"}):
        return DraftColumn(name=name, kind="boolean", **common)
    kind: Any = "date" if "date" in formats else _NUMBERS.get(types)
    if kind:
        return column_within(name, kind, found.limits, **common)
    return DraftColumn(name=name, kind="categorical" if types == frozenset({"string"}) else None, **common)


def _bounds(one: Mapping[str, Any], *, of_dates: bool) -> Limits:
    """Return the bounds of numbers or dates, excluded ones beside others."""
    dates = limits_between(one, "formatMinimum", "formatExclusiveMinimum", "formatMaximum", "formatExclusiveMaximum")
    given = dict(one)
    for inside, outside in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(one.get(outside), bool):  # as drafts before 6 had it: a flag beside the bound
            given[outside] = given.pop(inside, None) if one[outside] else None
    found = dates & limits_between(given, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    lows, highs = (
        tuple(end for end in ends if isinstance(end[0], Day) == of_dates) for ends in (found.lows, found.highs)
    )
    return Limits(lows=lows, highs=highs)


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
