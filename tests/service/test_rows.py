"""Rows in memory and in a database answer alike, and hold the schema's columns alone; dummy rows show all of it."""

import gzip

import numpy as np
import pandas as pd
import pytest

from hedgerow.datasets import load
from hedgerow.errors import ArgumentError, DomainError, SchemaError, SourceUnavailableError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Prefix, Schema, YearsSince
from hedgerow.schema.dummy import MOST_ROWS, dummy_rows
from hedgerow.service.config import DatasetConfig
from hedgerow.service.rows import FrameRows, TableRows, open_rows
from hedgerow.tables.table_files import TextFormat
from hedgerow.tally import Tally
from tests.service.wards import BINS, SCHEMA, table

BY = Schema.from_dict({"attributes": BINS})


@pytest.fixture
def written(tmp_path):
    frame, labels = table()
    whole = frame.assign(ill=labels)
    whole.to_csv(tmp_path / "wards.csv", index=False)
    whole.to_parquet(tmp_path / "wards.parquet")
    return tmp_path


def test_a_csv_file_a_parquet_file_and_a_frame_answer_alike(written):
    frame, labels = table()
    of_frame = FrameRows.of(frame, labels, SCHEMA)
    expected = np.array([[(frame.age <= cut).sum() for cut in (40, 60)]]).ravel()
    for rows in (of_frame, open_rows(f"{written}/wards.csv", SCHEMA), open_rows(f"{written}/wards.parquet", SCHEMA)):
        with rows.opened() as target:
            result = target.classes_by_bin(BY)
            assert np.array_equal(np.cumsum(result[:4].sum(axis=1))[:2], expected)
            assert result[4:6].sum(axis=1).tolist() == [(~frame.smoker).sum(), frame.smoker.sum()]
            assert result[:4, 1].sum() == (labels == "yes").sum()
        assert rows.tally(SCHEMA).distance(of_frame.tally(SCHEMA)) == 0
        assert rows.target.columns == ("age", "smoker", "ward")


def test_derived_attributes_are_columns_of_the_rows_that_are_asked_about(tmp_path):
    age = Integer(0, 110, (30, 60), missing="bin", outside="bin", derived=YearsSince("birth", "2026-01-01"))
    ward = Categorical(("a", "b"), missing="bin", outside="bin", derived=Prefix("code", 1))
    schema = Schema({"age": age, "ward": ward}, Label("ill", ("no", "yes")))
    births, codes = ["1990-01-02", "1950-05-05", None, "2027-01-01"], ["a1", "b2", "c3", None]
    frame = pd.DataFrame({"birth": births, "code": codes, "ill": ["no", "yes"] * 2, "other": 1})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    asked = schema.without_derivations
    for name in ("t.csv", "t.parquet"):
        rows = open_rows(str(tmp_path / name), schema)
        assert rows.target.columns == ("age", "ward")  # and not what they are derived from
        assert np.array_equal(rows.tally(asked).total(), Tally.count(frame, "ill", schema).total())
        with rows.opened() as target:
            assert target.rows_by_bin(asked).tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 1]
    frame.assign(birth="no date").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DomainError, match="column 'age': some cells of birth, from which it is derived, are not dates"):
        open_rows(str(tmp_path / "t.csv"), schema)


