"""Readers of scikit-learn's fitted classifiers, whose public attributes become a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import check_is_fitted

from hedgerow.boundary.arithmetic import LARGEST, Floats
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.graph import BoundClassifier, Graph
from hedgerow.hypotheses.hypothesis import TargetColumns, class_codes
from hedgerow.hypotheses.operators import Affine, BinaryTree, Elementwise, Operator, TreeScores
from hedgerow.hypotheses.scikit_learn_steps import (
    Feature,
    FeatureBuilder,
    Features,
    Names,
    features_after,
    plain_array,
    plain_values,
    plain_vector,
    text_setting,
)
from hedgerow.text.messages import shown

_MOST_NESTED = 20  # pipelines in pipelines


def read_pipeline(fitted: Any, columns: TargetColumns, classes: Sequence[Any]) -> BoundClassifier | None:
    """Return a fitted classifier, alone or in a pipeline, as a graph; None if a type is not supported."""
    before, classifier = _flat(fitted)
    if type(classifier) not in CLASSIFIERS:
        return None
    check_is_fitted(classifier)
    names = columns.names if columns.named else None
    _check_columns(before[0] if before else classifier, names, len(columns.names))
    builder = FeatureBuilder(len(columns.names))
    features: Features | None = [Feature(i, 1, 0, kind == "text") for i, kind in enumerate(columns.kinds)]
    for step in before:
        features = features_after(step, builder, features, names)
        if features is None:
            return None
        names = None
    if any(one.is_text for one in features):
        raise ArgumentError("it takes numbers, and some columns are of text")
    if not features:
        raise ArgumentError("expected a classifier of one column or more, got one of none")
    _scores(CLASSIFIERS[type(classifier)](classifier), builder, features)
    kinds = tuple("text" if kind == "text" else "double" for kind in columns.kinds)
    graph = Graph(tuple((i,) for i in range(len(kinds))), kinds, tuple(builder.steps))
    return BoundClassifier(graph, class_codes(plain_values(classifier.classes_), classes))


def _flat(fitted: Any) -> tuple[list[Any], Any]:
    """Return the steps before the classifier of a pipeline, those of pipelines in it included, and the classifier."""
    steps, classifier = list[Any](), fitted
    for _ in range(_MOST_NESTED):
        if type(classifier) is not Pipeline:
            return steps, classifier
        *before, (_, classifier) = classifier.steps
        steps += [step for _, step in before]
    raise ArgumentError(f"expected at most {_MOST_NESTED} nested pipelines, got more")


def _check_columns(step: Any, names: Names, width: int) -> None:
    """Check that the first fitted step was fitted on the target's columns in order, as scikit-learn would."""
    if step is None or isinstance(step, str):
        return
    met = getattr(step, "feature_names_in_", None)
    if names is not None and met is not None and type(step) is not ColumnTransformer and tuple(met) != names:
        raise ArgumentError(f"it was fitted on the columns {', '.join(map(str, met))}")
    fitted = getattr(step, "n_features_in_", width)
    if fitted != width:
        raise ArgumentError(f"it was fitted on {fitted} columns, and there are {width}")


def _scores(operators: Sequence[Operator], builder: FeatureBuilder, features: Features) -> None:
    """Add the operators of a classifier, whose scores are missing where a step before refuses the row."""
    value, width = builder.matrix(features), len(features)
    for operator in operators:
        expected, outputs = width, width
        if isinstance(operator, Affine):
            expected, outputs = operator.weights.shape
        elif isinstance(operator, TreeScores):
            expected, outputs = operator.width, len(operator.base)
        if expected != width:
            raise ArgumentError(f"it takes {expected} columns, and there are {width}")
        value, width = builder.add(operator, (value,), outputs), outputs
    for known in builder.refusals:
        value = builder.elementwise("multiply", width, value, known)


def _linear(fitted: Any) -> list[Operator]:
    _check_binary(fitted)
    flat = getattr(fitted.coef_, "ndim", 0) == 1  # as ridge regression has it
    coef = plain_vector(fitted.coef_) if flat else plain_array(fitted.coef_, (1, -1))[0]
    intercept = fitted.intercept_
    bias = np.array([float(intercept)]) if type(intercept) in (int, float) else plain_vector(intercept, 1)
    return [_decision(coef[:, None], bias)]


