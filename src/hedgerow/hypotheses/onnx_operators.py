"""ONNX operators as steps of a graph, if they compute the values of a row only from the same row."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf, isnan, prod
from typing import Any

import numpy as np

from hedgerow.hypotheses.graph import InputKind
from hedgerow.hypotheses.onnx_nodes import Call, Operand, Reader, RowValue, finite
from hedgerow.hypotheses.onnx_plain import KINDS, MOST_DIMENSIONS, OnnxTensor
from hedgerow.hypotheses.operators import Affine, Clip, Encode, FillText, Pick, Rowwise


def _arithmetic(name: str, call: Call) -> RowValue:
    values = call.aligned(call.present())
    if name == "divide" and any(value.kind in ("whole", "boolean") for value in values):
        call.refuse("inputs of type float or double")
    result = values[0]
    for value in values[1:]:
        result = call.builder.elementwise(name, (result, value))
    return result


def _comparison(name: str, call: Call) -> RowValue:
    return call.builder.elementwise(name, call.aligned(call.present()), "boolean")


def _equal(call: Call) -> RowValue:
    words = [operand for operand in call.operands if isinstance(operand, OnnxTensor) and operand.kind == "text"]
    texts = [operand for operand in call.operands if isinstance(operand, RowValue) and operand.kind == "text"]
    if not (words or texts):
        return _comparison("equal", call)
    if len(words) != 1 or len(texts) != 1 or len(words[0].items) != 1:
        call.refuse("text and a single word")
    ((word,), (text,)) = words[0].items, texts
    result = call.builder.step(Encode((word or None,)), (text,), "boolean", text.shape)
    return replace(result, missing=None if word else text)


def _function(name: str, kind: InputKind | None, call: Call) -> RowValue:
    value = call.row()
    result = call.builder.elementwise(name, (value,), kind)
    return replace(result, before=value) if name == "logistic" else result


def _where(call: Call) -> RowValue:
    condition, chosen, other = call.present()
    if "text" not in (chosen.kind, other.kind):
        return call.builder.elementwise("where", call.aligned([condition, chosen, other]))
    word = chosen.items if isinstance(chosen, OnnxTensor) else ()
    if not isinstance(condition, RowValue) or condition.missing is not other or len(word) != 1 or not word[0]:
        call.refuse("a word that replaces missing text (Where(Equal(x, ''), word, x))")
    assert isinstance(other, RowValue)
    return call.builder.step(FillText(word[0]), (other,), "text", other.shape)


def _cast(call: Call) -> RowValue:
    value, kind = call.row(), KINDS.get(call.attribute("to", 0))
    if kind is None or kind == "text":
        call.refuse("the type float, double, int32, int64 or bool")
    if value.number < 0:
        return value if kind != "boolean" else call.refuse("a numeric type for a label")
    if kind == "double":
        return replace(value, kind=kind)
    exact = {"single": ("single", "boolean"), "whole": ("whole", "boolean"), "boolean": ("boolean",)}[kind]
    if value.kind in exact:
        return replace(value, kind=kind)
    result = call.builder.elementwise(kind, (value,), kind)
    return replace(result, before=value.before, labels=value.labels) if kind == "single" else result


def _concat(call: Call) -> RowValue:
    values = [operand for operand in call.present() if isinstance(operand, RowValue)]
    kinds = {value.kind == "text" for value in values}
    rank = len(values[0].shape) if values else 0
    axis = call.attribute("axis", 1)
    if len(values) < len(call.operands) or len(kinds) != 1 or any(len(value.shape) != rank for value in values):
        call.refuse("inputs that depend on the row and are all numeric or all text")
    before = {value.shape[:-1] for value in values}
    if not rank or axis not in (rank, -1) or len(before) != 1 or prod(values[0].shape[:-1]) != 1:
        call.refuse("columns to concatenate")
    shape = (*values[0].shape[:-1], sum(value.shape[-1] for value in values))
    return call.builder.step(Rowwise("join"), tuple(values), values[0].kind, shape)


def _clip(call: Call) -> RowValue:
    bounds = [call.attribute("min", -inf), call.attribute("max", inf)]
    for place, bound in enumerate(call.operands[1:]):
        if bound is not None:
            numbers = call.constant(bound).numbers
            bounds[place] = float(numbers.ravel()[0]) if numbers.size == 1 else call.refuse("numbers as bounds")
    if any(isnan(bound) for bound in bounds):
        call.refuse("numbers as bounds")
    value = call.row()
    return call.builder.step(Clip(*bounds), (value,), value.kind, value.shape)


def _sizes(call: Call, operand: Operand | None) -> tuple[int, ...]:
    """Return a whole number per dimension; limited, since many nodes may take the same constant."""
    tensor = call.constant(operand)
    if tensor.kind != "whole" or len(tensor.items) != tensor.numbers.size or len(tensor.items) > MOST_DIMENSIONS:
        call.refuse(f"at most {MOST_DIMENSIONS} whole numbers")
    return tensor.items


def _axes(call: Call) -> tuple[int, ...] | None:
    return _sizes(call, call.operands[1]) if call.has(1) else call.attribute("axes")


def _reduce_sum(call: Call) -> RowValue:
    value = call.vector()
    if _axes(call) not in ((1,), (-1,)):
        call.refuse("axes=[1]")
    total = call.builder.step(Rowwise("sum"), (value,), value.kind, (1,), value.width)
    return total if call.attribute("keepdims", 1) else replace(total, shape=())


def _affine(call: Call, value: RowValue, weights: Any, bias: Any) -> RowValue:
    if value.kind in ("whole", "boolean") or weights.ndim != 2 or weights.shape[0] != value.width:
        call.refuse("a matrix of weights with a row for each column")
    if bias.size not in (1, weights.shape[1]):
        call.refuse("a bias for each column of the weights")
    operator = Affine(finite(weights), finite(np.broadcast_to(bias.ravel(), (weights.shape[1],)).copy()))
    return call.builder.step(operator, (value,), value.kind, (weights.shape[1],), weights.size)


def _gemm(call: Call) -> RowValue:
    value, weights = call.vector(), call.constant(call.operands[1]).numbers
    bias = call.constant(call.operands[2]).numbers if call.has(2) else np.zeros(1)
    if call.attribute("transA", 0):
        call.refuse("transA=0")
    weights = weights.T if call.attribute("transB", 0) else weights
    return _affine(call, value, weights * call.attribute("alpha", 1.0), bias * call.attribute("beta", 1.0))


def _softmax(call: Call) -> RowValue:
    value = call.vector()
    if call.attribute("axis", -1) not in (1, -1):
        call.refuse("axis=1")
    return call.builder.softmax(value)


def _arg_max(call: Call) -> RowValue:
    value = call.vector()
    if call.attribute("axis", 0) not in (1, -1) or call.attribute("select_last_index", 0):
        call.refuse("axis=1 and select_last_index=0")
    shape = (1,) if call.attribute("keepdims", 1) else ()
    return replace(call.builder.step(Rowwise("arg max"), (value,), "whole", shape), scores=value)


def _flatten(call: Call) -> RowValue:
    value = call.row()
    if call.attribute("axis", 1) != 1:
        call.refuse("axis=1")
    return replace(value, shape=(value.width,))


def _reshape(call: Call) -> RowValue:
    value, sizes = call.row(), _sizes(call, call.operands[1])
    if not sizes or call.attribute("allowzero", 0):
        call.refuse("the rows as first dimension")
    rows, shape = sizes[0], sizes[1:]
    known = prod(size for size in shape if size != -1)
    shape = tuple(value.width if size == -1 and known == 1 and rows == 0 else size for size in shape)
    if rows not in (0, -1) or any(size < 1 for size in shape) or prod(shape) != value.width:
        call.refuse("the rows as first dimension and the same number of columns")
    return replace(value, shape=shape)


def _squeeze(call: Call) -> RowValue:
    value, axes = call.row(), _axes(call)
    rank = len(value.shape) + 1
    places = {axis % rank for axis in axes or () if -rank <= axis < rank}
    if axes is None or not places or 0 in places or any(value.shape[place - 1] != 1 for place in places):
        call.refuse("the axes of columns")
    return replace(value, shape=tuple(size for i, size in enumerate(value.shape, 1) if i not in places))


def _unsqueeze(call: Call) -> RowValue:
    value, axes = call.row(), _axes(call)
    rank = len(value.shape) + 1
    if axes not in ((rank,), (-1,)):
        call.refuse("the last axis")
    return replace(value, shape=(*value.shape, 1))


def _pick(call: Call, value: Operand | None, places: OnnxTensor) -> RowValue:
    if not isinstance(value, RowValue) or len(value.shape) != 1 or places.kind != "whole" or len(places.shape) > 2:
        call.refuse("columns and their indices")
    width, indices = value.width, tuple(places.items)
    if not indices or any(not -width <= index < width for index in indices):
        call.refuse("indices of columns")
    return call.builder.step(Pick(tuple(index % width for index in indices)), (value,), value.kind, (len(indices),))


def _labelled(call: Call, labels: OnnxTensor, place: RowValue) -> RowValue:
    if place.scores is None or place.labels is not None or len(labels.items) != place.scores.width:
        call.refuse("a label for each score")
    return replace(place, number=-1, labels=labels.items)


def _gather(call: Call) -> RowValue:
    value, places = call.present()
    if isinstance(value, OnnxTensor) and isinstance(places, RowValue) and len(value.shape) == 1:
        return _labelled(call, value, places)
    if call.attribute("axis", 0) not in (1, -1) or len(call.constant(places).shape) != 1:
        call.refuse("axis=1 and a list of columns")
    return _pick(call, value, call.constant(places))


def _extract(call: Call) -> RowValue:
    value, places = call.present()
    if isinstance(value, OnnxTensor) and isinstance(places, RowValue):
        return _labelled(call, value, places)
    return _pick(call, value, call.constant(places))


def _scaler(call: Call) -> RowValue:
    value = call.vector()
    offset, scale = (np.array(call.attribute(name, ())) for name in ("offset", "scale"))
    if any(numbers.size not in (1, value.width) for numbers in (offset, scale)):
        call.refuse("an offset and a scale for each column")
    centred = call.builder.elementwise("subtract", (value, call.builder.numbers(offset)))
    return call.builder.elementwise("multiply", (centred, call.builder.numbers(scale)), "double")


def _imputer(call: Call) -> RowValue:
    value, builder = call.vector(), call.builder
    kind = "int64" if "imputed_value_int64s" in call.node.attributes else "float"
    fill = np.array(call.attribute(f"imputed_value_{kind}s", ()))
    missing = call.attribute(f"replaced_value_{kind}", 0)
    if fill.size not in (1, value.width):
        call.refuse("a value for each column")
    if isnan(missing):
        is_gap = builder.elementwise("is missing", (value,))
    else:
        is_gap = builder.elementwise("equal", (value, builder.numbers([missing])))
    return builder.elementwise("where", (is_gap, builder.numbers(fill), value), value.kind)


def _one_hot(call: Call) -> RowValue:
    value = call.operands[0]
    if not isinstance(value, RowValue) or len(value.shape) > 1:
        call.refuse("columns")
    words = call.attribute("cats_strings", ())
    values = words if value.kind == "text" else tuple(map(float, call.attribute("cats_int64s", ())))
    if not values or bool(words) != (value.kind == "text") or len(set(values)) < len(values):
        call.refuse("different categories of the type of the column")
    categories = tuple(None if category == "" else category for category in values)
    encode = Encode(categories, not call.attribute("zeros", 1))
    return call.builder.step(encode, (value,), "single", (*value.shape, len(values)), len(values))


_BINARY = {"Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide"}
_COMPARED = {"Less": "less", "LessOrEqual": "less or equal", "Greater": "greater", "GreaterOrEqual": "greater or equal"}
_COMPARED |= {"And": "and", "Or": "or"}
_UNARY = {"Neg": "negative", "Abs": "absolute", "Relu": "relu", "Tanh": "tanh", "Sigmoid": "logistic"}
_MANY = {"Sum": "add", "Max": "maximum", "Min": "minimum"}
_IMPUTED = tuple(f"{name}_value_{kind}" for name, kind in (("imputed", "floats"), ("imputed", "int64s")))
READERS: Mapping[str, Reader] = {
    **{name: Reader(partial(_arithmetic, function), 2, 2) for name, function in _BINARY.items()},
    **{name: Reader(partial(_arithmetic, function), 1, 1000) for name, function in _MANY.items()},
    **{name: Reader(partial(_comparison, function), 2, 2) for name, function in _COMPARED.items()},
    **{name: Reader(partial(_function, function, None), 1, 1) for name, function in _UNARY.items()},
    "Not": Reader(partial(_function, "not", "boolean"), 1, 1),
    "IsNaN": Reader(partial(_function, "is missing", "boolean"), 1, 1),
    "Equal": Reader(_equal, 2, 2),
    "Where": Reader(_where, 3, 3),
    "Identity": Reader(lambda call: call.present()[0], 1, 1),
    "Constant": Reader(lambda call: call.constant(call.attribute("value")), 0, 0, ("value",)),
    "Cast": Reader(_cast, 1, 1, ("to",)),
    "Clip": Reader(_clip, 1, 3, ("min", "max")),
    "Concat": Reader(_concat, 1, 20_000, ("axis",)),
    "Gather": Reader(_gather, 2, 2, ("axis",)),
    "ReduceSum": Reader(_reduce_sum, 1, 2, ("axes", "keepdims")),
    "Gemm": Reader(_gemm, 2, 3, ("alpha", "beta", "transA", "transB")),
    "MatMul": Reader(_gemm, 2, 2),
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
"""The operators that are not classifiers."""
