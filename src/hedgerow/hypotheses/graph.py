"""Classifiers as graphs of operators, which compute values of a row from other values of the same row."""

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
_BLOCK = 2**14  # the most rows of a block, which limits memory; results do not depend on it
_NUMBERS = 2**22  # the most numbers of a block, unless a single row has more; limits memory for wide hypotheses


@dataclass(frozen=True)
class Input:
    """An input of a graph."""

    name: str  # the name of the column; any name if the input takes all columns
    kind: InputKind  # the conversion: to float32, to float64, towards zero, to a boolean, or none for text
    width: int  # the number of columns


@dataclass(frozen=True, eq=False)
class Step:
    """An operator with its inputs."""

    operator: Operator
    inputs: tuple[int, ...]  # the numbers of earlier values, which are the graph's inputs and then its steps
    width: int  # the number of columns of the result


@dataclass(frozen=True, eq=False)
class GraphClassifier:
    """A classifier as a graph that is not yet bound to the columns and classes of a dataset."""

    inputs: tuple[Input, ...]  # an input for all columns in order, or an input per column by name
    steps: tuple[Step, ...]  # the last step has a score per class; the first of the largest scores decides
    labels: tuple[str | int | bool, ...] | None  # the class of each score; None for the dataset's classes in order

    def bound(self, names: Sequence[str], kinds: Sequence[str], classes: Sequence[object]) -> "BoundClassifier":
        graph = Graph(self._places(names, kinds), tuple(entry.kind for entry in self.inputs), self.steps)
        labels = tuple(classes) if self.labels is None else self.labels
        return BoundClassifier(graph, class_codes(labels, classes))

    def _places(self, names: Sequence[str], kinds: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        all_columns = len(self.inputs) == 1 and self.inputs[0].width == len(names)
        places = tuple(tuple(range(len(names))) if all_columns else (_place(entry, names),) for entry in self.inputs)
        for entry, columns in zip(self.inputs, places, strict=True):
            if any((kinds[place] == "text") != (entry.kind == "text") for place in columns):
                expected, given = ("text", "numbers") if entry.kind == "text" else ("numbers", "text")
                raise ArgumentError(f"its input {shown(entry.name)} expects {expected}, but the column has {given}")
        return places


def _place(entry: Input, names: Sequence[str]) -> int:
    if entry.width != 1:
        raise ArgumentError(f"its input {shown(entry.name)} expects {entry.width} columns, got {len(names)}")
    if entry.name not in names:
        raise ArgumentError(f"its input {shown(entry.name)} is not a column of the target")
    return names.index(entry.name)


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph that is bound to columns."""

    places: tuple[tuple[int, ...], ...]  # the indices of the columns of each input
    kinds: tuple[str, ...]  # the kind of each input (`Input.kind`)
    steps: tuple[Step, ...]  # the last step computes the result

    def __post_init__(self) -> None:
        for number, step in enumerate(self.steps, len(self.places)):
            if any(not 0 <= value < number for value in step.inputs):
                raise ArgumentError("a step of a graph must only take values of earlier steps")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each value: the inputs, then the steps."""
        return (*map(len, self.places), *(step.width for step in self.steps))

    @cached_property
    def _last_uses(self) -> Mapping[int, int]:
        """The last step that takes each value, without values that no step takes."""
        used = {len(self.widths) - 1: len(self.widths)}
        for number in range(len(self.widths) - 1, len(self.places) - 1, -1):
            if number in used:
                for value in self.steps[number - len(self.places)].inputs:
                    used.setdefault(value, number)
        return used

    @cached_property
    def _dropped(self) -> Mapping[int, list[int]]:
        """The values that are no longer needed after each step."""
        dropped = dict[int, list[int]]()
        for value, last in self._last_uses.items():
            dropped.setdefault(last, []).append(value)
        return dropped

    @cached_property
    def widest(self) -> int:
        """The most numbers of a row in memory at the same time."""
        widths = self.widths
        current = most = sum(widths[: len(self.places)])
        for number in range(len(self.places), len(widths)):
            if number in self._last_uses:
                current += widths[number]
                most = max(most, current)
                current -= sum(widths[value] for value in self._dropped.get(number, ()))
        return max(1, most)

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Floats:
        """Return the last value, shape ``(n_rows, width)``, computing only the steps that it needs."""
        first = len(self.places)
        values = dict[int, GraphValue]()
        for number, (places, kind) in enumerate(zip(self.places, self.kinds, strict=True)):
            values[number] = _input_value([columns[place] for place in places], kind)
        for number, step in enumerate(self.steps, first):
            if number in self._last_uses:
                result = step.operator(*(values[value] for value in step.inputs))
                shape = (n_rows, len(result)) if isinstance(result, tuple) else result.shape
                if shape not in ((n_rows, step.width), (1, step.width)):  # does not depend on the values of rows
                    raise ArgumentError(f"a step of a graph has a result of width {shape[1]} instead of {step.width}")
                values[number] = result
                for value in self._dropped.get(number, ()):
                    del values[value]
        last = values[first + len(self.steps) - 1]
        if isinstance(last, tuple):
            raise ArgumentError("the last value of a graph must be numeric, got text")
        return np.broadcast_to(last, (n_rows, last.shape[1]))


def _input_value(columns: Sequence[Column], kind: str) -> GraphValue:
    if kind == "text":
        return tuple(map(Text, columns))
    numbers = np.stack([column.values.astype(np.float64) for column in columns], axis=1)
    for place, column in enumerate(columns):
        if column.missing is not None:
            numbers[column.missing, place] = np.nan
    return numbers if kind == "double" else ELEMENTWISE[kind](numbers)


@dataclass(frozen=True, eq=False)
class BoundClassifier:
    """A graph with a score per class as its last value: the first of the largest decides, and NaN means no class."""

    graph: Graph
    codes: tuple[int, ...]  # the index of the class of each score

    def __post_init__(self) -> None:
        width = self.graph.widths[-1]
        if width != len(self.codes):
            raise ArgumentError(f"it has {width} scores for {len(self.codes)} classes")
        if len(set(self.codes)) != len(self.codes):
            raise ArgumentError("its classes are not distinct")

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Integers:
        block = max(1, min(_BLOCK, _NUMBERS // self.graph.widest))
        parts = [slice(start, start + block) for start in range(0, n_rows, block)]
        codes = [self._block([column[part] for column in columns], len(range(n_rows)[part])) for part in parts]
        return np.concatenate([np.empty(0, dtype=np.int64), *codes])

    def _block(self, columns: Sequence[Column], n_rows: int) -> Integers:
        with np.errstate(all="ignore"):  # a warning would disclose a row
            scores = self.graph(columns, n_rows)
            is_missing = np.isnan(scores).any(axis=1)
            return np.where(is_missing, NO_CLASS, np.array(self.codes)[scores.argmax(axis=1)])


class GraphBuilder:
    """A builder of the steps of a graph."""

    def __init__(self, n_inputs: int) -> None:
        self.n_inputs = n_inputs
        self.steps = list[Step]()

    def add(self, operator: Operator, inputs: tuple[int, ...], width: int) -> int:
        self.steps.append(Step(operator, inputs, width))
        return self.n_inputs + len(self.steps) - 1
