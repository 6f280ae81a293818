"""Nodes of an ONNX graph with what is known of their operands, and the steps that they become."""

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

MOST_WORK = 2**21  # the most numbers, products and comparisons for a row
LEAST_WORK = 64  # what a step counts as at least, however narrow: reading it takes time, too


@dataclass(frozen=True, eq=False)
class RowValue:
    """The known properties of a value that depends on the row."""

    number: int  # of the input or step that computes it; -1 for a label, which is no number
    kind: InputKind  # the type
    shape: tuple[int, ...]  # the shape of a row's part
    scores: "RowValue | None" = None  # what it is the place of the largest of, if it is that
    labels: tuple[Any, ...] | None = None  # the labels of these places, if it is one of them
    before: "RowValue | None" = None  # what it is an increasing function of, number by number or as a softmax
    missing: "RowValue | None" = None  # the text that it says is missing, if it says that

    @property
    def width(self) -> int:
        return prod(self.shape)


Operand = RowValue | OnnxTensor


class OnnxBuilder(GraphBuilder):
    """Steps of bounded width and work, and the values of an ONNX graph that they compute, by name."""

    def __init__(self, inputs: tuple[Input, ...], ranks: tuple[int, ...], constants: dict[str, OnnxTensor]) -> None:
        super().__init__(len(inputs))
        self.values: dict[str, Operand] = dict(constants)
        self._work = 0
        for number, (one, rank) in enumerate(zip(inputs, ranks, strict=True)):
            self.values[one.name] = RowValue(number, one.kind, (one.width,) if rank == 2 else ())

    def step(
        self, operator: Operator, inputs: tuple[RowValue, ...], kind: InputKind, shape: tuple[int, ...], work: int = 0
    ) -> RowValue:
        width = prod(shape)
        self._work += max(width, work, LEAST_WORK)
        if not 1 <= width <= MOST_WIDE or self._work > MOST_WORK:
            problem = f"expected an ONNX file with 1 to {MOST_WIDE:,} columns"
            raise HypothesisError(f"{problem}, and {MOST_WORK:,} operations on a row, at most, got more.")
        if any(one.number < 0 for one in inputs):
            raise HypothesisError("expected the label of an ONNX file as its output only, got a node that takes it.")
        return RowValue(self.add(operator, tuple(one.number for one in inputs), width), kind, shape)

    def elementwise(self, name: str, values: tuple[RowValue, ...], kind: InputKind | None = None) -> RowValue:
        """Add a function of the numbers in the same place, of values of one shape or of one column."""
        shape = max((one.shape for one in values), key=prod)
        return self.step(Elementwise(name), values, kind or values[-1].kind, shape)

    def softmax(self, value: RowValue) -> RowValue:
        found = self.step(Rowwise("softmax"), (value,), value.kind, value.shape, 4 * value.width)
        return replace(found, before=value)

    def numbers(self, values: Any, kind: InputKind = "double", shape: tuple[int, ...] | None = None) -> RowValue:
        row = finite(np.asarray(values, dtype=np.float64)).reshape(1, -1)
        return self.step(ConstantRow(row), (), kind, (row.shape[1],) if shape is None else shape)

    def with_zero(self, value: RowValue, zero: float = 0.0) -> RowValue:
        """Return the scores of two classes of which the second has this score: the first has a constant."""
        return self.step(Rowwise("join"), (self.numbers([zero]), value), "double", (2,))


@dataclass(frozen=True, eq=False)
class Call:
    """A node with its operands: None where an optional one is left out."""

    builder: OnnxBuilder
    node: OnnxNode
    operands: tuple[Operand | None, ...]

    def refuse(self, expected: str) -> NoReturn:
        operator = shown(self.node.operator)
        raise HypothesisError(f"expected {expected} for the operator {operator} of an ONNX file, got others.")

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.node.attributes.get(name, default)

    def has(self, place: int) -> bool:
        return len(self.operands) > place and self.operands[place] is not None

    def present(self) -> list[Operand]:
        found = [one for one in self.operands if one is not None]
        if len(found) < len(self.operands):
            self.refuse("all inputs")
        return found

    def row(self) -> RowValue:
        """Return the first operand: a value that depends on the row, of numbers."""
        operand = self.operands[0]
        if not isinstance(operand, RowValue) or operand.kind == "text":
            self.refuse("numbers of a row")
        return operand

    def vector(self) -> RowValue:
        """Return the first operand: a value of several columns, one dimension beside that of the rows."""
        found = self.row()
        if len(found.shape) != 1:
            self.refuse("rows of numbers")
        return found

    def constant(self, operand: Any) -> OnnxTensor:
        if not isinstance(operand, OnnxTensor):
            self.refuse("a constant")
        return operand

    def aligned(self, operands: list[Operand]) -> tuple[RowValue, ...]:
        """Return operands as values whose numbers in the same place belong together, as ONNX broadcasts them."""
        values = [one for one in operands if isinstance(one, RowValue)]
        if not values or any(one.kind == "text" for one in operands):
            self.refuse("numbers of a row")
        rank = len(values[0].shape)
        if any(len(one.shape) != rank for one in values):
            self.refuse("values of one rank")
        shapes = [one.shape if isinstance(one, RowValue) else self._without_rows(one, rank) for one in operands]
        try:
            shape = tuple(int(size) for size in np.broadcast_shapes(*shapes))
        except ValueError:
            self.refuse("values of one shape")
        if any(prod(one) not in (1, prod(shape)) for one in shapes):
            self.refuse("values of one shape")
        made = list[RowValue]()
        for one, own in zip(operands, shapes, strict=True):
            known = one if isinstance(one, RowValue) else self.builder.numbers(one.numbers, one.kind, own)
            made.append(replace(known, shape=shape if prod(own) == prod(shape) else own))
        return tuple(made)

    def _without_rows(self, constant: OnnxTensor, rank: int) -> tuple[int, ...]:
        """Return the shape of a constant beside values that have so many dimensions and that of the rows."""
        if len(constant.shape) <= rank or prod(constant.shape) == 1:
            return constant.shape[-rank:] if rank else ()
        if len(constant.shape) > rank + 1 or constant.shape[0] != 1:
            self.refuse("the same constant for each row")
        return constant.shape[1:]


@dataclass(frozen=True)
class Reader:
    """Reader of an operator's nodes."""

    read: Callable[[Call], Operand]  # returns what is known of its first output
    fewest: int  # how many inputs it takes
    most: int  # how many inputs it takes
    attributes: tuple[str, ...] = ()  # the attributes that are known


def finite(values: Floats) -> Floats:
    if not (np.abs(values) <= LARGEST).all():
        raise HypothesisError("expected finite numbers in an ONNX file, got others, or numbers that are too large.")
    return values
