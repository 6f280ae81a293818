"""Readers of scikit-learn's fitted objects, whose public attributes become plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
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
from sklearn.utils.validation import check_is_fitted

from hedgerow.boundary.arithmetic import LARGEST, Floats
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.classifiers import BinaryTree, Forest, Network, Scored
from hedgerow.hypotheses.features import Chain, Fill, OneHot, ParallelSteps, RowTransformer, Scale
from hedgerow.text.messages import shown

Names = tuple[str, ...] | None


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
    """Return a copy of a vector of finite numbers; see `plain_array`."""
    return plain_array(values, (length,))


def _linear(fitted: Any) -> Network:
    _check_binary(fitted)
    flat = getattr(fitted.coef_, "ndim", 0) == 1  # as ridge regression has it
    coef = plain_vector(fitted.coef_) if flat else plain_array(fitted.coef_, (1, -1))[0]
    intercept = fitted.intercept_
    bias = np.array([float(intercept)]) if type(intercept) in (int, float) else plain_vector(intercept, 1)
    return Network((coef[:, None],), (bias,))


def _network(fitted: Any) -> Network:
    _check_binary(fitted)
    if _word(fitted.out_activation_) != "logistic":
        raise ArgumentError("expected one output for two classes")
    weights = tuple(plain_array(part, (-1, -1)) for part in fitted.coefs_)
    return Network(weights, tuple(map(plain_vector, fitted.intercepts_)), _word(fitted.activation))


def _check_binary(fitted: Any) -> None:
    found = len(plain_values(fitted.classes_))
    if found != 2:
        raise ArgumentError(f"expected a classifier of two classes, got one of {found}")


def _tree(fitted: Any) -> Forest:
    return Forest((_nodes(fitted),))


def _forest(fitted: Any) -> Forest:
    trees = tuple(
        _nodes(tree) for tree in fitted.estimators_ if type(tree) in (DecisionTreeClassifier, ExtraTreeClassifier)
    )
    if len(trees) != len(fitted.estimators_):
        raise ArgumentError("expected decision trees of scikit-learn")
    return Forest(trees)


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
    return BinaryTree(
        left,
        right,
        feature,
        threshold,
        plain_vector(tree.missing_go_to_left, size) > 0,
        shares / np.where(totals > 0, totals, 1.0),
        width,
    )


CLASSIFIERS: Mapping[type, Callable[[Any], Scored]] = {
    **dict.fromkeys(
        (
            LogisticRegression,
            LogisticRegressionCV,
            RidgeClassifier,
            RidgeClassifierCV,
            SGDClassifier,
            Perceptron,
            LinearSVC,
            LinearDiscriminantAnalysis,
        ),
        _linear,
    ),
    MLPClassifier: _network,
    DecisionTreeClassifier: _tree,
    ExtraTreeClassifier: _tree,
    RandomForestClassifier: _forest,
    ExtraTreesClassifier: _forest,
}
"""The reader of classifiers of exactly this type."""


def read_step(step: Any, names: Names) -> RowTransformer | None:
    """Return a fitted step as a transformer of features, None if its type is not supported."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return Chain(())
    if type(step) not in _STEPS:
        return None
    if type(step) not in (Pipeline, FunctionTransformer):
        check_is_fitted(step)
    return _STEPS[type(step)](step, names)


def _pipeline(step: Any, names: Names) -> RowTransformer | None:
    read = list[RowTransformer]()
    for _, part in step.steps:
        made = read_step(part, names)
        if made is None:
            return None
        read.append(made)
        names = None
    return Chain(tuple(read))


def _identity(step: Any, names: Names) -> RowTransformer:  # noqa: ARG001 -- of any columns
    if step.func is not None:
        raise ArgumentError("a FunctionTransformer with a function runs code of its own")
    return Chain(())


