"""Boxes: the states of a search whose options have one literal each, as products of sets of bins.

A literal divides the bins of one attribute. So every state is a product of sets of bins, with one set for each
attribute. Different choices can lead to the same box: ``x <= 7`` then ``x <= 3`` is ``x <= 3``. This module uses the
schema and the options, not the rows.
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

MOST_SETS = 200_000  # largest number of sets of bins of one attribute for a search over boxes
MOST_WORK = 50_000_000
"""The largest number of bins compared, and of bytes used, to compute the sets after one more choice."""
Axes = tuple[int, ...]
Block = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute, and the sets of its bins that choices can lead to.

    Neighbouring bins of the attribute that no option divides are one bin of the axis.
    """

    column: int  # the attribute's index in the schema
    options: slice  # the options on the attribute
    bin_of: Index  # the bin of the axis for each bin of the attribute
    caught: Mask  # the bins that each option catches, shape ``(n_options, n_bins)``
    sets: Mask  # the bins of the root, then the sets after one choice, after two choices, and so on
    within: tuple[int, ...]  # the number of sets reached within 0, 1, 2, … choices
    # The index of the set after one more choice, by branch. It is valid only if the option divides the set.
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
    depth: int  # the largest number of choices
    axes: tuple[Axis, ...]  # the attributes that have options

    @classmethod
    def of(cls, space: Space, depth: int) -> Self | None:
        """Return the boxes of a search, or None if its states are not boxes or an attribute has too many sets."""
        if not space.has_boxes:
            return None
        axes: list[Axis] = []
        axis_of = cache(lambda line: _axis(line, space.branches, depth - 1))
        for column, options, bin_of, line in lines_of(space):
            axis = axis_of(line)
            if axis is None:
                return None
            axes.append(replace(axis, column=column, options=options, bin_of=bin_of))
        return cls(space, depth, tuple(axes))

    def groups(self, choices: int) -> Iterator[Group]:
        """Yield the boxes that up to `choices` choices can lead to, grouped by the axes they restrict."""
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
        """The different divisions of boxes; an option and its complement make the same division."""
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
    """Sizes of a search through boxes, with attributes of equal sizes counted together."""

    depth: int  # the largest number of choices
    # The numbers of divisions and bins, `within`, and the number of attributes that share them
    axes: tuple[tuple[tuple[int, int, tuple[int, ...]], int], ...]

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The numbers of bins, each with the number of attributes that have it."""
        return [(bins, times) for (_, bins, _), times in self.axes]

    @property
    def n_divisions(self) -> int:
        return sum(divisions * times for (divisions, *_), times in self.axes)

    @property
    def first_bins(self) -> float:
        """The mean number of bins of an attribute, weighted by its number of boxes after one choice."""
        boxes = [(bins, (within[min(1, self.depth - 1)] - 1) * times) for (_, bins, within), times in self.axes]
        return sum(bins * n_boxes for bins, n_boxes in boxes) / max(1, sum(n_boxes for _, n_boxes in boxes))

    def count(self, choices: int) -> int:
        """Return the number of boxes in all groups for `choices` choices."""
        total = 1
        for size in range(1, choices + 1):
            sizes = [(within[choices - size + 1] - 1, times) for (*_, within), times in self.axes]
            total += _products(sizes, size)
        return total

    def count_tables(self, choices: int) -> int:
        """Return the number of groups of at most `choices` attributes."""
        return sum(_products([(1, times) for _, times in self.axes], size) for size in range(choices + 1))

    def count_cells(self, choices: int) -> int:
        """Return the number of cells in the contingency tables of at most `choices` attributes."""
        return sum(_products(self.bins, size) for size in range(choices + 1))

    def largest_table(self, n_options: int, n_classes: int) -> int:
        """Return an upper bound on the size of the largest table of a group, in numbers for all classes."""
        # A table counts rows of each class, or holds the rows, numbers of options and values of the boxes of the last
        # choice, or the values of both branches of all options of the boxes before.
        width = sum(bins * times for bins, times in self.bins)
        counted = n_classes * width * prod(_largest(self.bins, self.depth - 1))
        last, before = (self._largest_group(choices) for choices in (self.depth - 1, self.depth - 2))
        return max(counted, (n_classes + 4) * last, 3 * n_options * before)

    def _largest_group(self, choices: int) -> int:
        """Return an upper bound on the number of boxes of a group for `choices` choices."""
        sizes = (
            [(within[choices - size + 1] - 1, n) for (*_, within), n in self.axes] for size in range(1, choices + 1)
        )
        return max((prod(_largest(group, size)) for size, group in enumerate(sizes, 1)), default=1)


@dataclass(frozen=True, eq=False)
class Divisions:
    """The different divisions of boxes that options make."""

    options: Index  # the first option that makes each division
    times: Floats  # the number of options that make each division
    within: tuple[slice, ...]  # the divisions on each axis


@dataclass(frozen=True, eq=False)
class Group:
    """The boxes that differ from the root on the same axes."""

    # The product also contains boxes that need more than `choices` choices. Their values are correct, but not used.

    boxes: Boxes  # all boxes
    axes: Axes  # the indices of the axes
    choices: int  # the largest number of choices that lead to a box

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of sets of bins on each axis."""
        choices = self.choices - len(self.axes) + 1
        return tuple(self.boxes.axes[axis].within[choices] - 1 for axis in self.axes)

    @property
    def sets(self) -> list[Mask]:
        return [self.boxes.axes[axis].sets[1 : size + 1] for axis, size in zip(self.axes, self.shape, strict=True)]

    @property
    def n_open(self) -> Index:
        """The number of options that divide each box."""
        root_counts = (axis.divides[0].sum() for place, axis in enumerate(self.boxes.axes) if place not in self.axes)
        counts = np.full(self.shape, sum(root_counts), dtype=np.intp)
        for place, (axis, size) in enumerate(zip(self.axes, self.shape, strict=True)):
            counts += _along(self.boxes.axes[axis].divides[1 : size + 1].sum(axis=1), place, len(self.axes))
        return counts

    def blocks(self, numbers: int) -> Iterator[Block]:
        """Yield slices of all axes but the first that hold about `numbers` boxes; later axes change faster."""
        steps = list[int]()
        for size in reversed(self.shape[1:]):
            steps.insert(0, max(1, min(size, numbers)))
            numbers //= steps[0]
        extents = zip(self.shape[1:], steps, strict=True)
        yield from product(*([slice(at, at + step) for at in range(0, size, step)] for size, step in extents))

    def closed(self, block: Block, divisions: Divisions | None) -> Iterator[tuple[slice, Mask]]:
        """Yield the options (or divisions) of each axis, and a broadcastable mask of the boxes they do not divide."""
        for place, (index, size) in enumerate(zip(self.axes, self.shape, strict=True)):
            axis = self.boxes.axes[index]
            closed, options = ~axis.divides[1 : size + 1], axis.options
            if divisions is not None:
                options = divisions.within[index]
                closed = closed[:, divisions.options[options] - axis.options.start]
            yield options, _along(closed[block[place]] if place < len(block) else closed, place, len(self.axes))


