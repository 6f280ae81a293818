"""Failures of engines have a cause in the environment, or none: by the class of an exception and by SQLSTATE."""

import duckdb
import pyarrow as pa
import pytest
from ibis.common.exceptions import TableNotFound

from hedgerow.engines.duckdb import DuckDB
from hedgerow.engines.postgres import Postgres
from hedgerow.errors import EngineError, SourceUnavailableError


def cause_of(engine, error):
    def fail():
        raise error

    with pytest.raises(EngineError, match="failed: ") as raised:
        engine.answered(fail)
    assert "CANARY" not in str(raised.value)
    return raised.value.cause if isinstance(raised.value, SourceUnavailableError) else None


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (duckdb.IOException, "file"),
        (duckdb.OutOfMemoryException, "memory"),
        (duckdb.InterruptException, "timeout"),
        (duckdb.FatalException, "file"),
        (duckdb.CatalogException, "table"),
        (duckdb.BinderException, "table"),
        (TableNotFound, "table"),
        (MemoryError, "memory"),
        (pa.ArrowMemoryError, "memory"),
        (FileNotFoundError, "file"),
        (duckdb.ConversionException, None),
        (duckdb.InvalidInputException, None),
        (duckdb.OutOfRangeException, None),
        (duckdb.InternalException, None),
        (ValueError, None),
        (ZeroDivisionError, None),
    ],
)
def test_failures_of_duckdb(error, cause):
    assert cause_of(DuckDB("duckdb"), error("CANARY")) == cause


STATES = {
    "connection": ["08000", "08003", "08006", "08P01", "28P01", "28000", "3D000", "53300", "57P01", "57P02", "57P03"],
    "lock": ["40001", "40P01", "55P03", "55006"],
    "timeout": ["57014", "25P03", "25P04"],
    "memory": ["53200", "53000"],
    "disk": ["53100", "53400", "58030", "58P01", "XX001", "XX002"],
    "table": ["42P01", "42703", "42501", "3F000"],
    None: ["22003", "22P02", "22012", "23505", "42601", "42883", "54001", "54011", "0A000", "P0001", "21000", "2200H"],
}


@pytest.mark.parametrize(("cause", "state"), [(cause, state) for cause in STATES for state in STATES[cause]])
def test_failures_of_postgresql_by_its_code(cause, state):
    psycopg = pytest.importorskip("psycopg")
    assert cause_of(Postgres("postgres"), psycopg.errors.lookup(state)("CANARY")) == cause


def test_failures_of_postgresql_without_a_code():
    psycopg = pytest.importorskip("psycopg")
    postgres = Postgres("postgres")
    assert cause_of(postgres, psycopg.OperationalError("CANARY")) == "connection"
    assert cause_of(postgres, MemoryError("CANARY")) == "memory"
    assert cause_of(postgres, psycopg.ProgrammingError("CANARY")) is None
