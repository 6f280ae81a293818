"""Trees and lists of one-literal rules as nodes with their counts, and what their learners may choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.models import Leaf, RuleList, Tree
from hedgerow.models.leaf import TreeNode

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Learner:
    """Constraints of a learner of trees or of lists of one-literal rules.

    Attributes
    ----------
    is_tree : bool
        In a tree, both sides of a split need the minimum support; in a list, only the rows that a rule catches.
    min_rows : int
        The minimum support in rows, at least 1.
    penalty : float
        For optimal models: the rows that each split or rule weighs in the objective.
    """

    is_tree: bool
    min_rows: int
    penalty: float = 0.0


@dataclass(frozen=True)
class Node:
    """A node with the numbers that the model shows.

    Attributes
    ----------
    counts : tuple of int
        The rows of class 0 and of class 1.
    left : int
        How many more choices in sequence the limits of the model allow here; 0 at the depth limit and for the rows
        that a rule of a list catches.
    path : tuple of (column, value)
        The tests that lead here.
    column : int, optional
        The tested column; None for a leaf.
    parts : tuple of Node
        The rows with 0 in the column, and those with 1; empty for a leaf.
    """

    counts: tuple[int, int]
    left: int
    path: tuple[tuple[int, bool], ...]
    column: int | None = None
    parts: tuple[Node, ...] = ()

    @property
    def size(self) -> int:
        """The number of rows."""
        return sum(self.counts)

    @property
    def height(self) -> int:
        """The number of choices on the longest path below."""
        return 1 + max(part.height for part in self.parts) if self.parts else 0

    def nodes(self) -> Iterator[Node]:
        """Yield this node and all nodes below."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    def objective(self, penalty: float) -> float:
        """Return the misclassified rows plus the penalty of each choice below."""
        if not self.parts:
            return min(self.counts)
        return penalty + sum(part.objective(penalty) for part in self.parts)

    def entropy_bits(self, n_columns: int) -> int:
        """Return PDR's entropy of the rows in bits (eq. 11 and 16): the columns that are not tested on their paths."""
        if not self.parts:
            return self.size * (n_columns - len(self.path))
        return sum(part.entropy_bits(n_columns) for part in self.parts)


@dataclass(frozen=True, eq=False)
class Rows:
    """A training table of booleans with classes 0 and 1."""

    X: Bits
    y: Bits

    def having(self, column: int, value: bool) -> Rows:
        """Return the rows with a value in a column."""
        kept = self.X[:, column] == value
        return Rows(self.X[kept], self.y[kept])

    @property
    def counts(self) -> tuple[int, int]:
        """The number of rows of each class."""
        return int((~self.y).sum()), int(self.y.sum())


def nodes_of(model: Any, rows: Rows, names: list[str], limit: int) -> Node:
    """Return the nodes of a fitted tree or list; `limit` is the depth, or the rules without the default rule."""
    if isinstance(model, Tree):
        return _of_tree(model.root, rows, names, limit, ())
    if isinstance(model, RuleList):
        return _of_list(model, rows, names, limit)
    return _of_sklearn(model.tree_, 0, rows, limit, ())


def _of_tree(part: TreeNode, rows: Rows, names: list[str], left: int, path: Any) -> Node:
    if isinstance(part, Leaf):
        return Node(rows.counts, left, path)
    column, value = names.index(part.literal.attribute), part.literal.operator == "true"
    by_value = {value: part.true, not value: part.false}
    parts = tuple(
        _of_tree(by_value[side], rows.having(column, side), names, left - 1, (*path, (column, side)))
        for side in (False, True)
    )
    return Node(rows.counts, left, path, column, parts)


def _of_sklearn(tree: Any, place: int, rows: Rows, left: int, path: Any) -> Node:
    if tree.children_left[place] < 0:
        return Node(rows.counts, left, path)
    column, below = int(tree.feature[place]), (tree.children_left[place], tree.children_right[place])
    parts = tuple(
        _of_sklearn(tree, int(child), rows.having(column, side), left - 1, (*path, (column, side)))
        for side, child in zip((False, True), below, strict=True)
    )
    return Node(rows.counts, left, path, column, parts)


def _of_list(model: RuleList, rows: Rows, names: list[str], limit: int) -> Node:
    def rest(number: int, rows: Rows, path: Any) -> Node:
        if not model.rules[number].antecedent:
            return Node(rows.counts, limit - number, path)
        (literal,) = model.rules[number].antecedent
        column, caught = names.index(literal.attribute), literal.operator == "true"
        leaf = Node(rows.having(column, caught).counts, 0, (*path, (column, caught)))
        other = rest(number + 1, rows.having(column, not caught), (*path, (column, not caught)))
        return Node(rows.counts, limit - number, path, column, (other, leaf) if caught else (leaf, other))

    return rest(0, rows, ())
