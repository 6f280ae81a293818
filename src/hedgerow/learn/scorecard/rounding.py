"""Points of a scorecard: log-odds rounded to multiples of a unit."""

from collections.abc import Callable, Sequence

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.learn.scorecard.smoothing import Part

_LEAST_UNIT = 0.005
_SIZES = 64  # numbers of points that are tried
_UNITS = np.geomspace(0.5, 2, 17)
"""Sizes of a point that are tried, relative to the size that gives the largest log-odds the maximum of points."""


def rounded(parts: Sequence[Part], points: int) -> tuple[dict[int, Integers], float]:
    """Return integer points by attribute, at most `points` in size, and the log-odds of a point."""
    # A point is at least 0.005 log-odds, so that all points are 0 if the log-odds are negligible.
    largest = max((float(np.abs(part.values).max()) for part in parts), default=0.0)
    unit = max(largest / points, _LEAST_UNIT)
    return to_points(parts, unit), unit


def coarsest(parts: Sequence[Part], points: int, loss: Callable[[float], float], allowance: float) -> float:
    """Return the largest value of a point for which the expected loss of rounding is within the allowance.

    No point is larger than `points`, even if the loss then exceeds the allowance.
    """
    largest = max((float(np.abs(part.values).max()) for part in parts), default=0.0)
    sizes = np.maximum(largest / np.unique(np.rint(np.geomspace(1, points, _SIZES))), _LEAST_UNIT)
    return float(next((unit for unit in sizes if loss(unit) <= allowance), sizes[-1]))


def rounding_loss(parts: Sequence[Part], weights: Sequence[Floats], unit: float) -> float:
    """Return the expected loss of rounding values and the base to multiples of a unit.

    `weights` are second derivatives of the loss by each value; the second derivative by the base is their sum.
    """
    values = np.concatenate([part.values.ravel() for part in parts])
    errors = values - unit * np.rint(values / unit)
    base = np.mean([weight.sum() for weight in weights]) * unit**2 / 12
    return float(np.concatenate([weight.ravel() for weight in weights]) @ errors**2 + base) / 2


def to_points(parts: Sequence[Part], unit: float) -> dict[int, Integers]:
    return {part.attribute: np.rint(part.values / unit).astype(np.int64) for part in parts}


def units(values: Floats, most: int) -> Floats:
    """Return the sizes of a point to try; points of the smaller sizes are clipped at `most`."""
    largest = np.abs(values).max(initial=0.0) / most
    return np.unique(np.maximum(largest * _UNITS, _LEAST_UNIT))


def one_by_one(values: Floats, form: Floats, limits: Floats, rising: Sequence[Index] = ()) -> Integers:
    """Round numbers down or up one by one, so that the quadratic form of the rounding errors stays small.

    Each step rounds the number and direction with the smallest form, given earlier steps, so later numbers compensate
    for earlier errors. Numbers in `rising` places stay in order (Liu, Zhong, Li, Seltzer and Rudin,
    *FasterRisk*, NeurIPS 2022, Section 3.3, with this form instead of a weight for each row).
    """
    low, high = (np.clip(end(values), -limits, limits) for end in (np.floor, np.ceil))
    rounded_values, remaining, size = low.copy(), np.ones(len(values), dtype=bool), np.diag(form)
    slopes = np.zeros(len(values))
    for _ in values:
        errors = np.stack([low, high]) - values
        increases = np.where(remaining, errors * (2 * slopes + errors * size), np.inf)
        up, place = np.unravel_index(increases.argmin(), increases.shape)
        rounded_values[place], remaining[place] = (low, high)[up][place], False
        slopes += form[:, place] * errors[up, place]
        for places in rising:
            (here,) = np.nonzero(places == place)
            for k in here:
                low[places[k + 1 :]] = np.maximum(low[places[k + 1 :]], rounded_values[place])
                high[places[:k]] = np.minimum(high[places[:k]], rounded_values[place])
    return rounded_values.astype(np.int64)
