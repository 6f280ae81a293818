"""Tables by their address: files, DuckDB, PostgreSQL with SELECT rights only, Spark; and what goes wrong there."""

import datetime
import os
import subprocess
import sys
import threading
import time

import duckdb
import ibis
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hedgerow import Categorical, Date, Integer, Label, Real, Schema, Tally
from hedgerow.engines.sources import ask, open_table
from hedgerow.errors import DomainError, EngineError, SourceUnavailableError
from tests.engines.addresses import SCHEMA, tallied
from tests.engines.rows import as_rows
from tests.engines.servers import JAVA

SECRET = "secret_f00d"


@pytest.fixture
def table():
    return pa.table(
        {
            "age": pa.array([20, 40, None, 70, 20, 61], pa.int64()),
            "b": [True, False, True, True, True, False],
            "y": ["no", "yes", "no", "yes", "no", "no"],
        }
    )


@pytest.fixture
def expected(table):
    return as_rows(Tally.count(table, "y", SCHEMA))


def test_files_of_parquet_and_csv(tmp_path, table, expected):
    pq.write_table(table.slice(0, 3), tmp_path / "1.parquet")
    pq.write_table(table.slice(3), tmp_path / "2.parquet")
    pa.csv.write_csv(table, tmp_path / "all.csv")
    pa.csv.write_csv(table.slice(0, 2), tmp_path / "part 1.csv")
    pa.csv.write_csv(table.slice(2), tmp_path / "part 2.csv")
    assert tallied(tmp_path) == expected
    assert tallied(tmp_path / "*.parquet") == expected
    assert tallied(tmp_path / "all.csv") == expected
    assert tallied(tmp_path / "part *.csv") == expected
    pq.write_table(table, tmp_path / "whole.parquet")
    assert tallied(tmp_path / "whole.parquet") == expected


def test_csv_files_with_other_headers_are_refused(tmp_path):
    (tmp_path / "1.csv").write_text("age,b,y\n1,1,no\n")
    (tmp_path / "2.csv").write_text("b,age,y\n1,1,no\n")
    with (
        pytest.raises(DomainError, match=r"2\.csv: .*header .*1\.csv"),
        open_table(str(tmp_path / "*.csv")),
    ):
        pass


def test_a_partitioned_folder_has_its_partitions_as_a_column(tmp_path, table, expected):
    pq.write_to_dataset(table, tmp_path / "patients", partition_cols=["y"])
    assert tallied(tmp_path / "patients") == expected


def test_csv_is_read_as_text(tmp_path, expected):
    text = 'age;b;y\n 20 ;TRUE;no\n"40";0;yes\n;1.0;no\n70;true;"yes"\n20;1;no\n61;false;no\n'
    (tmp_path / "a.csv").write_text(text)
    assert tallied(tmp_path / "a.csv") == expected


def test_a_duckdb_file_is_opened_for_reading_only(tmp_path, table, expected):
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("arrow", table)
        connection.execute('CREATE SCHEMA ward; CREATE TABLE ward."the patients" AS SELECT * FROM arrow')
        connection.execute('CREATE VIEW seen AS SELECT * FROM ward."the patients"')
    before = path.read_bytes()
    path.chmod(0o444)
    assert tallied(f"duckdb:///{path}::ward.the patients") == expected
    assert tallied(f"duckdb:///{path}::seen") == expected
    with (
        open_table(f"duckdb:///{path}::seen") as result,
        pytest.raises(duckdb.InvalidInputException, match="read-only"),
    ):
        result.get_backend().raw_sql("CREATE TABLE t (i INT)")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["clinic.duckdb"]


@pytest.fixture
def reader_url(postgres_url, table):
    """A user who may SELECT from one view, over a table whose rows hold more than the view shows."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP SCHEMA IF EXISTS ward CASCADE; DROP ROLE IF EXISTS reader")
        setup.execute("CREATE SCHEMA ward; CREATE TABLE ward.all_of_it (name text, age bigint, b boolean, y text)")
        for row in table.to_pylist():
            setup.execute("INSERT INTO ward.all_of_it VALUES (%s, %s, %s, %s)", (SECRET, *row.values()))
        setup.execute('CREATE VIEW ward."for counting" AS SELECT age, b, y FROM ward.all_of_it')
        setup.execute("CREATE ROLE reader LOGIN PASSWORD 'pw'; GRANT USAGE ON SCHEMA ward TO reader")
        setup.execute('GRANT SELECT ON ward."for counting" TO reader')
        setup.execute("REVOKE CREATE, TEMPORARY ON DATABASE postgres FROM PUBLIC")
    return "postgresql://reader:pw@" + postgres_url.rpartition("@")[2]


def test_postgres_needs_the_right_to_select_from_one_view(reader_url, expected):
    assert tallied(f"{reader_url}::ward.for counting") == expected
    with pytest.raises(EngineError, match="the user needs the SELECT privilege") as error:
        tallied(f"{reader_url}::ward.all_of_it")
    assert "pw" not in str(error.value)
    with open_table(f"{reader_url}::ward.for counting") as result:
        (read_only,) = result.get_backend().raw_sql("SHOW transaction_read_only").fetchone()
    assert read_only == "on"


@pytest.mark.usefixtures("spark")  # or a reason to skip; its session is open, so another process has to be the driver
def test_spark_counts_files_too(tmp_path, table, expected):
    pq.write_table(table, tmp_path / "a.parquet")
    pa.csv.write_csv(table, tmp_path / "a.csv")
    source = f"""
