"""EXPRIL's noisy ratios of counts, as published: without a guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.privacy import opendp as dp

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class PublishedRatios:
    """EXPRIL's ratio of noisy to exact counts, clipped to [0, 1]: as published; `epsilon` is **not** its loss.

    Input: two int64 vectors, of numerators and denominators. Its eq. 7 adds Laplace noise of scale λ = changes/ε to the
    numerators and divides by the exact denominators. Ratios alone are released. There is no guarantee: a bin without
    rows answers 0 for certain and one with a row does not, so that an answer other than 0 has an infinite loss. Of a
    bin with m rows the published lemma compares densities with denominators m and m + 1 without their Jacobians; the
    supremum of the loss there is ``m/((m + 1)λ) + ln((m + 1)/m)``, or 1/λ where that is more, as for small λ.

    References
    ----------
    Lacombe, Jetley and Sebag (EXPRIL), *EXtremely PRIvate supervised Learning*, 2021, Section 3.5.
    """

    epsilon: Fraction
    changes: int
    delta = Fraction(0)
    rho = None

    @property
    def sensitivity(self) -> float:
        """How far one row moves the numerators, in ℓ1."""
        return self.changes

    @property
    def scale(self) -> float:
        """λ."""
        return float(self.changes / self.epsilon)

    def distance(self, one: Any, other: Any) -> float:
        """Return the ℓ1 distance of the numerators, infinite where denominators differ: their change is not covered."""
        if not np.array_equal(one[1], other[1]):
            return inf
        return float(np.abs(other[0] - one[0]).sum())

    def build(self) -> Callable[[Any], list[float]]:
        """Return a function that adds OpenDP's Laplace noise, divides and clips."""
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l1_distance(T="f64")
        noisy = dp.m.make_laplace(*space, scale=self.scale)
        return lambda pair: _ratio(np.asarray(noisy(pair[0].astype(np.float64))), pair[1])

    def simulate(self, values: Any, rng: np.random.Generator) -> list[float]:
        """Draw with Laplace noise of the seeded generator."""
        return _ratio(values[0] + rng.laplace(scale=self.scale, size=len(values[0])), values[1])

    def __str__(self) -> str:
        return f"EXPRIL's clipped ratio as published, Laplace noise of scale {self.scale:.4g} on the numerator"


def _ratio(numerators: NDArray[np.float64], denominators: Integers) -> list[float]:
    shares = np.divide(numerators, denominators, out=np.zeros(len(numerators)), where=denominators > 0)
    return np.clip(shares, 0.0, 1.0).tolist()
