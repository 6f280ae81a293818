"""Losses of a row, as tables of whole numbers: errors, Brier's score, costs, or how far a level is missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Literal, Self

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Integers
from hedgerow.errors import ArgumentError
from hedgerow.learn.search.space import product
from hedgerow.privacy.facts import Fact

ObjectiveName = Literal["errors", "brier", "mixed"]
OBJECTIVES: tuple[ObjectiveName, ...] = ("errors", "brier", "mixed")
STEPS = 64  # the resolution of a loss that is not just errors, where a model is drawn: a power of two
FINE_STEPS = 512
"""The same where the optimum is searched: fine enough that a leaf's best value is the nearest to its class shares."""
FINER = 16  # how many times finer a table of costs is: of 32 levels, the squared loss of neighbours is 1/256 or less
BLOCK = 2**13  # leaves at a time, so that their losses fit in the cache

_MIXTURES = tuple(Fraction(percent, 100) for percent in (10, 30, 50, 70, 90))
_SHARE_OF_ERRORS = {"brier": Fraction(0), "mixed": Fraction(1, 2)}


@dataclass(frozen=True)
class LossTable:
    """What it costs to predict each level where the row is of each: public, exact, shifted and divided to be in [0, 1].

    Subtracting from a row's losses what depends on its level alone changes no probability of a draw and no optimum, and
    the largest of what is left is the unit: one row changes the loss of a model by a unit at most.
    """

    loss: Fact  # the loss, with what a loss of 1 is
    entries: tuple[tuple[Fraction, ...], ...]  # by level of the row, the loss of each level that may be predicted

    def __post_init__(self) -> None:
        if any(len(row) != len(self.entries) for row in self.entries):
            raise ArgumentError("expected as many losses a level as there are levels.")
        exact = [[Fraction(entry) for entry in row] for row in self.entries]
        least = list(map(min, exact))
        shifted = [[entry - low for entry in row] for row, low in zip(exact, least, strict=True)]
        most = max(map(max, shifted))
        if not most:
            raise ArgumentError("expected losses that depend on what is predicted, got the same for all.")
        object.__setattr__(self, "entries", tuple(tuple(entry / most for entry in row) for row in shifted))

    def __hash__(self) -> int:
        return hash((self.loss, len(self.entries)))  # to hash a thousand fractions takes longer than a draw

    @classmethod
    def of_costs(cls, costs: Floats) -> Self:
        """Return the losses of a matrix of costs: a row of the class of a line, the class of a column predicted."""
        if not (costs >= 0).all() or np.diagonal(costs).any():
            raise ArgumentError("expected costs of at least 0, and none of a correct decision, got others.")
        entries = tuple(tuple(map(Fraction, row)) for row in costs.tolist())
        return cls(Fact("cost", largest=costs.max()), entries)

    @classmethod
    def of_distances(cls, values: Sequence[float], of: Callable[[Fraction], Fraction], loss: Fact) -> Self:
        """Return the losses of numbers, or of places in an order: a function of the value less the predicted one."""
        exact, of = [Fraction(value) for value in values], cache(of)  # of few distances, where levels are even
        return cls(loss, tuple(tuple(of(y - said) for said in exact) for y in exact))


Objective = ObjectiveName | LossTable


