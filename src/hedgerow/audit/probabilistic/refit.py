"""Learning again, to see if a learner would have made the same model of another table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from hedgerow.audit.entropy.values import Mark, Values
from hedgerow.audit.inference.leaves import released_model
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset
from hedgerow.audit.probabilistic.row import Row
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.base import TallyEstimator
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

Learner = TallyEstimator | Callable[[pd.DataFrame, pd.Series], Any]
"""An estimator of hedgerow, or a function that makes a model of rows and their labels."""
Atom = tuple[Any, ...]
"""A row as far as a learner can tell it from others."""


def told_by(model: Any, schema: Schema) -> Hashable:
    """Return all that a model tells: its ways to leaves, their counts, and the labels that it was given."""
    released = released_model(model)
    return paths_of(model, schema)[0], None if released is None else tuple(leaf.label for leaf in released.leaves)


def refit_of(learner: Learner, known: ProbabilisticDataset, schema: Schema) -> Refit:
    """Return what learns again from tables that are possible.

    Raises
    ------
    TypeError
        If the learner is neither an estimator of hedgerow nor a function.
    ValueError
        If it is private; the model compares with numbers that an estimator cannot; or values are known by their bin
        only, which a function cannot read.
    """
    if isinstance(learner, PrivateEstimator):
        raise ArgumentError("expected a deterministic learner; a private one can make many models of the same table.")
    if isinstance(learner, TallyEstimator):
        if any(values.attribute != schema[values.name] for values in known.domains):
            raise ArgumentError("expected a model that compares numbers with cut points of the schema only.")
        return _CellsRefit(learner, known, schema)
    if isinstance(learner, type) or not callable(learner):
        raise ArgumentTypeError(f"expected an estimator of hedgerow or a function, got {type(learner).__name__}.")
    marks = (bin[0] for values in known.domains for bin in values.bins if bin)
    if any(value is Mark.OUTSIDE or isinstance(value, pd.Interval) for value in marks):
        raise ArgumentError("expected a resolution for each real attribute, and no attribute with `outside: bin`.")
    return _ValuesRefit(learner, known, schema)


class Refit(ABC):
    """Learns from the rows of possible tables, whose labels are known, and remembers what came of it.

    Parameters
    ----------
    learner : Learner
        What learns.
    known : ProbabilisticDataset
        What is known of the rows, their labels included.
    schema : Schema
        The public schema.
    """

    def __init__(self, learner: Learner, known: ProbabilisticDataset, schema: Schema) -> None:
        self.learner: Any = learner
        self.known = known
        self.schema = schema
        self._found: dict[Hashable, Hashable] = {}

    def __call__(self, rows: Sequence[Atom]) -> Hashable:
        """Return all that the model tells which is learned from these rows, in the order of those known."""
        labels = self.known.labels or ()
        counts = Counter(zip(rows, labels, strict=True))
        key = frozenset(counts.items())
        if key not in self._found:
            self._found[key] = told_by(self._learned(counts), self.schema)
        return self._found[key]

    @abstractmethod
    def atoms_in(self, row: Row) -> int:
        """Return how many rows are possible that the learner can tell apart."""

    @abstractmethod
    def atoms(self, row: Row) -> list[tuple[Atom, int]]:
        """Return these rows, each with the number of rows that the learner cannot tell from it."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> list[Atom]:
        """Return the rows of one of the possible tables, drawn at random."""

    @abstractmethod
    def _learned(self, counts: Counter[tuple[Atom, Any]]) -> Any:
        """Return the model of so many rows with these labels."""


class _CellsRefit(Refit):
    """Learns with an estimator of hedgerow, which sees the bins of a row and no more."""

    def atoms_in(self, row: Row) -> int:
        return prod(part.combinations for part in row.parts)

    def atoms(self, row: Row) -> list[tuple[Atom, int]]:
        domains = self.known.domains
        numbered = [Values(values.name, tuple((bin,) for bin in range(len(values.bins)))) for values in domains]
        return [
            (bins, prod(values.weights[bin] for values, bin in zip(domains, bins, strict=True)))
            for bins, _ in row.outcomes(numbered)
        ]

    def drawn(self, rng: np.random.Generator) -> list[Atom]:
        return list(map(tuple, self.known.sample_bins(rng).tolist()))

    def _learned(self, counts: Counter[tuple[Atom, Any]]) -> Any:
        classes = self.schema.classes
        patterns = {bins: [0] * len(classes) for bins, _ in counts}
        for (bins, label), n in counts.items():
            patterns[bins][classes.index(label)] = n
        tally = Tally(self.schema, np.array(list(patterns)), np.array(list(patterns.values())))
        fresh: Any = clone(self.learner)
        return fresh.fit_tally(tally)


class _ValuesRefit(Refit):
    """Learns with a function of rows and labels, which sees the values."""

    def atoms_in(self, row: Row) -> int:
        return row.worlds

    def atoms(self, row: Row) -> list[tuple[Atom, int]]:
        found = (values for values, _ in row.outcomes(self.known.domains))
        return [(tuple(None if value is Mark.MISSING else value for value in values), 1) for values in found]

    def drawn(self, rng: np.random.Generator) -> list[Atom]:
        frame = self.known.sample(rng)
        columns = [frame[values.name].tolist() for values in self.known.domains]
        return [tuple(None if pd.isna(value) else value for value in row) for row in zip(*columns, strict=True)]

    def _learned(self, counts: Counter[tuple[Atom, Any]]) -> Any:
        rows = list(counts.elements())
        names = [values.name for values in self.known.domains]
        columns = zip(names, zip(*(values for values, _ in rows), strict=True), strict=True)
        frame = pd.DataFrame({name: list(column) for name, column in columns})
        return self.learner(frame, pd.Series([label for _, label in rows], name=self.known.label))
