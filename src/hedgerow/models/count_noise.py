"""Noise on released counts: its scale according to the privacy card, and intervals for the exact counts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Self

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.privacy import Charge, PrivacyCard
from hedgerow.privacy.card import NO_NOISE

NumbersKind = Literal["none", "counts", "sums"]
"""The kind of numbers released for the rows of leaves: none, counts by class or level, or two sums of levels.

A row adds 1 to the count of its level. It adds the number of levels below its own to the first sum, and the number of
levels above it to the second. The contributions of a row to all numbers of its leaf have the same total for every row,
so the number of rows follows from the numbers.
"""
QUERIES: Mapping[NumbersKind, str] = {"counts": "leaf_counts", "sums": "leaf_sums"}
"""The queries whose charges pay for such numbers."""
CONFIDENCE = 0.95  # the probability that an interval contains the exact number
_NORMAL = 1.96  # the normal quantile for this confidence
_LARGEST = Fraction(2**62)  # the largest scale: counts are below 2^63
_NONE = 1e-3  # the scale below which noise is never drawn
_SLOPES = 1 - np.geomspace(1e-4, 1, 400)[:-1]  # the λ of Chernoff bounds, in inverse scales
_POINTS, _DEVIATION = 2**17, 4096  # 16 standard deviations to each side: the tails beyond have less than 10^-9


@dataclass(frozen=True)
class CountNoise:
    """Independent discrete Laplace noise on each count, or on each of the two sums, of the leaves of a model.

    Unknown noise is None. A scale of 0 means that the counts are exact.
    """

    scale: float  # in rows; 0 for exact counts

    @classmethod
    def of(cls, card: PrivacyCard, kind: NumbersKind = "counts") -> Self | None:
        """Return the largest noise that a card states for this kind of numbers, or None if it states no noise.

        For a model that was learned without privacy the scale is 0. Charges for other kinds of numbers are ignored.
        """
        if card.noise == NO_NOISE and not card.charges:
            return cls(0.0)
        scales = [_scale(charge) for charge in card.charges if charge.query.code == QUERIES.get(kind)]
        known = [scale for scale in scales if scale is not None]
        return cls(max(known)) if known and len(known) == len(scales) else None

    @classmethod
    def of_deviation(cls, deviation: float) -> Self:
        """Return discrete Laplace noise with a given standard deviation.

        Its tails are at least as heavy as Gaussian tails. Intervals for sums of counts, K-norm noise and Gaussian noise
        of the same standard deviation are therefore at most as wide.
        """
        return cls(1 / (2 * math.asinh(1 / (math.sqrt(2) * deviation))) if deviation else 0.0)

    @property
    def is_exact(self) -> bool:
        """True if no noise was added."""
        return not self.scale

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on a count, in rows."""
        return 1 / (math.sqrt(2) * math.sinh(1 / (2 * self.scale))) if self.scale > _NONE else 0.0

    def spread(self, number: int, confidence: float = CONFIDENCE) -> int:
        """Return the smallest w such that the noise on a sum of `number` counts is at most w with this confidence."""
        return _spread(self.scale, number, confidence)

    def bound(self, number: int, chance: float) -> float:
        """Return a w that the noise on a sum of `number` counts exceeds with at most this probability.

        This is the two-sided Chernoff bound, which also holds for very small probabilities. Noise X with variance v has
        ``E exp(λX) = 1/(1 − 2v·sinh²(λ/2))``. The same expression bounds the expectation for discrete Gaussian noise.
        It also bounds it for sums of noise with total variance v and weights of at most 1, because ``sinh(aλ/2) ≤
        a·sinh(λ/2)``.
        """
        if self.is_exact or not number:
            return 0.0
        ratios = np.sinh(_SLOPES / (2 * self.scale)) / math.sinh(1 / (2 * self.scale))
        log_moments = -np.log1p(-(ratios**2))
        return float(((math.log(2 / chance) + number * log_moments) * self.scale / _SLOPES).min())

    def size_tail(self, number: int, off: float) -> float:
        """Return the probability that the absolute values of the noise on `number` counts sum to `off` or more.

        Each absolute value is 0 or a geometric variable; the sum of k of these is k plus a negative binomial variable.
        """
        if off <= 0 or self.is_exact or not number:
            return float(off <= 0)
        from scipy.stats import binom, nbinom  # takes long to import

        stay, stop = math.exp(-1 / self.scale), -math.expm1(-1 / self.scale)
        drawn = np.arange(1, number + 1)
        chances = binom.pmf(drawn, number, 2 * stay / (1 + stay)) * nbinom.sf(float(off) - drawn - 1, drawn, stop)
        return min(1.0, float(chances.sum()))

    def weighted_spread(self, squares: Floats) -> Floats:
        """Return the half-widths of 95 % intervals for weighted sums of counts, given the sums of squared weights.

        The normal distribution approximates the noise on each sum.
        """
        return _NORMAL * self.deviation * np.sqrt(squares)

    def interval(self, count: int, number: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
        """Return the interval, with this confidence, for a count that was released as a sum of `number` counts."""
        off = self.spread(number, confidence)
        return max(count - off, 0), max(count + off, 0)

    def share(self, counts: tuple[int, ...], k: int) -> tuple[float, float]:
        """Return the interval for the share of class `k` in a leaf."""
        # The count of the class and the count of all other classes each get half of the error probability.
        half = (1 + CONFIDENCE) / 2
        low, high = self.interval(counts[k], 1, half)
        least, most = self.interval(sum(counts) - counts[k], len(counts) - 1, half)
        return low / max(low + most, 1), high / (high + least) if high + least else 0.0

    def least_share(self, rows: Sequence[int], number: int) -> float:
        """Return a lower bound on every leaf's share of all rows, with simultaneous confidence for all leaves.

        `rows` has the released rows of each leaf, each a sum of `number` counts. The one-sided intervals for each leaf
        and for all rows have equal parts of the error probability.
        """
        confidence = 1 - 2 * (1 - CONFIDENCE) / (len(rows) + 1)
        smallest = min(rows) - self.spread(number, confidence)
        total = sum(rows) + self.spread(number * len(rows), confidence)
        return max(smallest, 0) / max(total, 1)


def _scale(charge: Charge) -> float | None:
    """Return the scale, in rows, of the noise on the counts or sums of a charge; None if it is not stated."""
    mechanism = charge.mechanism
    if mechanism is None or mechanism.code != "discrete_laplace":
        return None
    if not charge.epsilon:
        return float(_LARGEST)
    # The sensitivity of the sums is the contribution of a row to both sums together.
    each = mechanism["sensitivity"] if charge.query.code == QUERIES["sums"] else 1
    return float(min(mechanism["scale"] / each, _LARGEST))


@lru_cache(maxsize=256)
def _spread(scale: float, number: int, confidence: float) -> int:
    """Return a quantile of the absolute sum of discrete Laplace variables, by its characteristic function."""
    if not number:
        return 0
    deviation = math.sqrt(2 * number) * scale
    larger = max(deviation / _DEVIATION, 1.0)  # large scales are reduced: the distribution is then nearly continuous
    stay = math.exp(-larger / scale) if scale else 0.0
    angles = np.pi * np.arange(_POINTS // 2 + 1) / _POINTS
    characteristic = ((1 - stay) ** 2 / ((1 - stay) ** 2 + 4 * stay * np.sin(angles) ** 2)) ** number
    chances = np.fft.irfft(characteristic, _POINTS)[: _POINTS // 2]
    within = chances[0] + 2 * np.cumsum(chances[1:])
    inside = 0 if chances[0] >= confidence else 1 + int(np.searchsorted(within, confidence))
    return inside if larger == 1.0 else math.ceil(inside * larger)
