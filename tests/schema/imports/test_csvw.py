"""CSVW metadata as drafts."""

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Real, Schema
from hedgerow.schema.imports.json_formats import csvw_draft
from tests.schema.imports.descriptions import CSVW

SOURCE = {"source": "CSVW metadata"}


@pytest.mark.parametrize("data", [CSVW, {"tables": [CSVW]}])
def test_columns_are_attributes_with_what_they_declare(data):
    draft = csvw_draft(data)
    assert draft.left_out == ()
    assert draft.schema() == Schema(
        {
            "Age": Integer(0, 120, description="in years", **SOURCE),
            "n": Integer(0, 9, **SOURCE),
            "dose": Real(0, 1.5, missing="bin", missing_values=("NA", "-"), **SOURCE),
            "smoker": Boolean(true_values=("Y",), false_values=("N",), **SOURCE),
            "hue": Categorical(("red", "blue"), **SOURCE),
            "born": Date("1900-01-01", "2024-12-31", **SOURCE),
            "seen": Date("2020-01-01", "2024-12-31", format="%d/%m/%Y", **SOURCE),
        }
    )


@pytest.mark.parametrize(
    ("column", "gaps"),
    [
        ({}, ["values"]),
        ({"datatype": "integer"}, ["low", "high"]),
        ({"datatype": "positiveInteger"}, ["high"]),
        ({"datatype": {"base": "double", "minInclusive": 1}}, ["high"]),
        ({"datatype": "boolean"}, []),
        ({"datatype": "date"}, ["low", "high"]),
        ({"datatype": "any"}, ["kind"]),
    ],
)
def test_what_a_column_does_not_declare_is_a_gap(column, gaps):
    data = {"tableSchema": {"columns": [{"name": "a", **column}]}}
    assert csvw_draft(data).gaps == tuple(("a", key) for key in gaps)


def test_declarations_of_the_table_apply_to_each_column():
    data = {"null": "?", "tableSchema": {"datatype": "integer", "columns": [{"name": "a"}, {"name": "b", "null": "-"}]}}
    assert [(column.kind, column.missing_values) for column in csvw_draft(data).columns] == [
        ("integer", ("?",)),
        ("integer", ("-",)),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"tables": [CSVW, CSVW]}, "of one table, got 2"),
        ({"tableSchema": {}}, "with a column that can be an attribute"),
    ],
)
def test_other_metadata_are_refused(data, message):
    with pytest.raises(SchemaError, match=message):
        csvw_draft(data)


def test_keys_and_lists_are_left_out():
    columns = [{"name": "a", "datatype": "integer"}, {"name": "b", "separator": ";"}, {"name": "c"}]
    draft = csvw_draft({"tableSchema": {"primaryKey": "a", "columns": columns}})
    assert dict(draft.left_out) == {
        "a": "it is a key, like an identifier",
        "b": "its cells are lists; derive a number or a category from them",
    }
    assert not csvw_draft({"tableSchema": {"primaryKey": ["a", "c"], "columns": columns[::2]}}).left_out


def test_all_bounds_hold():
    given = {"base": "nonNegativeInteger", "minimum": -5, "minExclusive": 17, "maxInclusive": 120, "maxExclusive": 100}
    (result,) = csvw_draft({"tableSchema": {"columns": [{"name": "a", "datatype": given}]}}).columns
    assert (result.low, result.high) == (18, 99)
    given |= {"minExclusive": -7}
    assert csvw_draft({"tableSchema": {"columns": [{"name": "a", "datatype": given}]}}).columns[0].low == 0
