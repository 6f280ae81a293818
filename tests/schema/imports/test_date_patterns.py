"""Formats of dates in descriptions: those that a schema has too, and what is said of the others."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.date_patterns import format_of_strptime, format_of_unicode
from hedgerow.schema.imports.json_formats import csvw_draft, table_schema_draft
from hedgerow.text.date_formats import DateFormat
from hedgerow.text.days import as_day

# CSVW, section 6.4.4: the patterns that every implementation reads, with Python's own of the same meaning
DAYS = {
    **{"yyyyMMdd": "%Y%m%d", "dd-MM-yyyy": "%d-%m-%Y", "d-M-yyyy": "%d-%m-%Y", "MM-dd-yyyy": "%m-%d-%Y"},
    **{"M-d-yyyy": "%m-%d-%Y", "dd/MM/yyyy": "%d/%m/%Y", "d/M/yyyy": "%d/%m/%Y", "MM/dd/yyyy": "%m/%d/%Y"},
    **{"M/d/yyyy": "%m/%d/%Y", "dd.MM.yyyy": "%d.%m.%Y", "d.M.yyyy": "%d.%m.%Y", "MM.dd.yyyy": "%m.%d.%Y"},
    **{"M.d.yyyy": "%m.%d.%Y"},
}
TIMES = {"HH:mm:ss.S": "%H:%M:%S.%f", "HH:mm:ss": "%H:%M:%S", "HHmmss": "%H%M%S", "HH:mm": "%H:%M", "HHmm": "%H%M"}
PAIRS = DAYS | {
    f"{day}{mark}{time}": f"{DAYS[day]}{mark}{TIMES[time]}" for day in DAYS for mark in " T" for time in TIMES
}


@given(st.sampled_from(sorted(PAIRS)), st.datetimes(datetime.datetime(1000, 1, 1)))
def test_patterns_of_csvw_and_strptime_read_dates_written_by_python(pattern, time):
    written = time.strftime(PAIRS[pattern])
    for form in (format_of_unicode(pattern), format_of_strptime(PAIRS[pattern])):
        assert DateFormat(form).plain(written) == time.date().isoformat()


@pytest.mark.parametrize(
    ("read", "pattern", "form"),
    [
        (format_of_strptime, "%Y-%m-%d", None),
        (format_of_strptime, "%F", None),
        (format_of_strptime, "fmt:%d/%m/%Y", "%d/%m/%Y"),
        (format_of_strptime, "%F %T", "%Y-%m-%d %H:%M:%S"),
        (format_of_strptime, "%-d.%-m.%Y", "%d.%m.%Y"),
        (format_of_unicode, "yyyy-MM-dd", None),
        (format_of_unicode, "uuuu-MM-dd'T'HH:mm", "%Y-%m-%dT%H:%M"),
        (format_of_unicode, "yyyy-MM-ddTHH:mm:ss.SSS", "%Y-%m-%dT%H:%M:%S.%f"),
    ],
)
def test_other_ways_to_write_a_format_are_the_same(read, pattern, form):
    assert read(pattern) == form


@pytest.mark.parametrize(
    ("read", "pattern", "hint"),
    [
        (format_of_strptime, "%d/%m/%y", "years with four digits"),
        (format_of_strptime, "%d %b %Y", "write months as numbers"),
        (format_of_strptime, "%Y-%m-%dT%H:%M:%S%z", "a time zone can change the date"),
        (format_of_strptime, "%m/%Y", "once"),
        (format_of_strptime, "", "once"),
        (format_of_strptime, "%Y" * 1000, "write year"),
        (format_of_unicode, "dd.MM.yy", "years with four digits"),
        (format_of_unicode, "d MMM yyyy", "write months as numbers"),
        (format_of_unicode, "yyyy-MM-ddTHH:mm:ssXXX", "a time zone can change the date"),
        (format_of_unicode, "MM/dd/yyyy hh:mm a", "hours from 0 to 23"),
        (format_of_unicode, "yyyy-DDD", "write month and day"),
        (format_of_unicode, "YYYY-ww", "write year"),
        (format_of_unicode, "'%d.%m.%Y'", "write year"),
        (format_of_unicode, "%d.%m.%Y", "write year"),
        (format_of_unicode, "'''", "write year"),
    ],
)
def test_unsupported_patterns_are_errors_with_advice(read, pattern, hint):
    with pytest.raises(
        SchemaError, match=rf"its date format .* is not supported: .*{hint}.*; write them in one format"
    ):
        read(pattern)


def frictionless(kind, form, low, high, exclusive):
    keys = ("exclusiveMinimum", "exclusiveMaximum") if exclusive else ("minimum", "maximum")
    field = {"name": "a", "type": kind, "constraints": dict(zip(keys, (low, high), strict=True))}
    return table_schema_draft(
        {"fields": [field | ({"format": form} if form else {}), {"name": "b", "type": "integer"}]}
    )


def csvw(kind, form, low, high, exclusive):
    keys = ("minExclusive", "maxExclusive") if exclusive else ("minimum", "maximum")
    datatype = {"base": kind, **dict(zip(keys, (low, high), strict=True))} | ({"format": form} if form else {})
    columns = [{"name": "a", "datatype": datatype}, {"name": "b", "datatype": "integer"}]
    return csvw_draft({"tableSchema": {"columns": columns}})


SLASHES = {frictionless: "%d/%m/%Y", csvw: "dd/MM/yyyy"}
MINUTES = {frictionless: "%d/%m/%Y %H:%M", csvw: "dd/MM/yyyy HH:mm"}
IN_MINUTES = "%d/%m/%Y %H:%M"


@pytest.mark.parametrize("draft", [frictionless, csvw])
@pytest.mark.parametrize(
    ("kind", "patterns", "bounds", "exclusive", "expected"),
    [
        ("date", {}, ("2020-01-01", "2020-12-31"), False, (None, "2020-01-01", "2020-12-31")),
        ("date", SLASHES, ("01/02/2020", "31/12/2020"), False, ("%d/%m/%Y", "2020-02-01", "2020-12-31")),
        ("date", SLASHES, ("2020-02-01", "2020-12-31"), False, ("%d/%m/%Y", "2020-02-01", "2020-12-31")),
        ("date", SLASHES, ("01/02/2020", "31/12/2020"), True, ("%d/%m/%Y", "2020-02-02", "2020-12-30")),
        ("datetime", {}, ("2020-01-01T00:00:00Z", "2020-12-31T23:59:59Z"), False, ("iso", "2020-01-01", "2020-12-31")),
        ("datetime", {}, ("2020-01-01T00:00:00", "2021-01-01T00:00:00"), True, ("iso", "2020-01-01", "2020-12-31")),
        ("datetime", {}, ("2020-01-01T12:00:00", "2021-01-01T12:00:00"), True, ("iso", "2020-01-01", "2021-01-01")),
        ("datetime", MINUTES, ("01/02/2020 10:30", "31/12/2020 00:00"), True, (IN_MINUTES, "2020-02-01", "2020-12-30")),
        ("date", SLASHES, ("31/31/2020", None), False, ("%d/%m/%Y", None, None)),
    ],
)
def test_dates_and_times_have_their_format_and_the_days_of_their_bounds(
    draft, kind, patterns, bounds, exclusive, expected
):
    result, (form, *days) = draft(kind, patterns.get(draft), *bounds, exclusive), expected
    column = result.columns[0]
    assert (column.kind, column.format, column.low, column.high) == ("date", form, *map(as_day, days))
    assert result.to_dict()["attributes"]["a"].get("format") == form


@pytest.mark.parametrize(
    ("draft", "kind", "pattern", "reason"),
    [
        (frictionless, "date", "any", "its dates may be in any format; write them in one format"),
        (frictionless, "date", "%d/%m/%y", "years with four digits"),
        (frictionless, "yearmonth", None, "values of type yearmonth cannot be attributes"),
        (csvw, "date", "d MMM yyyy", "write months as numbers"),
        (csvw, "dateTimeStamp", None, "values of type dateTimeStamp cannot be attributes"),
        (csvw, "gYearMonth", None, "values of type gYearMonth cannot be attributes"),
    ],
)
def test_a_column_is_left_out_if_no_format_reads_its_dates(draft, kind, pattern, reason):
    ((name, result),) = draft(kind, pattern, None, None, exclusive=False).left_out
    assert (name, reason in result) == ("a", True)


@pytest.mark.parametrize(("draft", "kind"), [(frictionless, "year"), (csvw, "gYear")])
def test_years_are_whole_numbers(draft, kind):
    result = draft(kind, None, 1990, 2020, exclusive=False).columns[0]
    assert (result.kind, result.low, result.high) == ("integer", 1990, 2020)
