"""Check constraints, as PostgreSQL and DuckDB write them in their catalogues."""

import pytest

from hedgerow.schema.imports.checks import limits_of


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
        ("CHECK ((a = ANY (ARRAY['F'::text, 'M'::text])))", None, None, ["F", "M"]),
        (
            "CHECK (((a)::text = ANY ((ARRAY['F'::character varying, 'O''x'::character varying(9)])::text[])))",
            None,
            None,
            ["F", "O'x"],
        ),
        ("CHECK((a IN ('F', 'M')))", None, None, ["F", "M"]),
        ("CHECK ((a = ANY (ARRAY[1, 2])))", None, None, [1, 2]),
        ("CHECK ((a IS NOT NULL) AND (a >= 3))", 3, None, None),
        ("CHECK ((VALUE >= 3))", None, None, None),
        ("CHECK ((b >= 3))", None, None, None),
        ("CHECK (((a >= 0) OR (a <= -9)))", None, None, None),
        ("CHECK ((NOT (a >= 3)))", None, None, None),
        ("CHECK ((abs(a) >= 3))", None, None, None),
        ("CHECK ((a >= b))", None, None, None),
        ("CHECK ((a <> 3))", None, None, None),
        ("CHECK ((a + 1 >= 3))", None, None, None),
        ("CHECK ((a ~ '^x'::text))", None, None, None),
        ("CHECK (" + "(" * 200 + "a >= 0" + ")" * 200 + ")", None, None, None),
        ("CHECK ((a >= 0)", None, None, None),
        ("", None, None, None),
    ],
)
def test_bounds_and_lists_are_read_and_nothing_else(text, low, high, values):
    found = limits_of("a", [text])
    assert (found.low(whole=True), found.high(whole=True), found.values) == (low, high, values)


def test_all_constraints_hold():
    found = limits_of("a", ["CHECK (a >= 0)", "CHECK (a >= 2.5)", "CHECK (a < 9)", "CHECK (f(a))"])
    assert (found.low(whole=True), found.low(whole=False), found.high(whole=False)) == (3, 2.5, 9)
    assert limits_of("a", ["CHECK (a IN (1, 2, 3))", "CHECK (a IN (2, 3, 4))"]).values == [2, 3]


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("a > '1969-12-31' AND a < '2000-03-01'", "1970-01-01", "2000-02-29"),
        ("a > '9999-12-31'", "9999-12-31", "None"),
        ("a < '0001-01-01'", "None", "0001-01-01"),
    ],
)
def test_bounds_of_dates_stay_in_the_calendar(text, low, high):
    found = limits_of("a", [f"CHECK ({text})"])
    assert (str(found.low(whole=True)), str(found.high(whole=True))) == (low, high)
