"""The operator learns why a ledger cannot be used, once in each outage, without passwords or values."""

import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import LedgerUnavailableError
from hedgerow.service.ledger import outages
from hedgerow.service.ledger.outages import Condition, reason_of
from tests.service.databases import head_of, ledger_at
from tests.service.ledger.asking import asked, declare

POSTGRESQL = sa.make_url("postgresql+psycopg://hedgerow:SECRET@db.example:5433/ledger?sslmode=verify-full&options=-cx")


class ServerError(Exception):
    def __init__(self, text, sqlstate=None):
        super().__init__(text)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("text", "sqlstate", "reason"),
    [
        ('FATAL: too many connections for role "hedgerow"', None, 'FATAL: too many connections for role "hedgerow"'),
        ("password SECRET is wrong\nDETAIL: more", None, "password … is wrong"),
        ('invalid sslmode value: "verify-full"', None, "invalid sslmode value: …"),
        ("cannot execute UPDATE in a read-only transaction", "25006", "a read-only transaction (SQLSTATE 25006)"),
        ("could not extend file: No space left on device", "53100", "No space left on device (SQLSTATE 53100)"),
        ('invalid input syntax for type integer: "CANARY"', "22P02", "SQLSTATE 22P02"),
    ],
)
def test_a_reason_names_the_place_and_no_secret_or_value(text, sqlstate, reason):
    result = reason_of(OperationalError("SELECT", {}, ServerError(text, sqlstate)), POSTGRESQL)
    assert result.startswith("PostgreSQL at db.example:5433, database ledger, role hedgerow: ")
    assert result.endswith(reason)
    assert not any(secret in result for secret in ("SECRET", "CANARY", "verify-full", "DETAIL"))


def test_a_reason_names_the_file_of_sqlite():
    error = OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))
    assert reason_of(error, sa.make_url("sqlite:////data/l.db")) == "SQLite at /data/l.db: database or disk is full"


@contextmanager
def fails(condition, reason):
    with pytest.raises(LedgerUnavailableError, match="cannot be"), condition.writing():
        raise LedgerUnavailableError("cannot be written", reason)
    yield


def test_each_reason_is_logged_once_in_an_outage_and_its_end_once(caplog):
    caplog.set_level(logging.INFO)
    condition = Condition()
    for reason in ("full", "full", "lost", "full"):
        with fails(condition, reason):
            pass
    for _ in range(2):
        with condition.writing():
            pass
    assert [record.getMessage() for record in caplog.records] == [
        "the ledger cannot be used: full",
        "the ledger cannot be used: lost",
        "the ledger can be used again",
    ]


def test_an_outage_with_many_reasons_logs_and_keeps_the_first(caplog):
    condition = Condition()
    for number in range(1_000):
        condition.failed(f"connection {number} was lost")
    assert len(caplog.records) == len(condition._reasons) == outages._MOST_REASONS


def test_a_failed_charge_counts_for_a_while_although_a_check_succeeds(monkeypatch):
    condition = Condition()
    with fails(condition, "full"), pytest.raises(LedgerUnavailableError) as caught, condition.checking():
        pass
    assert caught.value.reason == "full"
    monkeypatch.setattr(outages, "RECENT", 0)
    with condition.checking():
        pass
    monkeypatch.undo()
    with condition.checking():  # the outage is over
        pass


def test_a_check_records_nothing_and_notices_a_head_that_cannot_be_written(ledger_url, caplog):
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        before = ledger.verify()
        ledger.probe()
        assert ledger.verify() == before
        head, text = head_of(ledger_url), head_of(ledger_url).read_bytes()
        head.unlink()
        head.mkdir()
        with pytest.raises(LedgerUnavailableError, match="head file") as caught:
            ledger.probe()
        assert f"{head} cannot be written: Is a directory" in caught.value.reason
        head.rmdir()
        head.write_bytes(text)
        ledger.probe()
    assert str(head) in caplog.text


@contextmanager
def full_disk(ledger):
    """Let charges fit into the existing pages, and nothing larger."""
    engine = ledger._database.engine
    if ledger.path is None:
        why = "RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'"
        with engine.begin() as connection:
            connection.exec_driver_sql(
                f"CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {why}; END $$"
            )
            connection.exec_driver_sql(
                "CREATE TRIGGER no_room BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION no_room()"
            )
        yield
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP TRIGGER no_room ON answers")
        return

    def full(connection, *_):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(engine, "checkout", full)
    yield
    event.remove(engine, "checkout", full)
    engine.dispose()


def test_a_check_fails_until_there_is_room_for_an_answer(ledger_url, monkeypatch):
    monkeypatch.setattr(outages, "RECENT", 0)
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        reserved = ledger.reserve(asked("one"))
        before = ledger.verify()
        with full_disk(ledger):
            ledger.probe()  # has no reason to be thorough
            with pytest.raises(LedgerUnavailableError):
                ledger.answer(reserved, b"1" * 2**16)
            for _ in range(2):
                with pytest.raises(LedgerUnavailableError) as caught:
                    ledger.probe()
                assert "full" in caught.value.reason or "could not extend file" in caught.value.reason
        ledger.probe()
        assert not ledger.condition._reasons
        assert ledger.verify() == before


@pytest.mark.parametrize("locked", ["entries", "answers"])
def test_a_check_notices_a_locked_table_and_delays_no_other_question(postgres_url, tmp_path, locked):
    from hedgerow.service.ledger.ledger import Ledger

    limits = TimeLimits(5, 5, 1)
    with database_of(postgres_url) as url, Ledger(url, tmp_path / "head", new_ledger=True, limits=limits) as ledger:
        declare(ledger)
        with other_connection(url) as connection, connection.begin(), ThreadPoolExecutor() as pool:
            connection.exec_driver_sql(f"LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE")
            check = pool.submit(ledger.probe)
            if locked == "answers":
                assert ledger.reserve(asked("one")).attempt == 1
            assert "lock timeout" in check.exception(20).reason
        ledger.probe()


@contextmanager
def other_connection(url):
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


@contextmanager
def database_of(postgres_url):
    """Create a database of PostgreSQL, and yield its URL."""
    with other_connection(postgres_url) as connection:
        server = connection.execution_options(isolation_level="AUTOCOMMIT")
        server.exec_driver_sql("CREATE DATABASE outage")
        try:
            yield sa.make_url(postgres_url).set(database="outage").render_as_string(hide_password=False)
        finally:
            server.exec_driver_sql("DROP DATABASE outage WITH (FORCE)")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("ALTER DATABASE {} SET default_transaction_read_only = on", "read-only transaction"),
        ("ALTER DATABASE {} ALLOW_CONNECTIONS false", "not currently accepting connections"),
    ],
)
def test_a_check_notices_a_database_of_postgresql_that_takes_no_writes(postgres_url, statement, reason, tmp_path):
    from hedgerow.service.ledger.ledger import Ledger

    server = sa.make_url(postgres_url)
    with database_of(postgres_url) as url:
        with Ledger(url, tmp_path / "head", new_ledger=True) as ledger:
            ledger.probe()
            with other_connection(postgres_url) as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(statement.format("outage"))
            ledger._database.engine.dispose()
            with pytest.raises(LedgerUnavailableError, match="cannot be read or written") as caught:
                ledger.probe()
        assert f"PostgreSQL at {server.host}:{server.port}, database outage" in caught.value.reason
        assert reason in caught.value.reason
        assert str(server.password) not in caught.value.reason
