"""Recursion over trees whose attributes each have a single test, with counts from conjunctions of tests.

A state is a set of tests and the outcome of each. The number of rows that fail a test is the number without the test
minus the number that pass it. So the counts of all states and options follow from the numbers of rows that pass all
tests of a set, and each set of tests is counted once. The states do not depend on the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import comb
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Floats, Index, Mask, Whole
from hedgerow.learn.search.lattice import Choose, InnerNode, LeafNode, Node, counting_type, enough
from hedgerow.learn.search.semirings import CLOSED, LastChoice, Semiring
from hedgerow.learn.search.space import CAUGHT, Space, product
from hedgerow.tally import Tally

_BLOCK_NUMBERS = 2**18  # states times tests in a block, so that the counts fit in the cache
Numbers = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The states of a search for trees of up to `depth` consecutive tests, if each attribute has a single test.

    The sets of `size` tests are in colexicographic order, and tests within a set are in increasing order. Bit i of an
    outcome is 1 for the rows that pass test i of the set, and 0 for the rows that fail it.
    """

    space: Space  # the tests
    depth: int  # the largest number of consecutive tests

    @classmethod
    def of(cls, space: Space, depth: int) -> Self | None:
        """Return the states of a search, or None if it is not for trees, or if an attribute has several tests."""
        if CAUGHT not in space.branches or not space.has_boxes or not 0 < depth <= space.n_options:
            return None
        return cls(space, depth) if len(np.unique(space.attributes)) == space.n_options else None

    @property
    def n_states(self) -> int:
        return count_states(self.space.n_options, self.depth)

    @cached_property
    def sets(self) -> list[Whole]:
        """All sets of tests by size, each of shape ``(n_sets, size)``."""
        sets, n_tests = list[Whole]([np.zeros((1, 0), dtype=np.int16)]), self.space.n_options
        for size in range(1, self.depth):
            smaller, below = sets[-1], [comb(last, size - 1) for last in range(n_tests)]
            last = np.repeat(np.arange(n_tests, dtype=np.int16), below)
            sets.append(np.column_stack([np.concatenate([smaller[:n] for n in below]), last]))
        return sets

    @cached_property
    def _binomials(self) -> Index:
        sizes = range(self.depth + 2)
        return np.array([[comb(n, size) for size in sizes] for n in range(self.space.n_options)], dtype=np.intp)

    def places(self, sets: Whole) -> Index:
        """Return the index of each set among the sets of its size, shape ``(n_sets,)``."""
        return self._binomials[sets, np.arange(1, sets.shape[1] + 1)].sum(axis=1)

    def children(self, sets: Whole) -> tuple[Index, Whole]:
        """Return the index of each set with one more test, and the number of smaller tests, shape ``(n, n_tests)``.

        The index is arbitrary if the set already contains the test.
        """
        size, tests = sets.shape[1], np.arange(self.space.n_options)
        own, following = np.arange(1, size + 1), np.arange(2, size + 2)
        places = np.zeros((len(sets), size + 1), dtype=np.intp)  # of the other tests, by the number of smaller tests
        np.cumsum(self._binomials[sets, own], axis=1, out=places[:, 1:])
        places[:, :-1] += np.cumsum(self._binomials[sets, following][:, ::-1], axis=1)[:, ::-1]
        smaller = (sets[:, :, None] < tests).sum(axis=1)
        index = np.take_along_axis(places, smaller, axis=1) + self._binomials[tests, smaller + 1]
        return np.minimum(index, comb(len(tests), size + 1) - 1), smaller


def count_states(n_tests: int, depth: int) -> int:
    """Return the number of sets of fewer than `depth` tests with outcomes."""
    return sum(comb(n_tests, size) << size for size in range(depth))


