"""Rows, and hypotheses read as data of them."""

import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier

import hedgerow as hr
from hedgerow.columns import Table
from hedgerow.marginals.oracle.rowwise import read_classifier
from hedgerow.marginals.oracle.rowwise.read import TargetColumns
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema

RNG = np.random.default_rng(3)
N = 700
X = RNG.normal(size=(N, 5)) * [1, 10, 0.01, 1000, 1]
Y = (X[:, 0] + X[:, 1] / 10 * X[:, 2] * 100 > 0.2).astype(int)
GAPS = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
FRAME = pd.DataFrame(
    {
        "a": np.where(RNG.random(N) < 0.2, np.nan, X[:, 0]),
        "w": pd.Series(RNG.choice(["red", "green", "blue"], N), dtype="string").where(RNG.random(N) < 0.8),
        "b": RNG.random(N) < 0.4,
        "n": RNG.integers(0, 4, N),
    }
)
WORDS = FRAME.assign(w=FRAME["w"].astype(object).where(FRAME["w"].notna(), np.nan))
IN_FRAME = ((FRAME["n"] > 1) ^ (FRAME["w"] == "red").fillna(False)).to_numpy(dtype=int)


def ridge():
    return RidgeClassifier()


def small_network():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MLPClassifier((3,), max_iter=2).fit(X, Y)


def inputs(data):
    table = Table.of(data)
    columns = [table.column(name, i) for i, name in enumerate(table.column_names)]
    kinds = tuple("text" if c.is_text else "boolean" if c.values.dtype.kind == "b" else "numbers" for c in columns)
    return TargetColumns(table.column_names, kinds, table.names is not None), columns


def read(model, data, classes=(0, 1)):
    """Return what a model is read as, as a function of the rows."""
    public, columns = inputs(data)
    found = read_classifier(model, public, classes)
    assert found is not None
    return lambda rows=slice(None): found([column[rows] for column in columns], len(range(len(data))[rows]))


SCHEMA = Schema(
    {
        "age": Integer(0, 100, (30, 60)),
        "size": Real(0.0, 1.0, (0.5,), missing="bin", outside="clip"),
        "word": Categorical(("r", "g")),
        "flag": Boolean(),
    },
    Label("ill", ("no", "yes")),
)
ROWS = pd.DataFrame(
    {
        "age": [10, 40, 70, 400, 40, 40, 10, 70],
        "size": [0.1, 0.9, np.nan, 0.4, 7.0, 0.9, 0.2, 0.8],
        "word": ["r", "g", "r", "g", "unseen", "r", None, "g"],
        "flag": [True, False, True, False, True, False, True, False],
    }
)
RULES = (
    hr.Rule((hr.Literal("age", "<=", (30,)), hr.Literal("word", "=", ("r",))), label="yes"),
    hr.Rule((hr.Literal("size", "missing", ()),), label="no"),
    hr.Rule((), label="yes"),
)
