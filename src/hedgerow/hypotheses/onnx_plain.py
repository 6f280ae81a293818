"""The parts of an ONNX file as plain data: nodes, constants and inputs, without external references."""

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

LARGEST_ONNX = 6_000_000  # bytes of a file
MOST_NODES = 20_000
MOST_INPUTS = 10_000
MOST_OUTPUTS = 16
MOST_WIDE = 2**16  # columns of a value
_ML = "ai.onnx.ml"
OPSETS = {"": (7, 28), _ML: (1, 5)}  # the supported versions of each domain
KINDS: Mapping[int, InputKind] = {1: "single", 6: "whole", 7: "whole", 8: "text", 9: "boolean", 11: "double"}
"""The kinds by TensorProto.DataType: float, int32, int64, string, bool and double."""
_STORED = {1: ("float_data", "<f4"), 6: ("int32_data", "<i4"), 7: ("int64_data", "<i8")}
_STORED |= {9: ("int32_data", "u1"), 11: ("double_data", "<f8")}
MOST_DIMENSIONS = 8


@dataclass(frozen=True, eq=False)
class OnnxTensor:
    """A constant tensor of numbers or text."""

    kind: InputKind
    shape: tuple[int, ...]
    numbers: Floats  # float64 of this shape; empty for text
    items: tuple[Any, ...]  # the flat values, for labels and categories


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """A node: an operator with inputs, outputs and attributes."""

    operator: str  # the name, with the domain and a dot before it unless the domain is ONNX's own
    inputs: tuple[str, ...]  # the names of values; empty for omitted optional values
    outputs: tuple[str, ...]  # the names of values; empty for omitted optional values
    attributes: Mapping[str, Any]  # numbers, text, lists of these, and constants


@dataclass(frozen=True, eq=False)
class PlainGraph:
    """The graph of an ONNX file."""

    inputs: tuple[Input, ...]
    ranks: tuple[int, ...]  # the number of dimensions of each input, including the rows
    constants: Mapping[str, OnnxTensor]  # by name
    nodes: tuple[OnnxNode, ...]  # in an order in which nodes take only earlier values
    outputs: tuple[str, ...]  # the names of the results


def read_graph(text: str) -> PlainGraph:
    data = _decoded(text)
    model = onnx_package("reading a hypothesis in ONNX", "service").ModelProto
    check_parts(data, model.DESCRIPTOR)
    return _plain_graph(_parsed(model, data))


def _decoded(text: str) -> bytes:
    if len(text) > 4 * LARGEST_ONNX // 3 + 4:
        raise HypothesisError(f"the ONNX file exceeds the limit of {LARGEST_ONNX:,} bytes.")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise HypothesisError("the hypothesis is not an ONNX file in base64.")


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
        raise HypothesisError("functions, training information and sparse tensors of ONNX files are not supported.")
    if len(graph.node) > MOST_NODES or len(graph.input) > MOST_INPUTS or len(graph.output) > MOST_OUTPUTS:
        problem = f"an ONNX file must have at most {MOST_NODES:,} nodes, {MOST_INPUTS:,} inputs and"
        sizes = f"{len(graph.node):,}, {len(graph.input):,} and {len(graph.output):,}"
        raise HypothesisError(f"{problem} {MOST_OUTPUTS} outputs, got {sizes}.")
    constants = {tensor.name: constant(tensor) for tensor in graph.initializer}
    inputs = [info for info in graph.input if info.name not in constants]
    plain = PlainGraph(
        tuple(map(_input, inputs)),
        tuple(len(info.type.tensor_type.shape.dim) for info in inputs),
        constants,
        tuple(map(_node, graph.node)),
        tuple(info.name for info in graph.output),
    )
    names = [info.name for info in (*inputs, *graph.initializer)]
    names += [name for node in plain.nodes for name in node.outputs if name]
    if len(set(names)) < len(names):
        raise HypothesisError("the names in an ONNX graph are not unique.")
    return plain


def _check_versions(model: Any) -> None:
    imported = [(_domain(entry), entry.version) for entry in model.opset_import]
    for domain, version in imported:
        if domain not in OPSETS:
            continue  # its nodes are not supported
        low, high = OPSETS[domain]
        if not low <= version <= high:
            raise HypothesisError(f"expected version {low} to {high} of {domain or 'ai.onnx'}, got {version}.")
    if len(dict(imported)) < len(set(imported)) or not imported:
        raise HypothesisError("an ONNX file must declare a single version of each operator set.")


def _domain(entry: Any) -> str:
    return "" if entry.domain == "ai.onnx" else entry.domain


def _input(info: Any) -> Input:
    name = shown(info.name)
    if info.type.WhichOneof("value") != "tensor_type" or info.type.tensor_type.elem_type not in KINDS:
        raise HypothesisError(f"the input {name} must have the type float, double, int32, int64, bool or string.")
    sizes = [size.dim_value for size in info.type.tensor_type.shape.dim]
    if len(sizes) not in (1, 2) or sizes[0] not in (-1, 0, 1):
        raise HypothesisError(f"the input {name} must have the shape [rows, columns].")
    width = sizes[1] if len(sizes) == 2 else 1
    if not 1 <= width <= MOST_INPUTS:
        raise HypothesisError(f"the input {name} must declare 1 to {MOST_INPUTS:,} columns.")
    return Input(info.name, KINDS[info.type.tensor_type.elem_type], width)


