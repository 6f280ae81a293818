"""Dates as attributes; where each value falls is tested with all kinds, in test_attributes.py and in engines."""

import datetime
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hedgerow import Label, PrivateTreeClassifier, Schema
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Date, Integer, Literal, Real
from hedgerow.tables.frames import column_of
from hedgerow.text.days import Day, as_day

BORN = Date("1950-01-01", "2009-12-31", cuts="10 years")
SCHEMA = Schema({"born": BORN}, Label("ill", ("no", "yes")))


def test_bounds_are_given_as_text_as_dates_or_as_days():
    same = Date(as_day("1950-01-01"), datetime.date(2009, 12, 31), BORN.cuts)
    assert same == BORN == replace(BORN) == replace(BORN, cuts=BORN.cuts)
    assert (str(BORN.low), BORN.domain, BORN.known_bins[1]) == (
        "1950-01-01",
        "1950-01-01 to 2009-12-31",
        "(1959-12-31, 1969-12-31]",
    )
    assert pickle.loads(pickle.dumps(BORN)) == BORN
    assert eval(repr(BORN)) == BORN


@pytest.mark.parametrize(
    ("low", "high", "options", "problem", "key"),
    [
        (1950, "2009-12-31", {}, "expected a date such as 1980-12-31, got 1950", "low"),
        ("1950-01-01", "2009-12-32", {}, "got '2009-12-32'", "high"),
        (datetime.datetime(1950, 1, 1), "2009-12-31", {}, "got <datetime>", "low"),
        ("2009-12-31", "1950-01-01", {}, "low=2009-12-31 and high=1950-01-01", "high"),
        ("1950-01-01", "1950-01-01", {}, "high must be l", "high"),
        ("1950-01-01", "2009-12-31", {"missing": "bin", "missing_values": (-9,)}, "put it in quotes", "missing_values"),
    ],
)
def test_others_are_refused(low, high, options, problem, key):
    with pytest.raises(SchemaError, match=problem) as error:
        Date(low, high, **options)
    assert error.value.key == key


@pytest.mark.parametrize("name", ["s.yaml", "s.json"])
def test_files_have_dates_as_people_write_them(tmp_path, name):
    SCHEMA.save(tmp_path / name)
    text = (tmp_path / name).read_text()
    assert "1959-12-31" in text
    assert "-3654" not in text  # the day's number
    assert Schema.load(tmp_path / name) == SCHEMA
    assert Schema({"born": Date("1950-01-01", "2009-12-31")}).to_dict()["attributes"]["born"] == {
        "kind": "date",
        "low": "1950-01-01",
        "high": "2009-12-31",
    }


def test_yaml_needs_no_quotes(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "attributes:\n  born:\n    kind: date\n    low: 1950-01-01\n    high: 2009-12-31\n    cuts: 10 years\n"
    )
    assert Schema.load(tmp_path / "s.yaml")["born"] == BORN
    (tmp_path / "s.yaml").write_text("attributes: {born: {kind: date, low: 1950-02-30, high: 2009-12-31}}\n")
    with pytest.raises(SchemaError, match=r"line 1"):
        Schema.load(tmp_path / "s.yaml")


def test_a_literal_compares_with_a_date_in_its_file_too():
    literal = Literal("born", "<=", ("1959-12-31",))
    assert literal == Literal("born", "<=", (datetime.date(1959, 12, 31),)) == BORN.literals("born", negations=False)[0]
    assert (str(literal), BORN.truth(literal).tolist()) == ("born <= 1959-12-31", [True] + [False] * 5)
    assert json.dumps(literal.to_dict()) == json.dumps(
        {"attribute": "born", "operator": "<=", "operands": ["1959-12-31"]}
    )
    assert Literal.from_dict(literal.to_dict()) == literal
    assert Literal("code", "=", ("1959-12-31",)).operands == ("1959-12-31",)  # a category
    with pytest.raises(SchemaError, match="cut points"):
        BORN.truth(Literal("born", "<=", ("1959-12-30",)))


@pytest.mark.parametrize("operator", ["<=", ">", "between"])
def test_date_literals_need_dates_and_number_literals_need_numbers(operator):
    """A day is equal to its number, and was taken for it: exports then compared dates with numbers."""
    kinds = {"dates": Date("1970-01-01", "1970-12-31", cuts=("1970-01-31", "1970-03-02"))}
    kinds |= {"numbers": Integer(0, 364, cuts=(30, 60)), "reals": Real(0, 364, cuts=(30, 60))}
    for name, kind in kinds.items():
        for operands in (("1970-01-31", "1970-03-02"), (30, 60), (30.0, 60.0)):
            literal = Literal("a", operator, operands[: 2 if operator == "between" else 1])
            if (name == "dates") == isinstance(operands[0], str):
                assert kind.truth(literal).any()
            else:
                with pytest.raises(SchemaError, match="cut points"):
                    kind.truth(literal)


