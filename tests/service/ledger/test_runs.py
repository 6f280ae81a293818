import os
import subprocess
import sys

import pytest
from sqlalchemy.exc import OperationalError

from hedgerow.service.ledger.database import Database, begin_run

HOLD = """
import sys
from hedgerow.service.ledger.database import Database
from hedgerow.service.ledger.database import begin_run
run = begin_run(Database(sys.argv[1]))
print(run.name, flush=True)
sys.stdin.read()
"""


def test_a_run_is_alive_until_its_process_ends_however_it_ends(ledger_url):
    database = Database(ledger_url, create=True)
    mine = begin_run(database)
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, ledger_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    with child:
        name = child.stdout.readline().strip()
        assert mine.is_alive(name)
        assert mine.is_alive(mine.name)
        child.kill()
    while mine.is_alive(name) and database.path is None:  # PostgreSQL notices the lost connection soon
        pass
    assert not mine.is_alive(name)
    assert not mine.is_alive("3f0c0a34-1111-4222-8333-444455556666")
    mine.close()
    database.close()


def test_a_run_that_was_closed_is_over(ledger_url):
    database = Database(ledger_url, create=True)
    first, second = begin_run(database), begin_run(database)
    first.close()
    while second.is_alive(first.name) and database.path is None:
        pass
    assert not second.is_alive(first.name)
    second.close()
    database.close()


@pytest.mark.xdist_group("postgres")
def test_a_run_whose_connection_was_lost_goes_on(postgres_url):
    database = Database(postgres_url, create=True)
    first, second = begin_run(database), begin_run(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    assert not first.is_alive("3f0c0a34-1111-4222-8333-444455556666")  # takes its own lock anew
    assert second.is_alive(first.name)
    first.close()
    second.close()
    database.close()


@pytest.mark.xdist_group("postgres")
def test_a_run_goes_on_after_a_connection_that_was_refused(postgres_url, monkeypatch):
    database = Database(postgres_url, create=True)
    first, second = begin_run(database), begin_run(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    with monkeypatch.context() as patch:
        patch.setattr(database.engine, "connect", lambda: (_ for _ in ()).throw(OperationalError("", {}, OSError())))
        with pytest.raises(OperationalError):
            first.is_alive(second.name)
    for _ in range(2):
        first.hold()
        assert second.is_alive(first.name)
    assert first.is_alive(second.name)
    first.close()
    assert not second.is_alive(first.name)
    second.close()
    database.close()


@pytest.mark.xdist_group("postgres")
def test_a_run_does_not_wait_for_the_lock_of_its_lost_connection(postgres_url):
    """The server notices a lost connection late: until then, its lock shows that the process is alive."""
    database = Database(postgres_url, create=True)
    first, second = begin_run(database), begin_run(database)
    stale, first._connection = first._connection, None
    first.hold()
    assert second.is_alive(first.name)
    stale.invalidate()
    stale.close()
    while second.is_alive(first.name):  # until the server notices
        pass
    first.hold()
    assert second.is_alive(first.name)
    first.close()
    second.close()
    database.close()


@pytest.mark.xdist_group("postgres")
def test_a_run_is_asked_for_on_its_own_connection(postgres_url):
    """While many transactions wait for the one that asks: another connection of the pool might never come."""
    database = Database(postgres_url, create=True)
    run = begin_run(database)
    held = [database.engine.connect() for _ in range(14)]
    assert not run.is_alive("3f0c0a34-1111-4222-8333-444455556666")
    for connection in held:
        connection.close()
    run.close()
    database.close()


def test_what_ended_runs_leave_is_cleared_away_by_the_next_one(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/ledger.db", create=True)
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", HOLD, f"sqlite:///{tmp_path}/ledger.db"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with child:
            assert child.stdout.readline()
            child.kill()
    first, second = begin_run(database), begin_run(database)
    assert {path.name for path in (tmp_path / "ledger.db-runs").iterdir()} == {first.name, second.name}
    assert first.is_alive(second.name)
    assert second.is_alive(first.name)
    first.close()
    second.close()
    database.close()