@dataclass(frozen=True)
class Loss:
    """The cost of a row of each class in a leaf of each value. Public; a whole number of steps between 0 and 1.

    A leaf's value is one of a public grid of probability vectors; its label is the most probable class. A model's loss
    is the sum over the rows of ``table[class][value of the row's leaf] / steps``.

    **One added row raises the loss of every model by an amount between 0 and 1, and lowers that of none**: the row is
    of one class and in one leaf, so exactly one entry of the table is added, and `__post_init__` refuses a table with
    an entry outside ``[0, steps]``. So the exponential mechanism with weight ``w`` is ``w``-differentially private, as
    for errors (docs/mathematics.md, fact 3).
    """

    values: tuple[tuple[float, ...], ...]  # the grid: probabilities of each class
    table: tuple[tuple[int, ...], ...]  # by class, the loss of each value, in steps
    steps: int  # steps in a loss of 1, a power of two

    def __post_init__(self) -> None:
        if self.steps < 1 or self.steps & (self.steps - 1):
            raise ArgumentError("expected a power of two as the steps of a loss, got another number.")
        if not all(0 <= entry <= self.steps for row in self.table for entry in row):
            raise ArgumentError("expected losses between 0 and 1, got another one.")

    @classmethod
    @lru_cache(maxsize=16)  # a fit asks for the same one several times
    def of(cls, objective: Objective, n_classes: int, steps: int = STEPS) -> Self:
        # Errors: the values are the classes, each with probability 1, and a row of another class costs 1. Otherwise
        # the values are the mixtures of each class with all classes alike, and with λ = 0 for Brier's score B, ½ for
        # "mixed", a row of class y costs, rounded to the nearest of `steps`,
        #     λ·[label(p) ≠ y] + (1 − λ)·(B(y, p) − min_q B(y, q))/Δ,    Δ the largest difference of two scores
        classes = range(n_classes)
        labels = tuple(tuple(float(k == label) for k in classes) for label in classes)
        if isinstance(objective, LossTable):
            steps *= FINER
            return cls(labels, tuple(tuple(round(steps * entry) for entry in row) for row in objective.entries), steps)
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
    def draws_probabilities(self) -> bool:
        """True where the values are more than labels."""
        return any(max(value) < 1 for value in self.values)

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The label of each value: its most probable class, the first of equals."""
        return tuple(value.index(max(value)) for value in self.values)

    @cached_property
    def by_value(self) -> Floats:
        """The table with a row for each value, shape ``(n_values, n_classes)``."""
        return np.array(self.table, dtype=np.float64).T

    def totals(self, counts: Floats) -> Floats:
        """Return the loss of rows of each class, shape ``(n_classes, n)``, under each value, in steps: exact."""
        return product(self.by_value, counts)

    @cached_property
    def is_errors(self) -> bool:
        """True where a row costs 1 if its label is missed and nothing otherwise."""
        expected = 1 - np.eye(len(self.table), len(self.table[0]))
        return self.steps == 1 and np.array_equal(self.table, expected)

    def least(self, counts: Array) -> Floats:
        """Return the loss of rows of each class, shape ``(n_classes, ...)``, under the best value, in rows: exact."""
        if self.is_errors:
            return errors(counts)
        flat = counts.reshape(len(counts), -1)
        found = np.empty(flat.shape[1])
        for start in range(0, len(found), BLOCK):
            self.totals(flat[:, start : start + BLOCK]).min(axis=0, out=found[start : start + BLOCK])
        found /= self.steps
        return found.reshape(counts.shape[1:])

    @property
    def sensitivity(self) -> int:
        """By how much one added row can raise a score of `split_scores`, in steps: a loss of 1; it never lowers one."""
        return self.steps

    def split_scores(self, caught: Array, total: Array) -> Integers:
        """Return the loss of the best value on each side of every candidate, and last of the best for all, in steps.

        ``U(r) = min_v L(caught, v) + min_v L(left, v)``. An added row falls on one side, where it adds one entry of the
        table to the loss of each value, between 0 and `steps`; hence it lowers no minimum, and raises it by `steps` at
        most, since the value that was best is still there. Exact below 2⁵³ steps.
        """
        sides = (self.least(counts.T) for counts in (caught, total - caught))
        return np.append(self.steps * sum(sides), self.steps * self.least(total)).astype(np.int64)

    def best(self, counts: Floats) -> int:
        """Return the value under which rows of each class, shape ``(n_classes,)``, lose least, the first of equals."""
        return int(self.totals(counts).argmin())


def errors(counts: Array) -> Array:
    """Return the rows outside the majority of leaves, from rows of each class, shape ``(n_classes, ...)``."""
    if len(counts) == 2:
        return np.minimum(*counts)
    return counts.sum(axis=0, dtype=counts.dtype) - counts.max(axis=0)


def n_values(objective: Objective, n_classes: int) -> int:
    return n_classes * len(_MIXTURES) if objective in _SHARE_OF_ERRORS else n_classes


def _mixtures(n_classes: int) -> list[tuple[Fraction, Fraction]]:
    """Return, of each mixture of a class with all classes alike, the probability of that class and of any other."""
    even = Fraction(1, n_classes)
    return [(mixture + (1 - mixture) * even, (1 - mixture) * even) for mixture in _MIXTURES]


def _losses_by_mixture(share_of_errors: Fraction, n_classes: int, steps: int) -> list[tuple[int, int]]:
    """Return, of each mixture, the losses in steps of a row of that class and of a row of any other."""
    # Brier's score, ``1 − 2·p_y + Σ p_k²``, depends on the mixture and on whether y is its class, on nothing else: the
    # least and the largest are the same for every class.
    scores = list[tuple[Fraction, Fraction]]()
    for own, other in _mixtures(n_classes):
        squares = own**2 + (n_classes - 1) * other**2
        scores.append((1 - 2 * own + squares, 1 - 2 * other + squares))
    least, largest = min(map(min, scores)), max(map(max, scores))

    def rounded(error: int, score: Fraction) -> int:
        return round(steps * (share_of_errors * error + (1 - share_of_errors) * (score - least) / (largest - least)))

    return [(rounded(0, own), rounded(1, other)) for own, other in scores]
