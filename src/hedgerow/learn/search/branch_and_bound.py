"""Branch and bound: the best rule list or tree of a table without the values of all states.

States are searched level by level. In trees with errors as the loss, the values of the last two choices are computed
together. States with the same rows are merged. An option is followed only if these bounds allow it to be part of a
better model:

- support: the option catches (in a tree also leaves) enough rows, and a followed branch has enough rows to be divided;
- equivalent points: rows with the same pattern are in the same leaf of any model, so their loss is at least the loss of
  their best value (Angelino et al., *Learning Certifiably Optimal Rule Lists*, JMLR 2018, Section 3.14);
- best so far: the best complete list for lists, and the best leaf or single split of the same rows for trees.

The bounds hold for any loss that is a sum over rows of terms that depend on the class and on the value of the leaf, of
any sign. This search must not be used under differential privacy, because the visited states depend on the labels.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Floats, Index, Mask, Whole
from hedgerow.learn.search.last_two import LastTwo
from hedgerow.learn.search.lattice import LeafNode, Node, PatternMatrix, Search, enough
from hedgerow.learn.search.optimum import Limit, Optimum, Progress, SearchSettings
from hedgerow.learn.search.semirings import least_loss
from hedgerow.learn.search.space import CAUGHT, LEFT, Space

MOST_BYTES = 2**31  # memory for the followed branches of one level; above it, the search stops and reports its gap
_QUICK_STATES = 20_000  # target for the number of states in the last level of the quick search
_GOING_DOWN = 0.4  # share of the time limit for going down; going back up through the states takes about as long
_QUICK = 0.1  # largest share of the time limit for the quick search


@dataclass(frozen=True, eq=False)
class Edges:
    """Followed branches of one kind, each from a state by an option to a state of the next level."""

    state: Index  # in increasing order
    option: Index
    child: Index


@dataclass(eq=False)
class PrunedLevel:
    """The distinct states of one depth that may be part of an optimal model."""

    space: Space  # the options
    states: Whole  # one set of sides that leads to each state
    edges: dict[int, Edges] = field(default_factory=dict[int, Edges])  # followed branches, by kind

    def children(self, chosen: Index, branch: int) -> Index | None:
        """Return the next level's state for the branch of each option, or -1 if the branch is not followed."""
        if branch not in self.edges:
            return None
        edges = self.edges[branch]
        start, stop = np.searchsorted(edges.state, [chosen[0], chosen[-1] + 1]) if len(chosen) else (0, 0)
        place = np.searchsorted(chosen, edges.state[start:stop])
        here = chosen[place] == edges.state[start:stop]
        children = np.full((len(chosen), self.space.n_options), -1, dtype=np.intp)
        children[place[here], edges.option[start:stop][here]] = edges.child[start:stop][here]
        return children


@dataclass(frozen=True, eq=False)
class Expansion:
    """Levels of a search, and the limit that stopped it, if any."""

    levels: list[PrunedLevel]  # the levels, starting with the root
    best: float  # the smallest objective of any visited list; not used for trees
    stopped_by: Limit | None = None  # if a limit was reached, the last level is the frontier


@dataclass(frozen=True, eq=False)
class _BranchLosses:
    """Losses and lower bounds for a block of states and for both branches of each option."""

    stop: Floats
    allowed: Mask
    losses: tuple[Floats, Floats]
    floors: tuple[Floats, Floats]
    sizes: tuple[Floats, Floats]
    impurity: Floats

    @classmethod
    def of(cls, rows: PatternMatrix, states: Whole, live: Mask, min_rows: float) -> _BranchLosses:
        caught, total = rows.counts(live)
        left = total[:, :, None] - caught
        floor, whole = rows.floors(live)
        least = rows.loss.least
        allowed = rows.space.open(states) & enough(max(min_rows, 1), caught, left, rows.space)
        return cls(
            stop=least(total),
            allowed=allowed,
            losses=(least(caught), least(left)),
            floors=(floor, whole[:, None] - floor),
            sizes=(caught.sum(axis=0), left.sum(axis=0)),
            impurity=_impurity(caught) + _impurity(left),
        )


def expand(
    rows: PatternMatrix,
    settings: SearchSettings,
    *,
    best: float = np.inf,
    width: int | None = None,
    deadline: float = np.inf,
    progress: Progress = lambda *_: None,
    root: Whole | None = None,
) -> Expansion:
    space = rows.space
    levels = [PrunedLevel(space, np.zeros((1, 0), dtype=np.int32) if root is None else root)]
    reached = np.zeros(1)
    while len(levels) < settings.depth:
        step = _LevelExpansion(rows, settings, levels[-1], reached, best, width)
        for done in step.blocks():
            progress(len(levels), done, len(levels[-1].states))
            if time.monotonic() > deadline:
                return Expansion(levels, step.best, "time")
            if step.n_bytes > MOST_BYTES:
                return Expansion(levels, step.best, "memory")
        best = step.best
        following, reached = step.finish()
        if not len(following.states):
            break
        levels.append(following)
    return Expansion(levels[: settings.depth], best, None if width is None else "width")


