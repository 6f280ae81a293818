"""The exact distance of a row to the nearest valid row with another label, for trees and rule lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit.readers.paths import Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arrays import Array, Floats, Integers, Mask
from hedgerow.schema.numbers import Numeric
from studies.label_only.domain import Domain

Box = Mapping[int, Mask]  # the bins of each restricted column


@dataclass(frozen=True, eq=False)
class Regions:
    """Disjoint boxes that cover the domain, each with the label that a model predicts there.

    Attributes
    ----------
    cuts : sequence of ndarray
        The cut points of each column: bin k has the values above cut point k - 1, up to cut point k.
    boxes, labels : sequence of Box, and ndarray
        The boxes and their labels.
    """

    domain: Domain
    cuts: Sequence[Floats]
    boxes: Sequence[Box]
    labels: Array

    @classmethod
    def of(cls, model: Any, domain: Domain) -> Self:
        if isinstance(model, DecisionTreeClassifier):
            return cls.of_tree(model, domain)
        paths, _ = paths_of(model)
        cuts = [
            np.array(attribute.cuts) if isinstance(attribute, Numeric) else np.arange(attribute.n_bins - 1.0)
            for _, attribute in domain.schema.attributes
        ]
        boxes, labels = zip(*_boxes(paths, domain), strict=True)
        return cls(domain, cuts, boxes, np.array(labels))

    @classmethod
    def of_tree(cls, model: DecisionTreeClassifier, domain: Domain) -> Self:
        """Return the leaves of a tree of scikit-learn, which has its own cut points."""
        tree, columns = model.tree_, range(len(domain.schema))
        cuts = [np.unique(tree.threshold[tree.feature == column]) for column in columns]
        boxes, labels, waiting = list[Box](), list[Any](), [(0, dict[int, Mask]())]
        while waiting:
            node, box = waiting.pop()
            if tree.children_left[node] < 0:
                boxes.append(box)
                labels.append(model.classes_[tree.value[node, 0].argmax()])
                continue
            column = int(tree.feature[node])
            below = np.arange(len(cuts[column]) + 1) <= np.searchsorted(cuts[column], tree.threshold[node])
            for child, bins in ((tree.children_left[node], below), (tree.children_right[node], ~below)):
                waiting.append((child, box | {column: box.get(column, True) & bins}))
        return cls(domain, cuts, boxes, np.array(labels))

    def bins(self, values: Floats) -> Integers:
        return np.column_stack([np.searchsorted(cuts, values[:, j]) for j, cuts in enumerate(self.cuts)])

    def predict(self, values: Floats) -> Array:
        """Return the label of the box of each row."""
        bins, result = self.bins(values), np.full(len(values), -1, dtype=self.labels.dtype)
        for box, label in zip(self.boxes, self.labels, strict=True):
            inside = np.ones(len(values), dtype=bool)
            for column, mask in box.items():
                inside &= mask[bins[:, column]]
            result[inside] = label
        return result

    def distances(self, values: Floats) -> Floats:
        """Return the distance of each row to the nearest valid row with another label; infinite if there is none.

        For real numbers, it is the infimum.
        """
        squares = [self._squares(values[:, column], column) for column in range(values.shape[1])]
        own, best = self.predict(values), np.full(len(values), np.inf)
        for box, label in zip(self.boxes, self.labels, strict=True):
            total = np.zeros(len(values))
            for column, mask in box.items():
                total += squares[column][:, mask].min(axis=1, initial=np.inf)
            best = np.where(own == label, best, np.minimum(best, total))
        return np.sqrt(best)

    def _squares(self, values: Floats, column: int) -> Floats:
        """Return the squared distance of each value to the nearest valid value of each bin."""
        low, high = (bounds[column] for bounds in self.domain.bounds)
        edges = np.concatenate([[-np.inf], self.cuts[column], [np.inf]])
        first, last = np.maximum(edges[:-1], low), np.minimum(edges[1:], high)
        if self.domain.whole[column] or not self.domain.numbers[column]:
            first, last = np.maximum(np.floor(edges[:-1]) + 1, low), np.floor(last)
        nearest = values[:, None].clip(first, last)
        gap = values[:, None] - nearest
        squares = (gap / self.domain.scale[column]) ** 2 if self.domain.numbers[column] else (gap != 0) * 1.0
        return np.where(first <= last, squares, np.inf)


def _boxes(paths: Paths, domain: Domain) -> Iterator[tuple[Box, Any]]:
    """Yield the boxes of each path; a row belongs to the first path that it satisfies."""
    remaining: list[Box] = [{}]
    for path, label in zip(paths.paths, paths.predictions or (), strict=True):
        own: dict[int, Mask] = {}
        for literal, holds in path:
            column = domain.schema.names.index(literal.attribute)
            own[column] = own.get(column, True) & (domain.schema[literal.attribute].truth(literal) == holds)
        parts = [{}] if paths.exclusive else remaining
        yield from ((box, label) for part in parts if (box := _both(part, own)) is not None)
        if not paths.exclusive:
            remaining = [piece for part in remaining for piece in _without(part, own)]


def _both(box: Box, other: Box) -> Box | None:
    result = dict(box)
    for column, mask in other.items():
        result[column] = result.get(column, True) & mask
    return result if all(np.any(mask) for mask in result.values()) else None


def _without(box: Box, other: Box) -> Iterator[Box]:
    """Yield disjoint boxes that together are a box without another box."""
    inside = box
    for column, mask in other.items():
        outside = _both(inside, {column: ~mask})
        if outside is not None:
            yield outside
        rest = _both(inside, {column: mask})
        if rest is None:
            return
        inside = rest
