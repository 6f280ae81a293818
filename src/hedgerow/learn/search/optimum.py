"""The problem of a certified search, and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hedgerow.learn.search.lattice import Node
from hedgerow.learn.search.losses import FINE_STEPS, Loss, Objective
from hedgerow.learn.search.space import Space

Progress = Callable[[int, int, int], object]
Limit = Literal["time", "memory", "width"]  # "width" stops a quick search, which is incomplete on purpose


@dataclass(frozen=True)
class SearchSettings:
    """The objective, the penalty in rows for each rule or split, and the limits of support and depth."""

    depth: int
    min_rows: float
    penalty: float
    objective: Objective = "errors"


@dataclass(frozen=True)
class Optimum:
    """The best model of a search, with a proven lower bound on the objective."""

    model: Node  # the model
    objective: float  # the loss in rows plus the penalty for each rule or split
    lower_bound: float  # a lower bound on the objective of any model within the settings
    n_states: int  # the number of visited states
    stopped_by: Limit | None = None  # the limit that was reached before the search was complete


def loss_of(space: Space, settings: SearchSettings) -> Loss:
    """Return the loss of the settings' objective for the levels of the space's target."""
    return Loss.of(settings.objective, space.candidates.schema.target.n_levels, FINE_STEPS)
