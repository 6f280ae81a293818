"""Readers of scikit-learn's fitted classifiers and transformers, whose public attributes become a graph."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

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
from sklearn.utils.validation import check_is_fitted

from hedgerow.boundary.arithmetic import LARGEST
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses import operators
from hedgerow.hypotheses.graph import BoundClassifier, Graph, GraphBuilder
from hedgerow.hypotheses.hypothesis import TargetColumns, class_codes
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
    features = [Feature(i, 1, 0, kind == "text") for i, kind in enumerate(columns.kinds)]
    features = _after_each(before, builder, features, names)
    if features is None:
        return None
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


def _check_columns(step: Any, names: "Names", width: int) -> None:
    """Check that the first fitted step was fitted on the target's columns in order, as scikit-learn would."""
    if step is None or isinstance(step, str):
        return
    met = getattr(step, "feature_names_in_", None)
    if names is not None and met is not None and type(step) is not ColumnTransformer and tuple(met) != names:
        raise ArgumentError(f"it was fitted on the columns {', '.join(map(str, met))}")
    fitted = getattr(step, "n_features_in_", width)
    if fitted != width:
        raise ArgumentError(f"it was fitted on {fitted} columns, and there are {width}")


def _scores(made: Sequence[operators.Operator], builder: "FeatureBuilder", features: "Features") -> None:
    """Add the operators of a classifier, whose scores are missing where a step before refuses the row."""
    value, width = builder.matrix(features), len(features)
    for operator in made:
        expected, outputs = width, width
        if isinstance(operator, operators.Affine):
            expected, outputs = operator.weights.shape
        elif isinstance(operator, operators.TreeScores):
            expected, outputs = operator.width, len(operator.base)
        if expected != width:
            raise ArgumentError(f"it takes {expected} columns, and there are {width}")
        value, width = builder.add(operator, (value,), outputs), outputs
    for known in builder.refusals:
        value = builder.elementwise("multiply", width, value, known)


def _linear(fitted: Any) -> list[operators.Operator]:
    _check_binary(fitted)
    flat = getattr(fitted.coef_, "ndim", 0) == 1  # as ridge regression has it
    coef = plain_vector(fitted.coef_) if flat else plain_array(fitted.coef_, (1, -1))[0]
    intercept = fitted.intercept_
    bias = np.array([float(intercept)]) if type(intercept) in (int, float) else plain_vector(intercept, 1)
    return [_decision(coef[:, None], bias)]


def _decision(weights: Floats, bias: Floats) -> operators.Affine:
    """Return scores that are 0 for the first class, and the output for the second."""
    return operators.Affine(np.hstack([np.zeros_like(weights), weights]), np.hstack([np.zeros_like(bias), bias]))


def _network(fitted: Any) -> list[operators.Operator]:
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
    hidden = [operators.Affine(*layer) for layer in zip(weights[:-1], biases[:-1], strict=True)]
    between = [] if activation == "identity" else [operators.Elementwise(activation)]
    return [*(one for layer in hidden for one in (layer, *between)), _decision(weights[-1], biases[-1])]


_ACTIVATIONS = ("identity", "relu", "logistic", "tanh")


def _check_binary(fitted: Any) -> None:
    found = len(plain_values(fitted.classes_))
    if found != 2:
        raise ArgumentError(f"expected a classifier of two classes, got one of {found}")


def _forest(fitted: Any) -> list[operators.Operator]:
    kinds = (DecisionTreeClassifier, ExtraTreeClassifier)
    trees = tuple(_nodes(tree) for tree in fitted.estimators_ if type(tree) in kinds)
    if not trees or len(trees) != len(fitted.estimators_):
        raise ArgumentError("expected decision trees of scikit-learn")
    return _trees(trees)


def _trees(trees: tuple[operators.BinaryTree, ...]) -> list[operators.Operator]:
    """Return the sums of the trees' shares of the classes; scikit-learn compares values of float32."""
    return [operators.Elementwise("single"), operators.TreeScores(trees, (0.0,) * trees[0].shares.shape[1])]


