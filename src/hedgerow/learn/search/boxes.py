"""Boxes: the states of a search whose options have one literal each, as the bins that each attribute may still have.

A literal divides the bins of one attribute, so whatever was chosen before, a state is a product of sets of bins, one
set an attribute. Different choices lead to the same box: ``x <= 7`` then ``x <= 3`` is ``x <= 3``. Everything here
follows from the schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations, product
from math import comb, prod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Array, Floats, Index, Mask
from hedgerow.learn.search.space import CAUGHT, LEFT, Space, meet

MOST_SETS = 50_000  # the most sets of bins of one attribute: beyond it, boxes are more than other states
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
    caught: Mask  # the bins that each option catches; it leaves the others
    sets: Mask  # all bins of the root first, then the sets after one choice, after two, and so on
    within: tuple[int, ...]  # how many of the sets are reached within 0, 1, 2, … choices
    # By branch, the set after one more choice, if the option divides the set and one more choice is allowed
    children: dict[int, Index]

    @property
    def n_bins(self) -> int:
        return self.sets.shape[1]

    @cached_property
    def divides(self) -> Mask:
        """The options that divide each set, shape ``(n_sets, n_options)``."""
        return meet(self.sets, self.caught) & meet(self.sets, ~self.caught)


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
        axes: list[Axis] = []
        axis_of = cache(lambda line: _axis(line, space.branches, depth - 1))
        for column, options, line in lines_of(space):
            one = axis_of(line)
            if one is None:
                return None
            axes.append(replace(one, column=column, options=options))
        return cls(space, depth, tuple(axes))

    def groups(self, choices: int) -> Iterator[Group]:
        """Yield the groups of axes that up to so many choices can be about, with their boxes."""
        for size in range(min(choices, len(self.axes)) + 1):
            for group in combinations(range(len(self.axes)), size):
                yield Group(self, group, choices)

    @cached_property
    def sizes(self) -> Sizes:
        of_axes = Counter((n_divisions(axis.caught), axis.n_bins, axis.within) for axis in self.axes)
        return Sizes(self.depth, tuple(of_axes.items()))

    @property
    def n_states(self) -> int:
        return sum(map(self.sizes.count, range(self.depth)))

    @cached_property
    def divisions(self) -> Divisions:
        """The different divisions of boxes: two options are one division if each catches what the other leaves."""
        first: list[int] = []
        times: list[int] = []
        within: list[slice] = []
        for axis in self.axes:
            _, places, counts = np.unique(_parts(axis.caught), return_index=True, return_counts=True)
            order, start = np.argsort(places), len(first)
            first += (axis.options.start + places[order]).tolist()
            times += counts[order].tolist()
            within.append(slice(start, len(first)))
        return Divisions(np.array(first, dtype=np.intp), np.array(times, dtype=np.float64), tuple(within))

    def axis_of(self, option: int) -> int:
        return next(place for place, axis in enumerate(self.axes) if option < axis.options.stop)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a search through boxes; attributes alike are counted together."""

    depth: int  # the most choices
    axes: tuple[tuple[tuple[int, int, tuple[int, ...]], int], ...]  # divisions, bins and `within`, and of how many

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The numbers of bins, and of how many attributes each is."""
        return [(bins, times) for (_, bins, _), times in self.axes]

    @property
    def n_divisions(self) -> int:
        return sum(divisions * times for (divisions, *_), times in self.axes)

    @property
    def first_bins(self) -> float:
        """The bins of the first attribute of a group, on average over the boxes of single attributes."""
        boxes = [(bins, (within[min(1, self.depth - 1)] - 1) * times) for (_, bins, within), times in self.axes]
        return sum(bins * each for bins, each in boxes) / max(1, sum(each for _, each in boxes))

    def count(self, choices: int) -> int:
        """Return how many boxes there are within so many choices, those of each group counted."""
        total = 1
        for size in range(1, choices + 1):
            sizes = [(within[choices - size + 1] - 1, times) for (*_, within), times in self.axes]
            total += _products(sizes, size)
        return total

    def count_tables(self, choices: int) -> int:
        """Return how many groups there are of so many attributes and fewer."""
        return sum(_products([(1, times) for _, times in self.axes], size) for size in range(choices + 1))

    def count_cells(self, choices: int) -> int:
        """Return how many cells the contingency tables of so many attributes and fewer have."""
        return sum(_products(self.bins, size) for size in range(choices + 1))

    def largest_table(self, n_options: int) -> int:
        """Return a bound on the numbers of a table for one class: as counted, and summed over all axes but one."""
        counted, summed = sum(bins * times for bins, times in self.bins) * prod(_largest(self.bins, self.depth - 1)), 0
        for size in range(1, self.depth):
            sets = [(within[self.depth - size] - 1, times) for (*_, within), times in self.axes]
            summed = max(summed, max(bins for bins, _ in self.bins) * prod(_largest(sets, size - 1)))
        return max(counted, summed * n_options)


@dataclass(frozen=True, eq=False)
class Divisions:
    """The different divisions of boxes that options make."""

    options: Index  # the first option that makes each
    times: Floats  # how many options make it
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
    def sets(self) -> list[Mask]:
        return [self.boxes.axes[axis].sets[1 : size + 1] for axis, size in zip(self.axes, self.shape, strict=True)]

    @property
    def n_open(self) -> Index:
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

    def closed(self, block: Block, divisions: Divisions | None) -> Iterator[tuple[slice, Mask]]:
        """Yield some options, or divisions, and which boxes of a block they do not divide, to be broadcast."""
        for place, (axis, size) in enumerate(zip(self.axes, self.shape, strict=True)):
            one = self.boxes.axes[axis]
            closed, some = ~one.divides[1 : size + 1], one.options
            if divisions is not None:
                some = divisions.within[axis]
                closed = closed[:, divisions.options[some] - one.options.start]
            yield some, _along(closed[block[place]] if place < len(block) else closed, place, len(self.axes))


def _along(values: Array, place: int, places: int) -> Array:
    """Return values for one axis of several, to be broadcast over the others."""
    return values.reshape(len(values), *[1] * (places - place - 1), *values.shape[1:])


def _products(sizes: list[tuple[int, int]], factors: int) -> int:
    """Return the sum of the products of every so many of some numbers, each of which is there so often."""
    sums = [1, *[0] * factors]
    for size, times in sizes:
        each = [comb(times, power) * size**power for power in range(factors + 1)]
        sums = [sum(sums[k] * each[power - k] for k in range(power + 1)) for power in range(factors + 1)]
    return sums[factors]


def _largest(sizes: list[tuple[int, int]], most: int) -> list[int]:
    """Return the largest of some numbers, each of which is there so often."""
    return sorted((size for size, times in sizes for _ in range(min(times, most))), reverse=True)[:most]


class Line(NamedTuple):
    """What the sets of bins of one attribute follow from."""

    n_bins: int
    caught: bytes  # the bins that each option catches
    root: bytes  # the bins at the root

    @classmethod
    def of(cls, caught: Mask, root: Mask) -> Self:
        """Return that of the bins that options catch, shape ``(n_options, n_bins)``, and of those at the root."""
        return cls(len(root), caught.tobytes(), root.tobytes())

    @property
    def bins(self) -> tuple[Mask, Mask]:
        """The bins that each option catches, and those at the root."""
        caught, root = (np.frombuffer(part, dtype=bool) for part in (self.caught, self.root))
        return caught.reshape(-1, self.n_bins), root


def lines_of(space: Space) -> Iterator[tuple[int, slice, Line]]:
    """Yield each attribute that has options as its place, its options, and its line, where states are boxes."""
    sizes = [attribute.n_bins for _, attribute in space.candidates.schema.attributes]
    ends, start = np.cumsum(sizes).tolist(), 0
    columns = np.searchsorted(ends, space.candidates.own_bins[space.options].argmax(axis=1), side="right")
    for column, stop in zip(*np.unique(columns, return_counts=True), strict=True):
        options, bins = slice(start, start + int(stop)), slice(ends[column] - sizes[column], ends[column])
        yield int(column), options, Line.of(space.caught[options, bins], space.root[bins])
        start = options.stop


def sets_of(line: Line, branches: tuple[int, ...], choices: int) -> tuple[Mask, tuple[int, ...]] | None:
    """Return the sets of bins of one attribute, breadth first, and how many within 0, 1, …: None if too many."""
    caught, root = line.bins
    kept = [np.packbits(caught if branch == CAUGHT else ~caught, axis=-1) for branch in branches]
    packed, within = np.packbits(root[None], axis=-1), [1]  # eight bins a byte: sets are many
    for _ in range(choices):
        fresh = packed[within[-2] if len(within) > 1 else 0 :]
        if len(fresh) * caught.size > MOST_WORK:
            return None
        sets = _unpacked(fresh, line.n_bins)
        places, options = np.nonzero(meet(sets, caught) & meet(sets, ~caught))
        packed = np.concatenate([packed, *(fresh[places] & part[options] for part in kept)])
        _, first = np.unique(_packed_keys(packed), return_index=True)
        packed = packed[np.sort(first)]
        if len(packed) > MOST_SETS:
            return None
        within.append(len(packed))
    if within[max(len(within) - 2, 0)] * caught.size > MOST_WORK:
        return None
    return _unpacked(packed, line.n_bins), tuple(within)


def _unpacked(packed: NDArray[np.uint8], n_bins: int) -> Mask:
    return np.unpackbits(packed, axis=-1, count=n_bins).astype(bool)


def _axis(line: Line, branches: tuple[int, ...], choices: int) -> Axis | None:
    """Return one attribute, at the first place; None if its sets are too many."""
    found, (caught, _) = sets_of(line, branches, choices), line.bins
    if found is None:
        return None
    sets, within = found
    before, kept = sets[: within[max(len(within) - 2, 0)], None], {CAUGHT: caught, LEFT: ~caught}
    children = {branch: _places(sets, before & kept[branch]) for branch in branches}
    return Axis(0, slice(0, len(caught)), caught, sets, within, children)


def _parts(caught: Mask) -> NDArray[np.void]:
    """Return a key of each option's division, alike for complements."""
    return _keys(caught ^ caught[:, :1])


def n_divisions(caught: Mask) -> int:
    """Return how many different divisions options make."""
    return len(np.unique(_parts(caught)))


def _keys(sets: Mask) -> NDArray[np.void]:
    return _packed_keys(np.packbits(sets, axis=-1))


def _packed_keys(packed: NDArray[np.uint8]) -> NDArray[np.void]:
    packed = np.ascontiguousarray(packed)
    return packed.view(np.dtype((np.void, packed.shape[-1])))[..., 0]


def _places(sets: Mask, parts: Mask) -> Index:
    """Return where each part is among the sets; any place where it is none of them."""
    keys = _keys(sets)
    order = np.argsort(keys)
    return order.take(np.searchsorted(keys, _keys(parts), sorter=order), mode="clip")