def _decision(weights: Floats, bias: Floats) -> Affine:
    """Return scores that are 0 for the first class, and the output for the second."""
    return Affine(np.hstack([np.zeros_like(weights), weights]), np.hstack([np.zeros_like(bias), bias]))


def _network(fitted: Any) -> list[Operator]:
    _check_binary(fitted)
    if text_setting(fitted.out_activation_) != "logistic":
        raise ArgumentError("expected one output for two classes")
    weights = [plain_array(part, (-1, -1)) for part in fitted.coefs_]
    biases = [plain_vector(part) for part in fitted.intercepts_]
    ends = [*(len(part) for part in weights[1:]), 1]
    if [part.shape[1] for part in weights] != ends or [len(part) for part in biases] != ends:
        raise ArgumentError("expected layers of matching shapes, and one output for two classes")
    activation = text_setting(fitted.activation)
    if activation not in _ACTIVATIONS:
        raise ArgumentError(f"expected the activation {', '.join(_ACTIVATIONS)}, got {shown(activation)}")
    hidden = [Affine(*layer) for layer in zip(weights[:-1], biases[:-1], strict=True)]
    between = [] if activation == "identity" else [Elementwise(activation)]
    return [*(one for layer in hidden for one in (layer, *between)), _decision(weights[-1], biases[-1])]


_ACTIVATIONS = ("identity", "relu", "logistic", "tanh")


def _check_binary(fitted: Any) -> None:
    found = len(plain_values(fitted.classes_))
    if found != 2:
        raise ArgumentError(f"expected a classifier of two classes, got one of {found}")


def _tree(fitted: Any) -> list[Operator]:
    return _trees((_nodes(fitted),))


def _forest(fitted: Any) -> list[Operator]:
    trees = tuple(
        _nodes(tree) for tree in fitted.estimators_ if type(tree) in (DecisionTreeClassifier, ExtraTreeClassifier)
    )
    if not trees or len(trees) != len(fitted.estimators_):
        raise ArgumentError("expected decision trees of scikit-learn")
    return _trees(trees)


def _trees(trees: tuple[BinaryTree, ...]) -> list[Operator]:
    """Return the sums of the trees' shares of the classes; scikit-learn compares values of float32."""
    return [Elementwise("single"), TreeScores(trees, (0.0,) * trees[0].shares.shape[1])]


def _nodes(fitted: Any) -> BinaryTree:
    tree = fitted.tree_
    size, classes, width = int(tree.node_count), len(plain_values(fitted.classes_)), int(fitted.n_features_in_)
    left, right, feature = (
        plain_vector(part, size).astype(np.int64) for part in (tree.children_left, tree.children_right, tree.feature)
    )
    threshold = np.where(np.isposinf(tree.threshold), LARGEST, tree.threshold)  # there only missing values go right
    threshold = plain_vector(threshold, size)
    shares = plain_array(tree.value, (size, 1, classes))[:, 0, :]
    totals = shares.sum(axis=1, keepdims=True)
    shares /= np.where(totals > 0, totals, 1.0)
    missing_left = plain_vector(tree.missing_go_to_left, size) > 0
    return BinaryTree(left, right, feature, threshold, missing_left, shares, width)


CLASSIFIERS: Mapping[type, Callable[[Any], list[Operator]]] = {
    **dict.fromkeys((LogisticRegression, LogisticRegressionCV, RidgeClassifier, RidgeClassifierCV), _linear),
    **dict.fromkeys((SGDClassifier, Perceptron, LinearSVC, LinearDiscriminantAnalysis), _linear),
    MLPClassifier: _network,
    DecisionTreeClassifier: _tree,
    ExtraTreeClassifier: _tree,
    RandomForestClassifier: _forest,
    ExtraTreesClassifier: _forest,
}
"""The reader of classifiers of exactly this type."""
