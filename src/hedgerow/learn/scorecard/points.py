"""Log-odds by bin of each attribute that is used, of released values alone, from which points are rounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

Floats = NDArray[np.float64]
Direction = Literal["increasing", "decreasing"]
_LEAST_UNIT = 0.005


@dataclass
class Part:
    """Log-odds by bin of one attribute."""

    attribute: int  # the attribute's place in the schema
    values: Floats  # log-odds: one column for two classes, those of the second; or one for each class
    covariances: list[Floats]  # their covariance by the noise of the releases, for each column
    rows: Floats  # about how many rows each bin has, by the releases; at least 0

    def mean(self, values: Floats) -> Floats:
        """Return the mean over rows of what has a row for each bin."""
        return self.rows @ values / max(self.rows.sum(), 1e-9)

    def centred(self) -> Floats:
        """Take the mean over rows off the log-odds, and return it."""
        mean = self.mean(self.values)
        self.values -= mean
        return mean

    def spread(self) -> float:
        """Return the standard deviation over rows, the root of the mean over columns."""
        return float(np.sqrt(self.mean(self.values**2).mean()))

    def error(self) -> float:
        """Return the mean over rows and columns of the variance by noise."""
        return float(np.mean([self.mean(np.diag(covariance)) for covariance in self.covariances]))

    def make_monotone(self, direction: Direction, n_ordered: int) -> None:
        """Replace the log-odds along a number by the nearest that only rise, or only fall (isotonic regression)."""
        rows = np.maximum(self.rows[:n_ordered], 1)
        fit = IsotonicRegression(increasing=direction == "increasing")
        places = np.arange(n_ordered)
        self.values[:n_ordered, 0] = fit.fit(places, self.values[:n_ordered, 0], rows).predict(places)


def rounded(parts: Sequence[Part], points: int) -> tuple[dict[int, NDArray[np.int64]], float]:
    """Return whole points by attribute, the largest of which is `points` in size, and the log-odds of one point."""
    # A point is at least 0.005 log-odds, so that where nothing was learned all points are 0.
    largest = max((float(np.abs(part.values).max()) for part in parts), default=0.0)
    unit = max(largest / points, _LEAST_UNIT)
    return {part.attribute: np.rint(part.values / unit).astype(np.int64) for part in parts}, unit
