"""JSON Schemas as drafts."""

from dataclasses import replace

import pytest

from hedgerow.days import as_day
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Real, Schema
from hedgerow.schema.imports.json_schema import json_schema_draft
from tests.schema.imports.descriptions import JSON_SCHEMA

SOURCE = {"source": "JSON Schema"}

ROWS = {"type": "array", "items": JSON_SCHEMA, "$defs": JSON_SCHEMA["$defs"]}


@pytest.mark.parametrize("data", [JSON_SCHEMA, ROWS], ids=["row", "rows"])
def test_properties_are_attributes_with_what_they_declare(data):
    draft = json_schema_draft(data)
    assert [name for name, _ in draft.left_out] == ["tags", "at"]
    assert draft.gaps == (("born", "high"),)
    (born,) = [one for one in draft.columns if one.name == "born"]
    assert draft.completed(replace(born, high=as_day("2024-12-31"))).schema() == Schema(
        {
            "age": Integer(1, 120, description="Age", **SOURCE),
            "dose": Real(0, 1, missing="bin", **SOURCE),
            "sex": Categorical(("F", "M"), **SOURCE),
            "ok": Boolean(**SOURCE),
            "code": Categorical((1, 2), **SOURCE),
            "size": Real(0.5, 9, **SOURCE),
            "hue": Categorical(("red",), missing="bin", **SOURCE),
            "born": Date("1900-01-01", "2024-12-31", missing="bin", **SOURCE),
        }
    )


@pytest.mark.parametrize(
    ("given", "gaps"),
    [
        ({"type": "integer"}, ["low", "high"]),
        ({"type": "number", "exclusiveMaximum": True, "maximum": 5}, ["low"]),
        ({"type": "string"}, ["values"]),
        ({"type": ["string", "integer"]}, ["kind"]),
        ({"$ref": "https://example.org/other.json"}, ["kind"]),
        ({"$ref": "#/properties/a"}, ["kind"]),  # to itself
        ({"$ref": "#/no/where"}, ["kind"]),
        (True, ["kind"]),
        ({}, ["kind"]),
    ],
)
def test_what_a_property_does_not_say_is_a_gap(given, gaps):
    assert json_schema_draft({"properties": {"a": given}}).gaps == tuple(("a", key) for key in gaps)


def test_bounds_that_are_excluded_are_moved_for_whole_numbers_only():
    limits = {"exclusiveMinimum": 0, "exclusiveMaximum": 10}
    data = {"properties": {"i": {"type": "integer", **limits}, "x": {"type": "number", **limits}}}
    whole, real = json_schema_draft(data).columns
    assert (whole.low, whole.high, real.low, real.high) == (1, 9, 0, 10)


def test_no_properties_are_refused():
    with pytest.raises(SchemaError, match="properties that can be attributes, got none"):
        json_schema_draft({"type": "object"})
