"""Readers of ONNX files: bytes become a graph of hedgerow's own operators, or are refused by name.

No runtime runs a file: its operators are evaluated in arithmetic whose result for a row does not depend on other rows
(`hedgerow.hypotheses`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses.graph import GraphClassifier
from hedgerow.hypotheses.onnx_classifiers import CLASSIFIERS
from hedgerow.hypotheses.onnx_nodes import Call, OnnxBuilder, Operand, Reader, RowValue, refuse
from hedgerow.hypotheses.onnx_operators import READERS
from hedgerow.hypotheses.onnx_plain import Node, PlainGraph, check_parts, onnx_package, plain_graph, unreadable
from hedgerow.hypotheses.operators import Pick
from hedgerow.text.messages import shown

LARGEST_ONNX = 6_000_000
"""The most bytes of a file."""
BESIDE = ("ai.onnx.ml.Normalizer", "ai.onnx.ml.ZipMap")
"""Operators that may be in a file where the label does not need them."""
_READERS: Mapping[str, Reader] = {**READERS, **CLASSIFIERS}
_LABELLING = ("ArgMax", "Gather", "ai.onnx.ml.ArrayFeatureExtractor", *CLASSIFIERS)
_PASSED = ("Identity", "Cast", "Flatten", "Reshape", "Squeeze", "Unsqueeze")


def read_onnx(text: str) -> GraphClassifier:
    """Return the classifier of an ONNX file in base64."""
    data = _decoded(text)
    model = onnx_package("an ONNX file needs onnx; run pip install 'hedgerow[service]'.").ModelProto
    check_parts(data, model.DESCRIPTOR)
    graph = plain_graph(_parsed(model, data))
    for node in graph.nodes:
        _check(node)
    return _classifier(graph)


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
        raise unreadable()
    return model


def _check(node: Node) -> None:
    reader = _READERS.get(node.operator)
    if reader is None and node.operator not in BESIDE:
        names = ", ".join(sorted(_READERS))
        raise HypothesisError(f"expected an ONNX file of the operators {names}; got {shown(node.operator)}.")
    unknown = [] if reader is None else [name for name in node.attributes if name not in reader.attributes]
    if unknown:
        raise HypothesisError(f"expected known attributes, got {shown(unknown[0])} of {shown(node.operator)}.")


def _classifier(graph: PlainGraph) -> GraphClassifier:
    builder = OnnxBuilder(graph.inputs, graph.ranks, dict(graph.constants))
    output, labels = _output(graph)
    needed = _needed(graph, output)
    for place, node in enumerate(graph.nodes):
        if place in needed:
            _read(builder, node)
    found = builder.values.get(output)
    if not isinstance(found, RowValue) or found.kind == "text" or len(found.shape) > 1:
        raise HypothesisError("expected an ONNX file whose output is a label or scores of a row, got another.")
    scores = found if found.scores is None else found.scores
    while scores.before is not None:
        scores = scores.before
    labels = found.labels if labels is None else labels
    if scores.width == 1:
        scores = builder.with_zero(scores)
    first = len(graph.inputs)
    if scores.number < first:
        scores = builder.step(Pick(tuple(range(scores.width))), (scores,), scores.kind, scores.shape)
    return GraphClassifier(graph.inputs, tuple(builder.steps[: scores.number - first + 1]), labels)


def _output(graph: PlainGraph) -> tuple[str, tuple[Any, ...] | None]:
    """Return the name of the output to read, a label if there is one; and the labels of a map of scores."""
    makers, are_labels = dict[str, Node](), set[str]()
    for node in graph.nodes:  # each takes earlier values only
        makers |= dict.fromkeys(node.outputs, node)
        if node.operator in _LABELLING or (node.operator in _PASSED and are_labels.issuperset(node.inputs[:1])):
            are_labels.update(node.outputs[:1])
    for name in graph.outputs:
        if name in are_labels:
            return name, None
    for name in graph.outputs:
        maker = makers.get(name)
        if maker is None or maker.operator != "ai.onnx.ml.ZipMap":
            return name, None
    if not graph.outputs:
        raise HypothesisError("expected an ONNX file with an output, got one without.")
    maker = makers[graph.outputs[0]]
    labels = (*maker.attributes.get("classlabels_strings", ()), *maker.attributes.get("classlabels_int64s", ()))
    return maker.inputs[0] if maker.inputs else "", labels


def _needed(graph: PlainGraph, output: str) -> set[int]:
    """Return the places of the nodes that an output needs."""
    makers = {name: place for place, node in enumerate(graph.nodes) for name in node.outputs if name}
    waiting, found = [output], set[int]()
    while waiting:
        place = makers.get(waiting.pop())
        if place is not None and place not in found:
            found.add(place)
            waiting += graph.nodes[place].inputs
    return found


def _first_output(reader: Reader, call: Call) -> Operand:
    """Return what is known of a node's first output."""
    try:
        return reader.read(call)
    except HypothesisError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        pass
    return call.refuse("attributes of their types")


def _read(builder: OnnxBuilder, node: Node) -> None:
    """Add the steps of a node."""
    reader = _READERS.get(node.operator)
    if reader is None:
        refuse(node, "no use of its output")
    if not reader.fewest <= len(node.inputs) <= reader.most or not node.outputs:
        refuse(node, f"{reader.fewest} to {reader.most} inputs")
    for name in node.inputs:
        if name and name not in builder.values:
            raise HypothesisError(f"expected inputs that an earlier node makes, got {shown(name)}, which none does.")
    operands = tuple(builder.values[name] if name else None for name in node.inputs)
    found = _first_output(reader, Call(builder, node, operands))
    if node.operator in CLASSIFIERS and isinstance(found, RowValue):
        assert found.before is not None
        builder.values.update(zip(node.outputs[1:2], [replace(found.before, labels=found.labels)], strict=False))
        found = replace(found, before=None)
    builder.values[node.outputs[0]] = found
