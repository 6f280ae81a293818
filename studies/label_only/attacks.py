"""Label-only signals of membership: robustness to noise on raw values, and the distance that a walk finds.

The attacker knows the schema, the spread of each number, the row with its true label, and other rows of the population;
each query is a valid row of raw values, whose label the model answers after it has assigned the values to its bins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index, Mask
from studies.label_only.domain import Domain

Predict = Callable[[Floats], Array]
SCALES = (0.1, 0.2, 0.4, 0.7)
"""Standard deviations of the noise, in units of each number's own."""
COPIES = 25
"""Noisy copies of a row at each scale."""
STEPS = tuple(2.0**power for power in range(-4, 4))
"""Steps of the walk along a number, in units of its standard deviation; then its bound."""
STARTS = 5
"""Rows with another label from which the walk returns."""


@dataclass(frozen=True)
class Noise:
    """Share of noisy copies of a row whose label is right, the mean over the scales; 0 if the row's own is wrong.

    Every number gets normal noise, rounded and clipped; every category is swapped for another value with the
    probability scale² (at most ½), so that the mean squared distance is about the same in each column.
    """

    scales: tuple[float, ...] = SCALES
    copies: int = COPIES

    def scores(
        self, predict: Predict, domain: Domain, values: Floats, classes: Array, rng: np.random.Generator
    ) -> Floats:
        right = predict(values) == classes
        rows, truth = values[right], classes[right]
        correct = np.zeros(len(rows))
        for scale in self.scales:
            copies = noisy(np.tile(rows, (self.copies, 1)), domain, scale, rng)
            correct += (predict(copies).reshape(self.copies, -1) == truth).mean(axis=0)
        result = np.zeros(len(values))
        result[right] = correct / len(self.scales)
        return result


def noisy(values: Floats, domain: Domain, scale: float, rng: np.random.Generator) -> Floats:
    """Return a noisy copy of each row, which is a valid row."""
    moved = domain.valid(values + rng.normal(0, scale, values.shape) * domain.scale)
    low, high = domain.bounds
    others = rng.integers(0, np.maximum(high - low, 1).astype(int), values.shape)
    swapped = others + (others >= values)  # each other code is equally likely
    is_swapped = (rng.random(values.shape) < min(scale**2, 0.5)) & (high > low)
    return np.where(domain.numbers, moved, np.where(is_swapped, swapped, values))


@dataclass(frozen=True)
class Walk:
    """Smallest distance to a row with another label that a walk finds; 0 if the row's own label is wrong.

    The walk first changes single columns: each category to every other value, each number in both directions until the
    label changes. Then it starts from the nearest known rows with another label, and sets each column in turn to the
    row's own value if the label stays different. Numbers are bisected in both parts.
    """

    starts: int = STARTS

    def scores(
        self, predict: Predict, domain: Domain, values: Floats, classes: Array, rng: np.random.Generator
    ) -> Floats:
        right = predict(values) == classes
        result = np.zeros(len(values))
        result[right] = self.distances(predict, domain, values[right], values, rng)
        return result

    def distances(
        self, predict: Predict, domain: Domain, values: Floats, known: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return the smallest distance found to a row with another label than the row's own; infinite if none is."""
        labels = predict(values)
        best = _single_changes(predict, domain, values, labels)
        other = predict(known) != labels[:, None]
        apart = np.where(other, _apart(domain, values, known), np.inf)
        nearest = np.argsort(apart, axis=1)[:, : self.starts]
        for place in nearest.T:
            some = np.flatnonzero(np.isfinite(apart[np.arange(len(values)), place]))
            if not len(some):
                break
            found = _returned(predict, domain, values[some], labels[some], known[place[some]].copy(), rng)
            best[some] = np.minimum(best[some], domain.distance(values[some], found))
        return best


def _apart(domain: Domain, values: Floats, known: Floats) -> Floats:
    squares = np.zeros((len(values), len(known)))
    for column in range(values.shape[1]):
        item, other = values[:, column, None], known[None, :, column]
        squares += ((item - other) / domain.scale[column]) ** 2 if domain.numbers[column] else item != other
    return np.sqrt(squares)


def _single_changes(predict: Predict, domain: Domain, values: Floats, labels: Array) -> Floats:
    """Return the smallest distance found by changes of one column; infinite if none changes the label."""
    best, (low, high) = np.full(len(values), np.inf), domain.bounds
    for column in range(values.shape[1]):
        if domain.numbers[column]:
            for bound in (low[column], high[column]):
                best = np.minimum(best, _one_way(predict, domain, values, labels, column, bound))
        else:
            codes = np.arange(low[column], high[column] + 1)
            changed = _predicted(predict, values, column, np.tile(codes[:, None], len(values))) != labels
            best[changed.any(axis=0)] = np.minimum(best, 1.0)[changed.any(axis=0)]
    return best


def _one_way(predict: Predict, domain: Domain, values: Floats, labels: Array, column: int, bound: float) -> Floats:
    """Return the distance at which the label changes, when one number moves in steps towards a bound."""
    own, steps = values[:, column], np.array([0.0, *STEPS, np.inf])[:, None]
    with np.errstate(invalid="ignore"):
        ahead = own + np.sign(bound - own) * steps * domain.scale[column]
    ahead = np.where(np.isnan(ahead), own, ahead.round() if domain.whole[column] else ahead)
    ahead = ahead.clip(*(limits[column] for limits in domain.bounds))
    changed = _predicted(predict, values, column, ahead) != labels
    some, step = np.flatnonzero(changed.any(axis=0)), changed.argmax(axis=0)
    result = np.full(len(values), np.inf)
    if len(some):
        last, first = values[some].copy(), values[some].copy()
        last[:, column], first[:, column] = ahead[step[some] - 1, some], ahead[step[some], some]
        nearest = _bisected(predict, domain, last, first, labels[some], column)
        result[some] = domain.distance(values[some], nearest)
    return result


def _predicted(predict: Predict, values: Floats, column: int, changed: Floats) -> Array:
    """Return the labels of the rows with other values in one column, shape of `changed`: ``(n_changes, n_rows)``."""
    rows = np.tile(values, (len(changed), 1))
    rows[:, column] = changed.ravel()
    return predict(rows).reshape(changed.shape)


def _returned(
    predict: Predict, domain: Domain, values: Floats, labels: Array, rows: Floats, rng: np.random.Generator
) -> Floats:
    """Return rows with another label, moved towards `values` one column at a time."""
    for column in rng.permutation(values.shape[1]):
        moved = rows.copy()
        moved[:, column] = values[:, column]
        kept: Mask = predict(moved) != labels
        rows[kept] = moved[kept]
        if domain.numbers[column] and not kept.all():
            rest = ~kept
            rows[rest] = _bisected(predict, domain, moved[rest], rows[rest], labels[rest], int(column))
    return rows


def _bisected(predict: Predict, domain: Domain, own: Floats, other: Floats, labels: Array, column: int) -> Floats:
    """Return rows with another label between two rows that differ in one number, next to a row with the own label."""
    own, other = own.copy(), other.copy()
    least = 1.0 if domain.whole[column] else 1e-6 * domain.scale[column]
    while True:
        wide: Index = np.flatnonzero(np.abs(own[:, column] - other[:, column]) > least)
        if not len(wide):
            return other
        middle = own[wide].copy()
        middle[:, column] = (own[wide, column] + other[wide, column]) / 2
        if domain.whole[column]:
            middle[:, column] = np.floor(middle[:, column])
        changed: Mask = predict(middle) != labels[wide]
        other[wide[changed]], own[wide[~changed]] = middle[changed], middle[~changed]
