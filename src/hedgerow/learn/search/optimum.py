"""The problem of a certified search, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Literal

from hedgerow.boundary.arrays import Array
from hedgerow.learn.search.lattice import LeafNode, Node
from hedgerow.learn.search.losses import FINE_STEPS, LeafLoss, Loss, Objective
from hedgerow.learn.search.squares import SquaredLoss
from hedgerow.tally import Tally

Progress = Callable[[int, int, int], object]
Limit = Literal["time", "interrupt"]  # what ended a search before its model was proven to be optimal


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """The rows of a certified search with the objective, and the unit in which the result is reported."""

    tally: Tally  # for a squared loss with its signed counts
    objective: Objective | SquaredLoss
    unit: Fraction = Fraction(1)  # a reported loss of 1, in losses of the objective
    constant: int = 0  # the part of the loss that the objective leaves out

    @property
    def n_rows(self) -> int:
        return int(self.tally.total().sum())

    @property
    def loss(self) -> LeafLoss:
        return loss_of(self.objective, self.tally.schema.target.n_levels)

    def reported(self, optimum: Optimum) -> Optimum:
        """Return the optimum of this search with its objective and bound in the unit of reports."""
        objective, bound = (self.constant + value for value in (optimum.objective, optimum.lower_bound))  # exact
        unit = float(self.unit)
        return replace(optimum, objective=objective / unit, lower_bound=bound / unit)


@dataclass(frozen=True)
class SearchSettings:
    """The objective, the penalty in rows for each rule or split, and the limits of support and depth."""

    depth: int
    min_rows: float
    penalty: float
    objective: Objective | SquaredLoss = "errors"

    @property
    def priced_as(self) -> Objective:
        """An objective that takes about as long."""
        return "brier" if isinstance(self.objective, SquaredLoss) else self.objective


@dataclass(frozen=True)
class Optimum:
    """The best model of a search, with a proven lower bound on the objective."""

    model: Node  # the model
    objective: float  # the loss in rows plus the penalty for each rule or split
    lower_bound: float  # a lower bound on the objective of any model within the settings
    n_states: int  # the number of visited states
    stopped_by: Limit | None = None  # the limit that was reached before the search was complete

    @property
    def is_proven(self) -> bool:
        """Whether the model is proven to be optimal."""
        return self.lower_bound >= self.objective


def best_leaf(total: Array, loss: LeafLoss) -> Optimum:
    """Return the best model of a single leaf, from the counts of all rows, without a lower bound."""
    return Optimum(LeafNode(loss.best(total)), float(loss.least(total)), -inf, 1)


def loss_of(objective: Objective | SquaredLoss, n_levels: int) -> LeafLoss:
    """Return the loss of an objective, for a target with this number of levels."""
    return objective if isinstance(objective, SquaredLoss) else Loss.of(objective, n_levels, FINE_STEPS)
