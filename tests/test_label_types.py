"""Labels of every type that a column may have, at every public entry point that compares labels with predictions."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow import audit

RNG = np.random.default_rng(20261128)
N = 120
X = RNG.random(N) < 0.5
TRUTH = np.where(RNG.random(N) < 0.9, X, ~X)
FRAME = pd.DataFrame({"x": X, "z": RNG.random(N) < 0.5})
BINS = hr.Schema({name: hr.Boolean(missing="bin") for name in FRAME})


def words(no, yes):
    return [yes if item else no for item in TRUTH]


def as_category(values):
    return pd.Series(values, dtype="category")


ZERO_ONE = {
    "list": words(0, 1),
    "bool": TRUTH,
    "int64": TRUTH.astype(np.int64),
    "uint8": TRUTH.astype(np.uint8),
    "float": TRUTH.astype(np.float64),
    "float32": TRUTH.astype(np.float32),
    "object of int": TRUTH.astype(int).astype(object),
    "object of bool": TRUTH.astype(object),
    "text of int": words("0", "1"),
    "text of bool": words("false", "true"),
    "text of bool, as Python writes it": words("False", "True"),
    "padded text": words(" 0", "1 "),
    "pandas Int64": pd.Series(TRUTH.astype(int), dtype="Int64"),
    "pandas boolean": pd.Series(TRUTH, dtype="boolean"),
    "pandas category of int": as_category(TRUTH.astype(int)),
    "pandas category of text": as_category(words("0", "1")),
    "pandas string": pd.Series(words("0", "1"), dtype="string"),
    "pandas Arrow int": pd.Series(TRUTH.astype(int), dtype=pd.ArrowDtype(pa.int8())),
    "polars bool": pl.Series(TRUTH),
    "polars text": pl.Series(words("0", "1")),
    "pyarrow bool": pa.chunked_array([pa.array(TRUTH)]),
    "pyarrow int": pa.chunked_array([pa.array(TRUTH.astype(int))]),
}
WHOLE = {
    "int64": np.array(words(3, 7)),
    "float": np.array(words(3.0, 7.0)),
    "text": words("3", "7"),
    "pandas category of text": as_category(words("3", "7")),
    "pyarrow int": pa.chunked_array([pa.array(words(3, 7))]),
}
TEXT = {
    "str array": np.array(words("no", "yes")),
    "object": np.array(words("no", "yes"), dtype=object),
    "padded text": words(" no", "yes "),
    "pandas string": pd.Series(words("no", "yes"), dtype="string"),
    "pandas category": as_category(words("no", "yes")),
    "pandas Arrow text": pd.Series(words("no", "yes"), dtype=pd.ArrowDtype(pa.string())),
    "polars category": pl.Series(words("no", "yes"), dtype=pl.Categorical),
    "pyarrow": pa.chunked_array([pa.array(words("no", "yes"))]),
}
DIGITS = {"str array": np.array(words("0", "1")), "int": TRUTH.astype(int), "pandas Int64": ZERO_ONE["pandas Int64"]}
CASES = [
    pytest.param(label, labels, id=f"{type(label).__name__} {label.classes}: {kind}")
    for label, written in [
        (hr.Label("y", (0, 1)), ZERO_ONE),
        (hr.Label("y", (False, True)), ZERO_ONE),
        (hr.Label("y", (3, 7)), WHOLE),
        (hr.OrderedLabel("y", (7, 3)), WHOLE),
        (hr.Label("y", ("no", "yes")), TEXT),
        (hr.OrderedLabel("y", ("yes", "no")), TEXT),
        (hr.Label("y", ("0", "1")), DIGITS),
    ]
    for kind, labels in written.items()
]


def schema_of(label):
    return hr.Schema({name: hr.Boolean() for name in FRAME}, label)


def typed(label):
    """Return the labels as classes of the schema."""
    no, yes = (0, 1) if label.classes != (7, 3) and label.classes != ("yes", "no") else (1, 0)
    return np.array(words(label.classes[no], label.classes[yes]))


@cache
def model_of(label):
    return hr.OptimalTreeClassifier(max_depth=1, schema=schema_of(label)).fit(FRAME, typed(label))


def accuracy_of_plan(label, y):
    curve = hr.plan(schema_of(label), 100, 5, public=(FRAME, y), runs=1).curve
    return [curve.trial(model, curve.epsilons[3]).mean for model in curve.models]


def oracle_errors(label, y):
    oracle = hr.Oracle(FRAME, y, hr.Budget(5), 1, classes=label.classes, random_state=0)
    return str(oracle.error_marginals(BINS, model_of(label).tree_))


def draw_of(label):
    return hr.PrivateTreeClassifier(1, max_depth=1, schema=schema_of(label))


ENTRIES = {
    "plan": accuracy_of_plan,
    "fit": lambda label, y: clone(model_of(label)).fit(FRAME, y).tree_.to_dict(),
    "score": lambda label, y: model_of(label).score(FRAME, y),
    "evaluate": lambda label, y: hr.evaluate(model_of(label), FRAME, y, epsilon=1, random_state=0).accuracy,
    "report": lambda label, y: hr.Report.of(model_of(label), train=(FRAME, y), test=(FRAME, y)).to_html(private=True),
    "leaf_risk": lambda label, y: str(audit.leaf_risk(model_of(label), (FRAME, y))),
    "overfit": lambda label, y: str(audit.overfit(model_of(label), (FRAME, y), (FRAME, y))),
    "exact_membership": lambda label, y: str(audit.exact_membership(draw_of(label), FRAME, y)),
    "membership": lambda label, y: str(audit.membership(model_of(label), FRAME, y, repeats=1, random_state=0)),
    "lira": lambda label, y: str(audit.lira(model_of(label), FRAME, y, repeats=5, random_state=0)),
    "one_run_epsilon": lambda label, y: str(
        audit.one_run_epsilon(lambda X, y: clone(model_of(label)).fit(X, y), FRAME, y, canaries=20, random_state=0)
    ),
    "oracle": oracle_errors,
}


@cache
def expected(entry, label):
    return ENTRIES[entry](label, typed(label))


SLOW = {"membership", "lira", "report", "plan"}


@pytest.mark.parametrize(
    "entry", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ENTRIES]
)
@pytest.mark.parametrize(("label", "y"), CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_type_of_the_labels_does_not_change_measurements(entry, label, y):
    assert ENTRIES[entry](label, y) == expected(entry, label)


@pytest.mark.parametrize(("label", "y"), CASES[::5])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_default_models_are_right_on_most_rows_of_an_easy_public_table(label, y):
    assert min(accuracy_of_plan(label, y)) > 0.75


@pytest.mark.parametrize("kind", ["bool", "int64", "float", "pandas boolean", "pyarrow bool"])
@pytest.mark.parametrize("fitted_on", ["bool", "int64"])
def test_a_report_on_a_sklearn_model_equates_booleans_with_0_and_1(kind, fitted_on):
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(FRAME, ZERO_ONE[fitted_on])
    sheet = hr.Report.of(model, test=(FRAME, ZERO_ONE[kind])).to_html(private=True)
    right = 100 * np.mean(model.predict(FRAME) == TRUTH)
    assert f"{right:.1f} %" in sheet


def test_score_counts_unknown_labels_as_errors_and_raises_if_missing():
    label = hr.Label("y", ("no", "yes"))
    model, y = model_of(label), np.array(words("no", "yes"), dtype=object)
    right = model.predict(FRAME) == y
    others = np.where(np.arange(N) < 10, "perhaps", y)
    assert model.score(FRAME, others) == pytest.approx(right[10:].sum() / N)
    y[0] = None
    with pytest.raises(ValueError, match="some labels are missing"):
        model.score(FRAME, y)
