"""The probability that a random table makes a learner return a given model, by sampling from the leaves to the root.

A learner returns a model only if, at every node, it would return the part below for the rows below with the choices
that are left: a greedy learner since it chooses there by these rows alone, an optimal one since a better part would
make a better model. So P(node) = Π P(part) · P(node | both parts), and rows of different parts are independent. Tables
of a part that passed are combined at random at the node above; the share that passes estimates the last factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from hedgerow.learn.search.certified import find_optimum
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.space import Space
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from studies.learning_algorithm.greedy import Ties, better_or_equal
from studies.learning_algorithm.nodes import Bits, Learner, Node, Rows

Floats = NDArray[np.float64]
Draw = Callable[[Node, int, np.random.Generator], Bits]
"""Random rows of a leaf, given the node and the number of tables: shape ``(number, rows, columns)``."""
_MOST_TRIES = 12  # for each table that is kept
_ROUNDING = 1e-6  # in rows


def labels(node: Node) -> Bits:
    """Return the classes of the rows of sampled tables: by leaf, class 0 first."""
    if not node.parts:
        return np.repeat([False, True], node.counts)
    return np.concatenate([labels(part) for part in node.parts])


def random_tables(node: Node, draw: Draw, number: int, rng: np.random.Generator) -> Bits:
    """Return tables of a node's rows from the prior, without any knowledge of the learner."""
    if not node.parts:
        return draw(node, number, rng)
    return np.concatenate([random_tables(part, draw, number, rng) for part in node.parts], axis=1)


def by_shares(shares: Floats) -> Draw:
    """Return the prior of independent columns with given shares of 1, given the path."""

    def draw(leaf: Node, number: int, rng: np.random.Generator) -> Bits:
        rows = rng.random((number, leaf.size, len(shares))) < shares
        for column, value in leaf.path:
            rows[..., column] = value
        return rows

    return draw


def by_population(rows: Rows) -> Draw:
    """Return the prior of rows drawn from known rows of the leaf, with replacement, whatever the class."""

    def draw(leaf: Node, number: int, rng: np.random.Generator) -> Bits:
        known = rows.X
        for column, value in leaf.path:
            known = known[known[:, column] == value]
        return known[rng.integers(0, len(known), (number, leaf.size))]

    return draw


@dataclass(frozen=True)
class Greedy:
    """The choices of a greedy learner by Gini impurity at one node.

    Attributes
    ----------
    learner : Learner
        Its constraints.
    ties : {"chosen", "excluded"}
        Whether equal Gini impurity leaves a choice as it is.
    """

    learner: Learner
    ties: Ties

    def is_certain(self, node: Node) -> bool:
        """Return whether no table contradicts the node."""
        return not node.parts and (node.left == 0 or min(node.counts) == 0)

    def fits(self, node: Node, tables: Bits) -> Bits:
        """Return for each table of the node's rows whether the learner would choose as the node does."""
        y = labels(node)
        a, b = (tables[:, y == value].sum(axis=1, dtype=np.int64) for value in (False, True))
        better = better_or_equal(node, self.learner, a, b, self.ties)
        if node.column is not None:
            better[:, node.column] = False
        return np.logical_not(better.any(axis=1))


@dataclass(frozen=True)
class Optimal:
    """The search for the fewest errors at one node, by hedgerow's certified search.

    Attributes
    ----------
    learner : Learner
        Its constraints.
    schema : Schema
        The columns.
    height : int
        Nodes with more choices below are not examined. At all other nodes, only models with this many choices in
        sequence are searched. So the result is a lower bound of the bits if the limit of the model is larger.
    """

    learner: Learner
    schema: Schema
    height: int

    @cached_property
    def _space(self) -> Space:
        if self.learner.is_tree:
            return Space.of_trees(self.schema)
        return Space.of_lists(Candidates.of(self.schema, 1, negations=True))

    def is_certain(self, node: Node) -> bool:
        """Return whether no table contradicts the node, or the node is not examined."""
        if node.height > self.height:
            return True
        needed = self.learner.min_rows * (2 if self.learner.is_tree else 1)
        return not node.parts and (node.left == 0 or min(node.counts) == 0 or node.size < needed)

    def fits(self, node: Node, tables: Bits) -> Bits:
        """Return for each table of the node's rows whether no model has a smaller objective than the node's."""
        least = node.objective(self.learner.penalty) - _ROUNDING
        return np.array([self.optimum(node, table) >= least for table in tables], dtype=bool)

    def optimum(self, node: Node, table: Bits) -> float:
        """Return the smallest objective of all models for a table of the node's rows."""
        classes = np.asarray(self.schema.classes)[labels(node).astype(np.intp)]
        tally = Tally.count(table.astype(np.int64), classes, self.schema)
        settings = SearchSettings(min(node.left, self.height), self.learner.min_rows, self.learner.penalty)
        return find_optimum(tally, self._space, settings, None, lambda *_: None).objective


