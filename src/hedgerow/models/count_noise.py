"""Noise of released counts: its scale, by the card, and intervals for the exact numbers."""

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
"""The numbers that were released about the rows of leaves: none; counts by class or level; or two sums of levels.

A row adds 1 to the count of its own level. To the two sums it adds how many levels are below its own, and how many are
above it. Every row adds the same to all numbers of its leaf together, so that the number of rows follows from them.
"""
QUERIES: Mapping[NumbersKind, str] = {"counts": "leaf_counts", "sums": "leaf_sums"}
"""The queries by which such numbers are charged."""
CONFIDENCE = 0.95  # how often an interval contains the exact number
_NORMAL = 1.96  # the quantile of a normal distribution for that
_LARGEST = Fraction(2**62)  # of a scale: counts are less than 2^63
_NONE = 1e-3  # a scale below which noise is never drawn
_SLOPES = 1 - np.geomspace(1e-4, 1, 400)[:-1]  # the λ of Chernoff's bounds, in inverse scales
_POINTS, _DEVIATION = 2**17, 4096  # 16 standard deviations to each side: beyond them there is less than 10^-9


@dataclass(frozen=True)
class CountNoise:
    """Discrete Laplace noise on each of a model's counts, or of its two sums a leaf, each drawn by itself.

    Unknown noise is None and never a scale of 0: a scale of 0 states that the counts are exact.
    """

    scale: float  # its scale, in rows; 0 if no noise was drawn

    @classmethod
    def of(cls, card: PrivacyCard, kind: NumbersKind = "counts") -> Self | None:
        """Return the largest noise that a card states for such numbers, or none of a model without privacy; else None.

        A charge for numbers of another kind says nothing about these.
        """
        if card.noise == NO_NOISE and not card.charges:
            return cls(0.0)
        scales = [_scale(charge) for charge in card.charges if charge.query.code == QUERIES.get(kind)]
        known = [scale for scale in scales if scale is not None]
        return cls(max(known)) if known and len(known) == len(scales) else None

    @classmethod
    def of_deviation(cls, deviation: float) -> Self:
        """Return the discrete Laplace noise of this standard deviation, whose tails are no lighter than Gaussian ones.

        Noise on a sum of counts, K-norm noise and Gaussian noise of the same standard deviation have intervals that are
        as long or shorter.
        """
        return cls(1 / (2 * math.asinh(1 / (math.sqrt(2) * deviation))) if deviation else 0.0)

    @property
    def is_exact(self) -> bool:
        """True if no noise was drawn."""
        return not self.scale

    @property
    def deviation(self) -> float:
        return 1 / (math.sqrt(2) * math.sinh(1 / (2 * self.scale))) if self.scale > _NONE else 0.0

    def spread(self, number: int, confidence: float = CONFIDENCE) -> int:
        """Return the least w such that a sum of so many counts is off by at most w with this confidence."""
        return _spread(self.scale, number, confidence)

    def bound(self, number: int, chance: float) -> float:
        """Return a w such that a sum of counts is off by more than w with at most this chance, however small it is.

        This is Chernoff's bound of both tails. The noise X on a count of variance v has ``E exp(λX) = 1/(1 − 2v·sinh²(
        λ/2))``. This bounds the same expectation of a sum of noises of the total variance v, each times a number of at
        most 1 in size, since ``sinh(aλ/2) ≤ a·sinh(λ/2)``, and of discrete Gaussian noise.
        """
        if self.is_exact or not number:
            return 0.0
        ratios = np.sinh(_SLOPES / (2 * self.scale)) / math.sinh(1 / (2 * self.scale))
        log_moments = -np.log1p(-(ratios**2))
        return float(((math.log(2 / chance) + number * log_moments) * self.scale / _SLOPES).min())

    def size_tail(self, number: int, off: float) -> float:
        """Return the probability that the sizes of the noise on so many counts sum to `off` or more.

        Each size is 0, or else a geometric variable: that of k of them is a negative binomial one, plus k.
        """
        if off <= 0 or self.is_exact or not number:
            return float(off <= 0)
        from scipy.stats import binom, nbinom  # takes long to import

        stay, stop = math.exp(-1 / self.scale), -math.expm1(-1 / self.scale)
        drawn = np.arange(1, number + 1)
        chances = binom.pmf(drawn, number, 2 * stay / (1 + stay)) * nbinom.sf(float(off) - drawn - 1, drawn, stop)
        return min(1.0, float(chances.sum()))

    def weighted_spread(self, squares: Floats) -> Floats:
        """Return how far weighted sums of counts are off at most, at 95 %, by the sums of their squared weights.

        The normal distribution approximates the noise of each sum.
        """
        return _NORMAL * self.deviation * np.sqrt(squares)

    def interval(self, count: int, number: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
        off = self.spread(number, confidence)
        return max(count - off, 0), max(count + off, 0)

    def share(self, counts: tuple[int, ...], k: int) -> tuple[float, float]:
        """Return the ends of the interval for the share of a class in a leaf."""
        # The class's count and that of all others each have half of the chance of an interval that misses.
        half = (1 + CONFIDENCE) / 2
        low, high = self.interval(counts[k], 1, half)
        least, most = self.interval(sum(counts) - counts[k], len(counts) - 1, half)
        return low / max(low + most, 1), high / (high + least) if high + least else 0.0

    def least_share(self, rows: Sequence[int], number: int) -> float:
        """Return a share of all rows that every leaf holds, with this module's confidence for all leaves together.

        `rows` has the released rows of each leaf, each a sum of `number` counts. One interval for each leaf and one
        for all rows have equal parts of the chance of an interval that misses, each on one side only.
        """
        confidence = 1 - 2 * (1 - CONFIDENCE) / (len(rows) + 1)
        least = min(rows) - self.spread(number, confidence)
        most = sum(rows) + self.spread(number * len(rows), confidence)
        return max(least, 0) / max(most, 1)


def _scale(charge: Charge) -> float | None:
    """Return the scale in rows of the noise on counts or sums that a charge paid for; None if it states none."""
    mechanism = charge.mechanism
    if mechanism is None or mechanism.code != "discrete_laplace":
        return None
    if not charge.epsilon:
        return float(_LARGEST)
    # A row adds as much to both sums together as their sensitivity is.
    each = mechanism["sensitivity"] if charge.query.code == QUERIES["sums"] else 1
    return float(min(mechanism["scale"] / each, _LARGEST))


@lru_cache(maxsize=256)
def _spread(scale: float, number: int, confidence: float) -> int:
    """Return the quantile of the size of a sum of discrete Laplace variables, by its characteristic function."""
    if not number:
        return 0
    deviation = math.sqrt(2 * number) * scale
    larger = max(deviation / _DEVIATION, 1.0)  # a large scale is made smaller: the variable is nearly continuous then
    stay = math.exp(-larger / scale) if scale else 0.0
    angles = np.pi * np.arange(_POINTS // 2 + 1) / _POINTS
    characteristic = ((1 - stay) ** 2 / ((1 - stay) ** 2 + 4 * stay * np.sin(angles) ** 2)) ** number
    chances = np.fft.irfft(characteristic, _POINTS)[: _POINTS // 2]
    within = chances[0] + 2 * np.cumsum(chances[1:])
    inside = 0 if chances[0] >= confidence else 1 + int(np.searchsorted(within, confidence))
    return inside if larger == 1.0 else math.ceil(inside * larger)
