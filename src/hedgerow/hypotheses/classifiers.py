"""Classifiers as data: linear models, networks, trees, forests, and hedgerow's own models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arithmetic import LARGEST, Floats, affine, hyperbolic_tangent, logistic
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.features import Chain, FeatureTable
from hedgerow.models.model import Model
from hedgerow.schema.attributes import OUTSIDE
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown

Codes = NDArray[np.int64]
_BLOCK = 2**14  # rows at a time, at most, for memory; results do not depend on it
_NUMBERS = 2**22  # of a block, at most, unless one row has more: bounds the memory for wide hypotheses
NO_CLASS = -1
"""The prediction for a row without a result: none of the classes, hence wrong."""


class RowClassifier(Protocol):
    """A classifier as data. Its prediction for a row depends on the row and its public parameters alone."""

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Codes:
        """Return the number of the class predicted for each row, shape ``(n_rows,)``, `NO_CLASS` where none is."""
        ...


@dataclass(frozen=True)
class Constant:
    """Predicts one class."""

    code: int  # its number

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Codes:  # noqa: ARG002 -- of any columns
        """Return it for every row."""
        return np.full(n_rows, self.code)


class Scored(Protocol):
    """A function that gives each row of numeric features a score per class."""

    @property
    def missing(self) -> bool:
        """Whether it takes rows with missing numbers."""
        ...

    @property
    def width(self) -> int:
        """The number of features: `scores` has a result for any row of so many."""
        ...

    @property
    def n_classes(self) -> int:
        """The number of scores."""
        ...

    @property
    def widest(self) -> int:
        """The most numbers that it holds per row at once."""
        ...

    def scores(self, matrix: Floats) -> Floats:
        """Return the scores, shape ``(n_rows, n_classes)``: the first of the largest decides; NaN: no class."""
        ...


ACTIVATIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0.0),
    "logistic": logistic,
    "tanh": hyperbolic_tangent,
}


@dataclass(frozen=True, eq=False)
class Network:
    """A network with one output, positive for the second class; without hidden layers it is a linear classifier."""

    weights: tuple[Floats, ...]  # of each layer
    biases: tuple[Floats, ...]  # of each layer
    activation: str = "identity"  # of the hidden layers: one of `ACTIVATIONS`
    missing: bool = False
    n_classes: int = 2

    def __post_init__(self) -> None:
        ends = [1, *(len(weights) for weights in self.weights[:0:-1])][::-1]
        if [weights.shape[1] for weights in self.weights] != ends or [len(bias) for bias in self.biases] != ends:
            raise ArgumentError("expected layers of matching shapes, and one output for two classes")
        if type(self.activation) is not str or self.activation not in ACTIVATIONS:
            raise ArgumentError(f"expected the activation {', '.join(ACTIVATIONS)}, got {shown(self.activation)}")

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.weights[0])

    @property
    def widest(self) -> int:
        """The units of the largest layer, or the features."""
        return max(map(max, (weights.shape for weights in self.weights)))

    def scores(self, matrix: Floats) -> Floats:
        """Return 0 for the first class and the output for the second; NaN where numbers are too large."""
        too_large = np.zeros((len(matrix), 1), dtype=bool)
        for layer, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            too_large |= np.abs(matrix).max(axis=1, keepdims=True, initial=0.0) >= LARGEST
            matrix = np.where(too_large, 0.0, matrix if not layer else ACTIVATIONS[self.activation](matrix))
            matrix = affine(matrix, weights, bias)
        return np.hstack([np.zeros((len(matrix), 1)), np.where(too_large, np.nan, matrix)])


@dataclass(frozen=True, eq=False)
class BinaryTree:
    """A tree on numbers as scikit-learn stores it: float32 values, ``<= threshold`` goes left."""

    left: NDArray[np.int64]  # the nodes below; -1 in a leaf
    right: NDArray[np.int64]  # the nodes below; -1 in a leaf
    feature: NDArray[np.int64]  # what is compared
    threshold: Floats  # with what
    missing_left: NDArray[np.bool_]  # whether a missing value goes left
    shares: Floats  # of the classes
    width: int  # how many features there are

    def __post_init__(self) -> None:
        size, inner = len(self.shares), self.left >= 0
        if {len(part) for part in (self.left, self.right, self.feature, self.threshold, self.missing_left)} != {size}:
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

    def leaves(self, values: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the leaf of each row: comparisons and look-ups only."""
        node, rows = np.zeros(len(values), dtype=np.int64), np.arange(len(values))
        for _ in range(self.depth):
            inside = np.maximum(self.feature[node], 0)
            value = values[rows, inside].astype(np.float64)
            left = np.where(np.isnan(value), self.missing_left[node], value <= self.threshold[node])
            below = np.where(left, self.left[node], self.right[node])
            node = np.where(self.left[node] < 0, node, below)
        return node


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose shares of the classes are added, one tree after the other."""

    trees: tuple[BinaryTree, ...]  # the trees; one is a tree
    missing: bool = True

    def __post_init__(self) -> None:
        if len({(tree.width, tree.shares.shape[1]) for tree in self.trees}) != 1:
            raise ArgumentError("expected trees with the same features and classes")

    @property
    def width(self) -> int:
        """The number of features."""
        return self.trees[0].width

    @property
    def n_classes(self) -> int:
        """The number of scores."""
        return self.trees[0].shares.shape[1]

    @property
    def widest(self) -> int:
        """The number of features or classes, if that is more."""
        return max(self.width, self.n_classes)

    def scores(self, matrix: Floats) -> Floats:
        """Return the sums of the shares."""
        values = matrix.astype(np.float32)
        total = np.zeros((len(matrix), self.trees[0].shares.shape[1]))
        for tree in self.trees:
            total += tree.shares[tree.leaves(values)]
        return total


@dataclass(frozen=True, eq=False)
class Prepared:
    """A classifier on numbers, after the steps that compute them."""

    steps: Chain  # what is made of the columns
    classifier: Scored  # what scores the classes
    codes: tuple[int, ...]  # the number of each of the classifier's classes
    widest: int  # how many numbers there are of a row at once, at most

    def __post_init__(self) -> None:
        if len(self.codes) != self.classifier.n_classes:
            raise ArgumentError(f"it has {len(self.codes)} classes, and scores for {self.classifier.n_classes}")
        if len(set(self.codes)) != len(self.codes):
            raise ArgumentError("its classes are not distinct")

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Codes:
        """Return the class of each row; none where a step has no result, or a number is missing and must not be."""
        block = max(1, min(_BLOCK, _NUMBERS // max(1, self.widest)))
        parts = [slice(start, start + block) for start in range(0, n_rows, block)]
        found = [self._block([column[part] for column in columns], len(range(n_rows)[part])) for part in parts]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def _block(self, columns: Sequence[Column], n_rows: int) -> Codes:
        with np.errstate(all="ignore"):  # a warning would disclose a row
            rows = self.steps(FeatureTable.of(columns, n_rows))
            matrix = rows.matrix()
            known = np.ones(matrix.shape, dtype=bool) if self.classifier.missing else np.isfinite(matrix)
            scores = self.classifier.scores(np.where(known, matrix, 0.0))
            refused = rows.refused | ~known.all(axis=1) | np.isnan(scores).any(axis=1)
            return np.where(refused, NO_CLASS, np.array(self.codes)[scores.argmax(axis=1)])


@dataclass(frozen=True, eq=False)
class ByModel:
    """A model of hedgerow's. A row with a value that its schema refuses has no class."""

    model: Model  # the model
    places: Mapping[str, int]  # the number of the column of each attribute that it uses
    codes: tuple[int, ...]  # the number of the class of each of its outcomes

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Codes:
        """Return the class of each row."""
        bins, refused = _bins(self.model.schema, self.places, columns, n_rows)
        return np.where(refused, NO_CLASS, np.array(self.codes)[self.model.outcomes_of(bins, n_rows)])


def _bins(
    schema: Schema, places: Mapping[str, int], columns: Sequence[Column], n_rows: int
) -> tuple[dict[str, NDArray[np.integer]], NDArray[np.bool_]]:
    """Return the bins of each row, and which rows have a value that the schema refuses."""
    refused, bins = np.zeros(n_rows, dtype=bool), dict[str, NDArray[np.integer]]()
    for name, place in places.items():
        found = schema[name].bins_or_refused(columns[place])
        refused |= found == OUTSIDE
        bins[name] = np.maximum(found, 0)
    return bins, refused
