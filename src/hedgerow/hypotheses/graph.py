"""Classifiers as graphs of operators, each of which computes a value of a row from other values of the same row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from hedgerow.boundary.arithmetic import Floats
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.classifiers import Prepared
from hedgerow.hypotheses.features import Chain, FeatureTable, Text
from hedgerow.hypotheses.hypothesis import class_codes
from hedgerow.hypotheses.operators import ELEMENTWISE, GraphValue, Operator
from hedgerow.text.messages import shown

InputKind = Literal["single", "double", "whole", "boolean", "text"]


@dataclass(frozen=True)
class Input:
    """An input of a graph."""

    name: str  # the name of the column that it takes; any, if it takes all columns
    kind: InputKind  # what its values are turned into: numbers as float32 or float64, towards zero, or not 0; or text
    width: int  # the number of columns


@dataclass(frozen=True, eq=False)
class Step:
    """An operator with the values that it takes."""

    operator: Operator  # what is computed
    inputs: tuple[int, ...]  # the numbers of earlier values: first those of the graph's inputs, then those of its steps
    width: int  # the number of columns of the result


@dataclass(frozen=True, eq=False)
class GraphClassifier:
    """A classifier as a graph, for columns and classes that are not yet known."""

    inputs: tuple[Input, ...]  # the inputs: one of all columns in their order, or one a column by its name
    steps: tuple[Step, ...]  # the steps; the last one has a score per class, the first of the largest of which decides
    labels: tuple[str | int | bool, ...] | None  # the class of each score. None: the dataset's, in their order.

    def bound(self, names: Sequence[str], kinds: Sequence[str], classes: Sequence[object]) -> Prepared:
        """Return the classifier for columns of these names and kinds, and these classes."""
        graph = Graph(self._places(names, kinds), tuple(one.kind for one in self.inputs), self.steps)
        labels = tuple(classes) if self.labels is None else self.labels
        width = self.steps[-1].width
        if width != len(labels):
            raise ArgumentError(f"it has {width} scores, and there are {len(labels)} classes")
        return Prepared(Chain((graph,)), Scores(width), class_codes(labels, classes), graph.widest)

    def _places(self, names: Sequence[str], kinds: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        all_columns = len(self.inputs) == 1 and self.inputs[0].width == len(names)
        places = tuple(tuple(range(len(names))) if all_columns else (_place(one, names),) for one in self.inputs)
        for one, columns in zip(self.inputs, places, strict=True):
            if any((kinds[place] == "text") != (one.kind == "text") for place in columns):
                raise ArgumentError(
                    f"its input {shown(one.name)} takes text, and the column has numbers, or the reverse"
                )
        return places


def _place(one: Input, names: Sequence[str]) -> int:
    if one.width != 1:
        raise ArgumentError(f"its input {shown(one.name)} takes {one.width} columns, and there are {len(names)}")
    if one.name not in names:
        raise ArgumentError(f"its input {shown(one.name)} is none of the columns")
    return names.index(one.name)


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph as a step before a classifier."""

    places: tuple[tuple[int, ...], ...]  # the numbers of the columns of each input
    kinds: tuple[str, ...]  # the kind of each input, as `Input` has it
    steps: tuple[Step, ...]  # the steps. The result is the last one's.

    def __post_init__(self) -> None:
        for number, step in enumerate(self.steps, len(self.places)):
            if any(not 0 <= value < number for value in step.inputs):
                raise ArgumentError("a step of a graph takes a later step's value")

    @cached_property
    def _last_uses(self) -> Mapping[int, int]:
        """The number of the last step that takes each value; steps whose value no other takes are not in it."""
        used = {len(self.places) + len(self.steps) - 1: len(self.places) + len(self.steps)}
        for number in range(len(self.places) + len(self.steps) - 1, len(self.places) - 1, -1):
            if number in used:
                for value in self.steps[number - len(self.places)].inputs:
                    used.setdefault(value, number)
        return used

    @cached_property
    def _dropped(self) -> Mapping[int, list[int]]:
        """The values that are no longer needed after each step."""
        found = dict[int, list[int]]()
        for value, last in self._last_uses.items():
            found.setdefault(last, []).append(value)
        return found

    @cached_property
    def widest(self) -> int:
        """The most numbers that are held of a row at once."""
        widths = [*map(len, self.places), *(step.width for step in self.steps)]
        held = most = sum(widths[: len(self.places)])
        for number in range(len(self.places), len(widths)):
            if number in self._last_uses:
                held += widths[number]
                most = max(most, held)
                held -= sum(widths[value] for value in self._dropped.get(number, ()))
        return max(1, most)

    def of_kinds(self, text: tuple[bool, ...]) -> tuple[bool, ...]:  # noqa: ARG002 -- inputs were checked
        """All are numbers after it."""
        return (False,) * self.steps[-1].width

    def __call__(self, rows: FeatureTable) -> FeatureTable:
        """Take the steps that the result needs, one after the other."""
        first = len(self.places)
        values = dict[int, GraphValue](enumerate(map(_taken, [rows] * first, self.places, self.kinds)))
        for number, step in enumerate(self.steps, first):
            if number in self._last_uses:
                values[number] = step.operator(*(values[value] for value in step.inputs))
                for value in self._dropped.get(number, ()):
                    del values[value]
        result = values[first + len(self.steps) - 1]
        assert not isinstance(result, tuple)
        n_rows = len(rows.refused)
        return FeatureTable(tuple(np.broadcast_to(column, (n_rows,)) for column in result.T), rows.refused)


def _taken(rows: FeatureTable, places: tuple[int, ...], kind: str) -> GraphValue:
    features = [rows.features[place] for place in places]
    if kind == "text":
        return tuple(feature for feature in features if isinstance(feature, Text))
    numbers = np.stack([feature for feature in features if not isinstance(feature, Text)], axis=1)
    return numbers if kind == "double" else ELEMENTWISE[kind](numbers)


@dataclass(frozen=True)
class Scores:
    """Scores of the classes as they are."""

    n_classes: int  # how many
    missing: bool = True

    @property
    def width(self) -> int:
        """The number of scores."""
        return self.n_classes

    @property
    def widest(self) -> int:
        """The number of scores."""
        return self.n_classes

    def scores(self, matrix: Floats) -> Floats:
        """Return them."""
        return matrix
