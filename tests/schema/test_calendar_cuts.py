"""Cut points of dates against a walk through the calendar, day by day."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.schema import Date
from hedgerow.schema.dates import date_cuts, default_date_cuts
from hedgerow.text.days import as_day

ONE_DAY = datetime.timedelta(days=1)
bounds = st.lists(
    st.dates(datetime.date(1899, 1, 1), datetime.date(1912, 12, 31)), min_size=2, max_size=2, unique=True
).map(sorted)


def walked(low, high, number, unit):
    """The days between the bounds after which another period begins."""
    result, day = [], low
    while day < high:
        after = day + ONE_DAY
        if unit == "day":
            ends = (after - low).days % number == 0
        else:
            months = [item.year * 12 + item.month - 1 for item in (day, after)]
            each = number * (12 if unit == "year" else 1)
            ends = months[0] // each != months[1] // each
        result += [str(day)] if ends else []
        day = after
    return result


@given(bounds, st.integers(1, 40), st.sampled_from(["day", "month", "year"]))
def test_cut_points_are_the_last_days_of_periods(ends, number, unit):
    low, high = ends
    expected = walked(low, high, number, unit)
    words = {f"{number} {unit}s", f"{number} {unit}"} | ({unit, f"{unit}s"} if number == 1 else set())
    for word in words if len(expected) <= 1_000 else ():
        assert list(map(str, date_cuts(as_day(low), as_day(high), word))) == expected


@given(bounds)
def test_the_default_is_the_finest_period_with_at_most_20_cut_points(ends):
    low, high = ends
    steps = [(1, "day"), (7, "day"), (1, "month"), (3, "month"), (6, "month"), (1, "year")]
    expected = next(cuts for cuts in (walked(low, high, *step) for step in steps) if len(cuts) <= 20)
    assert list(map(str, default_date_cuts(as_day(low), as_day(high)))) == expected
    assert expected


@pytest.mark.parametrize(
    ("low", "high", "first", "number"),
    [
        ("1920-01-01", "2024-12-31", "1924-12-31", 20),
        ("0001-01-01", "9999-12-31", "0499-12-31", 19),
        ("9999-12-30", "9999-12-31", "9999-12-30", 1),
        ("1800-01-01", "2000-01-01", "1809-12-31", 20),
    ],
)
def test_the_default_of_long_and_short_ranges(low, high, first, number):
    cuts = default_date_cuts(as_day(low), as_day(high))
    assert (str(cuts[0]), len(cuts)) == (first, number)


def test_equal_distances_and_lists():
    low, high = as_day("2020-01-01"), as_day("2020-01-31")
    assert list(map(str, date_cuts(low, high, 2))) == ["2020-01-11", "2020-01-21"]
    assert list(map(str, date_cuts(low, high, ["2020-01-05", datetime.date(2020, 1, 9)]))) == [
        "2020-01-05",
        "2020-01-09",
    ]
    assert date_cuts(low, high, ()) == ()


@pytest.mark.parametrize(
    ("cuts", "problem"),
    [
        ("weeks", "expected a list of dates, auto, a period"),
        ("0 years", "expected a list of dates, auto, a period"),
        ("log 5", "got 'log 5'"),
        (0, "from 1 to 1,000; got 0"),
        (True, "got True"),
        (1001, "got 1001"),
        ("day", "more than 1,000 cut points"),
        ([1990], "expected a date such as 1980-12-31, got 1990"),
        (["1990-02-30"], "got '1990-02-30'"),
        (["1990-02-01", "1990-01-01"], "cut points must increase"),
        (["2000-01-01"], ">= 1980-01-01 and < 2000-01-01"),
    ],
)
def test_others_are_refused_with_what_is_expected(cuts, problem):
    with pytest.raises(SchemaError, match=problem) as error:
        Date("1980-01-01", "2000-01-01", cuts)
    assert error.value.key == "cuts"
