"""Trees of ONNX files: every mode, missing values, several trees; and what is no tree."""

import numpy as np
import pytest

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses import onnx_read as trees
from hedgerow.hypotheses import read_onnx
from tests.hypotheses.onnx_examples import ML, evaluated, model, node, predicted, tensor, text_of

RNG = np.random.default_rng(5)
X = np.vstack([RNG.integers(0, 4, (80, 3)) / 2, [[np.nan, 1.0, 0.5], [0.5, np.nan, np.nan], [1.0, 1.0, np.nan]]])
NODES = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 7, 5, 9],
    "nodes_featureids": [0, 0, 1, 0, 0, 2, 0, 0],
    "nodes_values": [1.0, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0],
    "nodes_truenodeids": [2, 0, 1, 0, 0, 9, 0, 0],
    "nodes_falsenodeids": [3, 0, 4, 0, 0, 5, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
    "class_treeids": [0, 0, 0, 0, 1, 1, 1],
    "class_nodeids": [1, 3, 3, 4, 5, 9, 9],
    "class_ids": [0, 0, 1, 1, 1, 0, 1],
    "class_weights": [0.5, 0.125, 0.25, 0.5, 0.25, 0.5, 0.125],
    "classlabels_int64s": [0, 1],
}


def ensemble(**changes):
    made = node("TreeEnsembleClassifier", ["x"], ["y", "p"], domain=ML, **{**NODES, **changes})
    return model([made], gives="y p")


def modes(*names):
    first, second, third = names
    return [first, "LEAF", second, "LEAF", "LEAF", third, "LEAF", "LEAF"]


def slow(row, changes):
    """Walk the trees of a row, node by node."""
    given = {**NODES, **changes}
    tracks = given.get("nodes_missing_value_tracks_true", [0] * 8)
    holds = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal, "BRANCH_GT": np.greater}
    scores = [0.0, 0.0]
    for tree, root in ((0, 0), (1, 7)):
        at = root
        while True:
            (place,) = [i for i in range(8) if (given["nodes_treeids"][i], given["nodes_nodeids"][i]) == (tree, at)]
            if given["nodes_modes"][place] == "LEAF":
                break
            number = row[given["nodes_featureids"][place]]
            true = (
                tracks[place]
                if np.isnan(number)
                else holds[given["nodes_modes"][place]](number, given["nodes_values"][place])
            )
            at = given["nodes_truenodeids" if true else "nodes_falsenodeids"][place]
        for i, item in enumerate(zip(given["class_treeids"], given["class_nodeids"], strict=True)):
            if item == (tree, at):
                scores[given["class_ids"][i]] += given["class_weights"][i]
    return int(scores[1] > scores[0])


