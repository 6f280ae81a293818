"""The rows of a table by the attributes of a search, as contingency tables of a few attributes.

A contingency table has a cell for each combination of bins. The number of rows of a box that an option catches is a sum
over the contingency table of the box's attributes and the option's attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Self

import numpy as np

from hedgerow.boundary.arrays import Floats, Mask, Whole
from hedgerow.learn.search.boxes import Axes, Boxes
from hedgerow.learn.search.lattice import counting_type
from hedgerow.learn.search.space import product
from hedgerow.tally import Tally

# Axes are merged up to this many cells, so that summing the cells takes less time than counting the patterns.
LEAST_CELLS, _PATTERNS_PER_CELL = 2**11, 16


@dataclass(frozen=True, eq=False)
class MergedAxes:
    """Axes that are counted together, by the combinations of their bins, and then summed to the bins of each axis.

    This takes one addition for each pattern instead of one for each pattern and axis.
    """

    n_cells: int  # the number of combinations of bins
    code: Whole  # the combination of each pattern, shape ``(n_patterns,)``
    bins: slice  # the places of the axes' bins in the bins of all axes
    members: Floats  # 1 if a combination contains a bin, else 0, shape ``(n_cells, n_bins)``

    @classmethod
    def of(cls, rows: BoxRows, axes: Axes) -> Self:
        sizes = [axis.n_bins for axis in rows.boxes.axes]
        own, start = [sizes[axis] for axis in axes], sum(sizes[: axes[0]])
        places = np.indices(own).reshape(len(own), -1)
        members = np.hstack([np.eye(size)[place] for size, place in zip(own, places, strict=True)])
        return cls(prod(own), rows.code(axes), slice(start, start + sum(own)), members)


@dataclass(frozen=True, eq=False)
class BoxRows:
    """The exact, private counts of patterns by the attributes of a search."""

    boxes: Boxes  # the boxes of the search
    bins: Whole  # the bin of each pattern on each axis, shape ``(n_axes, n_patterns)``
    classes: Floats  # the number of rows of each class, shape ``(n_classes, n_patterns)``
    _merged_by_digits: dict[int, list[MergedAxes]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, tally: Tally, boxes: Boxes) -> Self:
        """Return the patterns of a tally without the attributes that have no options."""
        bins, classes = tally.bins_and_counts()
        of_axes = [axis.bin_of.astype(bins.dtype)[bins[:, axis.column]] for axis in boxes.axes]
        places = np.array(of_axes, dtype=bins.dtype).reshape(len(of_axes), len(bins))
        return cls(boxes, places, np.ascontiguousarray(classes.T, dtype=np.float64))

    @cached_property
    def total(self) -> Floats:
        """The number of rows of each class, shape ``(n_classes,)``."""
        return self.classes.sum(axis=1)

    @cached_property
    def differences_and_sums(self) -> Floats:
        """The differences and the sums of the counts of two classes, shape ``(2, n_patterns)``."""
        return np.stack([self.classes[0] - self.classes[1], self.classes.sum(axis=0)])

    def caught(self, option: int) -> tuple[int, Mask]:
        """Return the axis of an option, and a mask of the patterns that it catches, shape ``(n_patterns,)``."""
        index = self.boxes.axis_of(option)
        axis = self.boxes.axes[index]
        return index, axis.caught[option - axis.options.start][self.bins[index]]

    def cells(self, group: Axes) -> Floats:
        """Return the contingency table of a group of axes, shape ``(n_classes, *bins of the group)``."""
        sizes = [self.boxes.axes[axis].n_bins for axis in group]
        code = self.code(group)
        counts = [np.bincount(code, weights, prod(sizes)).reshape(sizes) for weights in self.classes]
        return np.stack(counts).astype(np.float64)

    def table(self, group: Axes, weights: Floats, factors: Floats) -> Floats:
        """Return the sum of weights times factors for each option in each cell of a group's contingency table.

        Shape ``(n_weights, *bins of the group, n_options)``; `factors` are columns of `caught_bins` or of `sides`.
        """
        kind = counting_type(self.classes)
        cells, code = [self.boxes.axes[axis].n_bins for axis in group], self.code(group)
        n_cells = prod(cells)
        by_bins = np.empty((len(weights), n_cells, len(factors)), dtype=kind)
        for merged in self._merged((max(LEAST_CELLS, len(code) // _PATTERNS_PER_CELL) // n_cells).bit_length() - 1):
            places, shape = code * merged.n_cells + merged.code, (n_cells, merged.n_cells)
            for sums, weight in zip(by_bins, weights, strict=True):
                counts = np.bincount(places, weight, prod(shape)).reshape(shape).astype(kind)
                sums[:, merged.bins] = product(counts, merged.members.astype(kind))
        caught = product(by_bins.reshape(-1, len(factors)), factors.astype(kind))
        return caught.reshape(len(weights), *cells, caught.shape[1])

    def _merged(self, digits: int) -> list[MergedAxes]:
        """Return all axes, in groups of consecutive axes with at most ``2**digits`` cells, or of one axis."""
        if digits not in self._merged_by_digits:
            sizes, groups = [axis.n_bins for axis in self.boxes.axes], list[list[int]]()
            for axis, size in enumerate(sizes):
                if groups and size * prod(sizes[other] for other in groups[-1]) <= 2**digits:
                    groups[-1].append(axis)
                else:
                    groups.append([axis])
            self._merged_by_digits[digits] = [MergedAxes.of(self, tuple(group)) for group in groups]
        return self._merged_by_digits[digits]

    def code(self, group: Axes) -> Whole:
        """Return the cell of each pattern in a group's contingency table, shape ``(n_patterns,)``."""
        code = np.zeros(self.bins.shape[1], dtype=np.int32)
        for axis in group:
            code *= self.boxes.axes[axis].n_bins
            code += self.bins[axis]
        return code

    @cached_property
    def caught_bins(self) -> Floats:
        """1 if an option catches a bin of its axis, else 0, shape ``(bins of all axes, n_options)``."""
        return np.maximum(self.sides, 0)

    @cached_property
    def sides(self) -> Floats:
        """1 if an option catches a bin of its axis, -1 if not, 0 for other axes, with the shape of `caught_bins`."""
        starts = np.cumsum([0, *(axis.n_bins for axis in self.boxes.axes)])
        signs = np.zeros((starts[-1], self.boxes.space.n_options))
        for start, axis in zip(starts, self.boxes.axes, strict=False):
            signs[start : start + axis.n_bins, axis.options] = 2.0 * axis.caught.T - 1
        return signs


def summed(table: Floats, sets: Sequence[Mask], first: int = 1) -> Floats:
    """Return a table summed from bins to sets of bins, starting with its axis `first`."""
    for place, members in enumerate(sets, first):
        before, after = table.shape[:place], table.shape[place + 1 :]
        lines = table.reshape(prod(before), table.shape[place], prod(after))
        table = product(members.astype(table.dtype), lines).reshape(*before, len(members), *after)
    return table
