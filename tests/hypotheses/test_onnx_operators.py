"""Operators compute what the package onnx computes of each row alone."""

import numpy as np
import pandas as pd
import pytest

from hedgerow.errors import HypothesisError
from hedgerow.hypotheses import read_onnx
from hedgerow.hypotheses.onnx_operators import READERS
from tests.hypotheses.onnx_examples import ML, T, evaluated, model, node, predicted, tensor, text_of, value

RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 3)).round(2)
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
W = RNG.normal(size=(3, 2))
CONSTANTS = {
    "w": W,
    "b": np.array([0.3, -0.2]),
    "row": np.array([[0.4, -1.0, 2.0]]),
    "c": np.array([0.1, -0.2, 0.3]),
    "half": np.array(0.5),
    "zero": np.array(0.0),
    "one": np.array([1.0]),
    "axis": np.array([1]),
    "places": np.array([2, 0]),
    "flat": np.array([-1, 3]),
}


def chain(*steps):
    """Return nodes that end in a score: each is (operator, inputs, attributes), `_` is the value before."""
    nodes, last = [], "x"
    for i, (operator, inputs, attributes) in enumerate(steps):
        name = "y" if i == len(steps) - 1 else f"v{i}"
        nodes.append(node(operator, [last if item == "_" else item for item in inputs.split()], [name], **attributes))
        last = name
    return nodes


def to_score(*steps):
    """Return steps followed by a product with weights and the comparison with 0."""
    return chain(*steps, ("Cast", "_", {"to": T.DOUBLE}), ("MatMul", "_ w", {}), ("Add", "_ b", {}))


SCORED = {
    "MatMul": to_score(("Identity", "x", {})),
    "Gemm": chain(("Gemm", "x w b", {"alpha": 0.5, "beta": 2.0})),
    "Gemm of two": chain(("Gemm", "x w", {})),
    "Add": to_score(("Add", "x row", {})),
    "Sub": to_score(("Sub", "c x", {})),
    "Mul": to_score(("Mul", "x x", {})),
    "Div": to_score(("Div", "x row", {})),
    "Neg": to_score(("Neg", "x", {})),
    "Abs": to_score(("Abs", "x", {})),
    "Sum": to_score(("Sum", "x row x", {})),
    "Max": to_score(("Max", "x half", {})),
    "Min": to_score(("Min", "x c", {})),
    "Relu": to_score(("Relu", "x", {})),
    "Tanh": to_score(("Tanh", "x", {})),
    "Sigmoid": to_score(("Sigmoid", "x", {})),
    "Softmax": to_score(("Softmax", "x", {"axis": 1})),
    "Clip": to_score(("Clip", "x zero half", {})),
    "Clip below": to_score(("Clip", "x zero", {})),
    "Where": to_score(("Greater", "x half", {}), ("Where", "_ x c", {})),
    "Equal": to_score(("Cast", "x", {"to": T.INT64}), ("Cast", "_", {"to": T.DOUBLE}), ("Equal", "_ zero", {})),
    "Less": to_score(("Less", "x c", {})),
    "LessOrEqual": to_score(("LessOrEqual", "x c", {})),
    "GreaterOrEqual": to_score(("GreaterOrEqual", "x c", {})),
    "Not": to_score(("Greater", "x c", {}), ("Not", "_", {})),
    "And": to_score(("Greater", "x c", {}), ("And", "_ _", {})),
    "Or": to_score(("Greater", "x c", {}), ("Or", "_ _", {})),
    "Cast": to_score(("Cast", "x", {"to": T.FLOAT})),
    "Cast whole": to_score(("Mul", "x row", {}), ("Cast", "_", {"to": T.INT64})),
    "Cast boolean": to_score(("Cast", "x", {"to": T.INT64}), ("Cast", "_", {"to": T.BOOL})),
    "Gather": to_score(
        ("Gather", "x places", {"axis": 1}), ("Concat", "_ x", {"axis": 1}), ("Gather", "_ axes", {"axis": 1})
    ),
    "ReduceSum": to_score(("ReduceSum", "x axis", {}), ("Mul", "_ row", {})),
    "Reshape": to_score(("Reshape", "x flat", {})),
    "Flatten": to_score(("Flatten", "x", {})),
    "Unsqueeze": to_score(("Unsqueeze", "x last", {}), ("Squeeze", "_ last", {})),
    "ArgMax": chain(("MatMul", "x w", {}), ("ArgMax", "_", {"axis": 1, "keepdims": 0})),
    "Scaler": to_score(("Scaler", "x", {"domain": ML, "offset": [0.5, 1.0, 0.25], "scale": [2.0]})),
    "ArrayFeatureExtractor": to_score(
        ("ArrayFeatureExtractor", "x places", {"domain": ML}),
        ("Concat", "_ x", {"axis": 1}),
        ("Gather", "_ axes", {"axis": 1}),
    ),
}
CONSTANTS |= {"axes": np.array([0, 1, 2]), "last": np.array([2])}
OF_GAPS = {
    "Imputer": to_score(
        ("Imputer", "x", {"domain": ML, "imputed_value_floats": [0.5, 1.0, 0.25], "replaced_value_float": np.nan})
    ),
    "Imputer of a number": to_score(
        ("Imputer", "x", {"domain": ML, "imputed_value_floats": [0.5], "replaced_value_float": 0.25})
    ),
    "IsNaN": to_score(("IsNaN", "x", {})),
    "Where": [node("IsNaN", ["x"], ["gap"]), *to_score(("Where", "gap c x", {}))],
    "Equal": to_score(("Equal", "x x", {})),
    "Less": to_score(("Less", "x half", {})),
}


