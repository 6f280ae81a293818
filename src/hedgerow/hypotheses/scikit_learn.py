"""Readers of fitted classifiers and pipelines of scikit-learn, whose public attributes become a graph."""

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
"""The supported types of steps before a classifier."""


def read_pipeline(fitted: Any, columns: TargetColumns, classes: Sequence[Any]) -> BoundClassifier | None:
    """Return a fitted classifier or pipeline as a graph, or None if a type is not supported."""
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
    if any(column.is_text for column in features):
        raise ArgumentError("it expects numbers, but some columns are text")
    if not features:
        raise ArgumentError("it has no columns; expected a classifier with one or more columns")
    _scores(CLASSIFIERS[type(classifier)](classifier), builder, features)
    kinds = tuple("text" if kind == "text" else "double" for kind in columns.kinds)
    graph = Graph(tuple((i,) for i in range(len(kinds))), kinds, tuple(builder.steps))
    return BoundClassifier(graph, class_codes(plain_values(classifier.classes_), classes))


def _unread(steps: Steps) -> bool:
    """Return True if the type of a step is not supported."""
    for step in steps:
        if isinstance(step, Unread):
            if step.has_function:
                raise ArgumentError("a FunctionTransformer with a function runs its own code")
            return True
        if isinstance(step, SideBySide) and any(_unread(part) for _, part in step.parts):
            return True
    return False


def _check_columns(step: Any, names: tuple[str, ...] | None, width: int) -> None:
    """Raise ArgumentError unless the first step was fitted on the target's columns in order, as scikit-learn would."""
    if step is None or type(step) is str:
        return
    attributes = vars(step)
    if names is not None and "feature_names_in_" in attributes and type(step) is not ColumnTransformer:
        fitted_names = tuple(map(str, plain_values(attributes["feature_names_in_"])))
        if fitted_names != names:
            raise ArgumentError(f"it was fitted on the columns {', '.join(fitted_names)}")
    fitted = plain_whole(attributes.get("n_features_in_", width))
    if fitted != width:
        raise ArgumentError(f"it was fitted on {fitted} columns, but there are {width}")


def _scores(operators: Sequence[Operator], builder: "FeatureBuilder", features: "GraphColumns") -> None:
    """Add the operators of a classifier. Its scores are missing for rows that an earlier step rejects."""
    value, width = builder.matrix(features), len(features)
    for operator in operators:
        expected, outputs = width, width
        if isinstance(operator, Affine):
            expected, outputs = operator.weights.shape
        elif isinstance(operator, TreeScores):
            expected, outputs = operator.width, len(operator.base)
        if expected != width:
            raise ArgumentError(f"it expects {expected} columns, got {width}")
        value, width = builder.add(operator, (value,), outputs), outputs
    for accepted in builder.accepted:
        value = builder.elementwise("multiply", width, value, accepted)


def _linear(fitted: Any) -> list[Operator]:
    _check_binary(fitted)
    is_flat = type(fitted.coef_) is np.ndarray and fitted.coef_.ndim == 1  # for ridge regression
    coef = plain_vector(fitted.coef_) if is_flat else plain_array(fitted.coef_, (1, -1))[0]
    intercept = fitted.intercept_
    bias = np.array([float(intercept)]) if type(intercept) in (int, float) else plain_vector(intercept, 1)
    return [_decision(coef[:, None], bias)]


def _decision(weights: Floats, bias: Floats) -> Affine:
    """Return the layer with score 0 for the first class and the output as the score of the second class."""
    return Affine(np.hstack([np.zeros_like(weights), weights]), np.hstack([np.zeros_like(bias), bias]))


def _network(fitted: Any) -> list[Operator]:
    _check_binary(fitted)
    if plain_text(fitted.out_activation_) != "logistic":
        raise ArgumentError("expected a network with a single output for two classes")
    weights = [plain_array(part, (-1, -1)) for part in plain_list(fitted.coefs_)]
    biases = [plain_vector(part) for part in plain_list(fitted.intercepts_)]
    ends = [*(len(part) for part in weights[1:]), 1]
    if [part.shape[1] for part in weights] != ends or [len(part) for part in biases] != ends:
        raise ArgumentError("the shapes of the layers do not match, or there is more than one output for two classes")
    activation = plain_text(fitted.activation)
    if activation not in _ACTIVATIONS:
        raise ArgumentError(f"activation must be one of {', '.join(_ACTIVATIONS)}, got {shown(activation)}")
    hidden = [Affine(*layer) for layer in zip(weights[:-1], biases[:-1], strict=True)]
    between = [] if activation == "identity" else [Elementwise(activation)]
    layers = [operator for layer in hidden for operator in (layer, *between)]
    return [*layers, _decision(weights[-1], biases[-1])]


_ACTIVATIONS = ("identity", "relu", "logistic", "tanh")


def _check_binary(fitted: Any) -> None:
    n_classes = len(plain_values(fitted.classes_))
    if n_classes != 2:
        raise ArgumentError(f"expected a classifier with two classes, got {n_classes}")


def _forest(fitted: Any) -> list[Operator]:
    kinds = (DecisionTreeClassifier, ExtraTreeClassifier)
    estimators = plain_list(fitted.estimators_)
    trees = tuple(_nodes(tree) for tree in estimators if type(tree) in kinds)
    if not trees or len(trees) != len(estimators):
        raise ArgumentError("the forest must consist of decision trees of scikit-learn")
    return _trees(trees)


def _trees(trees: tuple[BinaryTree, ...]) -> list[Operator]:
    """Return the operators that sum the class shares of trees. scikit-learn compares float32 values."""
    return [Elementwise("single"), TreeScores(trees, (0.0,) * trees[0].shares.shape[1])]


