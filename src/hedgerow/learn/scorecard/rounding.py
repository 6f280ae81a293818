"""Whole points of log-odds that are known exactly: rounded one after the other, for several sizes of a point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
LEAST_UNIT = 0.005
_UNITS = np.geomspace(0.5, 2, 17)
"""Sizes of a point that are tried, of that with which the largest log-odds get the most points."""


def units(values: Floats, most: int) -> Floats:
    """Return the log-odds of one point to try; points of the smaller ones are cut off at `most`.

    Examples
    --------
    >>> units(np.array([-2.0, 1.0]), 20)[[0, 8, 16]].tolist()
    [0.05, 0.1, 0.2]
    """
    largest = np.abs(values).max(initial=0.0) / most
    return np.unique(np.maximum(largest * _UNITS, LEAST_UNIT))


def one_by_one(values: Floats, form: Floats, limits: Floats, rising: Sequence[NDArray[np.intp]] = ()) -> Whole:
    """Round numbers down or up, one after the other, so that the quadratic form of what is rounded off stays small.

    Each time that number and that direction are taken that leave the form least, given those before: what one number
    is rounded off by, later ones make up for. Numbers along which values rise stay in order.

    References
    ----------
    Liu, Zhong, Li, Seltzer and Rudin, *FasterRisk: Fast and Accurate Interpretable Risk Scores*, NeurIPS 2022, Section
    3.3, whose bound of the loss has a weight for each row in the place of this form.

    Examples
    --------
    >>> one_by_one(np.array([0.4, 0.4]), np.array([[2.0, 1.9], [1.9, 2.0]]), np.array([9, 9])).tolist()
    [0, 1]
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
