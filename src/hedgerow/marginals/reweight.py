"""Weights of the source rows that match its marginals to the target's (Pb. 1 of EXPRIL)."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from scipy.optimize import minimize

from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.errors import ArgumentError

ALPHA = 1e-3  # regularisation towards equal weights without noise
LEAST_MEAN = 0.02
"""The least distance of the initial mean of a number from its bounds, as a share of its range."""
LEAST_NOISE = 1e-6
"""Noise added to sums, as a share of their variance, because exact sums of several attributes are dependent."""
_LEAST_EFFECTIVE, _MOST_UNCOVERED = 0.05, 0.05  # thresholds of the warning, as shares of the source and of the target


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the source rows, with measures of the overlap of source and target."""

    values: Floats  # the weights, which sum to 1
    uncovered: float  # the share of the target in bins without source rows, averaged over attributes
    # The mean total variation distance between the marginals of the weighted source and the target
    misfit: float
    noise: float = 0.0  # the standard deviation of `uncovered` due to the noise of the answers

    @property
    def problem(self) -> str | None:
        """A sentence if source and target overlap less than noise explains; otherwise None."""
        problems: list[str] = []
        if self.effective_sample_size < _LEAST_EFFECTIVE * len(self.values):
            size, rows = f"{self.effective_sample_size:.0f}", len(self.values)
            problems.append(f"the effective sample size is {size} of {rows} source rows")
        if self.uncovered > _MOST_UNCOVERED + self.noise:
            problems.append(f"{100 * self.uncovered:.0f} % of the target is in bins without source rows")
        if not problems:
            return None
        return f"source and target hardly overlap: {'; '.join(problems)}. The model may not be valid for the target."

    @property
    def effective_sample_size(self) -> float:
        """Kish's effective sample size, ``(Σw)² / Σw²``."""
        return float(self.values.sum() ** 2 / np.sum(self.values**2))


def equal_weights(n_rows: int) -> Weights:
    """Return the weights of a source with the same distribution as the target."""
    return Weights(np.full(n_rows, 1 / n_rows), 0.0, 0.0)


def log_evidence(sums: Floats, covariance: Floats) -> float:
    """Return the logarithm of the normal density of sums of mean 0 with this covariance, up to a constant."""
    factor, _ = cho_factor(covariance, lower=True)
    scaled = solve_triangular(factor, sums, lower=True)
    return -0.5 * float(scaled @ scaled) - float(np.log(np.diag(factor)).sum())


def sampling_covariance(matrix: Floats, rows: Floats, deviations: Floats) -> Floats:
    """Return the covariance of sums of deviations by bin that is due to sampling the source instead of the target."""
    sums, square = matrix @ (rows * deviations), (matrix * (rows * deviations**2)) @ matrix.T
    return (1 + rows @ rows / rows.sum()) * (square - np.outer(sums, sums) / rows.sum())


def reweight(
    matrix: Floats, masses: Floats, n_attributes: int, *, variance: Floats | float = 0.0, alpha: float = ALPHA
) -> Weights:
    """Return the weights ``argmin ½‖Rw − p‖² + α‖w − 1/n‖²``, w ≥ 0 (EXPRIL eq. 2), scaled to sum to 1.

    With noise on p, bins are weighted by the inverse of their variance, relative to the least variance, and α grows by
    half the least variance times n.
    """
    n = matrix.shape[1]
    least, scales = inverse_weights(np.broadcast_to(variance, len(masses)))
    ridge = 2 * alpha + n * least
    centre = np.full(n, 1 / n)
    values = bounded_least_squares(scales[:, None] * matrix, scales * masses, centre, ridge, 0.0, np.inf)
    if not values.sum() > 0:
        problem = "the source does not overlap the target: no source row is in a bin with target rows"
        raise ArgumentError(f"{problem}. Use a more similar source.")
    values = values / values.sum()
    covered = matrix.any(axis=1)
    total = max(float(masses.sum()), np.finfo(float).tiny)
    uncovered = float(masses[~covered].sum()) / total
    misfit = float(np.abs(matrix @ values - masses * n_attributes / total).sum()) / 2 / n_attributes
    noise = np.sqrt(np.broadcast_to(variance, len(masses)))[~covered]
    return Weights(values, uncovered, misfit, float(noise.sum()) / n_attributes)


def inverse_weights(variances: Floats) -> tuple[float, Floats]:
    """Return the least positive variance, or 0 if there is none, and factors that scale all noise to this variance."""
    noisy = variances > 0
    least = float(variances[noisy].min()) if noisy.any() else 0.0
    return least, np.sqrt(np.divide(least, variances, out=np.ones(len(variances)), where=noisy))


def bounded_least_squares(
    matrix: Floats, target: Floats, centre: Floats, ridge: float, low: float, high: float
) -> Floats:
    """Return the x in ``[low, high]ⁿ`` that minimises ``½‖Ax − b‖² + ½·ridge·‖x − centre‖²``.

    There are many unknowns (source rows) and few equations (bins). SciPy's Newton method with a line search therefore
    solves the concave dual problem. The result is ``x(u) = clip(centre − Aᵀu / ridge)`` for the u with ``Ax(u) − b =
    u``.
    """
    if matrix.shape != (len(target), len(centre)) or not ridge > 0:
        raise ArgumentError("expected a matrix of shape (n_targets, n_unknowns) and a ridge > 0.")
    if not (np.isfinite(matrix).all() and np.isfinite(target).all() and np.isfinite(centre).all()):
        raise ArgumentError("expected finite numbers.")
    scale = np.linalg.norm(matrix) / np.sqrt(max(len(target), 1)) or 1.0  # gives dual variables of order 1
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

    start, options = np.zeros(len(goal)), {"xtol": 1e-12, "maxiter": 10_000}
    solution = minimize(dual, start, jac=True, hess=curvature, method="Newton-CG", options=options)
    return unknowns(solution.x)


class _Gram:
    """The product ``B Bᵀ`` of the free columns B, updated for the columns that a Newton step changes."""

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
