"""The operator learns why a ledger cannot be used, once in each outage, without passwords or values."""

import logging
import sqlite3
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from hedgerow.errors import LedgerUnavailableError
from hedgerow.service.ledger import outages
from hedgerow.service.ledger.outages import Condition, reason_of
from tests.service.databases import head_of, ledger_at
from tests.service.ledger.asking import declare

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


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("ALTER DATABASE {} SET default_transaction_read_only = on", "read-only transaction"),
        ("ALTER DATABASE {} ALLOW_CONNECTIONS false", "not currently accepting connections"),
    ],
)
def test_a_check_notices_a_database_of_postgresql_that_takes_no_writes(postgres_url, statement, reason, tmp_path):
    from hedgerow.service.ledger.ledger import Ledger

    server = sa.make_url(postgres_url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE outage")
    try:
        url = server.set(database="outage").render_as_string(hide_password=False)
        with Ledger(url, tmp_path / "head", new_ledger=True) as ledger:
            ledger.probe()
            with engine.connect() as connection:
                connection.exec_driver_sql(statement.format("outage"))
            ledger._database.engine.dispose()
            with pytest.raises(LedgerUnavailableError, match="cannot be read or written") as caught:
                ledger.probe()
        assert f"PostgreSQL at {server.host}:{server.port}, database outage" in caught.value.reason
        assert reason in caught.value.reason
        assert str(server.password) not in caught.value.reason
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql("DROP DATABASE outage WITH (FORCE)")
