"""Privacy budgets in files: one record of charges for several processes and runs of the command line."""

import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Self

from hedgerow.boundary.durable import sync_folder, write_synced
from hedgerow.boundary.untrusted_text import LARGEST_FILE, parse_json, read_all, read_text
from hedgerow.errors import (
    ArgumentError,
    FileAccessError,
    FileError,
    LedgerError,
    ModelFormatError,
    StateError,
    UnreadableError,
)
from hedgerow.privacy.account import Account, Accounting
from hedgerow.privacy.amounts import Amount
from hedgerow.privacy.budget import Budget, account_of
from hedgerow.privacy.budget_chain import FORMAT, Record
from hedgerow.privacy.unit import Unit


class FileBudget(Budget):
    """A budget whose cap and charges live in a JSON file; every charge is on disk before it returns.

    Processes on one machine may share it, each of which opens it: a charge locks the file, reads what others have
    charged, and replaces the file whole, with the rights it had. What is left, and every other answer, is read from the
    file when it is asked for. Each entry has the hash of the one before, and a file whose hashes do not agree is
    refused. Who can write the file can make all of it anew; who keeps `head` elsewhere finds that out with
    `check_head`.

    Parameters
    ----------
    path : str or path
        The file; see `create`. A symbolic link is followed once, now.

    Raises
    ------
    ModelFormatError
        If the file is not a budget, was edited since it was written, or has several names.
    OSError
        If it cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = FileBudget.create(f"{folder.name}/wards.budget.json", epsilon=1, table="wards")
    >>> kept = budget.head
    >>> budget.charge(0.25, purpose="row count")
    >>> budget.check_head(kept)
    >>> [entry["kind"] for entry in budget.record.entries]
    ['opened', 'charged']
    >>> folder.cleanup()
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).resolve()  # one file has one lock, even if links lead to it
        self._folder = self._path.parent.stat()
        self._known: tuple[str, Record] | None = None  # the text of the file as last checked, and its record
        account = self._now
        super().__init__(account.epsilon, account.delta, rho=account.rho, accounting=account.accounting)
        self._last_charge: int | None = None

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        epsilon: Amount | None = None,
        delta: Amount = 0,
        *,
        rho: Amount | None = None,
        accounting: Accounting = "basic",
        table: str | None = None,
    ) -> Self:
        """Write a new budget to a file that must not exist, and open it; parameters as for `Budget`.

        `table` is a name for the table, which is entered with each charge.
        """
        text = _text(Record.opened(account_of(epsilon, delta, rho, accounting), table))
        with Path(path).open("xb") as file:
            try:
                _write(Path(path), file.fileno(), text)
            except BaseException:
                Path(path).unlink()
                raise
        sync_folder(Path(path))
        return cls(path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def _charged_to(self) -> str:
        return f" to {self._path}"

    @property
    def record(self) -> Record:
        """The caps, charges and entries that the file holds now."""
        self._check_folder()
        with _opened(self._path) as file:
            return _parse(self._path, _text_of(self._path, file))

    def _read(self, file: BinaryIO) -> Record:
        """Return the record of the open file. A text that has not changed since it was checked is not parsed again."""
        text, known = _text_of(self._path, file), self._known
        if known is None or known[0] != text:
            self._known = known = text, _parse(self._path, text)
        return known[1]

    @property
    def head(self) -> str:
        """The hash of the last entry now."""
        return self.record.head

    def check_head(self, head: str) -> None:
        """Check that the record goes on from the entry whose hash, as it was shown then, was kept elsewhere.

        Raises ArgumentError for what is no hash, and ModelFormatError if no entry has it: entries were removed, or made
        anew.
        """
        if not re.fullmatch("[0-9a-f]{64}", head):
            raise ArgumentError("head must be a hash of 64 hexadecimal digits, as it was shown then, got another text.")
        if head not in self.record.hashes:
            problem = f"{self._path}: no entry has the hash that was kept: entries were removed or replaced since."
            raise ModelFormatError(f"{problem} Restore the file from a backup that has all charges.")

    def add_digest(self, model: str) -> None:
        """Enter the digest of the model that the last charge through this object was for; StateError without one."""
        number = self._last_charge
        if number is None:
            raise StateError("expected a budget through which a model was charged, got one without a charge yet.")
        self._rewrite(lambda record: record.released(number, model))

    def check(self, epsilon: Amount, delta: Amount = 0, *, rho: Amount | None = None, unit: Unit | None = None) -> None:
        """Check that (ε, δ), with this ρ, could be charged now; see `Budget.check`; PermissionError if read-only."""
        self._check_folder()
        with _opened(self._path) as file:
            _check_writable(self._path, file)
        super().check(epsilon, delta, rho=rho, unit=unit)

    def _check_folder(self) -> None:
        """Refuse a folder that has replaced the one in which the budget was opened."""
        if not os.path.samestat(self._path.parent.stat(), self._folder):
            problem = f"{self._path}: expected the folder that the budget was opened in, found another in its place."
            raise ModelFormatError(problem)

    @property
    def _now(self) -> Account:
        self._check_folder()
        with _opened(self._path) as file:
            return self._read(file).account

    def _update(self, change: Callable[[Account], Account]) -> Account:
        return self._rewrite(lambda record: record.after(change(record.account))).account

    def _rewrite(self, change: Callable[[Record], Record]) -> Record:
        self._check_folder()
        with _locked(self._path) as file:
            _check_writable(self._path, file)
            before = self._read(file)
            after = change(before)
            if after.head != before.head:
                text, spent = _text(after), self.spent_here
                try:
                    self._here.spent = spent + after.account.spent - before.account.spent
                    _replace(self._path, text, like=os.fstat(file.fileno()))
                    self._known = text, after
                    if len(after.account.charges) > len(before.account.charges):
                        self._last_charge = len(after.account.charges)
                    sync_folder(self._path)
                except BaseException:  # an interrupt may come once the file is replaced
                    if after.head not in self.record.hashes:
                        self._here.spent = spent
                    raise
        return after


def _opened(path: Path) -> BinaryIO:
    """Open a budget's file for reading: the file itself, no link to it, no other name of it, no pipe."""
    problem = None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK):
            raise
        handle, problem = -1, "expected a budget file, found a link that took its place."
    if problem:
        raise ModelFormatError(f"{path}: {problem}")
    try:
        _check_kind(path, handle)
    except ModelFormatError:
        os.close(handle)
        raise
    return open(handle, "rb")


