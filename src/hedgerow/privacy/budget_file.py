"""A budget kept in a file, so that it counts what separate runs of the command line spend."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Self

from hedgerow.errors import ModelFormatError
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
        epsilon, delta, charges = self._read()
        super().__init__(epsilon, delta)
        self._charges = charges

    @classmethod
    def create(cls, path: str | PathLike[str], epsilon: float | Fraction, delta: float | Fraction = 0) -> Self:
        """Write a new budget to a file that must not exist, and open it."""
        budget = Budget(epsilon, delta)
        with Path(path).open("x", encoding="utf-8") as file:
            json.dump(_to_dict(budget, ()), file, indent=2)
        return cls(path)

    def charge(
        self, epsilon: float | Fraction, delta: float | Fraction = 0, *, purpose: str, mechanism: str = ""
    ) -> None:
        """Charge (ε, δ) for one release, durably; see `Budget.charge`."""
        with self._locked():
            self._charges = self._read()[2]
            self._process = os.getpid()  # the file, not the memory, is what counts
            super().charge(epsilon, delta, purpose=purpose, mechanism=mechanism)
            self._write()

    def _read(self) -> tuple[Fraction, Fraction, list[Charge]]:
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            if (data["format"], data["version"]) == (FORMAT, 1):
                charges = [Charge.from_dict(charge) for charge in data["charges"]]
                return Fraction(data["epsilon"]), Fraction(data["delta"]), charges
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            pass
        raise ModelFormatError(f"{self._path}: expected a budget file (`hedgerow budget new`), found something else.")

    def _write(self) -> None:
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(_to_dict(self, self._charges), file, indent=2)
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


def _to_dict(budget: Budget, charges: Any) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": 1,
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        "charges": [charge.to_dict() for charge in charges],
    }
