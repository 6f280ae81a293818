"""What processes do that race for a budget's file: a module of its own, as each of them imports it."""

from __future__ import annotations

import os
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

from hedgerow.errors import BudgetExceededError
from hedgerow.privacy.budget_file import FileBudget


def race(path: Path, unit: Fraction, processes: int) -> list[int]:
    """Let so many processes charge this unit until nothing is left; return how often each of them could."""
    with get_context("spawn").Pool(processes) as pool:
        return pool.map(_charge_all, [(path, unit)] * processes, chunksize=1)


def _charge_all(arguments: tuple[Path, Fraction]) -> int:
    path, unit = arguments
    taken = 0
    while True:
        try:
            FileBudget(path).charge(unit, purpose=f"by {os.getpid()}")
        except BudgetExceededError:
            return taken
        taken += 1
