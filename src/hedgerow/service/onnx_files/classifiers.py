"""ONNX's classifiers as steps of a graph: scores of classes, and the labels of the largest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.marginals.oracle.rowwise.operators import Affine, Softmax, TreeScores
from hedgerow.service.onnx_files.building import Building, Known, Operand, finite, refuse
from hedgerow.service.onnx_files.operators import Reader, vector
from hedgerow.service.onnx_files.plain import Constant, Node
from hedgerow.service.onnx_files.trees import read_trees

_TREE_WORK = 16  # operations a comparison
_MOST_CLASSES = 1_000


def _linear(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value, given, labels = vector(node, operands[0]), node.attributes, _labels(node)
    coefficients, bias = np.array(given.get("coefficients", ())), np.array(given.get("intercepts", ()))
    n_scores = coefficients.size // value.width
    bias = np.zeros(n_scores) if not bias.size else bias
    if not n_scores or coefficients.size != n_scores * value.width or bias.size != n_scores:
        refuse(node, "a coefficient for each column and score, and an intercept for each score")
    if n_scores != len(labels) and (n_scores, len(labels)) != (1, 2):
        refuse(node, "a score for each class")
    weights = finite(coefficients.reshape(n_scores, value.width).T)
    scores = building.add(Affine(weights, finite(bias)), (value,), "double", (n_scores,), weights.size)
    return _classified(building, node, building.with_zero(scores) if n_scores == 1 else scores, labels)


def _trees(building: Building, node: Node, operands: list[Operand | None]) -> Known:
    value, given, labels = vector(node, operands[0]), node.attributes, _labels(node)
    ids, tensors = set(given.get("class_ids", ())), [given.get(f"{name}_as_tensor") for name in _TENSORS]
    if any(not isinstance(one, Constant | None) for one in tensors) or given.get("aggregate_function", "SUM") != "SUM":
        refuse(node, "sums of numbers")
    one_score = len(labels) == 2 and len(ids) == 1
    if one_score:
        node = replace(node, attributes={**given, "class_ids": (0,) * len(given["class_ids"])})
    n_scores = 1 if one_score else len(labels)
    trees = read_trees(node, value.width, n_scores)
    base = np.array(tensors[2].items if isinstance(tensors[2], Constant) else given.get("base_values", ()))
    base = finite(np.zeros(n_scores) if not base.size else base.astype(np.float64))
    if base.shape != (n_scores,):
        refuse(node, "a base value for each score")
    work = _TREE_WORK * sum(tree.depth for tree in trees)
    scores = building.add(TreeScores(trees, tuple(base.tolist())), (value,), "double", (n_scores,), work)
    if one_score:
        positive = all((tree.shares >= 0).all() for tree in trees)
        scores = building.with_zero(scores, 0.5 if positive else 0.0)
    return _classified(building, node, scores, labels)


def _labels(node: Node) -> tuple[Any, ...]:
    found = [node.attributes.get(f"classlabels_{kind}", ()) for kind in ("strings", "int64s", "ints")]
    labels = next((one for one in found if one), ())
    if sum(map(bool, found)) != 1 or not 2 <= len(labels) <= _MOST_CLASSES:
        refuse(node, "the labels of two or more classes")
    return tuple(labels)


def _classified(building: Building, node: Node, scores: Known, labels: tuple[Any, ...]) -> Known:
    """Return the label; its scores are those that the node's second output has."""
    done = node.attributes.get("post_transform", "NONE")
    if done == "NONE":
        made = scores
    elif done == "LOGISTIC":
        made = replace(building.elementwise("logistic", (scores,)), before=scores)
    elif done == "SOFTMAX":
        made = replace(building.add(Softmax(), (scores,), "double", scores.shape, 4 * scores.width), before=scores)
    else:
        refuse(node, "post_transform NONE, LOGISTIC or SOFTMAX")
    return Known(-1, "whole", (), scores=scores, labels=labels, before=made)


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
