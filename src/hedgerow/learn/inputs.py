"""Checks of the rows and labels passed to an estimator; no message of another library passes through."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import validate_data

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.schema.targets import Label
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Labels, Table, check_same_index


class AccuracyMixin(ClassifierMixin):
    """scikit-learn's mixin of classifiers, with a score that pairs no row with the label of another."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict` on rows and labels, as scikit-learn's classifiers do.

        Raises
        ------
        ValueError
            As `fit`, for labels of pandas whose index is not that of their rows.
        """
        check_same_index(X, y)
        return super().score(X, y, sample_weight)


def check_labels(table: Table, labels: Labels, label: Label | None) -> None:
    """Check that labels are one column, as long as the table, of a type that the classes have. No label is read."""
    y = labels.data
    shape = guarded(lambda: _shape(y), ArgumentTypeError(f"y must be one column of labels, got {type(y).__name__}."))
    if len(shape) != 1:
        raise ArgumentError(f"y must be one column of labels, got {len(shape)} dimensions.")
    if shape[0] != len(table):
        raise ArgumentError("y must have as many labels as X has rows.")
    found = None if label is None else labels.type_column(label.name)
    if label is not None and found is not None:
        label.check_type(found)


def _shape(y: Any) -> tuple[int, ...]:
    return tuple(getattr(y, "shape", (len(y),) if hasattr(y, "__len__") else ()))


def validated_table(estimator: Any, X: Any, *, reset: bool = True) -> Table:
    """Return rows as scikit-learn validates them: columns of frames keep their types, arrays become numbers."""
    table = Table.of_frame(X)
    if table is None:
        return Table.of(validate_data(estimator, number_array(X), reset=reset, ensure_all_finite="allow-nan"))
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return table


def number_array(X: Any) -> Any:
    """Return a table that is no frame as an array of numbers: scikit-learn's own errors quote rows."""
    if issparse(X):
        raise ArgumentTypeError("Expected a frame or a dense array, got sparse data; X.toarray() is dense.")
    array = guarded(
        lambda: np.asarray(X), ArgumentTypeError(f"Expected a frame or a 2D array, got {type(X).__name__}.")
    )
    if array.dtype.kind == "c":
        raise ArgumentError("Complex data not supported; give real and imaginary parts as two columns.")
    if array.dtype.kind not in "biuf":
        problem = ArgumentTypeError(
            "Expected an array of numbers: each argument must be a string that spells one, or a number."
        )
        array = guarded(lambda: array.astype(object).astype(np.float64), problem)
    if array.ndim != 2:
        raise ArgumentError(f"Expected a 2D array, got one of {array.ndim} dimensions. Reshape your data.")
    return array


def homogeneous_labels(y: Any, name: str) -> Any:
    """Return labels as an array of numbers, booleans or text: scikit-learn's own errors quote labels."""
    array = guarded(
        lambda: np.asarray(y), ArgumentTypeError(f"y must be one column of labels, got {type(y).__name__}.")
    )
    if array.dtype.kind in "biufU":
        return array
    Column.from_numpy(array.ravel(), name)
    return array.astype(object)
