"""Dates against Python's own calendar."""

import datetime
import json
import pickle
import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.text.days import DATE, FIRST, LAST, Day, as_day, as_plain

EPOCH = datetime.date(1970, 1, 1)


@given(st.dates())
def test_a_day_is_its_date_in_text_and_a_number_of_days_in_arithmetic(date):
    day = as_day(date)
    assert type(day) is Day
    assert day == as_day(str(date)) == (date - EPOCH).days
    assert (str(day), f"{day}", repr(day), day.date) == (str(date), str(date), repr(str(date)), date)
    assert pickle.loads(pickle.dumps(day)) == day
    assert type(pickle.loads(pickle.dumps(day))) is Day
    assert json.dumps(as_plain(day)) == json.dumps(str(date))


@pytest.mark.parametrize("number", [2_932_897, -719_163, 10**30])
def test_a_day_beyond_the_calendar_is_told_by_its_number(number):
    day = Day(number)
    assert (str(day), f"{day}", repr(day)) == (f"{number} days since 1970-01-01",) * 2 + (repr(str(day)),)
    assert as_day(str(day)) == str(day)
    assert (str(FIRST), str(LAST), FIRST - 1, LAST + 1) == ("0001-01-01", "9999-12-31", -719_163, 2_932_897)


@pytest.mark.parametrize(
    "other", [1980, 0.0, None, True, "1980", "x", datetime.datetime(1980, 1, 1), "1980-01-01\n", " 1980-01-01"]
)
def test_what_is_no_date_is_left_as_it_is(other):
    assert as_day(other) is other
    assert as_plain(other) is other


def _is_date(text):
    try:
        return str(datetime.date(*map(int, text.split("-")))) == text
    except ValueError:
        return False


def test_the_pattern_matches_dates_and_nothing_else():
    years = [0, 1, 4, 9, 10, 99, 100, 400, 999, 1600, 1700, 1896, 1900, 1904, 1999, 2000, 2004, 2023, 2100, 9996, 9999]
    texts = [f"{y:04}-{m:02}-{d:02}" for y in years for m in range(14) for d in range(33)]
    texts += ["", "1980-1-01", "1980-01-1", "19800-01-01", "1980/01/01", "1980-01-01 ", "１980-01-01", "1980-01-01\n1"]
    expected = [_is_date(text) for text in texts]
    assert [bool(re.fullmatch(DATE, text)) for text in texts] == expected
    assert pc.match_substring_regex(pa.array(texts), DATE).to_pylist() == expected
    assert sum(expected) > 365 * len(years) // 2
