"""Importance of attributes, computed from points and released counts alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.models.points import AttributePoints


@dataclass(frozen=True)
class Division:
    """A division of neighbouring leaves into two groups by a test of one or more attributes.

    The leaves ``first`` to ``middle - 1`` satisfy the test; the leaves ``middle`` to ``stop - 1`` do not.
    """

    attributes: tuple[str, ...]
    first: int
    middle: int
    stop: int


def point_importances(parts: Sequence[AttributePoints]) -> dict[str, float]:
    """Return the mean absolute contribution of each attribute to a total, as shares that add up to 1.

    Contributions are differences from the mean of the attribute. For several classes, the differences between the
    points of a bin and their mean over the classes are added up. If rows by bin were released for all attributes, bins
    are weighted by them, with negative numbers set to 0. Otherwise the importance is the range of the points.
    """
    has_rows = all(part.rows is not None and max(part.rows) > 0 for part in parts)
    return _shares({part.attribute: _mean_contribution(part) if has_rows else _spread(part) for part in parts})


def _contributions(part: AttributePoints) -> Floats:
    points = np.array(part.points, dtype=np.float64)
    return points if points.shape[1] == 1 else points - points.mean(axis=1, keepdims=True)


def _mean_contribution(part: AttributePoints) -> float:
    rows, points = np.maximum(part.rows or 0, 0).astype(np.float64), _contributions(part)
    shares = rows / rows.sum()
    return float(shares @ abs(points - shares @ points).sum(axis=1))


def _spread(part: AttributePoints) -> float:
    return float(np.ptp(_contributions(part), axis=0).sum())


def leaf_importances(release: LeafRelease, divisions: Iterable[Division]) -> dict[str, float]:
    """Return the reduction of the impurity by the tests of each attribute, as shares that add up to 1.

    The impurity is the Gini impurity for classes and the variance for numbers, weighted by rows. It is computed from
    the released counts or sums, with negative values set to 0. If leaves have class probabilities, their rows are
    divided by these. The reduction by a test of several attributes is divided equally among them.

    Raises
    ------
    TypeError
        If counts or sums were not released for every leaf.
    """
    rows, sums = release.masses
    rows_before = np.concatenate([[0.0], rows.cumsum()])
    sums_before = np.concatenate([np.zeros((1, sums.shape[1])), sums.cumsum(axis=0)])
    reductions = dict[str, float]()
    for division in divisions:
        ends = (division.first, division.middle), (division.middle, division.stop)
        (n, sums_true), (m, sums_false) = (
            (rows_before[stop] - rows_before[start], sums_before[stop] - sums_before[start]) for start, stop in ends
        )
        reduction = n * m / (n + m) * float(((sums_true / n - sums_false / m) ** 2).sum()) if n > 0 and m > 0 else 0.0
        for name in division.attributes:
            reductions[name] = reductions.get(name, 0.0) + float(reduction) / len(division.attributes)
    return _shares(reductions)


def _shares(amounts: Mapping[str, float]) -> dict[str, float]:
    total = sum(amounts.values())
    return {name: amount / total if total > 0 else 0.0 for name, amount in amounts.items()}
