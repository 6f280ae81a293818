"""The rows of a table by the attributes of a search, as contingency tables of a few attributes.

A contingency table has a cell for each combination of bins. The number of rows of a box that an option catches is a sum
over the contingency table of the box's attributes and the option's attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Self

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Mask, Whole
from hedgerow.learn.search.boxes import Axes, Boxes
from hedgerow.learn.search.lattice import counting_type
from hedgerow.learn.search.space import product
from hedgerow.tally import Tally

_BLOCK_PATTERNS = 2**14  # patterns in a block; more if a table is larger


@dataclass(frozen=True, eq=False)
class BoxRows:
    """The exact, private counts of patterns by the attributes of a search."""

    boxes: Boxes  # the boxes of the search
    bins: Whole  # the bin of each pattern on each axis, shape ``(n_axes, n_patterns)``
    classes: Floats  # the number of rows of each class, shape ``(n_classes, n_patterns)``

    @classmethod
    def of(cls, tally: Tally, boxes: Boxes) -> Self:
        """Return the patterns of a tally without the attributes that have no options."""
        bins, classes = tally.bins_and_counts()
        columns = [axis.column for axis in boxes.axes]
        return cls(boxes, np.ascontiguousarray(bins[:, columns].T), np.ascontiguousarray(classes.T, dtype=np.float64))

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
        sizes = [axis.n_bins for axis in self.boxes.axes]
        starts, width = np.cumsum([0, *sizes])[:-1], sum(sizes)
        cells = [sizes[axis] for axis in group]
        code, counts = self.code(group), np.zeros((len(weights), prod(cells) * width))
        step = max(_BLOCK_PATTERNS, counts.shape[1] // max(len(sizes), 1))
        for start in range(0, len(code), step):
            block = slice(start, start + step)
            places = (starts[:, None] + self.bins[:, block] + code[block] * width).ravel()
            for sums, weight in zip(counts, weights[:, block], strict=True):
                sums += np.bincount(places, np.tile(weight, len(sizes)), len(sums))
        kind = counting_type(self.classes)
        caught = product(counts.reshape(-1, width).astype(kind), factors.astype(kind))
        return caught.reshape(len(weights), *cells, caught.shape[1])

    def code(self, group: Axes) -> Index:
        """Return the cell of each pattern in a group's contingency table, shape ``(n_patterns,)``."""
        code = np.zeros(self.bins.shape[1], dtype=np.intp)
        for axis in group:
            code = code * self.boxes.axes[axis].n_bins + self.bins[axis]
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
