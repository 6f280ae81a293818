"""Labels of the source's rows under which hypotheses err as on the target (Pb. 2 of EXPRIL)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.marginals.least_squares import bounded_least_squares

Vector = NDArray[np.float64]
_NEAREST = 1e-3  # of the mean square of an equation: a ridge that selects the solution nearest to ½


@dataclass(frozen=True, eq=False)
class Equations:
    """Linear equations on the labels from one answer: ``R diag(sign(h − ½)) y ≈ R h − e`` (EXPRIL eq. 5), R weighted."""

    matrix: NDArray[np.float64]  # the left-hand side
    target: Vector  # the right-hand side
    variance: float  # the variance of its noise

    @classmethod
    def of(
        cls, bins: NDArray[np.float64], weights: Vector, hypothesis: Vector, errors: Vector, variance: float
    ) -> Equations:
        """Return the equations of the error masses of a hypothesis."""
        weighted = bins * weights
        return cls(weighted * np.sign(hypothesis - 0.5), weighted @ hypothesis - errors, variance)


def estimate_labels(equations: Sequence[Equations]) -> Vector:
    """Return the labels in [0, 1] that fit best: one answer's (instantaneous) or all stacked (cumulative, eq. 6).

    Equations are weighted by the inverse of their noise's variance. The system is underdetermined: of the
    labels that fit equally, those nearest to ½ are taken, and more noise pulls nearer to ½.

    Examples
    --------
    Two bins of two rows each; all of the first bin is 1, half of the second:

    >>> bins = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    >>> equations = Equations.of(bins, np.full(4, 0.25), np.ones(4), np.array([0, 0.25]), 0.0)
    >>> estimate_labels([equations]).round(2)
    array([1. , 1. , 0.5, 0.5])
    """
    n = equations[0].matrix.shape[1]
    least = min((one.variance for one in equations if one.variance > 0), default=0.0)
    scales = [np.sqrt(least / one.variance) if one.variance > 0 else 1.0 for one in equations]
    matrix = np.vstack([scale * one.matrix for scale, one in zip(scales, equations, strict=True)])
    target = np.concatenate([scale * one.target for scale, one in zip(scales, equations, strict=True)])
    ridge = _NEAREST * max(float(np.mean(np.sum(matrix**2, axis=1))), np.finfo(float).tiny) + 4 * least / n
    return bounded_least_squares(matrix, target, np.full(n, 0.5), ridge, 0.0, 1.0)
