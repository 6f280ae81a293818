"""Graphs: steps in order, what is no longer needed is dropped, and columns and classes that fit."""

from dataclasses import dataclass

import numpy as np
import pytest

from hedgerow.errors import ArgumentError, HypothesisError
from hedgerow.hypotheses import read_classifier
from hedgerow.hypotheses.graph import Graph, GraphClassifier, Input, Step
from hedgerow.hypotheses.operators import Affine, ConstantRow, Elementwise, Rowwise
from tests.hypotheses.hypotheses import X, inputs, read

ALL = (Input("x", "double", 5),)
WEIGHTS = np.random.default_rng(0).normal(size=(5, 2)) / np.array([[1, 10, 0.01, 1000, 1]]).T
SCORES = Step(Affine(WEIGHTS, np.zeros(2)), (0,), 2)


def test_a_graph_predicts_the_class_of_the_largest_score_in_any_batch():
    predict = read(GraphClassifier(ALL, (SCORES,), None), X)
    expected = (X @ WEIGHTS).argmax(axis=1)
    assert 0 < expected.sum() < len(X)
    assert predict().tolist() == expected.tolist()
    assert [predict(slice(i, i + 1))[0] for i in range(40)] == expected[:40].tolist()
    assert predict(slice(None, None, -1)).tolist() == expected[::-1].tolist()


def test_labels_are_classes_by_name():
    predict = read(GraphClassifier(ALL, (SCORES,), ("b", "a")), X, ("a", "b", "c"))
    assert predict().tolist() == (1 - (X @ WEIGHTS).argmax(axis=1)).tolist()


@dataclass(frozen=True)
class Counted:
    """An operator that counts how many values are there when it is called."""

    def __call__(self, *values):
        return values[0] + 1


def test_values_are_dropped_after_last_use_and_unused_ones_not_computed():
    add = Elementwise("add")
    chain = [Step(add, (i, i), 3) for i in range(50)]
    assert Graph(((0, 1, 2),), ("double",), tuple(chain)).widest == 6
    unused = Step(Elementwise("divide"), (99, 99), 10**9)
    with pytest.raises(ArgumentError, match="earlier steps"):
        Graph(((0,),), ("double",), (unused,))
    last = Graph(((0, 1, 2),), ("double",), (Step(add, (0, 0), 10**9), Step(add, (0, 0), 3)))
    assert last.widest == 6
    held = Graph(
        ((0,),),
        ("double",),
        (Step(Rowwise("join"), (0, 0), 2), Step(Rowwise("join"), (1, 1), 4), Step(Rowwise("join"), (1, 2), 6)),
    )
    assert held.widest == 1 + 2 + 4 + 6 - 1


def test_a_constant_score_is_that_of_every_row():
    result = read(GraphClassifier(ALL, (Step(ConstantRow(np.array([[0.0, 1.0]])), (), 2),), None), X)()
    assert result.tolist() == [1] * len(X)


@pytest.mark.parametrize(
    ("graph", "match"),
    [
        (GraphClassifier(ALL, (SCORES,), ("a", "z")), "must be classes of the target"),
        (GraphClassifier(ALL, (SCORES,), ("a", "a")), "its classes are not distinct"),
        (GraphClassifier(ALL, (SCORES,), ("a",)), "it has 2 scores for 1 classes"),
        (GraphClassifier((Input("x", "double", 4),), (SCORES,), None), "its input 'x' expects 4 columns"),
        (GraphClassifier((Input("z", "double", 1),), (SCORES,), None), "its input 'z' is not a column"),
        (GraphClassifier((Input("x", "text", 5),), (SCORES,), None), "expects text, but the column has numbers"),
    ],
)
def test_what_does_not_fit_is_refused(graph, match):
    with pytest.raises(HypothesisError, match=match):
        read_classifier(graph, inputs(X)[0], ("a", "b"))


class Derived(GraphClassifier):
    """Code of somebody else in a known type."""


def test_a_graph_with_code_of_its_own_is_not_read():
    assert read_classifier(Derived(ALL, (SCORES,), None), inputs(X)[0], (0, 1)) is None
    foreign = GraphClassifier(ALL, (Step(Counted(), (0,), 5),), None)
    with pytest.raises(HypothesisError, match="type Counted"):
        read_classifier(foreign, inputs(X)[0], (0, 1))
