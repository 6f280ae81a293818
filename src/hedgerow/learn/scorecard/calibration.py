"""Calibration of scorecards: the map from totals to probabilities, fitted to released counts by total and class."""

import numpy as np

from hedgerow.boundary.arrays import Floats

# Edges of the buckets, in standard deviations of the totals of perfectly correlated attributes; finer in the middle.
EDGES = (-0.8, -0.5, -0.3, -0.16, -0.08, -0.03, 0.03, 0.08, 0.16, 0.3, 0.5, 0.8)
_LARGEST_FACTOR = 20.0
EXPECTED = 2 / 3  # the prior median of the factor: correlated attributes make totals overconfident
_FACTOR = 0.7  # the prior standard deviation of the factor's logarithm
_SHIFT, _LEAST_SHIFT = 0.1, 0.03  # prior standard deviation of the shift: a share of the largest total, and log-odds


def midpoints(spread: float) -> Floats:
    """Return the midpoint of each bucket; for the outermost buckets, a fifth of the spread beyond their edge."""
    edges = np.array(EDGES)
    return spread * np.concatenate([[edges[0] - 0.2], (edges[1:] + edges[:-1]) / 2, [edges[-1] + 0.2]])


def calibrated(
    log_odds: Floats,
    misses: Floats,
    hits: Floats,
    variance: float,
    *,
    shift: bool,
    start: float,
    expected: float = EXPECTED,
) -> tuple[float, float]:
    """Return the MAP estimates of the shift a and the factor b in ``P(hit) = expit(start + a + b·log_odds)``."""
    from scipy.optimize import minimize  # takes long to import
    from scipy.special import expit

    # The residual ``hits·(1 − p) − misses·p`` of each bucket has mean 0, and its variance is the sum of the variances
    # of rows and noise. Its Gaussian likelihood is maximised, with a prior for ``a`` around 0 and for ``b`` around
    # `expected`. The released class shares are much more accurate than this histogram, so the error of the start is
    # small compared with the spread of the totals.
    rows, shifts = np.maximum(misses + hits, 0), _SHIFT * float(np.abs(log_odds).max()) + _LEAST_SHIFT

    def loss(parameters: Floats) -> float:
        a, b = (parameters[1], np.exp(parameters[0])) if shift else (0.0, np.exp(parameters[0]))
        p = expit(start + a + b * log_odds)
        length = p**2 + (1 - p) ** 2  # squared length of the residual's direction, which depends on p
        spread = variance * length + rows * np.maximum(p * (1 - p), 0.02) + 1
        fit = ((hits * (1 - p) - misses * p) ** 2 / spread + np.log(spread / length)).sum()
        return float(fit + ((parameters[0] - np.log(expected)) / _FACTOR) ** 2 + (a / shifts) ** 2) / 2

    optimum = minimize(loss, np.zeros(1 + shift), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6})
    factor = float(np.clip(np.exp(optimum.x[0]), 1 / _LARGEST_FACTOR, _LARGEST_FACTOR))
    return (float(optimum.x[1]) if shift else 0.0), factor
