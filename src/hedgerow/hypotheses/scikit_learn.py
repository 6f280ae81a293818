"""Readers of scikit-learn's fitted classifiers, whose public attributes become a graph, after the steps before them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from sklearn import linear_model, preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.tree._tree import Tree

from hedgerow.boundary.arithmetic import LARGEST
from hedgerow.boundary.arrays import Floats
from hedgerow.boundary.plain import (
    plain_array,
    plain_list,
    plain_number,
    plain_text,
    plain_values,
    plain_vector,
    plain_whole,
)
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.graph import BoundClassifier, Graph, GraphBuilder
from hedgerow.hypotheses.hypothesis import TargetColumns, class_codes
from hedgerow.hypotheses.operators import (
    Affine,
    BinaryTree,
    Clip,
    ConstantRow,
    Elementwise,
    Encode,
    FillText,
    Operator,
    Pick,
    Rowwise,
    TreeScores,
)
from hedgerow.pipelines import (
    CategoryCodes,
    CategoryEncoding,
    Imputation,
    Scaling,
    SideBySide,
    Steps,
    Unread,
    check_fitted,
    read_steps,
    split_pipeline,
)
from hedgerow.text.messages import shown

STEPS = (preprocessing.StandardScaler, preprocessing.RobustScaler, preprocessing.MinMaxScaler)
STEPS += (preprocessing.MaxAbsScaler, SimpleImputer, preprocessing.OneHotEncoder)
"""Types of the steps that are read before a classifier."""


def read_pipeline(fitted: Any, columns: TargetColumns, classes: Sequence[Any]) -> BoundClassifier | None:
    """Return a fitted classifier, alone or in a pipeline, as a graph; None if a type is not supported."""
    before, classifier = split_pipeline(fitted, lambda model: type(model) is Pipeline)
    if type(classifier) not in CLASSIFIERS:
        return None
    check_fitted(classifier)
    names = columns.names if columns.named else None
    _check_columns(before[0] if before else classifier, names, len(columns.names))
    steps = read_steps(before, STEPS, names or ())
    if _unread(steps):
        return None
    builder = FeatureBuilder(len(columns.names))
    features = [GraphColumn(i, 1, 0, kind == "text") for i, kind in enumerate(columns.kinds)]
    features = _after(steps, builder, features)
    if any(one.is_text for one in features):
        raise ArgumentError("it takes numbers, and some columns are of text")
    if not features:
        raise ArgumentError("expected a classifier of one column or more, got one of none")
    _scores(CLASSIFIERS[type(classifier)](classifier), builder, features)
    kinds = tuple("text" if kind == "text" else "double" for kind in columns.kinds)
    graph = Graph(tuple((i,) for i in range(len(kinds))), kinds, tuple(builder.steps))
    return BoundClassifier(graph, class_codes(plain_values(classifier.classes_), classes))


def _unread(steps: Steps) -> bool:
    """Return whether the type of some step is not supported."""
    for step in steps:
        if isinstance(step, Unread):
            if step.has_function:
                raise ArgumentError("a FunctionTransformer with a function runs code of its own")
            return True
        if isinstance(step, SideBySide) and any(_unread(part) for _, part in step.parts):
            return True
    return False


def _check_columns(step: Any, names: tuple[str, ...] | None, width: int) -> None:
    """Check that the first fitted step was fitted on the target's columns in order, as scikit-learn would."""
    if step is None or type(step) is str:
        return
    own = vars(step)
    if names is not None and "feature_names_in_" in own and type(step) is not ColumnTransformer:
        met = tuple(map(str, plain_values(own["feature_names_in_"])))
        if met != names:
            raise ArgumentError(f"it was fitted on the columns {', '.join(met)}")
    fitted = plain_whole(own.get("n_features_in_", width))
    if fitted != width:
        raise ArgumentError(f"it was fitted on {fitted} columns, and there are {width}")