def _check_kind(path: Path, handle: int) -> None:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise ModelFormatError(f"{path}: expected a budget file, found a folder, a pipe or a device of that name.")
    if found.st_nlink > 1:
        problem = f"{path}: expected a budget file without hard links, found several names"
        raise ModelFormatError(f"{problem}; each could be charged separately.")


@contextmanager
def _locked(path: Path) -> Generator[BinaryIO]:
    # A process that waited may hold a file that was replaced meanwhile: it tries again.
    while True:
        with _opened(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _check_kind(path, file.fileno())
            if os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                yield file
                return


def _check_writable(path: Path, file: BinaryIO) -> None:
    """Refuse a read-only file, even where the user could write it, as root can."""
    as_who = os.access in os.supports_effective_ids
    may = os.access(path, os.W_OK, effective_ids=as_who) and os.access(path.parent, os.W_OK, effective_ids=as_who)
    if not may or not os.fstat(file.fileno()).st_mode & 0o222:
        raise FileAccessError(errno.EACCES, "the budget, or its folder, is read-only. Nothing was charged", str(path))


def _replace(path: Path, text: str, *, like: os.stat_result) -> None:
    """Replace a budget's file by a new one, with the same permissions and, where possible, the same owner."""
    handle, fresh = tempfile.mkstemp(prefix=".hedgerow-", dir=path.parent)
    try:
        for user, group in ((-1, like.st_gid), (like.st_uid, -1)):
            with suppress(PermissionError):
                os.fchown(handle, user, group)
        same_group = os.fstat(handle).st_gid == like.st_gid
        os.fchmod(handle, stat.S_IMODE(like.st_mode) & (0o7777 if same_group else 0o7707))
        _write(path, handle, text)
        os.replace(fresh, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        raise
    finally:
        os.close(handle)


def _write(path: Path, handle: int, text: str) -> None:
    problem = None
    try:
        write_synced(handle, text)
    except OSError as error:
        problem = error
    if problem is not None:
        raise FileError.of(problem.errno, f"{problem.strerror}. Nothing was charged", str(path))


def _text(record: Record) -> str:
    text = record.to_json()
    if len(text) > LARGEST_FILE:
        problem = f"a budget file of more than {LARGEST_FILE:,} bytes cannot be read, so nothing was entered"
        raise ArgumentError(f"{problem}. Start a new budget with what is left of this one.")
    return text


def _text_of(path: Path, file: BinaryIO) -> str:
    problem = ""
    try:
        return read_all(file)
    except UnreadableError as error:
        problem = str(error)
    raise _other_content(path, problem)


def _parse(path: Path, text: str) -> Record:
    problem, broken = "", None
    try:
        return Record.from_dict(parse_json(text))
    except ModelFormatError as error:
        broken = str(error)
    except (ValueError, LedgerError) as error:
        problem = str(error)
    except (KeyError, TypeError, AttributeError, IndexError):
        problem = "its keys or types are not those of a budget"
    if broken:
        problem = f"{path}: {broken}. Restore the file from a backup that has all charges; without one"
        raise ModelFormatError(f"{problem}, start a new budget with what is left after all that was released.")
    raise _other_content(path, problem)


def _other_content(path: Path, problem: str) -> ModelFormatError:
    expected = f"{path}: expected a budget file (made by `hedgerow budget new`)"
    return ModelFormatError(f"{expected}, found other content: {problem.rstrip('.')}.")


def is_budget(path: str | PathLike[str]) -> bool:
    with suppress(OSError, ValueError, TypeError, AttributeError):
        return parse_json(read_text(path)).get("format") == FORMAT
    return False