@pytest.mark.parametrize(
    ("name", "separator", "encoding"),
    [
        ("w.tsv", "\t", "utf-8"),
        ("w.csv", "|", "utf-8"),
        ("w.csv", ":", "utf-8"),
        ("w.csv.gz", ",", "utf-8"),
        ("w.csv", ";", "utf-16"),
        ("w.txt", "\t", "cp1252"),
    ],
)
def test_files_of_other_makes_are_the_same_rows(written, name, separator, encoding):
    content = (written / "wards.csv").read_text().replace(",", separator).encode(encoding)
    (written / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    make = TextFormat(encoding, delimiter=separator if separator == ":" else None)
    rows = open_rows(str(written / name), SCHEMA, make)
    assert rows.tally(SCHEMA).distance(open_rows(f"{written}/wards.csv", SCHEMA).tally(SCHEMA)) == 0


def test_a_configuration_declares_the_layout_of_a_file(written):
    content = (written / "wards.csv").read_text()
    (written / "titled.csv").write_text(f"Wards, 2024\n\n{content}\nTotal\n")
    body = {"table": "titled.csv", "schema": "s.yaml", "cap": {"epsilon": 1}, "analysts": {}}
    config = DatasetConfig.model_validate({**body, "skip_rows": 2, "skip_footer": 1, "thousands": ","})
    assert config.text_format == TextFormat(skip_rows=2, skip_footer=1, thousands=",")
    rows = open_rows(str(written / "titled.csv"), SCHEMA, config.text_format)
    assert rows.tally(SCHEMA).distance(open_rows(f"{written}/wards.csv", SCHEMA).tally(SCHEMA)) == 0


def test_a_table_whose_columns_have_changed_since_the_start_is_not_counted(tmp_path):
    """Checked against the types at the start, bins of numbers met text, and a charged answer counted nothing."""
    pd.DataFrame({"age": [1, 2], "ill": [True, False]}).to_parquet(tmp_path / "t.parquet")
    schema = Schema({"age": Integer(0, 9, cuts=(5,), outside="bin", missing="bin")}, Label("ill", (False, True)))
    rows = open_rows(str(tmp_path / "t.parquet"), schema)
    rows.probe()
    for changed in ({"age": ["1", "2"]}, {"age": [True, False]}, {"name": [1, 2]}):
        pd.DataFrame({**changed, "ill": [True, False]}).to_parquet(tmp_path / "t.parquet")
        for read in (rows.probe, rows.opened().__enter__, lambda: rows.tally(schema)):
            with pytest.raises(SourceUnavailableError, match="differs from the table that was checked") as raised:
                read()
            assert raised.value.cause == "table"


def test_what_cannot_be_served_is_refused_with_what_to_do(written):
    for name, make, said in (
        ("wards.ods", TextFormat(), "spreadsheets of type .ods are not supported"),
        ("wards.parquet", TextFormat(delimiter=";"), "delimiter, thousands, .* a single text file"),
        ("wards.parquet", TextFormat(skip_rows=1), "skip_rows and skip_footer apply to a single text file"),
    ):
        with pytest.raises(ArgumentError, match=said):
            open_rows(f"{written}/{name}", SCHEMA, make)


def test_a_table_is_opened_for_each_question_and_its_checks_need_none(written):
    rows = TableRows.of(f"{written}/wards.parquet", SCHEMA)
    (written / "wards.parquet").unlink()
    rows.target.check(BY)
    for read in (rows.probe, rows.opened().__enter__, lambda: rows.tally(SCHEMA)):
        with pytest.raises(SourceUnavailableError) as raised:
            read()
        assert raised.value.cause == "file"


def test_a_probe_of_files_of_text_opens_none(tmp_path, monkeypatch):
    """To open them, their lines are read once: before the charge no row may be touched."""
    frame, labels = table()
    for part in ("a", "b"):
        frame.assign(ill=labels).to_csv(tmp_path / f"{part}.csv", index=False)
    rows = open_rows(f"{tmp_path}/*.csv", SCHEMA)
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("a file is opened"))
    rows.probe()
    for part in ("a", "b"):
        (tmp_path / f"{part}.csv").unlink()
    with pytest.raises(FileNotFoundError):
        rows.probe()


def test_rows_that_do_not_fit_are_refused_when_the_service_starts(written):
    frame, labels = table()
    for wrong in (frame.assign(age=100), frame.assign(ward="z"), frame.drop(columns="smoker")):
        with pytest.raises(DomainError):
            FrameRows.of(wrong, labels, SCHEMA)
        wrong.assign(ill=labels).to_csv(written / "wrong.csv", index=False)
        with pytest.raises(DomainError):
            open_rows(f"{written}/wrong.csv", SCHEMA)
    with pytest.raises(SchemaError, match="declares no label"):
        FrameRows.of(frame, labels, Schema(dict(SCHEMA.attributes)))


