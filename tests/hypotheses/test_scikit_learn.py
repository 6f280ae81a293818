"""What of scikit-learn's cannot be read as data is not run: it is refused in words."""

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.errors import HypothesisError
from hedgerow.hypotheses import read_classifier
from hedgerow.hypotheses.hypothesis import Always
from tests.hypotheses.hypotheses import FRAME, RULES, SCHEMA, WORDS, X, Y, inputs, ridge, small_network

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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
    "other width": (ridge().fit(X[:, :3], Y), "it was fitted on 3 columns, but there are 5"),
    "three classes": (ridge().fit(X, Y + (X[:, 0] > 1)), "expected a classifier with two classes, got 3"),
    "classes of others": (DecisionTreeClassifier().fit(X, Y + 7), "must be classes of the target: 0, 1"),
    "not finite": (edited(ridge().fit(X, Y), coef_=np.full((1, 5), np.nan)), "not finite or are too large"),
    "huge": (edited(ridge().fit(X, Y), coef_=np.full((1, 5), 1e200)), "not finite or are too large"),
    "code in an array": (
        edited(ridge().fit(X, Y), coef_=np.ones((1, 5)).view(Array)),
        "its parameters are not numeric NumPy arrays",
    ),
    "objects": (edited(ridge().fit(X, Y), coef_=np.full((1, 5), object())), "not numeric NumPy arrays"),
    "layers that do not fit": (
        edited(small_network(), coefs_=[np.ones((5, 3)), np.ones((4, 1))]),
        "the shapes of the layers do not match",
    ),
    "an activation of others": (edited(small_network(), activation="sin"), "got 'sin'"),
    "classes that do not fit": (tree_of_object(), "expected parameters of shape"),
    "a function": (
        make_pipeline(FunctionTransformer(np.abs), ridge()).fit(X, Y),
        "with a function runs its own code",
    ),
    "an indicator": (
        make_pipeline(SimpleImputer(add_indicator=True), ridge()).fit(X, Y),
        "add_indicator=False",
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
        hr.models.RuleList(SCHEMA, RULES, hr.privacy.PrivacyCard.none("example", software="test")),
        "the model has 4 attributes, but there are 5 columns",
    ),
    "no class": (Always("perhaps"), "must be classes of the target: 0, 1"),
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
            "it expects numbers, but some columns are text",
        ),
        (make_pipeline(StandardScaler(), ridge()).fit(X[:, :4], Y), "got text columns"),
        (
            make_pipeline(make_column_transformer((OneHotEncoder(), ["w", "n"])), ridge()).fit(
                WORDS.assign(w=1.0, a=2.0), Y
            ),
            "it has text categories for a numeric column",
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
    with pytest.raises(HypothesisError, match="its nodes do not form a tree"):
        read_classifier(model, public, (0, 1))
