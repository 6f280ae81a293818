"""Operators of a graph: a value of each row from other values of the same row, to the last bit.

A value is a matrix of float64 with a row for each row of the table, or with one row where it is a constant; or it is a
tuple of columns of text. Whole numbers and truth values are float64, too. NaN stands for what is missing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from hedgerow.boundary.arithmetic import LARGEST, affine, exponential, hyperbolic_tangent
from hedgerow.boundary.arithmetic import logistic as _logistic
from hedgerow.boundary.arrays import Floats, Integers, Mask
from hedgerow.errors import ArgumentError
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown


@dataclass(frozen=True, eq=False)
class Text:
    """A column of text, and the text that replaces missing values."""

    column: Column
    fill: str | None = None  # None where missing stays missing


Texts = tuple[Text, ...]
GraphValue = Floats | Texts
"""What a graph computes of each row: numbers, shape ``(n_rows, width)`` or ``(1, width)``, or columns of text."""


class Operator(Protocol):
    """Computes a value from others, row by row."""

    def __call__(self, *values: Any) -> GraphValue: ...


@dataclass(frozen=True, eq=False)
class ConstantRow:
    """A constant, the same for each row."""

    values: Floats  # shape (1, width)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != 1:
            raise ArgumentError("expected a constant that is the same for each row")

    def __call__(self, *values: Any) -> GraphValue:  # noqa: ARG002 -- of no other values
        return self.values


def _truth(compare: Callable[..., Any]) -> Callable[..., Floats]:
    return lambda *values: compare(*values).astype(np.float64)


def _within(values: Floats) -> Floats:
    """Return rows with a number that is missing or too large as rows without results."""
    return np.where((np.abs(values) < LARGEST).all(axis=1, keepdims=True), values, np.nan)


def _with_nan(compute: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    return lambda values: np.where(np.isnan(values), np.nan, compute(values))


ELEMENTWISE: Mapping[str, Callable[..., Floats]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "absolute": np.abs,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "is missing": _truth(np.isnan),
    "equal": _truth(np.equal),
    "less": _truth(np.less),
    "less or equal": _truth(np.less_equal),
    "greater": _truth(np.greater),
    "greater or equal": _truth(np.greater_equal),
    "not": _with_nan(_truth(lambda x: x == 0)),
    "and": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, (a != 0) & (b != 0)),
    "or": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, (a != 0) | (b != 0)),
    "where": lambda is_so, a, b: np.where(np.isnan(is_so), np.nan, np.where(is_so != 0, a, b)),
    "single": lambda x: x.astype(np.float32).astype(np.float64),
    "whole": np.trunc,
    "boolean": _with_nan(_truth(lambda x: x != 0)),
    "relu": lambda x: np.maximum(_within(x), 0.0),
    "tanh": lambda x: hyperbolic_tangent(_within(x)),
    "logistic": lambda x: _logistic(_within(x)),
}
"""Functions of the numbers in the same place. A constant of one row, or a value of one column, counts for all."""


@dataclass(frozen=True)
class Elementwise:
    """A function of `ELEMENTWISE`."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in ELEMENTWISE:
            raise ArgumentError(f"expected one of {', '.join(ELEMENTWISE)}, got {shown(self.name)}")

    def __call__(self, *values: Any) -> GraphValue:
        return ELEMENTWISE[self.name](*values)


@dataclass(frozen=True)
class Clip:
    """Numbers, clipped to bounds; missing stays missing."""

    low: float
    high: float

    def __call__(self, *values: Any) -> GraphValue:
        return np.clip(values[0], self.low, self.high)


@dataclass(frozen=True, eq=False)
class Affine:
    """``x @ weights + bias``; a row with a number that is missing or too large has no result."""

    weights: Floats  # shape (width, outputs)
    bias: Floats  # shape (outputs,)

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.bias.shape != self.weights.shape[1:]:
            raise ArgumentError("expected a matrix of weights, and a bias for each of its columns")

    def __call__(self, *values: Any) -> GraphValue:
        (rows,) = values
        known = (np.abs(rows) < LARGEST).all(axis=1, keepdims=True)
        return np.where(known, affine(np.where(known, rows, 0.0), self.weights, self.bias), np.nan)


@dataclass(frozen=True)
class Pick:
    """Some columns of a value."""

    places: tuple[int, ...]  # their numbers

    def __call__(self, *values: Any) -> GraphValue:
        (value,) = values
        return tuple(value[i] for i in self.places) if isinstance(value, tuple) else value[:, list(self.places)]


def _joined(*values: Any) -> GraphValue:
    """Return values side by side, all of numbers or all of text."""
    if isinstance(values[0], tuple):
        return tuple(text for value in values for text in value)
    n_rows = max(len(value) for value in values)
    return np.hstack([np.broadcast_to(value, (n_rows, value.shape[1])) for value in values])


def _sum(values: Floats) -> Floats:
    """Return the sum of each row's numbers, by halves: elementwise, so that no batch changes the order."""
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        values = np.hstack([values[:, :half] + values[:, half : 2 * half], values[:, 2 * half :]])
    return values


def _softmax(values: Floats) -> Floats:
    rows = _within(values)
    powers = exponential(rows - rows.max(axis=1, keepdims=True))
    return powers / _sum(powers)


