"""Fitted transformers of scikit-learn as frozen values, with their settings and learned numbers but without code."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from hedgerow.boundary.arrays import Floats
from hedgerow.boundary.plain import (
    Plain,
    are_nan,
    plain_flag,
    plain_list,
    plain_number,
    plain_text,
    plain_values,
    plain_vector,
    plain_whole,
)
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.text.messages import shown

_MOST_NESTED = 20  # levels of pipelines

Names = tuple[str, ...] | None
"""The column names for the first step, empty for a table without names; None for the names that the step stores."""


@dataclass(frozen=True)
class Unread:
    """A step of a type that the caller does not support."""

    name: str  # the name of the type
    has_function: bool = False  # whether the step is a FunctionTransformer with a function


@dataclass(frozen=True)
class Scaling:
    """Arithmetic on numbers with a constant for each column, and optional clipping to bounds."""

    name: str  # the name of the scaler
    width: int  # the number of columns
    changes: tuple[tuple[str, tuple[float, ...]], ...]  # "add", "subtract", "multiply" or "divide", in order
    bounds: tuple[float, float] | None = None
    is_narrow: bool = False  # whether the scaler was fitted in lower precision than float64

    def column(self, place: int, values: Floats) -> Floats:
        """Return the results for values of the column with index `place`."""
        for operation, numbers in self.changes:
            values = _ARITHMETIC[operation](values, numbers[place])
        return values if self.bounds is None else np.clip(values, *self.bounds)


@dataclass(frozen=True)
class Imputation:
    """Replacement of missing values."""

    values: tuple[Plain, ...]  # by column; None if the column had no value when the imputer was fitted


@dataclass(frozen=True)
class CategoryCodes:
    """The codes of the categories of a column."""

    categories: tuple[Plain, ...]  # None for missing values
    codes: tuple[float, ...]  # one-hot: the index of the output column that is 1, or -1
    other: float | None  # the code of other values; None if they raise an error
    width: int | None = None  # one-hot: the number of output columns; None for a single column of codes

    def __post_init__(self) -> None:
        if not self.categories or len(self.categories) != len(self.codes):
            raise ArgumentError("every column needs at least one category, and a code for each category")

    def outputs(self, codes: Sequence[float]) -> Floats:
        """Return the output columns for codes, shape ``(n_codes, width)``."""
        column = np.array(codes)[:, None]
        return column if self.width is None else (column == np.arange(self.width)).astype(np.float64)


@dataclass(frozen=True)
class CategoryEncoding:
    """Encoding of categories as numbers."""

    name: str  # the name of the encoder
    columns: tuple[CategoryCodes, ...]
    is_narrow: bool = False  # whether the codes have lower precision than float64


@dataclass(frozen=True)
class Binning:
    """Encoding of numbers by the indices of intervals."""

    edges: tuple[tuple[float, ...], ...]  # by column: the exclusive upper ends of all intervals except the last
    one_hot: bool  # whether each interval has an output column
    is_single: bool = False  # whether values are rounded to float32 first, and indices are float32

    def column(self, place: int, values: Floats) -> Floats:
        """Return the indices of the intervals for values of the column with index `place`."""
        rounded = values.astype(np.float32) if self.is_single else values
        return np.searchsorted(np.array(self.edges[place]), rounded, side="right").astype(np.float64)


@dataclass(frozen=True)
class SideBySide:
    """Steps on groups of columns, whose results are concatenated."""

    width: int  # the number of columns
    parts: tuple[tuple[tuple[int, ...], "Steps"], ...]  # the column indices and the steps of each group


PipelineStep = Scaling | Imputation | CategoryEncoding | Binning | SideBySide | Unread
Steps = tuple[PipelineStep, ...]
_ARITHMETIC = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}


def flat_steps(step: Any) -> list[Any]:
    """Return the steps of nested pipelines in order, without None and "passthrough"."""
    return _flat(step, _MOST_NESTED)


def _flat(step: Any, most: int) -> list[Any]:
    if type(step) is Pipeline:
        if not most:
            raise _too_nested()
        return [inner for part in _parts(step.steps) for inner in _flat(part[1], most - 1)]
    return [] if step is None or (type(step) is str and step == "passthrough") else [step]


def split_pipeline(model: Any, is_pipeline: Callable[[Any], bool]) -> tuple[list[Any], Any]:
    """Return the steps of nested pipelines before the final model (see `flat_steps`), and the final model."""
    before = list[Any]()
    for _ in range(_MOST_NESTED):
        if not is_pipeline(model):
            return before, model
        *first, last = _parts(model.steps)
        model = last[1]
        before += [inner for part in first for inner in flat_steps(part[1])]
    raise _too_nested()


def _parts(parts: Any) -> list[list[Any]]:
    """Return the named parts of a pipeline or a column transformer."""
    return list(map(plain_list, plain_list(parts)))


def _too_nested() -> ArgumentError:
    return ArgumentError(f"pipelines are nested more than {_MOST_NESTED} levels deep")


def check_fitted(step: Any) -> None:
    """Raise NotFittedError unless a scikit-learn object has learned attributes, without running any of its code."""
    if not any(type(name) is str and name.endswith("_") and not name.startswith("__") for name in vars(step)):
        raise NotFittedError(f"This {type(step).__name__} instance is not fitted yet; call `fit` first.")


def read_steps(steps: Sequence[Any], kinds: Collection[type], names: Names = None, *, is_sparse: bool = False) -> Steps:
    """Return fitted steps as values, without steps that do not change columns.

    Pipelines and column transformers are always supported. `kinds` has the further types that the caller supports,
    without subclasses. Scalers compute differently if the first step takes a sparse array.
    """
    values, before = list[PipelineStep](), list[Any]()
    for step in (inner for outer in steps for inner in flat_steps(outer)):
        for last in before:
            names, is_sparse = None, _gives_sparse(last, is_sparse=is_sparse)
        values += _read(step, kinds, names, is_sparse=is_sparse)
        before = [step]
    return tuple(values)


def _read(step: Any, kinds: Collection[type], names: Names, *, is_sparse: bool) -> Steps:
    kind = type(step)
    if kind is preprocessing.FunctionTransformer and step.func is None:
        return ()
    if kind is not ColumnTransformer and (kind not in kinds or kind not in _READERS):
        return (Unread(kind.__name__, has_function=kind is preprocessing.FunctionTransformer),)
    check_fitted(step)
    if kind is ColumnTransformer:
        return (_side_by_side(step, kinds, names, is_sparse=is_sparse),)
    return (_READERS[kind](step, is_sparse),)


def _gives_sparse(step: Any, *, is_sparse: bool) -> bool:
    kind = type(step)
    if kind is ColumnTransformer:
        return plain_flag(step.sparse_output_)
    if kind is preprocessing.OneHotEncoder:
        return plain_flag(step.sparse_output)
    if kind is preprocessing.KBinsDiscretizer:
        return plain_text(step.encode) == "onehot"
    return is_sparse and kind is not preprocessing.OrdinalEncoder


def _side_by_side(step: Any, kinds: Collection[type], names: Names, *, is_sparse: bool) -> SideBySide:
    weights = step.transformer_weights
    if weights is not None and (type(weights) is not dict or weights):
        raise ArgumentTypeError("a ColumnTransformer with transformer_weights is not supported.")
    width, parts = plain_whole(step.n_features_in_), list[tuple[tuple[int, ...], Steps]]()
    known = _names(step) if names is None else names
    for _, part, which in _parts(step.transformers_):
        if type(part) is str and part == "drop":
            continue
        places = _places(which, known, width)
        if places:  # scikit-learn does not fit a part without columns
            part_names = tuple(names[i] for i in places) if names else names
            parts.append((places, read_steps([part], kinds, part_names, is_sparse=is_sparse)))
    return SideBySide(width, tuple(parts))


def _names(step: Any) -> tuple[str, ...]:
    """Return the names of the columns that a step was fitted on; empty if they had no names."""
    return tuple(map(str, plain_values(vars(step).get("feature_names_in_", np.array([])))))


def _places(which: Any, names: tuple[str, ...], width: int) -> tuple[int, ...]:
    if issubclass(type(which), (str, int, np.integer)):
        raise ArgumentError("a ColumnTransformer selects a column by a scalar; select it by a list such as ['age']")
    if type(which) is slice:
        return tuple(range(width)[_by_number(which, names)])
    kind: Any = next((kind for kind in (np.ndarray, pd.Index, pd.RangeIndex, pd.Series) if type(which) is kind), None)
    columns = plain_list(which) if kind is None else cast("list[Any]", kind.tolist(which))
    kinds = set(map(type, columns))
    if len(columns) == width and kinds <= {bool, np.bool_}:
        return tuple(i for i, is_selected in enumerate(columns) if is_selected)
    if kinds <= {str, np.str_}:
        return tuple(_place(str(name), names) for name in columns)
    if not kinds & {str, np.str_, bool, np.bool_}:
        places = list(map(plain_whole, columns))
        if all(-width <= place < width for place in places):
            return tuple(place % width for place in places)
    raise ArgumentError(f"expected columns selected by name, index or mask, got {shown(columns)}")


def _by_number(which: slice, names: tuple[str, ...]) -> slice:
    start, stop, step = (
        _place(end, names) if type(end) is str else None if end is None else plain_whole(end)
        for end in (which.start, which.stop, which.step)
    )
    return slice(start, stop + 1 if type(which.stop) is str and stop is not None else stop, step)  # as in pandas


def _place(name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        raise ArgumentError(f"it uses the column {shown(name)}, which the table does not have")
    return names.index(name)


_SCALES: Mapping[type, Mapping[str, str]] = {  # the operations of each scaler with the attributes of their numbers
    preprocessing.StandardScaler: {"subtract": "mean_", "divide": "scale_"},
    preprocessing.RobustScaler: {"subtract": "center_", "divide": "scale_"},
    preprocessing.MinMaxScaler: {"multiply": "scale_", "add": "min_"},
    preprocessing.MaxAbsScaler: {"divide": "scale_"},
}


def _scaler(step: Any, is_sparse: bool) -> Scaling:
    width, numbers = plain_whole(step.n_features_in_), dict[str, tuple[float, ...]]()
    for operation, name in _SCALES[type(step)].items():
        values = getattr(step, name)
        if values is None or (name == "mean_" and not plain_flag(step.with_mean)):
            continue
        plain = plain_vector(values, width)
        if is_sparse and operation == "divide":  # scikit-learn multiplies sparse columns by a factor of their own type
            with np.errstate(divide="ignore"):
                operation, plain = "multiply", plain_vector(1 / values, width)
        numbers[operation] = tuple(plain.tolist())
    is_clipped = plain_flag(getattr(step, "clip", False))
    low, high = map(plain_number, plain_list(getattr(step, "feature_range", (-1, 1))))
    learned = [value for value in vars(step).values() if type(value) is np.ndarray]
    is_narrow = any(_is_narrow(value.dtype) for value in learned)
    return Scaling(type(step).__name__, width, tuple(numbers.items()), (low, high) if is_clipped else None, is_narrow)


def _imputer(step: Any, _is_sparse: bool) -> Imputation:
    gap = step.missing_values
    if plain_flag(step.add_indicator) or not (type(gap) in (float, np.float64) and np.isnan(gap)):
        raise ArgumentError("a SimpleImputer needs missing_values=nan and add_indicator=False")
    return Imputation(tuple(plain_values(step.statistics_)))


def _one_hot(step: Any, _is_sparse: bool) -> CategoryEncoding:
    keys = list(map(_keys, plain_list(step.categories_)))
    drops = [None] * len(keys) if step.drop_idx_ is None else plain_values(step.drop_idx_)
    dropped = [-1 if drop is None else int(plain_number(drop)) for drop in drops]
    unknown = plain_text(step.handle_unknown)
    if len(dropped) != len(keys):
        raise ArgumentError("a OneHotEncoder must drop at most one category of each column")
    if any(not -1 <= drop < len(column_keys) for drop, column_keys in zip(dropped, keys, strict=True)):
        raise ArgumentError("a dropped category is not among the categories")
    columns = list[CategoryCodes]()
    for column_keys, group, drop in zip(keys, _infrequent(step), dropped, strict=True):
        codes, rare = _ranks(column_keys, group)
        if drop >= 0:
            gone = codes[drop]
            codes, rare = ([code - (code > gone) if code != gone else -1 for code in part] for part in (codes, rare))
        other = rare[0] if rare and unknown in ("infrequent_if_exist", "warn") else -1
        categories = tuple(value for value, _ in column_keys)
        width = len({*codes} - {-1})
        columns.append(CategoryCodes(categories, tuple(codes), None if unknown == "error" else other, width))
    return CategoryEncoding("OneHotEncoder", tuple(columns))


def _ordinal(step: Any, _is_sparse: bool) -> CategoryEncoding:
    dtype, columns = _dtype(step.dtype), list[CategoryCodes]()
    other = plain_number(step.unknown_value) if plain_text(step.handle_unknown) == "use_encoded_value" else None
    for raw, group in zip(plain_list(step.categories_), _infrequent(step), strict=True):
        keys = _keys(raw)
        ranks, _ = _ranks([key for key in keys if not key[1]], group)  # NaN has its own code
        rank, codes = iter(ranks), np.zeros(len(keys), dtype=dtype)
        for place, (_, is_nan) in enumerate(keys):
            codes[place] = plain_number(step.encoded_missing_value) if is_nan else next(rank)
        plain = tuple(codes.astype(np.float64).tolist())
        columns.append(CategoryCodes(tuple(value for value, _ in keys), plain, other))
    return CategoryEncoding("OrdinalEncoder", tuple(columns), _is_narrow(dtype))


def _infrequent(step: Any) -> list[Any]:
    """Return the infrequent categories of each column of an encoder; None for columns without infrequent categories."""
    categories = plain_list(step.categories_)
    indices = plain_list(vars(step).get("_infrequent_indices", [None] * len(categories)))
    return [
        None if rare is None else values[plain_vector(rare).astype(np.intp)]
        for values, rare in zip(categories, indices, strict=True)
    ]


_Key = tuple[Plain, bool]  # a category (None for a missing value), and whether it is NaN


def _keys(values: Any) -> list[_Key]:
    return list(zip(plain_values(values), are_nan(values), strict=True))


def _ranks(keys: Sequence[_Key], group: Any) -> tuple[list[int], list[int]]:
    """Return the rank of each category, with a shared last rank for infrequent categories, and a list of this rank."""
    rare = set[_Key]() if group is None else set(_keys(group))
    n_frequent = sum(key not in rare for key in keys)
    places = iter(range(n_frequent))
    return [n_frequent if key in rare else next(places) for key in keys], [n_frequent] if rare else []


def _bins(step: Any, _is_sparse: bool) -> Binning:
    edges = tuple(tuple(plain_vector(column)[1:-1].tolist()) for column in _rows(step.bin_edges_))
    is_single = step.dtype is not None and _dtype(step.dtype) == np.float32
    return Binning(edges, plain_text(step.encode) != "ordinal", is_single)


def _rows(values: Any) -> list[Any]:
    """Return the parts of an array of arrays."""
    return list(values) if type(values) is np.ndarray else plain_list(values)


def _dtype(value: Any) -> np.dtype[Any]:
    if type(value) not in (type, str) and not issubclass(type(value), np.dtype):
        raise ArgumentError(f"expected a numeric dtype, got a {type(value).__name__}")
    return np.dtype(value)


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" and dtype.itemsize < 8


_READERS: Mapping[type, Callable[[Any, bool], PipelineStep]] = {
    **dict.fromkeys(_SCALES, _scaler),
    SimpleImputer: _imputer,
    preprocessing.OneHotEncoder: _one_hot,
    preprocessing.OrdinalEncoder: _ordinal,
    preprocessing.KBinsDiscretizer: _bins,
}
"""The readers of transformers by their exact type. Their second argument is whether the input is sparse."""