def _scores(made: Sequence[Operator], builder: "FeatureBuilder", features: "GraphColumns") -> None:
    """Add the operators of a classifier, whose scores are missing where a step before refuses the row."""
    value, width = builder.matrix(features), len(features)
    for operator in made:
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
    flat = type(fitted.coef_) is np.ndarray and fitted.coef_.ndim == 1  # as ridge regression has it
    coef = plain_vector(fitted.coef_) if flat else plain_array(fitted.coef_, (1, -1))[0]
    intercept = fitted.intercept_
    bias = np.array([float(intercept)]) if type(intercept) in (int, float) else plain_vector(intercept, 1)
    return [_decision(coef[:, None], bias)]


def _decision(weights: Floats, bias: Floats) -> Affine:
    """Return scores that are 0 for the first class, and the output for the second."""
    return Affine(np.hstack([np.zeros_like(weights), weights]), np.hstack([np.zeros_like(bias), bias]))


def _network(fitted: Any) -> list[Operator]:
    _check_binary(fitted)
    if plain_text(fitted.out_activation_) != "logistic":
        raise ArgumentError("expected one output for two classes")
    weights = [plain_array(part, (-1, -1)) for part in plain_list(fitted.coefs_)]
    biases = [plain_vector(part) for part in plain_list(fitted.intercepts_)]
    ends = [*(len(part) for part in weights[1:]), 1]
    if [part.shape[1] for part in weights] != ends or [len(part) for part in biases] != ends:
        raise ArgumentError("expected layers of matching shapes, and one output for two classes")
    activation = plain_text(fitted.activation)
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


def _forest(fitted: Any) -> list[Operator]:
    kinds = (DecisionTreeClassifier, ExtraTreeClassifier)
    grown = plain_list(fitted.estimators_)
    trees = tuple(_nodes(tree) for tree in grown if type(tree) in kinds)
    if not trees or len(trees) != len(grown):
        raise ArgumentError("expected decision trees of scikit-learn")
    return _trees(trees)


def _trees(trees: tuple[BinaryTree, ...]) -> list[Operator]:
    """Return the sums of the trees' shares of the classes; scikit-learn compares values of float32."""
    return [Elementwise("single"), TreeScores(trees, (0.0,) * trees[0].shares.shape[1])]


def _nodes(fitted: Any) -> BinaryTree:
    tree = fitted.tree_
    if type(tree) is not Tree:
        raise ArgumentError("expected decision trees of scikit-learn")
    size, classes, width = int(tree.node_count), len(plain_values(fitted.classes_)), plain_whole(fitted.n_features_in_)
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
    **dict.fromkeys((linear_model.LogisticRegression, linear_model.LogisticRegressionCV), _linear),
    **dict.fromkeys((linear_model.RidgeClassifier, linear_model.RidgeClassifierCV), _linear),
    **dict.fromkeys((linear_model.SGDClassifier, linear_model.Perceptron), _linear),
    **dict.fromkeys((LinearSVC, LinearDiscriminantAnalysis), _linear),
    MLPClassifier: _network,
    **dict.fromkeys((DecisionTreeClassifier, ExtraTreeClassifier), lambda fitted: _trees((_nodes(fitted),))),
    **dict.fromkeys((RandomForestClassifier, ExtraTreesClassifier), _forest),
}
"""The reader of classifiers of exactly this type."""


@dataclass(frozen=True)
class GraphColumn:
    """A column of a value of a graph."""

    value: int  # the number of the value
    width: int  # the number of its columns
    place: int  # which of them it is
    is_text: bool = False
    fill: str | None = None  # what replaces its missing text


GraphColumns = list[GraphColumn]


