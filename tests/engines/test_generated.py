"""Random schemas, names, values, storages, settings and folders: each engine counts the rows that memory counts.

A failure prints its seed: ``HEDGEROW_SEED=7,3 pytest tests/engines/test_generated.py -k duckdb`` runs that case again.
"""

import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from hedgerow import Schema, Tally
from hedgerow.engines import lookups
from hedgerow.engines.columns import EngineColumn
from hedgerow.engines.sources import open_table
from hedgerow.errors import DomainError
from tests.engines.generated import STORAGES, Case, case
from tests.engines.load import into_postgres, into_spark
from tests.engines.rows import as_rows
from tests.engines.servers import POSTGRES, SPARK

CASES = {"duckdb": 10, "parquet": 10, "postgres": 12, "spark": 3}
"""How many each engine meets in `make test`, where all of them take some seconds."""
SECONDS = int(os.environ.get("HEDGEROW_SECONDS", "200"))
"""How long each is asked in `make test-slow`."""
NOT_64 = tuple(kind for kind in STORAGES if kind != "uint64")  # which others have as a decimal only
SETTINGS = {
    "duckdb": [
        *("SET default_collation = 'nocase'", "SET old_implicit_casting = true", "SET integer_division = true"),
        *("SET threads = 1", "SET preserve_insertion_order = false", "SET default_null_order = 'nulls_first'"),
        *("SET ieee_floating_point_ops = false", "PRAGMA disable_optimizer", "SET timezone = 'Asia/Kathmandu'"),
    ],
    "postgres": [
        *("SET extra_float_digits = -15", "SET datestyle = 'german'", "SET transform_null_equals = on"),
        *("SET timezone = 'Asia/Kathmandu'", "SET enable_hashagg = off", "SET jit_above_cost = 0"),
        *("SET backslash_quote = off", "SET enable_hashjoin = off", "SET client_encoding = 'UTF8'"),
    ],
    "spark": [
        *(("spark.sql.ansi.enabled", "false"), ("spark.sql.ansi.enabled", "true"), ("spark.sql.caseSensitive", "true")),
        *(("spark.sql.ansi.doubleQuotedIdentifiers", "true"), ("spark.sql.codegen.wholeStage", "false")),
        *(("spark.sql.session.timeZone", "Asia/Kathmandu"), ("spark.sql.autoBroadcastJoinThreshold", "-1")),
        *(("spark.sql.decimalOperations.allowPrecisionLoss", "false"), ("spark.sql.variable.substitute", "false")),
        ("spark.sql.legacy.consecutiveStringLiterals.enabled", "true"),
    ],
}


def outcome(count, schema):
    """Return the counted rows, or the message of an error."""
    try:
        return as_rows(count(schema=schema))
    except DomainError as error:
        return str(error)


def compare(found: Case, table: ibis.Table) -> None:
    label, counts = found.schema.label, partial(Tally.count, labels=found.schema.label.name)
    in_memory = outcome(partial(counts, found.table), found.schema)
    in_engine = outcome(partial(Tally.from_table, table), found.schema)
    if isinstance(in_memory, str) and isinstance(in_engine, str):  # of several errors, each tells one
        place = found.table.column_names.index(label.name)
        labelled = found.table.set_column(place, label.name, pa.array([label.classes[0]] * len(found.table)))
        each = [Schema({name: kind}, label) for name, kind in found.schema.attributes]
        tables = found.table, labelled
        assert in_engine in [outcome(partial(counts, rows), item) for rows in tables for item in each]
        return
    assert in_engine == in_memory, found


Placed = Callable[[pa.Table, np.random.Generator, Path], AbstractContextManager[ibis.Table]]


@contextmanager
def in_duckdb(table, random, _folder):
    with duckdb.connect() as connection:
        for setting in some(SETTINGS["duckdb"], random):
            connection.execute(setting)
        connection.register("arrow", table)
        connection.execute("CREATE TABLE rows AS SELECT * FROM arrow")
        yield ibis.duckdb.from_connection(connection).table(str(random.choice(["rows", "arrow"])))


@contextmanager
def in_parquet(table, random, folder):
    with open_table(written(table, random, folder), engine="duckdb") as result:
        yield result


@contextmanager
def in_postgres(into, table, random, _folder):
    result = into(table)
    connection = result.get_backend()
    for setting in ["RESET ALL", *some(SETTINGS["postgres"], random)]:
        connection.raw_sql(setting).close()
    connection.con.commit()
    yield result
    connection.raw_sql(f"DROP TABLE {result.get_name()}").close()
    connection.con.commit()


