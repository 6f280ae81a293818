"""Numbers and ordered classes to predict: their levels, in memory and in an engine, and their files."""

import duckdb
import ibis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Boolean, Integer, Label, Number, OrderedLabel, Real, Schema
from hedgerow.schema.fits import fit_of
from hedgerow.tables.frames import Table, column_of
from hedgerow.tally import Tally
from tests.schema.values import level_of


def levels(number, values):
    return number.encode(column_of(pd.Series(values), number.name)).tolist()


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 40), st.lists(st.floats(-2e6, 2e6), min_size=1))
def test_a_number_has_the_level_of_the_definition(low, width, n, values):
    number = Number("y", low, low + width, n)
    assert levels(number, values) == [level_of(number, value) for value in values]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 256))
def test_a_level_is_predicted_as_its_middle(low, width, n):
    number = Number("y", low, low + width, n)
    assert levels(number, list(number.values)) == list(range(n))
    exact = [low + width * (k + 0.5) / n for k in range(n)]
    assert number.values == pytest.approx(exact, abs=1e-9 * (abs(low) + width))


def test_levels_of_four():
    assert Number("y", 0, 32, 4).values == (4.0, 12.0, 20.0, 28.0)
    assert levels(Number("y", 0, 32, 4), [0, 8, 8.01, 32, 33, -1]) == [0, 0, 1, 3, 3, 0]


@pytest.mark.parametrize(
    ("given", "key", "message"),
    [
        ({"low": 1, "high": 1}, "high", "high must be l"),
        ({"low": 0, "high": float("inf")}, "high", "expected a finite number"),
        ({"low": "0", "high": 1}, "low", "expected a finite number"),
        ({"low": 0, "high": 1, "levels": 1}, "levels", "expected a whole number from 2 to 256, got 1"),
        ({"low": 0, "high": 1, "levels": 257}, "levels", "from 2 to 256"),
        ({"low": 0, "high": 1, "levels": 8.0}, "levels", "from 2 to 256"),
        ({"low": 0, "high": 1, "outside": "bin"}, "outside", "expected one of clip, error, got 'bin'"),
        ({"low": 0, "high": 1.1e150}, "high", r"bounds must be at most 1e\+150 in size"),
        ({"low": -1e308, "high": 0}, "high", r"at most 1e\+150"),
        ({"low": 1.0, "high": 1.0 + 2**-50, "levels": 32}, "high", "the bounds are too close for 32 levels"),
    ],
)
def test_an_invalid_number_to_predict_is_an_error(given, key, message):
    with pytest.raises(SchemaError, match=message) as error:
        Number("y", **given)
    assert error.value.key == key


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None], "some values of the target are missing"),
        ([1.0, 33.0], "some values of the target are outside the declared bounds \\(0 to 32 in 4 levels\\)"),
        (["1", "secret"], "not a number|got dates|column of dates"),
        ([True, False], "column of booleans"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "got a column of dates"),
    ],
)
def test_errors_of_values_of_a_numeric_target_quote_no_value(values, message):
    with pytest.raises(DomainError, match=message) as error:
        levels(Number("y", 0, 32, 4, outside="error"), values)
    assert error.value.column == "y"
    assert not any(word in str(error.value) for word in ("secret", "33", "2020"))


TARGETS = [
    Number("y", 0, 32, 4),
    Number("y", -1.5, 2.25, 256, outside="error"),
    OrderedLabel("y", ("low", "high", "highest")),
    OrderedLabel("y", (3, 1, 2)),
    Label("y", ("b", "a")),
]


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_files_hold_targets(target, tmp_path):
    schema = Schema({"a": Boolean()}, target)
    for name in ("schema.yaml", "schema.json"):
        schema.save(tmp_path / name)
        assert Schema.load(tmp_path / name) == schema
    assert Schema.from_dict(schema.to_dict()).digest == schema.digest


