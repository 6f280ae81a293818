"""A budget kept in a file, so that it counts what separate runs of the command line spend."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Self

from hedgerow.bounded import parse_amount, parse_json, read_text
from hedgerow.errors import ModelFormatError
from hedgerow.privacy.account import Account
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import Charge

FORMAT = "hedgerow/budget"


class FileBudget(Budget):
    """A budget whose cap and charges live in a JSON file; every charge is on disk before it returns.

    Processes on one machine may share it: a charge locks the file, reads what others have charged, and replaces the
    file whole. It is a record for honest curators, not a defence against one who edits it.

    Parameters
    ----------
    path : str or path
        The file; see `create`.

    Raises
    ------
    ModelFormatError
        If the file is not a budget, or has several names.
    OSError
        If it cannot be read or written.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).resolve()  # one file has one lock, whatever links lead to it
        if self._path.stat().st_nlink > 1:
            raise ModelFormatError(f"{path}: expected a file with one name; hard links would make two budgets of it.")
        account = self._read()
        super().__init__(account.epsilon, account.delta)

    @classmethod
    def create(cls, path: str | PathLike[str], epsilon: float | Fraction, delta: float | Fraction = 0) -> Self:
        """Write a new budget to a file that must not exist, and open it."""
        account = Account(exact(epsilon, "epsilon"), exact(delta, "delta"))
        with Path(path).open("x", encoding="utf-8") as file:
            json.dump(_to_dict(account), file, indent=2)
        return cls(path)

    def _read(self) -> Account:
        return _parse(self._path)

    def _update(self, change: Callable[[Account], Account]) -> Account:
        with self._locked():
            after = change(self._read())
            self._write(after)
        return after

    def _write(self, account: Account) -> None:
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(_to_dict(account), file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def _locked(self) -> Generator[None]:
        with self._path.with_name(f".{self._path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _to_dict(account: Account) -> dict[str, Any]:
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "epsilon": str(account.epsilon),
        "delta": str(account.delta),
    }
    if account.warning:
        data["warning"] = account.warning
    return {**data, "charges": [charge.to_dict() for charge in account.charges]}


def _parse(path: Path) -> Account:
    try:
        return _from_dict(parse_json(read_text(path)))
    except ValueError as error:
        problem = str(error)
    except (KeyError, TypeError, AttributeError):
        problem = "it does not hold what a budget holds"
    raise ModelFormatError(
        f"{path}: expected a budget file (`hedgerow budget new`), found another: {problem.rstrip('.')}."
    )


def _from_dict(data: Any) -> Account:
    """Read back what `_to_dict` wrote; ValueError, KeyError, TypeError or AttributeError for anything else."""
    charges = tuple(Charge.from_dict(charge) for charge in data["charges"])
    account = Account(parse_amount(data["epsilon"]), parse_amount(data["delta"]), charges)
    if _to_dict(account) != data:
        raise ValueError("its parts contradict one another, or are more than they should be")
    return account
