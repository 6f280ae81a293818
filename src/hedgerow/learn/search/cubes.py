"""The recursion over boxes by data cubes: counts from contingency tables, whatever the number of patterns.

The rows of a box that an option catches are a sum over the contingency table of a few attributes. So the tables are
counted first, then summed from bins to sets of bins, one attribute after the other, and each box is valued by the
recursion of `lattice`: with `j` choices left,

    value_j(box) = stop ⊗ leaf(rows)  ⊕  ⊕ over options of  go ⊗ value_{j-1}(caught) ⊗ value_{j-1}(left)

The value does not depend on the choices that led to a box, and the searches of all sizes share it. What is done, and in
which order, follows from the schema alone; the rows decide the numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hedgerow.learn.search.boxes import Axes, Block, Boxes, Divisions, Group
from hedgerow.learn.search.contingency import BoxRows, summed
from hedgerow.learn.search.lattice import Stop, Take, enough
from hedgerow.learn.search.semirings import Floats, Semiring, looked_up
from hedgerow.learn.search.space import CAUGHT, LEFT
from hedgerow.tally import Tally

_BLOCK_NUMBERS = 2**17  # of a block of boxes and their options: fits in the cache
Box = dict[int, int]
"""The set of bins of each axis that was chosen on."""


class Cubes:
    """The values of all boxes over one table: exact, private.

    Parameters
    ----------
    tally : Tally
        The table.
    boxes : Boxes
        What is searched.
    semiring : Semiring
        The semiring of the values.
    min_rows : float
        Rows that an option must catch, in a tree also leave. Always 0 where the search is private.
    progress : callable
        Called with the number of boxes done since the call before.
    """

    def __init__(
        self,
        tally: Tally,
        boxes: Boxes,
        semiring: Semiring,
        min_rows: float = 0.0,
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._boxes, self._semiring, self._min_rows = boxes, semiring, min_rows
        self._rows = BoxRows.of(tally, boxes)
        self._spread = looked_up(semiring.spread, self._rows.total)
        self._values: list[dict[Axes, Floats]] = [{}]
        for left in range(1, boxes.depth + 1):
            values: dict[Axes, Floats] = {}
            for group in boxes.groups(boxes.depth - left):
                values[group.axes] = self._valued(group, left)
                progress(values[group.axes].size)
            self._values.append(values)

    def total(self, left: int) -> float:
        """Return the value of the root with so many choices left."""
        return float(self._values[left][()]) if left else float(self._semiring.leaf(self._rows.total))

    def walk(
        self, left: int, choose_option: Callable[[Floats], int], choose_value: Callable[[Floats], int]
    ) -> Take | Stop:
        """Build one model of up to `left` choices from the root down, as `Search.walk` does."""

        def below(left: int, box: Box, rows: BoxRows) -> Take | Stop:
            if not left:
                return Stop(choose_value(rows.total))
            stop, options = self._weigh(left, box, rows)
            taken = np.flatnonzero(options != self._semiring.zero)
            place = choose_option(np.append(stop, options[taken]))
            return take(int(taken[place - 1]), left, box, rows) if place else Stop(choose_value(rows.total))

        def take(option: int, left: int, box: Box, rows: BoxRows) -> Take:
            axis, caught = rows.caught(option)
            parts: list[Take | Stop] = []
            for branch, mask in ((CAUGHT, caught), (LEFT, ~caught)):
                part = rows.only(mask)
                if left > 1 and branch in self._boxes.space.branches:
                    child = self._boxes.axes[axis].child(box.get(axis, 0), option, branch)
                    parts.append(below(left - 1, {**box, axis: child}, part))
                else:
                    parts.append(Stop(choose_value(part.total)))
            return Take(option, *parts)

        return below(left, {}, self._rows)

    def _weigh(self, left: int, box: Box, rows: BoxRows) -> tuple[Floats, Floats]:
        """Return the weights of stopping at one box, shape ``(1,)``, and of each option there."""
        semiring, space = self._semiring, self._boxes.space
        caught, total = rows.table((), rows.classes).astype(np.float64), rows.total[:, None]
        divides = [axis.divides[box.get(place, 0)] for place, axis in enumerate(self._boxes.axes)]
        is_open = np.concatenate([*divides, np.zeros(0, dtype=bool)])
        n_open = is_open.sum(keepdims=True)
        if self._min_rows:
            is_open &= enough(self._min_rows, caught, total - caught, space)
        options = np.repeat(semiring.go(n_open), space.n_options)
        for branch, part in ((CAUGHT, caught), (LEFT, total - caught)):
            deeper = left > 1 and branch in space.branches
            options += self._children_of(box, left - 1, branch) if deeper else semiring.leaf(part)
        options[~is_open] = semiring.zero
        return semiring.leaf(total) + semiring.stop(n_open), options

    def _children_of(self, box: Box, left: int, branch: int) -> Floats:
        """Return the value of each option's branch at one box; any number where the option does not divide it."""
        found: list[Floats] = []
        for place, axis in enumerate(self._boxes.axes):
            group = tuple(sorted({*box, place}))
            line = self._values[left][group][tuple(slice(None) if i == place else box[i] - 1 for i in group)]
            found.append(line.take(axis.children[branch][box.get(place, 0)] - 1, mode="clip"))
        return np.concatenate(found)

    # All boxes that are about the same attributes, at once

    def _valued(self, group: Group, left: int) -> Floats:
        """Return the values of the boxes of a group, with so many choices left."""
        semiring, value = self._semiring, np.empty(group.shape)
        totals = summed(self._rows.cells(group.axes), group.sets)
        stop = semiring.leaf(totals) + semiring.stop(group.n_open)
        go, divisions = semiring.go(group.n_open), self._divisions(left)
        times = np.ones(self._boxes.space.n_options) if divisions is None else divisions.times
        for block, options in self._options(group, left, totals):
            options += go[block][..., None]
            for some, closed in group.closed(block, divisions):
                np.copyto(options[..., some], semiring.zero, where=closed)
            flat = semiring.plus(np.ravel(stop[block]), options.reshape(-1, options.shape[-1]), times)
            value[block] = flat.reshape(np.shape(value[block]))
        return value

    def _divisions(self, left: int) -> Divisions | None:
        """Return the different divisions where it is all the same which of its two parts an option catches."""
        return self._boxes.divisions if left == 1 and not self._min_rows else None

    def _options(self, group: Group, left: int, totals: Floats) -> Iterator[tuple[Block, Floats]]:
        """Yield what follows each option: the weights of both branches, shape ``(*boxes of a block, n_options)``."""
        space, rows = self._boxes.space, self._rows
        deep = {branch: self._children(group, left - 1, branch) for branch in space.branches if left > 1}
        is_counted = len(deep) < 2 or self._min_rows > 0
        spread = self._spread if left == 1 and len(totals) == 2 else None
        weights = rows.differences_and_sums[: 1 + (self._min_rows > 0)] if spread else rows.classes
        divisions = self._divisions(left)
        some = slice(None) if divisions is None else divisions.options
        table = summed(rows.table(group.axes, weights, some), group.sets[1:], first=2) if is_counted else np.empty(0)
        for block in group.blocks(_BLOCK_NUMBERS // max(space.n_options, 1)):
            caught = summed(table, [one[block] for one in group.sets[:1]]) if is_counted else table
            total = totals[(slice(None), *block)][..., None]
            if spread:
                options = self._of_differences(spread, caught[0], total)
            else:
                here = {branch: one[block] for branch, one in deep.items()}
                options = self._of_branches(here, caught.astype(np.float64), total)
            if self._min_rows:
                held = caught[1:] if spread else caught
                left_over = total.sum(axis=0, keepdims=True) - held.sum(axis=0, keepdims=True)
                options[~enough(self._min_rows, held, left_over, space)] = self._semiring.zero
            yield block, options

    def _of_branches(self, deep: dict[int, Floats], caught: Floats, total: Floats) -> Floats:
        """Return the weights of both branches: the values that are searched further, of others those of leaves."""
        leaf = self._semiring.leaf
        options = deep[CAUGHT].copy() if CAUGHT in deep else leaf(caught)
        options += deep[LEFT] if LEFT in deep else leaf(total - caught)
        return options

    def _of_differences(self, spread: Callable[[Floats], Floats], caught: Floats, total: Floats) -> Floats:
        """Return the weights of both branches as leaves, of two classes: from how many more rows the first class has.

        The weight of a leaf is a multiple of its rows, which add up to those of the box, and a function of the
        difference, which is looked up.
        """
        options = spread(caught)
        options += spread((total[0] - total[1]).astype(caught.dtype) - caught)
        options += self._semiring.per_row / 2 * total.sum(axis=0)
        return options

    def _children(self, group: Group, left: int, branch: int) -> Floats:
        """Return the values of each option's branch in all boxes of a group, shape ``(*boxes, n_options)``."""
        found = np.empty((*group.shape, self._boxes.space.n_options))
        for axis, one in enumerate(self._boxes.axes):
            axes = tuple(sorted({*group.axes, axis}))
            place = axes.index(axis)
            values, sizes = self._values[left][axes], dict(zip(group.axes, group.shape, strict=True))
            values = values[tuple(slice(None) if i == axis else slice(sizes[i]) for i in axes)]
            children = one.children[branch][1 : sizes[axis] + 1] if axis in sizes else one.children[branch][0]
            values = values.take(children - 1, axis=place, mode="clip")
            found[..., one.options] = np.moveaxis(values, place + (axis in sizes), -1)
        return found
