"""The certified optimum: the best rule list or tree of a table, or a model with a proven lower bound at a limit.

If the boxes, or the pairs of rules, are too many to compute all their values, the search is by branch and bound
(`branch_and_bound.py`). This search must not be used under differential privacy, because its time and, by branch and
bound, the visited states depend on the labels.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace

import numpy as np

from hedgerow.boundary.arrays import Floats, Index
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.branch_and_bound import prune
from hedgerow.learn.search.conjunctions import Outcomes, OutcomeValues
from hedgerow.learn.search.cost import SearchShape, space_cost
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node, PatternMatrix, enough
from hedgerow.learn.search.optimum import Optimum, Progress, SearchSettings, loss_of
from hedgerow.learn.search.pairs import Pairs, PairValues
from hedgerow.learn.search.semirings import least_loss
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.tally import Tally

_MANY_PATTERNS = 100_000  # number of patterns for which the time is estimated


def find_optimum(
    tally: Tally, space: Space, settings: SearchSettings, time_limit: float | None, progress: Progress
) -> Optimum:
    """Return the best model within the settings, or at a limit the best visited model with a lower bound."""
    # Options that catch too few rows of the table are dropped. The values of all boxes, or pairs of rules, are computed
    # from contingency tables if the estimated time is below a third of the limit and, for the patterns of the table,
    # below the estimate for masks. Otherwise, or if the computation takes half of the limit, the search uses branch and
    # bound.
    supported = _supported(tally, space, settings)
    space = replace(space, options=space.options[supported])
    depth = min(settings.depth, space.n_options)
    cost = space_cost(SearchShape.of(space), depth, settings.priced_as, len(tally.bins_and_counts()[0]))
    affordable = time_limit is None or cost.seconds(_MANY_PATTERNS) < time_limit / 3
    kinds = {"cubes": Boxes, "pairs": Pairs, "conjunctions": Outcomes}
    kind = kinds.get(cost.method) if cost.is_sensible and affordable else None
    states, start = None if kind is None else kind.of(space, depth), time.monotonic()
    if states is not None:
        deadline = np.inf if time_limit is None else start + time_limit / 2
        with suppress(TimeoutError):
            return _renamed(exhaust(tally, states, settings, progress, deadline), supported)
        time_limit = None if time_limit is None else time_limit - (time.monotonic() - start)
    rows = PatternMatrix(tally, space, loss_of(settings.objective, tally.schema.target.n_levels))
    return _renamed(prune(rows, settings, time_limit, progress), supported)


def _supported(tally: Tally, space: Space, settings: SearchSettings) -> Index:
    """Return the options that catch, and in a tree also leave, enough rows of the whole table."""
    caught, total = tally.class_counts(space.candidates)[space.options].T.astype(np.float64), tally.total()
    return np.flatnonzero(enough(max(settings.min_rows, 1), caught, total[:, None] - caught, space))


def _renamed(optimum: Optimum, options: Index) -> Optimum:
    """Return the optimum with indices into `options` replaced by their values."""

    def named(part: Node) -> Node:
        return (
            part
            if isinstance(part, LeafNode)
            else InnerNode(int(options[part.option]), named(part.caught), named(part.left))
        )

    return replace(optimum, model=named(optimum.model))


def exhaust(
    tally: Tally,
    states: Boxes | Pairs | Outcomes,
    settings: SearchSettings,
    progress: Progress,
    deadline: float = np.inf,
) -> Optimum:
    """Return the optimum over all boxes or pairs of rules; raise `TimeoutError` after the deadline."""
    total, done = states.n_states, 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        progress(1, done, total)
        if time.monotonic() > deadline:
            raise TimeoutError

    loss, min_rows = loss_of(settings.objective, tally.schema.target.n_levels), max(settings.min_rows, 1)
    semiring, lost = least_loss(settings.penalty, loss), list[float]()

    def option(weights: Floats) -> int:
        place = int(weights.argmin())
        lost.append(settings.penalty if place else 0.0)
        return place

    def value(counts: Floats) -> int:
        losses = loss.totals(counts)
        lost.append(float(losses.min()) / loss.steps)
        return int(losses.argmin())

    # If the support of last choices is ignored, values are lower bounds and faster to compute. The walk respects the
    # support. So if its model attains the lower bound, the model is optimal. Trees with a minimum above 1 are excluded:
    # they have many last splits, and a single split without support may suffice to miss the bound.
    relaxed = not isinstance(states, Pairs) and (CAUGHT not in states.space.branches or min_rows <= 1)
    while True:
        if isinstance(states, Boxes):
            values = Cubes(tally, states, semiring, min_rows, report, relaxed=relaxed)
        elif isinstance(states, Outcomes):
            sizes = range(states.depth, states.depth + 1)
            values = OutcomeValues(tally, states, semiring, sizes, min_rows, report, relaxed=relaxed)
        else:
            values = PairValues(tally, states, semiring, report, min_rows)
        model = values.walk(states.depth, option, value)
        if not relaxed or sum(lost) <= values.total(states.depth):
            return Optimum(model, sum(lost), sum(lost), total)
        relaxed, done = False, 0
        lost.clear()


def rows_needed(tally: Tally, min_support: float) -> int:
    """Return the least number of rows that is at least the share `min_support` of the table."""
    n = int(tally.total().sum())
    rows = int(min_support * n)
    while n and rows / n < min_support:
        rows += 1
    return rows
