import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Number, Real, Schema
from hedgerow.schema.from_public import MOST_CATEGORIES, public_attribute, public_classes, public_target, typed_table
from hedgerow.tables.frames import column_of
from hedgerow.tables.table_files import TextFormat

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "attribute"),
    [
        ([True, False], Boolean()),
        ([1, 1], Boolean()),
        ([0.0, 1.0, NAN], Boolean(missing="bin")),
        (["b", "a", "b "], Categorical(("a", "b"))),
        (["b", ""], Categorical(("b",), missing="bin")),
        ([1, 2, 3, 4], Integer(1, 4, (2,), outside="clip")),
        ([1.0, 2.0, 3.0, 4.0, NAN], Integer(1, 4, (2,), missing="bin", outside="clip")),
        ([0.5, 2.0], Real(0.5, 2.0, (0.5,), outside="clip")),
        ([5, 5, 5], Integer(5, 6, (), outside="clip")),
        ([0.1, 0.1], Real(0.1, np.nextafter(0.1, 1), (), outside="clip")),
        ([2.0**60, 2.0**61], Real(2.0**60, 2.0**61, (1.16e18,), outside="clip")),
    ],
)
def test_a_public_column_shows_its_attribute(values, attribute):
    assert public_attribute(column_of(np.array(values), "c"), bins=2) == attribute


def test_unseen_categories_have_a_bin_if_requested():
    column = column_of(np.array(["b", "a"]), "c")
    assert public_attribute(column, bins=2, outside="bin") == Categorical(("a", "b"), outside="bin")
    assert public_attribute(column_of(np.array([1, 5]), "c"), bins=2, outside="bin").outside == "clip"


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(2, 6), st.sampled_from([1, 0.5]))
def test_each_interval_but_the_last_reaches_its_share_of_the_rows(values, bins, unit):
    values = [2, *(value * unit for value in values)]  # a value that is not boolean
    attribute = public_attribute(column_of(np.array(values), "c"), bins)
    quantiles = {
        min(v for v in values if bins * sum(w <= v for w in values) >= step * len(values)) for step in range(1, bins)
    }
    assert attribute.cuts == tuple(sorted(quantiles - {max(values)}))
    assert (attribute.low, attribute.high) == (min(values), max(max(values), attribute.high))


@given(st.lists(st.one_of(st.integers(-9, 9), st.none()), min_size=1), st.sampled_from([int, float, str]))
def test_the_rows_that_were_read_encode_without_an_error(rows, kind):
    rows = [None if row is None else kind(row) for row in [3, *rows]]
    column = column_of(pl.Series(rows), "c")
    attribute = public_attribute(column, bins=3)
    bins = attribute.encode(column)
    assert [attribute.bins[bin] == "missing" for bin in bins] == [row is None for row in rows]
    assert len(set(zip(rows, bins.tolist(), strict=True))) == len(set(rows))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([NAN, NAN], "all values are missing"),
        ([""], "all values are missing"),
        ([f"v{i}" for i in range(MOST_CATEGORIES + 1)], "this column of text has 101 values"),
        (
            [f"{i},5" for i in range(MOST_CATEGORIES + 1)],
            "101 values; .* decimal commas",
        ),
        ([1.0, np.inf], "some numbers are infinite"),
    ],
)
def test_a_column_that_shows_no_domain_is_an_error_that_names_it(values, message):
    with pytest.raises(DomainError, match=f"column 'c': .*{message}") as error:
        public_attribute(column_of(np.array(values), "c"), bins=2)
    assert error.value.column == "c"


def test_as_many_categories_as_allowed_are_kept():
    words = [f"v{i}" for i in range(MOST_CATEGORIES)]
    assert len(public_attribute(column_of(np.array(words), "c"), bins=2).values) == MOST_CATEGORIES