@contextmanager
def in_spark(session, table, random, folder):
    settings = some(SETTINGS["spark"], random)
    with ExitStack() as stack:
        if random.random() < 0.5:
            result = into_spark(session)(table)
        else:
            result = stack.enter_context(open_table(written(table, random, folder), engine="spark"))
        for name, value in settings:
            session.conf.set(name, value)
            stack.callback(session.conf.unset, name)
        yield result


def written(table, random, folder):
    """Write a table as Parquet, in one file or some, in folders or not, with statistics or without: its address."""
    options = {"use_dictionary": bool(random.random() < 0.5), "write_statistics": bool(random.random() < 0.7)}
    options["row_group_size"] = int(random.choice([3, 1000]))
    text = [name for name in table.column_names if pa.types.is_string(table[name].type)]
    plain = [name for name in text if set(table[name].to_pylist()) <= {"no", "yes", "1", "2", "30"} and len(table)]
    if plain and random.random() < 0.5:
        keys = pa.schema([(plain[0], pa.string())])
        pads.write_dataset(table, folder, format="parquet", partitioning=pads.partitioning(keys, flavor="hive"))
        return str(folder)
    cut = int(random.integers(len(table) + 1)) if random.random() < 0.5 else 0
    for i, part in enumerate([table.slice(0, cut), table.slice(cut)]):
        pq.write_table(part, folder / f"{i}.parquet", **options)
    return str(folder / "*.parquet" if random.random() < 0.5 else folder)


def some(settings, random):
    return [setting for setting in settings if random.random() < 0.25]


@pytest.fixture(scope="module", params=["duckdb", "parquet", POSTGRES, SPARK])
def engine(request) -> Iterator[tuple[str, Placed]]:
    with ExitStack() as stack:
        if request.param == "spark":
            yield "spark", partial(in_spark, request.getfixturevalue("spark"))
        elif request.param == "postgres":
            into = stack.enter_context(into_postgres(request.getfixturevalue("postgres_url")))
            yield "postgres", partial(in_postgres, into)
        else:
            yield request.param, {"duckdb": in_duckdb, "parquet": in_parquet}[request.param]


def check(seed, engine, monkeypatch):
    name, placed = engine
    print(f"HEDGEROW_SEED={','.join(map(str, seed))} {name}")  # noqa: T201 -- pytest shows it of what fails
    random = np.random.default_rng([*seed, 1])
    result = case(seed, storages=tuple(STORAGES) if name in ("duckdb", "parquet") else NOT_64)
    monkeypatch.setattr(lookups, "FEW", int(random.choice([0, 3, 32])))
    with tempfile.TemporaryDirectory() as folder, placed(result.table, random, Path(folder)) as table:
        compare(result, table)


def told(names):
    return [int(part) for part in names.split(",")]


def test_an_engine_counts_what_memory_counts(engine, monkeypatch):
    seeds = (
        [told(os.environ["HEDGEROW_SEED"])]
        if "HEDGEROW_SEED" in os.environ
        else [[0, i] for i in range(CASES[engine[0]])]
    )
    for seed in seeds:
        check(seed, engine, monkeypatch)


@pytest.mark.slow
def test_an_engine_counts_like_memory_on_new_cases(engine, monkeypatch):
    start, first = time.monotonic(), secrets.randbits(32)
    number = 0
    while time.monotonic() - start < SECONDS:
        check([first, number], engine, monkeypatch)
        number += 1


def test_an_engine_that_counts_something_else_is_found(monkeypatch):
    """As where NaN was a large number, and not missing."""
    monkeypatch.setattr(EngineColumn, "is_null", property(lambda column: column.values.isnull()))

    def all_agree():
        for i in range(40):
            check([0, i], ("duckdb", in_duckdb), monkeypatch)

    with pytest.raises(AssertionError, match="Case"):
        all_agree()


def test_the_cases_are_of_every_kind():
    """Errors are few, so that rows are compared; every kind of attribute and storage is met."""
    result = [case([0, i]) for i in range(100)]
    counted = [outcome(partial(Tally.count, item.table, item.schema.label.name), item.schema) for item in result]
    assert sum(isinstance(rows, list) and len(rows) > 1 for rows in counted) > 55
    assert sum(isinstance(rows, str) for rows in counted) > 2
    assert {type(kind).__name__ for item in result for _, kind in item.schema.attributes} == {
        *("Boolean", "Categorical", "Date", "Integer", "Ordered", "Real")
    }
    assert {str(field.type) for item in result for field in item.table.schema} >= {
        str(kind) for kind in STORAGES.values()
    }
