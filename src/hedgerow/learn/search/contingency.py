"""Contingency tables of a few attributes, and the rows that each option catches in each box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from hedgerow.learn.search.boxes import Axes, Boxes
from hedgerow.learn.search.lattice import EXACT_IN_FLOAT32
from hedgerow.learn.search.semirings import Floats
from hedgerow.tally import Tally

_BLOCK_PATTERNS = 2**17


@dataclass(frozen=True, eq=False)
class BoxRows:
    """The patterns of a tally by the attributes of a search: exact, private."""

    boxes: Boxes  # what is searched
    bins: NDArray[np.intp]  # the bin of each pattern on each axis
    classes: Floats  # the rows of each class

    @classmethod
    def of(cls, tally: Tally, boxes: Boxes) -> Self:
        """Return the patterns of a tally; bins of attributes without options are left out."""
        bins, classes = tally.bins_and_counts()
        columns = [axis.column for axis in boxes.axes]
        return cls(boxes, bins[:, columns].astype(np.intp), np.ascontiguousarray(classes.T, dtype=np.float64))

    @cached_property
    def total(self) -> Floats:
        """The rows of each class, shape ``(n_classes,)``."""
        return self.classes.sum(axis=1)

    @cached_property
    def differences_and_sums(self) -> Floats:
        """Of two classes, how many more rows the first has, and the rows of both, shape ``(2, n_patterns)``."""
        return np.stack([self.classes[0] - self.classes[1], self.classes.sum(axis=0)])

    def caught(self, option: int) -> tuple[int, NDArray[np.bool_]]:
        """Return the axis of an option, and which patterns it catches, shape ``(n_patterns,)``."""
        axis = self.boxes.axis_of(option)
        one = self.boxes.axes[axis]
        return axis, one.caught[option - one.options.start][self.bins[:, axis]]

    def only(self, mask: NDArray[np.bool_]) -> BoxRows:
        """Return some of the patterns."""
        return BoxRows(self.boxes, self.bins[mask], self.classes[:, mask])

    def cells(self, group: Axes) -> Floats:
        """Return the contingency table of a group of axes, shape ``(n_classes, *bins of the group)``."""
        sizes = [self.boxes.axes[axis].n_bins for axis in group]
        code = self.code(group)
        counts = [np.bincount(code, one, prod(sizes)).reshape(sizes) for one in self.classes]
        return np.stack(counts).astype(np.float64)

    def table(self, group: Axes, weights: Floats, factors: Floats) -> Floats:
        """Return for each option the sum of weights in each cell of a group's contingency table, times its factors.

        Shape ``(n_weights, *bins of the group, n_options)``; `factors` are columns of `caught_bins` or of `sides`.
        """
        sizes = [axis.n_bins for axis in self.boxes.axes]
        starts, width = np.cumsum([0, *sizes])[:-1], sum(sizes)
        cells = [sizes[axis] for axis in group]
        code, counts = self.code(group), np.zeros((len(weights), prod(cells) * width))
        for start in range(0, len(code), _BLOCK_PATTERNS):
            block = slice(start, start + _BLOCK_PATTERNS)
            places = (code[block, None] * width + (starts + self.bins[block])).ravel()
            for one, weight in zip(counts, weights[:, block], strict=True):
                one += np.bincount(places, np.repeat(weight, len(sizes)), len(one))
        kind = np.float32 if self.total.sum() < EXACT_IN_FLOAT32 else np.float64
        with np.errstate(invalid="ignore"):  # matrix products may raise the flag for lanes they do not use
            caught: Any = counts.reshape(-1, width).astype(kind) @ factors.astype(kind)
        return caught.reshape(len(weights), *cells, caught.shape[1])

    def code(self, group: Axes) -> NDArray[np.intp]:
        """Return the cell of each pattern in a group's contingency table, shape ``(n_patterns,)``."""
        code = np.zeros(len(self.bins), dtype=np.intp)
        for axis in group:
            code = code * self.boxes.axes[axis].n_bins + self.bins[:, axis]
        return code

    @cached_property
    def caught_bins(self) -> Floats:
        """1 where an option catches a bin of its axis, else 0, shape ``(bins of all axes, n_options)``."""
        return np.maximum(self.sides, 0)

    @cached_property
    def sides(self) -> Floats:
        """1 where an option catches a bin of its axis, -1 where it leaves it, 0 for other axes, of the same shape."""
        return np.asarray(block_diag(*(2.0 * axis.caught.T - 1 for axis in self.boxes.axes)), dtype=np.float64)


def summed(table: Floats, sets: Sequence[NDArray[np.bool_]], first: int = 1) -> Floats:
    """Return a table summed from bins to sets of bins, from its axis `first` on."""
    for place, members in enumerate(sets, first):
        before, after = table.shape[:place], table.shape[place + 1 :]
        lines = table.reshape(prod(before), table.shape[place], prod(after))
        with np.errstate(invalid="ignore"):
            table = (members.astype(table.dtype) @ lines).reshape(*before, len(members), *after)
    return table
