"""Confidence intervals for ratios of sums and for AUROC from noisy counts (docs/mathematics.md, fact 10).

Every interval inverts a test. At the true value of a measure, a linear combination of the exact counts is zero. The
same combination of the noisy counts consists of noise, or of noise and sampling error, whose variance is known or
estimated. The interval contains the values for which the combination is within its 95 % range. If there are too few
rows for the noise, the interval is the whole range, and still valid.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, log, sqrt

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers, Mask
from hedgerow.models.count_noise import CountNoise

Interval = tuple[float, float]
MISSES = 0.05  # largest probability that an interval does not contain the true value
_NOISE_95 = 2.2  # standard deviations that cover 95 % of weighted sums of discrete Laplace noise, with half a count
_SAMPLING_95 = 2.0
_SURE = 1e-3  # counts are treated as exact if the probability of any noise is smaller
_GRID, _REFINED = 400, 50
_MOST_RATIO = 100.0


@dataclass(frozen=True)
class Quadratic:
    """Variance as a function of the hypothetical value μ of a ratio: ``square·μ² − 2·mixed·μ + constant``."""

    constant: float
    mixed: float
    square: float

    def __add__(self, other: "Quadratic") -> "Quadratic":
        return Quadratic(self.constant + other.constant, self.mixed + other.mixed, self.square + other.square)

    def at(self, value: float) -> float:
        """Return the variance at a hypothetical value."""
        return self.square * value**2 - 2 * self.mixed * value + self.constant

    def times(self, factor: float) -> "Quadratic":
        return Quadratic(self.constant * factor, self.mixed * factor, self.square * factor)


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Noisy counts of some cells, with independent noise, for means of the cells' public values."""

    own: Integers
    noise: CountNoise
    has_others: bool = True  # whether rows are independent, so that there is an interval for new rows
    rare: float = 2.0  # rows added at each end of the values in a sampling variance, for rare and large values

    def of(self, cells: Mask) -> "NoisyCounts":
        """Return the counts of some cells."""
        return NoisyCounts(self.own[cells], self.noise, self.has_others, self.rare)

    @cached_property
    def total(self) -> float:
        """The sum of the counts, computed without overflow."""
        return float(sum(self.own.ravel().tolist()))

    def sum_of(self, values: Floats) -> float:
        """Return the sum of the values over the counted rows."""
        return sum(count * value for count, value in zip(self.own.tolist(), values.tolist(), strict=True))

    def mean(self, values: Floats) -> float:
        """Return the mean of the values over the counted rows; the total must not be 0."""
        return self.sum_of(values) / self.total

    def mean_variance(self, values: Floats) -> float:
        """Return the variance of the mean due to the noise, at the estimated mean."""
        return float(((values - self.mean(values)) ** 2).sum()) * (self.noise.deviation / self.total) ** 2

    def mean_intervals(self, values: Floats, choices: int = 1) -> tuple[Interval, Interval]:
        """Return an interval for the mean over the counted rows (noise only), and for the expected value of a new row.

        The second interval (noise and sampling) assumes independent rows. The sampling variance of a share (values 0
        and 1) is binomial, at the hypothetical share. For other values it is the second moment of the counts around the
        hypothetical mean, with `rare` additional rows at each end. If the values were selected among `choices` by the
        same counts, the intervals of all choices hold jointly with 95 % confidence.
        """
        noise = self._noise_variance(values).times((_NOISE_95 + log(choices) / sqrt(2)) ** 2)
        sampling = self._sampling_variance(values).times(_SAMPLING_95**2 + 2 * log(choices))
        on_rows, (low, high) = (self._interval(values, variance) for variance in (noise, noise + sampling))
        return on_rows, (min(low, on_rows[0]), max(high, on_rows[1]))

    def _noise_variance(self, values: Floats) -> Quadratic:
        own = self.noise.deviation**2
        return Quadratic(own * float(values @ values), own * float(values.sum()), own * len(values))

    def _sampling_variance(self, values: Floats) -> Quadratic:
        if np.isin(values, (0.0, 1.0)).all():
            rows = max(self.total, 1.0)
            return Quadratic(0.0, -rows / 2, -rows)
        rows, (least, most) = np.maximum(self.own.astype(np.float64), 0.0), (float(values.min()), float(values.max()))
        ends = Quadratic(least**2 + most**2, least + most, 2.0).times(self.rare)
        return Quadratic(float(rows @ values**2), float(rows @ values), float(rows.sum())) + ends

    def _interval(self, values: Floats, variance: Quadratic) -> Interval:
        """Return the means for which the sum of deviations from the mean is within its error of 0 (Fieller, 1954)."""
        least, most = float(values.min()), float(values.max())
        rows, square = self.total, self.total**2 - variance.square
        slack = _half_count(len(self.own), self.noise) * (most - least)
        if rows <= 0 or square <= 0 or least == most:
            return least, most
        ends = list[float]()
        for sign in (-1.0, 1.0):
            moved = self.sum_of(values) + sign * slack
            middle = moved * rows - variance.mixed
            root = max(middle**2 - square * (moved**2 - variance.constant), 0.0)
            # Means that half a count can reach are inside, for every variance.
            end = sign * max(sign * (middle + sign * sqrt(root)) / square, sign * moved / rows)
            ends.append(min(max(end, least), most))
        return ends[0], ends[1]

    def sign(self, values: Floats, comparisons: int = 1) -> int:
        """Return the sign of the sum of the values over the counted rows; 0 if the noise may have changed it.

        The probability that any of `comparisons` signs is wrong is at most 5 %.
        """
        deviations = _NOISE_95 + log(comparisons) / sqrt(2)  # the tail of Laplace noise
        far = deviations * self.noise.deviation * float(np.sqrt(values @ values))
        far += _half_count(len(self.own), self.noise) * float(np.abs(values).max())
        total = self.sum_of(values)
        return 0 if abs(total) <= far else 1 if total > 0 else -1

    def scaled_error(self, values: Floats, *, has_sampling: bool) -> float:
        """Return the squared error of the mean of the values that is not exceeded in 95 % of cases."""
        mean, variance = self.mean(values), self._noise_variance(values).times(_NOISE_95**2)
        if has_sampling:
            variance += self._sampling_variance(values).times(_SAMPLING_95**2)
        slack = _half_count(len(self.own), self.noise) * float(np.ptp(values))
        return (sqrt(max(variance.at(mean), 0.0)) + slack) ** 2 / self.total**2


