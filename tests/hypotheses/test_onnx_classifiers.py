"""Classifiers of ONNX files: which class a score is for, and which scores there are."""

import numpy as np
import pytest

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses import read_onnx
from tests.hypotheses.onnx_examples import ML, T, evaluated, model, node, predicted, text_of

X = np.random.default_rng(6).normal(size=(50, 3)).round(2)
TWO = {"domain": ML, "coefficients": [1.0, -2.0, 0.5, -1.0, 2.0, -0.5], "intercepts": [0.25, -0.25]}
ONE = {"domain": ML, "coefficients": [1.0, -2.0, 0.5], "intercepts": [0.25]}


def linear(given, gives="y p", **more):
    return model([node("LinearClassifier", ["x"], ["y", "p"], **{**given, **more})], gives=gives)


@pytest.mark.parametrize("done", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("given", [ONE, TWO])
def test_a_label_is_that_of_the_largest_score(given, done):
    made = linear(given, classlabels_ints=[0, 1], post_transform=done)
    result = predicted(made, X).tolist()
    scores = X @ np.array(given["coefficients"]).reshape(-1, 3).T + given["intercepts"]
    assert result == ((scores[:, 0] > 0) if given is ONE else scores.argmax(axis=1)).astype(int).tolist()
    if given is TWO:
        assert result == [int(row[0]) for row in evaluated(made, X)]


def test_labels_are_classes_in_their_own_order():
    made = linear(TWO, classlabels_strings=["yes", "no"])
    other = linear(TWO, classlabels_strings=["no", "yes"])
    assert (predicted(made, X, ("no", "yes")) == 1 - predicted(other, X, ("no", "yes"))).all()
    scores_alone = linear(TWO, gives="p", classlabels_strings=["yes", "no"])
    assert (predicted(scores_alone, X, ("no", "yes")) == predicted(made, X, ("no", "yes"))).all()


def test_other_classes_than_the_datasets_are_refused():
    with pytest.raises(HypothesisError, match="no, yes"):
        predicted(linear(TWO, classlabels_strings=["yes", "maybe"]), X, ("no", "yes"))


def test_scores_of_other_numbers_of_classes_are_refused():
    made = model([node("MatMul", ["x", "w"], ["y"])], constants={"w": np.ones((3, 4))})
    with pytest.raises(HypothesisError, match="it has 4 scores for 2 classes"):
        predicted(made, X)


REFUSED = {
    "too few coefficients": {"coefficients": [1.0]},
    "another number of intercepts": {"intercepts": [1.0, 2.0, 3.0]},
    "weights that are missing": {"coefficients": [np.nan] * 6},
    "infinite intercepts": {"intercepts": [np.inf, 0.0]},
    "no labels": {"classlabels_ints": []},
    "one label": {"classlabels_ints": [1]},
    "three labels": {"classlabels_ints": [1, 2, 3]},
    "labels twice": {"classlabels_strings": ["a", "b"]},
    "another transform": {"post_transform": "PROBIT"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_classifier_is_refused(name):
    given = {**TWO, "classlabels_ints": [0, 1], **REFUSED[name]}
    given = {key: result for key, result in given.items() if result != []}
    with pytest.raises(HypothesisError, match=r"LinearClassifier|finite"):
        read_onnx(text_of(model([node("LinearClassifier", ["x"], ["y", "p"], **given)], gives="y p")))


def test_a_label_is_an_output_only():
    nodes = [
        node("LinearClassifier", ["x"], ["l", "p"], classlabels_ints=[0, 1], **TWO),
        node("Cast", ["l"], ["f"], to=T.INT64),
        node("Add", ["f", "f"], ["y"]),
    ]
    with pytest.raises(HypothesisError, match="labels must only be outputs"):
        read_onnx(text_of(model(nodes)))