def test_missing_values_of_a_csv_file_stay_missing(tmp_path):
    schema = Schema.from_dict(
        {
            "label": {"name": "ill", "classes": ["no", "yes"]},
            "attributes": {
                "age": {"kind": "integer", "low": 0, "high": 9, "cuts": [4], "missing": "bin", "missing_values": ["?"]},
                "smoker": {"kind": "boolean", "missing": "bin"},
                "ward": {"kind": "categorical", "values": ["a", "b"], "missing": "bin"},
            },
        }
    )
    (tmp_path / "w.csv").write_text("age,smoker,ward,ill\n3,1,a,no\n?,,,yes\n5,0,b,no\n")
    rows = FrameRows.read(tmp_path / "w.csv", schema)
    assert [rows.frame[name].null_count for name in schema.names] == [1, 1, 1]
    assert rows.target.kinds == {"age": "numbers", "smoker": "boolean", "ward": "text"}
    assert rows.tally(schema).rows().sum() == 3


def test_dates_of_a_csv_file_are_those_of_a_parquet_file(tmp_path):
    days = ["1950-01-01", "1969-12-31", "", "1970-01-01"]
    frame = pd.DataFrame({"born": days, "ill": ["no", "yes", "no", "yes"]})
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.assign(born=pd.to_datetime(frame.born)).to_parquet(tmp_path / "d.parquet")
    schema = Schema({"born": Date("1950-01-01", "1979-12-31", "10 years", missing="bin")}, Label("ill", ("no", "yes")))
    tallies = [open_rows(f"{tmp_path}/d.{kind}", schema).tally(schema) for kind in ("csv", "parquet")]
    assert tallies[0].distance(tallies[1]) == 0
    by_days = Schema({"born": Integer(-7305, 3651, (-1,), missing="bin", outside="clip")})  # as questions have them
    for kind in ("csv", "parquet"):
        with open_rows(f"{tmp_path}/d.{kind}", schema).opened() as target:
            assert target.classes_by_bin(by_days).sum(axis=1).tolist() == [2, 1, 1]


@pytest.mark.parametrize("schema", [SCHEMA, load("breast_cancer").schema], ids=["wards", "breast_cancer"])
def test_dummy_rows_fit_the_schema_and_depend_on_the_seed_alone(schema):
    rows = pd.DataFrame(dummy_rows(schema, 500))
    assert Tally.count(rows, schema.label.name, schema).rows().sum() == 500
    assert rows.equals(pd.DataFrame(dummy_rows(schema, 500)))
    assert not rows.equals(pd.DataFrame(dummy_rows(schema, 500, seed=1)))


def test_every_value_occurs_in_dummy_rows():
    rows = dummy_rows(SCHEMA, 2000)
    assert set(rows["ward"]) == {"a", "b", "c"}
    assert set(rows["smoker"]) == {True, False}
    assert (min(rows["age"]), max(rows["age"])) == (18, 90)
    assert set(rows["ill"]) == {"no", "yes"}


def test_the_number_of_dummy_rows_is_bounded():
    for number in (0, MOST_ROWS + 1, 1.5):
        with pytest.raises(ArgumentError):
            dummy_rows(SCHEMA, number)
    assert "ill" not in dummy_rows(Schema(dict(SCHEMA.attributes)), 1)


def test_made_up_rows_have_the_declared_words_of_booleans():
    words = Boolean(true_values=("yes", "Y"), false_values=("no",))
    rows = dummy_rows(Schema({"a": words, "b": Boolean()}), 50, seed=1)
    assert (set(rows["a"]), set(rows["b"])) == ({"yes", "no"}, {True, False})


def test_made_up_dates_are_text_of_dates_inside_the_bounds():
    schema = Schema({"born": Date("1950-01-01", "1950-01-03")}, Label("ill", ("no", "yes")))
    rows = dummy_rows(schema, 200)
    assert set(rows["born"]) == {"1950-01-01", "1950-01-02", "1950-01-03"}
    assert Tally.count(pd.DataFrame(rows), "ill", schema).rows().sum() == 200
