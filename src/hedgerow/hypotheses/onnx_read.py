"""Readers of ONNX files: bytes become a graph of hedgerow's own operators, or are refused by name.

No runtime runs a file: its operators are evaluated in arithmetic whose result for a row does not depend on other rows
(`hedgerow.hypotheses`).
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

BESIDE = ("ai.onnx.ml.Normalizer", "ai.onnx.ml.ZipMap")
"""Operators that may be in a file where the label does not need them."""
_TREE_WORK = 16  # operations a comparison
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
    summed = call.attribute("aggregate_function", "SUM") == "SUM"
    if not summed or any(not isinstance(one, OnnxTensor | None) for one in tensors):
        call.refuse("sums of numbers")
    one_score = len(labels) == 2 and len(ids) == 1
    if one_score:
        node = replace(node, attributes={**node.attributes, "class_ids": (0,) * len(call.attribute("class_ids"))})
    n_scores = 1 if one_score else len(labels)
    trees = read_trees(node, value.width, n_scores)
    base = np.array(tensors[2].items if isinstance(tensors[2], OnnxTensor) else call.attribute("base_values", ()))
    base = finite(np.zeros(n_scores) if not base.size else base.astype(np.float64))
    if base.shape != (n_scores,):
        call.refuse("a base value for each score")
    work = _TREE_WORK * sum(tree.depth for tree in trees)
    scores = call.builder.step(TreeScores(trees, tuple(base.tolist())), (value,), "double", (n_scores,), work)
    if one_score:
        scores = call.builder.with_zero(scores, 0.5 if all((tree.shares >= 0).all() for tree in trees) else 0.0)
    return _classified(call, scores, labels)


def _labels(call: Call) -> tuple[Any, ...]:
    found = [call.attribute(f"classlabels_{kind}", ()) for kind in ("strings", "int64s", "ints")]
    labels = next((one for one in found if one), ())
    if sum(map(bool, found)) != 1 or not 2 <= len(labels) <= _MOST_CLASSES:
        call.refuse("the labels of two or more classes")
    return tuple(labels)


def _classified(call: Call, scores: RowValue, labels: tuple[Any, ...]) -> RowValue:
    """Return the label; its scores are those that the node's second output has."""
    done = call.attribute("post_transform", "NONE")
    if done == "NONE":
        made = scores
    elif done == "LOGISTIC":
        made = replace(call.builder.elementwise("logistic", (scores,)), before=scores)
    elif done == "SOFTMAX":
        made = call.builder.softmax(scores)
    else:
        call.refuse("post_transform NONE, LOGISTIC or SOFTMAX")
    return RowValue(-1, "whole", (), scores=scores, labels=labels, before=made)


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
"""The operators that have a label as first output and scores as second."""


MOST_TREES = 5_000
DEEPEST = 20_000  # the most comparisons on the way from the root to the leaf, of all trees together
_MOST_SHARES = 2**22
_SWAPPED = {"BRANCH_GTE": "BRANCH_LT", "BRANCH_GT": "BRANCH_LEQ"}
_MODES = ("LEAF", "BRANCH_LEQ", "BRANCH_LT", *_SWAPPED)


def read_trees(node: OnnxNode, width: int, n_scores: int) -> tuple[BinaryTree, ...]:
    """Return the trees of a TreeEnsembleClassifier, each with its nodes numbered from the root downwards."""
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
        raise HypothesisError(f"expected 1 to {MOST_TREES:,} trees in an ONNX file, got others.")
    trees = tuple(_tree(lists, places, members, weights, width) for _, members in sorted(by_tree.items()))
    if sum(tree.depth for tree in trees) > DEEPEST:
        raise HypothesisError(f"expected trees of at most {DEEPEST:,} levels in all, got more.")
    return trees


def _lists(node: OnnxNode) -> Mapping[str, Sequence[Any]]:
    given = node.attributes
    names = ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids")
    lists: dict[str, Sequence[Any]] = {name: given.get(f"nodes_{name}", ()) for name in names}
    size = len(lists["nodeids"])
    lists["values"] = _numbers(node, "nodes_values").tolist()
    lists["tracks"] = given.get("nodes_missing_value_tracks_true", ()) or (0,) * size
    if not size or any(len(one) != size for one in lists.values()):
        raise _no_tree()
    if any(mode not in _MODES for mode in lists["modes"]):
        raise HypothesisError(f"expected nodes of trees of the modes {', '.join(_MODES)}, got others.")
    return lists


