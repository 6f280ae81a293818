"""Privacy budgets in files: one record of charges for several processes and runs of the command line."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Self

from hedgerow.durable import sync_folder, write_synced
from hedgerow.errors import ArgumentError, FileAccessError, FileError, ModelFormatError
from hedgerow.privacy.account import Account, Accounting
from hedgerow.privacy.amounts import Amount
from hedgerow.privacy.budget import Budget, account_of
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.untrusted_text import LARGEST_FILE, parse_amount, parse_json, read_all

FORMAT = "hedgerow/budget"


class FileBudget(Budget):
    """A budget whose cap and charges live in a JSON file; every charge is on disk before it returns.

    Processes on one machine may share it: a charge locks the file, reads what others have charged, and replaces the
    file whole, with the rights it had. What is left, and every other answer, is read from the file when it is asked
    for. It is a record for honest curators, not a defence against one who edits it.

    Parameters
    ----------
    path : str or path
        The file; see `create`. A symbolic link is followed once, now.

    Attributes
    ----------
    spent_here : Fraction
        ε charged through this object.

    Raises
    ------
    ModelFormatError
        If the file is not a budget, or has several names.
    OSError
        If it cannot be read or written.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).resolve()  # one file has one lock, even if links lead to it
        self._folder = self._path.parent.stat()
        account = self._read()
        super().__init__(account.epsilon, account.delta, rho=account.rho, accounting=account.accounting)
        self.spent_here = Fraction(0)

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        epsilon: Amount | None = None,
        delta: Amount = 0,
        *,
        rho: Amount | None = None,
        accounting: Accounting = "basic",
    ) -> Self:
        """Write a new budget to a file that must not exist, and open it; parameters as for `Budget`."""
        text = _text(account_of(epsilon, delta, rho, accounting))
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

    def check(self, epsilon: Amount, delta: Amount = 0, *, rho: Amount | None = None, unit: Unit | None = None) -> None:
        """Check that (ε, δ), with this ρ, could be charged now, to this file; see `Budget.check`.

        Raises
        ------
        PermissionError
            If the file is read-only.
        """
        self._check_folder()
        with _opened(self._path) as file:
            _check_writable(self._path, file)
        super().check(epsilon, delta, rho=rho, unit=unit)

    def _check_folder(self) -> None:
        """Refuse a folder that has replaced the one in which the budget was opened."""
        if not os.path.samestat(self._path.parent.stat(), self._folder):
            raise ModelFormatError(
                f"{self._path}: expected the folder that the budget was opened in, found another in its place."
            )

    def _read(self) -> Account:
        self._check_folder()
        with _opened(self._path) as file:
            return _parse(self._path, file)

    def _update(self, change: Callable[[Account], Account]) -> Account:
        self._check_folder()
        with _locked(self._path) as file:
            _check_writable(self._path, file)
            before = _parse(self._path, file)
            after = change(before)
            if after != before:
                _replace(self._path, _text(after), like=os.fstat(file.fileno()))
                self.spent_here += after.spent - before.spent
                sync_folder(self._path)
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
        raise ModelFormatError(
            f"{path}: expected a budget file without hard links, found several names; each could be charged separately."
        )


@contextmanager
def _locked(path: Path) -> Generator[BinaryIO]:
    """Open a budget's file under an exclusive lock.

    The lock is on the file itself. A process that waited may hold a file that was replaced meanwhile: it tries again.
    """
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
    """Write the text to disk; an error names the budget's file."""
    problem = None
    try:
        write_synced(handle, text)
    except OSError as error:
        problem = error
    if problem is not None:
        raise FileError.of(problem.errno, f"{problem.strerror}. Nothing was charged", str(path))


def _text(account: Account) -> str:
    """Return an account as the text of a file, which can be read back."""
    text = json.dumps(_to_dict(account), indent=2)
    if len(text) > LARGEST_FILE:
        raise ArgumentError(f"a budget file of more than {LARGEST_FILE:,} bytes cannot be read. Nothing was charged.")
    if _from_dict(parse_json(text)) != account:
        raise ArgumentError("the charge cannot be read back from a file. Nothing was charged.")
    return text


def _to_dict(account: Account) -> dict[str, Any]:
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "epsilon": None if account.epsilon is None else str(account.epsilon),
        "delta": str(account.delta),
    }
    if account.rho is not None:
        data["rho"] = str(account.rho)
    if account.accounting != "basic":
        data["accounting"] = account.accounting
    if account.warning:
        data["warning"] = account.warning
    return {**data, "charges": [charge.to_dict() for charge in account.charges]}


def _parse(path: Path, file: BinaryIO) -> Account:
    try:
        return _from_dict(parse_json(read_all(file)))
    except ValueError as error:
        problem = str(error)
    except (KeyError, TypeError, AttributeError):
        problem = "its keys or types are not those of a budget"
    raise ModelFormatError(
        f"{path}: expected a budget file (made by `hedgerow budget new`), found other content: {problem.rstrip('.')}."
    )


def _from_dict(data: Any) -> Account:
    """Read back what `_to_dict` wrote; ValueError, KeyError, TypeError or AttributeError for anything else."""
    charges = tuple(Charge.from_dict(charge) for charge in data["charges"])
    epsilon, rho = (None if data.get(key) is None else parse_amount(data[key]) for key in ("epsilon", "rho"))
    account = Account(epsilon, parse_amount(data["delta"]), charges, rho, data.get("accounting", "basic"))
    if _to_dict(account) != data:
        raise ArgumentError("its entries contradict one another, or some are unknown")
    return account