def _node(node: Any) -> OnnxNode:
    domain = f"{_domain(node)}." if _domain(node) else ""
    attributes = {entry.name: _attribute(node.op_type, entry) for entry in node.attribute}
    if len(attributes) < len(node.attribute):
        raise HypothesisError(f"a node with the operator {shown(node.op_type)} has a duplicate attribute.")
    return OnnxNode(f"{domain}{node.op_type}", tuple(node.input), tuple(node.output), attributes)


_ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}


def _attribute(operator: str, entry: Any) -> Any:
    field = _ATTRIBUTES.get(entry.type)
    if field is None or entry.ref_attr_name:
        problem = f"the attribute {shown(entry.name)} of the operator {shown(operator)}"
        raise HypothesisError(f"{problem} must be a number, text, a list of these, or a tensor.")
    value = getattr(entry, field)
    if field == "t":
        return constant(value)
    if field == "s":
        return _word(value)
    return tuple(map(_word, value)) if field == "strings" else tuple(value) if field in ("floats", "ints") else value


def _word(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        pass
    raise HypothesisError("text in an ONNX file is not UTF-8.")


def constant(tensor: Any) -> OnnxTensor:
    if tensor.data_location != 0 or tensor.external_data or tensor.HasField("segment"):
        raise HypothesisError("an ONNX file must contain its tensors; data in other files are not supported.")
    shape, kind = tuple(tensor.dims), KINDS.get(tensor.data_type)
    if kind is None:
        raise HypothesisError("tensors in ONNX files must have the type float, double, int32, int64, bool or string.")
    if len(shape) > MOST_DIMENSIONS or any(size < 0 for size in shape):
        raise HypothesisError(f"tensors in ONNX files must have at most {MOST_DIMENSIONS} dimensions of size >= 0.")
    if kind == "text":
        items = tuple(map(_word, tensor.string_data))
        _check_size(len(items), shape)
        return OnnxTensor(kind, shape, np.empty(0), items)
    field, stored = _STORED[tensor.data_type]
    if tensor.raw_data:
        _check_size(len(tensor.raw_data) / np.dtype(stored).itemsize, shape)
        values = np.frombuffer(tensor.raw_data, dtype=stored)
    else:
        entries = getattr(tensor, field)
        _check_size(len(entries), shape)
        values = np.array(entries).astype(stored)
    values = (values != 0 if kind == "boolean" else values).reshape(shape)
    items = tuple(values.ravel().tolist()) if values.size <= MOST_WIDE else ()
    return OnnxTensor(kind, shape, values.astype(np.float64), items)


def _check_size(size: float, shape: tuple[int, ...]) -> None:
    if size != prod(shape):
        raise HypothesisError(f"a tensor of shape {shape} in an ONNX file has {size:g} entries.")


MOST_PARTS = 100_000  # messages within a message
_MOST_FIELDS = 400_000
_DEEPEST = 12
_RUN = re.compile(rb"(?:\x40[\x80-\xff]{0,9}[\x00-\x7f])*(?:\x3d[\x00-\xff]{4})*")  # fields 8 and 7: ints, floats
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def check_parts(data: bytes, descriptor: Any) -> None:
    """Raise HypothesisError, before a message is parsed, if it has too many parts."""
    waiting = [(0, len(data), descriptor, 0)]
    parts = fields = 0
    within = dict[str, dict[int, Any]]()
    while waiting:
        at, end, kind, depth = waiting.pop()
        parts += 1
        if kind.full_name not in within:
            numbers = kind.fields_by_number.items()
            within[kind.full_name] = {number: field.message_type for number, field in numbers if field.message_type}
        messages = within[kind.full_name]
        runs = kind.name == "AttributeProto"
        while at < end:
            if runs and (run := _RUN.match(data, at, end)):
                at = run.end()
            fields += 1
            if len(waiting) + parts > MOST_PARTS or fields > _MOST_FIELDS or depth > _DEEPEST:
                raise HypothesisError(f"the ONNX file exceeds the limit of {MOST_PARTS:,} parts.")
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
    value = 0
    for shift in range(0, 70, 7):
        if at + shift // 7 >= end:
            break
        byte = data[at + shift // 7]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + shift // 7 + 1
    raise _unreadable()


def onnx_package(purpose: str, extra: str) -> Any:
    """Return the package onnx; MissingPackageError if it is not installed."""
    try:
        import onnx
    except ImportError:
        onnx = None
    if onnx is None:
        raise MissingPackageError.of(purpose, "onnx", extra)
    return onnx


def _unreadable() -> HypothesisError:
    return HypothesisError("the hypothesis is not an ONNX file, or the file is truncated.")
