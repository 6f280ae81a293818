"""Rows, and hypotheses read as data of them."""

import warnings

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import hedgerow as hr
from hedgerow.hypotheses import TargetColumns, read_classifier
from hedgerow.marginals.expril import network
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema
from hedgerow.tables.frames import Table

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
    result = read_classifier(model, public, classes)
    assert result is not None
    return lambda rows=slice(None): result([column[rows] for column in columns], len(range(len(data))[rows]))


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
    hr.models.Rule((hr.schema.Literal("age", "<=", (30,)), hr.schema.Literal("word", "=", ("r",))), label="yes"),
    hr.models.Rule((hr.schema.Literal("size", "missing", ()),), label="no"),
    hr.models.Rule((), label="yes"),
)
OF_NUMBERS = {
    "logistic regression": LogisticRegression(),
    "logistic without intercept": LogisticRegression(fit_intercept=False),
    "ridge": RidgeClassifier(),
    "sgd": SGDClassifier(random_state=0),
    "perceptron": Perceptron(),
    "svm": make_pipeline(StandardScaler(), LinearSVC()),
    "lda": LinearDiscriminantAnalysis(),
    "relu": make_pipeline(StandardScaler(), MLPClassifier((16, 8), max_iter=60, random_state=0)),
    "tanh": make_pipeline(RobustScaler(), MLPClassifier((9,), activation="tanh", max_iter=60, random_state=0)),
    "logistic net": make_pipeline(
        MinMaxScaler(),
        MLPClassifier((9,), activation="logistic", max_iter=300, learning_rate_init=0.03, random_state=0),
    ),
    "identity": make_pipeline(MaxAbsScaler(), MLPClassifier((9,), activation="identity", max_iter=60, random_state=0)),
    "clipped": make_pipeline(MinMaxScaler((-1, 2), clip=True), LogisticRegression()),
    "unscaled parts": make_pipeline(StandardScaler(with_mean=False), StandardScaler(with_std=False), RidgeClassifier()),
    "tree": DecisionTreeClassifier(max_depth=6),
    "deep tree": DecisionTreeClassifier(),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
    "nested": make_pipeline(
        "passthrough", make_pipeline(FunctionTransformer(), StandardScaler()), LogisticRegression()
    ),
    "by position": make_pipeline(
        make_column_transformer((StandardScaler(), [0, 3]), ("passthrough", slice(1, 2)), ("drop", [2])),
        LogisticRegression(),
    ),
    "by mask": make_pipeline(
        ColumnTransformer([("s", StandardScaler(), [True, False, False, True, False])], remainder="passthrough"),
        LogisticRegression(),
    ),
}
WITH_GAPS = {
    "tree": DecisionTreeClassifier(max_depth=5),
    "forest": RandomForestClassifier(20, random_state=0),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "imputed medians": make_pipeline(SimpleImputer(strategy="median"), DecisionTreeClassifier(max_depth=5)),
}
IN_FRAMES = {
    "the default network": network(WORDS, 0),
    "one-hot": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "n"]),
            (OneHotEncoder(), ["b", "n"]),
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first")), ["w"]),
        ),
        LogisticRegression(),
    ),
    "missing words have a category": make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["w"]), ("drop", ["a"]), remainder="passthrough"
        ),
        DecisionTreeClassifier(max_depth=4),
    ),
    "filled with a word": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder()), ["w"]),
            remainder=SimpleImputer(strategy="median"),
        ),
        RandomForestClassifier(10, random_state=0),
    ),
    "binary categories": make_pipeline(
        make_column_transformer((OneHotEncoder(drop="if_binary"), ["b", "n"])), LogisticRegression()
    ),
}