def ratio_intervals(
    above: NoisyCounts, values: Floats, below: NoisyCounts, others: Floats
) -> tuple[Interval, Interval]:
    """Return intervals for the ratio of two positive means of separate counts: noise only, and noise and sampling.

    Sampling correlates the two means positively here, which makes the actual error of the ratio smaller than assumed.
    """
    if above.total <= 0 or below.total <= 0:
        return (0.0, _MOST_RATIO), (0.0, _MOST_RATIO)
    top, bottom = above.mean(values), below.mean(others)
    intervals = list[Interval]()
    for has_sampling in (False, True):
        far = above.scaled_error(values, has_sampling=has_sampling)
        square = bottom**2 - below.scaled_error(others, has_sampling=has_sampling)
        root = max((top * bottom) ** 2 - square * (top**2 - far), 0.0)
        ends = [(top * bottom + sign * sqrt(root)) / square for sign in (-1, 1)] if square > 0 and bottom > 0 else []
        low, high = ends or (0.0, _MOST_RATIO)
        intervals.append((min(max(low, 0.0), _MOST_RATIO), min(max(high, 0.0), _MOST_RATIO)))
    return intervals[0], intervals[1]


def mean_on_rows(own: Integers, values: Floats, noise: CountNoise) -> Interval:
    """Return an interval for the mean of the cells' public values over the counted rows (noise only)."""
    return NoisyCounts(own, noise).mean_intervals(values)[0]


def _half_count(cells: int, noise: CountNoise) -> float:
    """Return the continuity correction of half a count for noise of whole numbers; 0 without noise."""
    return 0.0 if noise.is_exact or 2 * cells * exp(-1 / noise.scale) < _SURE else 0.5


@dataclass(frozen=True, eq=False)
class RankedCounts:
    """Noisy counts of two classes by score band, for AUROC: P(score of the second class > score of the first class)."""

    first: Floats  # the counts of the first class in each band
    second: Floats  # the counts of the second class
    wins: Floats  # 1 for each pair of bands in which the second has the larger score, 1/2 for equal scores
    noise: CountNoise
    parts: int  # the number of noisy counts that are summed in each of these counts

    @classmethod
    def of(cls, counts: Floats, scores: Floats, noise: CountNoise, parts: int = 1) -> "RankedCounts":
        """Return the counts of two classes, shape ``(2, n_bands)``, with the order of the bands' scores."""
        below, above = scores[:, np.newaxis], scores[np.newaxis]
        wins = np.where(below < above, 1.0, np.where(below == above, 0.5, 0.0))
        return cls(counts[0], counts[1], wins, noise, parts)

    @property
    def value(self) -> float | None:
        """AUROC according to the noisy counts; None if it is not between 0 and 1."""
        pairs = float(self.first.sum() * self.second.sum())
        value = float(self.first @ self.wins @ self.second) / pairs if pairs > 0 else -1.0
        return value if 0 <= value <= 1 and self.first.sum() > 0 else None

    def interval(self, *, has_sampling: bool) -> Interval:
        """Return an interval for AUROC, for noise only or for noise and sampling."""
        if self.value is None:
            return 0.0, 1.0
        levels = np.unique([*np.linspace(0, 1, _GRID + 1), self.value])
        inside = self._excess(levels, has_sampling=has_sampling) <= 0
        inside |= levels == self.value
        first, last = np.flatnonzero(inside)[[0, -1]].tolist()

        def end(place: int, beyond: int) -> float:
            if not 0 <= beyond < len(levels):
                return float(levels[place])
            steps = np.linspace(levels[place], levels[beyond], _REFINED + 1)
            is_inside = self._excess(steps, has_sampling=has_sampling) <= 0
            return float(steps[np.flatnonzero(is_inside).max(initial=0)])

        return end(first, first - 1), end(last, last + 1)

    def _excess(self, levels: Floats, *, has_sampling: bool) -> Floats:
        """Return, for each hypothetical AUROC, by how much the test statistic exceeds its error."""
        moves = self.wins - levels[:, np.newaxis, np.newaxis]
        by_first, by_second = moves @ self.second, self.first @ moves
        own, pairs = self.parts * self.noise.deviation**2, (moves**2).sum(axis=(1, 2))
        noise = own * ((by_first**2).sum(axis=1) + (by_second**2).sum(axis=1))
        variance = _NOISE_95**2 * np.maximum(noise - own**2 * pairs, own**2 * pairs)
        if has_sampling:
            first, second = (np.maximum(counts, 0) + 1 / len(counts) for counts in (self.first, self.second))
            variance += _SAMPLING_95**2 * ((moves @ second) ** 2 @ first + (first @ moves) ** 2 @ second)
        half = _half_count(2 * self.parts * len(self.first), self.noise)
        slack = half * np.maximum(np.abs(by_first).max(axis=1), np.abs(by_second).max(axis=1))
        return np.abs(by_first @ self.first) - np.sqrt(variance) - slack
