"""JSON Schemas as drafts."""

from dataclasses import replace

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Real, Schema
from hedgerow.schema.imports.json_formats import json_schema_draft
from hedgerow.text.days import as_day
from tests.schema.imports.descriptions import JSON_SCHEMA

SOURCE = {"source": "JSON Schema"}

ROWS = {"type": "array", "items": JSON_SCHEMA, "$defs": JSON_SCHEMA["$defs"]}


@pytest.mark.parametrize("data", [JSON_SCHEMA, ROWS], ids=["row", "rows"])
def test_properties_are_attributes_with_what_they_declare(data):
    draft = json_schema_draft(data)
    assert [name for name, _ in draft.left_out] == ["tags", "at"]
    assert draft.gaps == (("born", "high"),)
    (born,) = [column for column in draft.columns if column.name == "born"]
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
def test_what_a_property_does_not_declare_is_a_gap(given, gaps):
    assert json_schema_draft({"properties": {"a": given}}).gaps == tuple(("a", key) for key in gaps)


def test_bounds_that_are_excluded_are_moved_for_whole_numbers_only():
    limits = {"exclusiveMinimum": 0, "exclusiveMaximum": 10}
    data = {"properties": {"i": {"type": "integer", **limits}, "x": {"type": "number", **limits}}}
    whole, real = json_schema_draft(data).columns
    assert (whole.low, whole.high, real.low, real.high) == (1, 9, 0, 10)


def test_no_properties_are_refused():
    with pytest.raises(SchemaError, match="property"):
        json_schema_draft({"type": "object"})


WHOLE = {"type": "integer"}
UNIONS = {
    "two ranges": (
        {"oneOf": [{**WHOLE, "minimum": 0, "maximum": 5}, {**WHOLE, "minimum": 90, "maximum": 99}]},
        ("integer", 0, 99, ()),
    ),
    "a range and a value": (
        {"anyOf": [{**WHOLE, "minimum": 0, "maximum": 5}, {"const": -9, **WHOLE}]},
        ("integer", -9, 5, ()),
    ),
    "a range and any number": ({"anyOf": [{**WHOLE, "minimum": 0, "maximum": 5}, WHOLE]}, ("integer", None, None, ())),
    "whole numbers and others": (
        {"anyOf": [{**WHOLE, "minimum": 5, "maximum": 9}, {"type": "number", "minimum": 0.5, "maximum": 7}]},
        ("real", 0.5, 9, ()),
    ),
    "two lists": ({"anyOf": [{"enum": ["a", "b"]}, {"const": "c"}]}, ("categorical", None, None, ("a", "b", "c"))),
    "a list and any text": (
        {"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "string"}]},
        ("categorical", None, None, ()),
    ),
    "a list and a number": ({"anyOf": [{"enum": ["a"], "type": "string"}, WHOLE]}, (None, None, None, ())),
    "all of two": (
        {"allOf": [{**WHOLE, "minimum": 0}, {"type": "number", "minimum": 3.5, "maximum": 9}], "maximum": 8},
        ("integer", 4, 8, ()),
    ),
    "all of two lists": ({"allOf": [{"enum": [1, 2]}, {"enum": [2, 3]}]}, ("categorical", None, None, (2,))),
    "one of all": (
        {"anyOf": [{"allOf": [{**WHOLE, "minimum": 2}, {"maximum": 4}]}, {"type": "null"}]},
        ("integer", 2, 4, ()),
    ),
    "bounds and excluded ones": (
        {**WHOLE, "minimum": 0, "exclusiveMinimum": 17, "maximum": 120, "exclusiveMaximum": 200},
        ("integer", 18, 120, ()),
    ),
    "a fraction as a bound": ({**WHOLE, "minimum": 0.5, "maximum": 9.5}, ("integer", 1, 9, ())),
    "a pattern that is looked for": ({"type": "string", "pattern": "red|green"}, ("categorical", None, None, ())),
    "a pattern beside numbers": ({**WHOLE, "pattern": "^(1|2)$", "minimum": 0}, ("integer", 0, None, ())),
    "a format beside numbers": ({**WHOLE, "format": "date", "maximum": 5}, ("integer", None, 5, ())),
    "bounds of dates beside numbers": ({**WHOLE, "formatMinimum": "2000-01-01"}, ("integer", None, None, ())),
    "dates among numbers": (
        {"allOf": [WHOLE, {"anyOf": [{"const": "2000-01-01"}, {"maximum": 5}]}]},
        ("integer", None, None, ()),
    ),
    "itself": ({"anyOf": [{"$ref": "#/properties/a"}, {**WHOLE, "minimum": 0}]}, (None, None, None, ())),
}


@pytest.mark.parametrize("case", UNIONS)
def test_a_domain_is_the_union_of_all_that_is_allowed(case):
    """Parts wrote over each other: of two ranges the last was the domain, and nothing was left to fill in."""
    given, expected = UNIONS[case]
    (result,) = json_schema_draft({"properties": {"a": given}, "required": ["a"]}).columns
    assert (result.kind, result.low, result.high, result.values) == expected
    assert result.may_be_missing is (case == "one of all")


@pytest.mark.parametrize(
    "given",
    [
        {"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]},
        {"anyOf": [WHOLE, {"type": "array"}]},
        {"type": ["integer", "string"], "format": "date"},
        {"allOf": [{"type": "string"}, {"format": "date-time"}]},
    ],
)
def test_properties_without_a_unique_kind_are_left_out_with_a_reason(given):
    ((name, reason),) = json_schema_draft({"properties": {"a": given, "b": WHOLE}}).left_out
    assert (name, "cannot be attributes; derive a number or a category" in reason) == ("a", True)


def test_a_blank_among_the_values_means_missing():
    """It was dropped, and a table that has it was refused."""
    (result,) = json_schema_draft({"properties": {"a": {"enum": ["", "x", "y"]}}, "required": ["a"]}).columns
    assert (result.values, result.may_be_missing) == (("x", "y"), True)


def test_schemas_with_repeated_references_are_read_within_limits():
    deep = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 9} for i in range(40)}
    (result,) = json_schema_draft({"$defs": deep, "properties": {"a": {"$ref": "#/$defs/d0"}}}).columns
    assert result.kind is None


@pytest.mark.parametrize(
    "given",
    [
        {"enum": [1, 2, 3, "x", True], "minimum": 2, "exclusiveMaximum": 3},
        {"allOf": [{"enum": [1, 2, 3, "x", True]}, {"minimum": 2}, {"maximum": 2.5}]},
    ],
)
def test_numbers_among_the_values_are_within_the_bounds(given):
    """Values that a bound excludes stayed in the domain; of text and booleans a bound says nothing."""
    (result,) = json_schema_draft({"properties": {"a": given}}).columns
    assert result.values == (2, "x", "true")