@dataclass(frozen=True, eq=False)
class Estimate:
    """Bits by sampling.

    Attributes
    ----------
    bits : float
        −log2 of the estimated probability.
    tables : ndarray of bool, shape (number, rows, columns)
        Random tables that fit.
    is_complete : bool
        Whether enough tables fitted at every node; otherwise `bits` is a lower bound.
    n_drawn : int
        The number of examined tables.
    """

    bits: float
    tables: Bits
    is_complete: bool
    n_drawn: int


class Algorithm(Protocol):
    """The knowledge of a learner's choices."""

    def is_certain(self, node: Node) -> bool:
        """Return whether no table contradicts the node."""
        ...

    def fits(self, node: Node, tables: Bits) -> Bits:
        """Return for each table of the node's rows whether the learner would return the node's part of the model."""
        ...


def sampled_bits(node: Node, algorithm: Algorithm, draw: Draw, kept: int, rng: np.random.Generator) -> Estimate:
    """Estimate the bits that the knowledge of the algorithm adds at a node and below.

    Parameters
    ----------
    node : Node
        The model.
    algorithm : Algorithm
        The choices that the learner is known to make.
    draw : callable
        The prior.
    kept : int
        At every node, tables are drawn until this many fit. If they were k of T, (k − 1)/(T − 1) is an unbiased
        estimate of the share.
    rng : Generator
        The source of randomness.
    """
    parts = [sampled_bits(part, algorithm, draw, kept, rng) for part in node.parts]

    def sample(number: int) -> Bits:
        if not parts:
            return draw(node, number, rng)
        chosen = [part.tables[rng.integers(0, len(part.tables), number)] for part in parts]
        return np.concatenate(chosen, axis=1)

    below, complete = sum(part.bits for part in parts), all(part.is_complete for part in parts)
    drawn = sum(part.n_drawn for part in parts)
    if not complete:
        return Estimate(below, np.empty((0, node.size, 0), dtype=bool), False, drawn)
    if algorithm.is_certain(node):
        return Estimate(below, sample(kept), True, drawn)
    step = _kept(node, algorithm, sample, kept)
    if step.is_complete:
        return Estimate(below + step.bits, step.tables, True, drawn + step.n_drawn)
    again = column_by_column(node, algorithm, draw, kept, rng)
    bits = again.bits if again.is_complete else max(again.bits, below + step.bits)
    return Estimate(bits, again.tables, again.is_complete, drawn + step.n_drawn + again.n_drawn)


def _kept(node: Node, algorithm: Algorithm, sample: Callable[[int], Bits], kept: int) -> Estimate:
    """Return tables of a sample that fit, with the bits of their share; a lower bound if too few fit."""
    fitting, passed = list[Bits](), np.empty(0, dtype=bool)
    while passed.sum() < kept and len(passed) < _MOST_TRIES * kept:
        tables = sample(kept)
        fits = algorithm.fits(node, tables)
        fitting.append(tables[fits])
        passed = np.append(passed, fits)
    if passed.sum() < kept:
        upper = float(binomtest(int(passed.sum()), len(passed)).proportion_ci(0.95).high)
        return Estimate(-float(np.log2(upper)), np.concatenate(fitting), False, len(passed))
    tries = int(np.flatnonzero(passed)[kept - 1]) + 1
    bits = -float(np.log2((kept - 1) / (tries - 1)))
    return Estimate(bits, np.concatenate(fitting)[:kept], True, tries)


def column_by_column(node: Node, algorithm: Algorithm, draw: Draw, kept: int, rng: np.random.Generator) -> Estimate:
    """Return an estimate for a node with rare tables: columns are added in turn to tables that fit without them.

    A model that tests fewer columns remains a model, so that each added column can only exclude tables. The columns of
    the prior must be independent given the leaf. Until it is added, a column is constant and divides nothing.
    """
    tested = {below.column for below in node.nodes()} | set(dict(node.path))
    later = [column for column in range(random_tables(node, draw, 1, rng).shape[2]) if column not in tested]
    bits, drawn, tables = 0.0, 0, np.empty((0, 0, 0), dtype=bool)
    for column in (None, *later):

        def sample(number: int, column: int | None = column, tables: Bits = tables) -> Bits:
            fresh = random_tables(node, draw, number, rng)
            if column is None:
                fresh[..., later] = False
                return fresh
            chosen = tables[rng.integers(0, len(tables), number)]
            chosen[..., column] = fresh[..., column]
            return chosen

        step = _kept(node, algorithm, sample, kept)
        bits, drawn, tables = bits + step.bits, drawn + step.n_drawn, step.tables
        if not step.is_complete:
            return Estimate(bits, tables, False, drawn)
    return Estimate(bits, tables, True, drawn)
