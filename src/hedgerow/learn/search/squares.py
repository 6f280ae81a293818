"""Squared losses of levels at equal distances, from two numbers for each leaf instead of a count for each level.

A row at level ``i`` counts as ``1 − i`` rows at level 0 and ``i`` rows at level 1. Its squared distance to a prediction
``v`` is the sum of the distances of these rows, plus a term that does not depend on the prediction:

    (i − v)²  =  (1 − i)·(0 − v)² + i·(1 − v)² + i·(i − 1)

So two signed counts, whose sum is the number of rows, take the place of the counts of all levels. A search only adds,
subtracts and multiplies counts, so it runs on a tally of these two counts as on a tally of two classes. If there are
two levels, they are the class counts, and the loss is the number of errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Integers
from hedgerow.learn.search.losses import BLOCK
from hedgerow.schema.targets import Label
from hedgerow.tally import Tally


@dataclass(frozen=True)
class SquaredLoss:
    """Squared distance of levels, in whole numbers; neighbouring levels have distance 1.

    The counts of all methods are the two signed counts of `counts`, and all losses are without the term ``i·(i − 1)``
    of each row.
    """

    n_levels: int

    @property
    def steps(self) -> int:
        """Steps in a loss of 1, which is the loss of neighbouring levels."""
        return 1

    @property
    def is_errors(self) -> bool:
        """Whether the loss of a row is 1 if it is misclassified and 0 otherwise."""
        return self.n_levels == 2

    @property
    def places(self) -> Integers:
        """The levels as integers, shape ``(n_levels,)``; 0 is near the middle, so that sums are small."""
        return np.arange(self.n_levels) - (self.n_levels - 1) // 2

    @property
    def reach(self) -> int:
        """A bound on the size of each row's share of any sum."""
        # Levels and predictions are at most m in size. So ``|v|·(2·|Σ i| + |v|·n) + |Σ i|`` is at most (3m² + m)·n, and
        # a distance is at most 2m, so the largest loss, and the penalty for each row, are at most 4m².
        largest = self.n_levels // 2
        return 4 * largest**2 + largest

    def counts(self, by_level: Integers) -> Integers:
        """Return the signed counts, shape ``(n, 2)``, of counts by level, shape ``(n, n_levels)``."""
        return by_level @ np.stack([1 - self.places, self.places], axis=1)

    def constant(self, by_level: Integers) -> int:
        """Return the sum of the term that does not depend on predictions, from counts by level."""
        return int(by_level @ (self.places * (self.places - 1)))

    def totals(self, counts: Array) -> Array:
        """Return the loss of counts, shape ``(2, ...)``, under each prediction, shape ``(n_levels, ...)``. Exact."""
        return _loss(counts, self.places.reshape(-1, *[1] * (counts.ndim - 1)))

    def least(self, counts: Array) -> Floats:
        """Return the loss of counts, shape ``(2, ...)``, under the best prediction: a level next to the mean. Exact."""
        flat = counts.reshape(2, -1)
        losses = np.empty(flat.shape[1])
        for start in range(0, len(losses), BLOCK):
            part = flat[:, start : start + BLOCK].astype(np.float64)
            losses[start : start + BLOCK] = _loss(part, np.rint(part[1] / np.maximum(part[0] + part[1], 1)))
        return losses.reshape(counts.shape[1:])

    def best(self, counts: Array) -> int:
        """Return the level with the smallest loss of counts, shape ``(2,)``; ties go to the first."""
        return int(self.totals(counts).argmin())

    def tally(self, tally: Tally) -> Tally:
        """Return a tally of the same patterns with the signed counts, for a label with two classes."""
        bins, by_level = tally.bins_and_counts()
        label = Label(tally.schema.target.name, (0, 1))
        return Tally(replace(tally.schema, label=label), bins, self.counts(by_level))


def _loss(counts: Array, prediction: Array) -> Array:
    first, second = counts
    return second - prediction * (2 * second - prediction * (first + second))
