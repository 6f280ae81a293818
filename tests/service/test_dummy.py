"""Dummy rows fit the schema, and show all of it."""

import pandas as pd
import pytest

from hedgerow.datasets import load
from hedgerow.errors import ArgumentError
from hedgerow.schema import Boolean, Date, Label, Schema
from hedgerow.service.rows import MOST_ROWS, dummy_rows
from hedgerow.tally import Tally
from tests.service.wards import SCHEMA


@pytest.mark.parametrize("schema", [SCHEMA, load("breast_cancer").schema], ids=["wards", "breast_cancer"])
def test_they_fit_the_schema_and_depend_on_the_seed_alone(schema):
    rows = pd.DataFrame(dummy_rows(schema, 500))
    assert Tally.count(rows, schema.label.name, schema).rows().sum() == 500
    assert rows.equals(pd.DataFrame(dummy_rows(schema, 500)))
    assert not rows.equals(pd.DataFrame(dummy_rows(schema, 500, seed=1)))


def test_every_value_occurs():
    rows = dummy_rows(SCHEMA, 2000)
    assert set(rows["ward"]) == {"a", "b", "c"}
    assert set(rows["smoker"]) == {True, False}
    assert (min(rows["age"]), max(rows["age"])) == (18, 90)
    assert set(rows["ill"]) == {"no", "yes"}


def test_their_number_is_bounded():
    for number in (0, MOST_ROWS + 1, 1.5):
        with pytest.raises(ArgumentError):
            dummy_rows(SCHEMA, number)
    assert "ill" not in dummy_rows(Schema(dict(SCHEMA.attributes)), 1)


def test_made_up_rows_have_the_declared_words_of_booleans():
    words = Boolean(true_values=("yes", "Y"), false_values=("no",))
    rows = dummy_rows(Schema({"a": words, "b": Boolean()}), 50, seed=1)
    assert (set(rows["a"]), set(rows["b"])) == ({"yes", "no"}, {True, False})


def test_made_up_dates_are_text_of_dates_inside_the_bounds():
    schema = Schema({"born": Date("1950-01-01", "1950-01-03")}, Label("ill", ("no", "yes")))
    rows = dummy_rows(schema, 200)
    assert set(rows["born"]) == {"1950-01-01", "1950-01-02", "1950-01-03"}
    assert Tally.count(pd.DataFrame(rows), "ill", schema).rows().sum() == 200