def largest(row):
    """Return the class that scores decide, a single score by its sign, and none where one is missing."""
    if np.isnan(row).any():
        return -1
    return int(row[0] > 0) if len(row) == 1 else int(row.argmax())


def both(nodes, data):
    made = model(nodes, constants=CONSTANTS)
    return predicted(made, data).tolist(), [largest(row) for row in evaluated(made, data)]


@pytest.mark.parametrize("name", SCORED)
def test_an_operator_computes_what_it_computes_of_one_row(name):
    got, expected = both(SCORED[name], X)
    assert got == expected
    assert len(set(got)) == 2


@pytest.mark.parametrize("name", OF_GAPS)
def test_an_operator_computes_what_it_computes_of_missing_numbers(name):
    got, expected = both(OF_GAPS[name], GAPS)
    assert got == expected


FRAME = pd.DataFrame(
    {
        "w": RNG.choice(np.array(["red", "green", "blue", None], dtype=object), 60),
        "n": RNG.integers(0, 5, 60),
        "b": RNG.random(60) < 0.5,
        "f": X[:, 0].astype(np.float32),
    }
)
WORDS = [value("w", T.STRING, (None, 1))]
ONE_HOT = {"domain": ML, "cats_strings": ["green", "red"]}
OF_TEXT = {
    "Equal": [node("Equal", ["w", "red"], ["is"]), node("Cast", ["is"], ["y"], to=T.DOUBLE)],
    "Equal to nothing": [node("Equal", ["nothing", "w"], ["is"]), node("Cast", ["is"], ["y"], to=T.DOUBLE)],
    "Where": [
        node("Equal", ["w", "nothing"], ["gap"]),
        node("Where", ["gap", "red", "w"], ["filled"]),
        node("OneHotEncoder", ["filled"], ["cube"], **ONE_HOT),
        node("Reshape", ["cube", "two"], ["y"]),
    ],
    "OneHotEncoder": [node("OneHotEncoder", ["w"], ["cube"], **ONE_HOT), node("Reshape", ["cube", "two"], ["y"])],
    "OneHotEncoder of missing": [
        node("OneHotEncoder", ["w"], ["cube"], domain=ML, cats_strings=["red", ""]),
        node("Squeeze", ["cube", "axis"], ["y"]),
    ],
}