def _nodes(fitted: Any) -> BinaryTree:
    tree = fitted.tree_
    if type(tree) is not Tree:
        raise ArgumentError("expected a decision tree of scikit-learn")
    size, classes, width = int(tree.node_count), len(plain_values(fitted.classes_)), plain_whole(fitted.n_features_in_)
    left, right, feature = (
        plain_vector(part, size).astype(np.int64) for part in (tree.children_left, tree.children_right, tree.feature)
    )
    threshold = np.where(
        np.isposinf(tree.threshold), LARGEST, tree.threshold
    )  # infinite if only missing values go right
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
"""The readers of classifiers by their exact type."""


@dataclass(frozen=True)
class GraphColumn:
    """A column of a value of a graph."""

    value: int  # the number of the value
    width: int  # the number of columns of the value
    place: int  # the index of the column
    is_text: bool = False
    fill: str | None = None  # the replacement of missing text


GraphColumns = list[GraphColumn]


class FeatureBuilder(GraphBuilder):
    """A builder of a graph with the target's columns as inputs, and a record of the rows that steps reject."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__(n_inputs)
        self.accepted = list[int]()  # values that are 1, or missing for rows without a class

    def elementwise(self, name: str, width: int, *inputs: int) -> int:
        return self.add(Elementwise(name), inputs, width)

    def number(self, values: Sequence[float]) -> int:
        return self.add(ConstantRow(np.array([values])), (), len(values))

    def matrix(self, features: GraphColumns) -> int:
        parts = list[int]()
        for value, run in groupby(features, key=lambda column: column.value):
            columns = list(run)
            places = tuple(column.place for column in columns)
            whole = places == tuple(range(columns[0].width))
            parts.append(value if whole else self.add(Pick(places), (value,), len(places)))
        return parts[0] if len(parts) == 1 else self.add(Rowwise("join"), tuple(parts), len(features))


def _columns_of(value: int, width: int) -> GraphColumns:
    return [GraphColumn(value, width, place) for place in range(width)]


def _after(steps: Steps, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    """Add steps and return the columns after them."""
    for step in steps:
        features = _ADDED[type(step)](step, builder, features)
    return features


def _side_by_side(step: SideBySide, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    if len(features) != step.width:
        raise ArgumentError(f"a ColumnTransformer expects {step.width} columns, got {len(features)}")
    columns = GraphColumns()
    for places, steps in step.parts:
        columns += _after(steps, builder, [features[i] for i in places])
    return columns


def _scaled(step: Scaling, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    width = step.width
    if any(column.is_text for column in features) or len(features) != width:
        given = "text columns" if len(features) == width else f"{len(features)} columns"
        raise ArgumentError(f"a scaler expects {width} columns of numbers, got {given}")
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
    if [column.is_text for column in features] != [isinstance(value, str) for value in step.values]:
        raise ArgumentError("it replaces missing text by a number, or missing numbers by text")
    columns = list(features)
    numbers = [plain_number(value) for value in step.values if not isinstance(value, str)]
    if numbers:
        value = builder.matrix([column for column in features if not column.is_text])
        is_gap, fill = builder.elementwise("is missing", len(numbers), value), builder.number(numbers)
        imputed = iter(_columns_of(builder.elementwise("where", len(numbers), is_gap, fill, value), len(numbers)))
        columns = [column if column.is_text else next(imputed) for column in features]
    for i, word in enumerate(step.values):
        if isinstance(word, str) and not columns[i].fill:
            columns[i] = replace(columns[i], value=builder.add(FillText(word), (columns[i].value,), 1), fill=word)
    return columns


def _one_hot(step: CategoryEncoding, builder: FeatureBuilder, features: GraphColumns) -> GraphColumns:
    if len(features) != len(step.columns):
        raise ArgumentError(f"it has categories for {len(step.columns)} columns, but there are {len(features)}")
    columns = GraphColumns()
    for feature, encoding in zip(features, step.columns, strict=True):
        categories, codes = _categories(encoding, is_text=feature.is_text), encoding.codes
        cells = feature.value if feature.is_text else builder.matrix([feature])
        value = builder.add(Encode(categories), (cells,), len(codes))
        if encoding.other is None:
            is_known = builder.add(Rowwise("sum"), (value,), 1)
            builder.accepted.append(builder.elementwise("divide", 1, is_known, is_known))
        indicators = zip(_columns_of(value, len(codes)), codes, strict=True)
        columns += [column for column, code in indicators if code >= 0]
    return columns


def _categories(encoding: CategoryCodes, *, is_text: bool) -> tuple[str | float | None, ...]:
    """Return categories as text for text columns, and as numbers for numeric columns."""
    codes = [code for code in encoding.codes if code >= 0]
    if encoding.other not in (None, -1) or codes != list(range(len(codes))):
        raise ArgumentError("infrequent categories of a OneHotEncoder are not supported")
    categories: tuple[str | float | None, ...] = tuple(
        value if value is None or isinstance(value, str) else plain_number(value) for value in encoding.categories
    )
    if any(value is not None and isinstance(value, str) != is_text for value in categories):
        raise ArgumentError("it has text categories for a numeric column, or numeric categories for a text column")
    return categories


_ADDED: Mapping[type, Callable[[Any, FeatureBuilder, GraphColumns], GraphColumns]] = {
    Scaling: _scaled,
    Imputation: _imputed,
    CategoryEncoding: _one_hot,
    SideBySide: _side_by_side,
}
