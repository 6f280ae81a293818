"""Claim: an address names the same rows whoever counts them, in DuckDB and in Spark, or it is refused.

What an aborted job left, a file whose name is a pattern, a number of a partition, a name that is no table: none of it
may add rows, or be read in the place of others.
"""

import datetime
import os
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow import Schema, Tally
from hedgerow.engines.columns import EngineColumn
from hedgerow.engines.contributions import counted_rows
from hedgerow.engines.sources import engine_of, open_table
from hedgerow.errors import DomainError, EngineError
from hedgerow.schema import Categorical, Date, Label, Real, Unit
from hedgerow.tables.frames import Table
from hedgerow.tables.table_files import read_table
from tests.engines.servers import SPARK

ENGINES = ["duckdb", SPARK]
SECRET = "secret_f00d"


@pytest.fixture(params=ENGINES)
def rows_of(request):
    """How an engine reads an address: the number of times that each row is there, its columns in order of name."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return lambda address: rows_by(request.param, address)


def rows_by(engine, address):
    with open_table(str(address), engine=engine) as table:
        result = engine_of(table).answered(table.select(sorted(table.columns)).to_pyarrow)
    return Counter(zip(*(column.to_pylist() for column in result.columns), strict=True))


def write(path, *numbers, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"i": pa.array(numbers, pa.int64()), **columns}), path)
    return path


def write_csv(path, *numbers):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("i\n" + "".join(f"{number}\n" for number in numbers))
    return path


@pytest.mark.claim("every engine then reads the same rows, or the address is refused")
def test_what_an_aborted_job_leaves_is_not_counted(tmp_path, rows_of):
    write(tmp_path / "part-0.parquet", 1)
    write(tmp_path / "sub folder" / "deep" / "part-1.PARQUET", 2)
    for hidden in ("_temporary/0/task/part-2.parquet", ".staging/a.parquet", "sub folder/_old/a.parquet"):
        write(tmp_path / hidden, 7)
    for hidden in (".part-0.parquet.crc.parquet", "_metadata.parquet", "sub folder/.a.parquet"):
        write(tmp_path / hidden, 7)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("no rows")
    assert rows_of(tmp_path) == {(1,): 1, (2,): 1}
    assert rows_of(tmp_path / "*.parquet") == {(1,): 1}
    assert rows_of(tmp_path / "**" / "*.PARQUET") == {(2,): 1}
    assert rows_of(tmp_path / "*" / "*" / "*.PARQUET") == {(2,): 1}


NAMES = ["a[1]", "a{1,2}", "a*", "a?", "[", "]]", "{", "q'uote", 'dq"', "é", "😀", "x%41", "a+b &=~!@()", "hash#"]
NAMES += ["back\\slash", "two\nlines", "tab\t", "sp ace", " lead", "$v", "${HOME}", "semi;", "key=value", "a,b", ":c"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_name_is_that_of_a_file_before_it_is_a_pattern(tmp_path, rows_of, kind):
    making = write if kind == "parquet" else write_csv
    for decoy in ("a1", "a2", "a", "ab", "xA", "value"):
        making(tmp_path / f"{decoy}.{kind}", 0)
    refused = []
    names = NAMES if kind == "parquet" else NAMES[::3]  # addresses of both kinds are read by the same code
    for number, name in enumerate(names, 1):
        path = making(tmp_path / f"{name}.{kind}", number)
        value = number if kind == "parquet" else str(number)
        try:
            assert rows_of(path) == {(value,): 1}, name
        except EngineError:  # Hadoop takes what is before a colon for a scheme
            refused.append(name)
    assert set(refused) <= {":c"}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_partitions_are_text_as_it_is_written(tmp_path, rows_of, kind):
    making = write if kind == "parquet" else write_csv
    values = {"007": "007", "7": "7", "NULL": "NULL", "": "", "1e3": "1e3", "2020-01-01": "2020-01-01", "true": "true"}
    values |= {
        "__HIVE_DEFAULT_PARTITION__": None,
        "a%2Fb": "a/b",
        "%25": "%",
        "a=b": "a=b",
        "x y'": "x y'",
        "[1]": "[1]",
    }
    expected = Counter()
    for number, (written, value) in enumerate(values.items()):
        making(tmp_path / "above=1" / "t" / f"k={written}" / f"of=x{number}" / f"0.{kind}", number)
        expected[(number if kind == "parquet" else str(number), value, f"x{number}")] += 1
    assert rows_of(tmp_path / "above=1" / "t" / "*" / "of=*" / f"*.{kind}") == expected
    if kind == "parquet":
        assert rows_of(tmp_path / "above=1" / "t") == expected


def test_folders_that_tell_a_partition_may_be_hidden_names_of_spark(tmp_path, rows_of):
    write(tmp_path / "_k=1" / "a.parquet", 1)
    write(tmp_path / ".k=2" / "a.parquet", 2)
    assert rows_of(tmp_path) == {("1", 1): 1}


def test_a_partition_above_the_address_is_no_column(tmp_path, rows_of):
    path = write(tmp_path / "year=2024" / "a.parquet", 1)
    assert rows_of(path) == {(1,): 1}
    assert rows_of(path.parent) == {(1,): 1}
    assert rows_of(path.parent / "*.parquet") == {(1,): 1}
    assert rows_of(tmp_path / "year=*" / "a.parquet") == {(1, "2024"): 1}


def test_files_of_a_table_may_reorder_or_lack_columns(tmp_path, rows_of):
    pq.write_table(pa.table({"i": [1], "j": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"j": ["y"], "i": [2]}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"i": [3]}), tmp_path / "3.parquet")
    assert rows_of(tmp_path) == {(1, "x"): 1, (2, "y"): 1, (3, None): 1}


def twice_by_links(folder):
    write(folder / "a.parquet", 1)
    os.link(folder / "a.parquet", folder / "b.parquet")
    return "listed under another name"


def twice_by_symbolic_links(folder):
    write(folder / "a.parquet", 1)
    (folder / "b.parquet").symlink_to("a.parquet")
    return "listed under another name"


def links_to_folders(folder):
    write(folder / "x" / "a.parquet", 1)
    (folder / "y").symlink_to("x")
    return "found a link to a folder"


def other_keys(folder):
    write(folder / f"k={SECRET}" / "a.parquet", 1)
    write(folder / f"l={SECRET}" / "a.parquet", 1)
    return "its folders must have the same keys"


def files_beside_partitions(folder):
    write(folder / f"k={SECRET}" / "a.parquet", 1)
    write(folder / "a.parquet", 1)
    return "its folders must have the same keys"


def a_key_twice(folder):
    write(folder / f"k={SECRET}" / "K=2" / "a.parquet", 1)
    return "more than once"


def a_key_in_the_file(folder):
    write(folder / f"I={SECRET}" / "a.parquet", 1)
    return "more than once"


def no_text(folder):
    write(folder / f"k={SECRET}%FF" / "a.parquet", 1)
    return "must have the form key=value in UTF-8"


def no_bytes_of_text(folder):
    there = folder / os.fsdecode(b"k=" + SECRET.encode() + b"\xff")
    write(folder / "a.parquet", 1).rename(there.mkdir() or there / "a.parquet")
    return "must have the form key=value in UTF-8"


def no_key(folder):
    write(folder / f"={SECRET}" / "a.parquet", 1)
    return "must have the form key=value"


REFUSED = [twice_by_links, twice_by_symbolic_links, links_to_folders, other_keys, files_beside_partitions, a_key_twice]
REFUSED += [a_key_in_the_file, no_text, no_bytes_of_text, no_key]


@pytest.mark.parametrize("engine", ENGINES)
def test_folders_are_refused_that_are_not_the_files_of_one_table(tmp_path, request, engine):
    if engine == "spark":
        request.getfixturevalue("spark")
    for case in REFUSED:
        folder = tmp_path / case.__name__
        folder.mkdir()
        with pytest.raises((DomainError, EngineError), match=case(folder)) as error:
            rows_by(engine, folder)
        assert SECRET not in f"{error.value}{error.value!r}"
        assert error.value.__context__ is None


WHOLE = [-1, 0, 2**53 + 1, 2**63 - 1]
OF_WHOLE = pa.array([*WHOLE, None], pa.int64())
FLOATS = pa.array([-1.0, -0.0, 0.1, 2.0**53, 1e22, 5e-324, float("nan"), None])
TYPES = {
    "whole numbers and float64": (OF_WHOLE, FLOATS, pa.array([7], pa.uint8())),
    "whole numbers of 32 and 64 bits": (pa.array([1], pa.int32()), OF_WHOLE),
    "whole numbers with and without sign": (pa.array([1, 2**64 - 1], pa.uint64()), OF_WHOLE),
    "whole numbers and single precision": (pa.array([2**25 + 1]), pa.array([0.5], pa.float32())),
    "decimals": (pa.array([Decimal("1.5")], pa.decimal128(10, 2)), pa.array([Decimal("1.5")], pa.decimal128(12, 2))),
    "dates and times": (pa.array([1], pa.date32()), pa.array([1], pa.timestamp("us"))),
    "numbers and text": (OF_WHOLE, pa.array([SECRET])),
    "decimals of 39 digits": (pa.array([Decimal(3), Decimal(12)], pa.decimal256(39, 2)),),
}
EXACT = {name: [x for values in TYPES[name] for x in values.to_pylist()] for name in list(TYPES)[:3]}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("folders", [False, True])
def test_values_of_differing_file_types_are_exact_or_refused(tmp_path, request, engine, name, folders):
    """DuckDB takes a type that does not hold all values; Spark merges few types, and refuses the folder."""
    if engine == "spark":
        request.getfixturevalue("spark")
    for number, values in enumerate(TYPES[name]):
        write(tmp_path / (f"k={number}" if folders else "") / f"{number}.parquet", *[1] * len(values), x=values)
    try:
        with open_table(str(tmp_path), engine=engine) as table:
            column = None
            assert sum(table.to_pyarrow()["i"].to_pylist()) == sum(map(len, TYPES[name]))
            with suppress(DomainError):
                column = EngineColumn.of(table, "x")
            result = None if column is None else table.select(x=column.values).to_pyarrow()["x"].to_pylist()
    except EngineError:
        assert engine == "spark"
        return
    exact = [None if x is None or x != x else Fraction(str(x)) for x in EXACT.get(name, ())]
    if engine == "spark" and name == "decimals":
        exact = [1.5, 1.5]
    if result is None:
        assert not exact
    else:
        assert Counter(None if x is None else Fraction(x) for x in result) == Counter(exact)


@pytest.mark.parametrize("kind", ["persons", "categories", "numbers"])
def test_whole_numbers_next_to_float64_stay_distinct(tmp_path, kind):
    """As months of pandas are, of which one has a missing value."""
    whole, floats = [2**53, 2**53 + 1, 3], [2.0**53, 3.0, 0.5, None]
    for number, x in enumerate([pa.array(whole), pa.array(floats)]):
        write(tmp_path / f"{number}.parquet", *[1] * len(x), x=x)
    label, domain = Label("i", (0, 1)), Categorical((2**53, 2**53 + 1, 3), missing="bin", outside="bin")
    with open_table(str(tmp_path)) as table:
        if kind == "persons":
            rows, _ = counted_rows(table.filter(table.x.notnull()), Unit("x", 1), ["i"])
            assert rows.count().to_pyarrow().as_py() == 4
        elif kind == "categories":
            assert bins_of(Tally.from_table(table, Schema({"x": domain}, label))) == {0: 2, 1: 1, 2: 2, 3: 1, 4: 1}
        else:
            numbers = Real(0, 2**54, cuts=(0.5, 3.0, 2.0**53 - 1), missing="bin")
            assert bins_of(Tally.from_table(table, Schema({"x": numbers}, label))) == {0: 1, 1: 2, 3: 3, 4: 1}


def bins_of(tally):
    """Return the rows of each bin of ``x``."""
    return dict(zip(tally.bins("x")["x"].tolist(), tally.rows().tolist(), strict=True))


def test_a_folder_that_may_not_be_read_is_named_without_its_value(tmp_path, monkeypatch):
    """As root, who may read all, has it said."""
    write(tmp_path / f"k={SECRET}" / "a.parquet", 1)
    listed = os.listdir

    def forbid(folder):
        if SECRET in str(folder):
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(os, "listdir", forbid)
    with pytest.raises(PermissionError, match=r"k=\*\*\*") as error:
        rows_by("duckdb", tmp_path)
    assert error.value.__context__ is None


def test_settings_that_leave_out_files_are_not_obeyed(tmp_path, spark):
    """A session may be told to skip what it cannot read."""
    write(tmp_path / "a.parquet", 1)
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no more")
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        with pytest.raises(EngineError, match="failed: "):
            rows_by("spark", tmp_path)
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_a_hidden_file_that_is_named_is_read(tmp_path):
    assert rows_by("duckdb", write(tmp_path / "_a.parquet", 1)) == {(1,): 1}


@pytest.mark.usefixtures("spark")
def test_a_hidden_file_that_is_named_is_refused_by_spark(tmp_path):
    with pytest.raises(DomainError, match=r"Spark ignores files whose names begin with \. or _"):
        rows_by("spark", write(tmp_path / "_a.parquet", 1))


@pytest.mark.usefixtures("spark")
def test_another_master_than_that_of_the_session_is_refused(tmp_path):
    with (
        pytest.raises(ValueError, match="another master"),
        open_table(str(write(tmp_path / "a.parquet", 1)), master="local[7]"),
    ):
        pass


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "other.csv", 7)
    write(tmp_path / "other.parquet", 7)
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE patients AS SELECT 1 AS i; CREATE SCHEMA ward; CREATE TABLE ward.beds AS SELECT 2 AS i"
        )
        connection.execute('CREATE TABLE "ward.beds" AS SELECT 3 AS i; CREATE TABLE "other.csv2" AS SELECT 4 AS i')
        connection.execute("CREATE VIEW files AS FROM 'other.parquet'")
        connection.execute("CREATE VIEW secrets AS SELECT content AS i FROM read_text('/etc/hostname')")
    return "duckdb:///clinic.duckdb"


NO_TABLES = ["other.csv", "other.parquet", "./other.csv", "patient", "Ward.beds", "duckdb_settings", "tmp.other.csv"]
NO_TABLES += ["information_schema.tables", "pg_catalog.pg_class", "main.other.csv", "https://host/a.parquet", "table"]


@pytest.mark.parametrize("name", NO_TABLES)
@pytest.mark.claim("every engine then reads the same rows, or the address is refused")
def test_a_name_that_is_no_table_is_not_that_of_a_file(database, name):
    with pytest.raises(EngineError, match="has no table or view"):
        rows_by("duckdb", f"{database}::{name}")


def test_tables_and_views_are_found_by_their_names(database):
    assert rows_by("duckdb", f"{database}::patients") == {(1,): 1}
    assert rows_by("duckdb", f"{database}::main.patients") == {(1,): 1}
    assert rows_by("duckdb", f"{database}::other.csv2") == {(4,): 1}


def test_a_name_that_is_two_tables_is_refused(database):
    with pytest.raises(EngineError, match="more than one table"):
        rows_by("duckdb", f"{database}::ward.beds")


@pytest.mark.parametrize("view", ["files", "secrets"])
def test_a_view_that_reads_files_is_refused(database, view):
    with pytest.raises(EngineError, match="reads other files"):
        rows_by("duckdb", f"{database}::{view}")


FORBIDDEN = ["FROM 'other.parquet'", "FROM read_csv('other.csv')", "LOAD httpfs", "INSTALL httpfs", "ATTACH 'x.duckdb'"]
FORBIDDEN += ["FROM read_text('/etc/hostname')", "FROM 'https://host/a.parquet'", "COPY (SELECT 1) TO 'written.csv'"]
FORBIDDEN += ["SET enable_external_access = true", "SET autoload_known_extensions = true", "FROM glob('*')"]


@pytest.mark.parametrize("address", ["clinic.duckdb", "other.csv", "other.parquet"])
def test_duckdb_opens_nothing_else_and_loads_no_extension(database, tmp_path, address):
    address = f"{database}::patients" if address == "clinic.duckdb" else str(tmp_path / address)
    with open_table(address, engine="duckdb") as table:
        backend = table.get_backend()
        for query in FORBIDDEN:
            if address.endswith("other.parquet") and query == FORBIDDEN[0]:
                continue  # the listed file itself
            with pytest.raises((duckdb.PermissionException, duckdb.InvalidInputException, duckdb.IOException)):
                backend.raw_sql(query.replace("'other", f"'{tmp_path}/another")).fetchall()
        settings = ("autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access")
        asked = ", ".join(f"current_setting('{name}')::text" for name in settings)
        assert backend.raw_sql(f"SELECT {asked}").fetchone() == ("false",) * 3
    assert not (tmp_path / "written.csv").exists()


def test_a_variable_of_python_is_no_table(database):
    patient = pa.table({"i": [9]})
    with pytest.raises(EngineError, match="table or view"):
        rows_by("duckdb", f"{database}::patient")
    assert len(patient) == 1


@pytest.mark.parametrize("name", ["a#b", "a?b", "a%41", "md:a", "a b", ":memory:"])
def test_a_database_is_the_file_of_this_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for number, other in enumerate(("a", "aA", f"{name}.duckdb")):
        with duckdb.connect(str(tmp_path / other)) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT {number} AS i")
    assert rows_by("duckdb", f"duckdb:///{name}.duckdb::t") == {(2,): 1}


def test_a_schema_with_a_dot_is_not_split(tmp_path):
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.sql("CREATE TABLE patients AS SELECT i FROM range(100) AS t(i)")
        connection.sql('CREATE SCHEMA "clinic.main"')
        connection.sql('CREATE TABLE "clinic.main".patients AS SELECT 1 AS i')
    with open_table(f"duckdb:///{tmp_path / 'clinic.duckdb'}::clinic.main.patients") as table:
        assert table.count().to_pyarrow().as_py() == 1
    with open_table(f"duckdb:///{tmp_path / 'clinic.duckdb'}::patients") as table:
        assert table.count().to_pyarrow().as_py() == 100


NAMED = {
    "postgres.s.t": 1, "s.t": 2, "s.a.b": 3, "here": 4, "public.here": 4, "a.b.c": 5, "public.a.b.c": 5, "seen": 6,
    "pg_class": 7, 'S".t': 8,
}  # fmt: skip


def test_a_name_is_that_of_one_table_in_postgres(postgres_url):
    """Ibis takes ``postgres.s`` for the schema ``s`` of a database, and PostgreSQL its own tables before others."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute('DROP SCHEMA IF EXISTS s, "postgres.s", a CASCADE; DROP TABLE IF EXISTS here, "a.b.c" CASCADE')
        setup.execute('DROP TABLE IF EXISTS public.pg_class, "S"".t"')
        setup.execute('CREATE SCHEMA s; CREATE SCHEMA "postgres.s"; CREATE SCHEMA a')
        for number, place in enumerate(['"postgres.s".t', "s.t", 's."a.b"', "here", '"a.b.c"'], 1):
            setup.execute(f"CREATE TABLE {place} AS SELECT {number} AS i")
        setup.execute("CREATE MATERIALIZED VIEW seen AS SELECT 6 AS i FROM here")
        setup.execute('CREATE TABLE public.pg_class AS SELECT 7 AS i; CREATE TABLE "S"".t" AS SELECT 8 AS i')
        try:
            assert {name: rows_by("postgres", f"{postgres_url}::{name}") for name in NAMED} == {
                name: {(number,): 1} for name, number in NAMED.items()
            }
            setup.execute('CREATE TABLE "s.t" AS SELECT 9 AS i')
            with pytest.raises(EngineError, match=r"named 's\.t'"):
                rows_by("postgres", f"{postgres_url}::s.t")
            with pytest.raises(EngineError, match="has no table or view named 't'"):
                rows_by("postgres", f"{postgres_url}::t")
        finally:
            setup.execute('DROP SCHEMA s, "postgres.s", a CASCADE; DROP TABLE IF EXISTS "s.t"')
            setup.execute('DROP TABLE here, "a.b.c", "S"".t", public.pg_class CASCADE')