def _along(values: Array, place: int, places: int) -> Array:
    """Return the values of one axis, reshaped to broadcast over the axes after it."""
    return values.reshape(len(values), *[1] * (places - place - 1), *values.shape[1:])


def _products(sizes: list[tuple[int, int]], factors: int) -> int:
    """Return the sum of products over all choices of `factors` numbers; `sizes` has numbers and multiplicities."""
    sums = [1, *[0] * factors]
    for size, times in sizes:
        terms = [comb(times, power) * size**power for power in range(factors + 1)]
        sums = [sum(sums[k] * terms[power - k] for k in range(power + 1)) for power in range(factors + 1)]
    return sums[factors]


def _largest(sizes: list[tuple[int, int]], most: int) -> list[int]:
    """Return the `most` largest numbers; `sizes` has numbers and multiplicities."""
    return sorted((size for size, times in sizes for _ in range(min(times, most))), reverse=True)[:most]


class Line(NamedTuple):
    """The bins and options of one attribute, as a hashable key; bins that no option divides are one bin."""

    n_bins: int
    caught: bytes  # the bins that each option catches
    root: bytes  # the bins at the root

    @classmethod
    def of(cls, caught: Mask, root: Mask) -> Self:
        """Return the key for the bins that options catch, shape ``(n_options, n_bins)``, and the bins at the root."""
        is_first = first_bins(caught, root)
        return cls(int(is_first.sum()), caught[:, is_first].tobytes(), root[is_first].tobytes())

    @property
    def bins(self) -> tuple[Mask, Mask]:
        """The bins that each option catches, and the bins at the root."""
        caught, root = (np.frombuffer(part, dtype=bool) for part in (self.caught, self.root))
        return caught.reshape(-1, self.n_bins), root


