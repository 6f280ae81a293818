"""Runs of processes that answer requests, and locks that show which of them are still there.

Nobody's clock decides this. A process holds a lock for as long as it lives, on a file beside SQLite's, or in PostgreSQL
on a connection of its own; the operating system, or the database, lets go of it when the process ends.
"""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from hedgerow.service.ledger.database import Database


class FileRun:
    """A run whose lock is on a file in a folder beside the ledger's."""

    def __init__(self, ledger: Path) -> None:
        self.name = str(uuid4())
        self._folder = ledger.with_name(f"{ledger.name}-runs")
        self._folder.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)  # nobody clears away a file that is made and not locked yet
            for ended in self._folder.iterdir():
                self.is_alive(ended.name)
            path = self._folder / self.name
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        finally:
            os.close(folder)

    def is_alive(self, name: str) -> bool:
        """Return whether the file of the run is locked; if not, its process has ended, and it is removed."""
        path = self._folder / name
        try:
            handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        path.unlink(missing_ok=True)
        return False

    def close(self) -> None:
        with suppress(FileNotFoundError):
            (self._folder / self.name).unlink()
        os.close(self._handle)


class ServerRun:
    """A run whose lock is an advisory one of PostgreSQL, held by a connection of its own."""

    # Where the database was restarted, the lock is taken anew at the next question. Meanwhile another process may have
    # taken over a request; its attempt then counts, and this one's answer is refused.

    def __init__(self, database: Database) -> None:
        self.name = str(uuid4())
        self._engine = database.engine
        self._one_at_a_time = threading.Lock()
        self._connection = self._connected()

    def is_alive(self, name: str) -> bool:
        if name == self.name:
            return True
        with self._one_at_a_time:
            try:
                return self._is_held(name)
            except DBAPIError:
                self._connection.invalidate()
                self._connection = self._connected()
            return self._is_held(name)

    def close(self) -> None:
        self._connection.invalidate()
        self._connection.close()

    def _connected(self) -> Connection:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(sa.select(sa.func.pg_advisory_lock(_number(self.name))))
        return connection

    def _is_held(self, name: str) -> bool:
        free = self._connection.execute(sa.select(sa.func.pg_try_advisory_lock(_number(name)))).scalar_one()
        if free:
            self._connection.execute(sa.select(sa.func.pg_advisory_unlock(_number(name))))
        return not free


def _number(name: str) -> int:
    return int(name.replace("-", "")[:15], 16)


Run = FileRun | ServerRun
"""A process that answers: its `name` in the ledger, whether another one `is_alive`, and its end by `close`."""


def begin_run(database: Database) -> Run:
    return FileRun(database.path) if database.path is not None else ServerRun(database)
