"""Queries have a time limit, also on a server that hangs; what is stopped says so."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest

from hedgerow.engines.sources import ask, open_table
from hedgerow.engines.time_limits import TimeLimits, limited, stop_all
from hedgerow.errors import SourceUnavailableError

SHORT = TimeLimits(connect=2, query=0.5, lock=0.3)


def test_a_block_in_time_is_not_stopped():
    stopped = []
    with limited(30, lambda: stopped.append(1)):
        pass
    time.sleep(0.2)
    assert stopped == []


def test_slow_blocks_are_stopped_once_and_all_at_the_end_of_a_process():
    stopped, ends = [], threading.Event()
    with limited(0.01, lambda: stopped.append("short")) as noted, limited(60, lambda: stopped.append("long")):
        ends.wait(0.5)
        assert (stopped, noted) == (["short"], [True])
        stop_all()
        stop_all()
    assert stopped == ["short", "long"]


def slow(table):
    """Return a query of DuckDB on so many pairs of rows that it takes long."""
    pairs = table.cross_join(table.view(), rname="j").cross_join(table.view(), rname="k")
    return pairs.aggregate(n=(pairs.i * pairs.j % 7 + pairs.k).sum())


def test_a_query_of_duckdb_is_stopped_in_time(tmp_path):
    import duckdb

    duckdb.sql("SELECT range AS i FROM range(9000)").write_parquet(f"{tmp_path}/a.parquet")
    began = time.monotonic()
    with (
        open_table(f"{tmp_path}/a.parquet", limits=SHORT) as table,
        pytest.raises(SourceUnavailableError, match="time limit") as raised,
    ):
        ask(slow(table))
    assert raised.value.cause == "timeout"
    assert time.monotonic() - began < 10


@pytest.fixture
def waiting(postgres_url):
    """Return the address of a view that takes long, of a table, and a connection."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE OR REPLACE VIEW sleeping AS SELECT 1 AS i FROM pg_sleep(60)")
        connection.execute("CREATE TABLE IF NOT EXISTS not_waiting AS SELECT 1 AS i")
        yield postgres_url, connection


def cause_of(address, limits, work=lambda _: None):
    def count():
        with open_table(address, limits=limits) as table:
            work(table)
            ask(table.aggregate(n=table.count()))

    began = time.monotonic()
    with pytest.raises(SourceUnavailableError, match="failed: ") as raised:
        count()
    return raised.value.cause, time.monotonic() - began


def test_a_query_of_postgresql_is_stopped_in_time(waiting):
    cause, seconds = cause_of(f"{waiting[0]}::sleeping", SHORT)
    assert cause == "timeout"
    assert seconds < 5


def test_a_lock_in_postgresql_is_not_waited_for_without_end(waiting):
    url, connection = waiting
    with connection.transaction():
        connection.execute("LOCK TABLE not_waiting IN ACCESS EXCLUSIVE MODE")
        cause, seconds = cause_of(f"{url}::not_waiting", TimeLimits(connect=2, query=30, lock=0.3))
    assert cause == "lock"
    assert seconds < 5


@contextmanager
def hanging(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_server_that_hangs_is_given_up(waiting):
    """The kernel goes on to acknowledge what is sent: neither the server nor TCP notices."""
    url, connection = waiting
    pids = []

    def hang(table):
        ((pid,),) = table.get_backend().con.execute("SELECT pg_backend_pid()").fetchall()
        pids.append(hanging(pid))
        pids[0].__enter__()

    try:
        cause, seconds = cause_of(f"{url}::not_waiting", SHORT, hang)
    finally:
        pids[0].__exit__(None, None, None)
    assert cause == "timeout"
    assert 2 < seconds < 8
    ((postmaster,),) = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchall()
    with hanging(int(postmaster.split()[0])):
        cause, seconds = cause_of(f"{url}::not_waiting", SHORT)
    assert cause == "connection"
    assert seconds < 8