ALL = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
CASES = {f"{a} {b}": {"nodes_modes": modes(a, b, a)} for a in ALL for b in ALL}
TRACKED = {"nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 1, 0, 0]}
CASES |= {f"{name}, tracked": change | TRACKED for name, change in list(CASES.items())[::5]}


@pytest.mark.parametrize("name", CASES)
def test_rows_reach_the_leaves_that_a_walk_reaches(name):
    expected = [slow(row, CASES[name]) for row in X]
    assert predicted(ensemble(**CASES[name]), X).tolist() == expected
    assert set(expected) == {0, 1}


def test_trees_with_scikit_learns_shape_match_the_packages_results():
    known = X[:80]
    made = ensemble()
    assert predicted(made, known).tolist() == [int(row[0]) for row in evaluated(made, known)]


def test_thresholds_and_weights_may_be_tensors():
    changes = {"nodes_values": None, "class_weights": None}
    given = {name: result for name, result in NODES.items() if name not in changes}
    doubles = {f"{name}_as_tensor": tensor(np.array(NODES[name]), name) for name in changes}
    made = model([node("TreeEnsembleClassifier", ["x"], ["y", "p"], domain=ML, **given, **doubles)], gives="y p")
    assert predicted(made, X).tolist() == predicted(ensemble(), X).tolist()


@pytest.mark.parametrize("sign", [1, -1])
def test_one_score_of_two_classes_is_of_the_second(sign):
    weights = [0.25, 0.5 * sign, 0.125, 0.75, 0.5 * sign, 0.25, 0.0]
    made = ensemble(class_ids=[1] * 7, class_weights=weights)
    both = ensemble(class_ids=[1] * 7, class_weights=weights, classlabels_int64s=[7, 8], base_values=[0.0])
    scores = predicted(made, X).tolist()
    assert set(scores) == {0, 1}
    assert predicted(both, X, (7, 8)).tolist() == scores
    moved = ensemble(class_ids=[1] * 7, class_weights=weights, base_values=[-9.0])
    assert set(predicted(moved, X).tolist()) == {0}


def chain_of(depth):
    """Return a tree of one path."""
    size = 2 * depth + 1
    inner = range(depth)
    return {
        "nodes_treeids": [0] * size,
        "nodes_nodeids": list(range(size)),
        "nodes_featureids": [0] * size,
        "nodes_values": [0.5] * size,
        "nodes_modes": ["BRANCH_LEQ" if i < depth else "LEAF" for i in range(size)],
        "nodes_truenodeids": [i + 1 for i in inner] + [0] * (depth + 1),
        "nodes_falsenodeids": [depth + 1 + i for i in inner] + [0] * (depth + 1),
        "class_treeids": [0, 0],
        "class_nodeids": [depth, depth + 1],
        "class_ids": [0, 1],
        "class_weights": [1.0, 1.0],
    }


REFUSED = {
    "a cycle": {"nodes_truenodeids": [2, 0, 0, 0, 0, 9, 0, 0]},
    "a node below itself": {"nodes_truenodeids": [0, 0, 1, 0, 0, 9, 0, 0]},
    "two ways to a node": {"nodes_truenodeids": [3, 0, 1, 0, 0, 9, 0, 0]},
    "a child that is not there": {"nodes_truenodeids": [77, 0, 1, 0, 0, 9, 0, 0]},
    "a child in another tree": {"nodes_truenodeids": [2, 0, 1, 0, 0, 1, 0, 0]},
    "nodes twice": {"nodes_nodeids": [0, 1, 1, 3, 4, 7, 5, 9]},
    "a feature that is not there": {"nodes_featureids": [0, 0, 3, 0, 0, 2, 0, 0]},
    "a negative feature": {"nodes_featureids": [-1, 0, 1, 0, 0, 2, 0, 0]},
    "too few values": {"nodes_values": [1.0]},
    "a weight nowhere": {"class_nodeids": [1, 3, 3, 4, 5, 9, 8]},
    "a weight of no class": {"class_ids": [0, 0, 1, 1, 1, 0, 2]},
    "a class of less than none": {"class_ids": [0, 0, 1, 1, 1, 0, -1]},
    "another mode": {"nodes_modes": modes("BRANCH_EQ", "BRANCH_LT", "BRANCH_LT")},
    "a threshold that is missing": {"nodes_values": [np.nan, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0]},
    "a weight that is infinite": {"class_weights": [np.inf, 0.125, 0.25, 0.5, 0.25, 0.5, 0.125]},
    "no nodes": {name: [] for name in NODES if name.startswith(("nodes", "class_"))},
    "a deep tree": chain_of(trees.DEEPEST + 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_tree_is_refused(name):
    changes = {key: result for key, result in REFUSED[name].items() if result != []}
    given = {key: result for key, result in NODES.items() if key not in REFUSED[name]} | changes
    made = model([node("TreeEnsembleClassifier", ["x"], ["y", "p"], domain=ML, **given)], gives="y p")
    with pytest.raises(HypothesisError, match=r"tree|finite|operations"):
        read_onnx(text_of(made))


def test_too_many_trees_are_refused():
    size = trees.MOST_TREES + 1
    given = {name: [0] * size for name in NODES if name.startswith("nodes")} | {
        "nodes_treeids": list(range(size)),
        "nodes_modes": ["LEAF"] * size,
        "nodes_values": [0.0] * size,
    }
    with pytest.raises(HypothesisError, match="1 to 5,000 trees"):
        read_onnx(text_of(ensemble(**given, class_treeids=[0], class_nodeids=[0], class_ids=[0], class_weights=[1.0])))