class FeatureBuilder(GraphBuilder):
    """Steps of a graph whose inputs are the target's columns, and the rows that steps refuse."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__(n_inputs)
        self.refusals = list[int]()  # values that are 1, or missing where a row has no class

    def elementwise(self, name: str, width: int, *inputs: int) -> int:
        return self.add(Elementwise(name), inputs, width)

    def number(self, values: Sequence[float]) -> int:
        return self.add(ConstantRow(np.array([values])), (), len(values))

    def matrix(self, features: GraphColumns) -> int:
        parts = list[int]()
        for value, run in groupby(features, key=lambda one: one.value):
            columns = list(run)
            places = tuple(one.place for one in columns)
            whole = places == tuple(range(columns[0].width))
            parts.append(value if whole else self.add(Pick(places), (value,), len(places)))
        return parts[0] if len(parts) == 1 else self.add(Rowwise("join"), tuple(parts), len(features))


def _columns_of(value: int, width: int) -> GraphColumns:
    return [GraphColumn(value, width, place) for place in range(width)]


def _after(steps: Steps, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    """Add steps; return the columns after them."""
    for step in steps:
        features = _ADDED[type(step)](step, builder, features)
    return features


def _side_by_side(step: SideBySide, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    if len(features) != step.width:
        raise ArgumentError(f"a ColumnTransformer takes {step.width} columns, and there are {len(features)}")
    return [one for places, steps in step.parts for one in _after(steps, builder, [features[i] for i in places])]


def _scaled(step: Scaling, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    width = step.width
    if any(one.is_text for one in features) or len(features) != width:
        raise ArgumentError(f"{width} columns of numbers are scaled, and other columns come")
    if not features:
        return []
    value = builder.matrix(features)
    for name, numbers in step.changes:
        if set(numbers) != {0.0 if name in ("add", "subtract") else 1.0}:
            value = builder.elementwise(name, width, value, builder.number(numbers))
    if step.bounds is not None:
        value = builder.add(Clip(*step.bounds), (value,), width)
    return _columns_of(value, width)


def _imputed(step: Imputation, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    if None in step.values:
        raise ArgumentError("a column had no value when the imputer was fitted")
    if [one.is_text for one in features] != [isinstance(value, str) for value in step.values]:
        raise ArgumentError("it replaces missing text by a number, or missing numbers by text")
    found = list(features)
    numbers = [plain_number(value) for value in step.values if not isinstance(value, str)]
    if numbers:
        value = builder.matrix([one for one in features if not one.is_text])
        is_gap, filled = builder.elementwise("is missing", len(numbers), value), builder.number(numbers)
        made = iter(_columns_of(builder.elementwise("where", len(numbers), is_gap, filled, value), len(numbers)))
        found = [one if one.is_text else next(made) for one in features]
    for i, word in enumerate(step.values):
        if isinstance(word, str) and not found[i].fill:
            found[i] = replace(found[i], value=builder.add(FillText(word), (found[i].value,), 1), fill=word)
    return found


def _one_hot(step: CategoryEncoding, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    if len(features) != len(step.columns):
        raise ArgumentError(f"it has categories for {len(step.columns)} columns, and there are {len(features)}")
    found: GraphColumns = []
    for one, column in zip(features, step.columns, strict=True):
        categories, codes = _categories(column, is_text=one.is_text), column.codes
        value = builder.add(Encode(categories), (one.value if one.is_text else builder.matrix([one]),), len(codes))
        if column.other is None:
            known = builder.add(Rowwise("sum"), (value,), 1)
            builder.refusals.append(builder.elementwise("divide", 1, known, known))
        found += [one for one, code in zip(_columns_of(value, len(codes)), codes, strict=True) if code >= 0]
    return found


def _categories(column: CategoryCodes, *, is_text: bool) -> tuple[str | float | None, ...]:
    """Return categories as text for text, and as numbers for numbers."""
    kept = [code for code in column.codes if code >= 0]
    if column.other not in (None, -1) or kept != list(range(len(kept))):
        raise ArgumentError("infrequent categories of a OneHotEncoder are not supported")
    found: tuple[str | float | None, ...] = tuple(
        value if value is None or isinstance(value, str) else plain_number(value) for value in column.categories
    )
    if any(value is not None and isinstance(value, str) != is_text for value in found):
        raise ArgumentError("it has text categories for a column of numbers, or numeric ones for a column of text")
    return found


_ADDED: Mapping[type, Callable[[Any, FeatureBuilder, GraphColumns], GraphColumns]] = {
    Scaling: _scaled,
    Imputation: _imputed,
    CategoryEncoding: _one_hot,
    SideBySide: _side_by_side,
}
