"""Formats of dates in text: what they read, against Python's own parser, and what is refused."""

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, to_excel

from hedgerow import Date, Schema
from hedgerow.errors import SchemaError
from hedgerow.text.date_formats import SERIAL_DAYS, DateFormat

FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%m-%Y %H:%M", "%H:%M:%S, %Y/%m/%d", "%Y-%m-%dT%H:%M:%S.%f", "%d%m.%Y"]


@given(st.sampled_from(FORMATS), st.datetimes())
def test_what_python_writes_is_read_as_its_day(form, time):
    written = time.strftime(form.replace("%Y", f"{time.year:04}"))
    assert DateFormat(form).plain(written) == time.date().isoformat()


@given(st.sampled_from(FORMATS), st.text("0123456789./-:, T", max_size=20))
def test_other_text_stays_as_it_is_and_none_is_read_that_python_refuses(form, text):
    result = DateFormat(form).plain(text.strip())
    if result != text.strip():
        try:
            day = datetime.date.fromisoformat(result)
        except ValueError:
            return  # no day of the calendar, which readers refuse
        assert datetime.datetime.strptime(text.strip(), form).date() == day


@pytest.mark.parametrize(
    ("form", "text", "day"),
    [
        ("%d.%m.%Y", "1.2.2020", "2020-02-01"),
        ("%m/%d/%Y", "1/2/2020", "2020-01-02"),
        ("iso", "2020-01-31T12:34:56", "2020-01-31"),
        ("iso", "2020-01-31 12:34", "2020-01-31"),
        ("iso", "2020-01-31T12:34:56.789", "2020-01-31"),
        ("iso", "2020-01-31T12:34:56Z", None),
        ("iso", "2020-01-31T12:34:56+01:00", None),
        ("iso", "2020-01-31T24:00", None),
        ("excel", "61", "1900-03-01"),
        ("excel", "43861.75", "2020-01-31"),
        ("excel", "2958465", "9999-12-31"),
        ("excel", "60", None),
        ("excel", "2958466", None),
        ("excel", "043861", None),
        ("excel", "43861,5", None),
        ("excel-1904", "1", "1904-01-02"),
        ("excel-1904", "26621", "1976-11-19"),
        ("excel-1904", "42399.75", "2020-01-31"),
        ("excel-1904", "2957003", "9999-12-31"),
        ("excel-1904", "0", None),
        ("excel-1904", "0.5", None),
        ("excel-1904", "-1", None),
        ("excel-1904", "2957004", None),
        ("%d.%m.%Y", "2020-01-31", "2020-01-31"),
        ("%d.%m.%Y", "31.12.20", None),
    ],
)
def test_text_is_read_or_stays(form, text, day):
    assert DateFormat(form).plain(text) == (day or text)


@pytest.mark.parametrize("system", SERIAL_DAYS.values(), ids=SERIAL_DAYS)
def test_serial_days_are_those_of_the_pattern(system):
    serials = [*range(200), *range(system.last - 20_000, system.last + 200), *range(0, 10**7, 977)]
    assert all(bool(re.search(system.pattern, str(n))) == (system.first <= n <= system.last) for n in serials)


@pytest.mark.parametrize(("form", "epoch"), [("excel", WINDOWS_EPOCH), ("excel-1904", MAC_EPOCH)])
@given(day=st.dates(datetime.date(1904, 1, 2)), hour=st.integers(0, 23))
def test_serial_days_are_read_as_openpyxl_writes_them(form, epoch, day, hour):
    serial = to_excel(datetime.datetime(day.year, day.month, day.day, hour), epoch)
    assert DateFormat(form).plain(repr(serial)) == day.isoformat()


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        ("%d.%m.%y", "years with four digits"),
        ("%d %b %Y", "write months as numbers"),
        ("%Y-%m-%dT%H:%M:%S%z", "a time zone can change the date"),
        ("%m/%d/%Y %I:%M %p", "hours from 0 to 23"),
        ("%Y-%d-%m", "in the order %d %m %Y, %m %d %Y or %Y %m %d"),
        ("%d.%m", "in the order"),
        ("%d.%m.%Y %M", "times of day as"),
        ("dd.mm.yyyy", "write year, month and day as %Y, %m and %d"),
        ("%d.%m.%Y ", "write year"),
        ("%Y-%m-%d" + " " * 40 + "%H", "write year"),
        ("%", "write year"),
    ],
)
def test_other_formats_are_refused_with_what_to_do(form, hint):
    assert hint in (DateFormat(form).problem or "")
    with pytest.raises(SchemaError, match=r"iso, excel, excel-1904 .*got"):
        Date("2020-01-01", "2020-12-31", format=form)


@pytest.mark.parametrize("form", [*FORMATS, "iso", "excel", "excel-1904"])
def test_a_schema_keeps_its_format_and_without_one_its_digest(form):
    declared, plain = (Schema({"d": Date("2020-01-01", "2020-12-31", format=item)}) for item in (form, None))
    assert Schema.from_dict(declared.to_dict()) == declared != plain
    assert declared.digest != plain.digest
    assert "format" not in plain.to_dict()["attributes"]["d"]
