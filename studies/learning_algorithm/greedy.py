"""The probability that a random table makes a greedy learner by Gini impurity return a given tree or list: exact.

The columns that no path of a leaf tests are independent Bernoulli variables in the rows of the leaf. So a column's
numbers of rows with 1 by class are sums of independent binomials over the leaves, and different columns are independent
as each choice compares a column with the chosen column, whose counts the model shows. For one column, the joint
probability of the conditions at all nodes is a sum over its counts, passed from the leaves to the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.signal import convolve, fftconvolve
from scipy.stats import binom

from studies.learning_algorithm.nodes import Learner, Node

Ties = Literal["chosen", "excluded"]
"""Whether a tie with another column always goes to the chosen column, or excludes the table."""
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
_NEGLIGIBLE = 1e-14  # of a message: rows and columns of counts with a smaller share are cut off
_LARGEST = 15_000  # rows, for which products of counts fit into 64 bits
_DIRECT = 3 * 10**5  # products of a convolution that is computed directly, without loss of small shares
_SMALLEST = 1e-5  # share that a condition may leave of a convolution by FFT, whose error is about 1e-16


def better_or_equal(node: Node, learner: Learner, a: Counts, b: Counts, ties: Ties) -> Mask:
    """Return for numbers of rows with 1 by class whether a column would take the place of the node's choice.

    At a leaf that is not pure and not at the limit: whether the learner would have gone on.
    """
    (n0, n1), m, k = node.counts, node.size, a + b
    smaller, larger = np.minimum(k, m - k), np.maximum(k, m - k)
    is_open = (smaller if learner.is_tree else larger) >= learner.min_rows
    gains = a * n1 != b * n0
    if node.column is None:
        return is_open if learner.is_tree else is_open & gains
    impurity, scale = _impurity(a, b, node.counts)
    own = node.parts[1].counts
    chosen, by = _impurity(np.array(own[0]), np.array(own[1]), node.counts)
    less = impurity * by < chosen * scale if ties == "chosen" else impurity * by <= chosen * scale
    return is_open & (smaller > 0) & less


def _impurity(a: Counts, b: Counts, counts: tuple[int, int]) -> tuple[Counts, Counts]:
    """Return numerator and denominator of half the Gini impurity of both sides, in rows."""
    n0, n1 = counts
    if n0 + n1 > _LARGEST:
        raise ValueError(f"Expected at most {_LARGEST:,} rows, for which counts are exact, got {n0 + n1:,}.")
    k, rest = a + b, n0 + n1 - a - b
    return a * b * rest + (n0 - a) * (n1 - b) * k, k * rest


@dataclass(frozen=True, eq=False)
class _Message:
    """The distribution of a column's counts in the rows of a node, given the conditions below, on a window."""

    shares: Floats  # by rows of class 0 and of class 1 with 1 in the column, from `start` on; they sum to 1
    start: tuple[int, int]
    bits: float  # of the conditions below
    by_fft: bool = False  # then small shares are lost

    def given(self, allowed: Mask) -> _Message:
        kept = np.where(allowed, self.shares, 0.0)
        total = kept.sum()
        if self.by_fft and total < _SMALLEST:
            raise ArithmeticError(f"A condition keeps {total:.1g} of a convolution by FFT, which is not exact.")
        if not total:
            return _Message(self.shares, self.start, np.inf)
        return _Message(kept / total, self.start, self.bits - float(np.log2(total))).cut()

    def with_one(self, value: int, leaf: Node) -> _Message:
        """Return the message for a leaf if also one of its rows, of class `value`, has 1."""
        shares = self.shares * self.grid[value] / leaf.counts[value]
        total = shares.sum()
        if not total:
            return _Message(self.shares, self.start, np.inf)
        return _Message(shares / total, self.start, self.bits - float(np.log2(total))).cut()

    def cut(self) -> _Message:
        spans = []
        for axis in (1, 0):
            large = np.flatnonzero(self.shares.sum(axis=axis) > _NEGLIGIBLE)
            spans.append(slice(int(large[0]), int(large[-1]) + 1))
        start = self.start[0] + spans[0].start, self.start[1] + spans[1].start
        return _Message(self.shares[tuple(spans)], start, self.bits)

    def plus(self, other: _Message) -> _Message:
        start = self.start[0] + other.start[0], self.start[1] + other.start[1]
        bits, by_fft = self.bits + other.bits, self.shares.size * other.shares.size > _DIRECT
        if by_fft:
            shares = np.maximum(fftconvolve(self.shares, other.shares), 0.0)
        else:
            shares = convolve(self.shares, other.shares, method="direct")
        return _Message(shares, start, bits, by_fft)

    @property
    def grid(self) -> tuple[Counts, Counts]:
        rows, columns = self.shares.shape
        return np.arange(rows)[:, None] + self.start[0], np.arange(columns)[None, :] + self.start[1]


