"""Boxes: the states of a search whose options have one literal each, as the bins that each attribute may still have.

A literal divides the bins of one attribute, so whatever was chosen before, a state is a product of sets of bins, one
set an attribute. Different choices lead to the same box: ``x <= 7`` then ``x <= 3`` is ``x <= 3``. Everything here
follows from the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.learn.search.space import CAUGHT, Bins, Space

MOST_SETS = 50_000
"""The most sets of bins of one attribute: beyond it, boxes are more than other states."""
MOST_WORK = 50_000_000
"""The most bins that are looked at to find the sets after one more choice, and bytes that this takes."""
_LEAST_STEP = 16  # sets of the first axis at a time, so that sums are products of matrices
Axes = tuple[int, ...]
Block = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute: the sets of its bins that choices can lead to."""

    column: int  # the place of the attribute in the schema
    options: slice  # its options
    caught: Bins  # the bins that each option catches; it leaves the others
    sets: Bins  # all bins of the root first, then the sets after one choice, after two, and so on
    within: tuple[int, ...]  # how many of the sets are reached within 0, 1, 2, … choices
    # By branch, the set after one more choice, if the option divides the set and one more choice is allowed
    children: dict[int, NDArray[np.intp]]

    @property
    def n_bins(self) -> int:
        """Bins of the attribute."""
        return self.sets.shape[1]

    @cached_property
    def divides(self) -> NDArray[np.bool_]:
        """The options that divide each set, shape ``(n_sets, n_options)``."""
        return _pairs(self.sets, self.caught) & _pairs(self.sets, ~self.caught)

    def child(self, place: int, option: int, branch: int) -> int:
        """Return the set after one more choice."""
        return int(self.children[branch][place, option - self.options.start])


@dataclass(frozen=True, eq=False)
class Boxes:
    """All boxes that can be divided in a search of up to `depth` choices."""

    space: Space  # the options
    depth: int  # the most choices
    axes: tuple[Axis, ...]  # the attributes that have options

    @classmethod
    def of(cls, space: Space, depth: int) -> Self | None:
        """Return the boxes of a search; None where its states are no boxes, or are too many."""
        if not space.has_boxes:
            return None
        columns = np.repeat(np.arange(len(space.candidates.schema)), _sizes(space))
        of_option = columns[(space.caught | space.left).argmax(axis=1)] if space.n_options else np.zeros(0, dtype=int)
        axes: list[Axis] = []
        for column in np.unique(of_option).tolist():
            options, bins = np.flatnonzero(of_option == column), np.flatnonzero(columns == column)
            axis = _axis(space, options, bins, column, depth - 1)
            if axis is None:
                return None
            axes.append(axis)
        return cls(space, depth, tuple(axes))

    def groups(self, choices: int) -> Iterator[Group]:
        """Yield the groups of axes that up to so many choices can be about, with their boxes."""
        for size in range(min(choices, len(self.axes)) + 1):
            for group in combinations(range(len(self.axes)), size):
                yield Group(self, group, choices)

    def count(self, choices: int) -> int:
        """Return how many boxes there are within so many choices, those of each group counted."""
        each = ([axis.within[choices - size + 1] - 1 for axis in self.axes] for size in range(1, choices + 1))
        return 1 + sum(_products(sizes, size) for size, sizes in enumerate(each, 1))

    def count_cells(self, choices: int) -> int:
        """Return how many cells the contingency tables of so many attributes and fewer have."""
        sizes = [axis.n_bins for axis in self.axes]
        return sum(_products(sizes, size) for size in range(choices + 1))

    def largest_table(self) -> int:
        """Return a bound on the numbers of a table for one class: as counted, and summed over all axes but one."""
        bins = sorted((axis.n_bins for axis in self.axes), reverse=True)
        counted, summed = sum(bins) * prod(bins[: self.depth - 1]), 0
        for size in range(1, self.depth):
            sets = sorted((axis.within[self.depth - size] - 1 for axis in self.axes), reverse=True)
            summed = max(summed, bins[0] * prod(sets[: size - 1]))
        return max(counted, summed * self.space.n_options)

    @cached_property
    def divisions(self) -> Divisions:
        """The different divisions of boxes: two options are one division if each catches what the other leaves."""
        first: list[int] = []
        times: list[int] = []
        within: list[slice] = []
        for axis in self.axes:
            parts = axis.caught ^ axis.caught[:, :1]  # alike for complements
            _, places, counts = np.unique(_keys(parts), return_index=True, return_counts=True)
            order, start = np.argsort(places), len(first)
            first += (axis.options.start + places[order]).tolist()
            times += counts[order].tolist()
            within.append(slice(start, len(first)))
        return Divisions(np.array(first, dtype=np.intp), np.array(times, dtype=np.float64), tuple(within))

    def axis_of(self, option: int) -> int:
        """Return the index of the axis of an option."""
        return next(place for place, axis in enumerate(self.axes) if option < axis.options.stop)


@dataclass(frozen=True, eq=False)
class Divisions:
    """The different divisions of boxes that options make."""

    options: NDArray[np.intp]  # the first option that makes each
    times: NDArray[np.float64]  # how many options make it
    within: tuple[slice, ...]  # the divisions of each axis


