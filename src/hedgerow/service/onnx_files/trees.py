"""Trees of ONNX files, as lists of nodes that refer to each other, as trees of which every path ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.arithmetic import Floats
from hedgerow.errors import ArgumentError, HypothesisError
from hedgerow.marginals.oracle.rowwise.classifiers import BinaryTree
from hedgerow.service.onnx_files.building import finite
from hedgerow.service.onnx_files.plain import Constant, Node

MOST_TREES = 5_000
DEEPEST = 20_000
"""The most comparisons on the way from the root to the leaf, of all trees together."""
_MOST_SHARES = 2**22
_SWAPPED = {"BRANCH_GTE": "BRANCH_LT", "BRANCH_GT": "BRANCH_LEQ"}
_MODES = ("LEAF", "BRANCH_LEQ", "BRANCH_LT", *_SWAPPED)


def read_trees(node: Node, width: int, n_scores: int) -> tuple[BinaryTree, ...]:
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


def _lists(node: Node) -> Mapping[str, Sequence[Any]]:
    """Return the attributes that have one value a node, all of the same length."""
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


def _numbers(node: Node, name: str) -> Floats:
    """Return numbers that are in a list of float32, or in a tensor of any type."""
    tensor = node.attributes.get(f"{name}_as_tensor")
    if isinstance(tensor, Constant):
        return tensor.numbers.ravel()
    return np.array(node.attributes.get(name, ()), dtype=np.float64)


def _weights(node: Node, places: Mapping[tuple[int, int], int], n_scores: int) -> Floats:
    """Return what each node holds of each score, shape ``(n_nodes, n_scores)``."""
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
