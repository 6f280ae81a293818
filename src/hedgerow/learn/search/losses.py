"""Losses of a row as tables of integers: errors, Brier score, costs, or distances of levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from math import lcm
from typing import Literal, Protocol, Self

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Integers
from hedgerow.errors import ArgumentError
from hedgerow.learn.search.space import product
from hedgerow.privacy.facts import Fact

ObjectiveName = Literal["errors", "brier", "mixed"]
OBJECTIVES: tuple[ObjectiveName, ...] = ("errors", "brier", "mixed")
STEPS = 64  # the resolution of losses other than errors for a draw: a power of two
FINE_STEPS = 512
"""The resolution for a certified search: fine enough that the best value of a leaf is nearest to its class shares."""
FINER = 16  # the factor of the resolution for tables of costs: the squared loss of neighbours of 32 levels is ≤ 1/256
BLOCK = 2**13  # leaves at a time, so that their losses fit in the cache

_MIXTURES = tuple(Fraction(percent, 100) for percent in (10, 30, 50, 70, 90))
_SHARE_OF_ERRORS = {"brier": Fraction(0), "mixed": Fraction(1, 2)}


@dataclass(frozen=True)
class LossTable:
    """Public table of losses by level of the row and prediction, shifted and scaled to [0, 1].

    A shift that depends on the row's level only changes no probability of a draw and no optimum. The largest remaining
    loss is the unit, so a row changes the loss of a model by at most a unit.
    """

    loss: Fact  # the loss and its unit
    entries: tuple[tuple[Fraction, ...], ...]  # by level of the row, then by prediction

    def __post_init__(self) -> None:
        if any(len(row) != len(self.entries) for row in self.entries):
            raise ArgumentError(f"expected {len(self.entries)} losses for each of {len(self.entries)} levels.")
        # Integers, and each quotient once: with 256 levels, arithmetic on fractions takes a second.
        whole, _ = _integers([entry for row in self.entries for entry in row])
        rows = [whole[start : start + len(self.entries)] for start in range(0, len(whole), len(self.entries))]
        largest = max(max(row) - min(row) for row in rows)
        if not largest:
            raise ArgumentError("expected losses that depend on the prediction; all predictions have equal losses.")
        share = cache(lambda above: Fraction(above, largest))
        entries = tuple(
            tuple(share(entry - low) for entry in row) for row, low in zip(rows, map(min, rows), strict=True)
        )
        object.__setattr__(self, "entries", entries)

    def __hash__(self) -> int:
        return hash((self.loss, len(self.entries)))  # hashing a thousand fractions takes longer than a draw

    @classmethod
    def of_costs(cls, costs: Floats) -> Self:
        """Return the losses of a cost matrix, by actual class, then by predicted class."""
        if not (costs >= 0).all() or np.diagonal(costs).any():
            raise ArgumentError("costs must be at least 0, and 0 for correct predictions.")
        entries = tuple(tuple(map(Fraction, row)) for row in costs.tolist())
        return cls(Fact("cost", largest=costs.max()), entries)

    @classmethod
    def of_distances(cls, values: Sequence[float], of: Callable[[Fraction], Fraction], loss: Fact) -> Self:
        """Return the losses of numbers or positions: a function of the value minus the prediction."""
        places, unit = _integers([Fraction(value) for value in values])
        distance = cache(lambda steps: of(Fraction(steps, unit)))  # evenly spaced levels have few distances
        return cls(loss, tuple(tuple(distance(y - prediction) for prediction in places) for y in places))


Objective = ObjectiveName | LossTable


class LeafLoss(Protocol):
    """Loss of the rows of a leaf as a function of its value, from numbers that are sums over the rows."""

    @property
    def steps(self) -> int:
        """Steps in a loss of 1."""
        ...

    @property
    def reach(self) -> int:
        """A bound on the size of each row's share of any sum, in losses of 1."""
        ...

    @property
    def is_errors(self) -> bool:
        """Whether the loss of a row is 1 if it is misclassified and 0 otherwise."""
        ...

    def totals(self, counts: Floats) -> Floats:
        """Return the loss of counts under each value, in steps. Exact."""
        ...

    def least(self, counts: Array) -> Floats:
        """Return the loss of counts, shape ``(n_classes, ...)``, under the best value, in losses of 1. Exact."""
        ...

    def best(self, counts: Floats) -> int:
        """Return the value with the smallest loss of counts, shape ``(n_classes,)``; ties go to the first."""
        ...