def _nodes(fitted: Any) -> operators.BinaryTree:
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
    return operators.BinaryTree(left, right, feature, threshold, missing_left, shares, width)


CLASSIFIERS: Mapping[type, Callable[[Any], list[operators.Operator]]] = {
    **dict.fromkeys((linear_model.LogisticRegression, linear_model.LogisticRegressionCV), _linear),
    **dict.fromkeys((linear_model.RidgeClassifier, linear_model.RidgeClassifierCV), _linear),
    **dict.fromkeys((linear_model.SGDClassifier, linear_model.Perceptron), _linear),
    **dict.fromkeys((LinearSVC, LinearDiscriminantAnalysis), _linear),
    MLPClassifier: _network,
    **dict.fromkeys((DecisionTreeClassifier, ExtraTreeClassifier), lambda fitted: _trees((_nodes(fitted),))),
    **dict.fromkeys((RandomForestClassifier, ExtraTreesClassifier), _forest),
}
"""The reader of classifiers of exactly this type."""


Names = tuple[str, ...] | None


@dataclass(frozen=True)
class Feature:
    """A column of a value."""

    value: int  # the number of the value
    width: int  # the number of its columns
    place: int  # which of them it is
    is_text: bool = False
    fill: str | None = None  # what replaces its missing text


Features = list[Feature]


class FeatureBuilder(GraphBuilder):
    """Steps of a graph whose inputs are the target's columns, and the rows that steps refuse."""

    def __init__(self, n_inputs: int) -> None:
        super().__init__(n_inputs)
        self.refusals = list[int]()  # values that are 1, or missing where a row has no class

    def elementwise(self, name: str, width: int, *inputs: int) -> int:
        return self.add(operators.Elementwise(name), inputs, width)

    def number(self, values: Sequence[float]) -> int:
        return self.add(operators.Number(np.array([values])), (), len(values))

    def matrix(self, features: Features) -> int:
        parts = list[int]()
        for value, run in groupby(features, key=lambda one: one.value):
            columns = list(run)
            places = tuple(one.place for one in columns)
            whole = places == tuple(range(columns[0].width))
            parts.append(value if whole else self.add(operators.Pick(places), (value,), len(places)))
        return parts[0] if len(parts) == 1 else self.add(operators.Join(), tuple(parts), len(features))


def _columns_of(value: int, width: int) -> Features:
    return [Feature(value, width, place) for place in range(width)]


