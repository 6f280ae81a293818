"""Hypotheses read as data predict what they predict themselves, each row by itself; what cannot be read is not run."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin
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
from hedgerow.columns import Table
from hedgerow.errors import HypothesisError
from hedgerow.marginals.hypothesis import Always, codes_of
from hedgerow.marginals.network import network
from hedgerow.marginals.rowwise import read_classifier
from hedgerow.marginals.rowwise.read import Columns
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
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
    return Columns(table.column_names, kinds, table.names is not None), columns


def read(model, data, classes=(0, 1)):
    """Return what a model is read as, as a function of the rows."""
    public, columns = inputs(data)
    found = read_classifier(model, public, classes)
    assert found is not None
    return lambda rows=slice(None): found([column[rows] for column in columns], len(range(len(data))[rows]))


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
        MinMaxScaler(), MLPClassifier((9,), activation="logistic", max_iter=300, learning_rate_init=0.03)
    ),
    "identity": make_pipeline(MaxAbsScaler(), MLPClassifier((9,), activation="identity", max_iter=60)),
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


@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes")])
def test_classifiers_of_numbers_predict_what_they_predict_themselves(name, labels):
    model = OF_NUMBERS[name].fit(X[:400], np.array(labels)[Y[:400]])
    predict = read(model, X, labels)
    expected = codes_of(model.predict(X), labels, N)
    assert 0 < expected.sum() < N
    assert predict().tolist() == expected.tolist()
    assert [predict(slice(i, i + 1))[0] for i in range(30)] == expected[:30].tolist()


WITH_GAPS = {
    "tree": DecisionTreeClassifier(max_depth=5),
    "forest": RandomForestClassifier(20, random_state=0),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "imputed medians": make_pipeline(SimpleImputer(strategy="median"), DecisionTreeClassifier(max_depth=5)),
}


@pytest.mark.parametrize("name", WITH_GAPS)
def test_missing_values_go_where_they_go_in_the_library(name):
    model = WITH_GAPS[name].fit(GAPS[:400], Y[:400])
    assert read(model, GAPS)().tolist() == model.predict(GAPS).tolist()


def test_only_missing_values_go_right_of_an_infinite_threshold():
    model = DecisionTreeClassifier().fit([[1.0], [2.0], [np.nan]], [0, 0, 1])
    rows = np.array([[1.0], [1e30], [np.nan]])
    assert read(model, rows)().tolist() == model.predict(rows).tolist() == [0, 0, 1]


def test_a_missing_number_that_a_classifier_does_not_take_has_no_class():
    model = ridge().fit(X, Y)
    rows = np.where(np.arange(N)[:, None] == 3, np.nan, X)
    found = read(model, rows)()
    assert found[3] == -1
    assert np.delete(found, 3).tolist() == model.predict(np.delete(rows, 3, axis=0)).tolist()


def test_numbers_too_large_have_no_class_and_change_no_other_row():
    model = ridge().fit(X, Y)
    rows = X.copy()
    rows[5, 2], rows[9, 1] = 1e300, -1e300
    found = read(model, rows)()
    assert found[[5, 9]].tolist() == [-1, -1]
    assert np.delete(found, [5, 9]).tolist() == np.delete(model.predict(X), [5, 9]).tolist()


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


@pytest.mark.parametrize("name", IN_FRAMES)
def test_pipelines_on_frames_predict_what_they_predict_themselves(name):
    model = IN_FRAMES[name].fit(WORDS[:400], IN_FRAME[:400])
    expected = model.predict(WORDS)
    assert 0 < expected.sum() < N
    assert read(model, WORDS)().tolist() == expected.tolist()
    assert read(model, FRAME)().tolist() == expected.tolist()


def test_an_unknown_word_is_ignored_or_has_no_class_as_the_encoder_says():
    new = pd.DataFrame({"w": ["red", "lilac", "green"]})
    for how, expected in (("ignore", 1), ("error", -1)):
        steps = make_column_transformer((OneHotEncoder(handle_unknown=how), ["w"]))
        model = make_pipeline(steps, ridge()).fit(pd.DataFrame({"w": ["red", "green"] * 9}), [1, 0] * 6 + [1] * 6)
        assert read(model, new)().tolist() == [
            1,
            max(expected, model.predict(new[:1])[0] * 0) if how == "ignore" else -1,
            0,
        ]


SCHEMA = Schema(
    {
        "age": Integer(0, 100, (30, 60)),
        "size": Real(0.0, 1.0, (0.5,), missing="cell", outside="clip"),
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


def test_a_row_that_a_models_schema_refuses_has_no_class():
    model = hr.RuleList(SCHEMA, RULES, hr.PrivacyCard.none("example", software="test"))
    found = read(model, ROWS, ("no", "yes"))()
    assert found.tolist() == [1, 1, 0, -1, -1, 1, -1, 1]
    for i, code in enumerate(found):
        if code >= 0:
            assert model.predict(ROWS[i : i + 1])[0] == ("no", "yes")[code]
        else:
            with pytest.raises(hr.errors.DomainError, match="some values are"):
                model.predict(ROWS[i : i + 1])


@pytest.mark.parametrize("make", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier])
def test_hedgerows_estimators_are_read_as_their_models(make):
    data = hr.datasets.load("breast_cancer")
    fitted = make(epsilon=4.0, schema=data.schema).fit(data.frame, data.labels)
    found = read(fitted, data.frame, data.schema.classes)()
    assert found.tolist() == codes_of(fitted.predict(data.frame), data.schema.classes, len(data.frame)).tolist()


@pytest.mark.parametrize("make", [hr.MarginalLogisticClassifier, hr.ExprilClassifier])
def test_marginal_learners_can_be_asked_about(make):
    data = hr.datasets.load("breast_cancer")
    oracle = hr.Oracle(data.frame, data.labels, hr.Budget(9), 3, classes=data.schema.classes)
    options = {"estimator": DecisionTreeClassifier(max_depth=3), "queries": 1} if make is hr.ExprilClassifier else {}
    fitted = make(**options).fit(data.frame[:200], oracle)
    found = read(fitted, data.frame, data.schema.classes)()
    assert found.tolist() == codes_of(fitted.predict(data.frame), data.schema.classes, len(data.frame)).tolist()


class Derived(DecisionTreeClassifier):
    """Code of somebody else in a known type."""


class Foreign(ClassifierMixin):
    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@pytest.mark.parametrize(
    "model",
    [
        Derived().fit(X, Y),
        Foreign(),
        make_pipeline(FunctionTransformer(), Foreign()),
        make_pipeline(make_column_transformer((Foreign(), [0])), ridge().fit(X[:, :1], Y)),
    ],
)
def test_other_types_are_not_read(model):
    public, _ = inputs(X)
    if hasattr(model, "steps") and type(model.steps[0][1]) is ColumnTransformer:
        model.steps[0][1].transformers_, model.steps[0][1].n_features_in_ = [("f", Foreign(), [0])], 5
        model.steps[0][1].feature_names_in_ = np.array([f"x{i}" for i in range(5)])
    assert read_classifier(model, public, (0, 1)) is None


def edited(model, **attributes):
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


class Array(np.ndarray):
    """An array with code of its own."""


def tree_of_object():
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    return edited(model, classes_=np.array([0, 1, 0]))


REFUSED = {
    "unfitted": (LogisticRegression(), "the LogisticRegression is not fitted"),
    "unfitted pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), "the Pipeline is not fitted"),
    "unfitted of hedgerow's": (hr.PrivateTreeClassifier(1.0), "the PrivateTreeClassifier is not fitted"),
    "other width": (ridge().fit(X[:, :3], Y), "it was fitted on 3 columns, and there are 5"),
    "three classes": (ridge().fit(X, Y + (X[:, 0] > 1)), "expected predictions that are one of 0, 1"),
    "classes of others": (DecisionTreeClassifier().fit(X, Y + 7), "expected predictions that are one of 0, 1"),
    "not finite": (edited(ridge().fit(X, Y), coef_=np.full((1, 5), np.nan)), "not finite, or too large"),
    "huge": (edited(ridge().fit(X, Y), coef_=np.full((1, 5), 1e200)), "not finite, or too large"),
    "code in an array": (
        edited(ridge().fit(X, Y), coef_=np.ones((1, 5)).view(Array)),
        "its numbers are not in arrays of NumPy's",
    ),
    "objects": (edited(ridge().fit(X, Y), coef_=np.full((1, 5), object())), "not in arrays of NumPy's"),
    "layers that do not fit": (
        edited(small_network(), coefs_=[np.ones((5, 3)), np.ones((4, 1))]),
        "shape \\(4, 1\\) where \\(3, -1\\) is expected",
    ),
    "an activation of others": (edited(small_network(), activation="sin"), "got 'sin'"),
    "classes that do not fit": (tree_of_object(), "where .* is expected"),
    "a function": (
        make_pipeline(FunctionTransformer(np.abs), ridge()).fit(X, Y),
        "with a function is code",
    ),
    "an indicator": (
        make_pipeline(SimpleImputer(add_indicator=True), ridge()).fit(X, Y),
        "without add_ind",
    ),
    "rare words": (
        make_pipeline(OneHotEncoder(max_categories=2), ridge()).fit(X.round(), Y),
        "infrequent categories",
    ),
    "columns by name": (
        edited(make_pipeline(make_column_transformer((StandardScaler(), ["a"])), LogisticRegression())).fit(
            FRAME.assign(a=1.0)[["a", "n"]], Y
        ),
        "fitted on 2 columns",
    ),
    "too few columns": (
        hr.RuleList(SCHEMA, RULES, hr.PrivacyCard.none("example", software="test")),
        "it is a model of 4 columns, and there are 5",
    ),
    "no class": (Always("perhaps"), "expected predictions that are one of 0, 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_in_words(name):
    model, match = REFUSED[name]
    public, _ = inputs(X)
    with pytest.raises(HypothesisError, match=match):
        read_classifier(model, public, (0, 1))


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (ridge().fit(FRAME[["n", "b"]], Y), "fitted on the columns n, b"),
        (
            ridge().fit(np.column_stack([FRAME["n"]] * 4), Y),
            "it takes numbers, and some columns are of text",
        ),
        (make_pipeline(StandardScaler(), ridge()).fit(X[:, :4], Y), "scaled, and other columns come"),
        (
            make_pipeline(make_column_transformer((OneHotEncoder(), ["w", "n"])), ridge()).fit(
                WORDS.assign(w=1.0, a=2.0), Y
            ),
            "categories of text meet a column of numbers, or numbers one of text",
        ),
    ],
)
def test_hypotheses_for_other_columns_are_refused_in_words(model, match):
    public, _ = inputs(WORDS)
    with pytest.raises(HypothesisError, match=match):
        read_classifier(model, public, (0, 1))


def test_a_tree_whose_nodes_lead_back_is_refused():
    """Somebody can write such a tree into the state of scikit-learn's; it would be walked for ever."""
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    state = model.tree_.__getstate__()
    nodes = state["nodes"].copy()
    nodes["left_child"][1] = 0
    model.tree_.__setstate__({**state, "nodes": nodes})
    public, _ = inputs(X)
    with pytest.raises(HypothesisError, match="its nodes are not those of a tree"):
        read_classifier(model, public, (0, 1))
