"""Files of raw runs, written one run at a time, so that a study can be stopped and resumed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from hedgerow._version import __version__
from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from hedgerow.text.progress import tracked

Record = Mapping[str, str | int | float]
Measure = Callable[[int], Sequence[Record]]
"""Do the run of a number and return its records, at least one. All records have the same keys."""
RUN, RECORDS = "run", "records"  # columns of the file: the number of the run, and of its records


@dataclass(frozen=True)
class RunStore:
    """Raw runs of one measurement in a folder: ``runs.csv``, and their settings in ``settings.json``.

    Each run is appended in one write and contains the number of its records. A run whose last records are missing, or
    whose last line has no end, was interrupted while it was written; `open` drops it, and it is done again.

    Attributes
    ----------
    folder : Path
        The folder of the files.
    settings : mapping
        All that the runs depend on besides their number, JSON-ready. Runs of other settings are never mixed with these.
    """

    folder: Path
    settings: Mapping[str, Any]

    @property
    def file(self) -> Path:
        """The raw runs."""
        return self.folder / "runs.csv"

    def check(self, *, resume: bool) -> None:
        """Check that the store can be created or resumed, without changing anything.

        Raises
        ------
        ValueError
            If the folder exists and `resume` is False, or it holds something else or runs of other settings.
        """
        if not self.folder.exists():
            return
        if not resume:
            raise ArgumentError(f"{self.folder} exists already; resume it with --resume, or give another folder.")
        if not self._settings_file.is_file():
            raise ArgumentError(f"{self.folder} holds no study to resume; give another folder.")
        result, wanted = json.loads(self._settings_file.read_text(encoding="utf-8")), self._written_settings
        if result != wanted:
            names = sorted(name for name in {*result, *wanted} if result.get(name) != wanted.get(name))
            raise ArgumentError(
                f"{self.folder} holds runs with other settings ({', '.join(names)}); give another folder."
            )

    def open(self, *, resume: bool) -> frozenset[int]:
        """Create or resume the store, without interrupted runs; return the numbers of its runs.

        Raises
        ------
        ValueError
            As `check` does.
        """
        self.check(resume=resume)
        self.folder.mkdir(parents=True, exist_ok=True)
        _replace(self._settings_file, json.dumps(self._written_settings, indent=2, ensure_ascii=False) + "\n")
        if not self.file.exists():
            return frozenset()
        text = self.file.read_bytes().decode(encoding="utf-8", errors="replace")
        whole = _whole_runs(text)
        if whole != text:
            _replace(self.file, whole)
        return frozenset(int(row[RUN]) for row in csv.DictReader(io.StringIO(whole)))

    def append(self, run: int, records: Sequence[Record]) -> None:
        """Append one run in a single write, and flush it to disk."""
        text = io.StringIO()
        writer = csv.DictWriter(text, [RUN, RECORDS, *records[0]], lineterminator="\n")
        if not self.file.exists() or not self.file.stat().st_size:
            writer.writeheader()
        writer.writerows({RUN: run, RECORDS: len(records), **record} for record in records)
        with self.file.open("ab") as file:
            file.write(text.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())

    def read(self, runs: int) -> pd.DataFrame:
        """Return the records of the first `runs` runs, run by run."""
        with self.file.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if int(row[RUN]) < runs]
        rows.sort(key=lambda row: int(row[RUN]))
        names = [name for name in rows[0] if name != RECORDS] if rows else [RUN]
        return pd.DataFrame({name: _typed([row[name] for row in rows]) for name in names})

    @property
    def _settings_file(self) -> Path:
        return self.folder / "settings.json"

    @property
    def _written_settings(self) -> dict[str, Any]:
        return json.loads(json.dumps({**self.settings, "software": f"hedgerow {__version__}"}))


def complete(
    store: RunStore, measure: Measure, runs: int, *, resume: bool, n_jobs: int | None = None, verbose: bool = False
) -> pd.DataFrame:
    """Do the missing runs of a store, and return the records of all runs.

    Runs are written in the order of their numbers, whatever `n_jobs` is, so that the file is the same, too. Runs that
    another process had finished but not returned when the study was stopped are done again.

    Parameters
    ----------
    store : RunStore
        The store of the runs.
    measure : callable
        Does one run. It is sent to other processes, and must depend on the number of the run only.
    runs : int
        The number of runs, numbered from 0 to ``runs - 1``.
    resume : bool
        Whether the store may exist already.
    n_jobs : int, optional
        The number of processes, as in scikit-learn.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    DataFrame
        One row a record.

    Raises
    ------
    ValueError
        If `runs` is below 1, or the store cannot be opened.
    """
    check_integer("runs", runs, 1)
    done = store.open(resume=resume)
    missing = [run for run in range(runs) if run not in done]
    result = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(measure)(run) for run in missing)
    for run, records in zip(missing, tracked(result, store.folder.name, len(missing), verbose=verbose), strict=True):
        store.append(run, records)
    return store.read(runs)


def _whole_runs(text: str) -> str:
    """Return the header and the lines of complete runs."""
    lines = text[: text.rfind("\n") + 1].splitlines(keepends=True)
    rows = list(csv.DictReader(lines))
    have: dict[str, int] = {}
    for row in rows:
        have[row[RUN]] = have.get(row[RUN], 0) + 1
    kept = [line for line, row in zip(lines[1:], rows, strict=True) if have[row[RUN]] == int(row[RECORDS])]
    return "".join([*lines[:1], *kept])


def _typed(cells: list[str]) -> list[Any]:
    """Return a column as whole numbers if possible, else as floats, exactly as written, else as text."""
    for kind in (int, float):
        try:
            return [kind(cell) for cell in cells]
        except ValueError:
            continue
    return list(cells)


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
