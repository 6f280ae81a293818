"""Weights of the source's rows under which its marginals are the target's (Pb. 1 of EXPRIL)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError, OverlapWarning
from hedgerow.marginals.least_squares import bounded_least_squares

ALPHA = 1e-3
"""Regularisation towards equal weights without noise."""
_FEW, _MUCH = 0.05, 0.05  # thresholds of the warning: effective share of the source, uncovered mass of the target
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the source's rows, and how well the weighted source covers the target."""

    values: Vector  # the weights; they sum to 1
    uncovered: float  # the share of the target's mass in bins without a row of the source, averaged over attributes
    # The mean distance of the weighted source's marginals from the target's, in total variation by attribute
    misfit: float

    @property
    def effective_sample_size(self) -> float:
        """Kish's effective sample size, ``(Σw)² / Σw²``."""
        return float(self.values.sum() ** 2 / np.sum(self.values**2))


def equal_weights(n_rows: int) -> Weights:
    """Return the weights of a source that has the target's distribution."""
    return Weights(np.full(n_rows, 1 / n_rows), 0.0, 0.0)


def reweight(
    matrix: NDArray[np.float64],
    masses: Vector,
    n_attributes: int,
    *,
    variance: float = 0.0,
    alpha: float = ALPHA,
) -> Weights:
    """Return the weights ``argmin ½‖Rw − p‖² + α‖w − 1/n‖²``, w ≥ 0 (EXPRIL eq. 2), scaled to sum to 1.

    With noise on p, α grows by half of the noise's variance times n.
    """
    n = matrix.shape[1]
    ridge = 2 * alpha + n * variance
    values = bounded_least_squares(matrix, masses, np.full(n, 1 / n), ridge, 0.0, np.inf)
    if not values.sum() > 0:
        raise ArgumentError(
            "Expected a source that overlaps the target, got one without rows in any bin of the target's mass."
        )
    values = values / values.sum()
    covered = matrix.any(axis=1)
    total = max(float(masses.sum()), np.finfo(float).tiny)
    found = Weights(
        values,
        uncovered=float(masses[~covered].sum()) / total,
        misfit=float(np.abs(matrix @ values - masses * n_attributes / total).sum()) / 2 / n_attributes,
    )
    _warn(found, float(np.sqrt(variance)) * int((~covered).sum()) / n_attributes)
    return found


def _warn(found: Weights, noise: float) -> None:
    """Warn if the overlap assumption is violated by more than the noise explains."""
    problems: list[str] = []
    if found.effective_sample_size < _FEW * len(found.values):
        problems.append(
            f"the effective sample size is {found.effective_sample_size:.0f} of {len(found.values)} source rows"
        )
    if found.uncovered > _MUCH + noise:
        problems.append(f"{100 * found.uncovered:.0f} % of the target is in bins without source rows")
    if problems:
        warnings.warn(
            f"source and target hardly overlap: {'; '.join(problems)}. What is learned may not hold for the target.",
            OverlapWarning,
            stacklevel=3,
        )