def column_bits(
    root: Node, learner: Learner, column: int, share: float, ties: Ties, row: tuple[Node, int] | None = None
) -> float:
    """Return −log2 of the probability that a random column changes no choice of a greedy learner.

    Parameters
    ----------
    root : Node
        The model.
    learner : Learner
        Its constraints.
    column : int
        The column; in leaves whose path tests it, its values are known.
    share : float
        The probability of 1 elsewhere.
    ties : {"chosen", "excluded"}
        Whether equal Gini impurity leaves the choice as it is.
    row : tuple of Node and int, optional
        The leaf and the class of a row. Then the probability is that this row has 1, too.
    """
    return _message(root, learner, column, share, ties, row).bits


def largest_shift(root: Node, learner: Learner) -> float:
    """Return how far from ½ the learner moves the probability of 1 in a cell, at most, for a reader with PDR's prior.

    Only columns matter that the model tests, in leaves whose path does not test them: elsewhere, exchanging 0 and 1
    changes nothing. All cells of a leaf, class and column have the same probability.
    """
    result = 0.0
    for column in {node.column for node in root.nodes() if node.column is not None}:
        bits = column_bits(root, learner, column, 0.5, "chosen")
        for leaf in root.nodes():
            for value in (0, 1):
                if not leaf.parts and column not in dict(leaf.path) and leaf.counts[value]:
                    with_one = column_bits(root, learner, column, 0.5, "chosen", (leaf, value))
                    result = max(result, abs(2 ** (bits - with_one) - 0.5))
    return result


def _message(
    node: Node, learner: Learner, column: int, share: float, ties: Ties, row: tuple[Node, int] | None
) -> _Message:
    known = dict(node.path).get(column)
    if known is not None:  # a constant column divides nothing, here and below
        n0, n1 = node.counts
        return _Message(np.ones((1, 1)), (n0 * known, n1 * known), 0.0)
    if not node.parts:
        leaf = _leaf(node, learner, share, ties)
        return leaf.with_one(row[1], node) if row is not None and node is row[0] else leaf
    zero, one = (_message(part, learner, column, share, ties, row) for part in node.parts)
    both = zero.plus(one)
    if column == node.column or both.bits == np.inf:
        return both
    return both.given(~better_or_equal(node, learner, *both.grid, ties))


def _leaf(node: Node, learner: Learner, share: float, ties: Ties) -> _Message:
    may_go_on = node.left > 0 and min(node.counts) > 0
    a, b = (np.arange(n + 1) if may_go_on else _usual(n, share) for n in node.counts)
    logs = binom.logpmf(a, node.counts[0], share)[:, None] + binom.logpmf(b, node.counts[1], share)[None, :]
    if may_go_on:
        logs = np.where(better_or_equal(node, learner, a[:, None], b[None, :], ties), -np.inf, logs)
    largest = logs.max()  # the kept part may be far below the smallest number of float64
    if largest == -np.inf:
        return _Message(np.ones((1, 1)), (0, 0), np.inf)
    shares = np.exp(logs - largest)
    total = shares.sum()
    bits = max(0.0, -float((largest + np.log(total)) / np.log(2))) if may_go_on else 0.0
    return _Message(shares / total, (int(a[0]), int(b[0])), bits).cut()


def _usual(n: int, share: float) -> Counts:
    return np.arange(int(binom.ppf(_NEGLIGIBLE, n, share)), int(binom.isf(_NEGLIGIBLE, n, share)) + 1)


def stop_bits(root: Node, learner: Learner, shares: Floats) -> float:
    """Return the part of `greedy_bits` due to leaves at which the learner stopped before its limit."""
    leaves = [node for node in root.nodes() if not node.parts and node.left and min(node.counts)]
    return sum(greedy_bits(leaf, learner, shares, "chosen") for leaf in leaves)


def greedy_bits(root: Node, learner: Learner, shares: Floats, ties: Ties) -> float:
    """Return the bits that knowing a greedy learner adds: −log2 of the probability that a random table fits its model.

    Parameters
    ----------
    root : Node
        The model.
    learner : Learner
        Its constraints.
    shares : ndarray
        The probability of 1 in each column, all independent.
    ties : {"chosen", "excluded"}
        Whether equal Gini impurity leaves a choice as it is.
    """
    tested = {node.column for node in root.nodes()} | set(dict(root.path))
    result, by_share = 0.0, dict[float, float]()
    for column, share in enumerate(shares.tolist()):
        if column in tested:
            result += column_bits(root, learner, column, share, ties)
            continue
        if share not in by_share:
            by_share[share] = column_bits(root, learner, column, share, ties)
        result += by_share[share]
    return result