def test_fewer_than_two_bins_are_an_error():
    with pytest.raises(ValueError, match="bins must be a whole number >= 2, got 1"):
        public_attribute(column_of(np.array([1, 2]), "c"), bins=1)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Series([True, False, True]), (False, True)),
        (pd.Series([2.0, NAN, 1.0]), (1, 2)),
        (pd.Series([3, 1, 2]), (1, 2, 3)),
        (pd.Series(["b", "a", None]), ("a", "b")),
        (pd.Categorical(["x", "y"]), ("x", "y")),
    ],
)
def test_classes_are_the_labels_that_occur_in_order(labels, classes):
    result = public_classes(column_of(labels, "y"))
    assert (result, [type(value) for value in result]) == (classes, [type(value) for value in classes])


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        (["1", "", " 2"], [1.0, None, 2.0]),
        (["1.5", None], [1.5, None]),
        (["TRUE", "false", ""], [True, False, None]),
        (["1", "x"], ["1", "x"]),
        (["true", "1"], ["true", "1"]),
        (["1", "inf"], ["1", "inf"]),
        (["007", " 10", ""], ["007", "10", None]),
        (["0", "0.5", "10"], [0.0, 0.5, 10.0]),
    ],
)
def test_a_text_column_is_typed_only_if_all_its_values_can_be(text, typed):
    result = typed_table(pa.table({"a": pa.array(text, pa.string())}))["a"].to_pylist()
    assert (result, [type(value) for value in result]) == (typed, [type(value) for value in typed])


def test_dates_end_with_the_calendar():
    last = public_attribute(column_of(pa.array([2_932_896] * 2, pa.int32()).view(pa.date32()), "until"), 4)
    assert last == Date("9999-12-30", "9999-12-31", (), outside="clip")
    first = public_attribute(column_of(pa.array([-719_162] * 2, pa.int32()).view(pa.date32()), "until"), 4)
    assert first == Date("0001-01-01", "0001-01-02", (), outside="clip")


@pytest.mark.parametrize("day", [2_932_897, -719_163, 2**30])
def test_dates_beyond_the_calendar_have_no_domain(day):
    with pytest.raises(DomainError, match=r"column 'until': .* outside the years 1 to 9999"):
        public_attribute(column_of(pa.array([0, day], pa.int32()).view(pa.date32()), "until"), 4)


def test_dates_are_not_classes():
    with pytest.raises(DomainError, match="column 'until': dates"):
        public_classes(column_of(pa.array([0, 1], pa.int32()).view(pa.date32()), "until"))


def test_a_decimal_comma_types_columns_and_makes_points_an_error():
    made, comma = (
        pa.table({"a": ["1,5", "2", ""], "b": ["1,5", "x", "1.5"], "c": ["1", "2", "3"]}),
        TextFormat(decimal=","),
    )
    result = typed_table(made, text_format=comma).to_pydict()
    assert result == {"a": [1.5, 2.0, None], "b": ["1,5", "x", "1.5"], "c": [1.0, 2.0, 3.0]}
    with pytest.raises(DomainError, match="column 'a': some numbers have a decimal point"):
        typed_table(pa.table({"a": ["1.234", "2"]}), text_format=comma)


@pytest.mark.parametrize(
    ("values", "target"),
    [
        ([0.5, 2.0, NAN], Number("c", 0.5, 2)),
        ([*range(MOST_CATEGORIES + 1)], Number("c", 0, MOST_CATEGORIES)),
        ([*range(MOST_CATEGORIES)], Label("c", tuple(range(MOST_CATEGORIES)))),
        ([1.0, 2.0], Label("c", (1, 2))),
        ([True, False], Label("c", (False, True))),
        (["b", "a"], Label("c", ("a", "b"))),
    ],
)
def test_a_public_target_is_a_number_if_it_has_fractions_or_many_values(values, target):
    assert public_target(column_of(np.array(values), "c")) == target
    frame = pd.DataFrame({"x": [True] * len(values), "c": values})
    assert Schema.from_public(frame, label="c").label == target


def test_cut_points_of_public_numbers_are_short_and_preserve_bins():
    values = np.array([0.123456789, 0.2345678912, 0.3456789123, 0.4567891234])
    attribute = public_attribute(column_of(values, "c"), bins=4)
    assert attribute.cuts == (0.124, 0.235, 0.346)
    assert attribute.encode(column_of(values, "c")).tolist() == [0, 1, 2, 3]


def test_words_among_public_numbers_are_named():
    values = [*map(str, range(2 * MOST_CATEGORIES)), "n.k."]
    with pytest.raises(DomainError, match=r"except for n\.k\.; .*--missing=n\.k\."):
        public_attribute(column_of(np.array(values), "c"), bins=2)