@pytest.mark.parametrize("name", OF_TEXT)
def test_an_operator_computes_what_it_computes_of_text(name):
    words = {"red": np.array([["red"]]), "nothing": np.array([[""]]), "two": np.array([-1, 2]), "axis": np.array([1])}
    made = model(OF_TEXT[name], takes=WORDS, constants=words)
    assert predicted(made, FRAME).tolist() == [largest(row) for row in evaluated(made, FRAME)]


@pytest.mark.parametrize(
    ("name", "kind"), [("n", T.INT64), ("n", T.FLOAT), ("b", T.BOOL), ("f", T.FLOAT), ("f", T.DOUBLE)]
)
def test_an_input_takes_a_column_of_its_name(name, kind):
    nodes = [node("Cast", [name], ["d"], to=T.DOUBLE), node("Sub", ["d", "half"], ["y"])]
    made = model(nodes, takes=[value(name, kind, (None, 1))], constants={"half": np.array([[0.4]])})
    assert predicted(made, FRAME).tolist() == [largest(row) for row in evaluated(made, FRAME)]


def test_inputs_round_as_their_type_does():
    just_above = np.array([[1.0 + 1e-12], [1.9999], [0.4]])
    for kind, expected in ((T.FLOAT, [0, 1, 0]), (T.DOUBLE, [1, 1, 0]), (T.INT64, [0, 0, 0])):
        nodes = [node("Cast", ["x"], ["d"], to=T.DOUBLE), node("Sub", ["d", "one"], ["y"])]
        made = model(nodes, takes=[value("x", kind, (None, 1))], constants={"one": np.array([[1.0]])})
        assert predicted(made, just_above).tolist() == expected


def test_whole_numbers_are_encoded():
    nodes = [
        node("OneHotEncoder", ["n"], ["cube"], domain=ML, cats_int64s=[3, 1]),
        node("Reshape", ["cube", "two"], ["y"]),
    ]
    made = model(nodes, takes=[value("n", T.INT64, (None, 1))], constants={"two": np.array([-1, 2])})
    assert predicted(made, FRAME).tolist() == (FRAME["n"] == 1).astype(int).tolist()


def test_a_category_that_an_encoder_refuses_has_no_class():
    nodes = [node("OneHotEncoder", ["w"], ["cube"], zeros=0, **ONE_HOT), node("Reshape", ["cube", "two"], ["y"])]
    made = model(nodes, takes=WORDS, constants={"two": np.array([-1, 2])})
    expected = FRAME["w"].map({"green": 0, "red": 1}).fillna(-1).astype(int)
    assert predicted(made, FRAME).tolist() == expected.tolist()


def test_numbers_that_are_too_large_have_no_class():
    rows = np.array([[1e300, 1.0, 1.0], [1.0, 1.0, 1.0]])
    for name in ("MatMul", "Relu", "Tanh", "Sigmoid", "Softmax", "Gemm"):
        assert predicted(model(SCORED[name], constants=CONSTANTS), rows)[0] == -1