@dataclass(frozen=True, eq=False)
class Group:
    """The boxes that differ from the root on some axes, on each of them within so many choices."""

    # A few of them need more than all choices; their values are right, and not used.

    boxes: Boxes  # all boxes
    axes: Axes  # the axes, as indices
    choices: int  # the most choices that lead to a box

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of sets of bins that each axis can have."""
        each = self.choices - len(self.axes) + 1
        return tuple(self.boxes.axes[axis].within[each] - 1 for axis in self.axes)

    @property
    def sets(self) -> list[Bins]:
        """The sets of bins of each axis."""
        return [self.boxes.axes[axis].sets[1 : size + 1] for axis, size in zip(self.axes, self.shape, strict=True)]

    @property
    def n_open(self) -> NDArray[np.intp]:
        """The number of options that divide each box."""
        others = (axis.divides[0].sum() for place, axis in enumerate(self.boxes.axes) if place not in self.axes)
        found = np.full(self.shape, sum(others), dtype=np.intp)
        for place, (axis, size) in enumerate(zip(self.axes, self.shape, strict=True)):
            found += _along(self.boxes.axes[axis].divides[1 : size + 1].sum(axis=1), place, len(self.axes))
        return found

    def blocks(self, numbers: int) -> Iterator[Block]:
        """Yield parts of the first two axes, of about so many boxes."""
        first = max(_LEAST_STEP, numbers // max(1, prod(self.shape[1:])))
        steps = first, max(1, numbers // max(1, first * prod(self.shape[2:])))
        each = zip(self.shape, steps, strict=False)
        yield from product(*([slice(at, at + step) for at in range(0, size, step)] for size, step in each))

    def closed(self, block: Block, divisions: Divisions | None) -> Iterator[tuple[slice, Bins]]:
        """Yield some options, or divisions, and which boxes of a block they do not divide, to be broadcast."""
        for place, (axis, size) in enumerate(zip(self.axes, self.shape, strict=True)):
            one = self.boxes.axes[axis]
            closed, some = ~one.divides[1 : size + 1], one.options
            if divisions is not None:
                some = divisions.within[axis]
                closed = closed[:, divisions.options[some] - one.options.start]
            yield some, _along(closed[block[place]] if place < len(block) else closed, place, len(self.axes))


def _along(values: NDArray[Any], place: int, places: int) -> NDArray[Any]:
    """Return values for one axis of several, to be broadcast over the others."""
    return values.reshape(len(values), *[1] * (places - place - 1), *values.shape[1:])


def _products(sizes: list[int], factors: int) -> int:
    """Return the sum of the products of every so many of some numbers."""
    sums = [1, *[0] * factors]
    for size in sizes:
        sums = [1, *(one + size * fewer for fewer, one in pairwise(sums))]
    return sums[factors]


def _sizes(space: Space) -> list[int]:
    return [len(attribute.bins) for _, attribute in space.candidates.schema.attributes]


def _axis(space: Space, options: NDArray[np.intp], bins: NDArray[np.intp], column: int, choices: int) -> Axis | None:
    """Return the sets of bins of one attribute, breadth first; None if they are too many."""
    caught = space.caught[options][:, bins]
    kept = {branch: caught if branch == CAUGHT else ~caught for branch in space.branches}
    sets, within = space.root[None, bins], [1]
    for _ in range(choices):
        fresh = sets[within[-2] if len(within) > 1 else 0 :]
        if len(fresh) * caught.size > MOST_WORK:
            return None
        divided = (_pairs(fresh, caught) & _pairs(fresh, ~caught)).ravel()
        parts = [(fresh[:, None] & part).reshape(-1, len(bins))[divided] for part in kept.values()]
        _, first = np.unique(_keys(np.concatenate([sets, *parts])), return_index=True)
        sets = np.concatenate([sets, *parts])[np.sort(first)]
        if len(sets) > MOST_SETS:
            return None
        within.append(len(sets))
    before = within[max(len(within) - 2, 0)]
    if before * caught.size > MOST_WORK:
        return None
    children = {branch: _places(sets, (sets[:before, None] & part)) for branch, part in kept.items()}
    return Axis(column, slice(int(options[0]), int(options[-1]) + 1), caught, sets, tuple(within), children)


def _pairs(sets: Bins, parts: Bins) -> NDArray[np.bool_]:
    """Return which sets have bins in common with each of some others."""
    with np.errstate(invalid="ignore"):  # matrix products may raise the flag for lanes they do not use
        return sets.astype(np.float32) @ parts.T.astype(np.float32) > 0


def _keys(sets: Bins) -> NDArray[np.void]:
    packed = np.ascontiguousarray(np.packbits(sets, axis=-1))
    return packed.view(np.dtype((np.void, packed.shape[-1])))[..., 0]


def _places(sets: Bins, parts: Bins) -> NDArray[np.intp]:
    """Return where each part is among the sets; any place where it is none of them."""
    keys = _keys(sets)
    order = np.argsort(keys)
    return order.take(np.searchsorted(keys, _keys(parts), sorter=order), mode="clip")
