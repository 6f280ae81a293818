"""Check constraints, as PostgreSQL and DuckDB write them in their catalogues."""

import pytest

from hedgerow.schema.imports.checks import limits_of
from hedgerow.schema.imports.draft import Limits


@pytest.mark.parametrize(
    ("text", "low", "high", "values"),
    [
        ("CHECK (((a >= 0) AND (a <= 120)))", 0, 120, None),
        ("CHECK((a BETWEEN 1 AND 9))", 1, 9, None),
        ("CHECK (a > 0 AND a < 10)", 1, 9, None),
        ("CHECK ((a > '-5'::integer))", -4, None, None),
        ("CHECK ((a >= (-5)))", -5, None, None),
        ("CHECK ((a > 0.5))", 1, None, None),
        ("CHECK ((0 <= a) AND (b < 3))", 0, None, None),
        ('CHECK (("a" <= (7)::numeric))', None, 7, None),
        ("CHECK ((a = ANY (ARRAY['F'::text, 'M'::text])))", None, None, ("F", "M")),
        (
            "CHECK (((a)::text = ANY ((ARRAY['F'::character varying, 'O''x'::character varying(9)])::text[])))",
            None,
            None,
            ("F", "O'x"),
        ),
        ("CHECK((a IN ('F', 'M')))", None, None, ("F", "M")),
        ("CHECK ((a = ANY (ARRAY[1, 2])))", None, None, (1, 2)),
        ("CHECK ((a IS NOT NULL) AND (a >= 3))", 3, None, None),
        ("CHECK ((VALUE >= 3))", None, None, None),
        ("CHECK ((b >= 3))", None, None, None),
        ("CHECK (((a >= 0) OR (a <= -9)))", None, None, None),
        ("CHECK (((a >= 0) OR (a = -9)))", -9, None, None),
        ("CHECK ((a BETWEEN 0 AND 9) OR (a BETWEEN 20 AND 30))", 0, 30, None),
        ("CHECK ((a IS NULL) OR (a > 3))", 4, None, None),
        ("CHECK ((a IS NULL) OR (a IS NULL))", None, None, None),
        ("CHECK ((a IN (1, 2)) OR (a = 9))", None, None, (1, 2, 9)),
        ("CHECK ((a >= 0) OR (b >= 3))", None, None, None),
        ("CHECK ((a >= 0) AND ((b >= 3) OR f(a)))", 0, None, None),
        ("CHECK (((a)::integer >= 3))", None, None, None),
        ("CHECK (((a)::double precision >= 3))", 3, None, None),
        ("CHECK (((a)::text >= '3'::text))", None, None, None),
        ("CHECK ((a >= (2.7)::integer))", None, None, None),
        ("CHECK ((a >= (27)::numeric(3,-1)))", None, None, None),
        ("CHECK ((a = 'long'::character varying(2)))", None, None, None),
        ("CHECK ((a >= 0)) NOT VALID", None, None, None),
        ("CHECK (a BETWEEN SYMMETRIC 9 AND 1)", None, None, None),
        ("CHECK ((t.a >= 3))", None, None, None),
        ("CHECK ((a >= 0)); DROP TABLE t", None, None, None),
        (" AND ".join(["a >= 0"] * 9_000), None, None, None),
        ("CHECK ((NOT (a >= 3)))", None, None, None),
        ("CHECK ((abs(a) >= 3))", None, None, None),
        ("CHECK ((a >= b))", None, None, None),
        ("CHECK ((a <> 3))", None, None, None),
        ("CHECK ((a + 1 >= 3))", None, None, None),
        ("CHECK ((a ~ '^x'::text))", None, None, None),
        ("CHECK (" + "(" * 600 + "a >= 0" + ")" * 600 + ")", None, None, None),
        ("CHECK ((a >= 0)", None, None, None),
        ("", None, None, None),
    ],
)
def test_bounds_and_lists_are_read_and_nothing_else(text, low, high, values):
    result = limits_of("a", [text])
    assert (result.low(whole=True), result.high(whole=True), result.values) == (low, high, values)


def test_constraints_of_many_brackets_or_letters_are_not_read():
    for n, low in ((20, 3), (501, None)):
        text = "CHECK " + " AND ".join(["(a >= 3)"] * n)
        assert limits_of("a", [text]).low(whole=True) == low
    assert limits_of("a", ["a >= 3" + " " * 100_000]) == Limits()


def test_all_constraints_hold():
    result = limits_of("a", ["CHECK (a >= 0)", "CHECK (a >= 2.5)", "CHECK (a < 9)", "CHECK (f(a))"])
    assert (result.low(whole=True), result.low(whole=False), result.high(whole=False)) == (3, 2.5, 9)
    assert limits_of("a", ["CHECK (a IN (1, 2, 3))", "CHECK (a IN (2, 3, 4))"]).values == (2, 3)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("a > '1999-12-31 12:00:00'::timestamp without time zone", "2000-01-01", "None"),
        ("a < '2000-03-01 00:00:00'::timestamp", "None", "2000-02-29"),
        ("a < '2000-03-01 00:00:01'::timestamp", "None", "2000-03-01"),
        ("a < '2000-03-01 00:00:01'::date", "None", "None"),
        ("a > '1969-12-31' AND a < '2000-03-01'", "1970-01-01", "2000-02-29"),
        ("a > '9999-12-31'", "9999-12-31", "None"),
        ("a < '0001-01-01'", "None", "0001-01-01"),
    ],
)
def test_bounds_of_dates_stay_in_the_calendar(text, low, high):
    result = limits_of("a", [f"CHECK ({text})"])
    assert (str(result.low(whole=True)), str(result.high(whole=True))) == (low, high)


def test_the_first_date_of_times_after_a_time_is_the_date_of_that_time():
    """A time after midnight of a date is one of that date; that date was left out."""
    for bound in ("'1999-12-31'", "'1999-12-31 18:30:00'::timestamp without time zone"):
        result = limits_of("a", [f"CHECK (a > {bound} AND a < '2000-03-01')"])
        assert (str(result.low(whole=True, times=True)), str(result.high(whole=True))) == ("1999-12-31", "2000-02-29")


def test_text_compared_with_a_number_declares_nothing():
    """DuckDB then makes a number of the text, and rounds it: CAST(1.25 AS VARCHAR) = 1 is true."""
    for text in ("CAST(a AS VARCHAR) = 1", "a::text IN (1, '2')", "1 = a::text OR a < 0"):
        assert limits_of("a", [f"CHECK ({text})"]) == Limits()
    assert limits_of("a", ["CHECK (a::text IN ('1', '2'))"]).values == ("1", "2")
