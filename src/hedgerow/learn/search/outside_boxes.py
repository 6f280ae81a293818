"""The outside pass over boxes: from contingency tables back to patterns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hedgerow.learn.search.boxes import Axis, Group
from hedgerow.learn.search.contingency import summed
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.outside import DrawChances, LeafShares, last_choices, size_chances
from hedgerow.learn.search.semirings import Floats
from hedgerow.learn.search.space import CAUGHT, LEFT


class OutsideBoxes:
    """The chances of a draw over the boxes of one table: exact, private."""

    def __init__(self, cubes: Cubes, sizes: range, shares: LeafShares) -> None:
        self._cubes, self._shares, boxes = cubes, shares, cubes.boxes
        self._width = cubes.rows.caught_bins.shape[0]
        self._values = np.zeros((len(shares.loss.values), len(cubes.rows.bins)))
        self._first, self._uses = np.zeros(1 + boxes.space.n_options), np.zeros(boxes.space.n_options)
        self._come = {
            left: {group.axes: np.zeros(group.shape) for group in boxes.groups(boxes.depth - left)}
            for left in range(1, boxes.depth + 1)
        }
        self._sizes = size_chances(np.array([cubes.total(size) for size in sizes]))
        for size, chance in zip(sizes, self._sizes, strict=True):
            if size:
                self._come[size][()] += chance
        for left in range(boxes.depth, 0, -1):
            for group in boxes.groups(boxes.depth - left):
                come = self._come[left][group.axes]
                if not (come > shares.negligible).any():
                    continue
                if left == 1 and cubes.has_differences:
                    self._pass_on_last(group, come)
                else:
                    self._pass_on(group, left, come)
        if sizes[0] == 0:
            self._first[0] += self._sizes[0]
            self._values += self._sizes[0] * shares(cubes.rows.total[:, None])

    @property
    def chances(self) -> DrawChances:
        """What was found."""
        return DrawChances(self._values.T, self._sizes, self._first, self._uses)

    def _pass_on(self, group: Group, left: int, come: Floats) -> None:
        """Pass the chances to come to the boxes of a group on to their leaves and to the boxes below."""
        cubes, value = self._cubes, self._cubes.values[left][group.axes]
        totals, space = summed(cubes.rows.cells(group.axes), group.sets), cubes.boxes.space
        semiring = cubes.semiring
        stopped = come * np.exp(semiring.leaf(totals) + semiring.stop(group.n_open) - value)
        self._to_cells(group, stopped * self._shares(totals))
        taken = np.zeros((*group.shape, space.n_options))
        lines = np.zeros((len(self._values), *group.shape, self._width))
        for block, caught, options in cubes.weighed(group, left, totals):
            options -= value[block][..., None]
            taken[block] = np.exp(options, out=options) * come[block][..., None]
            for branch in (CAUGHT, LEFT):
                if left > 1 and branch in space.branches:
                    continue
                part = caught if branch == CAUGHT else totals[(slice(None), *block)][..., None] - caught
                self._add(lines[(slice(None), *block)], self._shares(part) * taken[block], branch)
        self._to_bins(group, lines)
        for branch in space.branches if left > 1 else ():
            self._to_children(group, left - 1, branch, taken)
        self._tell(group, stopped, taken.reshape(-1, space.n_options).sum(axis=0))

    def _pass_on_last(self, group: Group, come: Floats) -> None:
        """Pass the chances on where one choice is left, of errors of two classes: by differences of counts."""
        cubes, weight, value = self._cubes, self._shares.weight, self._cubes.values[1][group.axes]
        totals, n_open = summed(cubes.rows.cells(group.axes), group.sets), group.n_open
        rows, taken = cubes.rows, np.zeros(cubes.boxes.space.n_options)
        stopped = come * np.exp(cubes.semiring.leaf(totals) + cubes.semiring.stop(n_open) - value)
        with np.errstate(divide="ignore"):
            log_each = np.log(come) + cubes.semiring.go(n_open) - value
        lines, alike = np.zeros((2, *group.shape, self._width)), np.zeros((2, *group.shape))
        for block, sides in cubes.sums(group, rows.differences_and_sums[:1], rows.sides, None):
            if not (come[block] > self._shares.negligible).any():
                continue
            every = (slice(None), *block)
            alike[every], unlike = last_choices(log_each[block], weight, totals[every], sides[0])
            is_open = np.ones(sides[0].shape, dtype=bool)
            for some, closed in group.closed(block, None):
                is_open[..., some] &= ~closed
            unlike *= is_open
            self._add(lines[every], unlike, CAUGHT)
            self._add(lines[every], unlike[::-1], LEFT)
            both = alike[every].sum(axis=0)[..., None] * is_open + unlike.sum(axis=0)
            taken += both.reshape(-1, len(taken)).sum(axis=0)
        self._to_cells(group, stopped * self._shares(totals) + n_open * alike)
        self._to_bins(group, lines)
        self._tell(group, stopped, taken)

    def _add(self, lines: Floats, chances: Floats, branch: int) -> None:
        """Add the chances of options, shape ``(..., n_options)``, to the bins of a branch, shape ``(..., n_bins)``."""
        start = 0
        for axis in self._cubes.boxes.axes:
            bins = axis.caught if branch == CAUGHT else ~axis.caught
            lines[..., start : start + axis.n_bins] += chances[..., axis.options] @ bins.astype(np.float64)
            start += axis.n_bins

    def _tell(self, group: Group, stopped: Floats, taken: Floats) -> None:
        """Add what is known of the options, shape ``(n_options,)``."""
        self._uses += taken
        if not group.axes:
            self._first += np.append(stopped.sum(), taken)

    def _to_cells(self, group: Group, chances: Floats) -> None:
        """Give chances of values in boxes, shape ``(n_values, *boxes)``, to the patterns in these."""
        cells = summed(chances, [sets.T for sets in group.sets]).reshape(len(chances), -1)
        self._values += cells[:, self._cubes.rows.code(group.axes)]

    def _to_bins(self, group: Group, chances: Floats) -> None:
        """Give chances of values in boxes and one more bin, shape ``(n_values, *boxes, n_bins)``, to the patterns."""
        rows = self._cubes.rows
        lines = summed(chances, [sets.T for sets in group.sets]).reshape(len(chances), -1, self._width)
        code, starts = rows.code(group.axes), np.cumsum([0, *(axis.n_bins for axis in rows.boxes.axes)])
        for start, bins in zip(starts, rows.bins.T, strict=False):
            self._values += lines[:, code, start + bins]

    def _to_children(self, group: Group, left: int, branch: int, taken: Floats) -> None:
        """Give the chances of options, shape ``(*boxes, n_options)``, to the boxes of a branch."""
        sizes = dict(zip(group.axes, group.shape, strict=True))
        for axis, one in enumerate(self._cubes.boxes.axes):
            axes = tuple(sorted({*group.axes, axis}))
            place, come = axes.index(axis), self._come[left][axes]
            part = taken[..., one.options]
            part = np.moveaxis(part, place, -2) if axis in sizes else part[..., None, :]
            given = _given(one, branch, sizes.get(axis), part, come.shape[place])
            come[tuple(slice(None) if i == axis else slice(sizes[i]) for i in axes)] += np.moveaxis(given, -1, place)


def _given(axis: Axis, branch: int, size: int | None, part: Floats, n_sets: int) -> NDArray[np.float64]:
    """Return what each set of an axis is given, from chances by set and option, shape ``(..., size or 1, n_options)``.

    Where an option does not divide a set, the chance is 0 and the set given any.
    """
    children = axis.children[branch][:1] if size is None else axis.children[branch][1 : size + 1]
    places = np.clip(children.ravel() - 1, 0, n_sets - 1)
    to = csr_array((np.ones(len(places)), (places, np.arange(len(places)))), shape=(n_sets, len(places)))
    flat = part.reshape(-1, len(places))
    return (to @ flat.T).T.reshape(*part.shape[:-2], n_sets)
