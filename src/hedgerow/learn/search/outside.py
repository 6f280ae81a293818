"""The outside pass of the inside-outside algorithm: the probability that a draw gives each value to each pattern.

The search computes the total weight of all models below each state. The outside pass computes the probability to reach
each state, from the root down:

    P(option taken at a state) = P(state) · go ⊗ value(caught) ⊗ value(left) ⊘ value(state)

Each branch of the option is reached with that probability. If a branch is a leaf, the distribution of its value depends
on its rows. A pattern's probability of a value is the sum over all leaves that contain the pattern. One pass computes
the probabilities for all patterns and values.

References
----------
Baker, *Trainable Grammars for Speech Recognition*, 1979; Eisner, *Inside-Outside and Forward-Backward Algorithms Are
Just Backprop*, 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.learn.search.box_rows import summed
from hedgerow.learn.search.boxes import Axis, Group
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.lattice import Masks, Search
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.space import CAUGHT, LEFT

MOST_WEIGHT = 500
"""The largest weight for which probabilities are computed, so that `LeafShares.negligible` is a normal float64."""


@dataclass(frozen=True, eq=False, repr=False)
class DrawChances:
    """Probabilities of one draw over one table. **Private**: they depend on the rows."""

    values: Floats  # the probability of each value in each pattern's leaf, shape ``(n_patterns, n_values)``
    sizes: Floats  # the probability of each size, the smallest size first
    first: Floats  # the probability that the root is a leaf, then the probability of each option at the root
    uses: Floats  # the expected number of times that the model uses each option


@dataclass(frozen=True)
class LeafShares:
    """The probabilities of a leaf's values, given its rows."""

    loss: Loss  # the loss of a row
    weight: float  # the weight of a loss of 1

    @property
    def negligible(self) -> float:
        """The probability ``1e-45·e^(−weight)``; states with a smaller probability are skipped."""
        # Adding or removing a row multiplies the probability of a state by at most ``e^weight``. So with or without
        # that row, the skipped states have a total probability below 10⁻³⁶ if there are at most 10⁹ of them.
        return float(1e-45 * np.exp(-self.weight))

    def __call__(self, counts: Floats) -> Floats:
        """Return the probabilities of values, shape ``(n_values, ...)``, from counts of shape ``(n_classes, ...)``."""
        losses = self.loss.totals(np.asarray(counts, dtype=np.float64).reshape(len(counts), -1))
        losses -= losses.min(axis=0)
        losses *= -self.weight / self.loss.steps
        shares = np.exp(losses, out=losses)
        shares /= shares.sum(axis=0)
        return shares.reshape(-1, *counts.shape[1:])


def size_chances(totals: Floats) -> Floats:
    """Return the probability of each size from the logarithms of the total weights of each size."""
    shares = np.exp(totals - totals.max())
    return shares / shares.sum()


