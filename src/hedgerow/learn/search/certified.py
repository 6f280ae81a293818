"""The certified optimum: the best rule list or tree of a table, with a proven lower bound where time runs out."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cost import space_cost
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.lattice import PatternMatrix, Search, Stop, Take
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.pruned import Expansion, SearchSettings, expand
from hedgerow.learn.search.semirings import least_loss
from hedgerow.learn.search.space import Space
from hedgerow.tally import Tally

_QUICK_STATES = 20_000  # at most, in the last level of the quick search that comes first
_MANY_PATTERNS = 100_000  # for which the time is estimated
_GOING_DOWN = 0.4  # of the time limit; going back up through the same states takes about as long
Progress = Callable[[int, int, int], object]


@dataclass(frozen=True)
class Optimum:
    """The best model that was found, and what was proven of it."""

    model: Take | Stop  # the model
    objective: float  # its loss in rows, each rule or split counting for the penalty more
    lower_bound: float  # A lower bound on the objective of any model within the settings
    n_states: int  # states that were visited


def find_optimum(
    tally: Tally, space: Space, settings: SearchSettings, time_limit: float | None, progress: Progress
) -> Optimum:
    """Find the model of least loss, penalties included, among all within the settings."""
    # All boxes are valued by contingency tables where that takes less than a third of the time limit, and less than all
    # states by masks would; else, and where it turns out to take half of it, states are pruned.
    depth = min(settings.depth, space.n_options)
    cost = space_cost(space, depth, settings.objective)
    affordable = time_limit is None or cost.seconds(_MANY_PATTERNS) < time_limit / 3
    boxes = Boxes.of(space, depth) if cost.method == "cubes" and cost.is_sensible and affordable else None
    if boxes is not None:
        start = time.monotonic()
        with suppress(TimeoutError):
            return exhaust(tally, boxes, settings, progress, np.inf if time_limit is None else start + time_limit / 2)
        time_limit = None if time_limit is None else time_limit - (time.monotonic() - start)
    return prune(PatternMatrix(tally, space, _loss(space, settings)), settings, time_limit, progress)


def exhaust(
    tally: Tally, boxes: Boxes, settings: SearchSettings, progress: Progress, deadline: float = np.inf
) -> Optimum:
    """Value all boxes; TimeoutError after the deadline, by `time.monotonic`."""
    total, done = sum(map(boxes.count, range(boxes.depth))), 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        progress(1, done, total)
        if time.monotonic() > deadline:
            raise TimeoutError

    loss = _loss(boxes.space, settings)
    searched = Cubes(tally, boxes, least_loss(settings.penalty, loss), max(settings.min_rows, 1), report)
    model = searched.walk(boxes.depth, lambda weights: int(weights.argmin()), loss.best)
    objective = searched.total(boxes.depth)
    return Optimum(model, objective, objective, total)


def prune(rows: PatternMatrix, settings: SearchSettings, time_limit: float | None, progress: Progress) -> Optimum:
    """Search by branch and bound, after a quick search that follows few options."""
    # The quick search gives a model to fall back upon and, for lists, a bound to prune with.
    deadline = np.inf if time_limit is None else time.monotonic() + _GOING_DOWN * time_limit
    quick = expand(rows, settings, width=_width(rows, settings))
    full = expand(rows, settings, best=quick.best, deadline=deadline, progress=progress)
    found = [_best_of(rows, settings, expansion) for expansion in (full, quick)]
    objective, model = min(found, key=lambda pair: pair[0])
    bound = objective if full.complete else min(objective, _bound(rows, settings, full))
    return Optimum(model, objective, bound, sum(len(level.states) for level in full.levels))


def _width(rows: PatternMatrix, settings: SearchSettings) -> int:
    """Return how many options of each state the quick search can afford to follow."""
    steps = max(settings.depth - 1, 1)
    return max(1, int(_QUICK_STATES ** (1 / steps)) // len(rows.space.branches))


def _best_of(rows: PatternMatrix, settings: SearchSettings, expansion: Expansion) -> tuple[float, Take | Stop]:
    """Return the best model that the levels hold, and its objective."""
    search = Search(rows, expansion.levels, least_loss(settings.penalty, rows.loss), max(settings.min_rows, 1))
    values = search.sweep()
    model = search.walk(values, lambda weights: int(weights.argmin()), rows.loss.best)
    return _objective(rows, settings, model, np.ones((1, len(rows)), dtype=bool)), model


def _objective(rows: PatternMatrix, settings: SearchSettings, model: Take | Stop, here: np.ndarray) -> float:
    if isinstance(model, Stop):
        return float(rows.loss.totals(rows.totals(here)[:, 0])[model.value]) / rows.loss.steps
    caught = rows.caught(model.option)
    parts = ((model.caught, here & caught), (model.left, here & ~caught))
    return settings.penalty + sum(_objective(rows, settings, part, mask) for part, mask in parts)


def _bound(rows: PatternMatrix, settings: SearchSettings, expansion: Expansion) -> float:
    """Return a lower bound from levels whose last was not expanded: its states count for what no model avoids."""
    frontier = expansion.levels[-1]
    floors = np.zeros(len(frontier.states))
    for block in rows.blocks(len(floors)):
        floors[block] = rows.floors(rows.on(frontier.states[block]))[1]
    search = Search(rows, expansion.levels, least_loss(settings.penalty, rows.loss), max(settings.min_rows, 1))
    return float(search.sweep(last=floors)[0][0])


def _loss(space: Space, settings: SearchSettings) -> Loss:
    return Loss.of(settings.objective, space.candidates.schema.target.n_levels, FINE_STEPS)


def rows_needed(tally: Tally, min_support: float) -> int:
    """Return the fewest rows that are a share of `min_support` of the table or more."""
    n = int(tally.total().sum())
    rows = int(min_support * n)
    while n and rows / n < min_support:
        rows += 1
    return rows
