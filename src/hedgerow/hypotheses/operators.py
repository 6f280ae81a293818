"""Operators of a graph, which compute a value of a row from values of the same row, to the last bit.

A value is a float64 matrix with a row for each row of the table, a float64 matrix with a single row for a constant, or
a tuple of text columns. Whole numbers and booleans are also float64. NaN stands for missing values.
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
    """A text column with a replacement for missing values."""

    column: Column
    fill: str | None = None  # None: missing values stay missing


Texts = tuple[Text, ...]
GraphValue = Floats | Texts
"""A value of a graph: numbers of shape ``(n_rows, width)`` or ``(1, width)``, or text columns."""


class Operator(Protocol):
    """A function of values that computes each row separately."""

    def __call__(self, *values: Any) -> GraphValue: ...


@dataclass(frozen=True, eq=False)
class ConstantRow:
    """A constant that is the same for every row."""

    values: Floats  # shape (1, width)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.values) != 1:
            raise ArgumentError(f"a constant must have the shape (1, width), got {self.values.shape}")

    def __call__(self, *values: Any) -> GraphValue:  # noqa: ARG002 -- a constant has no inputs
        return self.values


def _truth(compare: Callable[..., Any]) -> Callable[..., Floats]:
    return lambda *values: compare(*values).astype(np.float64)


def _within(values: Floats) -> Floats:
    """Return values with NaN for rows with a missing or too large number."""
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
    "where": lambda condition, a, b: np.where(np.isnan(condition), np.nan, np.where(condition != 0, a, b)),
    "single": lambda x: x.astype(np.float32).astype(np.float64),
    "whole": np.trunc,
    "boolean": _with_nan(_truth(lambda x: x != 0)),
    "relu": lambda x: np.maximum(_within(x), 0.0),
    "tanh": lambda x: hyperbolic_tangent(_within(x)),
    "logistic": lambda x: _logistic(_within(x)),
}
"""Elementwise functions. Constants and single columns are broadcast."""


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
    """Clipping of numbers to bounds. Missing values stay missing."""

    low: float
    high: float

    def __call__(self, *values: Any) -> GraphValue:
        return np.clip(values[0], self.low, self.high)


@dataclass(frozen=True, eq=False)
class Affine:
    """``x @ weights + bias``. A row with a missing or too large number has no result."""

    weights: Floats  # shape (width, outputs)
    bias: Floats  # shape (outputs,)

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.bias.shape != self.weights.shape[1:]:
            raise ArgumentError("weights must be a matrix, and bias must have an entry for each of its columns")

    def __call__(self, *values: Any) -> GraphValue:
        (rows,) = values
        known = (np.abs(rows) < LARGEST).all(axis=1, keepdims=True)
        return np.where(known, affine(np.where(known, rows, 0.0), self.weights, self.bias), np.nan)


@dataclass(frozen=True)
class Pick:
    """A selection of the columns of a value."""

    places: tuple[int, ...]  # the indices of the columns

    def __call__(self, *values: Any) -> GraphValue:
        (value,) = values
        return tuple(value[i] for i in self.places) if isinstance(value, tuple) else value[:, list(self.places)]


def _joined(*values: Any) -> GraphValue:
    """Return the columns of all values, which are all numeric or all text."""
    if isinstance(values[0], tuple):
        return tuple(text for value in values for text in value)
    n_rows = max(len(value) for value in values)
    return np.hstack([np.broadcast_to(value, (n_rows, value.shape[1])) for value in values])


def _sum(values: Floats) -> Floats:
    """Return the sum of the numbers of each row by halving, so that the order of additions never depends on rows."""
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        values = np.hstack([values[:, :half] + values[:, half : 2 * half], values[:, 2 * half :]])
    return values


def _softmax(values: Floats) -> Floats:
    rows = _within(values)
    powers = exponential(rows - rows.max(axis=1, keepdims=True))
    return powers / _sum(powers)


def _arg_max(values: Floats) -> Floats:
    """Return the index of the first of the largest numbers of each row; NaN for rows with a missing number."""
    indices = values.argmax(axis=1, keepdims=True).astype(np.float64)
    return np.where(np.isnan(values).any(axis=1, keepdims=True), np.nan, indices)


ROWWISE: Mapping[str, Callable[..., GraphValue]] = {
    "join": _joined,
    "sum": _sum,
    "softmax": _softmax,
    "arg max": _arg_max,
}
"""Functions of all values of a row."""


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
    """A replacement of missing text."""

    word: str

    def __call__(self, *values: Any) -> GraphValue:
        return tuple(replace(text, fill=text.fill or self.word) for text in values[0])


@dataclass(frozen=True)
class Encode:
    """One-hot encoding: an indicator column for each column and category."""

    categories: tuple[str | float | None, ...]  # text or numbers; None for missing values
    refuse_others: bool = False  # True: a row with another value has no result; False: all its indicators are 0

    def __call__(self, *values: Any) -> GraphValue:
        columns = values[0] if isinstance(values[0], tuple) else values[0].T
        codes = np.stack([self._codes(column) for column in columns], axis=1)
        indicators = (codes[:, :, None] == np.arange(len(self.categories))).astype(np.float64).reshape(len(codes), -1)
        has_no_result = (codes < 0).any(axis=1, keepdims=True) & self.refuse_others
        return np.where(has_no_result, np.nan, indicators)

    def _codes(self, column: Floats | Text) -> Integers:
        """Return the index of the category of each row, or -1."""
        if not isinstance(column, Text):
            codes = np.full(len(column), -1)
            for code, value in enumerate(self.categories):
                codes[np.isnan(column) if value is None else column == value] = code
            return codes
        words = [value for value in self.categories if isinstance(value, str)]
        word_codes = np.array([self.categories.index(word) for word in words] + [-1])
        codes = word_codes[column.column.index_in(words)]
        if column.column.missing is None:
            return codes
        missing_code = self.categories.index(column.fill) if column.fill in self.categories else -1
        return np.where(column.column.missing, missing_code, codes)


@dataclass(frozen=True, eq=False)
class BinaryTree:
    """A tree on numbers: values ``<= threshold`` go left."""

    left: Integers  # the left child of each node; -1 in a leaf
    right: Integers  # the right child of each node; -1 in a leaf
    feature: Integers  # the feature that is compared
    threshold: Floats
    missing_left: Mask  # whether missing values go left
    shares: Floats  # the class shares of each node
    width: int  # the number of features

    def __post_init__(self) -> None:
        size, inner = len(self.shares), self.left >= 0
        parts = (self.left, self.right, self.feature, self.threshold, self.missing_left)
        if {part.shape for part in parts} != {(size,)} or self.shares.ndim != 2:
            raise ArgumentError("its nodes do not form a tree")
        below, feature = np.stack([self.left, self.right])[:, inner], self.feature[inner]
        if (below <= np.flatnonzero(inner)).any() or (below >= size).any():  # children are later nodes: every path ends
            raise ArgumentError("its nodes do not form a tree")
        if not size or (feature < 0).any() or (feature >= self.width).any():
            raise ArgumentError(f"its nodes split on features beyond its {self.width} features")

    @cached_property
    def depth(self) -> int:
        """The largest number of comparisons from the root to a leaf."""
        depths = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(self.left >= 0):
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return int(depths.max())

    def leaves(self, values: Floats) -> Integers:
        """Return the leaf of each row, by comparisons and look-ups only."""
        node, rows = np.zeros(len(values), dtype=np.int64), np.arange(len(values))
        for _ in range(self.depth):
            value = values[rows, np.maximum(self.feature[node], 0)]
            left = np.where(np.isnan(value), self.missing_left[node], value <= self.threshold[node])
            below = np.where(left, self.left[node], self.right[node])
            node = np.where(self.left[node] < 0, node, below)
        return node


@dataclass(frozen=True, eq=False)
class TreeScores:
    """The base plus the class shares of the leaves, added one tree after the other."""

    trees: tuple[BinaryTree, ...]
    base: tuple[float, ...]  # a number per class

    def __post_init__(self) -> None:
        if len({(tree.width, tree.shares.shape[1]) for tree in self.trees}) != 1:
            raise ArgumentError("all trees must have the same numbers of features and classes")

    @property
    def width(self) -> int:
        return self.trees[0].width

    def __call__(self, *values: Any) -> GraphValue:
        (rows,) = values
        if rows.shape[1] != self.width:  # otherwise an error would depend on the path of a row
            raise ArgumentError(f"it expects {self.width} columns, got {rows.shape[1]}")
        total = np.tile(np.array(self.base), (len(rows), 1))
        for tree in self.trees:
            total += tree.shares[tree.leaves(rows)]
        return total