@dataclass(frozen=True)
class Loss:
    """Public loss of a row by class and leaf value, in integer steps of a loss of 1.

    The value of a leaf is a vector of class probabilities from a public grid; its label is the most probable class. The
    loss of a model is the sum over rows of ``table[class][value of the row's leaf] / steps``.

    **An added row raises the loss of every model by an amount between 0 and 1, and lowers the loss of no model**: the
    row has a single class and leaf, so a single entry of the table is added, and `__post_init__` raises for entries
    outside ``[0, steps]``. So the exponential mechanism with weight ``w`` is ``w``-differentially private, as for
    errors (docs/mathematics.md, fact 3).
    """

    values: tuple[tuple[float, ...], ...]  # the grid of class probabilities
    table: tuple[tuple[int, ...], ...]  # by class, the loss of each value, in steps
    steps: int  # steps in a loss of 1, a power of two

    def __post_init__(self) -> None:
        if self.steps < 1 or self.steps & (self.steps - 1):
            raise ArgumentError(f"steps of a loss must be a power of two, got {self.steps}.")
        if not all(0 <= entry <= self.steps for row in self.table for entry in row):
            raise ArgumentError("losses must be between 0 and 1.")

    @classmethod
    @lru_cache(maxsize=16)  # a fit needs the same loss several times
    def of(cls, objective: Objective, n_classes: int, steps: int = STEPS) -> Self:
        # Errors: the values are the classes, each with probability 1, and a row of another class costs 1. Otherwise
        # the values are mixtures of each class with the uniform distribution. With the Brier score B, and with λ = 0
        # for "brier" and λ = ½ for "mixed", a row of class y costs, rounded to the nearest step,
        #     λ·[label(p) ≠ y] + (1 − λ)·(B(y, p) − min_q B(y, q))/Δ,    Δ the largest difference of two scores
        classes = range(n_classes)
        labels = tuple(tuple(float(k == label) for k in classes) for label in classes)
        if isinstance(objective, LossTable):
            steps *= FINER
            rounded = cache(lambda entry: round(steps * entry))
            return cls(labels, tuple(tuple(map(rounded, row)) for row in objective.entries), steps)
        if objective == "errors":
            return cls(labels, tuple(tuple(int(y != label) for label in classes) for y in classes), 1)
        losses = _losses_by_mixture(_SHARE_OF_ERRORS[objective], n_classes, steps)
        probabilities = [(float(own), float(other)) for own, other in _mixtures(n_classes)]
        places = range(len(_MIXTURES))
        grid = [(label, place) for label in classes for place in (places if label else reversed(places))]
        values = tuple(tuple(probabilities[place][k != label] for k in classes) for label, place in grid)
        table = tuple(tuple(losses[place][y != label] for label, place in grid) for y in classes)
        return cls(values, table, steps)

    @property
    def reach(self) -> int:
        """A bound on the size of each row's share of any sum, in losses of 1."""
        return 1

    @property
    def draws_probabilities(self) -> bool:
        """Whether the values are probabilities rather than labels."""
        return any(max(value) < 1 for value in self.values)

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The label of each value: its most probable class; ties go to the first class."""
        return tuple(value.index(max(value)) for value in self.values)

    @cached_property
    def by_value(self) -> Floats:
        """The table by value, shape ``(n_values, n_classes)``."""
        return np.array(self.table, dtype=np.float64).T

    def totals(self, counts: Floats) -> Floats:
        """Return the loss of class counts, shape ``(n_classes, n)``, under each value, in steps. Exact."""
        return product(self.by_value, counts)

    @cached_property
    def is_errors(self) -> bool:
        """Whether the loss of a row is 1 if it is misclassified and 0 otherwise."""
        expected = 1 - np.eye(len(self.table), len(self.table[0]))
        return self.steps == 1 and np.array_equal(self.table, expected)

    def least(self, counts: Array) -> Floats:
        """Return the loss of class counts, shape ``(n_classes, ...)``, under the best value, in rows. Exact."""
        if self.is_errors:
            return errors(counts)
        flat = counts.reshape(len(counts), -1)
        losses = np.empty(flat.shape[1])
        for start in range(0, len(losses), BLOCK):
            self.totals(flat[:, start : start + BLOCK]).min(axis=0, out=losses[start : start + BLOCK])
        losses /= self.steps
        return losses.reshape(counts.shape[1:])

    @property
    def sensitivity(self) -> int:
        """The sensitivity of `split_scores`, in steps: an added row raises a score by at most a loss of 1."""
        return self.steps

    def split_scores(self, caught: Array, total: Array) -> Integers:
        """Return the loss of the best values on both sides of every candidate, and last of the best for all, in steps.

        ``U(r) = min_v L(caught, v) + min_v L(left, v)``. An added row is on one side, and adds an entry of the table,
        between 0 and `steps`, to the loss of each value there. It therefore lowers no minimum and raises it by at most
        `steps`. Exact below 2⁵³ steps.
        """
        sides = (self.least(counts.T) for counts in (caught, total - caught))
        return np.append(self.steps * sum(sides), self.steps * self.least(total)).astype(np.int64)

    def best(self, counts: Floats) -> int:
        """Return the value with the smallest loss of class counts, shape ``(n_classes,)``; ties go to the first."""
        return int(self.totals(counts).argmin())


def _integers(fractions: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return fractions as integers over their common denominator, and this denominator."""
    common = lcm(*(fraction.denominator for fraction in fractions))
    return [fraction.numerator * (common // fraction.denominator) for fraction in fractions], common


def errors(counts: Array) -> Array:
    """Return the rows outside the majority class, from class counts of shape ``(n_classes, ...)``."""
    if len(counts) == 2:
        return np.minimum(*counts)
    return counts.sum(axis=0, dtype=counts.dtype) - counts.max(axis=0)


def n_values(objective: Objective, n_classes: int) -> int:
    return n_classes * len(_MIXTURES) if objective in _SHARE_OF_ERRORS else n_classes


def _mixtures(n_classes: int) -> list[tuple[Fraction, Fraction]]:
    """Return for each mixture of a class with the uniform distribution its probability of this and of other classes."""
    even = Fraction(1, n_classes)
    return [(mixture + (1 - mixture) * even, (1 - mixture) * even) for mixture in _MIXTURES]


def _losses_by_mixture(share_of_errors: Fraction, n_classes: int, steps: int) -> list[tuple[int, int]]:
    """Return for each mixture the losses, in steps, of a row of its class and of a row of another class."""
    # The Brier score ``1 − 2·p_y + Σ p_k²`` depends only on the mixture and on whether y is its class, so its smallest
    # and largest values are the same for every class.
    scores = list[tuple[Fraction, Fraction]]()
    for own, other in _mixtures(n_classes):
        squares = own**2 + (n_classes - 1) * other**2
        scores.append((1 - 2 * own + squares, 1 - 2 * other + squares))
    least, largest = min(map(min, scores)), max(map(max, scores))

    def rounded(error: int, score: Fraction) -> int:
        return round(steps * (share_of_errors * error + (1 - share_of_errors) * (score - least) / (largest - least)))

    return [(rounded(0, own), rounded(1, other)) for own, other in scores]