from hedgerow.engines.sources import open_table
from tests.engines.addresses import tallied
for name in ("a.parquet", "a.csv", "ragged.csv"):
    print(tallied({str(tmp_path)!r} + "/" + name, engine="spark", master="local[1]"))
"""
    (tmp_path / "ragged.csv").write_text(f"age,b,y\n1,1,no\n{SECRET},1,no,4\n")
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment = {**os.environ, **paths, "JDK_JAVA_OPTIONS": JAVA}
    result = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False, env=environment
    )
    assert result.stdout.splitlines() == [str(expected)] * 2, result.stderr
    assert "hedgerow.errors.DomainError: " in result.stderr
    assert SECRET not in result.stderr


def test_a_session_of_spark_that_is_there_is_left_as_it_was(tmp_path, table, expected, spark):
    pq.write_table(table, tmp_path / "a.parquet")
    before = spark.catalog.listTables()
    assert tallied(tmp_path / "a.parquet", engine="spark") == expected
    assert spark.catalog.listTables() == before  # and it answers


WRONG = {
    "mysql://host/db::t": ({}, "expected data.parquet"),
    "data.xlsx": ({}, "expected data.parquet"),
    "empty": ({}, "the folder contains no Parquet files"),
    "duckdb:///clinic.duckdb": ({}, "add the name of the table after two colons"),
    "postgresql://ann:pw@host/db": ({}, r"postgresql://ann:\*\*\*@host/db: add the name of the table after two colons"),
    "postgresql://host/db::t": ({"engine": "spark"}, "engine must be postgres for .*, got spark"),
    "a.parquet": ({"engine": "oracle"}, "engine must be one of duckdb, spark, postgres, got 'oracle'"),
    "duckdb:///clinic.duckdb::": ({}, "as in duckdb:///clinic.duckdb::patients"),
    "d.parquet": ({"memory": "1.2.3GB"}, "memory must be a size such as 4GB"),
    "c.parquet": ({"memory": "much"}, "memory must be a size such as 4GB or 500MB, got 'much'"),
    "b.parquet": ({"engine": "duckdb", "master": "local"}, "master is supported with engine='spark' only"),
    "e.parquet": ({"engine": "spark", "memory": "2GB"}, "memory is supported with engine='duckdb' only"),
    "postgresql://u@host/db::t": ({"memory": "2GB"}, "memory is supported with engine='duckdb' only"),
}


@pytest.mark.parametrize("address", WRONG)
def test_the_error_for_an_invalid_address_states_the_reason(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "data.xlsx").touch()
    options, message = WRONG[address]
    with pytest.raises(ValueError, match=message) as error, open_table(address, **options):
        pass
    assert "pw" not in str(error.value)


def test_a_server_that_is_not_there():
    with (
        pytest.raises(EngineError, match="postgres failed: the connection failed"),
        open_table("postgresql://a:pw@127.0.0.1:1/db::t"),
    ):
        pass


@pytest.mark.parametrize("address", ["no.parquet", "duckdb:///no.duckdb::t", "no*.csv"])
def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="no"), open_table(address):
        pass


def says_no_bin(error):
    assert SECRET not in f"{error.value}{error.value!r}"
    assert error.value.__cause__ is None
    assert error.value.__context__ is None


def test_a_truncated_file(tmp_path, table):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(EngineError, match="duckdb failed: a file is truncated") as error:
        tallied(path)
    says_no_bin(error)


def test_a_file_truncated_after_it_was_opened(tmp_path, table):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.concat_tables([table] * 1000), path)
    with open_table(str(path)) as result:
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(EngineError, match="duckdb failed") as error:
            Tally.from_table(result, SCHEMA)
    says_no_bin(error)


def test_a_ragged_csv_file_quotes_no_bin(tmp_path):
    (tmp_path / "a.csv").write_text(f"age,b,y\n1,1,no\n{SECRET},1,no,4\n")
    with pytest.raises(DomainError, match="line 3 does not have 3 fields") as error:
        tallied(tmp_path / "a.csv")
    says_no_bin(error)


def test_columns_that_changed_after_the_table_was_opened(tmp_path, table):
    path = tmp_path / "clinic.duckdb"
    connection = duckdb.connect(str(path))
    connection.register("arrow", table)
    connection.execute("CREATE TABLE t AS SELECT * FROM arrow")
    result = ibis.duckdb.from_connection(connection).table("t")
    connection.execute("ALTER TABLE t RENAME COLUMN age TO years")
    with pytest.raises(EngineError, match="its columns changed after it was opened") as error:
        Tally.from_table(result, SCHEMA)
    says_no_bin(error)
    connection.execute(f"ALTER TABLE t RENAME COLUMN years TO age; UPDATE t SET y = '{SECRET}'")
    connection.execute("ALTER TABLE t ALTER age TYPE VARCHAR; UPDATE t SET age = y")
    with pytest.raises((EngineError, DomainError)) as error:
        Tally.from_table(result, SCHEMA)
    says_no_bin(error)


def test_a_connection_that_dies_in_mid_query(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP VIEW IF EXISTS slow")
        setup.execute("CREATE VIEW slow AS SELECT 1::bigint AS age, true AS b, 'no' AS y FROM pg_sleep(60)")

        def end():
            until = time.monotonic() + 30
            others = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            while time.monotonic() < until:
                if setup.execute(f"SELECT pg_terminate_backend(pid) {others}").fetchall():
                    return
                time.sleep(0.05)

        with open_table(f"{postgres_url}::slow") as result:
            killer = threading.Thread(target=end)
            killer.start()
            with pytest.raises(EngineError, match=r"postgres .*connection") as error:
                Tally.from_table(result, SCHEMA)
            killer.join()
    says_no_bin(error)


def test_a_disk_that_is_full(postgres_url):
    """As the server says it of its limit on temporary files."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS wide")
        setup.execute(
            "CREATE TABLE wide AS SELECT i % 121 AS age, i % 2 = 0 AS b, 'no' AS y FROM generate_series(1, 1e5) i"
        )
    options = "-c%20work_mem%3D64kB%20-c%20temp_file_limit%3D0%20-c%20enable_hashagg%3Doff"
    with pytest.raises(EngineError, match="postgres failed: its disk is full") as error:
        tallied(f"{postgres_url}?options={options}::wide")
    says_no_bin(error)


