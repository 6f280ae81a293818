"""Frictionless Table Schemas as drafts."""

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Real, Schema
from hedgerow.schema.imports.json_formats import table_schema_draft
from tests.schema.imports.descriptions import FRICTIONLESS

SOURCE = {"source": "Frictionless Table Schema"}
NA = {"missing": "bin", "missing_values": ("NA",)}


def test_fields_are_attributes_with_what_they_declare():
    draft = table_schema_draft(FRICTIONLESS)
    assert draft.gaps == ()
    assert [name for name, _ in draft.left_out] == ["id"]
    assert draft.schema() == Schema(
        {
            "age": Integer(0, 120, description="Age: at admission", unit="years", **NA, **SOURCE),
            "dose": Real(0.5, 2, **NA, **SOURCE),
            "sex": Categorical(("F", "M"), **NA, **SOURCE),
            "ward": Categorical(("a", "b"), **NA, **SOURCE),
            "born": Date("1900-01-01", "2024-12-31", **NA, **SOURCE),
            "seen": Date("2020-01-01", "2024-12-31", format="%d/%m/%Y", **NA, **SOURCE),
            "smoker": Boolean(
                true_values=("yes", "Y"), false_values=("no",), missing="bin", missing_values=("-9",), **SOURCE
            ),
            "alive": Boolean(**NA, **SOURCE),
            "hue": Categorical(("red", "blue"), **NA, **SOURCE),
        }
    )


@pytest.mark.parametrize(
    ("field", "gaps"),
    [
        ({"type": "integer"}, ["low", "high"]),
        ({"type": "integer", "constraints": {"minimum": 1}}, ["high"]),
        ({"type": "year", "constraints": {"maximum": 2000}}, ["low"]),
        ({"type": "string"}, ["values"]),
        ({"type": "any"}, ["kind"]),
        ({}, ["kind"]),
        ({"type": "boolean"}, []),
        ({"type": "date", "constraints": {"minimum": "2020-13-01"}}, ["low", "high"]),
    ],
)
def test_what_a_field_does_not_declare_is_a_gap(field, gaps):
    assert table_schema_draft({"fields": [{"name": "a", **field}]}).gaps == tuple(("a", key) for key in gaps)


def test_a_package_has_the_schema_of_its_only_table():
    package = {"resources": [{"name": "t", "schema": FRICTIONLESS}]}
    assert table_schema_draft(package) == table_schema_draft(FRICTIONLESS)
    assert table_schema_draft(package).labelled("sex").schema().label == Label("sex", ("F", "M"))
    with pytest.raises(SchemaError, match="a data package with one table, got 2"):
        table_schema_draft({"resources": [{"schema": FRICTIONLESS}] * 2})


@pytest.mark.parametrize("data", [{"fields": []}, {"fields": 3}, {"fields": [{"type": "x"}]}, {"resources": []}])
def test_no_fields_are_refused(data):
    with pytest.raises(SchemaError, match="with a field that can be an attribute"):
        table_schema_draft(data)


@pytest.mark.parametrize("keys", [{"primaryKey": "a"}, {"primaryKey": ["a"]}, {"uniqueKeys": [["b", "c"], ["a"]]}])
def test_a_key_by_itself_is_left_out(keys):
    fields = [{"name": name, "type": "integer"} for name in "abc"]
    assert [name for name, _ in table_schema_draft({"fields": fields, **keys}).left_out] == ["a"]
    assert not table_schema_draft({"fields": fields, "primaryKey": ["a", "b"]}).left_out


def test_bounds_and_excluded_bounds_both_hold():
    limits = {"minimum": 0, "exclusiveMinimum": 17, "maximum": 120, "exclusiveMaximum": 100}
    (result,) = table_schema_draft({"fields": [{"name": "a", "type": "integer", "constraints": limits}]}).columns
    assert (result.low, result.high) == (18, 99)


@pytest.mark.parametrize(
    ("given", "true", "false"),
    [
        ({"trueValues": ["yes"]}, ("yes",), ("false", "False", "FALSE", "0")),
        ({"falseValues": ["no"]}, ("true", "True", "TRUE", "1"), ("no",)),
        ({}, (), ()),
    ],
)
def test_words_for_one_truth_value_keep_the_defaults_of_the_other(given, true, false):
    """They were dropped, and a table that has them refused."""
    (result,) = table_schema_draft({"fields": [{"name": "a", "type": "boolean", **given}]}).columns
    assert (result.true_values, result.false_values) == (true, false)


@pytest.mark.parametrize(
    ("field", "kind", "values"),
    [
        ({"categories": ["low", "mid", "high"], "categoriesOrdered": True}, "ordered", ("low", "mid", "high")),
        ({"categories": ["low", "mid", "high"], "categoriesOrdered": False}, "categorical", ("low", "mid", "high")),
        ({"categories": ["low", "mid", "high"]}, "categorical", ("low", "mid", "high")),
        (
            {"categories": [{"value": 2, "label": "b"}, {"value": 1, "label": "a"}], "categoriesOrdered": True},
            "ordered",
            (2, 1),
        ),
        (
            {
                "categories": ["low", "mid", "high"],
                "categoriesOrdered": True,
                "constraints": {"enum": ["high", "low"]},
            },
            "ordered",
            ("low", "high"),
        ),
        ({"constraints": {"enum": ["b", "a"]}, "categoriesOrdered": True}, "categorical", ("b", "a")),
    ],
)
def test_categories_are_ordered_if_declared(field, kind, values):
    (result,) = table_schema_draft({"fields": [{"name": "a", "type": "string", **field}]}).columns
    assert (result.kind, result.values) == (kind, values)
