"""Classifiers as graphs of operators, each of which computes a value of a row from other values of the same row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.hypothesis import NO_CLASS, class_codes
from hedgerow.hypotheses.operators import ELEMENTWISE, GraphValue, Operator, Text
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown

InputKind = Literal["single", "double", "whole", "boolean", "text"]
_BLOCK = 2**14  # rows at a time, at most, for memory; results do not depend on it
_NUMBERS = 2**22  # of a block, at most, unless one row has more: bounds the memory for wide hypotheses


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

    def bound(self, names: Sequence[str], kinds: Sequence[str], classes: Sequence[object]) -> "BoundClassifier":
        graph = Graph(self._places(names, kinds), tuple(one.kind for one in self.inputs), self.steps)
        labels = tuple(classes) if self.labels is None else self.labels
        return BoundClassifier(graph, class_codes(labels, classes))

    def _places(self, names: Sequence[str], kinds: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        all_columns = len(self.inputs) == 1 and self.inputs[0].width == len(names)
        places = tuple(tuple(range(len(names))) if all_columns else (_place(one, names),) for one in self.inputs)
        for one, columns in zip(self.inputs, places, strict=True):
            if any((kinds[place] == "text") != (one.kind == "text") for place in columns):
                raise ArgumentError(f"its input {shown(one.name)} takes text, and the column numbers, or the reverse")
        return places


def _place(one: Input, names: Sequence[str]) -> int:
    if one.width != 1:
        raise ArgumentError(f"its input {shown(one.name)} takes {one.width} columns, and there are {len(names)}")
    if one.name not in names:
        raise ArgumentError(f"its input {shown(one.name)} is none of the columns")
    return names.index(one.name)


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with the columns that its inputs take."""

    places: tuple[tuple[int, ...], ...]  # the numbers of the columns of each input
    kinds: tuple[str, ...]  # the kind of each input, as `Input` has it
    steps: tuple[Step, ...]  # the steps. The result is the last one's.

    def __post_init__(self) -> None:
        for number, step in enumerate(self.steps, len(self.places)):
            if any(not 0 <= value < number for value in step.inputs):
                raise ArgumentError("a step of a graph takes a later step's value")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each value: first those of the inputs, then those of the steps."""
        return (*map(len, self.places), *(step.width for step in self.steps))

    @cached_property
    def _last_uses(self) -> Mapping[int, int]:
        """The number of the last step that takes each value; steps whose value no other takes are not in it."""
        used = {len(self.widths) - 1: len(self.widths)}
        for number in range(len(self.widths) - 1, len(self.places) - 1, -1):
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
        widths = self.widths
        held = most = sum(widths[: len(self.places)])
        for number in range(len(self.places), len(widths)):
            if number in self._last_uses:
                held += widths[number]
                most = max(most, held)
                held -= sum(widths[value] for value in self._dropped.get(number, ()))
        return max(1, most)

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Floats:
        """Return the last value, shape ``(n_rows, width)``, by the steps that it needs, one after the other."""
        first = len(self.places)
        values = dict[int, GraphValue]()
        for number, (places, kind) in enumerate(zip(self.places, self.kinds, strict=True)):
            values[number] = _taken([columns[place] for place in places], kind)
        for number, step in enumerate(self.steps, first):
            if number in self._last_uses:
                made = step.operator(*(values[value] for value in step.inputs))
                shape = (n_rows, len(made)) if isinstance(made, tuple) else made.shape
                if shape not in ((n_rows, step.width), (1, step.width)):  # whatever the rows hold
                    raise ArgumentError("a step of a graph has a result of another shape than the graph says")
                values[number] = made
                for value in self._dropped.get(number, ()):
                    del values[value]
        result = values[first + len(self.steps) - 1]
        if isinstance(result, tuple):
            raise ArgumentError("expected a graph whose last value is of numbers")
        return np.broadcast_to(result, (n_rows, result.shape[1]))


def _taken(columns: Sequence[Column], kind: str) -> GraphValue:
    if kind == "text":
        return tuple(map(Text, columns))
    numbers = np.stack([one.values.astype(np.float64) for one in columns], axis=1)
    for place, one in enumerate(columns):
        if one.missing is not None:
            numbers[one.missing, place] = np.nan
    return numbers if kind == "double" else ELEMENTWISE[kind](numbers)


@dataclass(frozen=True, eq=False)
class BoundClassifier:
    """A graph whose last value has a score per class: the first of the largest decides, and NaN means no class."""

    graph: Graph
    codes: tuple[int, ...]  # the number of the class of each score

    def __post_init__(self) -> None:
        width = self.graph.widths[-1]
        if width != len(self.codes):
            raise ArgumentError(f"it has {width} scores, and there are {len(self.codes)} classes")
        if len(set(self.codes)) != len(self.codes):
            raise ArgumentError("its classes are not distinct")

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Integers:
        block = max(1, min(_BLOCK, _NUMBERS // self.graph.widest))
        parts = [slice(start, start + block) for start in range(0, n_rows, block)]
        found = [self._block([column[part] for column in columns], len(range(n_rows)[part])) for part in parts]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def _block(self, columns: Sequence[Column], n_rows: int) -> Integers:
        with np.errstate(all="ignore"):  # a warning would disclose a row
            scores = self.graph(columns, n_rows)
            refused = np.isnan(scores).any(axis=1)
            return np.where(refused, NO_CLASS, np.array(self.codes)[scores.argmax(axis=1)])


class GraphBuilder:
    """Steps of a graph in the making."""

    def __init__(self, n_inputs: int) -> None:
        self.n_inputs = n_inputs
        self.steps = list[Step]()

    def add(self, operator: Operator, inputs: tuple[int, ...], width: int) -> int:
        self.steps.append(Step(operator, inputs, width))
        return self.n_inputs + len(self.steps) - 1