def test_memory_beyond_the_limit_is_an_error_and_nothing_goes_to_a_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "wide.parquet"
    digits = "i % 99 AS a, i // 99 % 99 AS b, i // 9801 AS c"
    duckdb.sql(f"SELECT {digits}, 'no' AS y FROM range(900_000) t(i)").write_parquet(str(path))
    every = Schema({name: Integer(0, 98, cuts=tuple(range(98))) for name in "abc"}, SCHEMA.label)
    with open_table(str(path), memory="20MB") as result:
        settings = ("temp_directory", "autoinstall_known_extensions")
        asked = ", ".join(f"current_setting('{name}')" for name in settings)
        assert result.get_backend().raw_sql(f"SELECT {asked}").fetchone() in (("", False), ("", "false"))
        with pytest.raises(EngineError, match="increase the memory limit") as error:
            Tally.from_table(result, every)
    says_no_bin(error)
    assert [file.name for file in tmp_path.iterdir()] == ["wide.parquet"]


def test_a_view_that_fails_on_a_row_quotes_it_nowhere(load, caplog, capfd):
    schema = Schema({"x": Integer(0, 9, cuts=())}, Label("y", (0, 1)))
    table = load(pa.table({"word": [SECRET], "y": pa.array([0], pa.int64())}))
    failing = table.mutate(x=table.word.cast("int64"))
    with pytest.raises(EngineError, match="failed: ") as error:
        Tally.from_table(failing, schema)
    says_no_bin(error)
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


def test_values_that_postgres_alone_has(postgres_url):
    """Infinite dates and numbers, enumerations, padded text."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS own; DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('sad', 'ok')")
        setup.execute("CREATE TABLE own (born date, n numeric, mood mood, code char(5), y int)")
        setup.execute("INSERT INTO own VALUES ('infinity', 'NaN', 'ok', 'a', 1), ('-infinity', 0.5, 'sad', 'b', 0)")
    attributes = {
        "born": Date("1970-01-01", "1970-01-10", cuts=(), outside="bin"),
        "n": Real(0, 1, cuts=(), missing="bin"),
        "mood": Categorical(("sad", "ok")),
        "code": Categorical(("a", "b")),
    }
    with open_table(f"{postgres_url}::own") as result:
        tally = Tally.from_table(result, Schema(attributes, Label("y", (0, 1))))
    assert as_rows(tally) == [[1, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 1]]


def test_dates_are_not_numbers(load):
    schema = Schema({"born": Integer(-40_000, 40_000, cuts=(0, 10_000))}, Label("y", (0, 1)))
    table = pa.table({"born": pa.array([datetime.date(2000, 1, 1)], pa.date32()), "y": pa.array([0], pa.int64())})
    for count in (lambda: Tally.from_table(load(table), schema), lambda: Tally.count(table, "y", schema)):
        with pytest.raises(DomainError, match=r"column 'born': .*got dates"):
            count()


@pytest.mark.parametrize("change", [lambda path: path.unlink(), lambda path: path.write_bytes(b"PAR1")])
def test_a_file_replaced_while_it_is_read_is_a_fault_of_the_environment(tmp_path, table, change):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)

    def count():
        with open_table(str(path)) as opened:
            change(path)
            ask(opened.aggregate(n=opened.count()))

    with pytest.raises(SourceUnavailableError, match="replaced or removed") as raised:
        count()
    assert raised.value.cause == "file"
