"""The ledger's database: SQLite in a file, or PostgreSQL, with durable transactions that exclude one another."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError as SQLAlchemyArgumentError
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from hedgerow.errors import LedgerError, LedgerUnavailableError, MissingPackageError
from hedgerow.privacy.process import OfOneProcess
from hedgerow.service.ledger.tables import HEAD

_WAIT = 60  # seconds for another transaction of SQLite to end
_MIGRATIONS = Path(__file__).parent / "migrations"


class Database(OfOneProcess):
    """A ledger's database. Writing transactions come one after the other, and are on disk when they have ended.

    Parameters
    ----------
    url : str
        ``sqlite:///ledger.db`` or ``postgresql://user@host/name``.

    Raises
    ------
    LedgerError
        If the URL is of another kind, or the database cannot be opened.
    MissingPackageError
        If it is PostgreSQL, and its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = _checked(url)
        self.engine = _engine(self.url)
        if self.path is not None:
            with suppress(OSError):  # there is one, or the database tells why there can be none
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        # SQLite lets writers try again at lengthening intervals, so that threads starve; those of PostgreSQL would
        # each hold a connection while they wait. Here they queue.
        self._queue = threading.Lock()
        try:
            with self._queue, self.engine.begin() as connection:
                config = Config()
                config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except SQLAlchemyError as error:
            problem = type(getattr(error, "orig", error)).__name__
        else:
            return
        raise LedgerError(f"expected a database for a ledger that can be opened and written, got {problem}.")

    @property
    def path(self) -> Path | None:
        """The file of SQLite; None for PostgreSQL."""
        return Path(cast(str, self.url.database)) if self.url.get_backend_name() == "sqlite" else None

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Open a transaction that no other writing one overlaps; committed, and on disk, when the block ends.

        Raises
        ------
        LedgerUnavailableError
            If the database fails: its disk is full, its connection is lost. Whether it has committed is then unknown.
        """
        self.check_process()
        with _told(), self._queue, self.engine.begin() as connection:
            if self.path is None:
                connection.execute(sa.select(HEAD.c.place).with_for_update())
            yield connection

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Open a transaction that reads one state of the ledger, while others write; raises as `writing` does."""
        self.check_process()
        level: dict[str, Any] = {} if self.path is not None else {"isolation_level": "REPEATABLE READ"}
        with _told(), self.engine.connect().execution_options(hedgerow_reads=True, **level) as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def _told() -> Generator[None]:
    """Replace what the database raises where it fails: its text names hosts and files."""
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError):
        pass
    else:
        return
    raise LedgerUnavailableError(
        "the ledger's database cannot be read or written now: it is full, broken or out of reach. Send the same "
        "request again later, with the same key: it is charged once."
    )


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except SQLAlchemyArgumentError:
        parsed = None
    if parsed is not None and parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed.set(drivername="sqlite")
    if parsed is not None and parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    raise LedgerError("expected a URL such as sqlite:///ledger.db or postgresql://user@host/name, got another.")


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        if find_spec("psycopg") is None:
            raise MissingPackageError("a ledger in PostgreSQL needs an extra; run pip install 'hedgerow[postgres]'.")
        return sa.create_engine(url, pool_pre_ping=True, hide_parameters=True)
    engine = sa.create_engine(url, connect_args={"timeout": _WAIT}, hide_parameters=True)

    def durable(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # the driver begins no transaction of its own
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    def begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get("hedgerow_reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", durable)
    event.listen(engine, "begin", begin)
    return engine
