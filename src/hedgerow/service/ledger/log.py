"""The log of a ledger's entries, and its head in a file outside the database, which reveals a rollback.

An entry is committed first, then the head is written and synchronised. Rows are read, and answers are sent, only after
that. If the process ends in between, the database is ahead of the head, and the head is updated later. A database that
is behind its head, or has a different history, has lost entries that may have had effects.

The mark is a second such file, next to the signing key. It follows the head, and shows that entries existed even if
both the database and its head are lost or replaced. It is synchronised only when a ledger is opened, closed or gets a
declaration, since a synchronisation takes about a third of the time of a charge. The end of a process therefore loses
nothing of the mark, and a power failure only the seconds that the operating system had not written to disk.
"""

import fcntl
import json
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.boundary.canonical import FIRST, canonical, digest
from hedgerow.boundary.durable import sync_folder
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import LedgerError, LedgerMissingError, LedgerUnavailableError
from hedgerow.service.ledger.database import LEDGER_LIMITS, MISSING, Database, head_beside
from hedgerow.service.ledger.entry import Entry, EntryKind
from hedgerow.service.ledger.tables import ANSWERS, ENTRIES, ENTRY_INDEX, HEAD, REQUESTS
from hedgerow.service.ledger.verify import Spent, Verification, Verified, fill_index, index_row
from hedgerow.text.messages import shown

_AT_ONCE = 500  # the number of entries that are read in one transaction
_HEAD = sa.select(HEAD.c.sequence, HEAD.c.hash)
_LOST = "the ledger has lost entries, and nothing can be charged until the curator has restored it."
_SLOT = 4096  # bytes of a page, so that a torn write does not change the other slot
_REHEARSED = 2**16  # bytes of an answer that a check writes and deletes
_sync = getattr(os, "fdatasync", os.fsync)  # timestamps of the file need not be durable


class LogMark(NamedTuple):
    """Number and hash of the last entry."""

    sequence: int
    hash: str


class HeadFile:
    """Head of a log in a file with two slots that are written alternately."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self.known: LogMark | None = None  # as last written by this process
        self._is_durable = True  # whether it is synchronised

    def read(self) -> LogMark | None:
        """Return the head, or None if there is no file or no intact slot."""
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return _newest(handle)[1]
        finally:
            os.close(handle)

    def seen(self) -> list[LogMark]:
        """Return the head that this process wrote last, and the head in the file, as far as they exist."""
        with self._without_text():
            return [*filter(None, (self.known, self.read()))]

    def keep(self, mark: LogMark, *, back: bool = False) -> None:
        """Write a head durably, unless a later head is stored; with `back`, write it in any case."""
        self._keep(mark, back=back, sync=True)

    def follow(self, mark: LogMark) -> None:
        """Write a head like `keep`, but let the operating system write it to disk later."""
        self._keep(mark, back=False, sync=False)

    def _keep(self, mark: LogMark, *, back: bool, sync: bool) -> None:
        with self._lock, self._without_text():
            is_new = back or self.known is None or self.known.sequence < mark.sequence
            if is_new or (sync and not self._is_durable):
                self.known = self._written(mark, back=back, sync=sync)
                self._is_durable = sync

    def check_writable(self) -> None:
        with self._without_text():
            os.close(os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC))

    @contextmanager
    def _without_text(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            reason = f"the file {self._path} cannot be written: {error.strerror or type(error).__name__}"
        else:
            return
        raise LedgerUnavailableError("the head file of the ledger cannot be written at present.", reason)

    def _written(self, mark: LogMark, *, back: bool, sync: bool) -> LogMark:
        """Write a head; return the stored head, which may be a later head of another process."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            turn, kept = _newest(handle)
            if kept is not None and kept.sequence >= mark.sequence and not back:
                if sync:
                    _sync(handle)  # its writer may have been killed before synchronising
                return kept
            text, place = canonical({"turn": turn + 1, **mark._asdict()}), (turn + 1) % 2 * _SLOT
            os.pwrite(handle, f"{digest(text)} {text}\n".ljust(_SLOT).encode(), place)
            if not sync:
                return mark
            try:
                _sync(handle)
            except OSError:
                os.pwrite(handle, b"\0", place)  # the system does not retry a page that could not be written
                raise
            if kept is None:
                sync_folder(self._path)
            return mark
        finally:
            os.close(handle)


