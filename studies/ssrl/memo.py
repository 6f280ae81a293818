"""Tallies that cache their counts, for many lists learned from one table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Integers
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally


class MemoTally(Tally):
    """A tally that caches the counts of candidates, and the tallies of the rows that rules do not capture.

    It counts as `Tally` does, so that learners need not distinguish them; a prefix of rules is counted once, for all
    lists that begin with it, and a node once for all trees with its path. Like the counts themselves, the cache is
    private; it lasts as long as the tally.

    Parameters
    ----------
    schema, bins, counts
        As for `Tally`; `MemoTally.count` counts a table.

    Examples
    --------
    >>> X, y = np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 1, 1])
    >>> tally = MemoTally.count(X, y)
    >>> candidates = Candidates.of(tally.schema, 1)
    >>> tally.class_counts(candidates) is tally.class_counts(candidates)
    True
    >>> tally.without(candidates[0]) is tally.without(candidates[0])
    True
    """

    __slots__ = ("_class_counts", "_total", "_within", "_without")

    def __init__(self, schema: Schema, bins: NDArray[np.integer], counts: NDArray[np.integer]) -> None:
        super().__init__(schema, bins, counts)
        self._class_counts: dict[Any, Integers] = {}
        self._without: dict[Antecedent, Self] = {}
        self._within: dict[Antecedent, Self] = {}
        self._total = _frozen(super().total())

    def total(self) -> Integers:
        """Return the rows of each class, shape ``(n_classes,)``; read-only."""
        return self._total

    def class_counts(self, candidates: Candidates) -> Integers:
        """Return the rows of each class that every candidate captures, as `Tally` does; read-only."""
        key = candidates.schema, candidates.literals, len(candidates.members)
        if key not in self._class_counts:
            self._class_counts[key] = _frozen(super().class_counts(candidates))
        return self._class_counts[key]

    def without(self, antecedent: Antecedent) -> Self:
        """Return the tally of the rows that do not satisfy the antecedent: the same one each time."""
        if antecedent not in self._without:
            left = super().without(antecedent)
            self._without[antecedent] = type(self)(left.schema, left._bins, left._counts)
        return self._without[antecedent]

    def within(self, antecedent: Antecedent) -> Self:
        """Return the tally of the rows that satisfy the antecedent: the same one each time."""
        if antecedent not in self._within:
            caught = super().within(antecedent)
            self._within[antecedent] = type(self)(caught.schema, caught._bins, caught._counts)
        return self._within[antecedent]


def _frozen(counts: Integers) -> Integers:
    counts.setflags(write=False)
    return counts