def count_conjunctions(passed: Numbers, weights: Numbers, size: int) -> Numbers:
    """Return the sum of weights of the patterns that pass all tests of each set, shape ``(n_weights, n_sets)``.

    `passed` is 1 if a pattern passes a test, else 0, shape ``(n_patterns, n_tests)``; `weights` has the shape
    ``(n_weights, n_patterns)``.
    """
    # The sets with the same largest test are neighbours, in the order of the sets of the other tests.
    if size == 0:
        return weights.sum(axis=1, keepdims=True)
    if size == 1:
        return product(weights, passed)
    n_tests = passed.shape[1]
    if size == 2:
        tables = (product(passed.T, passed * weight[:, None]) for weight in weights)
        return np.stack([table.ravel().take(_pairs(n_tests)) for table in tables])
    parts = [np.zeros((len(weights), 0), dtype=weights.dtype)]
    for last in range(size - 1, n_tests):
        chosen = np.flatnonzero(passed[:, last])
        parts.append(count_conjunctions(passed[chosen, :last], weights[:, chosen], size - 1))
    return np.concatenate(parts, axis=1)


@cache
def _pairs(n_tests: int) -> Index:
    """Return the places of pairs of different tests in a matrix, in colexicographic order."""
    return np.ravel_multi_index(np.tril_indices(n_tests, -1), (n_tests, n_tests))


class OutcomeCounts:
    """The exact, private counts of rows by the outcomes of tests, for some weights of the patterns."""

    def __init__(self, states: Outcomes, of_sets: list[Numbers]) -> None:
        # `of_sets` are the sums of weights of the rows that pass all tests of a set, by the size of the set.
        self._states, self._of_sets = states, of_sets

    def totals(self, sets: Whole) -> Numbers:
        """Return the sums of weights in the states of some sets, shape ``(n_weights, n_sets, 2**size)``."""
        return self._by_outcome(sets, [counts[..., None] for counts in self._of_sets])[..., 0]

    def caught(self, sets: Whole) -> Numbers:
        """Return the sums of weights that each test catches, shape ``(n_weights, n_sets, 2**size, n_tests)``."""
        return self._by_outcome(sets, self._extended)

    @cached_property
    def _extended(self) -> list[Numbers]:
        """The counts of each set with one more test, by size, of shape ``(n_weights, n_sets, n_tests)``."""
        n_tests, extended = self._states.space.n_options, list[Numbers]()
        step = _BLOCK_NUMBERS // n_tests + 1
        for sets, own, more in zip(self._states.sets, self._of_sets, self._of_sets[1:], strict=False):
            result = np.empty((len(own), len(sets), n_tests), dtype=own.dtype)
            for start in range(0, len(sets), step):
                block = slice(start, start + step)
                result[:, block] = more[:, self._states.children(sets[block])[0]]
            result[:, np.arange(len(sets))[:, None], sets] = own[..., None]
            extended.append(result)
        return extended

    def _by_outcome(self, sets: Whole, counts: list[Numbers]) -> Numbers:
        """Return counts by outcome from counts of the sets of passed tests, by size."""
        size, (n_weights, _, width) = sets.shape[1], counts[0].shape
        result = np.empty((n_weights, len(sets), 2**size, width), dtype=counts[0].dtype)
        for outcome in range(2**size):
            passed = [place for place in range(size) if outcome >> place & 1]
            result[:, :, outcome] = counts[len(passed)][:, self._states.places(sets[:, passed])]
        for place in range(size):
            halves = result.reshape(n_weights, len(sets), 2 ** (size - 1 - place), 2, 2**place, width)
            halves[:, :, :, 0] -= halves[:, :, :, 1]
        return result