def _newest(handle: int) -> tuple[int, LogMark | None]:
    """Return the turn and the head of the newest intact slot, or 0 and None."""
    result: list[tuple[int, LogMark | None]] = [(0, None)]
    for place in (0, _SLOT):
        checksum, _, text = os.pread(handle, _SLOT, place).decode("ascii", "replace").rstrip().partition(" ")
        if digest(text) == checksum:
            data = json.loads(text)
            result.append((data["turn"], LogMark(data["sequence"], data["hash"])))
    return max(result, key=itemgetter(0))


class Log:
    """Entries of a ledger in its database."""

    def __init__(
        self,
        url: str,
        head: Path | None = None,
        *,
        mark: Path | None = None,
        read_only: bool = False,
        new_ledger: bool = False,
        accept_rollback: bool = False,
        limits: TimeLimits = LEDGER_LIMITS,
    ) -> None:
        head = head or head_beside(url)
        self._head = None if head is None else HeadFile(head)
        self._mark = None if mark is None else HeadFile(mark)
        self._last = LogMark(0, FIRST)  # the last entry of the writing transaction
        problem = ""
        try:
            self.database = Database(url, read_only=read_only, create=new_ledger or accept_rollback, limits=limits)
        except LedgerMissingError:
            problem = self._missing_text()
        if problem:
            raise LedgerMissingError(problem)
        if not read_only:
            try:
                self._begin(new_ledger=new_ledger, accept_rollback=accept_rollback)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        if self._head is not None and self._head.known is not None:
            with suppress(LedgerError):  # the mark from the start remains
                self._remember(self._head.known)
        self.database.close()

    def settle(self) -> None:
        """Write a declaration to SQLite's main file and to the mark, so that a loss of the database is noticed."""
        self.database.settle()
        if self._head is not None and self._head.known is not None:
            self._remember(self._head.known)

    def _begin(self, *, new_ledger: bool, accept_rollback: bool) -> None:
        """Compare the database with its head and mark, then write both; a new ledger requires `new_ledger`."""
        if self._head is None:
            raise LedgerError("a ledger in PostgreSQL requires a head file; name it in the configuration: head: FILE.")
        with self.database.writing() as connection:
            # No other process appends during this transaction, so neither file can be ahead of it.
            self._last, kept, mark = _last(connection), self._head.read(), self._marked()
            is_new = kept is None and self._last.sequence == 0
            fill_index(connection, self._last.sequence)
            gone = [known for known in (kept, *mark) if not _continues(connection, self._last, known)]
            lost = mark if is_new else gone
            self._check_start(lost, is_new=is_new, new_ledger=new_ledger, accept_rollback=accept_rollback)
            if lost:
                head = None if lost[0] is None else lost[0]._asdict()
                self.append(connection, "accepted", {"head": head, **({"new": True} if is_new else {})})
            last = self._last
        self._head.keep(last, back=bool(lost))
        self._remember(
            last, back=bool(lost)
        )  # after the head, so that a crash in between does not look like a lost ledger
        self.database.settle()  # the process that declared may have been killed before

    def _check_start(
        self, lost: Sequence[LogMark | None], *, is_new: bool, new_ledger: bool, accept_rollback: bool
    ) -> None:
        if is_new and not new_ledger:
            raise LedgerMissingError(self._missing_text())
        if lost and not is_new and not accept_rollback:
            raise LedgerError(_rollback_text(self._last, lost[0]))
        if new_ledger and not is_new:
            raise LedgerError("the ledger already exists; start without --new-ledger.")
        if accept_rollback and not lost:
            raise LedgerError("the ledger has lost no entries; start without --accept-rollback.")

    def _remember(self, last: LogMark, *, back: bool = False) -> None:
        if self._mark is None:
            return
        with suppress(LedgerUnavailableError):
            self._mark.keep(last, back=back)
            return
        problem = "the mark file next to the signing key, which records that a ledger exists, cannot be written"
        raise LedgerError(
            f"{problem}. If the key is on a read-only mount, set a writable file in the configuration: mark: FILE."
        )

    def _marked(self) -> list[LogMark]:
        """Return the mark as a list, which is empty if there is no mark."""
        result = None if self._mark is None else self._mark.read()
        return [] if result is None else [result]

    def _missing_text(self) -> str:
        known = self._known()
        if not known:
            return MISSING
        anew = "--new-ledger" if self._kept() is None else "--accept-rollback"
        return (
            f"the ledger is missing; it had at least {max(known).sequence} entries. Restore the latest database with "
            f"its head. If it is lost permanently, `hedgerow serve check {anew}` creates a new ledger and records the "
            "loss. A new ledger does not know the earlier charges and every budget is unspent, so lower the caps first."
        )

    @contextmanager
    def changing(self) -> Generator[Connection]:
        """Open a transaction that continues from the head; at its end, first it and then the head are on disk."""
        with self.database.condition.writing(), self._transaction() as connection:
            yield connection

    def check_writable(self) -> None:
        """Raise `LedgerUnavailableError` if no entry can be appended; nothing is recorded."""
        with self.database.condition.checking() as is_failing:
            self.database.check_tables()
            with self._transaction() as connection:
                connection.execute(HEAD.update().values(version=HEAD.c.version))
                if is_failing:
                    _rehearse(connection)
            for file in filter(None, (self._head, self._mark)):
                file.check_writable()

    @contextmanager
    def _transaction(self) -> Generator[Connection]:
        assert self._head is not None
        with self.database.writing() as connection:
            self._last = _last(connection)
            # Another process may have written the files later than this process: a change that does not continue from
            # its entries would replace them, and with them the evidence that they are lost.
            for file in filter(None, (self._head, self._mark)):
                for known in file.seen():
                    if not _continues(connection, self._last, known):
                        raise LedgerUnavailableError(_LOST, _rollback_text(self._last, known))
            yield connection
            last = self._last
        self._head.keep(last)
        if self._mark is not None:
            self._mark.follow(last)

    def append(self, connection: Connection, kind: EntryKind, data: dict[str, Any], spent: Sequence[Spent] = ()) -> str:
        """Append an entry in a transaction of `changing`, and return its hash.

        For a charge, `spent` contains the new totals of the analyst and of the dataset.
        """
        salted = {**data, "salt": token_hex(16)}  # so that analysts cannot guess entries between their own from hashes
        time = datetime.now(UTC).isoformat()
        entry = Entry.after(self._last.hash, self._last.sequence + 1, kind, time, salted)
        self._last = LogMark(entry.sequence, entry.hash)
        connection.execute(ENTRIES.insert(), {**self._last._asdict(), "content": entry.content})
        connection.execute(HEAD.update(), self._last._asdict())
        about = data if kind == "reserved" else _about(connection, data)
        connection.execute(ENTRY_INDEX.insert(), index_row(entry.sequence, kind, about, data, spent))
        return entry.hash

    @property
    def has_head(self) -> bool:
        """True if a head or mark outside the database can reveal a loss of entries."""
        return bool(self._known())

    def check_head(self, head: str | None = None) -> None:
        """Raise `LedgerError` if the entry of the head, of the mark or with the hash `head` is missing."""
        known = self._known()
        with self.database.reading() as connection:
            _check_kept(connection, _last(connection), known, head)

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """Yield the entries from number `first` on, each checked against the previous entry."""
        # No transaction is open while a reader processes entries, however slowly.
        expected, previous = first, self._hash(first - 1)
        while True:
            with self.database.reading() as connection:
                later = sa.select(ENTRIES).where(ENTRIES.c.sequence >= expected).order_by(ENTRIES.c.sequence)
                rows = connection.execute(later.limit(_AT_ONCE)).all()
                last = _last(connection)
            for row in rows:
                if row.sequence != expected:
                    raise LedgerError(f"the ledger is broken: entry {expected} is missing.")
                entry = Entry.read(row.sequence, row.content, row.hash, previous)
                yield entry
                previous, expected = entry.hash, expected + 1
            if len(rows) < _AT_ONCE:
                break
        if last != (expected - 1, previous):
            raise LedgerError(
                f"the ledger is broken: its head names {last.sequence} entries, but it has {expected - 1}."
            )

    def verify(self, head: str | None = None, progress: Callable[[int, int], None] = lambda *_: None) -> Verified:
        """Verify the chain of entries, that the tables follow from them, and that no entry is lost.

        `progress` is called with the number of verified entries and of all entries.
        """
        verification = Verification()
        while (result := self.advance(verification, head)) is None:
            progress(verification.entries, self.last.sequence)
        return result

    def advance(self, verification: Verification, head: str | None = None) -> Verified | None:
        """Verify the next entries; after the last entry, compare with the head and return the result."""
        known = self._known()  # before the entries, so that it cannot be ahead of them
        with self.database.reading() as connection:
            result = verification.advance(connection)
            if result is None:
                return None
            _check_kept(connection, LogMark(result.entries, result.head), known, head)
        return replace(result, is_compared=bool(known) or head is not None)

    @property
    def last(self) -> LogMark:
        """The last entry in the database."""
        with self.database.reading() as connection:
            return _last(connection)

    def backup(self, path: Path) -> Verified:
        """Copy a consistent state of a SQLite ledger to a new file, and verify the copy against the head."""
        kept = self._kept()
        if kept is None:
            problem = "the ledger has no head file next to it and may lack entries. If its head is elsewhere,"
            raise LedgerError(f"{problem} give --config with the configuration of the service.")
        self.check_head()  # including the mark, which may be ahead of an older head
        self.database.backup(path)
        with closing(Log(f"sqlite:///{path}", read_only=True)) as copy:
            return copy.verify(kept.hash or None)

    def _kept(self) -> LogMark | None:
        return None if self._head is None else self._head.read()

    def _known(self) -> list[LogMark]:
        """Return the entries recorded outside the database: the head, and the mark next to the key."""
        return [*filter(None, [self._kept()]), *self._marked()]

    def _hash(self, sequence: int) -> str:
        with self.database.reading() as connection:
            result = _hash(connection, sequence)
        if result is None:
            raise LedgerError(f"the ledger is broken: entry {sequence} is missing.")
        return result