def test_targets_are_equal_to_their_own_kind_alone():
    assert OrderedLabel("y", ("a", "b")) != Label("y", ("a", "b"))
    assert OrderedLabel("y", ("a", "b")) != OrderedLabel("y", ("b", "a"))
    assert hash(OrderedLabel("y", ("a", "b"))) == hash(OrderedLabel("y", ("a", "b")))
    assert Number("y", 0, 1) == Number("y", 0.0, 1.0) == Number("y", -0.0, 1)
    assert len({Schema({"a": Boolean()}, target).digest for target in TARGETS}) == len(TARGETS)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": "y", "low": 0}, "this key is required"),
        ({"name": "y", "low": 0, "high": 1, "bins": 3}, "unknown key"),
        ({"name": "y", "low": 3, "high": 1}, "attribute 'y': key 'high': high must be l"),
        ({"name": "y", "classes": ["a", "b"], "ordered": "yes"}, "expected true or false, got 'yes'"),
        ({"name": "y"}, "key 'classes': list the classes; to predict a number, write low and high instead"),
        (
            {"name": "y", "min": 0},
            "allowed keys are name, classes, other_spellings, ordered, low, high, levels, outside",
        ),
        ("y", "expected the column and its classes, such as .*; to predict a number, write low and high"),
    ],
)
def test_faults_in_files_have_lines(body, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict({"attributes": {"a": {"kind": "boolean"}}, "label": body})


def test_a_number_has_no_classes():
    with pytest.raises(SchemaError, match=r"needs a label with classes.* use `predict`"):
        Schema({"a": Boolean()}, Number("y", 0, 1)).classes  # noqa: B018


COLUMNS = {
    "numbers": [0.0, 8.0, 8.5, 31.9, 32.0, -5.0, 40.0],
    "whole": [0, 8, 9, 31, 32, -5, 40],
    "text": ["0", " 8.0", "8.5", "3.19e1", "32", "-5", "40"],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_an_engine_counts_the_levels_that_memory_does(kind, tmp_path):
    frame = pd.DataFrame({"a": [True, False, True, False, True, False, True], "y": COLUMNS[kind]})
    schema = Schema({"a": Boolean()}, Number("y", 0, 32, 4))
    frame.to_parquet(tmp_path / "t.parquet")
    table = ibis.duckdb.from_connection(duckdb.connect()).read_parquet(tmp_path / "t.parquet")
    assert Tally.from_table(table, schema).distance(Tally.count(frame, "y", schema)) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None], "some values of the target are missing"),
        ([1.0, 33.0], "outside the declared bounds"),
        (["1", "x"], "not a number|got dates|column of dates"),
        ([True, False], "booleans"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "not a number|got dates|column of dates"),
    ],
)
def test_an_engine_refuses_what_memory_does(values, message, tmp_path):
    schema = Schema({"a": Boolean()}, Number("y", 0, 32, 4, outside="error"))
    pd.DataFrame({"a": [True, False], "y": values}).to_parquet(tmp_path / "t.parquet")
    table = ibis.duckdb.from_connection(duckdb.connect()).read_parquet(tmp_path / "t.parquet")
    with pytest.raises(DomainError, match=message):
        Tally.from_table(table, schema)


def test_a_fit_counts_values_that_are_clipped():
    schema = Schema({"a": Boolean()}, Number("y", 0, 32))
    result = fit_of(Table.of(pd.DataFrame({"a": [True, False, True], "y": [1.0, 99.0, None]})), schema)
    column = next(item for item in result.columns if item.name == "y")
    assert (column.kind, column.missing, column.outside, column.refused) == ("number", 1, 1, 1)


def test_drawn_values_lie_between_the_bounds():
    drawn = np.array(Number("y", -3, 4).drawn(1000, np.random.default_rng(0)))
    assert drawn.min() >= -3
    assert drawn.max() <= 4
    assert drawn.std() > 1


def test_decimal_commas_of_the_target_are_read():
    kinds = {"age": Integer(0, 9), "smoker": Boolean()}
    assert Schema(kinds, Number("days", 0, 9)).number_columns == ("age", "days")
    assert Schema(kinds, Label("ill", (0, 1))).number_columns == Schema(kinds).number_columns == ("age",)


def test_equal_schemas_have_equal_digests_whatever_the_sign_of_zero():
    for item, other in (
        (Number("y", -0.0, 1), Number("y", 0, 1)),
        (Number("y", -1, -0.0), Number("y", -1, 0)),
    ):
        assert Schema({"a": Boolean()}, item).digest == Schema({"a": Boolean()}, other).digest
    real, same = Real(-0.0, 1, cuts=(0.5,)), Real(0, 1, cuts=(0.5,))
    assert Schema({"a": real}).digest == Schema({"a": same}).digest
    real, same = Real(-1, 1, cuts=(-0.0,)), Real(-1, 1, cuts=(0,))
    assert Schema({"a": real}).digest == Schema({"a": same}).digest


@pytest.mark.parametrize(("low", "high"), [(0, 32 * 5e-324), (2**53, 2**53 + 64), (1e16, 1e16 + 64)])
def test_levels_whose_middles_float64_does_not_hold_are_refused(low, high):
    """Two levels would have one middle: the second would be predicted as the first."""
    with pytest.raises(SchemaError, match=r"bounds .*32 levels"):
        Number("y", low, high)
    assert len(set(Number("y", low, low + 2 * (high - low)).values)) == 32
