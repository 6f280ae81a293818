"""Files are read as data, or refused in a second and bounded memory, in words that quote names alone."""

import resource
import sys
import time

import numpy as np
import pandas as pd
import pytest

from hedgerow.errors import HypothesisError, MissingPackageError, QuestionError
from hedgerow.hypotheses import LARGEST_ONNX, read_onnx
from hedgerow.service.requests import Request
from tests.hypotheses.hostile_onnx import BYTES, FILES
from tests.hypotheses.hypotheses import inputs
from tests.hypotheses.onnx_examples import ML, T, model, node, predicted, text_of, value
from tests.service.wards import ANA, BINS, WatchedRows, curator_of, question

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 3)).round(2)
W = RNG.normal(size=(3, 2)).astype(np.float32)
ONE = np.array([[1.0], [-2.0], [0.5]])


def refused(text):
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(HypothesisError, match=r"ONNX|onnx|input|trees|operator") as raised:
        read_onnx(text)
    assert time.process_time() - began < 3  # unbounded, it would take minutes
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17  # kilobytes
    assert len(str(raised.value)) < 900
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused(name):
    refused(text_of(FILES[name]))


@pytest.mark.parametrize("name", BYTES)
def test_hostile_bytes_are_refused(name):
    refused(text_of(BYTES[name]))


def test_no_hostile_file_is_charged_or_meets_a_row(tmp_path):
    rows = WatchedRows(fails=True)
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        for number, made in enumerate([*FILES.values()][::5]):  # each is refused by what reads it, above
            body = question(epsilon="1", bins=BINS, hypothesis={"onnx": text_of(made)})
            with pytest.raises(QuestionError, match=r"ONNX|onnx|input|trees|operator"):
                curator.ask(Request(ANA, "wards", "error-marginals", str(number), body))
        assert rows.touched == 0
        assert curator.ledger.account("wards").spent == 0


@pytest.mark.parametrize("text", ["", "a", "====", "\x00" * 40, "é" * 8, "A" * (2 * LARGEST_ONNX), "AAAA\nAAAA"])
def test_text_that_is_no_base64_of_a_file_is_refused(text):
    refused(text)


def test_a_network_of_another_tool_is_read():
    """As PyTorch exports: float32, transposed weights, and a sigmoid or softmax at the end."""
    hidden, bias = RNG.normal(size=(4, 3)).astype(np.float32), RNG.normal(size=4).astype(np.float32)
    last = RNG.choice([-1, 1], (1, 4)).astype(np.float32)
    constants = {"fc1.weight": hidden, "fc1.bias": bias, "fc2.weight": last}
    takes = [value("input", T.FLOAT, ("batch", 3))]
    layers = [
        node("Gemm", ["input", "fc1.weight", "fc1.bias"], ["h"], transB=1),
        node("Relu", ["h"], ["r"]),
        node("Gemm", ["r", "fc2.weight"], ["o"], transB=1),
    ]
    expected = (np.maximum(X @ hidden.T + bias, 0) @ last.T)[:, 0] > 0
    assert 0 < expected.sum() < len(X)
    ends = {
        "score": [node("Identity", ["o"], ["y"])],
        "sigmoid": [node("Sigmoid", ["o"], ["y"])],
        "squeezed": [node("Sigmoid", ["o"], ["s"]), node("Squeeze", ["s", "axis"], ["y"])],
        "cast": [node("Sigmoid", ["o"], ["s"]), node("Cast", ["s"], ["y"], to=T.FLOAT)],
        "both": [
            node("Sub", ["nothing", "o"], ["q"]),
            node("Concat", ["q", "o"], ["c"], axis=1),
            node("Softmax", ["c"], ["y"]),
        ],
    }
    constants |= {"axis": np.array([1]), "nothing": np.array([[0.0]], dtype=np.float32)}
    for nodes in ends.values():
        made = model([*layers, *nodes], takes=takes, constants=constants, opset=17)
        assert predicted(made, X).tolist() == expected.astype(int).tolist()


def test_a_pipeline_of_another_tool_is_read():
    """As skl2onnx writes: a label and a map of probabilities, of which the label is read."""
    nodes = [
        node("Scaler", ["x"], ["s"], domain=ML, offset=[0.5, 0.0, 1.0], scale=[1.0, 2.0, 0.5]),
        node("LinearClassifier", ["s"], ["l", "p"], domain=ML, classlabels_strings=["no", "yes"], multi_class=1,
             coefficients=[-1.0, 2.0, -0.5, 1.0, -2.0, 0.5], intercepts=[-0.5, 0.5], post_transform="LOGISTIC"),
        node("Normalizer", ["p"], ["n"], domain=ML, norm="L1"),
        node("ZipMap", ["n"], ["probabilities"], domain=ML, classlabels_strings=["no", "yes"]),
        node("Identity", ["l"], ["label"]),
    ]  # fmt: skip
    scores = ((X - [0.5, 0, 1]) * [1, 2, 0.5]) @ [1.0, -2.0, 0.5] + 0.5
    for gives in ("label probabilities", "probabilities label"):
        made = model(nodes, gives=gives, takes=[value("x", T.DOUBLE, (None, 3))], opset=15)
        assert predicted(made, X, ("no", "yes")).tolist() == (scores > 0).astype(int).tolist()
    with pytest.raises(HypothesisError, match=r"the operator 'ai.onnx.ml.Normalizer'"):
        read_onnx(text_of(model(nodes, gives="n")))


