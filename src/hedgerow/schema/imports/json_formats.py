"""Draft schemas from JSON Schema, Frictionless Table Schema and CSVW metadata.

In JSON Schema, only references within the file are followed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, Self

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.date_patterns import REWRITE, format_of_strptime, format_of_unicode, plain_limits
from hedgerow.schema.imports.draft import NO_LIMITS, Draft, DraftColumn, Limits, limits_between, typed_column
from hedgerow.text.date_formats import ISO
from hedgerow.text.days import Day

ORIGIN = "JSON Schema"
_MOST_STEPS = 20  # the longest chain of references
_MOST_SCHEMAS, _DEEPEST = 1_000, 50  # the maximum number and depth of the schemas of one property
_ANCHORED = re.compile(r"\^\(.*\)\$")  # other patterns may match a part of the text
_KINDS: Mapping[frozenset[str], Any] = {
    **{frozenset({"boolean"}): "boolean", frozenset({"string"}): "categorical", frozenset({"integer"}): "integer"},
    **{frozenset({"number"}): "real", frozenset({"integer", "number"}): "real"},
}
_TIMES = ("date-time", "time", "duration")


def _under(data: object, key: str) -> Any:
    return data.get(key) if isinstance(data, Mapping) else None  # type: ignore[reportUnknownVariableType]


def mapping_in(data: object, key: str) -> Mapping[str, Any]:
    """Return the mapping under a key, or an empty mapping."""
    value = _under(data, key)
    return value if isinstance(value, Mapping) else {}


def list_in(data: object, key: str) -> list[Any]:
    """Return the list under a key, a single value as a list, or an empty list."""
    value = _under(data, key)
    return value if isinstance(value, list) else [] if value is None else [value]


def text_in(data: object, *keys: str) -> str | None:
    """Return the first text under the keys, or in a mapping of languages to texts there; None without any text."""
    for key in keys:
        for entry in list_in(data, key):
            text = next(iter(entry.values()), None) if isinstance(entry, Mapping) else entry
            text = text[0] if isinstance(text, list) and text else text
            if isinstance(text, str) and text.strip():
                return text.strip()
    return None


def mappings_in(data: object, key: str) -> list[Mapping[str, Any]]:
    return [entry for entry in list_in(data, key) if isinstance(entry, Mapping)]


def _titled(data: object) -> str:
    return ": ".join(text for text in (text_in(data, "title"), text_in(data, "description")) if text)


_WORD = r"[\w .,'/+-]{1,100}"
_LIST = re.compile(rf"\^?\(?(?:\?:)?({_WORD}(?:\|{_WORD})+)\)?\$?")
_SPECIAL = re.compile(r"[.+]")


def listed_values(pattern: object) -> tuple[str, ...]:
    """Return the words of a pattern that lists words, such as ``^(red|green)$``; empty for any other pattern."""
    match = _LIST.fullmatch(pattern) if isinstance(pattern, str) and len(pattern) < 10_000 else None
    words = match[1].split("|") if match else []
    return () if any(_SPECIAL.search(word) for word in words) else tuple(words)


def json_schema_draft(data: object) -> Draft:
    """Return the draft of a JSON Schema for an object, or for a list of objects."""
    row = _resolved(data, data)
    row = _resolved(row["items"], data) if "items" in row and "properties" not in row else row
    required, properties = list_in(row, "required"), mapping_in(row, "properties")
    columns = [_property(str(name), schema, data, name in required) for name, schema in properties.items()]
    return Draft.of(columns, ORIGIN, "JSON Schema with a property")


@dataclass(frozen=True, kw_only=True)
class _Allowed:
    """The values that a schema allows: types (None for any type), formats of text, bounds, values, and null."""

    types: frozenset[str] | None = None
    formats: frozenset[str] = frozenset()
    limits: Limits = NO_LIMITS
    null: bool = False

    def __and__(self, other: Self) -> Self:
        types = self.types if other.types is None else other.types
        if self.types is not None and other.types is not None:
            types = frozenset(kind for kind in self.types if kind in other.types or _wider(kind) in other.types)
            types |= frozenset(kind for kind in other.types if _wider(kind) in self.types)
        formats, limits = self.formats | other.formats, self.limits & other.limits
        return type(self)(types=types, formats=formats, limits=limits, null=self.null and other.null)

    def __or__(self, other: Self) -> Self:
        for left, right in ((self, other), (other, self)):
            if left.types is not None and not left.types:  # the schema allows at most null
                return replace(right, null=left.null or right.null)
        types = None if self.types is None or other.types is None else self.types | other.types
        formats = self.formats | other.formats
        formats |= {"several"} if self.formats != other.formats else frozenset()
        return type(self)(types=types, formats=formats, limits=self.limits | other.limits, null=self.null or other.null)


def _wider(kind: str) -> str:
    return "number" if kind == "integer" else kind


class _SchemaReader:
    """Reader of schemas with references within the file; it follows at most `_MOST_SCHEMAS` of them."""

    def __init__(self, top: object) -> None:
        self._top, self._remaining = top, _MOST_SCHEMAS

    def allowed(self, given: object, depth: int = 0) -> _Allowed:
        """Return the values that a schema allows; any value if it is nested too deep or has too many references."""
        self._remaining -= 1
        if depth > _DEEPEST or self._remaining < 0:
            return _Allowed(null=True)
        schema = _resolved(given, self._top)
        allowed = _own(schema)
        for part in list_in(schema, "allOf"):
            allowed &= self.allowed(part, depth + 1)
        for key in ("anyOf", "oneOf"):
            if options := list_in(schema, key):
                allowed &= reduce(or_, [self.allowed(option, depth + 1) for option in options])
        return allowed


def _own(schema: Mapping[str, Any]) -> _Allowed:
    """Return the values that the keywords of a schema allow, without the keywords that contain schemas."""
    types = frozenset(kind for kind in list_in(schema, "type") if isinstance(kind, str))
    options = [schema["const"]] if "const" in schema else list_in(schema, "enum")
    values = tuple(value for value in options if value is not None)
    is_text = types - {"null"} == frozenset({"string"})  # a pattern does not restrict other types
    pattern = str(schema.get("pattern")) if is_text else ""
    listed = values or (listed_values(pattern) if _ANCHORED.fullmatch(pattern) else ())
    form, limits = schema.get("format"), _bounds(schema, of_dates=is_text)
    return _Allowed(
        types=frozenset() if options and not values else types - {"null"} if types else None,
        formats=frozenset([form]) if isinstance(form, str) and form in (*_TIMES, "date") else frozenset(),
        limits=limits & Limits(values=tuple(listed)) if listed else limits,
        null=(not types or "null" in types or schema.get("nullable") is True) and (not options or None in options),
    )


def _property(name: str, given: object, top: object, required: bool) -> DraftColumn | tuple[str, str]:
    schema, allowed = _resolved(given, top), _SchemaReader(top).allowed(given)
    types = allowed.types or frozenset[str]()
    if types & {"object", "array"}:
        return name, "objects and lists cannot be attributes; derive a number or a category from them"
    formats = allowed.formats if not types or "string" in types else frozenset[str]()  # formats restrict only text
    if formats & {*_TIMES, "several"} or (formats and len(types) > 1):
        problem = "times of day, times with a time zone, and dates mixed with other values cannot be attributes"
        return name, f"{problem}; derive a number or a category from them, or write dates such as 2020-01-31"
    is_typed = allowed.types is not None or allowed.limits.values is not None
    unit = text_in(schema, "unit", "x-unit")
    common: dict[str, Any] = {"description": _titled(schema), "unit": unit, "source": ORIGIN}
    common["may_be_missing"] = not required or (allowed.null and is_typed)
    kind = "date" if "date" in formats else _KINDS.get(types)
    return typed_column(name, kind, allowed.limits.values or (), allowed.limits, **common)


def _bounds(schema: Mapping[str, Any], *, of_dates: bool) -> Limits:
    keys = ("formatMinimum", "formatExclusiveMinimum", "formatMaximum", "formatExclusiveMaximum")
    dates, data = limits_between(schema, *keys), dict(schema)
    for inside, outside in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(outside), bool):  # before draft 6, it was a flag that excluded the bound
            data[outside] = data.pop(inside, None) if schema[outside] else None
    both = dates & limits_between(data, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    lows, highs = (
        tuple(end for end in ends if isinstance(end[0], Day) == of_dates) for ends in (both.lows, both.highs)
    )
    return Limits(lows=lows, highs=highs)


def _resolved(given: object, top: object) -> Mapping[str, Any]:
    """Return a schema with its references followed; empty if a reference leads out of the file."""
    schema: Any = given
    for _ in range(_MOST_STEPS):
        if not isinstance(schema, Mapping):
            return {}
        target: Any = schema.get("$ref")
        if not isinstance(target, str):
            return dict(schema)
        if not target.startswith("#/"):
            return {}
        schema = top
        for step in target[2:].split("/")[:100]:
            schema = _under(schema, step.replace("~1", "/").replace("~0", "~"))
    return {}


FRICTIONLESS = "Frictionless Table Schema"
_OF_FIELDS: dict[str, Any] = {"date": "date", "integer": "integer", "number": "real", "string": "categorical"}
_OF_FIELDS["year"] = "integer"
_OF_FIELDS["datetime"] = "date"
_TRUE, _FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
_NO_ATTRIBUTES = ("time", "yearmonth", "duration", "object", "array", "list", "geopoint", "geojson")


def table_schema_draft(data: object) -> Draft:
    resources = mappings_in(data, "resources")
    if len(resources) > 1:
        problem = f"expected a data package with one table, got {len(resources)} tables"
        raise SchemaError(f"{problem}; save the schema of one of them as a file.")
    table: Any = mapping_in(resources[0], "schema") if resources else data
    columns = [_field(field, table) for field in mappings_in(table, "fields") if text_in(field, "name")]
    return Draft.of(columns, FRICTIONLESS, "Table Schema with a field")


def _field(field: Mapping[str, Any], table: Mapping[str, Any]) -> DraftColumn | tuple[str, str]:
    name, kind = text_in(field, "name") or "", text_in(field, "type") or "any"
    limits = mapping_in(field, "constraints")
    if kind in _NO_ATTRIBUTES:
        return name, f"values of type {kind} cannot be attributes; derive a number or a category from them"
    keys = [key if isinstance(key, list) else [key] for key in list_in(table, "uniqueKeys")]
    if limits.get("unique") is True or [name] in [*keys, list_in(table, "primaryKey")]:
        return name, "its values are unique, as in an identifier"
    common: dict[str, Any] = {"description": _titled(field), "unit": text_in(field, "unit"), "source": FRICTIONLESS}
    common["may_be_missing"] = limits.get("required") is not True
    tokens = list_in(field if "missingValues" in field else table, "missingValues")
    common["missing_values"] = tuple(_values(tokens))
    allowed, categories = list_in(limits, "enum"), _values(list_in(field, "categories"))
    ordered = field.get("categoriesOrdered") is True and bool(categories)
    if ordered:
        allowed = [value for value in categories if not allowed or value in allowed]
    values = allowed or categories or listed_values(limits.get("pattern"))
    if kind in ("date", "datetime"):
        try:
            common["format"] = _field_format(kind, text_in(field, "format"))
        except SchemaError as error:
            return name, str(error)
        limits = plain_limits(limits, common["format"], "exclusiveMinimum", "exclusiveMaximum")
    if kind == "boolean":
        own = [tuple(list_in(field, key)) for key in ("trueValues", "falseValues")]
        if any(own):  # if only one list is declared, the format's default applies to the other
            common["true_values"], common["false_values"] = own[0] or _TRUE, own[1] or _FALSE
        return DraftColumn(name=name, kind="boolean", **common)
    common |= {"ordered": True} if ordered else {}
    declared = limits_between(limits, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    return typed_column(name, _OF_FIELDS.get(kind), values, declared, **common)


def _field_format(kind: str, pattern: str | None) -> str | None:
    if pattern == "any":
        raise SchemaError(f"its dates may be in any format; {REWRITE}")
    if pattern in (None, "default"):
        return ISO if kind == "datetime" else None
    return format_of_strptime(pattern)


def _values(entries: list[Any]) -> list[Any]:
    """Return the values of a list whose entries may also be mappings with a value and a label."""
    return [entry.get("value") if isinstance(entry, Mapping) else entry for entry in entries]


CSVW = "CSVW metadata"
_WHOLE = {"integer", "long", "int", "short", "byte", "gYear"}
_LEAST = {"nonNegativeInteger": 0, "unsignedLong": 0, "unsignedInt": 0, "unsignedShort": 0, "unsignedByte": 0}
_LEAST |= {"positiveInteger": 1}
_REAL = {"number", "decimal", "double", "float"}
_DESCRIPTIONS = ("dc:description", "dcterms:description", "rdfs:comment", "schema:description")
_CSVW_DATES = {"date": None, "datetime": ISO, "dateTime": ISO}  # types of dates with their formats
_TEXT = {"string", "normalizedString", "token", "language", "Name", "NMTOKEN", ""}
_OF_CSVW: dict[str, Any] = dict.fromkeys(_WHOLE | _LEAST.keys(), "integer") | dict.fromkeys(_REAL, "real")
_OF_CSVW |= dict.fromkeys(_TEXT, "categorical") | {"boolean": "boolean"}
_OF_CSVW |= dict.fromkeys(_CSVW_DATES, "date")
_OF_CSVW |= dict.fromkeys(("any", "anyAtomicType"))  # a person must fill in the kind


def csvw_draft(data: object) -> Draft:
    tables = mappings_in(data, "tables")
    if len(tables) > 1:
        problem = f"expected CSVW metadata of one table, got {len(tables)} tables; remove the other tables."
        raise SchemaError(problem, key="tables")
    table: Any = tables[0] if tables else data
    inherited = [data, table, mapping_in(table, "tableSchema")]
    columns = [_column(column, inherited) for column in mappings_in(mapping_in(table, "tableSchema"), "columns")]
    return Draft.of(filter(None, columns), CSVW, "CSVW description with a column")


def _column(column: Mapping[str, Any], above: list[Any]) -> DraftColumn | tuple[str, str] | None:
    name = text_in(column, "titles", "name")
    if name is None or column.get("virtual") is True:
        return None
    parts = [part for part in (*above, column) if isinstance(part, Mapping)]
    own: dict[str, Any] = {key: value for part in parts for key, value in part.items()}
    if own.get("separator") is not None:
        return name, "its cells are lists; derive a number or a category from them"
    if list_in(own, "primaryKey") == [text_in(column, "name") or name]:
        return name, "it is a key, like an identifier"
    given: Any = own.get("datatype", "string")
    kind = text_in(given, "base") or "string" if isinstance(given, Mapping) else str(given)
    limits: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    if kind not in _OF_CSVW:
        return name, f"values of type {kind} cannot be attributes; derive a number or a category from them"
    common: dict[str, Any] = {"description": text_in(column, *_DESCRIPTIONS), "source": CSVW}
    common |= {"unit": text_in(column, "schema:unitText", "qudt:unit"), "missing_values": tuple(list_in(own, "null"))}
    common["may_be_missing"] = column.get("required") is not True
    if kind == "boolean":
        true, _, false = str(limits.get("format") or "").partition("|")
        common |= {"true_values": (true,), "false_values": (false,)} if true and false else {}
    if kind in _CSVW_DATES:
        pattern = text_in(limits, "format")
        try:
            common["format"] = _CSVW_DATES[kind] if pattern is None else format_of_unicode(pattern)
        except SchemaError as error:
            return name, str(error)
        limits = plain_limits(limits, common["format"], *_EXCLUSIVE)
    values = listed_values(limits.get("format")) if kind in _TEXT else ()
    declared = limits_between(limits, "minimum", "minExclusive", "maximum", "maxExclusive")
    declared &= limits_between(limits, "minInclusive", "minExclusive", "maxInclusive", "maxExclusive")
    declared &= Limits(lows=((_LEAST[kind], True),) if kind in _LEAST else ())
    return typed_column(name, _OF_CSVW[kind], values, declared, **common)


_EXCLUSIVE = ("minExclusive", "maxExclusive")
_DRAFTS: tuple[tuple[tuple[str, ...], Callable[[object], Draft]], ...] = (
    (("fields", "resources"), table_schema_draft),
    (("tableSchema", "tables"), csvw_draft),
    (("properties", "items", "$ref", "$schema"), json_schema_draft),
)
"""The formats in order of precedence, each with the keys that identify its files."""


def draft_of_json(data: object) -> Draft | None:
    """Return the draft of a description in JSON, or None if its format is not supported."""
    for keys, drafted in _DRAFTS:
        if isinstance(data, Mapping) and not data.keys().isdisjoint(keys):
            return drafted(data)
    return None
