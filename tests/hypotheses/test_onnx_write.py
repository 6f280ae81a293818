"""A hypothesis as ONNX predicts, at the curator's, what it predicts here: the same class for every row."""

import base64
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from hedgerow.errors import HypothesisError, MissingPackageError
from hedgerow.hypotheses import read_onnx
from hedgerow.hypotheses.graph import GraphClassifier, Input, Step
from hedgerow.hypotheses.onnx_write import hypothesis_data
from hedgerow.hypotheses.operators import Elementwise, Rowwise
from hedgerow.tables.frames import Table
from tests.hypotheses.hypotheses import (
    GAPS,
    IN_FRAME,
    IN_FRAMES,
    OF_NUMBERS,
    WITH_GAPS,
    WORDS,
    X,
    Y,
    inputs,
    read,
    ridge,
)

pytest.importorskip("onnx")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
EDGES = np.array([np.nan, 0.0, -0.0, 1e-320, 1e38, -1e38, 1e39, -1e300, 1e300, 3.0, 2.0**300])


def numbers(n_rows=300):
    """Return rows near the fitted ones, rows with gaps, and rows of numbers at the edges of what is computed."""
    rng = np.random.default_rng(8)
    edges = rng.choice(EDGES, (n_rows, X.shape[1]))
    one_edge = np.where(rng.random(edges.shape) < 0.2, edges, X[:n_rows])
    return np.vstack([X[:n_rows], GAPS[:n_rows], one_edge, edges])


def frame(n_rows=300):
    """Return rows with missing and unknown values."""
    rng = np.random.default_rng(9)
    words = rng.choice(np.array(["red", "green", "blue", "lilac", " red ", "1.0", "", None], dtype=object), n_rows)
    made = {"a": rng.choice(EDGES[[0, 1, 3, 4, 9]], n_rows), "w": words, "b": rng.random(n_rows) < 0.5}
    return pd.DataFrame(made | {"n": rng.integers(-1, 6, n_rows)})


def sent(model, data, classes=(0, 1)):
    """Return a model as the bytes of its file, and as the service reads it."""
    text = hypothesis_data(model, inputs(data)[0], classes)["onnx"]
    return base64.b64decode(text), read_onnx(text)


def in_the_runtime(file, data):
    """Return what another runtime predicts."""
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    session = runtime.InferenceSession(file)
    table, taken = Table.of(data), {}
    for place, name in enumerate(table.column_names):
        column = table.column(name, place)
        gaps = np.zeros(len(column), dtype=bool) if column.missing is None else column.missing
        if column.is_text:
            taken[name] = np.where(gaps, "", column.values.to_numpy(zero_copy_only=False).astype(object))[:, None]
        else:
            taken[name] = np.where(gaps, np.nan, column.values.astype(np.float64))[:, None]
    return session.run(None, taken)[0]


def check(model, rows):
    """Check that the file's classes are those of an oracle in this process, for all rows, and each row by itself."""
    file, result = sent(model, rows)
    expected, got = read(model, rows)(), read(result, rows)
    assert got().tolist() == expected.tolist()
    assert {0, 1} <= set(expected.tolist())
    shuffled = np.random.default_rng(1).permutation(len(rows))
    assert read(result, rows.iloc[shuffled] if isinstance(rows, pd.DataFrame) else rows[shuffled])().tolist() == (
        expected[shuffled].tolist()
    )
    assert [got(slice(i, i + 1))[0] for i in range(0, len(rows), 40)] == expected[::40].tolist()
    known = expected >= 0
    assert in_the_runtime(file, rows)[known].tolist() == expected[known].tolist()


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_classifiers_of_numbers(name):
    check(OF_NUMBERS[name].fit(X[:400], Y[:400]), numbers())


@pytest.mark.parametrize("name", WITH_GAPS)
def test_classifiers_of_numbers_with_gaps(name):
    check(WITH_GAPS[name].fit(GAPS[:400], Y[:400]), numbers())


@pytest.mark.parametrize("name", IN_FRAMES)
def test_pipelines_on_frames(name):
    model = IN_FRAMES[name].fit(WORDS[:400], IN_FRAME[:400])
    check(model, pd.concat([WORDS[:300], frame()], ignore_index=True))