def _standard(step: Any, names: Names) -> RowTransformer:  # noqa: ARG001
    with_mean = _flag(step.with_mean)
    return _scale(int(step.n_features_in_), shift=step.mean_ if with_mean else None, divisor=step.scale_)


def _max_abs(step: Any, names: Names) -> RowTransformer:  # noqa: ARG001
    _check_no_clip(step)
    return _scale(int(step.n_features_in_), divisor=step.scale_)


def _robust(step: Any, names: Names) -> RowTransformer:  # noqa: ARG001
    return _scale(int(step.n_features_in_), shift=step.center_, divisor=step.scale_)


def _min_max(step: Any, names: Names) -> RowTransformer:  # noqa: ARG001
    low, high = map(float, step.feature_range)
    bounds = (low, high) if _flag(step.clip) else (-np.inf, np.inf)
    return _scale(int(step.n_features_in_), factor=step.scale_, offset=step.min_, bounds=bounds)


def _check_no_clip(step: Any) -> None:
    if _flag(getattr(step, "clip", False)):
        raise ArgumentError("clip=True is not supported")


def _scale(
    width: int,
    *,
    shift: Any = None,
    divisor: Any = None,
    factor: Any = None,
    offset: Any = None,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Scale:
    def numbers(values: Any, default: float) -> tuple[float, ...]:
        return (default,) * width if values is None else tuple(plain_vector(values, width).tolist())

    return Scale(numbers(shift, 0.0), numbers(divisor, 1.0), numbers(factor, 1.0), numbers(offset, 0.0), bounds)


def _imputer(step: Any, names: Names) -> RowTransformer:  # noqa: ARG001
    if _flag(step.add_indicator) or not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise ArgumentError("expected a SimpleImputer of missing_values=nan without add_indicator")
    values = plain_values(step.statistics_)
    if any(value is None for value in values):
        raise ArgumentError("a column had no value when the imputer was fitted")
    return Fill(tuple(value for value in values if value is not None))


def _one_hot(step: Any, names: Names) -> RowTransformer:  # noqa: ARG001
    if step.min_frequency is not None or step.max_categories is not None:
        raise ArgumentError("infrequent categories of a OneHotEncoder are not supported")
    categories = tuple(tuple(plain_values(values)) for values in step.categories_)
    dropped = [None] * len(categories) if step.drop_idx_ is None else plain_values(step.drop_idx_)
    unknown = _word(step.handle_unknown)
    return OneHot(categories, tuple(-1 if drop is None else int(drop) for drop in dropped), unknown == "error")


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


def _word(value: Any) -> str:
    """Return a setting that is text of exactly the type str, whose comparisons are Python's."""
    if type(value) is not str:
        raise ArgumentError(f"a setting is a {type(value).__name__} where text is expected")
    return value


def _flag(value: Any) -> bool:
    """Return a setting that is True or False."""
    if type(value) not in (bool, int, np.bool_):
        raise ArgumentError(f"a setting is a {type(value).__name__} where True or False is expected")
    return bool(value)


def _columns(step: Any, names: Names) -> RowTransformer | None:
    if step.transformer_weights:
        raise ArgumentError("transformer_weights of a ColumnTransformer are not supported")
    parts, width = list[tuple[tuple[int, ...], RowTransformer]](), int(step.n_features_in_)
    for _, part, which in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        numbers = _places(which, names, width)
        if not numbers:
            continue  # scikit-learn does not fit a part without columns
        made = read_step(part, None if names is None else tuple(names[i] for i in numbers))
        if made is None:
            return None
        parts.append((numbers, made))
    return ParallelSteps(tuple(parts))


def _places(which: Any, names: Names, width: int) -> tuple[int, ...]:
    """Return the indices of the columns that a part of a ColumnTransformer selects."""
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


_STEPS: Mapping[type, Callable[[Any, Names], RowTransformer | None]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _columns,
    FunctionTransformer: _identity,
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
    SimpleImputer: _imputer,
    OneHotEncoder: _one_hot,
}
