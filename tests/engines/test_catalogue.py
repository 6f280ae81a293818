"""Drafts from catalogues: what they declare, and no row, which raises here if it is read."""

import duckdb
import ibis
import pyarrow as pa
import pytest

from hedgerow.engines.catalogue import catalogue_draft
from hedgerow.engines.sources import open_table
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Real, Schema

SOURCE = {"source": "catalogue of the database"}
EXPECTED = {
    "age": Integer(0, 119, description="at <admission>", **SOURCE),
    "sex": Categorical(("F", "M"), **SOURCE),
    "stage": Categorical(("I", "it's, II"), missing="bin", **SOURCE),
    "ok": Boolean(missing="bin", **SOURCE),
    "dose": Real(0, 1.5, missing="bin", **SOURCE),
}
GAPS = (("born", "high"), ("town", "values"), ("seen", "high"))
TABLE = """
CREATE TABLE clinic."pat'ients" (id INTEGER PRIMARY KEY, age INTEGER NOT NULL CHECK (age >= 0 AND age < 120),
  sex VARCHAR NOT NULL CHECK (sex IN ('F', 'M')), stage stage_kind, ok BOOLEAN, dose {dose},
  born DATE CHECK (born > '1900-01-01'), town VARCHAR,
  seen TIMESTAMP CHECK (seen > '2000-01-01 12:00:00'), zoned TIMESTAMP WITH TIME ZONE, "a code" INTEGER)
"""
ENUM = "CREATE TYPE stage_kind AS ENUM ('I', 'it''s, II')"
INDEX = 'CREATE UNIQUE INDEX codes ON clinic."pat\'ients" ("a code")'
COMMENT = "COMMENT ON COLUMN clinic.\"pat'ients\".age IS 'at <admission>'"


def check(draft, origin):
    assert draft.origin == origin
    assert draft.gaps == GAPS
    assert [name for name, _ in draft.left_out] == ["id", "zoned", "a code"]
    description = EXPECTED["age"].description
    assert str(next(column.low for column in draft.columns if column.name == "born")) == "1900-01-02"
    assert str(next(column.low for column in draft.columns if column.name == "seen")) == "2000-01-01"
    known = type(draft)(tuple(column for column in draft.columns if column.name in EXPECTED)).schema()
    expected = Schema(EXPECTED)
    assert {name: known[name] for name in known if name != "age"} == {n: expected[n] for n in expected if n != "age"}
    assert (known["age"].low, known["age"].high, description) == (0, 119, "at <admission>")


def test_the_draft_has_the_declarations_of_duckdb(tmp_path):
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("CREATE SCHEMA clinic")
        dose = "DOUBLE CHECK (dose >= 0 AND dose <= 1.5)"
        for statement in (ENUM, TABLE.format(dose=dose), COMMENT, INDEX):
            connection.execute(statement)
        connection.execute("INSERT INTO clinic.\"pat'ients\" (id, age, sex, town) VALUES (1, 77, 'F', 'SECRET')")
    with open_table(f"duckdb:///{tmp_path}/c.duckdb::clinic.pat'ients") as table:
        draft = catalogue_draft(table)
    check(draft, "catalogue of DuckDB")
    assert "SECRET" not in repr(draft)


def test_the_draft_of_a_view_computes_no_row(tmp_path):
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("CREATE VIEW v AS SELECT error('a row was read') AS word, error('row')::INTEGER AS n")
        with pytest.raises(duckdb.Error, match="a row was read"):
            connection.execute("SELECT * FROM v").fetchall()
    with open_table(f"duckdb:///{tmp_path}/c.duckdb::v") as table:
        assert catalogue_draft(table).gaps[-2:] == (("n", "low"), ("n", "high"))


def test_files_have_the_types_of_their_columns(tmp_path):
    (tmp_path / "rows").mkdir()
    connection = ibis.duckdb.connect()
    connection.con.register("t", pa.table({"n": [1], "w": ["x"]}))
    connection.con.execute(f"COPY t TO '{tmp_path}/rows/a.parquet'")
    with open_table(str(tmp_path / "rows")) as table:
        assert catalogue_draft(table).gaps == (("n", "low"), ("n", "high"), ("w", "values"))


def test_the_draft_of_postgres_needs_no_right_to_read_the_table(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA clinic")
        connection.execute("CREATE DOMAIN dosage AS numeric CHECK (VALUE >= 0 AND VALUE <= 1.5)")
        for statement in (ENUM, TABLE.format(dose="dosage"), COMMENT, INDEX):
            connection.execute(statement)
        connection.execute("INSERT INTO clinic.\"pat'ients\" (id, age, sex, town) VALUES (1, 77, 'F', 'SECRET')")
        connection.execute("CREATE ROLE blind LOGIN PASSWORD 'blind'")
        connection.execute("GRANT USAGE ON SCHEMA clinic TO blind")
    blind = postgres_url.replace(postgres_url.split("//")[1].split("@")[0], "blind:blind")
    try:
        with psycopg.connect(blind) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute('SELECT * FROM clinic."pat\'ients"')
        with open_table(f"{blind}::clinic.pat'ients") as table:
            draft = catalogue_draft(table)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA clinic CASCADE")
            connection.execute("DROP TYPE stage_kind; DROP DOMAIN dosage; DROP ROLE blind")
    check(draft, "catalogue of PostgreSQL")
    assert "SECRET" not in repr(draft)


def test_other_engines_and_tables_without_attributes_are_refused(tmp_path):
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("CREATE TABLE t (seen INTERVAL)")
    with (
        open_table(f"duckdb:///{tmp_path}/c.duckdb::t") as table,
        pytest.raises(SchemaError, match="got none"),
    ):
        catalogue_draft(table)
    with pytest.raises(TypeError, match="Ibis table"):
        catalogue_draft("t")
    with pytest.raises(SchemaError, match="sqlite"):
        catalogue_draft(ibis.sqlite.connect().create_table("t", schema=ibis.schema({"a": "int64"})))
