"""The ledger's database, SQLite or PostgreSQL: durable, mutually exclusive transactions, and runs of processes."""

import fcntl
import os
import sqlite3
import stat
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError as SQLAlchemyArgumentError
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from hedgerow.boundary.durable import check_closed
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import LedgerError, LedgerMissingError, LedgerUnavailableError, MissingPackageError
from hedgerow.privacy.process import ProcessBound
from hedgerow.service.ledger.outages import UNAVAILABLE, Condition, reason_of
from hedgerow.service.ledger.tables import (
    ANSWERS,
    ENTRIES,
    ENTRY_INDEX,
    HEAD,
    METADATA,
    REQUESTS,
    RETRIES,
    SIZES,
    TOTALS,
    VERSION,
)
from hedgerow.service.ledger.verify import fill_index

MISSING = (
    "the database contains no ledger. Create a ledger with `hedgerow serve init` or, for an existing configuration, "
    "with `hedgerow serve check --new-ledger`."
)
_WAIT = 60  # seconds to wait for other transactions of SQLite or of this process
LEDGER_LIMITS = TimeLimits(connect=5, query=15, lock=10)
_OURS = 0x68656467  # id of the PostgreSQL lock for creating tables
_LOCKED = sa.select(HEAD.c.place, sa.func.set_config("synchronous_commit", "on", True)).with_for_update(of=HEAD)
_REFUSED = ("22", "23", "42", "P0")  # classes of SQLSTATE: wrong statements, violated constraints and triggers
_WITHDRAWN = ("42501", "42P01")  # a revoked permission or a missing table, which an operator can restore
_CHANGED = (ENTRIES, ENTRY_INDEX, TOTALS, REQUESTS, SIZES, RETRIES, ANSWERS)  # by questions, besides the head
_DURABLE = {"journal_mode = WAL": "wal", "synchronous = FULL": 2, "fullfsync = ON": 1}


class Database(ProcessBound):
    """Database of a ledger. Writing transactions are serialised, and durable when they end."""

    def __init__(
        self, url: str, *, read_only: bool = False, create: bool = False, limits: TimeLimits = LEDGER_LIMITS
    ) -> None:
        super().__init__()
        self.url = _checked(url)
        if not create and self.path is not None and not self.path.exists():
            raise LedgerMissingError(MISSING)
        self.engine = _engine(self.url, limits, read_only=read_only)
        if self.path is not None and not read_only:
            _check_file(self.path)
        # Writers queue here. Otherwise SQLite retries at increasing intervals, so that threads starve, and each waiting
        # writer of PostgreSQL holds a connection.
        self._queue = threading.Lock()
        self.condition = Condition()
        problem, version, is_missing = "", None, False
        try:
            with self.engine.connect().execution_options(hedgerow_reads=read_only) as connection, connection.begin():
                version = _version(connection)
                if version in (None, VERSION):  # tables of another version are not changed
                    is_missing = not _has_tables(connection, create=create, read_only=read_only)
                    version = None if is_missing else _version(connection)
        except SQLAlchemyError as error:
            problem = reason_of(error, self.url)
        except BaseException:
            self.close()
            raise
        if version == VERSION:
            return
        self.close()
        if is_missing:
            raise LedgerMissingError(MISSING)
        if problem:
            kind = "read" if read_only else "opened and written"
            raise LedgerError(f"the ledger's database cannot be {kind}. {problem}")
        raise LedgerError(
            f"the ledger has tables of version {version}, but this hedgerow supports {VERSION}. Use the hedgerow that "
            "wrote it, or continue with a new ledger, as docs/service.md describes under Upgrade."
        )

    @property
    def path(self) -> Path | None:
        return _file_of(self.url)

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Open an exclusive writing transaction, which is committed and durable when the block ends."""
        self.check_process()
        with self._without_text(), self._turn(), self.engine.begin() as connection:
            if self.path is None:
                connection.execute(_LOCKED)
            yield connection

    @contextmanager
    def _without_text(self) -> Generator[None]:
        """Replace errors of the database, whose texts name hosts and files; the operator gets them in the log."""
        try:
            yield
        except DBAPIError as error:
            if _is_refused(error):
                raise
            reason = reason_of(error, self.url)
        except PoolTimeoutError as error:
            reason = reason_of(error, self.url)
        else:
            return
        self.condition.failed(reason)
        raise LedgerUnavailableError(UNAVAILABLE, reason)

    @contextmanager
    def _turn(self) -> Generator[None]:
        if not self._queue.acquire(timeout=_WAIT):
            raise PoolTimeoutError(f"other changes of this process took longer than {_WAIT} seconds")
        try:
            yield
        finally:
            self._queue.release()

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Open a transaction that reads a consistent state of the ledger during other writes."""
        self.check_process()
        level: dict[str, Any] = {} if self.path is not None else {"isolation_level": "REPEATABLE READ"}
        with self._without_text(), self.engine.connect().execution_options(hedgerow_reads=True, **level) as connection:
            yield connection

    def check_tables(self) -> None:
        """Raise `LedgerUnavailableError` if a table cannot be changed, for example because it is locked.

        Nothing is written. Locks of SQLite are on the whole file. The check does not lock the head, since it would
        otherwise delay questions that do not need the table.
        """
        if self.path is not None:
            return
        with self.reading() as connection:
            for table in _CHANGED:
                nothing = sa.select(table).where(sa.false())
                connection.execute(table.insert().from_select(table.c.keys(), nothing))

    def settle(self) -> None:
        """Write committed entries to SQLite's main file, so that a copy without the log is not an empty ledger."""
        if self.path is not None:
            with self._without_text(), self.engine.connect() as connection:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint")

    def backup(self, path: Path) -> None:
        """Copy a consistent state of a SQLite ledger to a new file during other writes."""
        if self.path is None:
            raise LedgerError("backup supports SQLite ledgers only; use pg_dump for a ledger in PostgreSQL.")
        path.touch(0o600, exist_ok=False)
        with self._without_text(), closing(sqlite3.connect(path)) as copy:
            with self.engine.connect().execution_options(hedgerow_reads=True) as connection:
                cast(sqlite3.Connection, connection.connection.dbapi_connection).backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # a single file without a log

    def close(self) -> None:
        self.engine.dispose()