def test_a_macro_of_the_name_of_a_function_is_refused(tmp_path):
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.sql("CREATE TABLE t AS SELECT 'x' AS s")
        connection.sql("CREATE MACRO mine(a) AS a")
    with open_table(f"duckdb:///{tmp_path / 'clinic.duckdb'}::t") as table:
        assert table.count().to_pyarrow().as_py() == 1
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.sql("CREATE MACRO list_position(a, b) AS 2")
    with (
        pytest.raises(EngineError, match="macro"),
        open_table(f"duckdb:///{tmp_path / 'clinic.duckdb'}::t"),
    ):
        pass


def test_a_backslash_next_to_a_wildcard_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/b[1].parquet", "a\\b[1].parquet"):
        pq.write_table(pa.table({"name": [name]}), tmp_path / name)
    with (
        pytest.raises(DomainError, match=r"backslash .*\* \? or \["),
        open_table(str(tmp_path)),
    ):
        pass


def test_times_of_96_bits_have_the_same_days_in_memory_and_engines(tmp_path):
    """Arrow made nanoseconds of them, which wrap around: the last day of 9999 was one of 1816."""
    ends = ["1600-01-01", "1677-09-21", "1816-03-30", "2262-04-12", "9999-12-31"]
    times = pa.array([datetime.datetime.fromisoformat(end) for end in ends], pa.timestamp("us"))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"until": times, "y": ["a", "b"] * 2 + ["a"]}), path, use_deprecated_int96_timestamps=True)
    until = Date("0001-01-01", "9999-12-31", [*ends[:-1], "9999-12-30"])
    with open_table(str(path), engine="duckdb") as table:
        tally = Tally.from_table(table, Schema({"until": until}, Label("y", ("a", "b"))))
    in_memory = Schema({"until": until}).encode(Table.of(read_table(str(path))))["until"].tolist()
    assert in_memory == sorted(tally.bins(["until"])["until"].tolist()) == [0, 1, 2, 3, 5]