ROW = {
    "row": CONSTANTS["row"],
    "w": W,
    "places": np.array([3]),
    "cube": np.zeros((1, 2, 3)),
    "two": np.array([[1.0], [2.0]]),
}
ROW |= {
    "word": np.array(["a"]),
    "tall": np.array([[1.0, 2.0, 3.0]] * 2),
    "flat": np.array([3, -1]),
    "six": np.array([-1, 6]),
}
REFUSED = {
    "rows that meet": [node("ReduceSum", ["x", "axis"], ["s"], keepdims=0), node("Add", ["x", "s"], ["y"])],
    "a sum of rows": [node("ReduceSum", ["x"], ["y"])],
    "a sum over rows": [node("ReduceSum", ["x", "zeroth"], ["y"])],
    "rows put under rows": [node("Concat", ["x", "x"], ["y"], axis=0)],
    "a constant beside rows": [node("Concat", ["x", "row"], ["y"], axis=1)],
    "another shape": [node("Add", ["x", "two"], ["y"])],
    "a constant of two rows": [node("Add", ["x", "tall"], ["y"])],
    "a constant of three dimensions": [node("Add", ["x", "cube"], ["y"])],
    "constants alone": [node("Add", ["row", "row"], ["y"])],
    "numbers and text": [node("Add", ["x", "word"], ["y"])],
    "text and numbers": [node("Equal", ["x", "word"], ["y"])],
    "columns as rows": [node("Reshape", ["x", "flat"], ["y"])],
    "more columns": [node("Reshape", ["x", "six"], ["y"])],
    "a column that is not there": [node("Gather", ["x", "places"], ["y"], axis=1)],
    "rows by number": [node("Gather", ["x", "places"], ["y"], axis=0)],
    "transposed": [node("Gemm", ["x", "w"], ["y"], transA=1)],
    "a softmax of rows": [node("Softmax", ["x"], ["y"], axis=0)],
    "the largest of rows": [node("ArgMax", ["x"], ["y"], axis=0)],
    "the last of the largest": [node("ArgMax", ["x"], ["y"], axis=1, select_last_index=1)],
    "another type": [node("Cast", ["x"], ["y"], to=T.STRING)],
    "weights of another shape": [node("MatMul", ["x", "row"], ["y"])],
    "a product of rows": [node("MatMul", ["x", "x"], ["y"])],
    "whole division": [node("Cast", ["x"], ["i"], to=T.INT64), node("Div", ["i", "i"], ["y"])],
    "an input left out": [node("Add", ["x", ""], ["y"])],
    "squeezed rows": [node("Squeeze", ["x"], ["y"])],
    "flat rows": [node("Flatten", ["x"], ["y"], axis=0)],
    "a scale of two": [node("Scaler", ["x"], ["y"], domain=ML, offset=[1.0, 2.0], scale=[1.0])],
    "an imputer of two": [node("Imputer", ["x"], ["y"], domain=ML, imputed_value_floats=[1.0, 2.0])],
    "bounds that are missing": [node("Clip", ["x"], ["y"], min=np.nan)],
    "categories twice": [node("OneHotEncoder", ["x"], ["y"], domain=ML, cats_int64s=[1, 1])],
    "categories of text": [node("OneHotEncoder", ["x"], ["y"], domain=ML, cats_strings=["a"])],
    "columns in front": [node("Unsqueeze", ["x", "zeroth"], ["y"])],
}
ROW |= {"axis": np.array([1]), "zeroth": np.array([0])}


@pytest.mark.parametrize("name", REFUSED)
def test_what_mixes_rows_or_is_not_known_is_refused(name):
    with pytest.raises(HypothesisError, match=r"operator '.*'"):
        read_onnx(text_of(model(REFUSED[name], constants=ROW)))


def test_text_is_replaced_where_it_is_missing_only():
    words = {"red": np.array([["red"]]), "a": np.array([["a"]])}
    nodes = [
        node("Equal", ["w", "a"], ["is"]),
        node("Where", ["is", "red", "w"], ["v"]),
        node("Equal", ["v", "a"], ["y"]),
    ]
    with pytest.raises(HypothesisError, match="a word that replaces missing text"):
        read_onnx(text_of(model(nodes, takes=WORDS, constants=words)))


def test_every_operator_is_tested():
    used = {
        f"{item.domain}.{item.op_type}".lstrip(".")
        for nodes in [*SCORED.values(), *OF_GAPS.values(), *OF_TEXT.values()]
        for item in nodes
    }
    assert set(READERS) - used == {"Constant"}


def test_a_node_may_hold_the_constant():
    nodes = [node("Constant", [], ["k"], value=tensor(W)), node("MatMul", ["x", "k"], ["y"])]
    assert predicted(model(nodes), X).tolist() == (X @ W).argmax(axis=1).tolist()


def test_nodes_that_take_a_long_constant_are_refused_before_reading_it():
    shapes = {"axes": [2] * 100_000, "sizes": [0, 3] + [1] * 100_000, "last": [-1]}
    squeezed = [node("Unsqueeze", ["x", "last"], ["z"]), node("Squeeze", ["z", "axes"], ["y"])]
    for nodes in (squeezed, [node("Reshape", ["x", "sizes"], ["y"])]):
        with pytest.raises(HypothesisError, match="at most 8 whole numbers"):
            read_onnx(text_of(model(nodes, constants=shapes)))
