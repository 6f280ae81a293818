"""`hedgerow tally`, and `hedgerow fit --tally`."""

import os
import stat

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from tests.cli.table import FIT

OF_TALLY = ("fit", "--tally", "counts.parquet", "--schema", "schema.yaml", "--epsilon", "5", "--max-rules", "2")
SEEDED = ("--seed", "1", "--research")


@pytest.fixture
def counted(folder, run):
    assert run("tally", "schema.yaml", "data.csv", "-o", "counts.parquet")[0] == 0
    return folder


def model(folder):
    return hr.load_model(folder / "model.json").to_dict()


def test_a_tally_is_labelled_as_private(folder, run):
    code, out, err = run("tally", "schema.yaml", "data.csv", "-o", "counts.parquet")
    assert (code, out) == (0, "")
    assert "written to counts.parquet: PRIVATE" in err
    assert stat.S_IMODE((folder / "counts.parquet").stat().st_mode) == 0o600


def test_a_fit_of_a_tally_equals_the_fit_of_its_rows(counted, run):
    assert run(*FIT, *SEEDED)[0] == 0
    of_rows = model(counted)
    assert run(*OF_TALLY, *SEEDED, "--force")[0] == 0
    assert model(counted) == of_rows


def test_parts_are_merged_by_the_command_or_where_they_are_read(counted, run):
    rows = pd.read_csv(counted / "data.csv", dtype=str, keep_default_na=False)
    for name, part in (("mon", rows[:250]), ("tue", rows[250:])):
        part.to_csv(f"{name}.csv", index=False)
        assert run("tally", "schema.yaml", f"{name}.csv", "-o", f"{name}.parquet")[0] == 0
    assert run("tally", "schema.yaml", "--merge", "mon.parquet", "tue.parquet", "-o", "week.parquet")[0] == 0
    assert (counted / "week.parquet").read_bytes() == (counted / "counts.parquet").read_bytes()
    assert run(*FIT, *SEEDED)[0] == 0
    of_rows = model(counted)
    for old in ("counts.parquet", "week.parquet"):
        (counted / old).unlink()
    assert run("fit", "--tally", "*.parquet", *OF_TALLY[3:], *SEEDED, "--force")[0] == 0
    assert model(counted) == of_rows


def test_a_table_of_an_engine_is_counted_as_the_file_is(counted, run):
    code, _, _ = run("tally", "schema.yaml", "data.csv", "--engine", "duckdb", "-o", "other.parquet")
    assert code == 0
    assert (counted / "other.parquet").read_bytes() == (counted / "counts.parquet").read_bytes()


def test_the_query_is_printed_or_written_and_no_row_is_read(folder, run):
    code, out, _ = run("tally", "schema.yaml", "ward.patients", "--sql", "postgres")
    assert code == 0
    assert out.startswith("SELECT")
    assert "FROM ward.patients AS" in out
    assert hr.Schema.load(folder / "schema.yaml").digest in out
    assert run("tally", "schema.yaml", "ward.patients", "--sql", "postgres", "-o", "counts.sql")[0] == 0
    assert (folder / "counts.sql").read_text() == out


def test_what_a_tally_costs_is_charged_and_nothing_where_it_is_refused(counted, run):
    assert run("budget", "new", "budget.json", "--epsilon", "5")[0] == 0
    good = (counted / "counts.parquet").read_bytes()
    for bad in (b"PAR1", good[:-40], good[:200] + b"\xff" * 40 + good[240:]):
        (counted / "counts.parquet").write_bytes(bad)
        code, _, err = run(*OF_TALLY, "--budget", "budget.json")
        assert (code, "error: " in err) == (2, True)
    (counted / "counts.parquet").write_bytes(good)
    other = (counted / "schema.yaml").read_text().replace("ill", "sick")
    (counted / "other.yaml").write_text(other)
    code, _, err = run(*OF_TALLY[:3], "--schema", "other.yaml", "--epsilon", "5", "--budget", "budget.json")
    assert (code, "schema" in err) == (2, True)
    assert not hr.privacy.FileBudget("budget.json").charges
    assert run(*OF_TALLY, "--budget", "budget.json")[0] == 0
    (charge,) = hr.privacy.FileBudget("budget.json").charges
    assert charge.epsilon == 5
    code, _, err = run(*OF_TALLY, "--budget", "budget.json")
    assert (code, "model.json already exists" in err) == (2, True)
    code, _, err = run(*OF_TALLY, "--budget", "budget.json", "--force")  # another release, which would be charged
    assert (code, "budget" in err) == (2, True)
    assert len(hr.privacy.FileBudget("budget.json").charges) == 1


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("tally", "schema.yaml", "data.csv"), "does not end in .parquet"),
        (("tally", "schema.yaml", "data.csv", "-o", "c.csv"), "does not end in .parquet"),
        (
            ("tally", "schema.yaml", "data.csv", "data.csv", "-o", "c.parquet"),
            "expected a single table to count, got 2",
        ),
        (("tally", "schema.yaml", "data.csv", "-o", "counts.parquet"), "counts.parquet already exists"),
        (("tally", "schema.yaml", "t", "--sql", "duckdb", "--merge"), "--merge cannot be combined with --sql"),
        (("tally", "schema.yaml", "data.csv", "--column", "age=text", "-o", "c.parquet"), "--column requires --sql"),
        (("tally", "schema.yaml", "t", "--sql", "duckdb", "--column", "age=money"), "--column must be one of boolean"),
        (("tally", "schema.yaml", "t", "--sql", "oracle"), "--sql must be one of duckdb"),
        (("tally", "schema.yaml", "--merge", "data.csv", "-o", "c.parquet"), "not a tally"),
        (("fit", "--tally", "counts.parquet", "--epsilon", "1"), "--tally requires --schema"),
        ((*OF_TALLY, "--unit", "patient", "--max-rows", "2"), "saved tallies do not support"),
        ((*OF_TALLY, "--encoding", "cp1252"), "not supported for a table that an engine counts"),
    ],
)
def test_what_does_not_go_together_is_refused(words, problem, run):
    code, _, err = run(*words)
    assert (code, problem in err) == (2, True), err


