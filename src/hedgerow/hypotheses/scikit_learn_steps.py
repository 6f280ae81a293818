"""Readers of scikit-learn's fitted transformers, which become steps of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from hedgerow.boundary.arithmetic import LARGEST, Floats
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.graph import GraphBuilder
from hedgerow.hypotheses.operators import Clip, Elementwise, Encode, FillText, Join, Number, Pick, Total
from hedgerow.text.messages import shown

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
        """Add a function of the numbers in the same place."""
        return self.add(Elementwise(name), inputs, width)

    def number(self, values: Sequence[float]) -> int:
        """Add a constant."""
        return self.add(Number(np.array([values])), (), len(values))

    def matrix(self, features: Features) -> int:
        """Return the number of a value of these features side by side."""
        parts = list[int]()
        for value, run in groupby(features, key=lambda one: one.value):
            columns = list(run)
            places = tuple(one.place for one in columns)
            whole = places == tuple(range(columns[0].width))
            parts.append(value if whole else self.add(Pick(places), (value,), len(places)))
        return parts[0] if len(parts) == 1 else self.add(Join(), tuple(parts), len(features))


def _columns_of(value: int, width: int) -> Features:
    return [Feature(value, width, place) for place in range(width)]


def features_after(step: Any, builder: FeatureBuilder, features: Features, names: Names) -> Features | None:
    """Add a fitted step; return the features after it, None if its type is not supported."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return features
    if type(step) is Pipeline:
        return _after_each(step, builder, features, names)
    if type(step) is FunctionTransformer:
        if step.func is not None:
            raise ArgumentError("a FunctionTransformer with a function runs code of its own")
        return features
    if type(step) is not ColumnTransformer and type(step) not in _STEPS:
        return None
    check_is_fitted(step)
    if type(step) is ColumnTransformer:
        return _after_parts(step, builder, features, names)
    return _STEPS[type(step)](step, builder, features)


def _after_each(step: Any, builder: FeatureBuilder, features: Features, names: Names) -> Features | None:
    found: Features | None = features
    for _, part in step.steps:
        found = features_after(part, builder, found, names)
        if found is None:
            return None
        names = None
    return found


def _after_parts(step: Any, builder: FeatureBuilder, features: Features, names: Names) -> Features | None:
    if step.transformer_weights:
        raise ArgumentError("transformer_weights of a ColumnTransformer are not supported")
    found = Features()
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


def _standard(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    shift = step.mean_ if _flag(step.with_mean) else None
    return _scaled(step, builder, features, subtract=shift, divide=step.scale_)


def _max_abs(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    if _flag(getattr(step, "clip", False)):
        raise ArgumentError("clip=True is not supported")
    return _scaled(step, builder, features, divide=step.scale_)


def _robust(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    return _scaled(step, builder, features, subtract=step.center_, divide=step.scale_)


def _min_max(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    low, high = map(float, step.feature_range)
    found = _scaled(step, builder, features, multiply=step.scale_, add=step.min_)
    if not _flag(step.clip) or not found:
        return found
    return _columns_of(builder.add(Clip(low, high), (builder.matrix(found),), len(found)), len(found))


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
            found[i] = replace(found[i], value=builder.add(FillText(word), (found[i].value,), 1), fill=word)
    return found


def _one_hot(step: Any, builder: FeatureBuilder, features: Features) -> Features:
    if step.min_frequency is not None or step.max_categories is not None:
        raise ArgumentError("infrequent categories of a OneHotEncoder are not supported")
    categories = [plain_values(values) for values in step.categories_]
    given = [None] * len(categories) if step.drop_idx_ is None else plain_values(step.drop_idx_)
    dropped = [-1 if drop is None else int(drop) for drop in given]
    refuse_others = text_setting(step.handle_unknown) == "error"
    _check_categories(features, categories, dropped)
    found = Features()
    for one, values, drop in zip(features, categories, dropped, strict=True):
        column = one.value if one.is_text else builder.matrix([one])
        value = builder.add(Encode(tuple(values)), (column,), len(values))
        if refuse_others:
            known = builder.add(Total(), (value,), 1)
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
    """Return a setting that is True or False."""
    if type(value) not in (bool, int, np.bool_):
        raise ArgumentError(f"a setting is a {type(value).__name__} where True or False is expected")
    return bool(value)


_STEPS: Mapping[type, Callable[[Any, FeatureBuilder, Features], Features]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
    SimpleImputer: _imputer,
    OneHotEncoder: _one_hot,
}
