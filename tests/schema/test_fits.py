"""How tables fit schemas, against what `encode` says of each row alone."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Real, Schema
from hedgerow.schema.fits import fit_of
from hedgerow.tables.frames import Table, column_of
from tests.schema.values import WORDS, attributes, reading

texts = st.lists(st.sampled_from([*WORDS, "", "0.5", "99", "x"]), max_size=8)
numbers = st.lists(st.sampled_from([0.0, 1.0, 7.5, -9.0, 99.0, float("nan"), float("inf")]), max_size=8)


def accepted(attribute, values, place):
    try:
        attribute.encode(column_of(values[place : place + 1], "c"))
    except DomainError:
        return False
    return True


@given(attributes, texts.map(lambda words: pd.Series(words, dtype="object")) | numbers.map(pd.Series))
def test_rows_that_are_refused_are_those_that_encode_refuses(attribute, values):
    (result,) = fit_of(Table.of(pd.DataFrame({"c": values})), Schema({"c": attribute})).columns
    refused = [place for place in range(len(values)) if not accepted(attribute, values, place)]
    assert (result.refused, result.rows) == (len(refused), tuple(refused[:5]))
    assert result.fits == (not refused)


@given(attributes, texts)
def test_missing_and_outside_values_are_counted_under_every_policy(attribute, values):
    frame = pd.DataFrame({"c": pd.Series(values, dtype="object")})
    (result,) = fit_of(Table.of(frame), Schema({"c": attribute})).columns
    read = [reading_of(attribute, value) for value in values]
    assert (result.missing, result.outside + result.unread) == (read.count("missing"), read.count("outside"))


@given(attributes, texts)
def test_proposed_policies_accept_all_rows_that_can_be_read(attribute, values):
    table = Table.of(pd.DataFrame({"c": pd.Series(values, dtype="object")}))
    result = fit_of(table, Schema({"c": attribute}))
    policies = dict(result.policies).get("c", {})
    (column,), has_policy = result.columns, attribute.outside_policies != ("error",)
    unread = column.unread if has_policy else column.unread + column.outside
    assert bool(policies) == (column.refused > unread)
    assert result.to_dict()["policies"] == ({"c": {key: [*own] for key, own in policies.items()}} if policies else {})
    for chosen in product(*policies.values()):
        changed = replace(attribute, **dict(zip(policies, chosen, strict=True)))
        (column,) = fit_of(table, Schema({"c": changed})).columns
        assert column.refused == unread


def test_the_advice_has_the_lines_to_add_to_the_schema():
    frame = pd.DataFrame(
        {"age": ["", "130", "9"], "sex": ["", "F", "X"], "on": ["", "1", "0"], "dose": ["NA", "1", "1"]}
    )
    advice = fit_of(Table.of(frame.assign(ill="no")), SCHEMA).advice
    assert advice[1:] == (
        "age has missing values and values outside its domain; correct them, or add to its line: missing: bin, "
        "outside: clip or outside: bin",
        "sex has values outside its domain; correct them, or add to its line: outside: bin",
        "on has missing values; correct them, or add to its line: missing: bin",
    )


def test_the_advice_names_codes_booleans_and_classes_without_quotes():
    schema = Schema({"age": Integer(0, 120), "dose": Real(0, 1), "on": Boolean()}, Label("ill", (False, True)))
    columns = {"age": ["30", "-9", "-9"], "dose": [0.5, 2, 2], "on": ["1", "x", "x"], "ill": ["No", "No", "Yes"]}
    assert fit_of(Table.of(pd.DataFrame(columns)), schema).advice == (
        "age contains -9; if this means missing, add to its line: missing: bin, missing_values: [-9]",
        "YAML reads words such as yes and no as true and false; if the classes of ill are words, put them in quotes: "
        'classes: ["No", "Yes"]',
        "dose has values outside its domain; correct them, or add to its line: outside: clip or outside: bin",
        "on has other values than true, false, 1 and 0; list them under true_values, false_values or missing_values, "
        "or change its kind",
    )


@pytest.mark.parametrize("values", [[True, False], ["x", ""], [float("inf"), -9], ["1e999", "-9"], [None, None]])
@pytest.mark.parametrize("kind", [Integer(0, 9), Real(0, 1), Date("2020-01-01", "2020-12-31")])
def test_columns_that_cannot_be_read_are_checked_for_codes(kind, values):
    assert not fit_of(Table.of(pd.DataFrame({"c": values})), Schema({"c": kind})).missing_words


def reading_of(attribute, value):
    """What a value is whatever the policies are."""
    told = reading(replace(attribute, outside="error") if attribute.outside == "clip" else attribute, value)
    if told != "error":
        return told
    return "missing" if value.strip() == "" or value in map(str, attribute.missing_values) else "outside"


SCHEMA = Schema(
    {"age": Integer(0, 120), "sex": Categorical(("F", "M"), missing="bin"), "dose": Real(0, 1), "on": Boolean()},
    Label("ill", ("no", "yes")),
)
ROWS = pd.DataFrame(
    {
        "id": range(7),
        "age": ["30", "x", "130", "", "7", "7", "7"],
        "sex": ["F", None, "M", "F", "F", "F", "F"],
        "on": [True] * 7,
        "ill": ["no", "yes", "maybe", None, "no", "no", "no"],
    }
)


def test_a_report_has_all_columns_with_counts_and_rows():
    result = fit_of(Table.of(ROWS), SCHEMA)
    told = [
        (item.name, item.kind, item.missing, item.outside, item.unread, item.refused, item.is_absent)
        for item in result.columns
    ]
    assert told == [
        ("age", "integer", 1, 1, 1, 3, False),
        ("sex", "categorical", 1, 0, 0, 0, False),
        ("dose", "real", 0, 0, 0, 0, True),
        ("on", "boolean", 0, 0, 0, 0, False),
        ("ill", "label", 1, 1, 0, 2, False),
    ]
    assert [item.rows for item in result.faults] == [(1, 2, 3), (), (2, 3)]
    assert (result.unused, result.problems, result.is_accepted, result.n_rows) == (("id",), (), False, 7)
    assert result.to_dict()["columns"][0]["rows"] == [1, 2, 3]


def test_a_report_is_printed_as_a_table():
    assert fit_of(Table.of(ROWS), SCHEMA).text({row: row + 10 for row in range(7)}).splitlines() == [
        "7 rows",
        "",
        "column  kind         missing  outside  wrong type  refused  first lines",
        "age     integer            1        1           1        3  11, 12, 13",
        "sex     categorical        1        0           0        0",
        "dose    real          absent   absent      absent   absent",
        "on      boolean            0        0           0        0",
        "ill     label              1        1           0        2  12, 13",
        "not in the schema: id",
    ]
    assert "first rows" in fit_of(Table.of(ROWS), SCHEMA).text()


def test_a_column_of_booleans_is_not_a_number():
    table = Table.of(pd.DataFrame({"n": [True, False], "c": [True, False]}))
    schema = Schema({"n": Integer(0, 1), "c": Categorical(("a",), missing="bin")})
    assert [(column.unread, column.refused) for column in fit_of(table, schema).columns] == [(2, 2), (2, 2)]


def test_an_array_goes_by_position_and_a_table_may_be_empty():
    result = fit_of(Table.of(np.array([[1.0, 0.0], [2.0, np.nan]])), Schema({"n": Integer(0, 1), "b": Boolean()}))
    assert [(column.outside, column.missing) for column in result.columns] == [(1, 0), (0, 1)]
    assert result.unused == ()
    assert fit_of(Table.of(ROWS[:0]), SCHEMA).n_rows == 0


@pytest.mark.parametrize(("label", "count"), [(Label("ill", ("no", "yes")), 0), (None, 1)])
def test_a_schema_that_no_learner_takes_is_not_accepted(label, count):
    rows = pd.DataFrame({"on": [True], "ill": ["no"]})
    result = fit_of(Table.of(rows), Schema({"on": Boolean()}, label))
    assert (len(result.problems), result.is_accepted, result.faults) == (count, count == 0, ())


def test_columns_of_which_nearly_all_values_are_clipped_are_named():
    schema = Schema({"a": Integer(0, 9, outside="clip"), "b": Integer(0, 9, outside="clip"), "c": Integer(0, 9)})
    rows = pd.DataFrame({"a": [50] * 19 + [5], "b": [50] * 9 + [5] * 11, "c": [50] * 20})
    result = fit_of(Table.of(rows), schema)
    assert (result.mostly_outside, result.to_dict()["mostly_outside"]) == (("a",), ["a"])
    assert fit_of(Table.of(rows[:0]), schema).mostly_outside == ()
