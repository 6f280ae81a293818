"""A graph in the making: what is known of each value of an ONNX file, and the steps that compute it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, NoReturn

import numpy as np

from hedgerow.arithmetic import LARGEST, Floats
from hedgerow.errors import HypothesisError
from hedgerow.marginals.oracle.rowwise.graph import Input, InputKind, Step
from hedgerow.marginals.oracle.rowwise.operators import Elementwise, Join, Number, Operator
from hedgerow.messages import shown
from hedgerow.service.onnx_files.plain import MOST_WIDE, Constant, Node

MOST_WORK = 2**21
"""The most numbers, products and comparisons for a row."""
LEAST_WORK = 64
"""What a step counts as at least, however narrow: reading it takes time, too."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a value."""

    number: int  # of the input or step that computes it; -1 for a label, which is no number
    kind: InputKind  # the type
    shape: tuple[int, ...]  # the shape of a row's part
    scores: Known | None = None  # what it is the place of the largest of, if it is that
    labels: tuple[Any, ...] | None = None  # the labels of these places, if it is one of them
    before: Known | None = None  # what it is an increasing function of, number by number or as a softmax
    missing: Known | None = None  # the text that it says is missing, if it says that

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return prod(self.shape)


Operand = Known | Constant


class Building:
    """Steps, and the values of an ONNX graph that they compute, by name."""

    def __init__(self, inputs: tuple[Input, ...], ranks: tuple[int, ...], constants: dict[str, Constant]) -> None:
        self.values: dict[str, Operand] = dict(constants)
        self.steps: list[Step] = []
        self._first, self._work = len(inputs), 0
        for number, (one, rank) in enumerate(zip(inputs, ranks, strict=True)):
            self.values[one.name] = Known(number, one.kind, (one.width,) if rank == 2 else ())

    def add(
        self, operator: Operator, inputs: tuple[Known, ...], kind: InputKind, shape: tuple[int, ...], work: int = 0
    ) -> Known:
        """Add a step, whose result has this kind and shape."""
        width = prod(shape)
        self._work += max(width, work, LEAST_WORK)
        if not 1 <= width <= MOST_WIDE or self._work > MOST_WORK:
            raise HypothesisError(
                f"expected an ONNX file with 1 to {MOST_WIDE:,} columns, and {MOST_WORK:,} operations on a row, at "
                "most, got more."
            )
        if any(one.number < 0 for one in inputs):
            raise HypothesisError("expected the label of an ONNX file as its output only, got a node that takes it.")
        self.steps.append(Step(operator, tuple(one.number for one in inputs), width))
        return Known(self._first + len(self.steps) - 1, kind, shape)

    def elementwise(self, name: str, values: tuple[Known, ...], kind: InputKind | None = None) -> Known:
        """Add a function of the numbers in the same place, of values of one shape or of one column."""
        shape = max((one.shape for one in values), key=prod)
        return self.add(Elementwise(name), values, kind or values[-1].kind, shape)

    def numbers(self, values: Any, kind: InputKind = "double", shape: tuple[int, ...] | None = None) -> Known:
        """Add a constant of one row; raises HypothesisError for numbers that are not finite, or too large."""
        row = finite(np.asarray(values, dtype=np.float64)).reshape(1, -1)
        return self.add(Number(row), (), kind, (row.shape[1],) if shape is None else shape)

    def with_zero(self, value: Known, zero: float = 0.0) -> Known:
        """Return the scores of two classes of which the second has this score: the first has a constant."""
        return self.add(Join(), (self.numbers([zero]), value), "double", (2,))

    def aligned(self, node: Node, operands: list[Operand]) -> tuple[Known, ...]:
        """Return operands as values whose numbers in the same place belong together, as ONNX broadcasts them."""
        values = [one for one in operands if isinstance(one, Known)]
        if not values or any(one.kind == "text" for one in operands):
            refuse(node, "numbers of a row")
        rank = len(values[0].shape)
        if any(len(one.shape) != rank for one in values):
            refuse(node, "values of one rank")
        shapes = [one.shape if isinstance(one, Known) else _without_rows(node, one, rank) for one in operands]
        try:
            shape = tuple(int(size) for size in np.broadcast_shapes(*shapes))
        except ValueError:
            refuse(node, "values of one shape")
        if any(prod(one) not in (1, prod(shape)) for one in shapes):
            refuse(node, "values of one shape")
        made = list[Known]()
        for one, own in zip(operands, shapes, strict=True):
            known = one if isinstance(one, Known) else self.numbers(one.numbers, one.kind, own)
            made.append(replace(known, shape=shape if prod(own) == prod(shape) else own))
        return tuple(made)


def _without_rows(node: Node, constant: Constant, rank: int) -> tuple[int, ...]:
    """Return the shape of a constant beside values that have so many dimensions and that of the rows."""
    if len(constant.shape) <= rank or prod(constant.shape) == 1:
        return constant.shape[-rank:] if rank else ()
    if len(constant.shape) > rank + 1 or constant.shape[0] != 1:
        refuse(node, "the same constant for each row")
    return constant.shape[1:]


def finite(values: Floats) -> Floats:
    """Return numbers; raises HypothesisError if one is not finite, or too large."""
    if not (np.abs(values) <= LARGEST).all():
        raise HypothesisError("expected finite numbers in an ONNX file, got others, or numbers that are too large.")
    return values


def refuse(node: Node, expected: str) -> NoReturn:
    """Raise the error of a node that takes something else."""
    raise HypothesisError(f"expected {expected} for the operator {shown(node.operator)} of an ONNX file, got others.")
