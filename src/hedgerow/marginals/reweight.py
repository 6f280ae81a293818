"""Pb. 1 of EXPRIL: weights of the source's rows, under which its marginals are those of the target."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError, OverlapWarning
from hedgerow.marginals.least_squares import bounded_least_squares

ALPHA = 1e-3
"""How strongly weights are drawn to equal ones where there is no noise."""
_FEW, _MUCH = 0.05, 0.05  # effective share of the source, uncovered mass of the target, that make a warning
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the source's rows, and how well they can stand for the target.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        The weights; they sum to 1.
    uncovered : float
        The share of the target's mass that lies in bins without any row of the source, averaged over attributes.
    misfit : float
        The mean distance of the weighted source's marginals from the target's, in total variation by attribute.
    """

    values: Vector
    uncovered: float
    misfit: float

    @property
    def effective_sample_size(self) -> float:
        """Kish's: the number of equally weighted rows that would say as much, ``(Σw)² / Σw²``."""
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

    Noise on p is worth no weight of its own: with it, α grows by half of the noise's variance times n.

    Parameters
    ----------
    matrix : ndarray of shape (n_bins, n_rows)
        R: which row of the source is in which bin.
    masses : ndarray of shape (n_bins,)
        p: the share of the target in each bin.
    n_attributes : int
        How many attributes the bins are of.
    variance : float, default=0
        The variance of the noise on a mass.
    alpha : float, default=0.001
        α without noise.

    Warns
    -----
    OverlapWarning
        If little of the source, or not all of the target, is left in common.

    Raises
    ------
    ValueError
        If no mass is where the source has rows.
    """
    n = matrix.shape[1]
    ridge = 2 * alpha + n * variance
    values = bounded_least_squares(matrix, masses, np.full(n, 1 / n), ridge, 0.0, np.inf)
    if not values.sum() > 0:
        raise ArgumentError("no mass of the target is where the source has rows; the two do not overlap.")
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
    """Warn where the overlap assumption looks broken, and not by noise alone."""
    problems: list[str] = []
    if found.effective_sample_size < _FEW * len(found.values):
        problems.append(
            f"the weights are those of {found.effective_sample_size:.0f} of {len(found.values)} source rows"
        )
    if found.uncovered > _MUCH + noise:
        problems.append(f"{100 * found.uncovered:.0f} % of the target is where the source has no rows")
    if problems:
        warnings.warn(
            f"source and target hardly overlap: {'; '.join(problems)}. What is learned may not hold for the target.",
            OverlapWarning,
            stacklevel=3,
        )
