"""Operators of a graph: a value of each row from other values of the same row, to the last bit.

A value is a matrix of float64 with a row for each row of the table, or with one row where it is a constant; or it is a
tuple of columns of text. Whole numbers and truth values are float64, too. NaN stands for what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hedgerow.boundary.arithmetic import LARGEST, Floats, affine, exponential, hyperbolic_tangent
from hedgerow.boundary.arithmetic import logistic as _logistic
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.classifiers import BinaryTree
from hedgerow.hypotheses.features import FeatureTable, Fill, OneHot, Text
from hedgerow.text.messages import shown

Texts = tuple[Text, ...]
GraphValue = Floats | Texts
"""What a graph computes of each row: numbers, shape ``(n_rows, width)`` or ``(1, width)``, or columns of text."""


class Operator(Protocol):
    """Computes a value from others, row by row."""

    def __call__(self, *values: Any) -> GraphValue:
        """Return the value."""
        ...


@dataclass(frozen=True, eq=False)
class Number:
    """A constant."""

    values: Floats  # the numbers

    def __call__(self, *values: Any) -> GraphValue:  # noqa: ARG002 -- of no other values
        """Return it."""
        return self.values


def _where(condition: Floats, chosen: Floats, other: Floats) -> Floats:
    return np.where(np.isnan(condition), np.nan, np.where(condition != 0, chosen, other))


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
    "where": _where,
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
        """Compute it."""
        return ELEMENTWISE[self.name](*values)


@dataclass(frozen=True)
class Clip:
    """Numbers, clipped to bounds; missing stays missing."""

    low: float
    high: float

    def __call__(self, *values: Any) -> GraphValue:
        """Clip."""
        return np.clip(values[0], self.low, self.high)


@dataclass(frozen=True, eq=False)
class Affine:
    """``x @ weights + bias``; a row with a number that is missing or too large has no result."""

    weights: Floats  # the weights
    bias: Floats  # the bias

    def __call__(self, *values: Any) -> GraphValue:
        """Compute it, in arithmetic that does not depend on other rows."""
        (rows,) = values
        known = (np.abs(rows) < LARGEST).all(axis=1, keepdims=True)
        return np.where(known, affine(np.where(known, rows, 0.0), self.weights, self.bias), np.nan)


@dataclass(frozen=True)
class Join:
    """Values side by side, all of numbers or all of text."""

    def __call__(self, *values: Any) -> GraphValue:
        """Join."""
        if isinstance(values[0], tuple):
            return tuple(text for value in values for text in value)
        n_rows = max(len(value) for value in values)
        return np.hstack([np.broadcast_to(value, (n_rows, value.shape[1])) for value in values])


@dataclass(frozen=True)
class Pick:
    """Some columns of a value."""

    places: tuple[int, ...]  # their numbers

    def __call__(self, *values: Any) -> GraphValue:
        """Pick."""
        (value,) = values
        return tuple(value[i] for i in self.places) if isinstance(value, tuple) else value[:, list(self.places)]


@dataclass(frozen=True)
class Total:
    """The sum of a row's numbers, by halves: elementwise, so that no batch changes the order."""

    def __call__(self, *values: Any) -> GraphValue:
        """Add."""
        return _total(values[0])


def _total(values: Floats) -> Floats:
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        rest = values[:, 2 * half :]
        values = np.hstack([values[:, :half] + values[:, half : 2 * half], rest])
    return values


@dataclass(frozen=True)
class Softmax:
    """``e^x`` of each number, as a share of their sum."""

    def __call__(self, *values: Any) -> GraphValue:
        """Compute it."""
        rows = _within(values[0])
        powers = exponential(rows - rows.max(axis=1, keepdims=True))
        return powers / _total(powers)


@dataclass(frozen=True)
class ArgMax:
    """The number of the first of the largest numbers; missing where one is."""

    def __call__(self, *values: Any) -> GraphValue:
        """Find it."""
        (rows,) = values
        found = rows.argmax(axis=1, keepdims=True).astype(np.float64)
        return np.where(np.isnan(rows).any(axis=1, keepdims=True), np.nan, found)


@dataclass(frozen=True)
class FillText:
    """Text, with missing text replaced."""

    word: str

    def __call__(self, *values: Any) -> GraphValue:
        """Fill."""
        (texts,) = values
        return _texts(Fill((self.word,) * len(texts))(_table(texts)))


@dataclass(frozen=True)
class Encode:
    """Categories as columns of 0 and 1; missing numbers where a row that `OneHot` refuses has no result."""

    encoder: OneHot

    def __call__(self, *values: Any) -> GraphValue:
        """Encode."""
        found = self.encoder(_table(values[0]))
        return np.where(found.refused[:, None], np.nan, found.matrix())


@dataclass(frozen=True)
class EqualsText:
    """Whether each column of text holds a word; the empty word is missing text."""

    word: str

    def __call__(self, *values: Any) -> GraphValue:
        """Compare."""
        (texts,) = values
        categories = ((self.word or None,),) * len(texts)
        return OneHot(categories, (-1,) * len(texts), refuse_others=False)(_table(texts)).matrix()


@dataclass(frozen=True, eq=False)
class TreeScores:
    """Sums of what the leaves of trees hold, one tree after the other, onto a base."""

    trees: tuple[BinaryTree, ...]  # the trees, whose `leaves` compares float64 values as they are
    base: tuple[float, ...]  # one number a class

    def __call__(self, *values: Any) -> GraphValue:
        """Add."""
        (rows,) = values
        total = np.tile(np.array(self.base), (len(rows), 1))
        for tree in self.trees:
            total += tree.shares[tree.leaves(rows)]
        return total


def _table(value: GraphValue) -> FeatureTable:
    features = value if isinstance(value, tuple) else tuple(value.T)
    n_rows = len(value[0].column) if isinstance(value, tuple) else len(value)
    return FeatureTable(features, np.zeros(n_rows, dtype=bool))


def _texts(rows: FeatureTable) -> Texts:
    return tuple(feature for feature in rows.features if isinstance(feature, Text))
