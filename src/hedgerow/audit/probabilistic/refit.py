"""Refits of a learner on possible tables, to compare the models with a given one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from hedgerow.audit.counting.bin_values import Mark
from hedgerow.audit.entropy.values import Values
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset
from hedgerow.audit.probabilistic.row import RowDistribution
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.base import TallyEstimator
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.models.released import released_leaf_model
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

Learner = TallyEstimator | Callable[[pd.DataFrame, pd.Series], Any]
"""An estimator of hedgerow, or a function that fits a model to rows and their labels."""
Atom = tuple[Any, ...]
"""An equivalence class of rows that a learner does not distinguish."""


def disclosed_by(model: Any, schema: Schema) -> Hashable:
    """Return all that a model discloses: its decision paths, their counts, and its stored labels or probabilities."""
    released = released_leaf_model(model)
    stored = None if released is None else tuple((leaf.label, leaf.probabilities) for leaf in released.leaves)
    return paths_of(model, schema)[0], stored


def refit_of(learner: Learner, known: ProbabilisticDataset, schema: Schema) -> Refit:
    """Return the refit of a learner on possible tables."""
    if isinstance(learner, PrivateEstimator):
        raise ArgumentError("expected a deterministic learner, got a private one, which draws its models at random.")
    if isinstance(learner, TallyEstimator):
        if any(values.attribute != schema[values.name] for values in known.domains):
            raise ArgumentError(
                "expected a model whose thresholds are cut points of the schema, got others; add them to the schema."
            )
        return _BinsRefit(learner, known, schema)
    if isinstance(learner, type) or not callable(learner):
        raise ArgumentTypeError(f"expected an estimator of hedgerow or a function, got {type(learner).__name__}.")
    marks = (bin[0] for values in known.domains for bin in values.bins if bin)
    if any(value is Mark.OUTSIDE or isinstance(value, pd.Interval) for value in marks):
        raise ArgumentError(
            "expected a resolution for each real attribute, and no attribute with `outside: bin`; a function needs the "
            "values of each bin."
        )
    return _ValuesRefit(learner, known, schema)


class Refit(ABC):
    """Fits a learner to possible tables with known labels, and caches what each model discloses."""

    def __init__(self, learner: Learner, known: ProbabilisticDataset, schema: Schema) -> None:
        self.learner: Any = learner
        self.known = known
        self.schema = schema
        self._found: dict[Hashable, Hashable] = {}

    def __call__(self, rows: Sequence[Atom]) -> Hashable:
        """Return what the model fitted to these rows discloses; the rows are in the order of the dataset."""
        labels = self.known.labels or ()
        counts = Counter(zip(rows, labels, strict=True))
        key = frozenset(counts.items())
        if key not in self._found:
            self._found[key] = disclosed_by(self._learned(counts), self.schema)
        return self._found[key]

    @abstractmethod
    def count_atoms(self, row: RowDistribution) -> int:
        """Count the possible rows that the learner distinguishes."""

    @abstractmethod
    def atoms(self, row: RowDistribution) -> list[tuple[Atom, int]]:
        """Return these rows, each with the number of rows in its equivalence class."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> list[Atom]:
        """Draw the rows of a possible table."""

    @abstractmethod
    def _learned(self, counts: Counter[tuple[Atom, Any]]) -> Any:
        """Return the model fitted to these numbers of rows and labels."""


class _BinsRefit(Refit):
    """Refit of an estimator of hedgerow, which reads the bins of rows only."""

    def count_atoms(self, row: RowDistribution) -> int:
        return prod(factor.bin_combinations for factor in row.factors)

    def atoms(self, row: RowDistribution) -> list[tuple[Atom, int]]:
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
    """Refit of a function of rows and labels, which reads the values."""

    def count_atoms(self, row: RowDistribution) -> int:
        return row.possible_rows

    def atoms(self, row: RowDistribution) -> list[tuple[Atom, int]]:
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