def _arg_max(values: Floats) -> Floats:
    """Return the number of the first of the largest numbers; missing where one is."""
    found = values.argmax(axis=1, keepdims=True).astype(np.float64)
    return np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, found)


ROWWISE: Mapping[str, Callable[..., GraphValue]] = {
    "join": _joined,
    "sum": _sum,
    "softmax": _softmax,
    "arg max": _arg_max,
}
"""Functions of all numbers of a row."""


@dataclass(frozen=True)
class Rowwise:
    """A function of `ROWWISE`."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in ROWWISE:
            raise ArgumentError(f"expected one of {', '.join(ROWWISE)}, got {shown(self.name)}")

    def __call__(self, *values: Any) -> GraphValue:
        return ROWWISE[self.name](*values)


@dataclass(frozen=True)
class FillText:
    """Text, with missing text replaced."""

    word: str

    def __call__(self, *values: Any) -> GraphValue:
        return tuple(replace(text, fill=text.fill or self.word) for text in values[0])


@dataclass(frozen=True)
class Encode:
    """One-hot encoding: of each column, a column of 0 and 1 for each category."""

    categories: tuple[str | float | None, ...]  # text or numbers; None is what is missing
    refuse_others: bool = False  # whether a row with another value has no result. False: all its columns are 0.

    def __call__(self, *values: Any) -> GraphValue:
        columns = values[0] if isinstance(values[0], tuple) else values[0].T
        places = np.stack([self._place(column) for column in columns], axis=1)
        found = (places[:, :, None] == np.arange(len(self.categories))).astype(np.float64).reshape(len(places), -1)
        refused = (places < 0).any(axis=1, keepdims=True) & self.refuse_others
        return np.where(refused, np.nan, found)

    def _place(self, column: Floats | Text) -> Integers:
        """Return the number of each row's category, -1 for none."""
        if not isinstance(column, Text):
            found = np.full(len(column), -1)
            for number, value in enumerate(self.categories):
                found[np.isnan(column) if value is None else column == value] = number
            return found
        words = [value for value in self.categories if isinstance(value, str)]
        places = np.array([self.categories.index(word) for word in words] + [-1])
        found = places[column.column.index_in(words)]
        if column.column.missing is None:
            return found
        of_missing = self.categories.index(column.fill) if column.fill in self.categories else -1
        return np.where(column.column.missing, of_missing, found)


@dataclass(frozen=True, eq=False)
class BinaryTree:
    """A tree on numbers: what is ``<= threshold`` goes left."""

    left: Integers  # the nodes below; -1 in a leaf
    right: Integers  # the nodes below; -1 in a leaf
    feature: Integers  # what is compared
    threshold: Floats  # with what
    missing_left: Mask  # whether a missing value goes left
    shares: Floats  # what each node holds of each class
    width: int  # how many features there are

    def __post_init__(self) -> None:
        size, inner = len(self.shares), self.left >= 0
        parts = (self.left, self.right, self.feature, self.threshold, self.missing_left)
        if {part.shape for part in parts} != {(size,)} or self.shares.ndim != 2:
            raise ArgumentError("its nodes do not form a tree")
        below, feature = np.stack([self.left, self.right])[:, inner], self.feature[inner]
        if (below <= np.flatnonzero(inner)).any() or (below >= size).any():  # later nodes only: every path ends
            raise ArgumentError("its nodes do not form a tree")
        if not size or (feature < 0).any() or (feature >= self.width).any():
            raise ArgumentError("its nodes split on features that it does not have")

    @cached_property
    def depth(self) -> int:
        """The most steps from the root to a leaf."""
        found = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(self.left >= 0):
            found[[self.left[node], self.right[node]]] = found[node] + 1
        return int(found.max())

    def leaves(self, values: Floats) -> Integers:
        """Return the leaf of each row: comparisons and look-ups only."""
        node, rows = np.zeros(len(values), dtype=np.int64), np.arange(len(values))
        for _ in range(self.depth):
            value = values[rows, np.maximum(self.feature[node], 0)]
            left = np.where(np.isnan(value), self.missing_left[node], value <= self.threshold[node])
            below = np.where(left, self.left[node], self.right[node])
            node = np.where(self.left[node] < 0, node, below)
        return node


@dataclass(frozen=True, eq=False)
class TreeScores:
    """Sums of what the leaves of trees hold, one tree after the other, onto a base."""

    trees: tuple[BinaryTree, ...]
    base: tuple[float, ...]  # one number a class

    def __post_init__(self) -> None:
        if len({(tree.width, tree.shares.shape[1]) for tree in self.trees}) != 1:
            raise ArgumentError("expected trees with the same features and classes")

    @property
    def width(self) -> int:
        return self.trees[0].width

    def __call__(self, *values: Any) -> GraphValue:
        (rows,) = values
        if rows.shape[1] != self.width:  # else a row's path would decide whether a feature is missed
            raise ArgumentError(f"it takes {self.width} columns, and there are {rows.shape[1]}")
        total = np.tile(np.array(self.base), (len(rows), 1))
        for tree in self.trees:
            total += tree.shares[tree.leaves(rows)]
        return total
