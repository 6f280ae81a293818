"""Recursion over lists of up to two rules of up to two literals, by contingency tables of up to four attributes.

The number of rows that two rules both catch is a sum over the contingency table of their attributes. So the table of
each two groups of attributes is counted once and multiplied on both sides by the masks of cells that the rules catch.
After that, the time for a pair of rules does not depend on the number of patterns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.learn.search.lattice import Choose, InnerNode, LeafNode, Node, counting_type
from hedgerow.learn.search.semirings import CLOSED, LastChoice, Semiring
from hedgerow.learn.search.space import CAUGHT, Space, product
from hedgerow.tally import Tally

MOST_RULES, MOST_LITERALS = 2, 2  # the limits of rules per list and literals per rule for this method
MOST_PAIRED = 45_000  # largest number of candidate rules; with more, there are too many pairs
_BLOCK = 2**20  # pairs of rules in a block
Numbers = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Group:
    """The options on the same one or two attributes."""

    columns: tuple[int, ...]  # the attributes
    sizes: tuple[int, ...]  # the numbers of bins of the attributes
    options: Index  # the options
    cells: Mask  # the cells that each option catches, shape ``(n_options, n_cells)``


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rules of a search for lists of up to two rules."""

    space: Space  # the options
    depth: int  # the largest number of rules in a list

    @classmethod
    def of(cls, space: Space, depth: int) -> Self | None:
        """Return the rules of a search, or None if it is not for lists within the limits, or if states are boxes."""
        is_supported = CAUGHT not in space.branches and not space.has_boxes
        is_supported &= 0 < depth <= MOST_RULES and len(space.candidates.members) <= MOST_LITERALS
        return cls(space, depth) if is_supported else None

    @property
    def n_states(self) -> int:
        return 1 + self.space.n_options * (self.depth - 1)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The options, grouped by their attributes."""
        candidates = self.space.candidates
        sizes = [attribute.n_bins for _, attribute in candidates.schema.attributes]
        column = candidates.attribute_of.tolist()
        truth = [row for part in candidates.truth_by_attribute for row in part]
        members: dict[tuple[int, ...], list[tuple[int, Mask]]] = {}
        for option, literals in enumerate(self.literals):
            key = tuple(column[literal] for literal in literals)
            cells = truth[literals[0]] if len(literals) == 1 else np.logical_and.outer(*(truth[i] for i in literals))
            members.setdefault(key, []).append((option, cells.ravel()))
        return tuple(
            Group(key, tuple(sizes[c] for c in key), np.array([o for o, _ in group]), np.array([c for _, c in group]))
            for key, group in members.items()
        )

    @cached_property
    def literals(self) -> list[tuple[int, ...]]:
        candidates = [tuple(row) for part in self.space.candidates.members for row in part.tolist()]
        return [candidates[option] for option in self.space.options]

    @cached_property
    def _implying(self) -> Mask:
        """The options that imply each literal, shape ``(n_literals, n_options)``."""
        implied = self.space.candidates.literal_implications
        return np.stack([implied[list(literals)].any(axis=0) for literals in self.literals], axis=1)

    def open(self, options: Index) -> Mask:
        """Return a mask of the options that may follow each option because they do not imply it."""
        implying = self._implying
        return ~np.stack([np.logical_and.reduce(implying[list(self.literals[int(o)])]) for o in options])

    def place_of(self, option: int) -> tuple[int, int]:
        places = (np.flatnonzero(group.options == option) for group in self.groups)
        return next((place, int(rows[0])) for place, rows in enumerate(places) if len(rows))


class PairValues:
    """The exact, private values of all lists of up to two rules over one table."""

    def __init__(
        self,
        tally: Tally,
        pairs: Pairs,
        semiring: Semiring,
        progress: Callable[[int], object] = lambda _: None,
        min_rows: float = 0.0,  # minimum number of rows that each rule catches; always 0 if the search is private
    ) -> None:
        self._pairs, self._semiring, self._min_rows = pairs, semiring, min_rows
        bins, counts = tally.bins_and_counts()
        self._classes = np.ascontiguousarray(counts.T, dtype=np.float64)
        # The cell of each pattern in the contingency table of each group
        self._codes = [bins[:, group.columns].astype(np.intp) @ [*group.sizes[1:], 1] for group in pairs.groups]
        self._total = self._classes.sum(axis=1)
        self._last_choice = LastChoice.of(semiring, self._total, pairs.depth - 1)
        self._caught = self._counted(np.ones(len(bins), dtype=bool))
        progress(1)
        self._left = self._values_left(progress) if pairs.depth > 1 else np.zeros(0)

    def total(self, left: int) -> float:
        if not left:
            return np.asarray(self._semiring.leaf(self._total)).item()
        stop, options = self._root(left)
        return self._semiring.plus(stop[None], options[None], np.ones(len(options)))[0].item()

    def walk(self, left: int, choose_option: Choose, choose_label: Choose) -> Node:
        def below(left: int, first: int | None, rows: Mask) -> Node:
            total = self._classes[:, rows].sum(axis=1)
            if not left:
                return LeafNode(choose_label(total))
            if first is None:
                stop, options = self._root(left)
            else:
                stop, options = self._last(total, self._counted(rows), self._pairs.open(np.array([first]))[0])
            taken = np.flatnonzero(options != self._semiring.zero)
            place = choose_option(np.append(stop, options[taken]))
            if not place:
                return LeafNode(choose_label(total))
            option = int(taken[place - 1])
            is_caught = self._catches(option)
            caught = LeafNode(choose_label(self._classes[:, rows & is_caught].sum(axis=1)))
            return InnerNode(option, caught, below(left - 1, option, rows & ~is_caught))

        return below(left, None, np.ones(self._classes.shape[1], dtype=bool))

    def _root(self, left: int) -> tuple[Floats, Floats]:
        """Return the weights of stopping and of each option at the root."""
        semiring, n = self._semiring, self._pairs.space.n_options
        if left == 1:
            return self._last(self._total, self._caught, np.ones(n, dtype=bool))
        stop = semiring.leaf(self._total) + semiring.stop(np.array(n), 0)
        options = semiring.go(np.array(n), 0) + semiring.leaf(self._caught) + self._left
        return stop, np.where(self._catches_enough(self._caught), options, semiring.zero)

    def _catches_enough(self, caught: Numbers) -> Mask:
        return caught.sum(axis=0) >= self._min_rows

    def _last(self, total: Floats, caught: Floats, is_open: Mask) -> tuple[Floats, Floats]:
        """Return the weights of stopping and of each option if one choice is left."""
        is_open = is_open & self._catches_enough(caught)
        semiring, n_open, depth = self._semiring, np.array(is_open.sum()), self._pairs.depth - 1
        options = semiring.go(n_open, depth) + semiring.leaf(caught) + semiring.leaf(total[:, None] - caught)
        options[~is_open] = semiring.zero
        return semiring.leaf(total) + semiring.stop(n_open, depth), options

    def _catches(self, option: int) -> Mask:
        place, row = self._pairs.place_of(option)
        return self._pairs.groups[place].cells[row][self._codes[place]]

    def _counted(self, rows: Mask) -> Floats:
        """Return the class counts of the masked patterns that each option catches, ``(n_classes, n_options)``."""
        caught = np.zeros((len(self._classes), self._pairs.space.n_options))
        for group, codes in zip(self._pairs.groups, self._codes, strict=True):
            for counts, weights in zip(caught, self._classes, strict=True):
                cells = np.bincount(codes[rows], weights[rows], group.cells.shape[1]).astype(np.float64)
                counts[group.options] = _product(group.cells, cells)
        return caught

    # The following methods compute the values of all second rules after each first rule.

    def _values_left(self, progress: Callable[[int], object]) -> Floats:
        """Return the value of the rows that each option leaves, with one choice left, shape ``(n_options,)``."""
        values, classes = np.zeros(self._pairs.space.n_options, self._semiring.kind), self._classes
        weights = classes
        if self._last_choice is not None:  # then differences suffice, with the sums if `min_rows` is positive
            weights = np.stack([classes[0] - classes[1], classes.sum(axis=0)][: 1 + (self._min_rows > 0)])
        for place, group in enumerate(self._pairs.groups):
            tables = [self._table(place, class_weights) for class_weights in weights]
            step = max(1, _BLOCK // len(values))
            for start in range(0, len(group.options), step):
                first, cells = group.options[start : start + step], group.cells[start : start + step]
                values[first] = self._second(first, [_product(cells, table) for table in tables])
                progress(len(first))
        return values

    def _table(self, place: int, weights: Floats) -> NDArray[np.floating]:
        """Return the sum of weights that each option catches in each cell, shape ``(n_cells, n_options)``."""
        groups, kind = self._pairs.groups, counting_type(self._classes)
        n_cells = groups[place].cells.shape[1]
        table = np.zeros((n_cells, self._pairs.space.n_options), dtype=kind)
        for group, codes in zip(groups, self._codes, strict=True):
            width = group.cells.shape[1]
            counts = np.bincount(self._codes[place] * width + codes, weights, n_cells * width)
            table[:, group.options] = _product(group.cells, counts.reshape(n_cells, width).astype(kind).T).T
        return table

    def _second(self, first: Index, both: list[NDArray[np.floating]]) -> Floats:
        """Return the values of the rows that first rules leave; `both` has counts for pairs of rules."""
        # `both` has the counts of each class or, if differences suffice, the differences and (with a minimum) the sums.
        semiring, is_open = self._semiring, self._pairs.open(first)
        if self._min_rows:
            rows = both[1] if self._last_choice is not None else sum(both)
            is_open &= self._caught.sum(axis=0) - rows >= self._min_rows
        n_open, total = is_open.sum(axis=1), self._total[:, None] - self._caught[:, first]
        once = np.ones(len(self._caught[0]))
        if self._last_choice is not None:
            kind, (first_class, second_class) = both[0].dtype, self._caught
            options = 2 * both[0] - (2 * (first_class - second_class)).astype(kind)
            options += (total[0] - total[1]).astype(kind)[:, None]
            np.copyto(np.abs(options, out=options), CLOSED, where=~is_open)
            return self._last_choice.values(total, n_open, options, once)
        caught = self._caught[:, None] - np.stack(both)
        options = semiring.leaf(caught) + semiring.leaf(total[..., None] - caught)
        options += semiring.go(n_open, 1)[:, None]
        np.copyto(options, semiring.zero, where=~is_open)
        return semiring.plus(semiring.leaf(total) + semiring.stop(n_open, 1), options, once)


def _product(cells: Mask, counts: NDArray[np.floating]) -> NDArray[np.floating]:
    return product(cells.astype(counts.dtype), counts)
