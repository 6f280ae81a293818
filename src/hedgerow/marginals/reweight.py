"""Weights of the source's rows under which its marginals are the target's (Pb. 1 of EXPRIL)."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from scipy.optimize import minimize

from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.errors import ArgumentError

ALPHA = 1e-3  # regularisation towards equal weights without noise
LEAST_MEAN = 0.02
"""The least mean of a number that an estimate starts from, in shares of its range above one bound, below the other."""
LEAST_NOISE = 1e-6
"""Noise that is added to exact sums, in shares of their own variance: those of several attributes are dependent."""
_FEW, _MUCH = 0.05, 0.05  # thresholds of the warning: effective share of the source, uncovered mass of the target


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the source's rows, and how well the weighted source covers the target."""

    values: Floats  # the weights; they sum to 1
    uncovered: float  # the share of the target's mass in bins without a row of the source, averaged over attributes
    # The mean distance of the weighted source's marginals from the target's, in total variation by attribute
    misfit: float
    noise: float = 0.0  # the standard deviation of `uncovered` by the noise of the answers

    @property
    def problem(self) -> str | None:
        """How source and target fail to overlap by more than the noise explains, in a sentence, or None."""
        problems: list[str] = []
        if self.effective_sample_size < _FEW * len(self.values):
            size, rows = f"{self.effective_sample_size:.0f}", len(self.values)
            problems.append(f"the effective sample size is {size} of {rows} source rows")
        if self.uncovered > _MUCH + self.noise:
            problems.append(f"{100 * self.uncovered:.0f} % of the target is in bins without source rows")
        what = f"source and target hardly overlap: {'; '.join(problems)}. What is learned may not hold for the target."
        return what if problems else None

    @property
    def effective_sample_size(self) -> float:
        """Kish's effective sample size, ``(Σw)² / Σw²``."""
        return float(self.values.sum() ** 2 / np.sum(self.values**2))


def equal_weights(n_rows: int) -> Weights:
    """Return the weights of a source that has the target's distribution."""
    return Weights(np.full(n_rows, 1 / n_rows), 0.0, 0.0)


def log_evidence(found: Floats, covariance: Floats) -> float:
    """Return the logarithm of the density of sums of mean 0 with this covariance, up to a constant."""
    factor, _ = cho_factor(covariance, lower=True)
    scaled = solve_triangular(factor, found, lower=True)
    return -0.5 * float(scaled @ scaled) - float(np.log(np.diag(factor)).sum())


def by_sampling(matrix: Floats, rows: Floats, away: Floats) -> Floats:
    """Return the covariance of sums of `away` by bin by the source, whose rows are others than the target's."""
    sums, square = matrix @ (rows * away), (matrix * (rows * away**2)) @ matrix.T
    return (1 + rows @ rows / rows.sum()) * (square - np.outer(sums, sums) / rows.sum())


def reweight(
    matrix: Floats, masses: Floats, n_attributes: int, *, variance: Floats | float = 0.0, alpha: float = ALPHA
) -> Weights:
    """Return the weights ``argmin ½‖Rw − p‖² + α‖w − 1/n‖²``, w ≥ 0 (EXPRIL eq. 2), scaled to sum to 1.

    With noise on p, bins are weighted by the inverse of its variance, the least of which has a weight of 1, and α grows
    by half of that variance times n.
    """
    n = matrix.shape[1]
    least, scales = inverse_weights(np.broadcast_to(variance, len(masses)))
    ridge = 2 * alpha + n * least
    centre = np.full(n, 1 / n)
    values = bounded_least_squares(scales[:, None] * matrix, scales * masses, centre, ridge, 0.0, np.inf)
    if not values.sum() > 0:
        problem = "Expected a source that overlaps the target"
        raise ArgumentError(f"{problem}, got one without rows in any bin of the target's mass.")
    values = values / values.sum()
    covered = matrix.any(axis=1)
    total = max(float(masses.sum()), np.finfo(float).tiny)
    uncovered = float(masses[~covered].sum()) / total
    misfit = float(np.abs(matrix @ values - masses * n_attributes / total).sum()) / 2 / n_attributes
    noise = np.sqrt(np.broadcast_to(variance, len(masses)))[~covered]
    return Weights(values, uncovered, misfit, float(noise.sum()) / n_attributes)


def inverse_weights(variances: Floats) -> tuple[float, Floats]:
    """Return the least variance, 0 if all are, and the factors that give each equation noise of this variance."""
    noisy = variances > 0
    least = float(variances[noisy].min()) if noisy.any() else 0.0
    return least, np.sqrt(np.divide(least, variances, out=np.ones(len(variances)), where=noisy))


def bounded_least_squares(
    matrix: Floats, target: Floats, centre: Floats, ridge: float, low: float, high: float
) -> Floats:
    """Return the x in ``[low, high]ⁿ`` that minimises ``½‖Ax − b‖² + ½·ridge·‖x − centre‖²``.

    The unknowns are many (rows of the source) and the equations few (bins), so the concave dual problem is solved by
    SciPy's Newton method with a line search: ``x(u) = clip(centre − Aᵀu / ridge)`` at the u where ``Ax(u) − b = u``.
    """
    if matrix.shape != (len(target), len(centre)) or not ridge > 0:
        raise ArgumentError("expected a matrix of shape (n_targets, n_unknowns) and a ridge > 0.")
    if not (np.isfinite(matrix).all() and np.isfinite(target).all() and np.isfinite(centre).all()):
        raise ArgumentError("expected finite numbers.")
    scale = np.linalg.norm(matrix) / np.sqrt(max(len(target), 1)) or 1.0  # makes the dual variables of order one
    rows, goal, pull = matrix / scale, target / scale, ridge / scale**2

    def unknowns(u: Floats) -> Floats:
        return np.clip(centre - rows.T @ u / pull, low, high)

    def dual(u: Floats) -> tuple[float, Floats]:
        x = unknowns(u)
        image = rows @ x
        value = pull / 2 * np.sum((x - centre) ** 2) + u @ (image - goal) - u @ u / 2
        return -float(value), goal + u - image

    gram = _Gram(rows)

    def curvature(u: Floats) -> Floats:
        x = unknowns(u)
        return np.eye(len(goal)) + gram.of((x > low) & (x < high)) / pull

    start, precise = np.zeros(len(goal)), {"xtol": 1e-12, "maxiter": 10_000}
    solved = minimize(dual, start, jac=True, hess=curvature, method="Newton-CG", options=precise)
    return unknowns(solved.x)


class _Gram:
    """``B Bᵀ`` of the columns B that are free: only those that a Newton step changes are multiplied."""

    def __init__(self, rows: Floats) -> None:
        self._columns = np.ascontiguousarray(rows.T)
        self._free = np.zeros(len(self._columns), dtype=bool)
        self._gram = np.zeros((len(rows), len(rows)))

    def of(self, free: Mask) -> Floats:
        more, fewer = free & ~self._free, self._free & ~free
        if np.count_nonzero(more | fewer) < np.count_nonzero(free):
            self._gram = self._gram + self._product(more) - self._product(fewer)
        else:
            self._gram = self._product(free)
        self._free = free
        return self._gram

    def _product(self, chosen: Mask) -> Floats:
        part = self._columns[chosen]
        return part.T @ part
