"""Engines: their errors are one without their words, Ctrl-C stays Ctrl-C, and their loggers are mute while asked."""

import logging
import subprocess
import sys
import threading
from uuid import uuid4

import pytest

from hedgerow import Label, Real, Schema
from hedgerow.engines.count import count_rows
from hedgerow.engines.engine import Engine, muted
from hedgerow.engines.sources import open_table
from hedgerow.errors import DomainError, EngineError

SECRET = "secret_f00d"


def fails(error, cause=None):
    def ask():
        try:
            raise ValueError(SECRET)
        except ValueError:
            raise error from cause

    return ask


def says_nothing(error):
    assert SECRET not in f"{error}{error!r}"
    assert error.__cause__ is None
    assert error.__context__ is None


def test_an_engine_error_drops_its_text():
    with pytest.raises(EngineError, match=r"duckdb failed: .* \(KeyError\)") as error:
        Engine("duckdb").answered(fails(KeyError(SECRET)))
    says_nothing(error.value)


@pytest.mark.parametrize(
    ("error", "cause"), [(KeyboardInterrupt(SECRET), None), (RuntimeError(SECRET), KeyboardInterrupt())]
)
def test_an_interruption_drops_its_text(error, cause):
    with pytest.raises(KeyboardInterrupt, match=r"^$") as result:
        Engine("duckdb").answered(fails(error, cause))
    says_nothing(result.value)


def test_an_error_while_an_interruption_is_handled_is_an_error():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(EngineError, match="failed: "):
            Engine("duckdb").answered(fails(KeyError(SECRET)))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("money", "a type such as money is not supported"),
        ("numeric(3,-1)", "got a type that Ibis does not support, such as numeric with a negative scale; cast it"),
        ("numeric(2,5)", "Ibis does not support the type of a column of this table"),
        ("regclass", "Ibis does not support the type of a column of this table"),
    ],
)
def test_the_error_for_an_unsupported_postgresql_type_names_it(postgres_url, kind, message):
    psycopg = pytest.importorskip("psycopg")
    name = f"odd_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} (a {kind}, ill integer)")
        connection.execute(f"INSERT INTO {name} VALUES ('0', 1)")
    schema = Schema({"a": Real(0, 9, cuts=(3,))}, label=Label("ill", (0, 1)))
    with pytest.raises((EngineError, DomainError), match=message), open_table(f"{postgres_url}::{name}") as table:
        count_rows(table, schema, "ill")


def test_ctrl_c_ends_duckdb_as_ctrl_c():
    """Pressed while DuckDB computes, and until it is heard: it misses one now and then."""
    source = """
import os, signal, sys, threading, time
import ibis
from hedgerow import Boolean, Label, Schema, Tally
signal.signal(signal.SIGINT, signal.default_int_handler)
rows = ibis.duckdb.connect().sql("SELECT i % 2 = 0 AS x, sin(i) > 2 AS y FROM range(100_000_000_000) AS t(i)")
asking = threading.get_ident()

def press():
    while True:
        time.sleep(0.5)
        if sys._current_frames()[asking].f_code.co_name == "to_pyarrow":  # called last, and waits for DuckDB
            os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    Tally.from_table(rows, Schema({"x": Boolean()}, Label("y", (False, True))))
except KeyboardInterrupt as error:
    print("interrupted", error.__context__)
"""
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=300, check=False)
    assert result.stdout == "interrupted None\n", result.stderr[-300:]


NAMES = ("py4j.java_gateway", "psycopg", "ibis.backends", "sqlglot")


def says(name, caplog):
    caplog.clear()
    logging.getLogger(name).error("a bin")
    return "a bin" in caplog.text


@pytest.mark.parametrize("name", NAMES)
def test_a_logger_of_an_engine_is_mute_meanwhile(name, caplog):
    assert says(name, caplog)
    with muted():
        assert not says(name, caplog)
        with muted():
            assert not says(name, caplog)
        assert not says(name, caplog)
    assert says(name, caplog)


def test_other_loggers_go_on(caplog):
    with muted():
        assert says("app", caplog)
        assert says("psycopg2_of_mine", caplog)


def test_an_error_unmutes():
    with pytest.raises(KeyError, match="x"), muted():
        raise KeyError("x")
    assert not logging.getLogger("psycopg").filters


def test_loggers_that_were_disabled_stay_disabled(caplog):
    logging.disable(logging.ERROR)
    try:
        with muted():
            pass
        assert not says("app", caplog)
    finally:
        logging.disable(logging.NOTSET)
    assert says("app", caplog)


def test_threads_that_leave_in_another_order_unmute_when_the_last_has_left(caplog):
    """With one switch for the process, the first to leave unmuted the others, and the last left it off for good."""
    inside, may_leave = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]

    def run(i):
        with muted():
            inside[i].set()
            may_leave[i].wait(10)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread, entered in zip(threads, inside, strict=True):
        thread.start()
        assert entered.wait(10)
    may_leave[0].set()
    threads[0].join()
    assert not says("psycopg", caplog)
    may_leave[1].set()
    threads[1].join()
    assert says("psycopg", caplog)
    assert says("app", caplog)


def test_many_threads_leave_no_filter_behind():
    def run():
        for _ in range(300):
            with muted():
                pass

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(logging.getLogger(name).filters for name in NAMES)
    assert logging.root.manager.disable == logging.NOTSET