def features_after(step: Any, builder: FeatureBuilder, features: Features, names: Names) -> Features | None:
    """Add a fitted step; return the features after it, None if its type is not supported."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return features
    if type(step) is Pipeline:
        return _after_each([part for _, part in step.steps], builder, features, names)
    if type(step) is preprocessing.FunctionTransformer:
        if step.func is not None:
            raise ArgumentError("a FunctionTransformer with a function runs code of its own")
        return features
    if type(step) is not ColumnTransformer and type(step) not in _STEPS:
        return None
    check_is_fitted(step)
    if type(step) is ColumnTransformer:
        return _after_parts(step, builder, features, names)
    return _STEPS[type(step)](step, builder, features)


def _after_each(steps: Sequence[Any], builder: FeatureBuilder, features: Features, names: Names) -> Features | None:
    found: Features | None = features
    for step in steps:
        found = features_after(step, builder, found, names)
        if found is None:
            return None
        names = None
    return found


def _after_parts(step: Any, builder: FeatureBuilder, features: Features, names: Names) -> Features | None:
    if step.transformer_weights:
        raise ArgumentError("transformer_weights of a ColumnTransformer are not supported")
    found: Features = []
    for _, part, which in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        places = _places(which, names, int(step.n_features_in_))
        if not places:
            continue  # scikit-learn does not fit a part without columns
        own_names = None if names is None else tuple(names[i] for i in places)
        made = features_after(part, builder, [features[i] for i in places], own_names)
        if made is None:
            return None
        found += made
    return found


def _max_abs(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    if _flag(getattr(step, "clip", False)):
        raise ArgumentError("clip=True is not supported")
    return _scaled(step, builder, features, divide=step.scale_)


def _min_max(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    low, high = map(float, step.feature_range)
    found = _scaled(step, builder, features, multiply=step.scale_, add=step.min_)
    if not _flag(step.clip) or not found:
        return found
    return _columns_of(builder.add(operators.Clip(low, high), (builder.matrix(found),), len(found)), len(found))


def _scaled(step: Any, builder: FeatureBuilder, features: Features, **functions: Any) -> Features:
    """Add functions of each feature and a number, by name; none where there are no numbers."""
    width = int(step.n_features_in_)
    if any(one.is_text for one in features) or len(features) != width:
        raise ArgumentError(f"{width} columns of numbers are scaled, and other columns come")
    given = {name: plain_vector(values, width) for name, values in functions.items() if values is not None}
    if not features:
        return []
    value = builder.matrix(features)
    for name, numbers in given.items():
        if (numbers != (0.0 if name in ("add", "subtract") else 1.0)).any():
            value = builder.elementwise(name, width, value, builder.number(numbers.tolist()))
    return _columns_of(value, width)


def _imputer(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    if _flag(step.add_indicator) or not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise ArgumentError("expected a SimpleImputer of missing_values=nan without add_indicator")
    values = plain_values(step.statistics_)
    if any(value is None for value in values):
        raise ArgumentError("a column had no value when the imputer was fitted")
    if [one.is_text for one in features] != [isinstance(value, str) for value in values]:
        raise ArgumentError("it replaces missing text by a number, or missing numbers by text")
    found = list(features)
    numbers = [value for value in values if isinstance(value, float)]
    if numbers:
        value = builder.matrix([one for one in features if not one.is_text])
        is_gap, filled = builder.elementwise("is missing", len(numbers), value), builder.number(numbers)
        made = iter(_columns_of(builder.elementwise("where", len(numbers), is_gap, filled, value), len(numbers)))
        found = [one if one.is_text else next(made) for one in features]
    for i, word in enumerate(values):
        if isinstance(word, str) and not found[i].fill:
            found[i] = replace(found[i], value=builder.add(operators.FillText(word), (found[i].value,), 1), fill=word)
    return found


def _one_hot(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    if step.min_frequency is not None or step.max_categories is not None:
        raise ArgumentError("infrequent categories of a OneHotEncoder are not supported")
    categories = [plain_values(values) for values in step.categories_]
    given = [None] * len(categories) if step.drop_idx_ is None else plain_values(step.drop_idx_)
    dropped = [-1 if drop is None else int(drop) for drop in given]
    refuse_others = text_setting(step.handle_unknown) == "error"
    _check_categories(features, categories, dropped)
    found: Features = []
    for one, values, drop in zip(features, categories, dropped, strict=True):
        column = one.value if one.is_text else builder.matrix([one])
        value = builder.add(operators.Encode(tuple(values)), (column,), len(values))
        if refuse_others:
            known = builder.add(operators.Total(), (value,), 1)
            builder.refusals.append(builder.elementwise("divide", 1, known, known))
        found += [one for one in _columns_of(value, len(values)) if one.place != drop]
    return found


def _check_categories(features: Features, categories: list[list[str | float | None]], dropped: list[int]) -> None:
    """Check that text has categories of text, numbers have numbers, and what is dropped is one of them."""
    if len(dropped) != len(categories):
        raise ArgumentError("expected one dropped category, or none, for each column")
    if any(not -1 <= drop < len(values) for drop, values in zip(dropped, categories, strict=True)):
        raise ArgumentError("a dropped category is not among the categories")
    if len(features) != len(categories):
        raise ArgumentError(f"it has categories for {len(categories)} columns, and there are {len(features)}")
    if not all(categories):
        raise ArgumentError("expected one category or more for each column")
    for one, values in zip(features, categories, strict=True):
        if any(value is not None and isinstance(value, str) != one.is_text for value in values):
            raise ArgumentError("it has text categories for a column of numbers, or numeric ones for a column of text")


def _places(which: Any, names: Names, width: int) -> tuple[int, ...]:
    if isinstance(which, (str, int, np.integer)):
        raise ArgumentError("a ColumnTransformer selects one column by a scalar; expected a list of columns")
    if isinstance(which, slice) and all(end is None or isinstance(end, int) for end in (which.start, which.stop)):
        return tuple(range(width)[which])
    found = cast("list[Any]", which.tolist() if isinstance(which, np.ndarray) else list(cast("Any", which)))
    if len(found) == width and all(isinstance(one, (bool, np.bool_)) for one in found):
        return tuple(i for i, taken in enumerate(found) if taken)
    if all(isinstance(one, str) for one in found):
        if names is None:
            raise ArgumentError("a ColumnTransformer selects columns by name, and the columns have no names")
        absent = [one for one in found if one not in names]
        if absent:
            raise ArgumentError(f"it uses the column {shown(absent[0])}, which the target does not have")
        return tuple(names.index(one) for one in found)
    if all(isinstance(one, (int, np.integer)) and -width <= one < width for one in found):
        return tuple(int(one) % width for one in found)
    raise ArgumentError(f"expected columns selected by name, index or mask, got {shown(list(found))}")


def plain_array(values: Any, shape: tuple[int, ...]) -> Floats:
    """Return a copy of an array of numbers of this shape as float64; -1 stands for any length."""
    if type(values) is not np.ndarray or values.dtype.kind not in "fiub":
        raise ArgumentError("its parameters are not in NumPy arrays")
    if len(values.shape) != len(shape) or any(b not in (-1, a) for a, b in zip(values.shape, shape, strict=True)):
        raise ArgumentError(f"it has parameters of shape {values.shape} where {shape} is expected")
    found = values.astype(np.float64)
    if not (np.abs(found) <= LARGEST).all():
        raise ArgumentError("some of its parameters are not finite, or too large")
    return found


def plain_vector(values: Any, length: int = -1) -> Floats:
    return plain_array(values, (length,))


def plain_values(values: Any) -> list[str | float | None]:
    """Return what an array holds as text, numbers and None for what is missing."""
    if type(values) is not np.ndarray or values.ndim != 1:
        raise ArgumentError("its values are not in NumPy arrays")
    found: list[str | float | None] = []
    for value in values.tolist():
        if value is None or (isinstance(value, float) and np.isnan(value)):
            found.append(None)
        elif type(value) in (int, float, bool):
            found.append(float(value))
        elif type(value) is str:
            value.encode()  # UnicodeEncodeError is a ValueError: no column holds half of a surrogate pair
            found.append(value)
        else:
            raise ArgumentError(f"it has a value that is neither text nor a number: {shown(value)}")
    return found


def text_setting(value: Any) -> str:
    """Return a setting that is text of exactly the type str, whose comparisons are Python's."""
    if type(value) is not str:
        raise ArgumentError(f"a setting is a {type(value).__name__} where text is expected")
    return value


def _flag(value: Any) -> bool:
    if type(value) not in (bool, int, np.bool_):
        raise ArgumentError(f"a setting is a {type(value).__name__} where True or False is expected")
    return bool(value)


_STEPS: Mapping[type, Callable[[Any, FeatureBuilder, Features], Features]] = {
    preprocessing.StandardScaler: lambda step, builder, features: _scaled(
        step, builder, features, subtract=step.mean_ if _flag(step.with_mean) else None, divide=step.scale_
    ),
    preprocessing.RobustScaler: lambda step, builder, features: _scaled(
        step, builder, features, subtract=step.center_, divide=step.scale_
    ),
    preprocessing.MinMaxScaler: _min_max,
    preprocessing.MaxAbsScaler: _max_abs,
    SimpleImputer: _imputer,
    preprocessing.OneHotEncoder: _one_hot,
}