def test_labels_from_the_place_of_the_largest_score_are_read():
    for operator, more in (("Gather", {"axis": 0}), ("ArrayFeatureExtractor", {"domain": ML})):
        nodes = [
            node("MatMul", ["x", "w"], ["s"]),
            node("ArgMax", ["s"], ["i"], axis=1, keepdims=0),
            node(operator, ["words", "i"], ["y"], **more),
        ]
        made = model(nodes, constants={"w": W.astype(float), "words": np.array(["b", "a"])})
        expected = 1 - (X @ W.astype(float)).argmax(axis=1)
        assert predicted(made, X, ("a", "b")).tolist() == expected.tolist()


def test_labels_may_be_cast_and_shaped_as_another_tool_does():
    """As skl2onnx writes: through float32 and back; and a version that is named twice."""
    nodes = [
        node("MatMul", ["x", "w"], ["s"]),
        node("ArgMax", ["s"], ["i"], axis=1),
        node("ArrayFeatureExtractor", ["labels", "i"], ["l"], domain=ML),
        node("Cast", ["l"], ["f"], to=T.FLOAT),
        node("Reshape", ["f", "flat"], ["r"]),
        node("Cast", ["r"], ["y"], to=T.INT64),
    ]
    made = model(nodes, constants={"w": W.astype(float), "labels": np.array([7, 5]), "flat": np.array([-1])})
    made.opset_import.append(made.opset_import[0])
    assert predicted(made, X, (5, 7)).tolist() == (1 - (X @ W.astype(float)).argmax(axis=1)).tolist()
    made.graph.node[3].attribute[0].i = T.BOOL
    with pytest.raises(HypothesisError, match="a numeric type for a label"):
        read_onnx(text_of(made))


def test_a_map_of_scores_has_the_labels():
    nodes = [
        node("MatMul", ["x", "w"], ["s"]),
        node("ZipMap", ["s"], ["y"], domain=ML, classlabels_strings=["b", "a"]),
    ]
    made = model(nodes, constants={"w": W.astype(float)})
    assert predicted(made, X, ("a", "b")).tolist() == (1 - (X @ W.astype(float)).argmax(axis=1)).tolist()


def test_an_input_may_be_the_score():
    made = model([node("Identity", ["x"], ["y"])], takes=[value("x", T.DOUBLE, (None, 1))])
    assert predicted(made, X[:, :1]).tolist() == (X[:, 0] > 0).astype(int).tolist()
    result = predicted(model([node("Identity", ["x"], ["y"])]), X, (0, 1, 2))
    assert result.tolist() == X.argmax(axis=1).tolist()


def test_old_files_name_constants_among_the_inputs():
    made = model([node("MatMul", ["x", "w"], ["y"])], constants={"w": W.astype(float)}, takes=[value(), value("w")])
    assert predicted(made, X).tolist() == (X @ W.astype(float)).argmax(axis=1).tolist()


def test_constants_are_read_however_they_are_stored():
    expected = predicted(model([node("MatMul", ["x", "w"], ["y"])], constants={"w": W.astype(float)}), X)
    for kind, name in ((T.FLOAT, "float_data"), (T.DOUBLE, "double_data")):
        made = model([node("MatMul", ["x", "w"], ["y"])], constants={"w": W})
        item = made.graph.initializer[0]
        item.data_type = kind
        item.ClearField("raw_data")
        getattr(item, name).extend(W.ravel().tolist())
        assert predicted(made, X).tolist() == expected.tolist()


def test_columns_that_do_not_fit_are_refused_in_words():
    frame = pd.DataFrame({"a": [1.0, 2.0], "w": ["r", "g"]})
    score = [node("Identity", ["a"], ["y"])]
    for takes, match in (
        ([value("a", T.DOUBLE, (None, 3))], "its input 'a' expects 3 columns, got 2"),
        ([value("a", T.DOUBLE, (None, 2))], "expects numbers, but the column has text"),
        ([value("a", T.DOUBLE, (None, 1)), value("z", T.DOUBLE, (None, 1))], "its input 'z' is not a column"),
        ([value("a", T.DOUBLE, (None, 1)), value("w", T.DOUBLE, (None, 1))], "its input 'w' expects"),
    ):
        with pytest.raises(HypothesisError, match=match):
            predicted(model(score, takes=takes), frame)


def test_what_is_read_knows_no_column_of_the_table():
    public, _ = inputs(X)
    result = read_onnx(text_of(model([node("MatMul", ["x", "w"], ["y"])], constants={"w": W.astype(float)})))
    assert [item.name for item in result.inputs] == ["x"]
    assert result.bound(public.names, public.kinds, (0, 1)).codes == (0, 1)


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[service\]'"):
        read_onnx("")
