"""The certified optimum: the best rule list or tree of a table, or a model with a proven lower bound at a limit.

If the boxes, or the pairs of rules, are too many to compute all their values, the search is by branch and bound
(`branch_and_bound.py`). This search must not be used under differential privacy, because its time and, by branch and
bound, the visited states depend on the labels.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from hedgerow.boundary.arrays import Floats, Index
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.branch_and_bound import narrow_search, prune
from hedgerow.learn.search.conjunctions import Outcomes, OutcomeValues
from hedgerow.learn.search.cost import Cost, SearchShape, masks_cost, space_cost
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node, PatternMatrix, enough
from hedgerow.learn.search.lookahead import Lookahead, Rated
from hedgerow.learn.search.losses import LeafLoss
from hedgerow.learn.search.optimum import Limit, Optimum, Progress, SearchSettings, best_leaf, loss_of
from hedgerow.learn.search.pairs import Pairs, PairValues
from hedgerow.learn.search.sampler import one_thread
from hedgerow.learn.search.semirings import least_loss
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.tally import Tally

_QUICK = 0.5  # seconds: a shorter search needs no first model
_FIRST = 0.1  # largest share of the time limit for the first rule list
_WIDER, _WIDEST = 4, 16  # width of lookahead before the search, for each second of its estimate and at most
_AHEAD = 0.1  # share of the time for wider lookahead during the search
_VISITED = 0.2  # time of branch and bound for trees of single tests by errors, as a share of the estimate for masks
_MOST_NUMBERS = 2**27  # patterns times options of a matrix for a first model


def find_optimum(
    tally: Tally, space: Space, settings: SearchSettings, time_limit: float | None, progress: Progress
) -> Optimum:
    """Return the best model within the settings, or at a limit or Ctrl-C the best known model with a lower bound."""
    # Options that catch too few rows of the table are dropped.
    supported = _supported(tally, space, settings)
    space = replace(space, options=space.options[supported])
    search = _AnytimeSearch(tally, space, settings, np.inf if time_limit is None else time_limit, progress)
    try:
        with one_thread():
            search.run()
    except (TimeoutError, KeyboardInterrupt) as stop:  # a second Ctrl-C during the next line is not caught
        search.stop("time" if isinstance(stop, TimeoutError) else "interrupt")
    return _renamed(search.best, supported)


class _AnytimeSearch:
    """A search whose best model improves until an exception stops it."""

    # The values of all boxes, or pairs of rules, are computed from contingency tables if the estimated time is below
    # the limit and below the estimate for masks. Otherwise, the search uses branch and bound. Unless the search is
    # expected to be quick, it starts with a first model.

    def __init__(self, tally: Tally, space: Space, settings: SearchSettings, limit: float, progress: Progress) -> None:
        self._tally, self._space, self._settings, self._progress = tally, space, settings, progress
        self._start, self._limit, self._n_patterns = time.monotonic(), limit, len(tally.bins_and_counts()[0])
        self._loss = loss_of(settings.objective, tally.schema.target.n_levels)
        self.best = best_leaf(tally.total().astype(np.float64), self._loss)
        self._trees: Iterator[Rated] | None = None
        self._spent = self._next = 0.0  # seconds of lookahead up to now, and expected of the next tree

    def run(self) -> None:
        depth = min(self._settings.depth, self._space.n_options)
        cost = self._cost(depth)
        seconds, states = cost.seconds(self._n_patterns), self._states(depth, cost)
        is_quick = seconds <= (_QUICK if states is not None else _VISITED * _QUICK)
        if depth > 1 and (seconds > self._limit or (depth > 2 and not is_quick)):
            of_patterns = float(self._loss.least(self._tally.bins_and_counts()[1].T).sum())
            self._improve(replace(self.best, lower_bound=of_patterns))
            self._find_first()
            width = 2
            while width <= min(_WIDEST, _WIDER * seconds) and not self.best.is_proven and self._has_time:
                self._look_ahead()
                width *= 2
        if self.best.is_proven:
            return
        if states is not None:
            self._improve(exhaust(self._tally, states, self._settings, self._tick))
        else:
            deadline = self._start + self._limit
            self._improve(prune(self._rows, self._settings, self.best, deadline, self._report))

    @property
    def _has_time(self) -> bool:
        """Whether the next tree of the lookahead is expected before the time limit."""
        return self._next < self._limit - (time.monotonic() - self._start)

    def stop(self, limit: Limit) -> None:
        """Complete the best model by the limit that stopped the search, and by a lower bound."""
        bound = min(self.best.objective, unavoidable(self._tally, self._space, self._loss))
        self.best = replace(self.best, lower_bound=max(self.best.lower_bound, bound), stopped_by=limit)

    def _cost(self, depth: int) -> Cost:
        """Return the cost of the search by contingency tables, or by masks if branch and bound is faster."""
        shape, objective, patterns = SearchShape.of(self._space), self._settings.priced_as, self._n_patterns
        cost = space_cost(shape, depth, objective, patterns)
        if CAUGHT not in self._space.branches:
            return cost
        # Unlike an enumeration, branch and bound may take masks that are beyond the limits of a sensible search.
        masks, visited = masks_cost(shape, depth, objective), 1.0
        if shape.has_single_tests and self._loss.is_errors:
            visited = _VISITED
        return masks if visited * masks.seconds(patterns) < cost.seconds(patterns) else cost

    def _states(self, depth: int, cost: Cost) -> Boxes | Pairs | Outcomes | None:
        """Return the states of a search by contingency tables, or None if it needs branch and bound or more time."""
        if not cost.is_sensible or cost.seconds(self._n_patterns) > self._limit:
            return None
        kind = {"cubes": Boxes, "pairs": Pairs, "conjunctions": Outcomes}.get(cost.method)
        return None if kind is None else kind.of(self._space, depth)

    @cached_property
    def _rows(self) -> PatternMatrix:
        return PatternMatrix(self._tally, self._space, self._loss)

    def _find_first(self) -> None:
        """Find a first model: a tree by lookahead, a list by a narrow search, or for large tables a single rule."""
        if self._n_patterns * self._space.n_options > _MOST_NUMBERS:
            states = self._states(1, self._cost(1))
            if states is not None:
                rule = exhaust(self._tally, states, replace(self._settings, depth=1), self._tick)
                self._improve(replace(rule, lower_bound=-np.inf))
        elif CAUGHT in self._space.branches:
            self._trees = Lookahead(self._rows, self._settings).trees()
            self._look_ahead()
        else:
            deadline = self._start + _FIRST * self._limit
            self._improve(narrow_search(self._rows, self._settings, self.best, deadline))

    def _look_ahead(self) -> None:
        """Take the next tree of the lookahead."""
        start, rated = time.monotonic(), None if self._trees is None else next(self._trees, None)
        if rated is None:
            self._trees = None
            return
        self._improve(Optimum(rated[1], rated[0], -np.inf, 0))
        seconds = time.monotonic() - start
        self._spent, self._next = self._spent + seconds, 3 * seconds

    def _improve(self, other: Optimum) -> None:
        """Take the better model and the better bound."""
        # The model of a complete search is taken even if a tree of the lookahead, which depends on time, is as good.
        better = min(other, self.best, key=lambda optimum: optimum.objective)
        bound = min(better.objective, max(self.best.lower_bound, other.lower_bound))
        n_states = self.best.n_states + other.n_states
        self.best = replace(better, lower_bound=bound, n_states=n_states, stopped_by=other.stopped_by)

    def _tick(self, level: int, done: int, states: int) -> None:
        """Report progress, and raise `TimeoutError` after the time limit."""
        self._report(level, done, states)
        if time.monotonic() - self._start > self._limit:
            raise TimeoutError

    def _report(self, level: int, done: int, states: int) -> None:
        """Report progress, and look further ahead now and then."""
        self._progress(level, done, states)
        if self._trees is not None and self._spent + self._next < _AHEAD * (time.monotonic() - self._start):
            self._look_ahead()


def unavoidable(tally: Tally, space: Space, loss: LeafLoss) -> float:
    """Return a lower bound on the loss of every model: rows that no option distinguishes are in the same leaf."""
    bins, counts = tally.bins_and_counts()
    if not space.has_boxes:
        return float(loss.least(counts.T).sum())
    sizes = [attribute.n_bins for _, attribute in tally.schema.attributes]
    parts = np.split(space.caught, np.cumsum(sizes)[:-1], axis=1)
    alike = [np.unique(part, axis=1, return_inverse=True)[1].ravel() for part in parts]
    places = np.column_stack([alike[i][bins[:, i]] for i in range(len(alike))]).astype(np.uint32)
    _, group = np.unique(places.view(np.dtype((np.void, 4 * len(alike)))), return_inverse=True)
    totals = np.zeros((len(places), counts.shape[1]))
    np.add.at(totals, group.ravel(), counts)
    return float(loss.least(totals.T).sum())


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


def exhaust(tally: Tally, states: Boxes | Pairs | Outcomes, settings: SearchSettings, progress: Progress) -> Optimum:
    """Return the optimum over all boxes or pairs of rules."""
    total, done = states.n_states, 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        progress(1, done, total)

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
