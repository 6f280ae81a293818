"""`hedgerow fit` and `hedgerow audit` on tables that an engine counts."""

import duckdb
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.rows import target_name
from hedgerow.errors import DomainError
from hedgerow.privacy.budget_file import FileBudget

SCHEMA = """\
label: {name: ill, classes: ["no", "yes"]}
attributes:
  age: {kind: integer, low: 0, high: 120, cuts: [30, 60], outside: clip}
  sex: {kind: categorical, values: [F, M], missing: bin, missing_values: ["?"]}
"""
FIT = ("--schema", "schema.yaml", "--epsilon", "50", "--max-rules", "2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 600)
    rows = pd.DataFrame({"age": age, "sex": rng.choice(["F", "M", "?"], 600), "ill": np.where(age > 60, "yes", "no")})
    rows.to_csv("data.csv", index=False)
    rows.to_parquet("data.parquet")
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE patients AS SELECT * FROM 'data.parquet'")
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return tmp_path


@pytest.mark.parametrize("data", ["data.csv", "data.parquet", "*.parquet", "duckdb:///clinic.duckdb::patients"])
@pytest.mark.parametrize("search", ["exact", pytest.param("greedy", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("folder")
def test_a_table_is_learned_from_and_audited_wherever_it_is(run, data, search):
    code, _, err = run("fit", data, *FIT, "--search", search, "--release-counts" if search == "exact" else "--json")
    assert code == 0, err
    model = hr.models.RuleList.load("model.json")
    assert str(model.rules[0].antecedent[0]) in ("age > 60", "age <= 60", "30 < age <= 60")
    assert model.privacy.epsilon == 50
    code, of_table, err = run("audit", "model.json", "--data", data, "--by", "sex")
    assert code == 0, err
    assert run("audit", "model.json", "--data", "data.csv", "--by", "sex")[1] == of_table
    assert "600" in of_table


def test_postgres_is_asked_without_its_password_being_shown(folder, run, postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS patients; CREATE TABLE patients (age int, sex text, ill text)")
        with setup.cursor() as cursor, cursor.copy("COPY patients FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write((folder / "data.csv").read_bytes())
    address = f"{postgres_url}::patients"
    code, out, err = run("fit", address, *FIT)
    assert code == 0, err
    password = postgres_url.partition("://hedgerow:")[2].partition("@")[0]
    assert password not in out + err + (folder / "model.json").read_text()
    code, _, err = run("fit", f"{postgres_url}::nothing", *FIT, "--force")
    assert code == 2
    assert err.endswith("has no table or view named 'nothing'.\n")
    assert password not in err


def test_an_engine_that_fails_costs_nothing_and_leaves_nothing(folder, run):
    run("budget", "new", "budget.json", "--epsilon", "60")
    cut = (folder / "data.parquet").read_bytes()[:-8]
    (folder / "data.parquet").write_bytes(cut)
    code, out, err = run("fit", "data.parquet", *FIT, "--budget", "budget.json")
    assert (code, out) == (2, "")
    assert "a file is truncated" in err
    assert FileBudget(folder / "budget.json").spent == 0
    assert not (folder / "model.json").exists()


def test_a_value_outside_the_domain_is_found_before_the_charge(folder, run):
    run("budget", "new", "budget.json", "--epsilon", "60")
    strict = SCHEMA.replace("high: 120, cuts: [30, 60], outside: clip", "high: 70, cuts: [30, 60]")
    (folder / "schema.yaml").write_text(strict)
    code, _, err = run("fit", "data.parquet", *FIT, "--budget", "budget.json")
    assert code == 2
    assert "column 'age': some values are outside the declared domain (0 to 70)" in err
    assert "stays charged" not in err
    assert FileBudget(folder / "budget.json").spent == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "no.parquet", *FIT), "error: no.parquet: No such file or directory"),
        (("fit", "data.parquet", *FIT, "--engine", "oracle"), "error: --engine must be one of duckdb, spark, postgres"),
        (("fit", "mysql://host/db::t", *FIT), "error: mysql://host/db::t: "),
        (("fit", "data.parquet", *FIT, "--max-literals", "0"), "error: --max-literals must be a whole number >= 1"),
        (
            ("fit", "data.parquet", *FIT, "--target", "age"),
            "error: expected --target 'ill', the label of the schema, got 'age'; leave --target out",
        ),
        (("fit", "data.parquet", "--epsilon", "1"), "error: the column to predict is missing"),
        (
            ("fit", "data.parquet", "--epsilon", "1", "--target", "no"),
            "error: column 'no': the table has no such column",
        ),
        (("fit", "data.parquet", "--epsilon", "1", "--target", "ill"), "error: column 'ill': not boolean"),
        (("fit", "data.csv", *FIT, "--engine", "duckdb", "--master", "x"), "error: master is supported with"),
        (
            ("fit", "data.csv", *FIT, "--memory", "3"),
            "error: --memory requires DuckDB",
        ),
        (("schema", "check", "schema.yaml", "data.csv", "--memory", "3GB"), "error: --memory requires DuckDB"),
        (("fit", "data.parquet", *FIT, "--memory", "3"), "error: --memory must be a size such as 4GB"),
    ],
)
def test_bad_input_is_reported_in_one_line(folder, run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert not (folder / "model.json").exists()


def test_a_spent_budget_refuses_before_the_table_is_counted(folder, run):
    run("budget", "new", "budget.json", "--epsilon", "10")
    strict = SCHEMA.replace("high: 120, cuts: [30, 60], outside: clip", "high: 70, cuts: [30, 60]")
    (folder / "schema.yaml").write_text(strict)
    code, _, err = run("fit", "data.parquet", *FIT, "--budget", "budget.json")
    assert code == 2
    assert "domain" not in err
    assert "10" in err


def test_parameters_are_checked_before_the_table_is_counted(folder, run):
    strict = SCHEMA.replace("high: 120, cuts: [30, 60], outside: clip", "high: 70, cuts: [30, 60]")
    (folder / "schema.yaml").write_text(strict)
    code, _, err = run("fit", "data.parquet", *FIT, "--max-literals", "0")
    assert code == 2
    assert err.startswith("error: --max-literals must be a whole number >= 1")


def test_a_column_that_is_absent_among_many_is_one_short_line():
    with pytest.raises(
        DomainError, match=r"column 'y': the table has no such column. Its columns: c0, c1, c10, .*100000 values"
    ) as result:
        target_name([f"c{number}" for number in range(100_000)], "y", None)
    assert len(str(result.value)) < 500
