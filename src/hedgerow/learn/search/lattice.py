"""Dynamic programming over all rule lists, or all trees, of a size.

The remaining rows depend on the set of choices only, not on their order. A state is a set of sides (`Space`) and the
rows on all of them. A state may stop and be a leaf, or take an open option. The option divides its rows into caught and
left rows; each part is a leaf or a state of the next level:

    value(state) = stop ⊗ leaf(rows)  ⊕  ⊕ over options of  go ⊗ value(caught) ⊗ value(left)

`Semiring` defines ⊕ and ⊗. With (min, +) the value is the smallest loss of a model; with (Σ, ×) in logarithms it is the
normaliser of the exponential mechanism over all models. `sweep` computes the value of every state once, the deepest
level first; `walk` then builds a model from the root down. The caller provides the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Array, Floats, Index, Integers, Mask, Whole
from hedgerow.learn.search.losses import LeafLoss, Loss
from hedgerow.learn.search.semirings import CLOSED, LastChoice, Semiring
from hedgerow.learn.search.space import CAUGHT, LEFT, Space, product
from hedgerow.tally import Tally

Choose = Callable[[Floats], int]
_BLOCK_BYTES = 2**24  # of the largest matrix of a block of states: fits in the cache
EXACT_IN_FLOAT32 = 2**24  # integers, and sums of integers, below this are exact in single precision


def counting_type(counts: Array) -> type[np.floating]:
    """Return single precision if all sums of these counts, which may be negative, are exact in it, else double."""
    return np.float32 if np.abs(counts).sum() < EXACT_IN_FLOAT32 else np.float64


class PatternMatrix:
    """Patterns of a tally as matrices. Exact, private."""

    def __init__(self, tally: Tally, space: Space, loss: LeafLoss | None = None) -> None:
        satisfied, counts = tally.patterns(space.candidates)
        caught = satisfied.T[space.options]
        self.space = space
        self.loss: LeafLoss = Loss.of("errors", counts.shape[1]) if loss is None else loss
        self._sides = np.vstack([{CAUGHT: caught, LEFT: ~caught}[branch] for branch in space.branches])
        floor = self.loss.least(counts.T)
        kind = np.result_type(counting_type(counts), counting_type(self.loss.steps * floor))
        self._caught = caught.T.astype(kind)
        self._counts = counts.T.astype(kind)
        self._floor = floor.astype(kind)

    def __len__(self) -> int:
        return self._sides.shape[1]

    @property
    def satisfied(self) -> NDArray[np.floating]:
        """1 if a pattern satisfies an option, else 0, shape ``(n_patterns, n_options)``."""
        return self._caught

    @property
    def weights(self) -> NDArray[np.floating]:
        """The rows of each class and pattern, shape ``(n_classes, n_patterns)``."""
        return self._counts

    @property
    def unavoidable(self) -> NDArray[np.floating]:
        """The least loss of each pattern's rows, shape ``(n_patterns,)``."""
        return self._floor

    def blocks(self, n_states: int) -> Iterator[Index]:
        size = max(1, _BLOCK_BYTES // (8 * max(len(self), self.space.n_options * len(self._counts), 1)))
        for start in range(0, n_states, size):
            yield np.arange(start, min(start + size, n_states))

    def on(self, states: Whole) -> Mask:
        """Return which patterns are on all sides of each state, shape ``(n_states, n_patterns)``."""
        rows = np.ones((len(states), len(self)), dtype=bool)
        for side in states.T:
            rows &= self._sides[side]
        return rows

    @property
    def catches(self) -> Mask:
        """The options that catch each pattern, shape ``(n_patterns, n_options)``."""
        return self._caught > 0

    def caught(self, options: int | Index) -> Mask:
        """Return which patterns an option catches, shape ``(n_patterns,)``; for several options, a row for each."""
        return self._caught.T[options] > 0

    def counts(self, rows: Mask) -> tuple[Floats, Floats]:
        """Return the rows of each class that each option catches, and all rows of each class."""
        # Shapes ``(n_classes, n_states, n_options)`` and ``(n_classes, n_states)``.
        weighted = [self._weighted(rows, weights) for weights in self._counts]
        return np.stack([caught for caught, _ in weighted]), np.stack([total for _, total in weighted])

    def differences(self, rows: Mask) -> Floats:
        """Return the caught rows of the first of two classes minus the second, shape ``(n_states, n_options)``."""
        first, second = self._counts
        return product(rows * (first - second), self._caught).astype(np.float64)

    @property
    def side_sizes(self) -> Floats:
        """The rows on each side, shape ``(n_sides,)``."""
        return self._sides @ self._counts.sum(axis=0, dtype=np.float64)

    def by_class(
        self, rows: Mask, options: Index, flipped: Mask
    ) -> list[tuple[NDArray[np.floating], NDArray[np.floating]]]:
        """Return for each class which options catch the patterns of some states, and their rows."""
        # Shapes ``(n, n_options)``, with `options` in this order and complements of the flipped, and ``(n, n_states)``.
        tables, in_any_state = [], rows.any(axis=0)
        for weights in self._counts:
            here = np.flatnonzero(in_any_state & (weights > 0))
            caught = (self._caught[np.ix_(here, options)] != flipped).astype(self._caught.dtype)
            tables.append((caught, np.multiply(rows[:, here].T, weights[here, None], order="C")))
        return tables

    def floors(self, rows: Mask) -> tuple[Floats, Floats]:
        """Return a lower bound on the loss of every model, because equal rows are in the same leaf."""
        # For the caught rows, shape ``(n_states, n_options)``, and for all rows, shape ``(n_states,)``.
        return self._weighted(rows, self._floor)

    def totals(self, rows: Mask) -> Floats:
        """Return the rows of each class, shape ``(n_classes, n_states)``."""
        return np.stack([(rows * weights).sum(axis=1, dtype=np.float64) for weights in self._counts])

    def _weighted(self, rows: Mask, weights: NDArray[np.floating]) -> tuple[Floats, Floats]:
        weighted = rows * weights
        return product(weighted, self._caught).astype(np.float64), weighted.sum(axis=1, dtype=np.float64)


class Level(Protocol):
    """States after a number of choices, as sets of sides, shape ``(n_states, n_choices)``."""

    @property
    def states(self) -> Whole: ...

    def children(self, chosen: Index, branch: int) -> Whole | None:
        """Return the index in the next level of each option's branch, shape ``(n_chosen, n_options)``.

        -1 if a branch is not searched further; None if no branch is.
        """
        ...


@dataclass(frozen=True)
class LeafNode:
    """Leaf with the index of its value in the loss, such as its class; None if it is not known yet."""

    value: int | None


@dataclass(frozen=True)
class InnerNode:
    """Inner node with the index of its option, and both subtrees."""

    option: int
    caught: Node
    left: Node


Node = InnerNode | LeafNode


def value_of(part: Node) -> int:
    assert isinstance(part, LeafNode)
    assert part.value is not None
    return part.value


@dataclass(frozen=True)
class Search:
    """Recursion over the rows of a table in a semiring."""

    rows: PatternMatrix
    levels: Sequence[Level]  # the states that may take an option, the root's level first
    semiring: Semiring
    min_rows: float = 0.0  # rows that an option must catch and, in a tree, leave; always 0 in a private search

    def weigh(self, depth: int, chosen: Index, rows: Mask, following: Floats | None) -> tuple[Floats, Floats]:
        """Return the weights of stopping, shape ``(n,)``, and of each option, shape ``(n, n_options)``."""
        level, space, semiring = self.levels[depth], self.rows.space, self.semiring
        caught, total = self.rows.counts(rows)
        left = total[:, :, None] - caught
        is_open = space.open(level.states[chosen])
        if self.min_rows:
            is_open &= enough(self.min_rows, caught, left, space)
        n_open = is_open.sum(axis=1)
        options = np.repeat(semiring.go(n_open, depth)[:, None], space.n_options, axis=1)
        for branch, part in ((CAUGHT, caught), (LEFT, left)):
            weight = semiring.leaf(part)
            children = None if following is None else level.children(chosen, branch)
            if children is not None and following is not None:
                weight = np.where(children >= 0, following.take(children, mode="clip"), weight)
            options += weight
        options[~is_open] = semiring.zero
        return semiring.leaf(total) + semiring.stop(n_open, depth), options

    def sweep(self, last: Floats | None = None, progress: Callable[[int], object] = lambda _: None) -> list[Floats]:
        """Return the values of the states of every level."""
        # States without rows are skipped, because their value is 0 in both semirings.
        last = self._last_values(progress) if last is None else last
        values: list[Floats] = [] if last is None else [last]
        for depth in reversed(range(len(self.levels) - len(values))):
            level = self.levels[depth]
            value, once = np.zeros(len(level.states), self.semiring.kind), np.ones(self.rows.space.n_options)
            for block in self.rows.blocks(len(value)):
                rows = self.rows.on(level.states[block])
                live = np.flatnonzero(rows.any(axis=1))
                stop, options = self.weigh(depth, block[live], rows[live], values[0] if values else None)
                value[block[live]] = self.semiring.plus(stop, options, once)
                progress(len(block))
            values.insert(0, value)
        return values

    def _last_values(self, progress: Callable[[int], object]) -> Floats | None:
        """Return the values of states with one remaining choice from differences of counts, or None if unsuitable."""
        # The rows that an option leaves follow from the rows that it catches, so a single product serves both sides.
        total = self.rows.totals(np.ones((1, len(self.rows)), dtype=bool))[:, 0]
        last = LastChoice.of(self.semiring, total, len(self.levels) - 1)
        level, space = self.levels[-1] if len(self.levels) > 1 else None, self.rows.space
        if last is None or not isinstance(level, ExhaustiveLevel) or self.min_rows:
            return None
        sets, values = self.levels[-2].states, np.zeros(len(level.states))
        highest = sets.max(axis=1, initial=-1)
        for block in self.rows.blocks(len(sets)):
            rows = self.rows.on(sets[block])
            live = np.flatnonzero(rows.any(axis=1))
            above, (caught, total) = block[live], self.rows.counts(rows[live])
            by_branch = {CAUGHT: caught, LEFT: total[:, :, None] - caught}
            is_new = {
                branch: (space.sides(branch) > highest[above, None]) & by_branch[branch].any(axis=0)
                for branch in space.branches
            }
            places, options = np.logical_or.reduce(list(is_new.values())).nonzero()
            for part in self.rows.blocks(len(places)):
                place, option = places[part], options[part]
                more = self.rows.differences(rows[live[place]] & self.rows.caught(option))
                of_all = (caught[0] - caught[1])[place]
                for branch, each in ((CAUGHT, more), (LEFT, of_all - more)):
                    if branch in space.branches:
                        new, side = is_new[branch][place, option], space.sides(branch)[option]
                        states = np.column_stack([sets[above[place]], side])[new]
                        totals = by_branch[branch][:, place, option][:, new]
                        where = level.places(above[place[new]], side[new])
                        values[where] = self._last_of(last, states, totals, each[new])
            progress(int((space.n_sides - 1 - highest[block]).sum()))
        return values

    def _last_of(self, last: LastChoice, states: Whole, totals: Floats, more: Floats) -> Floats:
        """Return the values of sets of sides from their rows and the differences of caught rows."""
        is_open = self.rows.space.open(states)
        differences = np.abs(2 * more - (totals[0] - totals[1])[:, None])
        differences[~is_open] = CLOSED
        return last.values(totals, is_open.sum(axis=1), differences, np.ones(is_open.shape[1]))

    def walk(
        self,
        values: Sequence[Floats],
        choose_option: Choose,
        choose_value: Choose,
        rows: Mask | None = None,
        last: Callable[[int, Mask], Node] | None = None,
    ) -> Node:
        """Build a model from the root down."""
        # `choose_option` takes the weights of stopping and of the open options, and returns an index. `choose_value`
        # takes the rows of each class in a leaf, and returns the index of its value. `rows` are the rows of the root,
        # shape ``(1, n_patterns)``, by default all. `last` builds the model below a state of the last level.

        def below(depth: int, index: int, rows: Mask) -> Node:
            if depth == len(self.levels) or index < 0:
                return LeafNode(choose_value(self.rows.totals(rows)[:, 0]))
            if last is not None and depth == len(self.levels) - 1:
                return last(index, rows)
            chosen, level = np.array([index]), self.levels[depth]
            following = values[depth + 1] if depth + 1 < len(self.levels) else None
            stop, options = self.weigh(depth, chosen, rows, following)
            taken = np.flatnonzero(options[0] != self.semiring.zero)
            place = choose_option(np.append(stop, options[0, taken]))
            if not place:
                return LeafNode(choose_value(self.rows.totals(rows)[:, 0]))
            option = int(taken[place - 1])
            parts: list[Node] = []
            for branch, part in ((CAUGHT, self.rows.caught(option)), (LEFT, ~self.rows.caught(option))):
                children = None if following is None else level.children(chosen, branch)
                parts.append(below(depth + 1, -1 if children is None else int(children[0, option]), rows & part))
            return InnerNode(option, *parts)

        return below(0, 0, np.ones((1, len(self.rows)), dtype=bool) if rows is None else rows)


def enough(min_rows: float, caught: Floats, left: Floats, space: Space) -> Mask:
    """Return which options catch and, in a tree, leave at least `min_rows` rows; from counts by class."""
    allowed = caught.sum(axis=0) >= min_rows
    return allowed & (left.sum(axis=0) >= min_rows) if CAUGHT in space.branches else allowed


class Masks:
    """Values of all sets of sides over a table, by the size of the search. Exact, private."""

    def __init__(
        self, search: Search, sizes: Iterable[int], progress: Callable[[int], object] = lambda _: None
    ) -> None:
        self.searches = {size: replace(search, levels=search.levels[:size]) for size in sizes}
        self.values = {size: part.sweep(progress=progress) for size, part in self.searches.items()}

    def total(self, size: int) -> float:
        if values := self.values[size]:
            return values[0][0].item()
        search = self.searches[size]
        return search.semiring.leaf(search.rows.totals(np.ones((1, len(search.rows)), dtype=bool)))[0].item()

    def walk(self, size: int, choose_option: Choose, choose_value: Choose) -> Node:
        return self.searches[size].walk(self.values[size], choose_option, choose_value)


@dataclass(frozen=True, eq=False)
class ExhaustiveLevel:
    """All states after a number of choices."""

    space: Space
    states: Whole  # all sets of sides of this size, each increasing, in colexicographic order

    def children(self, chosen: Index, branch: int) -> Integers | None:
        """Return the index of each state with one more side; any index if it already contains the side."""
        if branch not in self.space.branches:
            return None
        side = self.space.sides(branch)
        states = self.states[chosen]
        place = np.zeros((len(states), len(side)), dtype=np.int64)
        before = np.zeros_like(place)
        members = range(self.states.shape[1] + 2)
        binomials = np.array([[comb(n, k) for k in members] for n in range(self.space.n_sides)], dtype=np.int64)
        for i, member in enumerate(states.T[:, :, None], 1):
            smaller = member < side
            place += np.where(smaller, binomials[member, i], binomials[member, i + 1])
            before += smaller
        return place + binomials[side, before + 1]

    def places(self, chosen: Index, side: Index) -> Index:
        """Return the index of sets of this level, given each set without its highest side, and this side."""
        size = self.states.shape[1]
        return chosen + np.array([comb(n, size) for n in range(self.space.n_sides)], dtype=np.intp)[side]


def exhaustive_levels(space: Space, depth: int) -> list[ExhaustiveLevel]:
    """Return the levels of a search to `depth` options, those that have states."""
    levels = [ExhaustiveLevel(space, np.zeros((1, 0), dtype=np.int32))]
    while len(levels) < min(depth, space.n_sides + 1):
        taken, states = len(levels), levels[-1].states
        parts = [
            np.column_stack([states[: comb(last, taken - 1)], np.full(comb(last, taken - 1), last, dtype=np.int32)])
            for last in range(taken - 1, space.n_sides)
        ]
        levels.append(ExhaustiveLevel(space, np.concatenate(parts)))
    return levels[:depth]
