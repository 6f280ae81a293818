"""Branch and bound: the best rule list or tree of a table without the values of all states.

A state is a set of rows with a number of choices left. `BranchAndBound.values` divides many states at once: it collects
the branches of their options, merges those with the same rows, and values them with one choice less. In trees with
errors as the loss, the values of the last two choices are computed together. If the branches of the states need more
memory than their share of `MOST_BYTES`, they are divided part by part, so the memory is bounded at any size.

A state has a budget: its value is of use only up to this number. An option is followed only if these bounds allow it to
be part of a better model within the budget:

- support: the option catches (in a tree also leaves) enough rows, and a followed branch has enough rows to be divided;
- equivalent points: rows with the same pattern are in the same leaf of any model, so their loss is at least the loss of
  their best value (Angelino et al., *Learning Certifiably Optimal Rule Lists*, JMLR 2018, Section 3.14);
- best so far: the best known list for lists, and the best known tree of the same rows for trees;
- siblings: the budget of a branch is the budget of its state minus a lower bound of the other branch. The larger
  branches are valued first, because they leave the smallest budgets;
- neighbouring thresholds: see `neighbours.py`.

The bounds hold for any loss that is a sum over rows of terms that depend on the class and on the value of the leaf, of
any sign. This search must not be used under differential privacy, because the visited states depend on the labels.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.learn.search.last_two import LastTwo
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node, PatternMatrix, enough
from hedgerow.learn.search.neighbours import Neighbours
from hedgerow.learn.search.optimum import Optimum, Progress, SearchSettings
from hedgerow.learn.search.space import CAUGHT, LEFT
from hedgerow.learn.search.states import Cache, States, distinct

MOST_BYTES = 2**31  # memory for the branches of states, at all levels together
_TIMED = 2**14  # most branches that are divided together if there is a time limit, which is checked in between
_NARROW_STATES = 20_000  # target for the number of states in the last level of a narrow search
_FEW = 1_000  # number of branches up to which computing all values at once is faster
_STOP = -1  # instead of an option: the state is a leaf


class BranchAndBound:
    """Search of the states of a table. Exact, private."""

    def __init__(
        self,
        rows: PatternMatrix,
        settings: SearchSettings,
        *,
        width: int | None = None,
        deadline: float = np.inf,
        progress: Progress = lambda *_: None,
    ) -> None:
        self.rows, self.settings, self.width = rows, settings, width
        self.deadline, self.progress = deadline, progress
        self.two = LastTwo.of(rows, settings.depth, settings.penalty, settings.min_rows)
        self.is_late, self.n_states = False, 0
        # Objectives are multiples of the resolution of penalty and loss. So budgets, which are multiples of half of it,
        # are exact, and a value is within the budget of its state exactly if the objective is within the root's.
        self.half = 0.5 / max(rows.loss.steps, float(settings.penalty).as_integer_ratio()[1])
        self.gain = 0.0  # of lists: how far the best known objective fell since the budget of the root was set
        caught, branches = np.packbits(rows.catches.T, axis=1), rows.space.branches
        self.parts = {CAUGHT: caught, LEFT: ~caught}
        self.sides = np.vstack([self.parts[branch] for branch in branches])
        self.place = {branch: place for place, branch in enumerate(branches)}
        self._caches = dict[int, Cache]()
        self._most_cached = MOST_BYTES // 4 // settings.depth // (caught.shape[1] + 250)
        self.side_sizes = rows.side_sizes
        self.least_divided = len(branches) * max(settings.min_rows, 1)
        are_similar = CAUGHT in branches and rows.loss.is_errors and settings.min_rows <= 1 and width is None
        self.similar = Neighbours(rows.catches) if are_similar else None

    def values(self, states: States, depth: int, budgets: Floats) -> Floats:
        """Return lower bounds on the values of states, which are exact unless above the budget or late."""
        cache = self._caches.setdefault(depth, Cache(self._most_cached))
        values, is_known, keys = cache.find(states)
        needed = np.flatnonzero(~is_known & (values <= budgets - self.gain))
        if self._late() or not len(needed):
            return values
        states, budgets = states[needed], budgets[needed]
        self.n_states += len(states)
        values[needed] = self._values(states, depth, budgets)
        if not self.is_late:
            cache.add([keys[i] for i in needed], values[needed], budgets - self.gain)
        return values

    def _values(self, states: States, depth: int, budgets: Floats) -> Floats:
        if depth == 2 and self.two is not None:
            return self._last_two(states)
        if depth == 1 and self.width is None:
            return self._last_one(states)
        values, step = states.floors.copy(), max(1, self.share() // max(len(self.sides), 1))
        for start in range(0, len(states), step):
            part = slice(start, start + step)
            values[part] = Division(self, states[part], depth, budgets[part]).values
            if self._late():
                break
        return values

    def _last_one(self, states: States) -> Floats:
        """Return the values of states with a single choice left."""
        values, rows, least = np.empty(len(states)), self.rows, max(self.settings.min_rows, 1)
        for block in rows.blocks(len(states)):
            caught, total = rows.counts(self.live(states.masks[block]))
            left = total[:, :, None] - caught
            losses = rows.loss.least(caught) + rows.loss.least(left) + self.settings.penalty
            losses[~enough(least, caught, left, rows.space)] = np.inf
            values[block] = np.minimum(rows.loss.least(total), losses.min(axis=1, initial=np.inf))
        return values

    def _last_two(self, states: States) -> Floats:
        """Return the values of states with two choices left, or lower bounds if it is late."""
        assert self.two is not None
        values, done = states.floors.copy(), 0
        for block in self.two.blocks(states.sizes, states.rarest):
            values[block] = self.two.values(self.live(states.masks[block]))
            done += len(block)
            self.progress(self.settings.depth - 1, done, len(states))
            if self._late():
                break
        return values

    def live(self, masks: NDArray[np.uint8]) -> Mask:
        return np.unpackbits(masks, axis=1, count=len(self.rows)).view(bool)

    def share(self) -> int:
        """Return how many branches of the states of one level fit in its share of the memory."""
        # A branch is a set of rows, which is copied when states with the same rows are merged, and some numbers.
        most = MOST_BYTES // self.settings.depth // (6 * self.parts[LEFT].shape[1] + 200)
        return max(1, most if np.isinf(self.deadline) else min(most, _TIMED))

    def _late(self) -> bool:
        self.is_late = self.is_late or time.monotonic() > self.deadline
        return self.is_late

    def model(self, division: Division) -> Node:
        """Return the best model of the only state of a division, whose value is within its budget."""
        option, value = int(division.option[0]), float(division.best[0])
        if option == _STOP:
            return self._model(division.states, 0, value)
        parts = list[Node]()
        for branch in (CAUGHT, LEFT):
            masks, place = division.states.masks & self.parts[branch][[option]], self.place.get(branch)
            states = States(masks, np.full(1, -np.inf), np.zeros(1), division.states.rarest)
            below = 0 if place is None else division.depth - 1
            parts.append(self._model(states, below, 0.0 if place is None else division.bounds[0, place, option]))
        return InnerNode(option, *parts)

    def _model(self, states: States, depth: int, value: float) -> Node:
        """Return a model of a state that attains the given value."""
        total = self.rows.totals(self.live(states.masks))
        if depth == 0 or self.rows.loss.least(total)[0] <= value:
            return LeafNode(self.rows.loss.best(total[:, 0]))
        self.gain, self.deadline = 0.0, np.inf
        return self.model(Division(self, states, depth, np.array([value])))


class Division:
    """The options of some states, with lower bounds on the values of their branches."""

    def __init__(self, search: BranchAndBound, states: States, depth: int, budgets: Floats) -> None:
        self.search, self.states, self.depth, self.budgets = search, states, depth, budgets
        space, n = search.rows.space, len(states)
        shape = n, len(space.branches), space.n_options
        self.best, self.option = np.empty(n), np.full(n, _STOP, dtype=np.intp)  # the best model that is known
        self.bounds, self.sizes, self.is_open = np.empty(shape), np.empty(shape), np.empty(shape, dtype=bool)
        self.cost = np.empty((n, space.n_options))  # of an option itself; infinite if it lacks support
        self.least = np.full((n, space.n_options), -np.inf)  # lower bounds by similar options
        for block in search.rows.blocks(n):
            self._count(block)
            if depth > 1:
                search.progress(search.settings.depth - depth + 1, int(block[-1]) + 1, n)
        self._lower_budgets()
        if depth > 1:
            self._divide()
        self.values = np.minimum(self.best, self._totals().min(axis=1, initial=np.inf))

    def _count(self, block: Index) -> None:
        """Count the rows of the options, and find the best of leaves and single options."""
        search, rows, settings = self.search, self.search.rows, self.search.settings
        live = search.live(self.states.masks[block])
        caught, total = rows.counts(live)
        left, (floor, whole) = total[:, :, None] - caught, rows.floors(live)
        allowed = enough(max(settings.min_rows, 1), caught, left, rows.space)
        if search.width is not None and (self.depth > 2 or search.two is None):  # `LastTwo` takes all options
            allowed &= _narrow(np.where(allowed, _impurity(caught) + _impurity(left), np.inf), search.width)
        cost, single = np.where(allowed, settings.penalty, np.inf), np.where(allowed, settings.penalty, np.inf)
        for branch, part, least in ((CAUGHT, caught, floor), (LEFT, left, whole[:, None] - floor)):
            losses, size = rows.loss.least(part), part.sum(axis=0)
            single += losses
            if (place := search.place.get(branch)) is None:
                cost += losses
                continue
            saves = (losses - least > settings.penalty) & (size >= search.least_divided) & (self.depth > 1)
            self.is_open[block, place], self.sizes[block, place] = saves, size
            self.bounds[block, place] = np.where(saves, least, losses)
        self.cost[block], self.best[block] = cost, rows.loss.least(total)
        self._improve(block, single, np.arange(rows.space.n_options))

    def _improve(self, states: Index, totals: Floats, options: Index) -> None:
        """Take options whose total objective is better than the best so far."""
        if not len(options):
            return
        place = totals.argmin(axis=1)
        least = totals[np.arange(len(states)), place]
        better = least < self.best[states]
        self.best[states[better]], self.option[states[better]] = least[better], options[place[better]]

    def _totals(self, options: Index | slice = slice(None)) -> Floats:
        """Return lower bounds on the objective by the first option."""
        return np.maximum(self.cost[:, options] + self.bounds[:, :, options].sum(axis=1), self.least[:, options])

    def _rounds(self) -> Iterator[Index]:
        """Yield the options in parts, whose branches fit in their share of the memory."""
        similar = self.search.similar
        step = max(1, self.search.share() // (len(self.states) * self.bounds.shape[1]))
        for options in [np.arange(self.bounds.shape[2])] if similar is None else similar.rounds():
            for start in range(0, len(options), step):
                yield options[start : start + step]

    def _divide(self) -> None:
        search = self.search
        for options in self._rounds():
            sizes = self.sizes[:, :, options]
            is_first = sizes >= sizes[:, ::-1]  # both of equal size
            if self.is_open[:, :, options].sum() < _FEW:
                is_first[:] = True
            for chosen in (is_first, ~is_first):
                self._follow(options, chosen)
            totals = self._totals(options)
            known = ~self.is_open[:, :, options].any(axis=1) & (totals <= self._budgets()[:, None])
            self._improve(np.arange(len(totals)), np.where(known, totals, np.inf), options)
            self._lower_budgets()
            if search.similar is not None:
                totals = np.where(np.isfinite(self.cost), self._totals(), -np.inf)
                self.least = search.similar.bounds(totals, self.sizes[:, 0])

    @property
    def _is_list(self) -> bool:
        return self.bounds.shape[1] == 1

    def _budgets(self) -> Floats:
        return self.budgets - self.search.gain

    def _lower_budgets(self) -> None:
        """Lower all budgets if a state of a list, by the cheapest way to it, makes a better list."""
        if self._is_list:
            self.search.gain += max(0.0, float((self._budgets() - self.best).max()))

    def _follow(self, options: Index, chosen: Mask) -> None:
        """Replace the bounds of chosen branches that may be part of a better model by their values."""
        search, limits = self.search, self._budgets()
        if not self._is_list:  # the budgets of lists are at most the best, and a later gain lowers them, not the best
            limits = np.minimum(limits, self.best - search.half)
        totals = self._totals(options)
        chosen = chosen & self.is_open[:, :, options] & (totals <= limits[:, None])[:, None]
        state, branch, place = np.nonzero(chosen)
        if not len(state):
            return
        option = options[place]
        bounds = self.bounds[state, branch, option]
        others = self.cost[state, option] + self.bounds[state, :, option].sum(axis=1) - bounds
        budgets = limits[state] + search.gain - others
        side = branch * self.bounds.shape[2] + option
        masks = self.states.masks[state]
        masks &= search.sides[side]
        first, group = distinct(masks)
        most = np.full(len(first), -np.inf)
        np.maximum.at(most, group, budgets)
        rarest, sizes = self.states.rarest[state[first]], search.side_sizes
        rarest = np.where(sizes[side[first]] < sizes[rarest], side[first], rarest)
        states = States(masks[first], bounds[first], self.sizes[state, branch, option][first], rarest)
        del masks
        self.bounds[state, branch, option] = search.values(states, self.depth - 1, most)[group]
        self.is_open[state, branch, option] = False


def _narrow(impurity: Floats, width: int) -> Mask:
    """Return the options of each state with the least impurity."""
    narrow = np.zeros(impurity.shape, dtype=bool)
    np.put_along_axis(narrow, np.argsort(impurity, axis=1, kind="stable")[:, :width], values=True, axis=1)
    return narrow


def _impurity(counts: Floats) -> Floats:
    """Return the unnormalised Gini impurity, which only ranks the options of a narrow search."""
    size = counts.sum(axis=0)
    return size - (counts**2).sum(axis=0) / np.maximum(size, 1)


def prune(
    rows: PatternMatrix, settings: SearchSettings, known: Optimum, deadline: float, progress: Progress
) -> Optimum:
    """Return the optimum by branch and bound, or after the deadline a known model with a lower bound."""
    if not settings.depth:
        return replace(known, lower_bound=known.objective)
    search = BranchAndBound(rows, settings, deadline=deadline, progress=progress)
    return replace(_better(search, known), stopped_by="time" if search.is_late else None)


def narrow_search(rows: PatternMatrix, settings: SearchSettings, known: Optimum, deadline: float) -> Optimum:
    """Return a good model by following few options of each state, without a lower bound."""
    search = BranchAndBound(rows, settings, width=_width(rows, settings), deadline=deadline)
    better = _better(search, known)
    if search.is_late:
        better = _better(BranchAndBound(rows, settings, width=1), known)
    return replace(better, lower_bound=-np.inf)


def _better(search: BranchAndBound, known: Optimum) -> Optimum:
    """Return the best model of a search, or the known model if that is as good or time is short, with a bound."""
    rows, settings, budget = search.rows, search.settings, known.objective - search.half
    division = Division(search, States.root(rows), settings.depth, np.array([budget]))
    bound = float(division.values[0])
    if search.is_late or bound >= known.objective:
        return replace(known, lower_bound=min(bound, known.objective), n_states=search.n_states)
    model = search.model(division)
    objective = _objective(rows, settings, model, np.ones((1, len(rows)), dtype=bool))
    return Optimum(model, objective, bound, search.n_states)


def _objective(rows: PatternMatrix, settings: SearchSettings, model: Node, here: Mask) -> float:
    if isinstance(model, LeafNode):
        return float(rows.loss.totals(rows.totals(here)[:, 0])[model.value]) / rows.loss.steps
    caught = rows.caught(model.option)
    parts = ((model.caught, here & caught), (model.left, here & ~caught))
    return settings.penalty + sum(_objective(rows, settings, part, mask) for part, mask in parts)


def _width(rows: PatternMatrix, settings: SearchSettings) -> int:
    """Return the number of options of each state that a narrow search follows."""
    steps = max(settings.depth - 1, 1)
    return max(1, int(_NARROW_STATES ** (1 / steps)) // len(rows.space.branches))
