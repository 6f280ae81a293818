"""ONNX's operators as steps of a graph: those that compute a row's values from the same row's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isnan, prod
from typing import Any, NoReturn

import numpy as np

from hedgerow.boundary.arithmetic import LARGEST, Floats
from hedgerow.errors import HypothesisError
from hedgerow.hypotheses.features import OneHot
from hedgerow.hypotheses.graph import Input, InputKind, Step
from hedgerow.hypotheses.onnx_plain import MOST_DIMENSIONS, MOST_WIDE, Constant, Node
from hedgerow.hypotheses.operators import (
    Affine,
    ArgMax,
    Clip,
    Elementwise,
    Encode,
    EqualsText,
    FillText,
    Join,
    Number,
    Operator,
    Pick,
    Softmax,
    Total,
)
from hedgerow.text.messages import shown

_NUMBER: Mapping[int, InputKind] = {1: "single", 6: "whole", 7: "whole", 9: "boolean", 11: "double"}
_MATRIX = "rows of numbers"


@dataclass(frozen=True)
class Reader:
    """How an operator is read."""

    read: Callable[[Building, Node, list[Operand | None]], Operand]  # returns what is known of its first output
    fewest: int  # how many inputs it takes
    most: int  # how many inputs it takes
    attributes: tuple[str, ...] = ()  # the attributes that are known


def row(node: Node, operand: Operand | None) -> Known:
    """Return a value that depends on the row, of numbers."""
    if not isinstance(operand, Known) or operand.kind == "text":
        refuse(node, "numbers of a row")
    return operand


def vector(node: Node, operand: Operand | None) -> Known:
    """Return a value that has several columns: one dimension beside that of the rows."""
    known = row(node, operand)
    if len(known.shape) != 1:
        refuse(node, _MATRIX)
    return known


def fixed(node: Node, operand: Any) -> Constant:
    """Return a constant."""
    if not isinstance(operand, Constant):
        refuse(node, "a constant")
    return operand


def _present(node: Node, operands: list[Operand | None]) -> list[Operand]:
    found = [one for one in operands if one is not None]
    if len(found) < len(operands):
        refuse(node, "all inputs")
    return found


def _arithmetic(name: str, building: Building, node: Node, operands: list[Operand | None]) -> Known:
    values = building.aligned(node, _present(node, operands))
    if name == "divide" and any(one.kind in ("whole", "boolean") for one in values):
        refuse(node, "numbers of type float or double")
    found = values[0]
    for one in values[1:]:
        found = building.elementwise(name, (found, one))
    return found


def _comparison(name: str, building: Building, node: Node, operands: list[Operand | None]) -> Known:
    return building.elementwise(name, building.aligned(node, _present(node, operands)), "boolean")


def _equal(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    words = [one for one in operands if isinstance(one, Constant) and one.kind == "text"]
    texts = [one for one in operands if isinstance(one, Known) and one.kind == "text"]
    if not (words or texts):
        return _comparison("equal", building, node, operands)
    if len(words) != 1 or len(texts) != 1 or len(words[0].items) != 1:
        refuse(node, "text and one word")
    ((word,), (text,)) = words[0].items, texts
    found = building.add(EqualsText(word), (text,), "boolean", text.shape)
    return replace(found, missing=None if word else text)


def _function(
    name: str, kind: InputKind | None, building: Building, node: Node, operands: list[Operand | None]
) -> Known:
    value = row(node, operands[0])
    found = building.elementwise(name, (value,), kind)
    return replace(found, before=value) if name == "logistic" else found


def _where(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    condition, chosen, other = _present(node, operands)
    if "text" not in (chosen.kind, other.kind):
        return building.elementwise("where", building.aligned(node, [condition, chosen, other]))
    word = chosen.items if isinstance(chosen, Constant) else ()
    if not isinstance(condition, Known) or condition.missing is not other or len(word) != 1 or not word[0]:
        refuse(node, "a word that replaces missing text (Where(Equal(x, ''), word, x))")
    assert isinstance(other, Known)
    return building.add(FillText(word[0]), (other,), "text", other.shape)


def _identity(building: Building, node: Node, operands: list[Operand | None]) -> Operand:  # noqa: ARG001
    return _present(node, operands)[0]


def _cast(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value, kind = row(node, operands[0]), _NUMBER.get(node.attributes.get("to", 0))
    if kind is None:
        refuse(node, "the type float, double, int32, int64 or bool")
    if value.number < 0:
        return value if kind != "boolean" else refuse(node, "a number, of a label")
    if kind == "double":
        return replace(value, kind=kind)
    exact = {"single": ("single", "boolean"), "whole": ("whole", "boolean"), "boolean": ("boolean",)}[kind]
    if value.kind in exact:
        return replace(value, kind=kind)
    found = building.elementwise(kind, (value,), kind)
    return replace(found, before=value.before, labels=value.labels) if kind == "single" else found


def _concat(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    values = [one for one in _present(node, operands) if isinstance(one, Known)]
    kinds = {one.kind == "text" for one in values}
    rank = len(values[0].shape) if values else 0
    axis = node.attributes.get("axis", 1)
    if len(values) < len(operands) or len(kinds) != 1 or any(len(one.shape) != rank for one in values):
        refuse(node, "values of a row, all of numbers or all of text")
    before = {one.shape[:-1] for one in values}
    if not rank or axis not in (rank, -1) or len(before) != 1 or prod(values[0].shape[:-1]) != 1:
        refuse(node, "columns to put side by side")
    shape = (*values[0].shape[:-1], sum(one.shape[-1] for one in values))
    return building.add(Join(), tuple(values), values[0].kind, shape)


def _clip(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    bounds = [node.attributes.get("min", -inf), node.attributes.get("max", inf)]
    for place, bound in enumerate(operands[1:]):
        if bound is not None:
            numbers = fixed(node, bound).numbers
            bounds[place] = float(numbers.ravel()[0]) if numbers.size == 1 else refuse(node, "numbers as bounds")
    if any(isnan(bound) for bound in bounds):
        refuse(node, "numbers as bounds")
    value = row(node, operands[0])
    return building.add(Clip(*bounds), (value,), value.kind, value.shape)


def _sizes(node: Node, operand: Operand | None) -> tuple[int, ...]:
    """Return whole numbers, one a dimension: few, since any number of nodes may take the same constant."""
    found = fixed(node, operand)
    if found.kind != "whole" or len(found.items) != found.numbers.size or len(found.items) > MOST_DIMENSIONS:
        refuse(node, f"at most {MOST_DIMENSIONS} whole numbers")
    return found.items


def _axes(node: Node, operands: list[Operand | None]) -> tuple[int, ...] | None:
    given = operands[1] if len(operands) > 1 else None
    return node.attributes.get("axes") if given is None else _sizes(node, given)


def _reduce_sum(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value = vector(node, operands[0])
    if _axes(node, operands) not in ((1,), (-1,)):
        refuse(node, "axes=[1]")
    found = building.add(Total(), (value,), value.kind, (1,), value.width)
    return found if node.attributes.get("keepdims", 1) else replace(found, shape=())


def _affine(building: Building, node: Node, value: Known, weights: Any, bias: Any) -> Known:
    if value.kind in ("whole", "boolean") or weights.ndim != 2 or weights.shape[0] != value.width:
        refuse(node, "a matrix of weights with a row for each column")
    if bias.size not in (1, weights.shape[1]):
        refuse(node, "one bias for each column of the weights")
    operator = Affine(finite(weights), finite(np.broadcast_to(bias.ravel(), (weights.shape[1],)).copy()))
    return building.add(operator, (value,), value.kind, (weights.shape[1],), weights.size)


def _gemm(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    given, value, weights = node.attributes, vector(node, operands[0]), fixed(node, operands[1]).numbers
    bias = fixed(node, operands[2]).numbers if len(operands) > 2 and operands[2] is not None else np.zeros(1)
    if given.get("transA", 0):
        refuse(node, "transA=0")
    weights = weights.T if given.get("transB", 0) else weights
    return _affine(building, node, value, weights * given.get("alpha", 1.0), bias * given.get("beta", 1.0))


def _matmul(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    return _affine(building, node, vector(node, operands[0]), fixed(node, operands[1]).numbers, np.zeros(1))


def _softmax(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value = vector(node, operands[0])
    if node.attributes.get("axis", -1) not in (1, -1):
        refuse(node, "axis=1")
    return replace(building.add(Softmax(), (value,), value.kind, value.shape, 4 * value.width), before=value)


def _arg_max(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value = vector(node, operands[0])
    if node.attributes.get("axis", 0) not in (1, -1) or node.attributes.get("select_last_index", 0):
        refuse(node, "axis=1 and select_last_index=0")
    shape = (1,) if node.attributes.get("keepdims", 1) else ()
    return replace(building.add(ArgMax(), (value,), "whole", shape), scores=value)


def _flatten(building: Building, node: Node, operands: list[Operand | None]) -> Known:  # noqa: ARG001
    value = row(node, operands[0])
    if node.attributes.get("axis", 1) != 1:
        refuse(node, "axis=1")
    return replace(value, shape=(value.width,))


def _reshape(building: Building, node: Node, operands: list[Operand | None]) -> Known:  # noqa: ARG001
    value, sizes = row(node, operands[0]), _sizes(node, operands[1])
    if not sizes or node.attributes.get("allowzero", 0):
        refuse(node, "the rows as first dimension")
    rows, rest = sizes[0], sizes[1:]
    known = prod(size for size in rest if size != -1)
    rest = tuple(value.width if size == -1 and known == 1 and rows == 0 else size for size in rest)
    if rows not in (0, -1) or any(size < 1 for size in rest) or prod(rest) != value.width:
        refuse(node, "the rows as first dimension, and as many columns")
    return replace(value, shape=rest)


def _squeeze(building: Building, node: Node, operands: list[Operand | None]) -> Known:  # noqa: ARG001
    value, axes = row(node, operands[0]), _axes(node, operands)
    rank = len(value.shape) + 1
    places = {axis % rank for axis in axes or () if -rank <= axis < rank}
    if axes is None or not places or 0 in places or any(value.shape[place - 1] != 1 for place in places):
        refuse(node, "the axes of columns")
    return replace(value, shape=tuple(size for i, size in enumerate(value.shape, 1) if i not in places))


def _unsqueeze(building: Building, node: Node, operands: list[Operand | None]) -> Known:  # noqa: ARG001
    value, axes = row(node, operands[0]), _axes(node, operands)
    rank = len(value.shape) + 1
    if axes not in ((rank,), (-1,)):
        refuse(node, "the last axis")
    return replace(value, shape=(*value.shape, 1))


def _chosen(building: Building, node: Node, value: Operand | None, places: Constant) -> Known:
    """Return some columns of a value."""
    if not isinstance(value, Known) or len(value.shape) != 1 or places.kind != "whole" or len(places.shape) > 2:
        refuse(node, "columns, and their numbers")
    width, wanted = value.width, tuple(places.items)
    if not wanted or any(not -width <= place < width for place in wanted):
        refuse(node, "numbers of columns")
    return building.add(Pick(tuple(place % width for place in wanted)), (value,), value.kind, (len(wanted),))


def _labelled(node: Node, labels: Constant, place: Known) -> Known:
    """Return the label at the place of the largest score."""
    if place.scores is None or place.labels is not None or len(labels.items) != place.scores.width:
        refuse(node, "a label for each score")
    return replace(place, number=-1, labels=labels.items)


def _gather(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value, places = _present(node, operands)
    if isinstance(value, Constant) and isinstance(places, Known) and len(value.shape) == 1:
        return _labelled(node, value, places)
    if node.attributes.get("axis", 0) not in (1, -1) or len(fixed(node, places).shape) != 1:
        refuse(node, "axis=1 and a list of columns")
    return _chosen(building, node, value, fixed(node, places))


def _extract(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value, places = _present(node, operands)
    if isinstance(value, Constant) and isinstance(places, Known):
        return _labelled(node, value, places)
    return _chosen(building, node, value, fixed(node, places))


def _constant(building: Building, node: Node, operands: list[Operand | None]) -> Constant:  # noqa: ARG001
    return fixed(node, node.attributes.get("value"))


def _scaler(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value = vector(node, operands[0])
    offset, scale = (np.array(node.attributes.get(name, ())) for name in ("offset", "scale"))
    if any(one.size not in (1, value.width) for one in (offset, scale)):
        refuse(node, "an offset and a scale for each column")
    return building.elementwise(
        "multiply",
        (building.elementwise("subtract", (value, building.numbers(offset))), building.numbers(scale)),
        "double",
    )


def _imputer(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value, given = vector(node, operands[0]), node.attributes
    kind = "int64" if "imputed_value_int64s" in given else "float"
    filled, replaced = np.array(given.get(f"imputed_value_{kind}s", ())), given.get(f"replaced_value_{kind}", 0)
    if filled.size not in (1, value.width):
        refuse(node, "a value for each column")
    is_gap = (
        building.elementwise("is missing", (value,))
        if isnan(replaced)
        else building.elementwise("equal", (value, building.numbers([replaced])))
    )
    return building.elementwise("where", (is_gap, building.numbers(filled), value), value.kind)


def _one_hot(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value = operands[0]
    if not isinstance(value, Known) or len(value.shape) > 1:
        refuse(node, "columns")
    words = node.attributes.get("cats_strings", ())
    found = words if value.kind == "text" else tuple(map(float, node.attributes.get("cats_int64s", ())))
    if not found or bool(words) != (value.kind == "text") or len(set(found)) < len(found):
        refuse(node, "different categories of the column's type")
    categories = tuple(None if one == "" else one for one in found)
    encoder = OneHot((categories,) * value.width, (-1,) * value.width, not node.attributes.get("zeros", 1))
    shape = (*value.shape, len(found))
    return building.add(Encode(encoder), (value,), "single", shape, len(found))


_BINARY = {"Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide"}
_COMPARED = {
    "Less": "less",
    "LessOrEqual": "less or equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater or equal",
    "And": "and",
    "Or": "or",
}
_FUNCTIONS: Mapping[str, tuple[str, InputKind | None]] = {
    "Neg": ("negative", None),
    "Abs": ("absolute", None),
    "Not": ("not", "boolean"),
    "IsNaN": ("is missing", "boolean"),
    "Relu": ("relu", None),
    "Tanh": ("tanh", None),
    "Sigmoid": ("logistic", None),
}
_MANY = {"Sum": "add", "Max": "maximum", "Min": "minimum"}
_IMPUTED = tuple(f"{name}_value_{kind}" for name, kind in (("imputed", "floats"), ("imputed", "int64s")))
READERS: Mapping[str, Reader] = {
    **{name: Reader(partial(_arithmetic, done), 2, 2) for name, done in _BINARY.items()},
    **{name: Reader(partial(_arithmetic, done), 1, 1000) for name, done in _MANY.items()},
    **{name: Reader(partial(_comparison, done), 2, 2) for name, done in _COMPARED.items()},
    **{name: Reader(partial(_function, done, kind), 1, 1) for name, (done, kind) in _FUNCTIONS.items()},
    "Equal": Reader(_equal, 2, 2),
    "Where": Reader(_where, 3, 3),
    "Identity": Reader(_identity, 1, 1),
    "Constant": Reader(_constant, 0, 0, ("value",)),
    "Cast": Reader(_cast, 1, 1, ("to",)),
    "Clip": Reader(_clip, 1, 3, ("min", "max")),
    "Concat": Reader(_concat, 1, 20_000, ("axis",)),
    "Gather": Reader(_gather, 2, 2, ("axis",)),
    "ReduceSum": Reader(_reduce_sum, 1, 2, ("axes", "keepdims")),
    "Gemm": Reader(_gemm, 2, 3, ("alpha", "beta", "transA", "transB")),
    "MatMul": Reader(_matmul, 2, 2),
    "Softmax": Reader(_softmax, 1, 1, ("axis",)),
    "ArgMax": Reader(_arg_max, 1, 1, ("axis", "keepdims", "select_last_index")),
    "Flatten": Reader(_flatten, 1, 1, ("axis",)),
    "Reshape": Reader(_reshape, 2, 2, ("allowzero",)),
    "Squeeze": Reader(_squeeze, 1, 2, ("axes",)),
    "Unsqueeze": Reader(_unsqueeze, 1, 2, ("axes",)),
    "ai.onnx.ml.ArrayFeatureExtractor": Reader(_extract, 2, 2),
    "ai.onnx.ml.Scaler": Reader(_scaler, 1, 1, ("offset", "scale")),
    "ai.onnx.ml.Imputer": Reader(_imputer, 1, 1, (*_IMPUTED, "replaced_value_float", "replaced_value_int64")),
    "ai.onnx.ml.OneHotEncoder": Reader(_one_hot, 1, 1, ("cats_strings", "cats_int64s", "zeros")),
}
"""The operators, but for those that classify."""


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