def _numbers(node: OnnxNode, name: str) -> Floats:
    """Return numbers that are in a list of float32, or in a tensor of any type."""
    tensor = node.attributes.get(f"{name}_as_tensor")
    if isinstance(tensor, OnnxTensor):
        return tensor.numbers.ravel()
    return np.array(node.attributes.get(name, ()), dtype=np.float64)


def _weights(node: OnnxNode, places: Mapping[tuple[int, int], int], n_scores: int) -> Floats:
    given = [node.attributes.get(f"class_{name}", ()) for name in ("treeids", "nodeids", "ids")]
    values = _numbers(node, "class_weights")
    if {len(one) for one in given} != {len(values)} or len(places) * n_scores > _MOST_SHARES:
        raise _no_tree()
    found = np.zeros((len(places), n_scores))
    for tree, one, score, value in zip(*given, finite(values).tolist(), strict=True):
        if (tree, one) not in places or not 0 <= score < n_scores:
            raise _no_tree()
        found[places[tree, one], score] += value
    return found


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
    below = np.array([[number[one] for one in children[place]] if place in children else [-1, -1] for place in order])
    feature = np.array([lists["featureids"][place] if place in children else -1 for place in order], dtype=np.int64)
    before = np.where(np.array(modes) == "BRANCH_LT", np.nextafter(values, -np.inf), values)
    try:
        return BinaryTree(below[:, 0], below[:, 1], feature, before, tracks != swapped, weights[order], width)
    except ArgumentError:
        pass
    raise _no_tree()


def _from_root(members: list[int], children: Mapping[int, tuple[int, int]]) -> list[int]:
    """Return the nodes from the root downwards; HypothesisError where one has two ways to it, or none."""
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
    return HypothesisError("expected nodes of an ONNX file that form trees, got others.")


_READERS: Mapping[str, Reader] = {**READERS, **CLASSIFIERS}
_LABELLING = ("ArgMax", "Gather", "ai.onnx.ml.ArrayFeatureExtractor", *CLASSIFIERS)
_PASSED = ("Identity", "Cast", "Flatten", "Reshape", "Squeeze", "Unsqueeze")


def read_onnx(text: str) -> GraphClassifier:
    graph = read_graph(text)
    for node in graph.nodes:
        reader = _READERS.get(node.operator)
        if reader is None and node.operator not in BESIDE:
            names = ", ".join(sorted(_READERS))
            raise HypothesisError(f"expected an ONNX file of the operators {names}; got {shown(node.operator)}.")
        unknown = [] if reader is None else [name for name in node.attributes if name not in reader.attributes]
        if unknown:
            raise HypothesisError(f"expected known attributes, got {shown(unknown[0])} of {shown(node.operator)}.")
    return _classifier(graph)


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
    makers, are_labels = dict[str, OnnxNode](), set[str]()
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
    makers = {name: place for place, node in enumerate(graph.nodes) for name in node.outputs if name}
    waiting, found = [output], set[int]()
    while waiting:
        place = makers.get(waiting.pop())
        if place is not None and place not in found:
            found.add(place)
            waiting += graph.nodes[place].inputs
    return found


def _first_output(reader: Reader, call: Call) -> Operand:
    try:
        return reader.read(call)
    except HypothesisError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        pass
    return call.refuse("attributes of their types")


def _read(builder: OnnxBuilder, node: OnnxNode) -> None:
    reader, call = _READERS.get(node.operator), Call(builder, node, ())
    if reader is None:
        call.refuse("no use of its output")
    if not reader.fewest <= len(node.inputs) <= reader.most or not node.outputs:
        call.refuse(f"{reader.fewest} to {reader.most} inputs")
    for name in node.inputs:
        if name and name not in builder.values:
            raise HypothesisError(f"expected inputs that an earlier node makes, got {shown(name)}, which none does.")
    operands = tuple(builder.values[name] if name else None for name in node.inputs)
    found = _first_output(reader, replace(call, operands=operands))
    if node.operator in CLASSIFIERS and isinstance(found, RowValue):
        assert found.before is not None
        builder.values.update(zip(node.outputs[1:2], [replace(found.before, labels=found.labels)], strict=False))
        found = replace(found, before=None)
    builder.values[node.outputs[0]] = found