class OutcomeValues:
    """The exact, private values of all states over one table, for trees of some sizes."""

    def __init__(
        self,
        tally: Tally,
        states: Outcomes,
        semiring: Semiring,
        sizes: range,
        min_rows: float = 0.0,
        progress: Callable[[int], object] = lambda _: None,
        *,
        relaxed: bool = False,  # if true, last choices may catch fewer rows, and values are lower bounds
    ) -> None:
        self._states, self._semiring, self._progress = states, semiring, progress
        self._min_rows = [0.0 if relaxed else min_rows, *[min_rows] * states.depth]  # by choices left after
        satisfied, counts = tally.patterns(states.space.candidates)
        self._passed, self._classes = satisfied[:, states.space.options], counts.T.astype(np.float64)
        self._total = self._classes.sum(axis=1)
        self._has_differences = LastChoice.of(semiring, self._total, 0) is not None
        counted = self._count(max(sizes))
        self._values = {size: self._sweep(size, *counted) for size in sizes}

    def _count(self, most: int) -> tuple[OutcomeCounts, OutcomeCounts]:
        """Return the counts of each class for sets of fewer tests, and those that determine last choices."""
        # These are the differences of two classes or, if they do not suffice, the classes. With a minimum of rows, they
        # are followed by the sums of the classes.
        factors = np.array([[1, -1]]) if self._has_differences else np.eye(len(self._classes))
        if self._min_rows[0]:
            factors = np.vstack([factors, np.ones(len(self._classes))])
        kind = counting_type(self._classes)
        passed, classes, factors = (part.astype(kind) for part in (self._passed, self._classes, factors))
        of_sets = [count_conjunctions(passed, classes, size) for size in range(most)]
        last = [product(factors, counts) for counts in of_sets]
        last.append(count_conjunctions(passed, product(factors, classes), most))
        return OutcomeCounts(self._states, of_sets), OutcomeCounts(self._states, last)

    def total(self, size: int) -> float:
        return (self._values[size][0] if size else np.asarray(self._semiring.leaf(self._total))).item()

    def walk(self, size: int, choose_option: Choose, choose_value: Choose) -> Node:
        """Build one model of up to `size` consecutive choices from the root down, as `Search.walk` does."""

        def below(tests: Whole, outcome: int, rows: Mask) -> Node:
            if (depth := tests.shape[1]) < size:
                stop, options = self._weigh(size, tests, outcome, rows)
                taken = np.flatnonzero(options != self._semiring.zero)
                if place := choose_option(np.append(stop, options[taken])):
                    option = int(taken[place - 1])
                    at, passes = int((tests < option).sum()), self._passed[:, option]
                    failed, more = _failed(depth)[at, outcome], np.insert(tests, at, option, axis=1)
                    caught = below(more, failed | 1 << at, rows & passes)
                    return InnerNode(option, caught, below(more, failed, rows & ~passes))
            return LeafNode(choose_value(self._classes[:, rows].sum(axis=1)))

        return below(self._states.sets[0], 0, np.ones(len(self._passed), dtype=bool))

    def _weigh(self, size: int, tests: Whole, outcome: int, rows: Mask) -> tuple[Floats, Floats]:
        """Return the weights of stopping, shape ``(1,)``, and of the options in one state, shape ``(n_tests,)``."""
        depth, total = tests.shape[1], self._classes[:, rows].sum(axis=1)[:, None]
        caught = product(self._classes[:, rows], self._passed[rows].astype(np.float64))
        if depth + 1 < size:
            options = self._children(tests, self._values[size][depth + 1])[0, outcome]
        else:
            options = self._semiring.leaf(caught) + self._semiring.leaf(total - caught)
        n_open = np.array([self._n_open(depth)])
        options += self._semiring.go(n_open, depth)
        options[tests[0]] = self._semiring.zero
        if min_rows := self._min_rows[-1]:
            options[~enough(min_rows, caught, total - caught, self._states.space)] = self._semiring.zero
        return self._semiring.leaf(total) + self._semiring.stop(n_open, depth), options

    def _n_open(self, depth: int) -> int:
        return self._states.space.n_options - depth

    def _children(self, sets: Whole, values: Floats) -> Floats:
        """Return the product of the values of both branches, shape ``(n_sets, 2**size, n_tests)``."""
        size = sets.shape[1]
        index, smaller = self._states.children(sets)
        failed = (index[..., None] << size + 1) + _failed(size)[smaller]
        return np.moveaxis(values.take(failed + (1 << smaller)[..., None]) + values.take(failed), 1, 2)

    # The following methods compute the values of all states.

    def _sweep(self, size: int, counts: OutcomeCounts, last_counts: OutcomeCounts) -> list[Floats]:
        """Return the values of all states for trees of one size, by the number of choices that lead to a state."""
        values: list[Floats] = []
        for depth in reversed(range(size)):
            sets = self._states.sets[depth]
            value = np.empty((len(sets), 2**depth), self._semiring.kind)
            step = max(1, _BLOCK_NUMBERS // (self._states.space.n_options << depth))
            last = LastChoice.of(self._semiring, self._total, depth)
            for start in range(0, len(sets), step):
                block = sets[start : start + step]
                total = counts.totals(block).astype(np.float64)
                if values:
                    few = None
                    if self._min_rows[-1]:
                        few = self._few(counts.caught(block).sum(axis=0), total.sum(axis=0), size - 1 - depth)
                    part = self._plus(block, total, self._children(block, values[0]), few)
                else:
                    part = self._last(block, total, last_counts.caught(block), last)
                value[start : start + step] = part.reshape(len(block), -1)
                self._progress(part.size)
            values.insert(0, value)
        return values

    def _few(self, caught: Numbers, total: Floats, left: int) -> Mask:
        """Return which tests catch or leave too few rows, from the rows of states and those that tests catch."""
        least, most = self._min_rows[left], (total - self._min_rows[left]).astype(caught.dtype)
        few = caught < least
        few |= caught > most[..., None]
        return few

    def _last(self, sets: Whole, total: Floats, caught: Numbers, last: LastChoice | None) -> Floats:
        """Return the values of states with one choice left."""
        few = None
        if self._min_rows[0]:
            caught, few = caught[:-1], self._few(caught[-1], total.sum(axis=0), 0)
        if last is None:
            caught = caught.astype(np.float64)
            return self._plus(
                sets, total, self._semiring.leaf(caught) + self._semiring.leaf(total[..., None] - caught), few
            )
        options = caught[0]
        options *= 2
        options -= (total[0] - total[1]).astype(options.dtype)[..., None]
        _close(np.abs(options, out=options), CLOSED, sets, few)
        n_open = np.full(total[0].size, self._n_open(sets.shape[1]))
        n_tests = options.shape[-1]
        return last.values(total.reshape(2, -1), n_open, options.reshape(-1, n_tests), np.ones(n_tests))

    def _plus(self, sets: Whole, total: Floats, options: Floats, few: Mask | None) -> Floats:
        """Return the values of states from the values of their branches."""
        semiring, depth, n_tests = self._semiring, sets.shape[1], options.shape[-1]
        n_open = np.full(total[0].size, self._n_open(depth))
        options += semiring.go(n_open[:1], depth)
        _close(options, semiring.zero, sets, few)
        stop = semiring.leaf(total).ravel() + semiring.stop(n_open, depth)
        return semiring.plus(stop, options.reshape(-1, n_tests), np.ones(n_tests))


def _close(options: Numbers, value: float, sets: Whole, few: Mask | None) -> None:
    """Set `options` to `value` in place for the tests of a set, and for tests with too few rows in a branch."""
    options[np.arange(len(sets))[:, None], :, sets] = value
    if few is not None:
        np.copyto(options, value, where=few)


@cache
def _failed(size: int) -> Index:
    """Return the outcome of a set with one more test, which fails, by its place, shape ``(size + 1, 2**size)``."""
    outcomes, place = np.arange(2**size), np.arange(size + 1)[:, None]
    return (outcomes & (1 << place) - 1) | outcomes >> place << place + 1
