import os

import pytest
import sqlalchemy as sa

from hedgerow.errors import LedgerError, MissingPackageError
from hedgerow.service.ledger import database
from hedgerow.service.ledger.database import Database


@pytest.mark.parametrize("url", ["", "ledger.db", "sqlite://", "sqlite:///:memory:", "mysql://host/name"])
def test_only_a_file_of_sqlite_or_postgresql_keeps_a_ledger(url):
    with pytest.raises(LedgerError, match=r"must be a URL such as sqlite:///ledger\.db"):
        Database(url, create=True)


def test_without_its_driver_postgresql_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setattr(database, "find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[postgres\]'"):
        Database("postgresql://a@127.0.0.1:1/none", create=True)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("sqlite:////no/such/folder/ledger.db", "SQLite at /no/such/folder/ledger.db: unable to open database file"),
        ("postgresql://a:SECRET@127.0.0.1:1/none", "at 127.0.0.1:1, database none, role a: .*Connection refused"),
    ],
)
def test_errors_of_opening_a_database_state_the_reason_without_a_password(url, reason):
    with pytest.raises(LedgerError, match=f"cannot be opened and written.*{reason}") as caught:
        Database(url, create=True)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    path.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(LedgerError, match="file is not a database"):
        Database(f"sqlite:///{path}", create=True)


def test_what_is_committed_is_synchronised(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/ledger.db", create=True)
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL
    database.close()


def test_a_new_ledger_is_read_by_its_owner_alone(tmp_path):
    before = os.umask(0o022)
    try:
        database = Database(f"sqlite:///{tmp_path}/ledger.db", create=True)
        with database.writing() as connection:
            connection.execute(sa.text("UPDATE head SET sequence = 0"))
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        database.close()
    finally:
        os.umask(before)
    assert "ledger.db-wal" in modes
    assert set(modes.values()) == {0o600}


@pytest.mark.claim("the hash of the last entry is stored outside the database before the entry takes effect")
def test_postgresql_keeps_what_is_committed_whatever_its_database_says(postgres_url):
    """Also for a session, a role or a database that was told not to wait for the disk."""
    database = Database(postgres_url, create=True)
    with database.engine.connect() as connection:
        name = connection.exec_driver_sql("SELECT current_database()").scalar_one()
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
        connection.commit()
    database.engine.dispose()
    try:
        with database.reading() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "off"
        with database.writing() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
    finally:
        with database.engine.connect() as connection:
            connection.exec_driver_sql(f"ALTER DATABASE {name} RESET synchronous_commit")
            connection.commit()
        database.close()


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_commits_is_refused(postgres_url, name):
    url = sa.make_url(postgres_url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def tell(statement):
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
            connection.exec_driver_sql("SELECT pg_reload_conf()")
        result = None
        while result != ("on" if "RESET" in statement else "off"):
            with engine.connect() as connection:
                result = connection.exec_driver_sql(f"SHOW {name}").scalar_one()

    tell(f"ALTER SYSTEM SET {name} = off")
    try:
        with pytest.raises(LedgerError, match=f"{name} off"):
            Database(postgres_url, create=True)
    finally:
        tell(f"ALTER SYSTEM RESET {name}")
        engine.dispose()


def test_a_file_for_which_sqlite_keeps_no_log_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_DURABLE", {"journal_mode = MEMORY": "wal"})
    with pytest.raises(LedgerError, match="does not support journal_mode"):
        Database(f"sqlite:///{tmp_path}/ledger.db", create=True)