class _LevelExpansion:
    """The expansion of one level into the next."""

    def __init__(
        self,
        rows: PatternMatrix,
        settings: SearchSettings,
        level: PrunedLevel,
        reached: Floats,
        best: float,
        width: int | None,
    ) -> None:
        self.rows, self.settings, self.level = rows, settings, level
        self.reached, self.best, self.width = reached, best, width
        self.n_bytes = 0
        caught = np.packbits(rows.catches.T, axis=1)
        self._parts = {CAUGHT: caught, LEFT: ~caught}
        self._branches: list[tuple[int, Index, Index, NDArray[np.uint8], Floats]] = []

    def blocks(self) -> Iterator[int]:
        """Expand the level's states block by block, and yield the number of expanded states."""
        for block in self.rows.blocks(len(self.level.states)):
            states = self.level.states[block]
            live = self.rows.on(states)
            split = _BranchLosses.of(self.rows, states, live, self.settings.min_rows)
            packed = np.packbits(live, axis=1)
            for branch, keep in self._promising(split, block).items():
                state, option = np.nonzero(keep)
                masks = packed[state]
                masks &= self._parts[branch][option]
                cost = self.reached[block][state] + self.settings.penalty + split.losses[CAUGHT][state, option]
                self._branches.append((branch, block[state], option, masks, cost))
                self.n_bytes += masks.nbytes + 32 * len(state)
            yield int(block[-1]) + 1

    def _promising(self, split: _BranchLosses, block: Index) -> dict[int, Mask]:
        """Return masks of the options whose branches are followed, shape ``(n, n_options)`` for each branch."""
        settings, space = self.settings, self.rows.space
        keep = split.allowed
        if CAUGHT in space.branches:
            single = np.where(keep, sum(split.losses) + settings.penalty, np.inf).min(axis=1, initial=np.inf)
            known = np.minimum(split.stop, single)[:, None]
            keep = keep & (sum(split.floors) + settings.penalty < known)
            least = 2 * max(settings.min_rows, 1)
        else:
            cost = self.reached[block][:, None] + settings.penalty + split.losses[CAUGHT]
            lists = np.where(keep, cost + split.losses[LEFT], np.inf).min(initial=np.inf)
            self.best = float(min(self.best, lists, (self.reached[block] + split.stop).min(initial=np.inf)))
            keep = keep & (cost + split.floors[LEFT] < self.best)
            least = max(settings.min_rows, 1)
        if self.width is not None:
            order = np.argsort(np.where(split.allowed, split.impurity, np.inf), axis=1, kind="stable")
            narrow = np.zeros(keep.shape, dtype=bool)
            np.put_along_axis(narrow, order[:, : self.width], values=True, axis=1)
            keep = keep & narrow
        saved = {branch: split.losses[branch] - split.floors[branch] > settings.penalty for branch in space.branches}
        return {branch: keep & is_saved & (split.sizes[branch] >= least) for branch, is_saved in saved.items()}

    def finish(self) -> tuple[PrunedLevel, Floats]:
        """Return the next level of distinct states, with the cost of the cheapest path to each."""
        space = self.rows.space
        branches = np.concatenate([np.full(len(part[1]), part[0]) for part in self._branches])
        state, option, masks, cost = (np.concatenate([part[i] for part in self._branches]) for i in (1, 2, 3, 4))
        first, group = _distinct(masks)
        reached = np.full(len(first), np.inf)
        np.minimum.at(reached, group, cost)
        side = np.where(branches == CAUGHT, space.sides(space.branches[0])[option], space.sides(LEFT)[option])
        states = np.column_stack([self.level.states[state[first]], side[first]]).astype(np.int32)
        for branch in space.branches:
            places = np.flatnonzero(branches == branch)
            self.level.edges[branch] = Edges(state[places], option[places], group[places])
        return PrunedLevel(space, states), reached


def _impurity(counts: Floats) -> Floats:
    """Return the unnormalised Gini impurity, which only ranks the options of a quick search."""
    size = counts.sum(axis=0)
    return size - (counts**2).sum(axis=0) / np.maximum(size, 1)


