"""Points of a scorecard: log-odds rounded to whole numbers of a unit."""

from collections.abc import Callable, Sequence

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.learn.scorecard.smoothing import Part

_LEAST_UNIT = 0.005
_SIZES = 64  # numbers of points that are tried, up to the most
_UNITS = np.geomspace(0.5, 2, 17)
"""Sizes of a point that are tried, of that with which the largest log-odds get the most points."""


def rounded(parts: Sequence[Part], points: int) -> tuple[dict[int, Integers], float]:
    """Return whole points by attribute, the largest of which is `points` in size, and the log-odds of one point."""
    # A point is at least 0.005 log-odds, so that where nothing was learned all points are 0.
    largest = max((float(np.abs(part.values).max()) for part in parts), default=0.0)
    unit = max(largest / points, _LEAST_UNIT)
    return to_points(parts, unit), unit


def coarsest(parts: Sequence[Part], points: int, loss: Callable[[float], float], allowance: float) -> float:
    """Return the largest value of a point at which rounding is expected to cost at most this loss.

    The largest points are then as small as they can be: at most `points`, whatever that costs.
    """
    largest = max((float(np.abs(part.values).max()) for part in parts), default=0.0)
    sizes = np.maximum(largest / np.unique(np.rint(np.geomspace(1, points, _SIZES))), _LEAST_UNIT)
    return float(next((unit for unit in sizes if loss(unit) <= allowance), sizes[-1]))


def rounding_loss(parts: Sequence[Part], weights: Sequence[Floats], unit: float) -> float:
    """Return the expected loss by rounding values to multiples of a unit, and by rounding what every row starts with.

    `weights` are how fast the slope of the loss grows with each value; that of the start, with the sum over the bins.
    """
    values = np.concatenate([part.values.ravel() for part in parts])
    off = values - unit * np.rint(values / unit)
    start = np.mean([weight.sum() for weight in weights]) * unit**2 / 12
    return float(np.concatenate([weight.ravel() for weight in weights]) @ off**2 + start) / 2


def to_points(parts: Sequence[Part], unit: float) -> dict[int, Integers]:
    return {part.attribute: np.rint(part.values / unit).astype(np.int64) for part in parts}


def units(values: Floats, most: int) -> Floats:
    """Return the log-odds of one point to try; points of the smaller ones are cut off at `most`."""
    largest = np.abs(values).max(initial=0.0) / most
    return np.unique(np.maximum(largest * _UNITS, _LEAST_UNIT))


def one_by_one(values: Floats, form: Floats, limits: Floats, rising: Sequence[Index] = ()) -> Integers:
    """Round numbers down or up, one after the other, so that the quadratic form of what is rounded off stays small.

    Each time that number and that direction are taken that leave the form least, given those before: what one number is
    rounded off by, later ones make up for. Numbers along which values rise stay in order (Liu, Zhong, Li, Seltzer and
    Rudin, *FasterRisk*, NeurIPS 2022, Section 3.3, with this form in the place of a weight for each row).
    """
    low, high = (np.clip(end(values), -limits, limits) for end in (np.floor, np.ceil))
    found, left, size = low.copy(), np.ones(len(values), dtype=bool), np.diag(form)
    slopes = np.zeros(len(values))
    for _ in values:
        off = np.stack([low, high]) - values
        raised = np.where(left, off * (2 * slopes + off * size), np.inf)
        up, place = np.unravel_index(raised.argmin(), raised.shape)
        found[place], left[place] = (low, high)[up][place], False
        slopes += form[:, place] * off[up, place]
        for places in rising:
            (here,) = np.nonzero(places == place)
            for k in here:
                low[places[k + 1 :]] = np.maximum(low[places[k + 1 :]], found[place])
                high[places[:k]] = np.minimum(high[places[:k]], found[place])
    return found.astype(np.int64)
