"""`hedgerow schema import`."""

import csv
import json

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr
from tests.schema.imports.descriptions import REDCAP_FIELDS, REDCAP_HEADER


def test_fit_refuses_an_imported_data_dictionary_until_it_is_completed(folder, run):
    with (folder / "dictionary.csv").open("w", newline="") as file:
        csv.writer(file).writerows([REDCAP_HEADER, *REDCAP_FIELDS])
    code, out, err = run("schema", "import", "dictionary.csv", "--target", "smoker", "-o", "s.yaml")
    assert code == 0
    assert out.splitlines()[:2] == ["From: REDCap data dictionary", "Fill in: bmi: low, high"]
    assert "Left out: phone: marked as an identifier" in out
    assert out.splitlines()[-1] == "10 columns, 2 gaps"
    assert err.startswith("written to s.yaml: fill in the gaps")
    for words in (("schema", "show", "s.yaml"), ("fit", "data.csv", "--schema", "s.yaml", "--epsilon", "1")):
        code, _, err = run(*words)
        assert (code, err.splitlines()[0]) == (2, "error: s.yaml: 2 faults:")
        assert "key 'high': still marked FILL IN" in err
    text = (folder / "s.yaml").read_text()
    (folder / "s.yaml").write_text(text.replace("low: FILL IN", "low: 5").replace("high: FILL IN", "high: 99"))
    assert run("schema", "show", "s.yaml")[0] == 0
    assert hr.Schema.load("s.yaml").label == hr.Label("smoker", (0, 1))
    assert "already exists" in run("schema", "import", "dictionary.csv", "-o", "s.yaml")[2]


def test_what_is_missing_is_told_as_json(folder, run):
    pq.write_table(pa.table({"n": [1], "t": pa.array([None], pa.duration("s"))}), folder / "rows.parquet")
    code, out, _ = run("schema", "import", "rows.parquet", "-o", "s.json", "--json")
    assert (code, json.loads(out)["gaps"]) == (0, [{"column": "n", "key": "low"}, {"column": "n", "key": "high"}])
    assert [load["column"] for load in json.loads(out)["left_out"]] == ["t"]
    assert json.loads((folder / "s.json").read_text())["attributes"]["n"]["low"] == "FILL IN"


def test_a_table_in_a_database_is_described_by_its_catalogue(folder, run):
    with duckdb.connect(str(folder / "c.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER UNIQUE, ill BOOLEAN, n SMALLINT NOT NULL CHECK (n IN (1, 2)))")
    code, out, _ = run("schema", "import", "duckdb:///c.duckdb::t", "--target", "ill", "-o", "s.yaml")
    assert (code, out.splitlines()[-1]) == (0, "2 columns, 0 gaps")
    assert hr.Schema.load("s.yaml")["n"].values == (1, 2)
    assert (
        "the table has no such column. Its columns: ill, n"
        in run("schema", "import", "duckdb:///c.duckdb::t", "--target", "sick", "-o", "t.yaml")[2]
    )


def test_a_table_in_place_of_a_dictionary_is_refused(folder, run):
    code, out, err = run("schema", "import", "data.csv", "-o", "s.yaml")
    assert (code, out) == (2, "")
    assert "`hedgerow schema new`" in err
    assert not (folder / "s.yaml").exists()