def _distinct(masks: NDArray[np.uint8]) -> tuple[Index, Index]:
    """Return the first row of each group of equal rows, and the group of every row."""
    # Rows are ordered by a hash, and neighbours are then compared exactly. So a collision of hashes can leave equal
    # rows in two groups, but cannot put different rows into the same group.
    words = np.pad(masks, ((0, 0), (0, -masks.shape[1] % 8))).view(np.uint64)
    key = np.zeros(len(masks), dtype=np.uint64)
    for word in words.T:
        key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    order = np.argsort(key, kind="stable")
    new = np.ones(len(order), dtype=bool)
    new[1:] = (words[order[1:]] != words[order[:-1]]).any(axis=1)
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.cumsum(new) - 1
    return order[new], group


def prune(rows: PatternMatrix, settings: SearchSettings, time_limit: float | None, progress: Progress) -> Optimum:
    """Return the optimum by branch and bound, with a quick search that follows few options."""
    # The quick search provides a fallback model. For lists it runs first, because its objective is also a bound.
    start, limit = time.monotonic(), np.inf if time_limit is None else time_limit

    def quickly() -> list[Expansion]:
        narrow, deadline = partial(expand, rows, settings), time.monotonic() + _QUICK * limit
        expansions = [narrow(width=_width(rows, settings), deadline=deadline)]
        return expansions if time.monotonic() <= deadline else [*expansions, narrow(width=1)]

    quick_searches = [] if CAUGHT in rows.space.branches else quickly()
    two = LastTwo.of(rows, settings.depth, settings.penalty, settings.min_rows)
    above = settings if two is None else replace(settings, depth=settings.depth - 1)
    best = min((search.best for search in quick_searches), default=np.inf)
    full, last = expand(rows, above, best=best, deadline=start + _GOING_DOWN * limit, progress=progress), None
    if two is not None and full.stopped_by is None and len(full.levels) == above.depth:
        states = full.levels[-1].states

        def report(done: int) -> None:
            progress(above.depth, done, len(states))
            if time.monotonic() > start + (1 - _QUICK) * limit:
                raise TimeoutError

        try:
            last = two.values(states, report)
        except TimeoutError:
            full = replace(full, stopped_by="time")
    if full.stopped_by is not None and not quick_searches:
        quick_searches = quickly()
    models = [
        _best_of(rows, settings, full.levels, last),
        *(_best_of(rows, settings, search.levels) for search in quick_searches),
    ]
    results = [(_objective(rows, settings, model, np.ones((1, len(rows)), dtype=bool)), model) for model in models]
    objective, model = min(results, key=lambda pair: pair[0])
    bound = objective if full.stopped_by is None else min(objective, _bound(rows, settings, full))
    return Optimum(model, objective, bound, sum(len(level.states) for level in full.levels), full.stopped_by)


def _width(rows: PatternMatrix, settings: SearchSettings) -> int:
    """Return the number of options of each state that the quick search follows."""
    steps = max(settings.depth - 1, 1)
    return max(1, int(_QUICK_STATES ** (1 / steps)) // len(rows.space.branches))


def _best_of(
    rows: PatternMatrix,
    settings: SearchSettings,
    levels: list[PrunedLevel],
    last: Floats | None = None,
    here: Mask | None = None,
) -> Node:
    """Return the best model below the levels' first state; `last` has the last level's values with two choices left."""

    def two(index: int, live: Mask) -> Node:
        below = replace(settings, depth=2)
        return _best_of(rows, below, expand(rows, below, root=levels[-1].states[[index]]).levels, here=live)

    search = Search(rows, levels, least_loss(settings.penalty, rows.loss), max(settings.min_rows, 1))
    values, choose = search.sweep(last=last), lambda weights: int(weights.argmin())
    return search.walk(values, choose, rows.loss.best, here, two if last is not None else None)


def _objective(rows: PatternMatrix, settings: SearchSettings, model: Node, here: np.ndarray) -> float:
    if isinstance(model, LeafNode):
        return float(rows.loss.totals(rows.totals(here)[:, 0])[model.value]) / rows.loss.steps
    caught = rows.caught(model.option)
    parts = ((model.caught, here & caught), (model.left, here & ~caught))
    return settings.penalty + sum(_objective(rows, settings, part, mask) for part, mask in parts)


def _bound(rows: PatternMatrix, settings: SearchSettings, expansion: Expansion) -> float:
    """Return a lower bound for all models, with the unavoidable loss as the value of unexpanded states."""
    frontier = expansion.levels[-1]
    floors = np.zeros(len(frontier.states))
    for block in rows.blocks(len(floors)):
        floors[block] = rows.floors(rows.on(frontier.states[block]))[1]
    search = Search(rows, expansion.levels, least_loss(settings.penalty, rows.loss), max(settings.min_rows, 1))
    return float(search.sweep(last=floors)[0][0])