def first_bins(caught: Mask, root: Mask) -> Mask:
    """Return which bins an option, or the root, divides from the bin before."""
    columns = np.vstack([caught, root])
    return np.append(True, (columns[:, 1:] != columns[:, :-1]).any(axis=0))


def lines_of(space: Space) -> Iterator[tuple[int, slice, Index, Line]]:
    """Yield the index, the options, the axis's bins and the `Line` of each attribute that has options."""
    sizes = [attribute.n_bins for _, attribute in space.candidates.schema.attributes]
    ends, start = np.cumsum(sizes).tolist(), 0
    for column, stop in zip(*np.unique(space.attributes, return_counts=True), strict=True):
        options, bins = slice(start, start + int(stop)), slice(ends[column] - sizes[column], ends[column])
        caught, root = space.caught[options, bins], space.root[bins]
        yield int(column), options, np.cumsum(first_bins(caught, root)) - 1, Line.of(caught, root)
        start = options.stop


def sets_of(line: Line, branches: tuple[int, ...], choices: int) -> tuple[Mask, tuple[int, ...]] | None:
    """Return the sets of bins of one attribute and the numbers within 0, 1, … choices, or None if too many."""
    caught, root = line.bins
    kept = [np.packbits(caught if branch == CAUGHT else ~caught, axis=-1) for branch in branches]
    packed, within = (
        np.packbits(root[None], axis=-1),
        [1],
    )  # packed to eight bins per byte, because there can be many sets
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
    """Return an attribute with placeholders for its column, options and bins, or None if it has too many sets."""
    reachable, (caught, _) = sets_of(line, branches, choices), line.bins
    if reachable is None:
        return None
    sets, within = reachable
    before, kept = sets[: within[max(len(within) - 2, 0)], None], {CAUGHT: caught, LEFT: ~caught}
    children = {branch: _places(sets, before & kept[branch]) for branch in branches}
    return Axis(0, slice(0, len(caught)), np.arange(line.n_bins), caught, sets, within, children)


def _parts(caught: Mask) -> NDArray[np.void]:
    """Return a key of each option's division, the same for an option and its complement."""
    return _keys(caught ^ caught[:, :1])


def n_divisions(caught: Mask) -> int:
    """Return the number of different divisions that options make."""
    return len(np.unique(_parts(caught)))


def _keys(sets: Mask) -> NDArray[np.void]:
    return _packed_keys(np.packbits(sets, axis=-1))


def _packed_keys(packed: NDArray[np.uint8]) -> NDArray[np.void]:
    packed = np.ascontiguousarray(packed)
    return packed.view(np.dtype((np.void, packed.shape[-1])))[..., 0]


def _places(sets: Mask, parts: Mask) -> Index:
    """Return the index of each part among the sets; the index is arbitrary if the part is not among them."""
    keys = _keys(sets)
    order = np.argsort(keys)
    return order.take(np.searchsorted(keys, _keys(parts), sorter=order), mode="clip")
