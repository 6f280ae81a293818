"""Readers of ONNX files, which become graphs of hedgerow's own operators.

No ONNX runtime is used. The operators are evaluated so that the result for a row does not depend on other rows
(`hedgerow.hypotheses`). Operators that are not supported are named in the error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError, HypothesisError
from hedgerow.hypotheses.graph import GraphClassifier
from hedgerow.hypotheses.onnx_nodes import Call, OnnxBuilder, Operand, Reader, RowValue, finite
from hedgerow.hypotheses.onnx_operators import READERS
from hedgerow.hypotheses.onnx_plain import OnnxNode, OnnxTensor, PlainGraph, read_graph
from hedgerow.hypotheses.operators import Affine, BinaryTree, Pick, TreeScores
from hedgerow.text.messages import shown

IGNORED = ("ai.onnx.ml.Normalizer", "ai.onnx.ml.ZipMap")
"""Operators that a file may contain if the label does not depend on them."""
_TREE_WORK = 16  # operations per comparison
_MOST_CLASSES = 1_000


def _linear(call: Call) -> RowValue:
    value, labels = call.vector(), _labels(call)
    coefficients, bias = np.array(call.attribute("coefficients", ())), np.array(call.attribute("intercepts", ()))
    n_scores = coefficients.size // value.width
    bias = np.zeros(n_scores) if not bias.size else bias
    if not n_scores or coefficients.size != n_scores * value.width or bias.size != n_scores:
        call.refuse("a coefficient for each column and score, and an intercept for each score")
    if n_scores != len(labels) and (n_scores, len(labels)) != (1, 2):
        call.refuse("a score for each class")
    weights = finite(coefficients.reshape(n_scores, value.width).T)
    scores = call.builder.step(Affine(weights, finite(bias)), (value,), "double", (n_scores,), weights.size)
    return _classified(call, call.builder.with_zero(scores) if n_scores == 1 else scores, labels)


def _trees(call: Call) -> RowValue:
    value, node, labels = call.vector(), call.node, _labels(call)
    ids, tensors = set(call.attribute("class_ids", ())), [call.attribute(f"{name}_as_tensor") for name in _TENSORS]
    is_sum = call.attribute("aggregate_function", "SUM") == "SUM"
    if not is_sum or any(not isinstance(tensor, OnnxTensor | None) for tensor in tensors):
        call.refuse("sums of numbers")
    is_single = len(labels) == 2 and len(ids) == 1
    if is_single:
        node = replace(node, attributes={**node.attributes, "class_ids": (0,) * len(call.attribute("class_ids"))})
    n_scores = 1 if is_single else len(labels)
    trees = read_trees(node, value.width, n_scores)
    base = np.array(tensors[2].items if isinstance(tensors[2], OnnxTensor) else call.attribute("base_values", ()))
    base = finite(np.zeros(n_scores) if not base.size else base.astype(np.float64))
    if base.shape != (n_scores,):
        call.refuse("a base value for each score")
    work = _TREE_WORK * sum(tree.depth for tree in trees)
    scores = call.builder.step(TreeScores(trees, tuple(base.tolist())), (value,), "double", (n_scores,), work)
    if is_single:
        scores = call.builder.with_zero(scores, 0.5 if all((tree.shares >= 0).all() for tree in trees) else 0.0)
    return _classified(call, scores, labels)


def _labels(call: Call) -> tuple[Any, ...]:
    lists = [call.attribute(f"classlabels_{kind}", ()) for kind in ("strings", "int64s", "ints")]
    labels = next((values for values in lists if values), ())
    if sum(map(bool, lists)) != 1 or not 2 <= len(labels) <= _MOST_CLASSES:
        call.refuse(f"the labels of 2 to {_MOST_CLASSES:,} classes")
    return tuple(labels)


def _classified(call: Call, scores: RowValue, labels: tuple[Any, ...]) -> RowValue:
    """Return the label. Its `before` is the second output of the node."""
    transform = call.attribute("post_transform", "NONE")
    if transform == "NONE":
        output = scores
    elif transform == "LOGISTIC":
        output = replace(call.builder.elementwise("logistic", (scores,)), before=scores)
    elif transform == "SOFTMAX":
        output = call.builder.softmax(scores)
    else:
        call.refuse("post_transform NONE, LOGISTIC or SOFTMAX")
    return RowValue(-1, "whole", (), scores=scores, labels=labels, before=output)


_TENSORS = ("nodes_values", "class_weights", "base_values")
_OF_NODES = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "hitrates")
_LABELS = ("classlabels_strings", "post_transform")
CLASSIFIERS: Mapping[str, Reader] = {
    "ai.onnx.ml.LinearClassifier": Reader(
        _linear, 1, 1, ("coefficients", "intercepts", "multi_class", "classlabels_ints", *_LABELS)
    ),
    "ai.onnx.ml.TreeEnsembleClassifier": Reader(
        _trees,
        1,
        1,
        (
            *(f"nodes_{name}" for name in (*_OF_NODES, "missing_value_tracks_true", "hitrates_as_tensor")),
            *(f"class_{name}" for name in ("treeids", "nodeids", "ids", "weights")),
            *(f"{name}_as_tensor" for name in _TENSORS),
            *("base_values", "aggregate_function", "classlabels_int64s"),
            *_LABELS,
        ),
    ),
}
"""The operators whose first output is a label and whose second output has scores."""


MOST_TREES = 5_000
DEEPEST = 20_000  # the sum of the depths of all trees
_MOST_SHARES = 2**22
_SWAPPED = {"BRANCH_GTE": "BRANCH_LT", "BRANCH_GT": "BRANCH_LEQ"}
_MODES = ("LEAF", "BRANCH_LEQ", "BRANCH_LT", *_SWAPPED)


def read_trees(node: OnnxNode, width: int, n_scores: int) -> tuple[BinaryTree, ...]:
    """Return the trees of a TreeEnsembleClassifier, with nodes numbered from the root downwards."""
    lists = _lists(node)
    keys = list(zip(lists["treeids"], lists["nodeids"], strict=True))
    places = {key: place for place, key in enumerate(keys)}
    if len(places) < len(keys):
        raise _no_tree()
    weights = _weights(node, places, n_scores)
    by_tree: dict[int, list[int]] = {}
    for place, (tree, _) in enumerate(keys):
        by_tree.setdefault(tree, []).append(place)
    if not 1 <= len(by_tree) <= MOST_TREES:
        raise HypothesisError(f"an ONNX file must have 1 to {MOST_TREES:,} trees, got {len(by_tree):,}.")
    trees = tuple(_tree(lists, places, members, weights, width) for _, members in sorted(by_tree.items()))
    depth = sum(tree.depth for tree in trees)
    if depth > DEEPEST:
        raise HypothesisError(f"the depths of all trees must add up to at most {DEEPEST:,}, got {depth:,}.")
    return trees


def _lists(node: OnnxNode) -> Mapping[str, Sequence[Any]]:
    names = ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    lists: dict[str, Sequence[Any]] = {name: node.attributes.get(f"nodes_{name}", ()) for name in names}
    size = len(lists["nodeids"])
    lists["values"] = _numbers(node, "nodes_values").tolist()
    lists["tracks"] = node.attributes.get("nodes_missing_value_tracks_true", ()) or (0,) * size
    if not size or any(len(values) != size for values in lists.values()):
        raise _no_tree()
    if unknown := [mode for mode in lists["modes"] if mode not in _MODES]:
        raise HypothesisError(f"nodes of trees must have a mode of {', '.join(_MODES)}, got {shown(unknown[0])}.")
    return lists


def _numbers(node: OnnxNode, name: str) -> Floats:
    """Return numbers from a list of float32 or a tensor of any type."""
    tensor = node.attributes.get(f"{name}_as_tensor")
    if isinstance(tensor, OnnxTensor):
        return tensor.numbers.ravel()
    return np.array(node.attributes.get(name, ()), dtype=np.float64)


def _weights(node: OnnxNode, places: Mapping[tuple[int, int], int], n_scores: int) -> Floats:
    keys = [node.attributes.get(f"class_{name}", ()) for name in ("treeids", "nodeids", "ids")]
    values = _numbers(node, "class_weights")
    if {len(ids) for ids in keys} != {len(values)} or len(places) * n_scores > _MOST_SHARES:
        raise _no_tree()
    weights = np.zeros((len(places), n_scores))
    for tree, number, score, value in zip(*keys, finite(values).tolist(), strict=True):
        if (tree, number) not in places or not 0 <= score < n_scores:
            raise _no_tree()
        weights[places[tree, number], score] += value
    return weights


def _tree(
    lists: Mapping[str, Sequence[Any]],
    places: Mapping[tuple[int, int], int],
    members: list[int],
    weights: Floats,
    width: int,
) -> BinaryTree:
    tree, children = lists["treeids"][members[0]], dict[int, tuple[int, int]]()
    for place in members:
        if lists["modes"][place] != "LEAF":
            pair = [places.get((tree, lists[f"{side}nodeids"][place]), -1) for side in ("true", "false")]
            children[place] = (pair[1], pair[0]) if lists["modes"][place] in _SWAPPED else (pair[0], pair[1])
    order = _from_root(members, children)
    number = {place: i for i, place in enumerate(order)}
    modes = [lists["modes"][place] for place in order]
    modes = [_SWAPPED.get(mode, mode) for mode in modes]
    values = finite(np.array([0.0 if place not in children else lists["values"][place] for place in order]))
    swapped = np.array([lists["modes"][place] in _SWAPPED for place in order])
    tracks = np.array([lists["tracks"][place] != 0 for place in order])
    below = np.array([[number[node] for node in children[place]] if place in children else [-1, -1] for place in order])
    feature = np.array([lists["featureids"][place] if place in children else -1 for place in order], dtype=np.int64)
    before = np.where(np.array(modes) == "BRANCH_LT", np.nextafter(values, -np.inf), values)
    try:
        return BinaryTree(below[:, 0], below[:, 1], feature, before, tracks != swapped, weights[order], width)
    except ArgumentError:
        pass
    raise _no_tree()


def _from_root(members: list[int], children: Mapping[int, tuple[int, int]]) -> list[int]:
    """Return the nodes from the root downwards; HypothesisError unless exactly one path leads to every node."""
    has_parent = {child for pair in children.values() for child in pair}
    waiting, order = [place for place in members if place not in has_parent], list[int]()
    while waiting and len(order) < len(members):
        place = waiting.pop()
        order.append(place)
        waiting += reversed(children.get(place, ()))
    if waiting or -1 in has_parent or len(has_parent) != len(members) - 1 or len(set(order)) != len(members):
        raise _no_tree()
    return order


def _no_tree() -> HypothesisError:
    return HypothesisError("the nodes of a TreeEnsembleClassifier in an ONNX file do not form trees.")


_READERS: Mapping[str, Reader] = {**READERS, **CLASSIFIERS}
_LABEL_OPERATORS = ("ArgMax", "Gather", "ai.onnx.ml.ArrayFeatureExtractor", *CLASSIFIERS)
_PASS_THROUGH = ("Identity", "Cast", "Flatten", "Reshape", "Squeeze", "Unsqueeze")


def read_onnx(text: str) -> GraphClassifier:
    graph = read_graph(text)
    for node in graph.nodes:
        reader = _READERS.get(node.operator)
        if reader is None and node.operator not in IGNORED:
            names = ", ".join(sorted(_READERS))
            problem = f"the ONNX operator {shown(node.operator)} is not supported"
            raise HypothesisError(f"{problem}. Supported operators are {names}.")
        unknown = [] if reader is None else [name for name in node.attributes if name not in reader.attributes]
        if unknown:
            problem = f"the attribute {shown(unknown[0])} of the ONNX operator {shown(node.operator)} is not supported."
            raise HypothesisError(problem)
    return _classifier(graph)


def _classifier(graph: PlainGraph) -> GraphClassifier:
    builder = OnnxBuilder(graph.inputs, graph.ranks, dict(graph.constants))
    output, labels = _output(graph)
    needed = _needed(graph, output)
    for place, node in enumerate(graph.nodes):
        if place in needed:
            _read(builder, node)
    result = builder.values.get(output)
    if not isinstance(result, RowValue) or result.kind == "text" or len(result.shape) > 1:
        raise HypothesisError("the output of an ONNX file must be a label or scores for each row.")
    scores = result if result.scores is None else result.scores
    while scores.before is not None:
        scores = scores.before
    labels = result.labels if labels is None else labels
    if scores.width == 1:
        scores = builder.with_zero(scores)
    first = len(graph.inputs)
    if scores.number < first:
        scores = builder.step(Pick(tuple(range(scores.width))), (scores,), scores.kind, scores.shape)
    return GraphClassifier(graph.inputs, tuple(builder.steps[: scores.number - first + 1]), labels)


def _output(graph: PlainGraph) -> tuple[str, tuple[Any, ...] | None]:
    """Return the name of the output to read, preferably a label, and the labels of a map of scores, if it is one."""
    sources, are_labels = dict[str, OnnxNode](), set[str]()
    for node in graph.nodes:  # nodes take only earlier values
        sources |= dict.fromkeys(node.outputs, node)
        is_label = node.operator in _PASS_THROUGH and are_labels.issuperset(node.inputs[:1])
        if is_label or node.operator in _LABEL_OPERATORS:
            are_labels.update(node.outputs[:1])
    for name in graph.outputs:
        if name in are_labels:
            return name, None
    for name in graph.outputs:
        source = sources.get(name)
        if source is None or source.operator != "ai.onnx.ml.ZipMap":
            return name, None
    if not graph.outputs:
        raise HypothesisError("the ONNX file has no output.")
    source = sources[graph.outputs[0]]
    labels = (*source.attributes.get("classlabels_strings", ()), *source.attributes.get("classlabels_int64s", ()))
    return source.inputs[0] if source.inputs else "", labels


def _needed(graph: PlainGraph, output: str) -> set[int]:
    sources = {name: place for place, node in enumerate(graph.nodes) for name in node.outputs if name}
    waiting, needed = [output], set[int]()
    while waiting:
        place = sources.get(waiting.pop())
        if place is not None and place not in needed:
            needed.add(place)
            waiting += graph.nodes[place].inputs
    return needed


def _first_output(reader: Reader, call: Call) -> Operand:
    try:
        return reader.read(call)
    except HypothesisError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        pass
    return call.refuse("attributes of the declared types")


def _read(builder: OnnxBuilder, node: OnnxNode) -> None:
    reader, call = _READERS.get(node.operator), Call(builder, node, ())
    if reader is None:
        call.refuse("an output that the label does not depend on")
    if not reader.fewest <= len(node.inputs) <= reader.most or not node.outputs:
        call.refuse(f"{reader.fewest} to {reader.most} inputs and an output")
    for name in node.inputs:
        if name and name not in builder.values:
            raise HypothesisError(f"no earlier node of the ONNX graph has the output {shown(name)}.")
    operands = tuple(builder.values[name] if name else None for name in node.inputs)
    output = _first_output(reader, replace(call, operands=operands))
    if node.operator in CLASSIFIERS and isinstance(output, RowValue):
        assert output.before is not None
        builder.values.update(zip(node.outputs[1:2], [replace(output.before, labels=output.labels)], strict=False))
        output = replace(output, before=None)
    builder.values[node.outputs[0]] = output
