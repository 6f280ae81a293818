"""Numbers with decimal commas and separators of thousands, as `format` and people write them."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import ArgumentError
from hedgerow.tables.columns import Column
from hedgerow.tables.number_marks import THOUSANDS, recognised_marks, with_points
from hedgerow.tables.table_files import TextFormat

MARKS = [(decimal, mark) for decimal in ".," for mark in THOUSANDS if mark != decimal]


def written(number, decimal, mark):
    return f"{number:,}".translate({ord("."): decimal, ord(","): mark})


def column(*texts):
    return Column.from_arrow(pa.array(texts, pa.large_string()), "x")


@pytest.mark.parametrize(("decimal", "mark"), MARKS)
@given(st.lists(st.integers(-(10**12), 10**12) | st.decimals(-(10**9), 10**9, places=2), min_size=1))
def test_numbers_are_read_as_they_are_written(decimal, mark, numbers):
    for character in THOUSANDS[mark]:
        texts = pa.chunked_array([[f" {written(number, decimal, character)} " for number in numbers]])
        read = with_points(texts, decimal, mark).to_pylist()
        assert [float(text) for text in read] == [float(number) for number in numbers]


@pytest.mark.parametrize("text", ["1,5", "12,34,567", "1,2345", "0,123", "1234,567", ",123", "1,234,", "1,234e5"])
def test_other_groups_of_digits_are_not_numbers(text):
    assert with_points(pa.chunked_array([[text]]), ".", ",").to_pylist() == [text]
    assert not column(text).are_numbers().any()


def test_a_thousands_separator_is_not_a_decimal_mark():
    read = with_points(pa.chunked_array([["1.234", "1.23", "1.234,5", "7", None]]), ",", ".").to_pylist()
    assert read == ["1234", "1,23", "1234.5", "7", None]
    assert list(column(*read).are_numbers()) == [True, False, True, True, False]


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (("1.5", "2"), ()),
        (("1,5", "2,25"), ("`--decimal ,`",)),
        (("1.234,50", "9,25"), ("`--decimal , --thousands .`",)),
        (("1,234.50", "9.25"), ("`--thousands ,`",)),
        (("1,234", "9,000"), ("`--decimal ,`", "`--thousands ,`")),
        (("1,234", "12", "0.5"), ("`--thousands ,`",)),
        (("1,234,567", "12"), ("`--thousands ,`",)),
        (("1'234.5", "NA"), ("""`--thousands "'"`""",)),
        (("1\u202f234,5", "12"), ("`--decimal , --thousands space`",)),
        (("1 234", "12"), ("`--thousands space`", "`--decimal , --thousands space`")),
        (("a,b", "c"), ()),
        (("1,234", "a"), ("`--decimal ,`", "`--thousands ,`")),
    ],
)
def test_options_that_read_most_values_are_proposed(texts, options):
    assert recognised_marks(column(*texts)) == options


def test_marks_differ_and_are_known():
    for decimal, thousands in ((".", "."), (",", ","), (".", ";"), (".", "x"), (".", "")):
        with pytest.raises(ArgumentError, match="thousands must be one of"):
            TextFormat(decimal=decimal, thousands=thousands)
