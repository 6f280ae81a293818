"""Nodes of an ONNX graph with the known properties of their operands, and their translation into steps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NoReturn

import numpy as np

from hedgerow.boundary.arithmetic import LARGEST
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import HypothesisError
from hedgerow.hypotheses.graph import GraphBuilder, Input, InputKind
from hedgerow.hypotheses.onnx_plain import MOST_WIDE, OnnxNode, OnnxTensor
from hedgerow.hypotheses.operators import ConstantRow, Elementwise, Operator, Rowwise
from hedgerow.text.messages import shown

MOST_WORK = 2**21  # numbers, products and comparisons per row
LEAST_WORK = 64  # the least work of a step, since reading it takes time, too


@dataclass(frozen=True, eq=False)
class RowValue:
    """The known properties of a value that depends on the row."""

    number: int  # the number of the input or step that computes it; -1 for a label, which is not numeric
    kind: InputKind
    shape: tuple[int, ...]  # the shape for a single row
    scores: "RowValue | None" = None  # the scores, if the value is the index of the largest score
    labels: tuple[Any, ...] | None = None  # the labels of the scores, if the value is a label
    before: "RowValue | None" = None  # the argument, if the value is an increasing function or softmax of it
    missing: "RowValue | None" = None  # the text, if the value is True for missing text

    @property
    def width(self) -> int:
        return prod(self.shape)


Operand = RowValue | OnnxTensor


class OnnxBuilder(GraphBuilder):
    """A builder of steps of bounded width and work, with the values of an ONNX graph by name."""

    def __init__(self, inputs: tuple[Input, ...], ranks: tuple[int, ...], constants: dict[str, OnnxTensor]) -> None:
        super().__init__(len(inputs))
        self.values: dict[str, Operand] = dict(constants)
        self._work = 0
        for number, (entry, rank) in enumerate(zip(inputs, ranks, strict=True)):
            self.values[entry.name] = RowValue(number, entry.kind, (entry.width,) if rank == 2 else ())

    def step(
        self, operator: Operator, inputs: tuple[RowValue, ...], kind: InputKind, shape: tuple[int, ...], work: int = 0
    ) -> RowValue:
        width = prod(shape)
        self._work += max(width, work, LEAST_WORK)
        if not 1 <= width <= MOST_WIDE or self._work > MOST_WORK:
            problem = f"the values of an ONNX graph must have 1 to {MOST_WIDE:,} columns, and a row must need at most"
            raise HypothesisError(f"{problem} {MOST_WORK:,} operations.")
        if any(value.number < 0 for value in inputs):
            raise HypothesisError("a node of an ONNX graph takes a label as input; labels must only be outputs.")
        return RowValue(self.add(operator, tuple(value.number for value in inputs), width), kind, shape)

    def elementwise(self, name: str, values: tuple[RowValue, ...], kind: InputKind | None = None) -> RowValue:
        """Add an elementwise function of values with the same shape or a single column."""
        shape = max((value.shape for value in values), key=prod)
        return self.step(Elementwise(name), values, kind or values[-1].kind, shape)

    def softmax(self, value: RowValue) -> RowValue:
        result = self.step(Rowwise("softmax"), (value,), value.kind, value.shape, 4 * value.width)
        return replace(result, before=value)

    def numbers(self, values: Any, kind: InputKind = "double", shape: tuple[int, ...] | None = None) -> RowValue:
        row = finite(np.asarray(values, dtype=np.float64)).reshape(1, -1)
        return self.step(ConstantRow(row), (), kind, (row.shape[1],) if shape is None else shape)

    def with_zero(self, value: RowValue, zero: float = 0.0) -> RowValue:
        """Return the scores of two classes: a constant for the first, this score for the second."""
        return self.step(Rowwise("join"), (self.numbers([zero]), value), "double", (2,))


@dataclass(frozen=True, eq=False)
class Call:
    """A node with its operands; None for optional operands that are omitted."""

    builder: OnnxBuilder
    node: OnnxNode
    operands: tuple[Operand | None, ...]

    def refuse(self, expected: str) -> NoReturn:
        raise HypothesisError(f"the operator {shown(self.node.operator)} of an ONNX graph needs {expected}.")

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.node.attributes.get(name, default)

    def has(self, place: int) -> bool:
        return len(self.operands) > place and self.operands[place] is not None

    def present(self) -> list[Operand]:
        operands = [operand for operand in self.operands if operand is not None]
        if len(operands) < len(self.operands):
            self.refuse("all inputs")
        return operands

    def row(self) -> RowValue:
        """Return the first operand, which must be numeric and depend on the row."""
        operand = self.operands[0]
        if not isinstance(operand, RowValue) or operand.kind == "text":
            self.refuse("numbers of a row")
        return operand

    def vector(self) -> RowValue:
        """Return the first operand, which must have the shape (rows, columns)."""
        operand = self.row()
        if len(operand.shape) != 1:
            self.refuse("an input of shape (rows, columns)")
        return operand

    def constant(self, operand: Any) -> OnnxTensor:
        if not isinstance(operand, OnnxTensor):
            self.refuse("a constant")
        return operand

    def aligned(self, operands: list[Operand]) -> tuple[RowValue, ...]:
        """Return operands as values that can be combined elementwise, following ONNX's broadcasting."""
        values = [operand for operand in operands if isinstance(operand, RowValue)]
        if not values or any(operand.kind == "text" for operand in operands):
            self.refuse("numeric inputs")
        rank = len(values[0].shape)
        if any(len(value.shape) != rank for value in values):
            self.refuse("inputs of the same rank")
        shapes = [
            operand.shape if isinstance(operand, RowValue) else self._without_rows(operand, rank)
            for operand in operands
        ]
        try:
            shape = tuple(int(size) for size in np.broadcast_shapes(*shapes))
        except ValueError:
            self.refuse("inputs of the same shape")
        if any(prod(part) not in (1, prod(shape)) for part in shapes):
            self.refuse("inputs of the same shape")
        aligned = list[RowValue]()
        for operand, own in zip(operands, shapes, strict=True):
            is_row = isinstance(operand, RowValue)
            value = operand if is_row else self.builder.numbers(operand.numbers, operand.kind, own)
            aligned.append(replace(value, shape=shape if prod(own) == prod(shape) else own))
        return tuple(aligned)

    def _without_rows(self, constant: OnnxTensor, rank: int) -> tuple[int, ...]:
        """Return the shape of a constant without the dimension of the rows, for values of this rank."""
        if len(constant.shape) <= rank or prod(constant.shape) == 1:
            return constant.shape[-rank:] if rank else ()
        if len(constant.shape) > rank + 1 or constant.shape[0] != 1:
            self.refuse("constants that are the same for each row")
        return constant.shape[1:]


@dataclass(frozen=True)
class Reader:
    """A reader of nodes with a certain operator."""

    read: Callable[[Call], Operand]  # returns the first output
    fewest: int  # the least number of inputs
    most: int  # the largest number of inputs
    attributes: tuple[str, ...] = ()  # the supported attributes


def finite(values: Floats) -> Floats:
    if not (np.abs(values) <= LARGEST).all():
        raise HypothesisError("an ONNX file has numbers that are not finite or are too large.")
    return values
