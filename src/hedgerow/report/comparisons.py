"""Comparisons of a model with a constant on the same rows: the mean difference, and the part that chance explains."""

from dataclasses import dataclass
from math import sqrt
from typing import Literal, NamedTuple, Self

import numpy as np
from scipy.stats import t as student

from hedgerow.audit.inference.labelled import Clusters
from hedgerow.boundary.arrays import Floats

CONFIDENCE = 0.95
Verdict = Literal["better", "unclear", "worse"]


class Words(NamedTuple):
    """The form of a difference in sentences."""

    scale: float = 1.0
    form: str = ".4g"
    unit: str = ""


PLAIN = Words()


@dataclass(frozen=True)
class Gain:
    """The mean loss of a constant less the mean loss of a model on the same rows, with an interval.

    The interval is that of Student's t for paired differences, by units if a unit has several rows, where each end has
    one more row of the worst, or best, difference: an error that is rare and costly may be missing among the rows. If a
    unit has several rows, it is one more unit with as many such rows as the largest unit has. For independent rows that
    are right or wrong, this is McNemar's test with Edwards' correction.
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(
        cls,
        gains: Floats,
        clusters: Clusters,
        ends: tuple[float, float] | None = None,
        *,
        confidence: float = CONFIDENCE,
    ) -> Self:
        """Return the gain by the differences of rows; `ends` are the worst and the best that a row can have, if known.

        `confidence` is for both ends together. If units are not known by row, the interval is as wide as if every unit
        had as many equal rows as it may have.
        """
        sums, rows, largest = gains.astype(np.float64), np.ones(len(gains), dtype=np.float64), clusters.most
        if clusters.numbers is not None:
            units = np.unique(clusters.numbers, return_inverse=True)[1]
            sums = np.bincount(units, gains).astype(np.float64)
            rows = np.bincount(units).astype(np.float64)
            largest = int(rows.max())
        worst, best = (float(gains.min()), float(gains.max())) if ends is None else ends
        low = _end(sums, rows, (worst, largest), clusters.most, (1 - confidence) / 2)
        high = _end(sums, rows, (best, largest), clusters.most, (1 + confidence) / 2)
        return cls(float(gains.mean()), low, high)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.low, self.high

    @property
    def verdict(self) -> Verdict:
        """The model is better, or worse, than chance explains; or neither is shown."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "unclear"

    def interval(self, words: Words = PLAIN) -> str:
        """Return the difference and its interval."""
        numbers = self.value, self.low, self.high
        value, low, high = (f"{words.scale * number:{words.form}}".replace("-", "−") for number in numbers)
        return f"{value}{words.unit}, 95 % interval {low} to {high}"

    def text(self, words: Words = PLAIN) -> str:
        """Return the verdict in a sentence, with the difference and its interval."""
        amount = self.interval(words)
        return {
            "better": f"The model is better than chance explains (gain {amount}).",
            "unclear": f"No difference is shown (gain {amount}): chance can explain it.",
            "worse": f"The model is worse than chance explains (gain {amount}).",
        }[self.verdict]


def _end(sums: Floats, rows: Floats, extreme: tuple[float, int], most: int, quantile: float) -> float:
    """Return one end of the interval for the mean of rows, by sums of independent units and one more, extreme unit.

    `extreme` is the difference of each of its rows, and their number. If units may have `most` rows each and it is not
    known which, the variance and the degrees of freedom are those of units of so many equal rows.
    """
    difference, size = extreme
    sums, rows = np.append(sums, size * difference), np.append(rows, float(size))
    mean, n = float(sums.sum() / rows.sum()), len(sums)
    variance = n / (n - 1) * most * float(((sums[:-1] - mean * rows[:-1]) ** 2).sum())
    variance += n / (n - 1) * float((sums[-1] - mean * size) ** 2)
    return mean + float(student.ppf(quantile, max(n / most - 1, 1))) * sqrt(variance) / float(rows.sum())
