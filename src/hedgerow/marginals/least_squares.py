"""Least squares within bounds, for many unknowns and few equations: what both problems of EXPRIL are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Vector = NDArray[np.float64]


def bounded_least_squares(
    matrix: NDArray[np.float64], target: Vector, centre: Vector, ridge: float, low: float, high: float
) -> Vector:
    """Return the x in ``[low, high]ⁿ`` that minimises ``½‖Ax − b‖² + ½·ridge·‖x − centre‖²``.

    The unknowns are many (a row of the source each) and the equations few (a bin each), so the dual problem is solved,
    a concave one in as many variables as there are equations, by SciPy's Newton method with a line search:
    ``x(u) = clip(centre − Aᵀu / ridge)`` at the u where ``Ax(u) − b = u``.

    Parameters
    ----------
    matrix : ndarray of shape (n_equations, n)
        A. Dense: of the sizes that marginals have, products of sparse matrices take four times as long.
    target : ndarray of shape (n_equations,)
        b.
    centre : ndarray of shape (n,)
        Where the unknowns are drawn to.
    ridge : float
        How strongly, > 0. As it goes to 0, of all the solutions the one nearest to the centre is left.
    low, high : float
        The bounds; `high` may be infinite.

    Returns
    -------
    ndarray of shape (n,)
        The unique minimiser.

    Raises
    ------
    ValueError
        If the shapes do not agree, something is not finite, or `ridge` is not above 0.

    Examples
    --------
    >>> bounded_least_squares(np.array([[1.0, 1.0]]), np.array([3.0]), np.array([1.0, 0.0]), 1e-9, 0.0, 1.5).round(3)
    array([1.5, 1.5])
    """
    if matrix.shape != (len(target), len(centre)) or not ridge > 0:
        raise ValueError("expected a matrix of one row a target and one column an unknown, and a ridge > 0.")
    if not (np.isfinite(matrix).all() and np.isfinite(target).all() and np.isfinite(centre).all()):
        raise ValueError("expected finite numbers.")
    scale = np.linalg.norm(matrix) / np.sqrt(max(len(target), 1)) or 1.0  # makes the dual variables of order one
    rows, goal, pull = matrix / scale, target / scale, ridge / scale**2

    def unknowns(u: Vector) -> Vector:
        return np.clip(centre - rows.T @ u / pull, low, high)

    def dual(u: Vector) -> tuple[float, Vector]:
        x = unknowns(u)
        image = rows @ x
        value = pull / 2 * np.sum((x - centre) ** 2) + u @ (image - goal) - u @ u / 2
        return -float(value), goal + u - image

    def curvature(u: Vector) -> NDArray[np.float64]:
        x = unknowns(u)
        free = rows[:, (x > low) & (x < high)]
        return np.eye(len(goal)) + free @ free.T / pull

    start, precise = np.zeros(len(goal)), {"xtol": 1e-12, "maxiter": 10_000}
    solved = minimize(dual, start, jac=True, hess=curvature, method="Newton-CG", options=precise)
    return unknowns(solved.x)