def _check_file(path: Path) -> None:
    """Create a missing file with owner-only permissions; raise an error if everybody can write the file."""
    with suppress(OSError):  # the file exists, or the database reports the reason
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if path.exists():
        check_closed(path, "a ledger", stat.S_IWOTH)


def _is_refused(error: DBAPIError) -> bool:
    """Return whether the database rejected a statement, which is not an outage: a repetition cannot succeed."""
    state: str | None = getattr(error.orig, "sqlstate", None)
    if state is None:
        return isinstance(error, IntegrityError | DataError)
    return state.startswith(_REFUSED) and state not in _WITHDRAWN


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except SQLAlchemyArgumentError:
        parsed = None
    if parsed is not None and parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed.set(drivername="sqlite")
    if parsed is not None and parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    raise LedgerError("the ledger must be a URL such as sqlite:///ledger.db or postgresql://user@host/name.")


def head_beside(url: str) -> Path | None:
    """Return the head file next to a SQLite ledger, or None for PostgreSQL."""
    path = _file_of(_checked(url))
    return None if path is None else path.with_name(f"{path.name}-head")


def _file_of(url: URL) -> Path | None:
    return Path(cast(str, url.database)) if url.get_backend_name() == "sqlite" else None


def _version(connection: Connection) -> int | None:
    """Return the version of the tables, or None without tables."""
    if not sa.inspect(connection).has_table(HEAD.name):
        return None
    return connection.execute(sa.select(HEAD.c.version)).scalar_one_or_none()


def _has_tables(connection: Connection, *, create: bool, read_only: bool) -> bool:
    """Return whether the database contains a ledger; create missing tables unless `read_only`.

    With `create`, create a new ledger, under a lock.
    """
    if not read_only and connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_OURS)))
    inspector = sa.inspect(connection)
    is_there, is_indexed = inspector.has_table(ENTRIES.name), inspector.has_table(ENTRY_INDEX.name)
    if not read_only and (is_there or create):
        METADATA.create_all(connection)  # missing tables only
        if is_there and not is_indexed:  # in the same transaction, since an empty index would contradict the entries
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCKED)
            fill_index(connection, connection.execute(sa.select(HEAD.c.sequence)).scalar_one())
    return is_there or create