@pytest.mark.parametrize("day", [Day(2_932_897), Day(-719_163), Day(10**30)], ids=int)
def test_bounds_are_in_the_calendar(day):
    with pytest.raises(SchemaError, match="expected a date in the years 1 to 9999"):
        Date("1970-01-01", day)
    with pytest.raises(SchemaError, match=r"key 'cuts': .*1 to 9999"):
        Date("1970-01-01", "1970-12-31", (day,))


TIMES = ["1955-05-05T01:00", "1969-12-31T23:59:59", "2009-12-31T00:00", "NaT"]
TIMES = ["1955-05-05T01:00", "1969-12-31T23:59:59", "2009-12-31T00:00", "NaT"]
COLUMNS = {
    "text": ["1955-05-05", " 1969-12-31 ", "2009-12-31", ""],
    "objects": np.array([datetime.date(1955, 5, 5), datetime.date(1969, 12, 31), datetime.date(2009, 12, 31), None]),
    "times of pandas": pd.Series(np.array(TIMES, dtype="datetime64[ns]")),
    "dates of NumPy": np.array(["1955-05-05", "1969-12-31", "2009-12-31", "NaT"], dtype="datetime64[D]"),
    "times of NumPy": np.array(TIMES, dtype="datetime64[us]"),
    "polars": pl.Series([datetime.date(1955, 5, 5), datetime.date(1969, 12, 31), datetime.date(2009, 12, 31), None]),
    "times of polars": pl.Series(
        [datetime.datetime(1955, 5, 5, 9), datetime.datetime(1969, 12, 31, 23), datetime.datetime(2009, 12, 31), None]
    ),
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_every_make_are_read(values):
    assert replace(BORN, missing="bin").encode(column_of(values, "born")).tolist() == [0, 1, 5, 6]


@pytest.mark.parametrize(
    "values", [[1955, 1969], [1955.0], ["1955"], ["1955-05-05 10:00"], ["05/05/1955"], [True], [20_000]], ids=str
)
def test_numbers_and_other_text_are_not_dates(values):
    """A number may be a year, or days since another day than ours: it is refused, and nothing of it quoted."""
    with pytest.raises(DomainError, match=r"column 'born': .*dates") as error:
        BORN.encode(column_of(values, "born"))
    assert str(values[0]) not in str(error.value)


def test_a_numeric_missing_value_is_not_a_day_in_a_column_of_dates():
    born = Date("1969-01-01", "1970-12-31", "month", missing="bin", missing_values=("-9", "0", "1970-06-01"))
    dates = np.array(["1969-12-23", "1970-01-01", "1970-06-01"], dtype="datetime64[D]")
    assert born.encode(column_of(dates, "born")).tolist() == [11, 12, 24]
    assert born.encode(column_of(["-9", "0", "1970-06-01"], "born")).tolist() == [24, 24, 24]


def test_a_model_is_learned_shown_and_exported():
    rng = np.random.default_rng(0)
    days = rng.integers(BORN.low, BORN.high + 1, size=400)
    frame = pd.DataFrame({"born": pd.to_datetime([str(Day(int(day))) for day in days])})
    ill = np.where(days <= as_day("1979-12-31"), "yes", "no")
    learner = PrivateTreeClassifier(epsilon=50, max_depth=1, schema=SCHEMA, random_state=0).fit(frame, ill)
    model = learner.tree_
    assert "born <= 1979-12-31" in str(model)
    assert (learner.predict(frame) == ill).all()
    row = {"born": datetime.date(1985, 1, 1)}
    scope: dict = {}
    exec(model.to_python(), scope)
    assert scope["predict"](row) == scope["predict"]({"born": "1985-01-01"}) == "no"
    assert "'1979-12-31'" in model.to_sql("duckdb")


def test_cut_points_are_learned_and_taken_from_public_rows():
    frame = pd.DataFrame({"born": pd.date_range("1960-01-01", "1999-12-31", periods=2_000)})
    public = Schema.from_public(frame, bins=4)
    assert (public["born"].kind, public["born"].domain) == ("date", "1960-01-01 to 1999-12-31")
    assert [str(cut)[:4] for cut in public["born"].cuts] == ["1969", "1979", "1989"]
    declared = Schema({"born": Date("1950-01-01", "2009-12-31")})
    learned = Schema.learn(frame, declared, epsilon=20, bins=2, random_state=0)
    (cut,) = learned["born"].cuts
    assert type(cut) is Day
    assert 1975 < cut.date.year < 1985
