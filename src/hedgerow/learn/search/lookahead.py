"""A good tree in a small share of the time of an exact search, by greedy lookahead.

With two choices left, the best tree follows from the numbers of rows that satisfy each pair of tests. With more choices
left, a test is rated by its best tree of two levels. The tests with the best ratings, as many as `width`, are completed
to the full depth, each time with the test that is rated best. The test with the smallest completed objective is taken,
and its branches are searched in the same way. So the time grows in proportion to the width. LicketySPLIT (Babbar et
al., *Near-Optimal Decision Trees in a SPLIT Second*, ICML 2025) completes every test by greedy single tests.

The tree depends on the labels, is not private, and comes without a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node, PatternMatrix, enough
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.space import product

_MOST_COUNTS = 2**20  # counted pairs of tests, times classes
_MOST_WORK = 2**31  # multiplications to count the pairs of tests of the root
_IMPURITY = 1 / 8  # share of the impurity that is added to a rating by errors, because many tests have equal errors
_LEAF = LeafNode(None)  # the values of leaves are found last
Rated = tuple[float, Node]  # the objective of a tree for some rows, and the tree


@dataclass(frozen=True)
class _Rating:
    """The tests that divide the rows in a node."""

    tests: Index  # the tests
    first: Index  # the rated tests, in the order in which they are completed
    best: Rated  # the best tree of up to two levels


class Lookahead:
    """Trees of at least two levels for one table by greedy lookahead."""

    # A node is identified by its set of sides: the test for a satisfied test, and its complement otherwise.

    def __init__(self, rows: PatternMatrix, settings: SearchSettings) -> None:
        self._rows, self._settings, self._min_rows = rows, settings, max(settings.min_rows, 1)
        numbers = max(len(rows.weights) * rows.space.n_options, 1)
        self._n_rated = max(1, min(_MOST_COUNTS // numbers, _MOST_WORK // (numbers * max(len(rows), 1))))
        self._attributes = rows.space.attributes
        self._patterns = np.arange(len(rows))
        self._ratings: dict[frozenset[int], _Rating] = {}
        self._trees: dict[tuple[frozenset[int], int], Rated] = {}

    def trees(self) -> Iterator[Rated]:
        """Yield trees by doubling widths, up to all tests, with their objectives."""
        sides, tests, width = frozenset[int](), np.arange(self._rows.space.n_options), 1
        while width == 1 or (self._settings.depth > 2 and width < 2 * len(tests)):
            yield self._valued(self._tree(sides, self._patterns, tests, width)[1], self._patterns)
            width *= 2

    def _valued(self, tree: Node, patterns: Index) -> Rated:
        """Return the objective of a tree for some rows, and the tree with the best values of its leaves."""
        if isinstance(tree, LeafNode):
            total = self._rows.weights[:, patterns].sum(axis=1, dtype=np.float64)
            return float(self._rows.loss.least(total)), LeafNode(self._rows.loss.best(total))
        is_caught = self._rows.caught(tree.option)[patterns]
        objective, caught = self._valued(tree.caught, patterns[is_caught])
        more, left = self._valued(tree.left, patterns[~is_caught])
        return self._settings.penalty + objective + more, InnerNode(tree.option, caught, left)

    def _tree(self, sides: frozenset[int], patterns: Index, tests: Index, width: int) -> Rated:
        """Return a tree for the rows in a node, by completing up to `width` tests in each node."""
        key = sides, width
        if key not in self._trees:
            weights, choices = self._rows.weights[:, patterns], self._settings.depth - len(sides)
            stop = float(self._rows.loss.least(weights.sum(axis=1)))
            unavoidable = self._rows.unavoidable[patterns].sum(dtype=np.float64)
            if not len(tests) or stop - unavoidable <= self._settings.penalty:
                return stop, _LEAF
            if sides not in self._ratings:
                self._ratings[sides] = self._rated(patterns, tests, weights)
            rating = self._ratings[sides]
            trees = [(stop, _LEAF), rating.best]
            if choices > 2 and len(rating.first):
                firsts = rating.first[:width].tolist()
                completed = [self._completed(test, sides, patterns, rating.tests, 1) for test in firsts]
                place = min(range(len(completed)), key=lambda place: completed[place][0])
                trees.append(completed[place])
                if width > 1:
                    trees.append(self._completed(firsts[place], sides, patterns, rating.tests, width))
            self._trees[key] = min(trees, key=lambda tree: tree[0])
        return self._trees[key]

    def _completed(self, test: int, sides: frozenset[int], patterns: Index, tests: Index, width: int) -> Rated:
        """Return a tree for the rows in a node with a given first test."""
        is_caught = self._rows.caught(test)[patterns]
        loss, caught = self._tree(sides | {test}, patterns[is_caught], tests, width)
        more, left = self._tree(sides | {~test}, patterns[~is_caught], tests, width)
        return self._settings.penalty + loss + more, InnerNode(test, caught, left)

    def _rated(self, patterns: Index, tests: Index, weights: Array) -> _Rating:
        """Return the tests that divide the rows in a node, rated by their best trees of two levels."""
        rows = self._rows
        satisfied = rows.satisfied[patterns]
        if len(tests) < rows.space.n_options:
            satisfied = satisfied[:, tests]
        caught = product(weights, satisfied)
        left = weights.sum(axis=1)[:, None] - caught
        allowed = np.flatnonzero(enough(self._min_rows, caught, left, rows.space))
        if not len(allowed):
            return _Rating(allowed, allowed, (inf, _LEAF))
        if len(allowed) < len(tests):
            tests, satisfied, caught, left = tests[allowed], satisfied[:, allowed], caught[:, allowed], left[:, allowed]
        losses = rows.loss.least(caught), rows.loss.least(left)
        singles = self._settings.penalty + losses[0] + losses[1]
        extra = _IMPURITY * (_impurity(caught) + _impurity(left)) if rows.loss.is_errors else np.zeros(len(tests))
        first = np.argsort(singles + extra, kind="stable")[: self._n_rated]
        some = satisfied[:, first]
        both = np.stack([product((some * row[:, None]).T, satisfied) for row in weights])
        value, second = self._second(both, caught[:, first, None], losses[0][first])
        more, other = self._second(caught[:, None] - both, left[:, first, None], losses[1][first])
        objective = self._settings.penalty + value + more
        best = int(objective.argmin())
        parts = [
            _LEAF if test < 0 else InnerNode(int(tests[test]), _LEAF, _LEAF) for test in (second[best], other[best])
        ]
        order = _in_turn(objective + extra[first], self._attributes[tests[first]])
        tree = float(objective[best]), InnerNode(int(tests[first[best]]), *parts)
        return _Rating(tests, tests[first[order]], tree)

    def _second(self, inside: Array, whole: Array, stop: Floats) -> tuple[Floats, Index]:
        """Return the objective of a branch of each first test, and its best second test, or -1 if a leaf is better."""
        # `inside` are the rows of the branch that satisfy the second tests, shape ``(n_classes, n_first, n_tests)``.
        outside = whole - inside
        pairs = self._rows.loss.least(inside) + self._rows.loss.least(outside)
        if self._min_rows > 1:  # with a minimum of 1 row, no check is needed: a test with an empty leaf saves nothing
            pairs[(inside.sum(axis=0) < self._min_rows) | (outside.sum(axis=0) < self._min_rows)] = inf
        second = pairs.argmin(axis=1)
        value = pairs[np.arange(len(pairs)), second] + self._settings.penalty
        return np.minimum(value, stop), np.where(value < stop, second, -1)


def _in_turn(ratings: Floats, attributes: Index) -> Index:
    """Return an order with the best test of each attribute first, because tests of one attribute are alike."""
    by_rating = np.argsort(ratings, kind="stable")
    grouped = attributes[by_rating]
    order = np.argsort(grouped, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order)) - np.searchsorted(grouped[order], grouped[order])
    return by_rating[np.argsort(rank, kind="stable")]


def _impurity(counts: Floats) -> Floats:
    """Return the unnormalised Gini impurity."""
    size = counts.sum(axis=0)
    return size - (counts**2).sum(axis=0) / np.maximum(size, 1)