def test_a_unit_is_refused_before_rows_are_read(folder, run):
    schema = folder / "schema.yaml"
    schema.write_text("unit: {column: patient, max_rows: 2}\n" + schema.read_text())
    for words in (
        ("data.csv", "-o", "c.parquet"),
        ("t", "--sql", "duckdb"),
        ("--merge", "x.parquet", "-o", "c.parquet"),
    ):
        code, _, err = run("tally", "schema.yaml", *words)
        assert (code, "tallies" in err) == (2, True)


def test_too_many_rows_for_an_exact_search_are_refused_before_a_charge(folder, run):
    schema = hr.Schema.load(folder / "schema.yaml")
    hr.Tally(schema, np.array([[0, 0, 0], [2, 1, 0]]), np.array([[2**42, 0], [5, 2**33]])).save("counts.parquet")
    assert run("budget", "new", "budget.json", "--epsilon", "5")[0] == 0
    code, _, err = run(*OF_TALLY, "--budget", "budget.json")
    assert code == 2
    assert "fewer than 4,398,046,511,104 rows" in err
    assert "--search greedy" in err
    assert not hr.privacy.FileBudget("budget.json").charges
    assert run(*OF_TALLY, "--budget", "budget.json", "--search", "greedy")[0] == 0
    assert len(hr.privacy.FileBudget("budget.json").charges) > 0


def test_no_tally_is_merged_twice_and_no_output_is_among_the_inputs(counted, run):
    (counted / "days").mkdir()
    (counted / "counts.parquet").rename("days/monday.parquet")
    os.link("days/monday.parquet", "linked.parquet")
    merge = ("tally", "schema.yaml", "--merge")
    for words in (
        ("days/monday.parquet", "./days/monday.parquet"),
        ("days", "days/*.parquet"),
        ("days/monday.parquet", "linked.parquet"),
        ("duckdb:///no.db::counts", "duckdb:///no.db::counts"),
    ):
        code, _, err = run(*merge, *words, "-o", "all.parquet")
        assert (code, "a tally is given twice" in err) == (2, True)
    for words in (("days",), ("days/*.parquet",), ("days/*day.parquet", "linked.parquet")):
        code, _, err = run(*merge, *words, "-o", "days/allday.parquet")
        assert code == 2
        assert "write it to another folder" in err or "a tally is given twice" in err
    assert run(*merge, "days", "-o", "all.parquet")[0] == 0
    assert sorted(path.name for path in counted.glob("**/*.parquet")) == [
        "all.parquet",
        "linked.parquet",
        "monday.parquet",
    ]


def test_counting_warns_of_a_column_that_identifies_persons(folder, run):
    rows = pd.read_csv(folder / "data.csv", dtype=str, keep_default_na=False)
    rows.assign(patient_id=range(len(rows))).to_csv("persons.csv", index=False)
    code, _, err = run("tally", "schema.yaml", "persons.csv", "-o", "persons.parquet")
    assert (code, "warning: " in err, "patient_id" in err) == (0, True, True)


@pytest.mark.parametrize(
    "words", [(" ",), ("t", "-o", "x.parquet"), ("t", "--engine", "spark"), ("t", "--encoding", "latin-1")]
)
@pytest.mark.usefixtures("folder")
def test_a_query_requires_the_name_of_a_table(run, words):
    code, _, err = run("tally", "schema.yaml", *words, "--sql", "duckdb")
    assert (code, "--sql requires the name of a table" in err) == (2, True)


def test_the_table_of_a_query_is_no_folder(folder, run):
    (folder / "models").mkdir()
    assert run("tally", "schema.yaml", "models", "--sql", "duckdb", "-o", "models/counts.sql")[0] == 0
    assert "FROM models AS" in (folder / "models" / "counts.sql").read_text()