def _rehearse(connection: Connection) -> None:
    """Write an answer and delete it: the update of a row succeeds also if a disk has no room for further pages."""
    name = "check"  # names of requests are UUIDs
    connection.execute(ANSWERS.insert(), {"request": name, "content": token_bytes(_REHEARSED)})
    connection.execute(ANSWERS.delete().where(ANSWERS.c.request == name))


def _about(connection: Connection, data: dict[str, Any]) -> dict[str, Any]:
    """Return the dataset and analyst of an entry; for an entry on a request, from the table of requests."""
    if "request" not in data:
        return data
    named = sa.select(REQUESTS.c.dataset, REQUESTS.c.analyst).where(REQUESTS.c.request == data["request"])
    row = connection.execute(named).mappings().one_or_none()
    return {} if row is None else {**row}


def _last(connection: Connection) -> LogMark:
    return LogMark(*connection.execute(_HEAD).one())


def _hash(connection: Connection, sequence: int) -> str | None:
    """Return the hash of an entry, or None; for number 0, the start of the chain."""
    if sequence == 0:
        return FIRST
    return connection.execute(sa.select(ENTRIES.c.hash).where(ENTRIES.c.sequence == sequence)).scalar_one_or_none()


def _check_kept(connection: Connection, last: LogMark, known: Iterable[LogMark], head: str | None) -> None:
    """Raise `LedgerError` if an entry that is recorded outside the database is missing."""
    for kept in known:
        if not _continues(connection, last, kept):
            raise LedgerError(_rollback_text(last, kept))
    named = sa.select(ENTRIES.c.sequence).where(ENTRIES.c.hash == head)
    if head is not None and connection.execute(named).scalar_one_or_none() is None:
        raise LedgerError(f"the ledger is broken: no entry has the hash {shown(head)}, so entries are lost.")


def _continues(connection: Connection, last: LogMark, kept: LogMark | None) -> bool:
    """Return whether a database contains the entry of its head; without a head, whether it is new."""
    if kept is None:
        return last.sequence == 0
    if kept == last:
        return True
    return last.sequence > kept.sequence and _hash(connection, kept.sequence) == kept.hash


def _rollback_text(last: LogMark, kept: LogMark | None) -> str:
    head = "is missing" if kept is None else f"is entry {kept.sequence} with the hash {kept.hash[:12]}"
    return (
        f"the ledger has lost entries or was replaced: its head outside the database {head}, but the database has "
        f"{last.sequence} entries. If it was replaced by a copy or snapshot, charges are lost. Restore the latest "
        "database with its head. If there is none, start once with --accept-rollback, which the ledger records."
    )
