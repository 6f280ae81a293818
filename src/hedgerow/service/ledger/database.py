"""The ledger's database, SQLite or PostgreSQL: durable transactions that exclude one another; runs of processes."""

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
from hedgerow.service.ledger.tables import ENTRIES, ENTRY_INDEX, HEAD, METADATA, VERSION
from hedgerow.service.ledger.verify import fill_index

MISSING = (
    "expected a database with a ledger, got none. Begin a ledger with `hedgerow serve init`, or, for a configuration "
    "that exists, with `hedgerow serve check --new-ledger`."
)
_WAIT = 60  # seconds for other transactions to end: of SQLite, or those of this process that queue
LEDGER_LIMITS = TimeLimits(connect=5, query=15, lock=10)
_OURS = 0x68656467  # by which PostgreSQL knows the lock of who makes tables
_LOCKED = sa.select(HEAD.c.place, sa.func.set_config("synchronous_commit", "on", True)).with_for_update(of=HEAD)
_REFUSED = ("22", "23", "42", "P0")  # classes of SQLSTATE: a statement is wrong, or a constraint or trigger refuses it
_WITHDRAWN = ("42501", "42P01")  # a right was revoked, or a table is missing: an operator can restore both
_DURABLE = {"journal_mode = WAL": "wal", "synchronous = FULL": 2, "fullfsync = ON": 1}


class Database(ProcessBound):
    """A ledger's database. Writing transactions come one after the other, and are on disk when they have ended."""

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
        # SQLite lets writers try again at lengthening intervals, so that threads starve; those of PostgreSQL would
        # each hold a connection while they wait. Here they queue.
        self._queue = threading.Lock()
        problem, version, is_missing = "", None, False
        try:
            with self.engine.connect().execution_options(hedgerow_reads=read_only) as connection, connection.begin():
                is_missing = not _has_tables(connection, create=create, read_only=read_only)
                if not is_missing:
                    version = connection.execute(sa.select(HEAD.c.version)).scalar_one_or_none()
        except SQLAlchemyError as error:
            problem = type(getattr(error, "orig", error)).__name__
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
            raise LedgerError(f"expected a database with a ledger of this version that can be {kind}, got {problem}.")
        raise LedgerError(f"expected a ledger with tables of version {VERSION}, got {version}; use the hedgerow of it.")

    @property
    def path(self) -> Path | None:
        return _file_of(self.url)

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """Open a transaction that no other writing one overlaps; committed, and on disk, when the block ends."""
        self.check_process()
        with _without_text(), self._turn(), self.engine.begin() as connection:
            if self.path is None:
                connection.execute(_LOCKED)
            yield connection

    @contextmanager
    def _turn(self) -> Generator[None]:
        if not self._queue.acquire(timeout=_WAIT):
            raise PoolTimeoutError
        try:
            yield
        finally:
            self._queue.release()

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Open a transaction that reads one state of the ledger, while others write; raises as `writing` does."""
        self.check_process()
        level: dict[str, Any] = {} if self.path is not None else {"isolation_level": "REPEATABLE READ"}
        with _without_text(), self.engine.connect().execution_options(hedgerow_reads=True, **level) as connection:
            yield connection

    def settle(self) -> None:
        """Write what is committed to SQLite's own file, too: a copy of it without its log is then no new ledger."""
        if self.path is not None:
            with _without_text(), self.engine.connect() as connection:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint")

    def backup(self, path: Path) -> None:
        """Copy one state of SQLite's ledger to a new file, whole, while others write."""
        if self.path is None:
            raise LedgerError("expected a ledger in SQLite, got one in PostgreSQL: pg_dump copies one state.")
        path.touch(0o600, exist_ok=False)
        with _without_text(), closing(sqlite3.connect(path)) as copy:
            with self.engine.connect().execution_options(hedgerow_reads=True) as connection:
                cast(sqlite3.Connection, connection.connection.dbapi_connection).backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, which needs no other

    def close(self) -> None:
        self.engine.dispose()


def _check_file(path: Path) -> None:
    """Create a file that only its owner can read, if there is none, and refuse a file that everybody can write."""
    with suppress(OSError):  # there is a file, or the database reports why there can be none
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if path.exists():
        check_closed(path, "a ledger", stat.S_IWOTH)


@contextmanager
def _without_text() -> Generator[None]:
    """Replace what the database raises where it fails: its text names hosts and files."""
    try:
        yield
    except DBAPIError as error:
        if _is_refused(error):
            raise
    except PoolTimeoutError:
        pass
    else:
        return
    problem = "the ledger's database cannot be read or written now: it is full, broken or out of reach."
    advice = "Send the same request again later, with the same idempotency key: it is charged once."
    raise LedgerUnavailableError(f"{problem} {advice}")


def _is_refused(error: DBAPIError) -> bool:
    """Return whether a database refuses a statement, which is no outage: the same statement never succeeds."""
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
    raise LedgerError("expected a URL such as sqlite:///ledger.db or postgresql://user@host/name, got another.")


def head_beside(url: str) -> Path | None:
    """Return the file beside a SQLite ledger that holds its head; None for a ledger in PostgreSQL."""
    path = _file_of(_checked(url))
    return None if path is None else path.with_name(f"{path.name}-head")


def _file_of(url: URL) -> Path | None:
    return Path(cast(str, url.database)) if url.get_backend_name() == "sqlite" else None


def _has_tables(connection: Connection, *, create: bool, read_only: bool) -> bool:
    """Return whether the database has a ledger, with all tables of this version unless it is `read_only`.

    `create` makes one; no two processes do so at a time.
    """
    if not read_only and connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_OURS)))
    inspector = sa.inspect(connection)
    is_there, is_indexed = inspector.has_table(ENTRIES.name), inspector.has_table(ENTRY_INDEX.name)
    if not read_only and (is_there or create):
        METADATA.create_all(connection)  # those that are not there
        if is_there and not is_indexed:  # in the same transaction: an empty index would contradict the entries
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
        connection.isolation_level = None  # the driver begins no transaction of its own
        if not read_only:
            _make_durable(connection)

    def begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get("hedgerow_reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begin)
    return engine


def _connected(limits: TimeLimits, _: object, __: object, ___: object, settings: dict[str, Any]) -> Any:
    """Open a connection with time limits; those that the URL sets stay."""
    from hedgerow.engines.postgres_connection import LimitedConnection  # which needs an extra

    return LimitedConnection.opened(limits, **limits.postgres_settings(settings))


def _make_durable(connection: sqlite3.Connection) -> None:
    for pragma, expected in _DURABLE.items():
        connection.execute(f"PRAGMA {pragma}")
        name = pragma.partition(" ")[0]
        if connection.execute(f"PRAGMA {name}").fetchone()[0] != expected:
            connection.close()
            raise LedgerError(f"expected a file for which SQLite takes {pragma}, got one for which it does not.")


def _read_only(connection: Any, _: object) -> None:
    connection.read_only = True


def _check_server(connection: Any, _: object) -> None:
    """Check that PostgreSQL keeps what it says is on disk; no session can make it do so."""
    for name in ("fsync", "full_page_writes"):
        if connection.execute(f"SHOW {name}").fetchone()[0] != "on":
            connection.close()
            raise LedgerError(f"expected a server of PostgreSQL that keeps what it has, got one with {name} off.")
    connection.rollback()


# Which runs of processes are still there is no clock's to decide. A process holds a lock for as long as it lives, on a
# file beside SQLite's, or in PostgreSQL on a connection of its own; the operating system, or the database, lets go of
# it when the process ends.


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