def _engine(url: URL, limits: TimeLimits, *, read_only: bool) -> Engine:
    if url.get_backend_name() == "postgresql":
        if find_spec("psycopg") is None:
            raise MissingPackageError.of("a ledger in PostgreSQL", "psycopg", "postgres")
        engine = sa.create_engine(url, pool_pre_ping=True, pool_timeout=_WAIT, hide_parameters=True)
        if not read_only:
            event.listen(engine, "do_connect", partial(_connected, limits))
        event.listen(engine, "connect", _read_only if read_only else _check_server)
        return engine
    if read_only:
        file = f"{Path(cast(str, url.database)).absolute().as_uri()}?mode=ro"
        url = url.set(database=file, query={"uri": "true"})
    engine = sa.create_engine(url, connect_args={"timeout": _WAIT}, hide_parameters=True)

    def connected(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # so that the driver does not begin transactions
        if not read_only:
            _make_durable(connection)

    def begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get("hedgerow_reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begin)
    return engine


def _connected(limits: TimeLimits, _: object, __: object, ___: object, settings: dict[str, Any]) -> Any:
    """Open a connection with time limits, unless the URL sets its own limits."""
    from hedgerow.engines.postgres_connection import LimitedConnection  # needs an extra

    return LimitedConnection.opened(limits, **limits.postgres_settings(settings))


def _make_durable(connection: sqlite3.Connection) -> None:
    for pragma, expected in _DURABLE.items():
        connection.execute(f"PRAGMA {pragma}")
        name = pragma.partition(" ")[0]
        if connection.execute(f"PRAGMA {name}").fetchone()[0] != expected:
            connection.close()
            raise LedgerError(
                f"SQLite does not support {pragma} for this file, which a ledger requires; move it to another disk."
            )


def _read_only(connection: Any, _: object) -> None:
    connection.read_only = True


def _check_server(connection: Any, _: object) -> None:
    """Raise `LedgerError` unless PostgreSQL writes commits durably, which a session cannot change."""
    for name in ("fsync", "full_page_writes"):
        if connection.execute(f"SHOW {name}").fetchone()[0] != "on":
            connection.close()
            raise LedgerError(
                f"the PostgreSQL server has {name} off, so commits may be lost; a ledger requires {name} = on."
            )
    connection.rollback()


# Locks show which processes are alive, since clocks are not reliable. A process holds a lock as long as it lives: on a
# file next to the SQLite file, or an advisory lock of PostgreSQL on a connection of its own. The operating system or
# the database releases the lock when the process ends.


class FileRun:
    """Run of a process, with a lock on a file in a directory next to the ledger."""

    def __init__(self, ledger: Path) -> None:
        self.name = str(uuid4())
        self._folder = ledger.with_name(f"{ledger.name}-runs")
        self._folder.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)  # so that no file is removed between its creation and its lock
            for ended in self._folder.iterdir():
                self.is_alive(ended.name)
            path = self._folder / self.name
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        finally:
            os.close(folder)

    def is_alive(self, name: str) -> bool:
        """Return whether the file of a run is locked; if not, its process has ended and the file is removed."""
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

    def hold(self) -> None:
        """Do nothing: the operating system keeps the lock until the process ends."""

    def close(self) -> None:
        with suppress(FileNotFoundError):
            (self._folder / self.name).unlink()
        os.close(self._handle)


class ServerRun:
    """Run of a process, with an advisory lock of PostgreSQL on a connection of its own."""

    # If the connection is lost, for example because the database restarts, the lock is acquired again at the next
    # question or check. If another process took over a request in the meantime, its attempt counts, and the answer of
    # this process is rejected. A new lock does not wait, since the server may not have noticed the loss of the earlier
    # connection: its lock then still shows that this process is alive.

    def __init__(self, database: Database) -> None:
        self.name = str(uuid4())
        self._engine = database.engine
        self._one_at_a_time = threading.Lock()
        self._connection: Connection | None = None
        self.hold()

    def hold(self) -> None:
        """Acquire the lock, unless this process has it."""
        with self._one_at_a_time:
            self._locked()

    def is_alive(self, name: str) -> bool:
        if name == self.name:
            return True
        with self._one_at_a_time:
            connection = self._locked()
            is_free = connection.execute(_lock(name)).scalar_one()
            if is_free:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(_number(name))))
        return not is_free

    def close(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _locked(self) -> Connection:
        """Return the connection, which is opened again if it was lost, after it has acquired the lock."""
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                self._connection.execute(_lock(self.name))
                return self._connection
            self.close()
        self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self._connection.execute(_lock(self.name))
        return self._connection


def _lock(name: str) -> sa.Select[Any]:
    """Return the query that acquires the lock of a run without waiting; a process may acquire its lock repeatedly."""
    return sa.select(sa.func.pg_try_advisory_lock(_number(name)))


def _number(name: str) -> int:
    return int(name.replace("-", "")[:15], 16)


Run = FileRun | ServerRun
"""Run of a process that answers questions, with its `name` in the ledger."""


def begin_run(database: Database) -> Run:
    return FileRun(database.path) if database.path is not None else ServerRun(database)