def test_a_row_that_an_encoder_refuses_has_no_class_there_either():
    steps = make_column_transformer((OneHotEncoder(), ["w", "n"]), remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=3)).fit(WORDS[:400], IN_FRAME[:400])
    rows = pd.concat([WORDS[:300], frame()], ignore_index=True)
    expected = read(model, rows)()
    assert {-1, 0, 1} == set(expected.tolist())
    assert read(sent(model, rows)[1], rows)().tolist() == expected.tolist()


@pytest.mark.parametrize("fill", ["", " ", "red", "1"])
@pytest.mark.parametrize("categories", [["", "red", "1"], [None, "red"], [" ", "1", "1.0"]])
def test_missing_words_are_what_they_are_filled_with(fill, categories):
    filled = SimpleImputer(strategy="constant", fill_value=fill, missing_values=np.nan)
    encoder = OneHotEncoder(categories=[np.array(categories, dtype=object)], handle_unknown="ignore")
    steps = make_column_transformer((make_pipeline(filled, encoder), ["w"]), remainder=SimpleImputer())
    words = WORDS.assign(w=WORDS["w"].astype(object).where(WORDS["w"].notna(), np.nan))
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(words[:400], IN_FRAME[:400])
    rows = frame().assign(a=0.5)
    assert read(sent(model, rows)[1], rows)().tolist() == read(model, rows)().tolist()


@pytest.mark.parametrize("classes", [("b", "a", "c"), (7, -1, 3), (False, True)])
def test_classes_are_the_targets_in_any_order(classes):
    y = (np.arange(400) * 7 % len(classes) + (X[:400, 0] > 0)) % len(classes)
    model = RandomForestClassifier(5, random_state=0).fit(X[:400], np.array(classes)[y])
    file, result = sent(model, X, classes)
    assert read(result, X, classes)().tolist() == read(model, X, classes)().tolist()
    assert in_the_runtime(file, X).tolist() == model.predict(X).tolist()


def test_the_same_hypothesis_is_the_same_bytes_so_that_it_is_charged_once():
    model = IN_FRAMES["one-hot"].fit(WORDS[:400], IN_FRAME[:400])
    assert sent(model, WORDS)[0] == sent(model, WORDS)[0]


def test_names_of_columns_are_no_names_of_values():
    rows = pd.DataFrame(X[:, :3], columns=["_0_0", "__c1", "x y"])
    model = make_pipeline(StandardScaler(), ridge()).fit(rows, Y)
    assert read(sent(model, rows)[1], rows)().tolist() == model.predict(rows).tolist()


def test_a_category_that_is_there_twice_is_not_sent():
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), ridge()).fit(X[:, :1].round(), Y)
    model[0].categories_[0][:2] = 1.0
    with pytest.raises(HypothesisError, match="duplicate categories"):
        sent(model, X[:, :1])


def test_a_classifier_of_no_column_is_not_read_or_sent():
    model = make_pipeline(make_column_transformer((StandardScaler(), [0])), ridge()).fit(X, Y)
    model[0].transformers_, model[1].coef_ = [], np.zeros((1, 0))
    for ask in (lambda: read(model, X), lambda: sent(model, X)):
        with pytest.raises(HypothesisError, match="it has no columns"):
            ask()


def test_a_graph_of_other_operators_than_scikit_learn_needs_is_not_sent():
    classifier = GraphClassifier((Input("x", "double", 5),), (Step(Rowwise("softmax"), (0,), 5),), None)
    with pytest.raises(HypothesisError, match="read from scikit-learn"):
        sent(classifier, X, tuple("abcde"))
    classifier = GraphClassifier((Input("x0", "double", 1),), (Step(Elementwise("negative"), (0,), 1),), None)
    with pytest.raises(HypothesisError, match="read from scikit-learn"):
        sent(classifier, X[:, :1], ("a",))


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[client\]'"):
        hypothesis_data(ridge().fit(X, Y), inputs(X)[0], (0, 1))