def last_choices(log_each: Floats, weight: float, totals: Floats, more: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of the labels of a last option's two leaves, for errors of two classes."""
    # If both leaves have the same label, all options of a state have the same loss. If their labels differ, the loss is
    # half of the rows minus half of the excess of correct over wrong rows, which is `more` or its negative.
    log_each = log_each - 2 * np.log(2)
    alike = np.exp(log_each - weight * totals[::-1])
    half, more = (log_each - weight / 2 * totals.sum(axis=0))[..., None], weight / 2 * more.astype(np.float64)
    return alike, np.exp(np.stack([half + more, half - more]))


class _Outside:
    """The private probabilities of a draw over one table, during the outside pass."""

    def __init__(self, shares: LeafShares, n_patterns: int, n_options: int, totals: Sequence[float]) -> None:
        self._shares, self._sizes = shares, size_chances(np.array(totals))
        self._values = np.zeros((len(shares.loss.values), n_patterns))
        self._first, self._uses = np.zeros(1 + n_options), np.zeros(n_options)

    @property
    def chances(self) -> DrawChances:
        return DrawChances(self._values.T, self._sizes, self._first, self._uses)

    def _add_options(self, stopped: Floats, taken: Floats, *, at_root: bool) -> None:
        """Add the probabilities of options, shape ``(n_options,)``."""
        self._uses += taken
        if at_root:
            self._first += np.append(stopped.sum(), taken)


class OutsideMasks(_Outside):
    """The private probabilities of a draw over one table, for states that are sets of sides."""

    def __init__(self, masks: Masks, shares: LeafShares) -> None:
        rows = next(iter(masks.searches.values())).rows
        super().__init__(shares, len(rows), rows.space.n_options, [masks.total(size) for size in masks.searches])
        self._is_two = rows.space.candidates.schema.target.n_levels == 2
        for (size, search), chance in zip(masks.searches.items(), self._sizes, strict=True):
            if search.levels:
                self._sweep(search, masks.values[size], chance)
            else:
                self._first[0] += chance
                self._values += chance * shares(rows.totals(np.ones((1, len(rows)), dtype=bool)))

    def _sweep(self, search: Search, values: list[Floats], chance: float) -> None:
        """Pass the probability of a search on, level by level."""
        reached = np.array([chance])
        for depth in range(len(search.levels)):
            below = np.zeros(len(values[depth + 1]) if depth + 1 < len(values) else 0)
            live = np.flatnonzero(reached > self._shares.negligible)
            is_last = depth + 1 == len(search.levels) and search.semiring.spread is not None and self._is_two
            for block in search.rows.blocks(len(live)):
                if is_last:
                    self._pass_on_last(search, depth, live[block], values[depth], reached[live[block]])
                else:
                    self._pass_on(search, depth, live[block], values, reached[live[block]], below)
            reached = below

    def _pass_on(
        self, search: Search, depth: int, chosen: Index, values: list[Floats], reached: Floats, below: Floats
    ) -> None:
        """Pass the probabilities of the chosen states on to their leaves and to the states `below`."""
        matrix, catches = search.rows, search.rows.catches
        rows = matrix.on(search.levels[depth].states[chosen])
        following = values[depth + 1] if depth + 1 < len(values) else None
        stop, options = search.weigh(depth, chosen, rows, following)
        value = values[depth][chosen]
        caught, total = matrix.counts(rows)
        stopped = reached * np.exp(stop - value)
        taken = reached[:, None] * np.exp(options - value[:, None])
        self._values += (stopped * self._shares(total)) @ rows
        for branch, part in ((CAUGHT, caught), (LEFT, total[..., None] - caught)):
            children = None if following is None else search.levels[depth].children(chosen, branch)
            if children is None:
                option_chances = _summed(rows, self._shares(part) * taken)
                self._values += (option_chances * (catches if branch == CAUGHT else ~catches)).sum(axis=2)
            else:
                places = np.clip(children.ravel(), 0, len(below) - 1)
                below += np.bincount(places, taken.ravel(), minlength=len(below))
        self._add_options(stopped, taken.sum(axis=0), at_root=not depth)

    def _pass_on_last(self, search: Search, depth: int, chosen: Index, value: Floats, reached: Floats) -> None:
        """Pass the probabilities on if one choice is left, by differences of the counts of two classes."""
        matrix, semiring, states = search.rows, search.semiring, search.levels[depth].states[chosen]
        rows, is_open = matrix.on(states), matrix.space.open(states)
        n_open, value = is_open.sum(axis=1), value[chosen]
        caught, totals = matrix.differences(rows), matrix.totals(rows)
        stopped = reached * np.exp(semiring.leaf(totals) + semiring.stop(n_open, depth) - value)
        log_each = np.log(reached) + semiring.go(n_open, depth) - value
        more = 2 * caught - (totals[0] - totals[1])[:, None]
        alike, unlike = last_choices(log_each, self._shares.weight, totals, more)
        unlike *= is_open
        self._values += (stopped * self._shares(totals) + n_open * alike) @ rows
        (first, second), catches = _summed(rows, unlike), matrix.catches
        self._values[0] += np.where(catches, first, second).sum(axis=1)
        self._values[1] += np.where(catches, second, first).sum(axis=1)
        taken = alike.sum(axis=0)[:, None] * is_open + unlike.sum(axis=0)
        self._add_options(stopped, taken.sum(axis=0), at_root=not depth)


def _summed(rows: Mask, chances: Floats) -> Floats:
    """Return sums over the states that contain each pattern, shape ``(n_values, n_patterns, n_options)``."""
    # `rows` has the shape ``(n_states, n_patterns)``, and `chances` has ``(n_values, n_states, n_options)``.
    flat = np.moveaxis(chances, 0, 1).reshape(len(rows), -1)
    return np.moveaxis((rows.T.astype(np.float64) @ flat).reshape(rows.shape[1], len(chances), -1), 1, 0)


class OutsideBoxes(_Outside):
    """The private probabilities of a draw over one table, for states that are boxes."""

    def __init__(self, cubes: Cubes, sizes: range, shares: LeafShares) -> None:
        self._cubes, boxes = cubes, cubes.boxes
        super().__init__(shares, cubes.rows.bins.shape[1], boxes.space.n_options, [cubes.total(size) for size in sizes])
        self._width = cubes.rows.caught_bins.shape[0]
        self._reach_probabilities = {
            left: {group.axes: np.zeros(group.shape) for group in boxes.groups(boxes.depth - left)}
            for left in range(1, boxes.depth + 1)
        }
        for size, chance in zip(sizes, self._sizes, strict=True):
            if size:
                self._reach_probabilities[size][()] += chance
        for left in range(boxes.depth, 0, -1):
            for group in boxes.groups(boxes.depth - left):
                reached = self._reach_probabilities[left][group.axes]
                if not (reached > shares.negligible).any():
                    continue
                if left == 1 and cubes.has_differences:
                    self._pass_on_last(group, reached)
                else:
                    self._pass_on(group, left, reached)
        if sizes[0] == 0:
            self._first[0] += self._sizes[0]
            self._values += self._sizes[0] * shares(cubes.rows.total[:, None])

    def _pass_on(self, group: Group, left: int, reached: Floats) -> None:
        """Pass the probabilities of the boxes of a group on to their leaves and to the boxes below."""
        cubes, value = self._cubes, self._cubes.values[left][group.axes]
        totals, space = summed(cubes.rows.cells(group.axes), group.sets), cubes.boxes.space
        semiring, depth = cubes.semiring, cubes.boxes.depth - left
        stopped = reached * np.exp(semiring.leaf(totals) + semiring.stop(group.n_open, depth) - value)
        self._to_cells(group, stopped * self._shares(totals))
        taken = np.zeros((*group.shape, space.n_options))
        lines = np.zeros((len(self._values), *group.shape, self._width))
        for block, caught, options in cubes.weighed(group, left, totals):
            options -= value[block][..., None]
            taken[block] = np.exp(options, out=options) * reached[block][..., None]
            for branch in (CAUGHT, LEFT):
                if left > 1 and branch in space.branches:
                    continue
                part = caught if branch == CAUGHT else totals[(slice(None), *block)][..., None] - caught
                self._add(lines[(slice(None), *block)], self._shares(part) * taken[block], branch)
        self._to_bins(group, lines)
        for branch in space.branches if left > 1 else ():
            self._to_children(group, left - 1, branch, taken)
        self._add_options(stopped, taken.reshape(-1, space.n_options).sum(axis=0), at_root=not group.axes)

    def _pass_on_last(self, group: Group, reached: Floats) -> None:
        """Pass the probabilities on if one choice is left, by differences of the counts of two classes."""
        cubes, weight, value = self._cubes, self._shares.weight, self._cubes.values[1][group.axes]
        totals, n_open = summed(cubes.rows.cells(group.axes), group.sets), group.n_open
        rows, taken = cubes.rows, np.zeros(cubes.boxes.space.n_options)
        semiring, depth = cubes.semiring, cubes.boxes.depth - 1
        stopped = reached * np.exp(semiring.leaf(totals) + semiring.stop(n_open, depth) - value)
        with np.errstate(divide="ignore"):
            log_each = np.log(reached) + semiring.go(n_open, depth) - value
        lines, alike = np.zeros((2, *group.shape, self._width)), np.zeros((2, *group.shape))
        for block, sides in cubes.sums(group, rows.differences_and_sums[:1], rows.sides, None):
            if not (reached[block] > self._shares.negligible).any():
                continue
            every = (slice(None), *block)
            alike[every], unlike = last_choices(log_each[block], weight, totals[every], sides[0])
            is_open = np.ones(sides[0].shape, dtype=bool)
            for places, closed in group.closed(block, None):
                is_open[..., places] &= ~closed
            unlike *= is_open
            self._add(lines[every], unlike, CAUGHT)
            self._add(lines[every], unlike[::-1], LEFT)
            both = alike[every].sum(axis=0)[..., None] * is_open + unlike.sum(axis=0)
            taken += both.reshape(-1, len(taken)).sum(axis=0)
        self._to_cells(group, stopped * self._shares(totals) + n_open * alike)
        self._to_bins(group, lines)
        self._add_options(stopped, taken, at_root=not group.axes)

    def _add(self, lines: Floats, chances: Floats, branch: int) -> None:
        """Add probabilities by option, ``(..., n_options)``, to the bins of a branch, ``(..., n_bins)``."""
        start = 0
        for axis in self._cubes.boxes.axes:
            bins = axis.caught if branch == CAUGHT else ~axis.caught
            lines[..., start : start + axis.n_bins] += chances[..., axis.options] @ bins.astype(np.float64)
            start += axis.n_bins

    def _to_cells(self, group: Group, chances: Floats) -> None:
        """Add probabilities by box, shape ``(n_values, *boxes)``, to the patterns in the boxes."""
        cells = summed(chances, [sets.T for sets in group.sets]).reshape(len(chances), -1)
        self._values += cells[:, self._cubes.rows.code(group.axes)]

    def _to_bins(self, group: Group, chances: Floats) -> None:
        """Add probabilities by box and bin, shape ``(n_values, *boxes, n_bins)``, to the patterns in both."""
        rows = self._cubes.rows
        lines = summed(chances, [sets.T for sets in group.sets]).reshape(len(chances), -1, self._width)
        code, starts = rows.code(group.axes), np.cumsum([0, *(axis.n_bins for axis in rows.boxes.axes)])
        for start, bins in zip(starts, rows.bins, strict=False):
            self._values += lines[:, code, start + bins]

    def _to_children(self, group: Group, left: int, branch: int, taken: Floats) -> None:
        """Add the probabilities of options, shape ``(*boxes, n_options)``, to the boxes of a branch."""
        sizes = dict(zip(group.axes, group.shape, strict=True))
        for index, axis in enumerate(self._cubes.boxes.axes):
            axes = tuple(sorted({*group.axes, index}))
            place, below = axes.index(index), self._reach_probabilities[left][axes]
            part = taken[..., axis.options]
            part = np.moveaxis(part, place, -2) if index in sizes else part[..., None, :]
            sums = _summed_by_set(axis, branch, sizes.get(index), part, below.shape[place])
            below[tuple(slice(None) if i == index else slice(sizes[i]) for i in axes)] += np.moveaxis(sums, -1, place)


def _summed_by_set(axis: Axis, branch: int, size: int | None, part: Floats, n_sets: int) -> Floats:
    """Return probabilities by child set, from probabilities of shape ``(..., size or 1, n_options)``."""
    from scipy.sparse import csr_array  # slow to import

    # If an option does not divide a set, its probability is 0, so its child index does not matter.
    children = axis.children[branch][:1] if size is None else axis.children[branch][1 : size + 1]
    places = np.clip(children.ravel() - 1, 0, n_sets - 1)
    to = csr_array((np.ones(len(places)), (places, np.arange(len(places)))), shape=(n_sets, len(places)))
    flat = part.reshape(-1, len(places))
    return (to @ flat.T).T.reshape(*part.shape[:-2], n_sets)
