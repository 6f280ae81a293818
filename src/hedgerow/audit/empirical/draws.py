"""Runs of a learner on two tables: in processes, with progress, kept in a file so that they can go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.parallel import Parallel, delayed

from hedgerow.audit.empirical.outcomes import Draws, Outcome
from hedgerow.errors import ArgumentError
from hedgerow.text.progress import tracked

_PARTS = 200  # of the runs, at most: each is written, and told, once


@dataclass(frozen=True, eq=False)
class Runner:
    """A run of the learner on each side: picklable where its parts are."""

    fit: Any  # the learner
    sides: tuple[tuple[Any, Any], tuple[Any, Any]]  # the table, and its neighbour
    reduce: Callable[[Any], Outcome]  # from what a fit returns, its outcome

    def part(self, side: int, places: range, seed: int | None) -> tuple[int, list[Outcome]]:
        """Do some of the runs on one table; a seed decides each of them by its place."""
        return side, [self.reduce(self._fitted(side, place, seed)) for place in places]

    def _fitted(self, side: int, place: int, seed: int | None) -> Any:
        X, y = self.sides[side]
        if not hasattr(self.fit, "fit"):
            return self.fit(X, y)
        estimator: Any = clone(self.fit) if isinstance(self.fit, BaseEstimator) else self.fit
        if seed is not None and isinstance(estimator, BaseEstimator):
            free = [n for n, v in estimator.get_params().items() if n.split("__")[-1] == "random_state" and v is None]
            own = int(np.random.SeedSequence([seed, side, place]).generate_state(1)[0] >> 1)
            estimator.set_params(**dict.fromkeys(free, own))
        return cast("Any", estimator).fit(X, y)


@dataclass
class RunCache:
    """Outcomes so far, with the file that keeps them, if there is one.

    The file is JSON, a line a part: **private**, as it holds what was drawn from both tables.
    """

    path: Path | None
    settings: str
    draws: Draws = field(default_factory=lambda: ([], []))

    @classmethod
    def open(cls, path: Any, settings: dict[str, Any]) -> RunCache:
        """Return what a file holds of a run with these settings; a last line without end is dropped."""
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        kept = cls(None if path is None else Path(path), digest)
        if kept.path is None:
            return kept
        if not kept.path.exists():
            kept._write({"hedgerow": "empirical epsilon", "settings": digest}, "x")
            return kept
        head, *lines = kept._lines()
        if head != {"hedgerow": "empirical epsilon", "settings": digest}:
            raise kept._problem
        for line in lines:
            if not _is_part(line, kept.draws):
                raise kept._problem
            kept.draws[line["side"]].extend(line["outcomes"])
        return kept

    def add(self, side: int, outcomes: list[Outcome]) -> None:
        """Add a part."""
        start = len(self.draws[side])
        self.draws[side].extend(outcomes)
        if self.path is not None:
            self._write({"side": side, "start": start, "outcomes": outcomes}, "a")

    @property
    def _problem(self) -> ArgumentError:
        return ArgumentError(f"{self.path} holds something else, or runs of another learner or of other tables.")

    def _write(self, line: dict[str, Any], mode: str) -> None:
        assert self.path is not None
        with self.path.open(mode, encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yield the whole lines of the file, and cut off what was not written to its end."""
        assert self.path is not None
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            os.truncate(self.path, len(whole))
        for line in whole.splitlines():
            try:
                found = json.loads(line)
            except ValueError:
                raise self._problem from None
            if not isinstance(found, dict):
                raise self._problem
            yield found
        if not whole:
            raise self._problem


def _is_part(line: dict[str, Any], draws: Draws) -> bool:
    """Return whether a line is the next part of its side: one that two processes wrote would be counted twice."""
    if set(line) != {"side", "start", "outcomes"} or line["side"] not in (0, 1) or not isinstance(line["side"], int):
        return False
    if line["start"] != len(draws[line["side"]]) or not isinstance(line["outcomes"], list):
        return False
    return all(_is_outcome(one) for one in line["outcomes"])


def _is_outcome(found: Any) -> bool:
    if isinstance(found, list):
        return all(type(one) in (int, float) and np.isfinite(float(one)) for one in cast("list[Any]", found))
    return isinstance(found, str) or (type(found) in (int, float) and bool(np.isfinite(float(found))))


def run(runner: Runner, kept: RunCache, runs: int, seed: int | None, n_jobs: int | None, *, verbose: bool) -> Draws:
    """Run until there are so many outcomes a side, and return these."""
    size, done = max(1, -(-runs // _PARTS)), [len(side) for side in kept.draws]
    parts = [
        (side, range(at, min(at + size, runs)), seed)
        for step in range(0, runs, size)
        for side in (0, 1)
        if (at := done[side] + step) < runs
    ]
    found = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(runner.part)(*one) for one in parts)
    for side, outcomes in tracked(found, "empirical epsilon", len(parts), verbose=verbose):
        kept.add(side, outcomes)
    return kept.draws[0][:runs], kept.draws[1][:runs]
