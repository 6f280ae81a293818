"""The parts of an ONNX file as plain data: nodes, constants and inputs, without anything that refers elsewhere."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.errors import HypothesisError, MissingPackageError
from hedgerow.hypotheses.graph import Input, InputKind
from hedgerow.text.messages import shown

LARGEST_ONNX = 6_000_000  # the most bytes of a file
MOST_NODES = 20_000
MOST_INPUTS = 10_000
MOST_OUTPUTS = 16
MOST_WIDE = 2**16  # the most columns of a value
_ML = "ai.onnx.ml"
OPSETS = {"": (7, 28), _ML: (1, 5)}  # the versions of each domain whose operators are read
KINDS: Mapping[int, InputKind] = {1: "single", 6: "whole", 7: "whole", 8: "text", 9: "boolean", 11: "double"}
"""The kinds by TensorProto.DataType: float, int32, int64, string, bool and double."""
_STORED = {1: ("float_data", "<f4"), 6: ("int32_data", "<i4"), 7: ("int64_data", "<i8")}
_STORED |= {9: ("int32_data", "u1"), 11: ("double_data", "<f8")}
MOST_DIMENSIONS = 8


@dataclass(frozen=True, eq=False)
class OnnxTensor:
    """A constant tensor: numbers, or words."""

    kind: InputKind  # the type
    shape: tuple[int, ...]  # the shape
    numbers: Floats  # as float64 in this shape; empty for text
    items: tuple[Any, ...]  # the values one after the other: for labels and categories


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """A node: which operator, on which values, with which attributes."""

    operator: str  # its name, after that of a domain other than ONNX's own and a dot
    inputs: tuple[str, ...]  # the names of values; empty where an optional one is left out
    outputs: tuple[str, ...]  # the names of values; empty where an optional one is left out
    attributes: Mapping[str, Any]  # numbers, text, lists of these, and constants


@dataclass(frozen=True, eq=False)
class PlainGraph:
    """A graph."""

    inputs: tuple[Input, ...]  # what is taken of a row
    ranks: tuple[int, ...]  # the number of dimensions of each input, with that of the rows
    constants: Mapping[str, OnnxTensor]  # by name
    nodes: tuple[OnnxNode, ...]  # in an order in which each takes earlier values only
    outputs: tuple[str, ...]  # the names of the results


def read_graph(text: str) -> PlainGraph:
    data = _decoded(text)
    model = onnx_package("reading a hypothesis in ONNX", "service").ModelProto
    check_parts(data, model.DESCRIPTOR)
    return _plain_graph(_parsed(model, data))


def _decoded(text: str) -> bytes:
    if len(text) > 4 * LARGEST_ONNX // 3 + 4:
        raise HypothesisError(f"expected an ONNX file of at most {LARGEST_ONNX:,} bytes, got a larger one.")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise HypothesisError("expected a hypothesis as an ONNX file in base64, got other text.")


def _parsed(kind: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    model = kind()
    try:
        model.ParseFromString(data)
    except (DecodeError, ValueError):
        model = None
    if model is None:
        raise _unreadable()
    return model


def _plain_graph(model: Any) -> PlainGraph:
    _check_versions(model)
    graph = model.graph
    if model.functions or model.training_info or graph.sparse_initializer:
        raise HypothesisError("expected an ONNX file without functions, training or sparse tensors, got one with them.")
    if len(graph.node) > MOST_NODES or len(graph.input) > MOST_INPUTS or len(graph.output) > MOST_OUTPUTS:
        problem = f"expected an ONNX file of at most {MOST_NODES:,} nodes"
        raise HypothesisError(f"{problem}, {MOST_INPUTS:,} inputs and {MOST_OUTPUTS} outputs, got more.")
    constants = {one.name: constant(one) for one in graph.initializer}
    inputs = [one for one in graph.input if one.name not in constants]
    plain = PlainGraph(
        tuple(map(_input, inputs)),
        tuple(len(one.type.tensor_type.shape.dim) for one in inputs),
        constants,
        tuple(map(_node, graph.node)),
        tuple(one.name for one in graph.output),
    )
    names = [one.name for one in (*inputs, *graph.initializer)]
    names += [name for node in plain.nodes for name in node.outputs if name]
    if len(set(names)) < len(names):
        raise HypothesisError("expected every name of an ONNX graph once, got one twice.")
    return plain


def _check_versions(model: Any) -> None:
    imported = [(_domain(one), one.version) for one in model.opset_import]
    for domain, version in imported:
        if domain not in OPSETS:
            continue  # no node of it is taken
        low, high = OPSETS[domain]
        if not low <= version <= high:
            raise HypothesisError(f"expected version {low} to {high} of {domain or 'ai.onnx'}, got {version}.")
    if len(dict(imported)) < len(set(imported)) or not imported:
        raise HypothesisError("expected an ONNX file that names one version of each set of operators.")


def _domain(one: Any) -> str:
    return "" if one.domain == "ai.onnx" else one.domain


def _input(one: Any) -> Input:
    if one.type.WhichOneof("value") != "tensor_type" or one.type.tensor_type.elem_type not in KINDS:
        problem = "expected inputs of float, double, int32, int64, bool or string"
        raise HypothesisError(f"{problem}, got {shown(one.name)} of another type.")
    sizes = [size.dim_value for size in one.type.tensor_type.shape.dim]
    if len(sizes) not in (1, 2) or sizes[0] not in (-1, 0, 1):
        raise HypothesisError(f"expected inputs of shape [rows, columns], got {shown(one.name)} of another.")
    width = sizes[1] if len(sizes) == 2 else 1
    if not 1 <= width <= MOST_INPUTS:
        raise HypothesisError(f"expected inputs with a number of columns, got {shown(one.name)} without.")
    return Input(one.name, KINDS[one.type.tensor_type.elem_type], width)


def _node(node: Any) -> OnnxNode:
    domain = f"{_domain(node)}." if _domain(node) else ""
    attributes = {one.name: _attribute(node.op_type, one) for one in node.attribute}
    if len(attributes) < len(node.attribute):
        raise HypothesisError(f"expected every attribute of {shown(node.op_type)} once, got one twice.")
    return OnnxNode(f"{domain}{node.op_type}", tuple(node.input), tuple(node.output), attributes)


_ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}


def _attribute(operator: str, one: Any) -> Any:
    field = _ATTRIBUTES.get(one.type)
    if field is None or one.ref_attr_name:
        problem = "expected numbers, text or tensors as attributes"
        raise HypothesisError(f"{problem}, got another for {shown(one.name)} of {shown(operator)}.")
    found = getattr(one, field)
    if field == "t":
        return constant(found)
    if field == "s":
        return _word(found)
    return tuple(map(_word, found)) if field == "strings" else tuple(found) if field in ("floats", "ints") else found


def _word(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        pass
    raise HypothesisError("expected text in UTF-8 in an ONNX file, got other bytes.")


def constant(tensor: Any) -> OnnxTensor:
    if tensor.data_location != 0 or tensor.external_data or tensor.HasField("segment"):
        raise HypothesisError("expected an ONNX file with all its tensors, got one whose data are in another file.")
    shape, kind = tuple(tensor.dims), KINDS.get(tensor.data_type)
    if kind is None:
        raise HypothesisError("expected tensors of float, double, int32, int64, bool or string, got another type.")
    if len(shape) > MOST_DIMENSIONS or any(size < 0 for size in shape):
        raise HypothesisError("expected tensors of few dimensions, got another shape.")
    if kind == "text":
        items = tuple(map(_word, tensor.string_data))
        _check_size(len(items), shape)
        return OnnxTensor(kind, shape, np.empty(0), items)
    field, stored = _STORED[tensor.data_type]
    if tensor.raw_data:
        _check_size(len(tensor.raw_data) / np.dtype(stored).itemsize, shape)
        values = np.frombuffer(tensor.raw_data, dtype=stored)
    else:
        given = getattr(tensor, field)
        _check_size(len(given), shape)
        values = np.array(given).astype(stored)
    values = (values != 0 if kind == "boolean" else values).reshape(shape)
    items = tuple(values.ravel().tolist()) if values.size <= MOST_WIDE else ()
    return OnnxTensor(kind, shape, values.astype(np.float64), items)


def _check_size(found: float, shape: tuple[int, ...]) -> None:
    if found != prod(shape):
        raise HypothesisError("expected as many numbers in a tensor as its shape has, got more or fewer.")


MOST_PARTS = 100_000  # the most messages within a message
_MOST_FIELDS = 400_000
_DEEPEST = 12
_RUN = re.compile(rb"(?:\x40[\x80-\xff]{0,9}[\x00-\x7f])*(?:\x3d[\x00-\xff]{4})*")  # fields 8 and 7: ints, floats
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def check_parts(data: bytes, descriptor: Any) -> None:
    """Check that a message of this descriptor has a bounded number of parts, before it is parsed."""
    waiting = [(0, len(data), descriptor, 0)]
    parts = fields = 0
    within = dict[str, dict[int, Any]]()
    while waiting:
        at, end, kind, depth = waiting.pop()
        parts += 1
        if kind.full_name not in within:
            found = kind.fields_by_number
            within[kind.full_name] = {number: one.message_type for number, one in found.items() if one.message_type}
        messages = within[kind.full_name]
        runs = kind.name == "AttributeProto"
        while at < end:
            if runs and (run := _RUN.match(data, at, end)):
                at = run.end()
            fields += 1
            if len(waiting) + parts > MOST_PARTS or fields > _MOST_FIELDS or depth > _DEEPEST:
                raise HypothesisError(f"expected an ONNX file of at most {MOST_PARTS:,} parts, got a larger one.")
            if at == end:
                break
            tag, at = _varint(data, at, end)
            start, at = _value(data, at, end, tag & 7)
            if tag & 7 == _BYTES and tag >> 3 in messages:
                waiting.append((start, at, messages[tag >> 3], depth + 1))


def _value(data: bytes, at: int, end: int, wire_type: int) -> tuple[int, int]:
    if wire_type == _VARINT:
        return at, _varint(data, at, end)[1]
    if wire_type == _BYTES:
        length, at = _varint(data, at, end)
    elif wire_type in (_EIGHT_BYTES, _FOUR_BYTES):
        length = 8 if wire_type == _EIGHT_BYTES else 4
    else:
        raise _unreadable()
    if at + length > end:
        raise _unreadable()
    return at, at + length


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        if at + shift // 7 >= end:
            break
        byte = data[at + shift // 7]
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at + shift // 7 + 1
    raise _unreadable()


def onnx_package(purpose: str, extra: str) -> Any:
    """Return the package onnx; raise `MissingPackageError` if it is not installed."""
    try:
        import onnx
    except ImportError:
        onnx = None
    if onnx is None:
        raise MissingPackageError.of(purpose, "onnx", extra)
    return onnx


def _unreadable() -> HypothesisError:
    return HypothesisError("expected a hypothesis as an ONNX file, got bytes that are truncated or none.")
