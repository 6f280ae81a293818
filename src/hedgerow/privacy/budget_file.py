"""Privacy budgets in files, which several processes and runs of the command line share."""

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
from hedgerow.text.messages import describe_argument


class FileBudget(Budget):
    """A budget whose caps and charges are stored in a JSON file. A charge is on disk before `charge` returns.

    Several processes on a machine may share the file; each opens it separately. A charge locks the file, reads the
    charges of other processes, and replaces the whole file with the same permissions. All attributes are read from the
    file when they are accessed. The entries form a hash chain, and a file whose hashes do not match is rejected. Anyone
    with write access can still replace the whole file. To detect that, store `head` elsewhere and call `check_head`.

    Parameters
    ----------
    path : str or path
        The file; see `create`. A symbolic link is resolved once, by this call.

    Raises
    ------
    ModelFormatError
        If the file is not a budget, was edited since it was written, or has several names.
    OSError
        If the file cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = FileBudget.create(f"{folder.name}/wards.budget.json", epsilon=1, table="wards")
    >>> head = budget.head
    >>> budget.charge(0.25, purpose="row count")
    >>> budget.check_head(head)
    >>> [entry["kind"] for entry in budget.record.entries]
    ['opened', 'charged']
    >>> folder.cleanup()
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).resolve()  # links to a file share its lock
        self._folder = self._path.parent.stat()
        self._known: tuple[str, Record] | None = None  # the last text of the file that was checked, and its record
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
        """Create a budget file, which must not exist yet, and return its budget.

        The parameters are as for `Budget`. `table` is a name for the table, which is recorded with every charge.
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
        """The current caps, charges and entries of the file."""
        self._check_folder()
        with _opened(self._path) as file:
            return _parse(self._path, _text_of(self._path, file))

    def _read(self, file: BinaryIO) -> Record:
        """Return the record of the open file, which is parsed again only if its text has changed."""
        text, known = _text_of(self._path, file), self._known
        if known is None or known[0] != text:
            self._known = known = text, _parse(self._path, text)
        return known[1]

    @property
    def head(self) -> str:
        """The current hash of the last entry."""
        return self.record.head

    def check_head(self, head: str) -> None:
        """Check that the record still contains the entry with this hash, a former value of `head`.

        Raises ArgumentError if `head` is not a hash, and ModelFormatError if no entry has this hash because entries
        were removed or replaced.
        """
        if not re.fullmatch("[0-9a-f]{64}", head):
            raise ArgumentError(f"head must be a hash of 64 hexadecimal digits, got {describe_argument(head)}.")
        if head not in self.record.hashes:
            problem = f"{self._path}: no entry has the hash {head[:8]}…: entries were removed or replaced."
            raise ModelFormatError(f"{problem} Restore the file from a backup that has all charges.")

    def add_digest(self, model: str) -> None:
        """Record the digest of the model that the last charge through this object paid for."""
        number = self._last_charge
        if number is None:
            raise StateError("no model was charged through this budget object yet; fit a model with it first.")
        self._rewrite(lambda record: record.released(number, model))

    def check(self, epsilon: Amount, delta: Amount = 0, *, rho: Amount | None = None, unit: Unit | None = None) -> None:
        """Raise an error as `Budget.check` does, or PermissionError if the file is read-only. Nothing is charged."""
        self._check_folder()
        with _opened(self._path) as file:
            _check_writable(self._path, file)
        super().check(epsilon, delta, rho=rho, unit=unit)

    def _check_folder(self) -> None:
        """Raise ModelFormatError if another folder has replaced the folder of the file."""
        if not os.path.samestat(self._path.parent.stat(), self._folder):
            problem = f"{self._path}: its folder was replaced by another folder after the budget was opened."
            raise ModelFormatError(f"{problem} Open the budget again.")

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
                except BaseException:  # an interrupt may occur after the file was replaced
                    if after.head not in self.record.hashes:
                        self._here.spent = spent
                    raise
        return after


def _opened(path: Path) -> BinaryIO:
    """Open a regular budget file without further hard links, not following symbolic links."""
    problem = None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK):
            raise
        handle, problem = -1, "expected a budget file, found a symbolic link."
    if problem:
        raise ModelFormatError(f"{path}: {problem}")
    try:
        _check_kind(path, handle)
    except ModelFormatError:
        os.close(handle)
        raise
    return open(handle, "rb")


def _check_kind(path: Path, handle: int) -> None:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise ModelFormatError(f"{path}: expected a budget file, found a folder, a pipe or a device.")
    if status.st_nlink > 1:
        problem = f"{path}: the budget file has {status.st_nlink} hard links, which could be charged separately"
        raise ModelFormatError(f"{problem}. Remove all but one.")


@contextmanager
def _locked(path: Path) -> Generator[BinaryIO]:
    # If the file is replaced while a process waits for the lock, the process tries again.
    while True:
        with _opened(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _check_kind(path, file.fileno())
            if os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                yield file
                return


def _check_writable(path: Path, file: BinaryIO) -> None:
    """Raise FileAccessError for a read-only file, even if the user could write it, as root can."""
    ids = os.access in os.supports_effective_ids
    is_writable = os.access(path, os.W_OK, effective_ids=ids) and os.access(path.parent, os.W_OK, effective_ids=ids)
    if not is_writable or not os.fstat(file.fileno()).st_mode & 0o222:
        problem = "the budget or its folder is read-only. The budget file was not changed"
        raise FileAccessError(errno.EACCES, problem, str(path))


def _replace(path: Path, text: str, *, like: os.stat_result) -> None:
    """Replace a budget file, keeping its permissions and, if possible, its owner."""
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
        raise FileError.of(problem.errno, f"{problem.strerror}. The budget file was not changed", str(path))


def _text(record: Record) -> str:
    text = record.to_json()
    if len(text) > LARGEST_FILE:
        problem = f"the budget file would exceed the limit of {LARGEST_FILE:,} bytes, so the new entry was not written"
        raise ArgumentError(f"{problem}. Create a new budget with the amount that is left of this budget.")
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
        problem = "it does not have the keys and types of a budget"
    if broken:
        problem = f"{path}: {broken}. Restore the file from a backup that has all charges. Without a backup"
        raise ModelFormatError(f"{problem}, create a new budget with the amount that is left after all releases.")
    raise _other_content(path, problem)


def _other_content(path: Path, problem: str) -> ModelFormatError:
    expected = f"{path}: expected a budget file (created by `hedgerow budget new`)"
    return ModelFormatError(f"{expected}: {problem.rstrip('.')}.")


def check_no_budget(path: str | PathLike[str]) -> None:
    """Raise `ArgumentError` if the file at this path is a budget, which must not be replaced."""
    is_budget = False
    with suppress(OSError, ValueError, TypeError, AttributeError):
        is_budget = Path(path).is_file() and parse_json(read_text(path)).get("format") == FORMAT
    if is_budget:
        raise ArgumentError(f"{path} is a budget file, whose record of charges would be lost; give another name.")
