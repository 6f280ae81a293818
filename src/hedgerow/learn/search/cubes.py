"""Recursion over boxes by data cubes, with counts from contingency tables.

The number of rows of a box that an option catches is a sum over the contingency table of a few attributes. So the
tables are counted first and then summed from bins to sets of bins. The recursion of `lattice` then computes the value
of each box. With `j` choices left:

    value_j(box) = stop ⊗ leaf(rows)  ⊕  ⊕ over options of  go ⊗ value_{j-1}(caught) ⊗ value_{j-1}(left)

The value does not depend on the choices that led to a box, and the searches of all sizes share it. The boxes and their
order depend on the schema and the options, not on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.learn.search.box_rows import BoxRows, summed
from hedgerow.learn.search.boxes import Axes, Block, Boxes, Divisions, Group
from hedgerow.learn.search.compiled import Loops, OpenTimes, Steps, loops
from hedgerow.learn.search.lattice import EXACT_IN_FLOAT32, Choose, InnerNode, LeafNode, Node, enough
from hedgerow.learn.search.semirings import CLOSED, LastChoice, Semiring, SumOfSpreads
from hedgerow.learn.search.space import CAUGHT, LEFT
from hedgerow.tally import Tally

_BLOCK_NUMBERS = 2**19  # boxes times options in a block, so that the counts fit in the cache
_LEAST_STEP = 16  # least number of sets of the first axis in a block, so that sums are products of matrices
Box = dict[int, int]  # the index of the set of bins, for each axis that a choice restricts


class Cubes:
    """The exact, private values of all boxes over one table."""

    # `values` maps the number of choices left, then the axes of a group, to an array of the group's shape.

    def __init__(
        self,
        tally: Tally,
        boxes: Boxes,
        semiring: Semiring,
        min_rows: float = 0.0,
        progress: Callable[[int], object] = lambda _: None,
        *,
        relaxed: bool = False,  # if true, last choices may catch fewer rows, and values are lower bounds
    ) -> None:
        self.boxes, self.semiring = boxes, semiring
        self._min_rows = [0.0 if relaxed else min_rows, *[min_rows] * boxes.depth]  # by choices left after
        self.rows = BoxRows.of(tally, boxes)
        self._last = LastChoice.of(semiring, self.rows.total, boxes.depth - 1)
        self._progress, is_small = progress, self.rows.total.sum() < EXACT_IN_FLOAT32
        has_loops = is_small and self._last is not None and self._last.has_loops
        self._loops = loops(boxes.n_states * boxes.space.n_options) if has_loops else None
        self.values: list[dict[Axes, Floats]] = [{}]
        for left in range(1, boxes.depth + 1):
            values: dict[Axes, Floats] = {}
            for group in boxes.groups(boxes.depth - left):
                values[group.axes] = self._valued(group, left)
            self.values.append(values)

    @property
    def has_differences(self) -> bool:
        """Whether the values of last choices follow from differences of the counts of two classes."""
        return self._last is not None

    def total(self, left: int) -> float:
        return (self.values[left][()] if left else np.asarray(self.semiring.leaf(self.rows.total))).item()

    def walk(self, left: int, choose_option: Choose, choose_value: Choose) -> Node:
        """Build one model of up to `left` choices from the root down, as `Search.walk` does."""

        def below(left: int, box: Box, rows: BoxRows) -> Node:
            if left:
                stop, options = self._weigh(left, box, rows)
                taken = np.flatnonzero(options != self.semiring.zero)
                if place := choose_option(np.append(stop, options[taken])):
                    return take(int(taken[place - 1]), left, box, rows)
            return LeafNode(choose_value(rows.total))

        def take(option: int, left: int, box: Box, rows: BoxRows) -> InnerNode:
            index, caught = rows.caught(option)
            axis, parts = self.boxes.axes[index], list[Node]()
            for branch, mask in ((CAUGHT, caught), (LEFT, ~caught)):
                part, inside = BoxRows(self.boxes, rows.bins[:, mask], rows.classes[:, mask]), box
                deeper = left - 1 if branch in self.boxes.space.branches else 0
                if deeper:
                    child = axis.children[branch][box.get(index, 0), option - axis.options.start]
                    inside = {**box, index: int(child)}
                parts.append(below(deeper, inside, part))
            return InnerNode(option, *parts)

        return below(left, {}, self.rows)

    def _weigh(self, left: int, box: Box, rows: BoxRows) -> tuple[Floats, Floats]:
        """Return the weight of stopping at one box, shape ``(1,)``, and the weights of its options."""
        semiring, space = self.semiring, self.boxes.space
        caught, total = rows.table((), rows.classes, rows.caught_bins).astype(np.float64), rows.total[:, None]
        divides = [axis.divides[box.get(place, 0)] for place, axis in enumerate(self.boxes.axes)]
        is_open = np.concatenate([*divides, np.zeros(0, dtype=bool)])
        n_open, depth = is_open.sum(keepdims=True), self.boxes.depth - left
        if min_rows := self._min_rows[-1]:
            is_open &= enough(min_rows, caught, total - caught, space)
        options = np.repeat(semiring.go(n_open, depth), space.n_options)
        for branch, part in ((CAUGHT, caught), (LEFT, total - caught)):
            deeper = left > 1 and branch in space.branches
            options += self._children_of(box, left - 1, branch) if deeper else semiring.leaf(part)
        options[~is_open] = semiring.zero
        return semiring.leaf(total) + semiring.stop(n_open, depth), options

    def _children_of(self, box: Box, left: int, branch: int) -> Floats:
        """Return the value of each option's branch at one box, or any number if the option does not divide the box."""
        values: list[Floats] = []
        for place, axis in enumerate(self.boxes.axes):
            group = tuple(sorted({*box, place}))
            line = self.values[left][group][tuple(slice(None) if i == place else box[i] - 1 for i in group)]
            values.append(line.take(axis.children[branch][box.get(place, 0)] - 1, mode="clip"))
        return np.concatenate(values)

    # The following methods process all boxes of a group at once.

    def _valued(self, group: Group, left: int) -> Floats:
        """Return the values of the boxes of a group, with `left` choices left."""
        value, totals = np.empty(group.shape, self.semiring.kind), summed(self.rows.cells(group.axes), group.sets)
        last = self._last if left == 1 else None
        if last is None:
            parts = self._by_branches(group, left, totals)
        elif self._loops is None:
            parts = self._by_difference(group, totals, last)
        else:
            parts = self._by_loops(group, totals, last, self._loops)
        for block, part in parts:
            value[block] = part.reshape(np.shape(value[block]))
            self._progress(part.size)
        return value

    def _by_difference(self, group: Group, totals: Floats, last: LastChoice) -> Iterator[tuple[Block, Floats]]:
        """Yield the values of the boxes of each block with one choice left, from differences of two classes."""
        rows, n_open, (divisions, times) = self.rows, group.n_open, self._divisions(1)
        weights = rows.differences_and_sums[: 1 + (self._min_rows[0] > 0)]
        for block, sides in self.sums(group, weights, rows.sides, divisions):
            total = totals[(slice(None), *block)]
            options = self._differences(group, block, sides, total.sum(axis=0), divisions)
            yield block, last.values(total.reshape(2, -1), np.ravel(n_open[block]), options, times)

    def _by_loops(self, group: Group, totals: Floats, last: LastChoice, loops: Loops) -> Iterator[tuple[Block, Floats]]:
        """Yield the same values as `_by_difference`, computed by compiled loops."""
        rows, n_open, (divisions, times) = self.rows, group.n_open, self._divisions(1)
        weights = rows.differences_and_sums[: 1 + (self._min_rows[0] > 0)]
        sets = (*group.sets, np.ones((1, 1), dtype=bool))[0]
        steps = Steps.of(sets)
        for others, table in self._tables(group, weights, rows.sides, divisions):
            block = (slice(None), *others)[: len(group.axes)]
            total = totals[(slice(None), *block)]
            shape = len(sets), total[0].size // len(sets)
            tables = table.reshape(len(weights), sets.shape[1], shape[1], len(times))
            sums, most = np.empty((2, *shape))
            if isinstance(last.spreads, SumOfSpreads):
                by_difference = last.spreads.table, last.spreads.near
                open_times = _open_times(group, others, divisions, times)
                loops.sum_weights(*tables, steps, open_times, *by_difference, sums, most)
                spreads = last.spreads.logarithms(sums.ravel(), most.ravel())
            else:
                if self._min_rows[0]:
                    limits = (limit.astype(np.int32).reshape(shape) for limit in self._limits(total.sum(axis=0)))
                    loops.largest_supported(*tables, steps, *limits, most)
                else:
                    loops.largest(*tables, steps, most)
                spreads = last.spreads(most.reshape(-1, 1), np.ones(1))
            yield block, last.combine(total.reshape(2, -1), np.ravel(n_open[block]), spreads)

    def _differences(
        self, group: Group, block: Block, sides: Floats, total: Floats, divisions: Divisions | None
    ) -> Floats:
        """Return the absolute differences of options, or `CLOSED`, from signed sums of differences and of rows."""
        options = np.abs(sides[0], out=sides[0])
        if not self.semiring.is_least:
            _close(options, CLOSED, group, block, divisions)
        if self._min_rows[0]:
            least, highest = (limit.astype(options.dtype)[..., None] for limit in self._limits(total))
            np.copyto(options, CLOSED, where=(sides[1] < least) | (sides[1] > highest))
        return options

    def _limits(self, total: Floats) -> tuple[Floats, Floats]:
        """Return the limits of rows caught minus rows left, for last options that catch and leave enough rows."""
        least = np.ceil(2 * self._min_rows[0] - total)  # an option catches (total + side)/2 rows
        return least, -least if CAUGHT in self.boxes.space.branches else total

    def _by_branches(self, group: Group, left: int, totals: Floats) -> Iterator[tuple[Block, Floats]]:
        """Yield the values of the boxes of each block from the values of their branches."""
        semiring, (divisions, times) = self.semiring, self._divisions(left)
        stop = semiring.leaf(totals) + semiring.stop(group.n_open, self.boxes.depth - left)
        for block, caught, options in self.weighed(group, left, totals, divisions):
            if min_rows := self._min_rows[left - 1]:
                total = totals[(slice(None), *block)][..., None]
                options[~enough(min_rows, caught, total - caught, self.boxes.space)] = semiring.zero
            yield block, semiring.plus(np.ravel(stop[block]), options.reshape(-1, len(times)), times)

    def weighed(
        self, group: Group, left: int, totals: Floats, divisions: Divisions | None = None
    ) -> Iterator[tuple[Block, Floats, Floats]]:
        """Yield each block of a group, the numbers of rows that its options catch, and the options' weights."""
        # Shapes ``(n_classes, *boxes, n_options)`` and ``(*boxes, n_options)``. If no branch is a leaf and no minimum
        # applies, rows are not counted, and the first array is empty.
        rows, semiring = self.rows, self.semiring
        go = semiring.go(group.n_open, self.boxes.depth - left)
        deep = {branch: self._children(group, left - 1, branch) for branch in self.boxes.space.branches if left > 1}
        is_counted = len(deep) < 2 or self._min_rows[left - 1] > 0
        for block, caught in self.sums(group, rows.classes[: None if is_counted else 0], rows.caught_bins, divisions):
            total = totals[(slice(None), *block)]
            options = deep[CAUGHT][block].copy() if CAUGHT in deep else semiring.leaf(caught.astype(np.float64))
            options += deep[LEFT][block] if LEFT in deep else semiring.leaf(total[..., None] - caught)
            options += go[block][..., None]
            _close(options, semiring.zero, group, block, divisions)
            yield block, caught, options

    def _divisions(self, left: int) -> tuple[Divisions | None, Floats]:
        """Return the different divisions, or None to use all options, and the multiplicity of each."""
        # Complementary options have the same value if both branches are leaves and no minimum of rows applies.
        if left > 1 or self._min_rows[0]:
            return None, np.ones(self.boxes.space.n_options)
        return self.boxes.divisions, self.boxes.divisions.times

    def sums(
        self, group: Group, weights: Floats, factors: Floats, divisions: Divisions | None
    ) -> Iterator[tuple[Block, Floats]]:
        """Yield each block and its sums of weights times factors, shape ``(n, *boxes, n_options)``."""
        # With `divisions`, the last axis has divisions instead of options. Without weights, nothing is counted.
        sets, numbers = group.sets[:1], _BLOCK_NUMBERS // max(self.boxes.space.n_options, 1)
        for others, table in self._tables(group, weights, factors, divisions):
            step = max(_LEAST_STEP, numbers // max(1, prod(part.stop - part.start for part in others)))
            for start in range(0, len(sets[0]) if sets else 1, step):
                first = slice(start, start + step)
                part = summed(table, [members[first] for members in sets]) if len(weights) else table
                yield (first, *others)[: len(group.axes)], part

    def _tables(
        self, group: Group, weights: Floats, factors: Floats, divisions: Divisions | None
    ) -> Iterator[tuple[Block, Floats]]:
        """Yield blocks of all axes but the first, and their tables, summed over the sets of these axes."""
        # Consecutive blocks share their slices of the first of these axes, and so the sums over them.
        factors = factors if divisions is None else factors[:, divisions.options]
        tables, previous = [self.rows.table(group.axes, weights, factors) if len(weights) else weights], ()
        for block in group.blocks(_BLOCK_NUMBERS // max(_LEAST_STEP * self.boxes.space.n_options, 1)):
            same = next((i for i, part in enumerate(previous) if part != block[i]), len(previous))
            del tables[same + 1 :]
            for place in range(same, len(block) if len(weights) else 0):
                tables.append(summed(tables[-1], [group.sets[1 + place][block[place]]], first=place + 2))
            previous = block
            yield block, tables[-1]

    def _children(self, group: Group, left: int, branch: int) -> Floats:
        """Return the values of each option's branch in all boxes of a group, shape ``(*boxes, n_options)``."""
        branch_values = np.empty((*group.shape, self.boxes.space.n_options), self.semiring.kind)
        for index, axis in enumerate(self.boxes.axes):
            axes = tuple(sorted({*group.axes, index}))
            place = axes.index(index)
            values, sizes = self.values[left][axes], dict(zip(group.axes, group.shape, strict=True))
            values = values[tuple(slice(None) if i == index else slice(sizes[i]) for i in axes)]
            children = axis.children[branch][1 : sizes[index] + 1] if index in sizes else axis.children[branch][0]
            values = values.take(children - 1, axis=place, mode="clip")
            branch_values[..., axis.options] = np.moveaxis(values, place + (index in sizes), -1)
        return branch_values


def _open_times(group: Group, others: Block, divisions: Divisions | None, times: Floats) -> OpenTimes:
    lengths = [len(range(length)[part]) for length, part in zip(group.shape[1:], others, strict=True)]
    by_others, by_set, first = np.tile(times, (*lengths, 1)), np.zeros((1, 0)), 0
    for place, (columns, closed) in enumerate(group.closed((slice(None), *others), divisions)):
        if place:
            np.copyto(by_others[..., columns], 0, where=closed)
        else:
            by_set, first = times[columns] * ~closed.reshape(-1, closed.shape[-1]), columns.start
    return OpenTimes(by_others.reshape(-1, len(times)), by_set, first)


def _close(options: Floats, value: float, group: Group, block: Block, divisions: Divisions | None) -> None:
    """Set `options` to `value` in place for the options (or divisions) that do not divide a box of the block."""
    for places, closed in group.closed(block, divisions):
        np.copyto(options[..., places], value, where=closed)
