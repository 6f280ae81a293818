"""Bounded least squares with many unknowns and few equations, as in both problems of EXPRIL."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from hedgerow.errors import ArgumentError

Vector = NDArray[np.float64]


def bounded_least_squares(
    matrix: NDArray[np.float64], target: Vector, centre: Vector, ridge: float, low: float, high: float
) -> Vector:
    """Return the x in ``[low, high]ⁿ`` that minimises ``½‖Ax − b‖² + ½·ridge·‖x − centre‖²``.

    The unknowns are many (a row of the source each) and the equations few (a bin each), so the dual problem is solved,
    a concave one in as many variables as there are equations, by SciPy's Newton method with a line search:
    ``x(u) = clip(centre − Aᵀu / ridge)`` at the u where ``Ax(u) − b = u``.

    Examples
    --------
    >>> bounded_least_squares(np.array([[1.0, 1.0]]), np.array([3.0]), np.array([1.0, 0.0]), 1e-9, 0.0, 1.5).round(3)
    array([1.5, 1.5])
    """
    if matrix.shape != (len(target), len(centre)) or not ridge > 0:
        raise ArgumentError("expected a matrix of shape (n_targets, n_unknowns) and a ridge > 0.")
    if not (np.isfinite(matrix).all() and np.isfinite(target).all() and np.isfinite(centre).all()):
        raise ArgumentError("expected finite numbers.")
    scale = np.linalg.norm(matrix) / np.sqrt(max(len(target), 1)) or 1.0  # makes the dual variables of order one
    rows, goal, pull = matrix / scale, target / scale, ridge / scale**2

    def unknowns(u: Vector) -> Vector:
        return np.clip(centre - rows.T @ u / pull, low, high)

    def dual(u: Vector) -> tuple[float, Vector]:
        x = unknowns(u)
        image = rows @ x
        value = pull / 2 * np.sum((x - centre) ** 2) + u @ (image - goal) - u @ u / 2
        return -float(value), goal + u - image

    gram = _Gram(rows)

    def curvature(u: Vector) -> NDArray[np.float64]:
        x = unknowns(u)
        return np.eye(len(goal)) + gram.of((x > low) & (x < high)) / pull

    start, precise = np.zeros(len(goal)), {"xtol": 1e-12, "maxiter": 10_000}
    solved = minimize(dual, start, jac=True, hess=curvature, method="Newton-CG", options=precise)
    return unknowns(solved.x)


class _Gram:
    """``B Bᵀ`` of the columns B that are free: few change from one Newton step to the next, only they are multiplied."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self._columns = np.ascontiguousarray(rows.T)
        self._free = np.zeros(len(self._columns), dtype=bool)
        self._gram = np.zeros((len(rows), len(rows)))

    def of(self, free: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the matrix, shape ``(n_equations, n_equations)``."""
        more, fewer = free & ~self._free, self._free & ~free
        if np.count_nonzero(more | fewer) < np.count_nonzero(free):
            self._gram = self._gram + self._product(more) - self._product(fewer)
        else:
            self._gram = self._product(free)
        self._free = free
        return self._gram

    def _product(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        part = self._columns[chosen]
        return part.T @ part
