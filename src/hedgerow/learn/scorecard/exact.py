"""A scorecard by logistic regression, rounded to whole points of which little is lost; not private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from hedgerow.learn.learned import LearnedScorecard
from hedgerow.learn.scorecard.points import Direction, Part
from hedgerow.learn.scorecard.regression import Fitted, Regression, chances_of, log_loss
from hedgerow.models.points import MOST_POINTS

Floats = NDArray[np.float64]


def centred(fitted: Fitted, regression: Regression, monotone: Mapping[str, Direction]) -> Fitted:
    """Return log-odds by bin that are 0 on average over the rows, monotone where they shall be."""
    base, values, schema = fitted.base, dict[int, Floats](), regression.schema
    rows = regression.counts.sum(axis=1)
    for i, each in fitted.values.items():
        name, attribute = schema.attributes[i]
        in_bins = np.bincount(regression.bins[:, i], rows, attribute.n_bins).astype(np.float64)
        part = Part(i, each.copy(), [], in_bins)
        if name in monotone:
            part.make_monotone(monotone[name], attribute.n_known)
        base = base + part.centred()
        values[i] = part.values
    return Fitted(base, values)


def rounded_card(
    fitted: Fitted, regression: Regression, points: int, monotone: Mapping[str, Direction]
) -> LearnedScorecard:
    """Return the scorecard of whole points whose log-loss is the least of those for several sizes of a point."""
    # For each, the points of a column and its base are rounded one after the other, by the second derivative of the
    # log-loss where nothing is rounded yet.
    sizes = [len(each) for each in fitted.values.values()]
    values = np.vstack([fitted.base[None], *fitted.values.values()])
    limits = np.array([MOST_POINTS] + [points] * sum(sizes))
    forms, rising = _forms(fitted, regression), _rising(fitted, regression, monotone)
    best, least = LearnedScorecard({}, fitted.base, 1.0, None), np.inf
    for unit in units(values[1:], points):
        columns = [one_by_one(v / unit, form, limits, rising) for v, form in zip(values.T, forms, strict=True)]
        base, *parts = np.split(np.column_stack(columns), np.cumsum([1, *sizes])[:-1])
        whole = dict(zip(fitted.values, parts, strict=True))
        odds = Fitted(base[0] * unit, {i: each * unit for i, each in whole.items()}).log_odds(regression.bins)
        loss = log_loss(odds, regression.counts)
        if loss < least:
            best, least = LearnedScorecard(whole, base[0], float(unit), None), loss
    return best


def _forms(fitted: Fitted, regression: Regression) -> list[Floats]:
    """Return for each column the second derivative of the log-loss by base and bins, with a quarter for each bin."""
    n, rows = len(regression.bins), regression.counts.sum(axis=1)
    ones = [csr_array(np.ones((n, 1)))]
    for i, each in fitted.values.items():
        shape = (n, len(each))
        ones.append(csr_array((np.ones(n), (np.arange(n), regression.bins[:, i].astype(np.intp))), shape=shape))
    X, n_columns = csr_array(hstack(ones)), 1 + sum(map(len, fitted.values.values()))
    chances = chances_of(fitted.log_odds(regression.bins))
    weights = rows[:, None] * chances * (1 - chances)
    return [(X.T @ (X * each[:, None])).toarray() + np.eye(n_columns) / 4 for each in weights.T]


def _rising(fitted: Fitted, regression: Regression, monotone: Mapping[str, Direction]) -> Sequence[NDArray[np.intp]]:
    """Return the places, the base being the first, along which points may only rise."""
    found: list[NDArray[np.intp]] = []
    start = 1
    for i, each in fitted.values.items():
        name, attribute = regression.schema.attributes[i]
        if name in monotone:
            places = np.arange(start, start + attribute.n_known)
            found.append(places if monotone[name] == "increasing" else places[::-1])
        start += len(each)
    return found


Whole = NDArray[np.int64]
LEAST_UNIT = 0.005
_UNITS = np.geomspace(0.5, 2, 17)
"""Sizes of a point that are tried, of that with which the largest log-odds get the most points."""


def units(values: Floats, most: int) -> Floats:
    """Return the log-odds of one point to try; points of the smaller ones are cut off at `most`."""
    largest = np.abs(values).max(initial=0.0) / most
    return np.unique(np.maximum(largest * _UNITS, LEAST_UNIT))


def one_by_one(values: Floats, form: Floats, limits: Floats, rising: Sequence[NDArray[np.intp]] = ()) -> Whole:
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
