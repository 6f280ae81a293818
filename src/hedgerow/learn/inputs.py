"""Checks of the rows and labels passed to an estimator, without messages of other libraries."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError, SchemaError
from hedgerow.schema.booleans import advise, boolean_schema, learning_problems
from hedgerow.schema.from_public import public_attribute, public_classes
from hedgerow.schema.schema import FROM_ROWS, Schema
from hedgerow.schema.targets import Label, Number, Target
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Labels, Table
from hedgerow.tally import Tally

_BINS = 5  # of a number whose domain is inferred from the rows


@dataclass(frozen=True, eq=False, repr=False)
class TrainingData:
    """Training rows with labels and schema. Unless the schema is inferred, no value has been read yet."""

    table: Table
    labels: Labels
    schema: Schema
    is_declared: bool = True  # if not, errors about values explain how to declare a schema

    @classmethod
    def of(cls, specification: Any, X: Any, y: Any, estimator: Any = None) -> Self:
        """Return checked rows and labels; if the schema is inferred, scikit-learn sets attributes of the estimator."""
        if isinstance(y, str):
            raise ArgumentTypeError(f"y must be the labels, not the name of a column; use fit(X, X[{y!r}]).")
        labels, schema = Labels.of(y, X), specification.schema
        if isinstance(schema, str):
            return cls._with_schema_from_rows(specification, X, labels, estimator)
        table, is_declared = Table.of(X), schema is not None
        if schema is None:
            types = table.without_rows()
            if labels.is_text and not all(types.column(name, i).is_text for i, name in enumerate(types.column_names)):
                raise advise(DomainError("", column=labels.name))  # if all columns are text, Booleans may be text too
            schema = boolean_schema(table.column_names, labels)
        check_learnable(specification, schema)
        schema.check_types(table)
        schema.check_unit(table)
        check_labels(table, labels, schema.label)
        return cls(table, labels, schema, is_declared)

    @classmethod
    def _with_schema_from_rows(cls, specification: Any, X: Any, labels: Labels, estimator: Any) -> Self:
        """Validate as scikit-learn does, and infer the schema from the rows, which voids any guarantee."""
        from sklearn.base import BaseEstimator  # takes long to import
        from sklearn.utils.validation import validate_data

        estimator = BaseEstimator() if estimator is None else estimator
        if labels.data is None:
            raise ArgumentError("This estimator requires y to be passed, but the target y is None.")
        name, table = labels.name, Table.of_frame(X)
        if table is None:
            rows, y = number_array(X), homogeneous_labels(labels.data, name)
            rows, y = validate_data(estimator, rows, y, ensure_all_finite="allow-nan")
            table, labels = Table.of(rows), Labels.of(y)
        else:
            validate_data(estimator, X, skip_check_array=True)
        target = (_number_of if specification.predicts_number else _label_of)(labels.column(name))
        attributes = {
            column: public_attribute(table.column(column, position), _BINS, outside="bin")
            for position, column in enumerate(table.column_names)
            if column != name
        }
        return cls(table, labels, Schema(attributes, target, no_guarantee=(FROM_ROWS,)))

    def count(self, random_state: Any) -> Tally:
        """Count the rows; in tests, `random_state` seeds which rows of a unit are counted."""
        return Tally.of(self.table, self.labels, self.schema, is_declared=self.is_declared, random_state=random_state)


def _label_of(column: Column) -> Label:
    from sklearn.utils.multiclass import check_classification_targets  # takes long to import

    check_classification_targets(column.present())
    classes = public_classes(column)
    if len(classes) < 2:
        raise ArgumentError("y has one class only; expected at least two.")
    return Label(column.name, classes)


def _number_of(column: Column) -> Number:
    if column.missing is not None:
        raise ArgumentError("y has missing values; remove these rows.")
    low, high = float(column.numbers().min()), float(column.numbers().max())
    if not low < high:
        raise ArgumentError("y has one distinct number only, as 1 sample does; expected at least two.")
    return Number(column.name, low, high)


def check_learnable(specification: Any, schema: Schema) -> None:
    """Check that the learner supports the schema's target, orders and weights, and that numbers have cut points."""
    check_kept(specification, schema)
    for problem in learning_problems(schema):
        raise problem
    if not specification.predicts_number:
        schema.classes  # noqa: B018 -- raises for a number
    elif schema.target.as_number is None:
        problem = "the label has classes, but a regressor predicts a number"
        advice = "use a classifier, or declare `label: {name: ..., low: ..., high: ...}`."
        raise SchemaError(f"{problem}; {advice}", attribute=schema.target.name)


def check_kept(specification: Any, schema: Schema) -> None:
    """Check that the learner supports monotone attributes and row weights, if the schema declares them."""
    if schema.weight is not None and not specification.takes_weights:
        problem = "is the weight of rows, which only trees and rule lists support"
        advice = "learn a tree or rule list, or remove `weight` from the schema."
        raise SchemaError(f"{problem}; {advice}", attribute=schema.weight.name)
    if schema.weight is not None and getattr(specification, "release_counts", False) not in (False, "auto"):
        problem = "release_counts is not supported if rows have weights, because sums of weights are not counts"
        raise ArgumentError(f"{problem}; remove it, or use objective='mixed' for class probabilities.")
    for name in () if specification.keeps_monotone else schema.monotone:
        problem = "is declared as monotone, which only scorecards support"
        raise SchemaError(f"{problem}; learn a scorecard, or remove `monotone`.", attribute=name)


def check_labels(table: Table, labels: Labels, label: Target | None) -> None:
    """Check the shape, length and type of the labels. No label is read."""
    y: Any = labels.data
    if y is None:
        raise ArgumentError("y must be a column of labels, got None; fit requires y to be passed.")
    shape = guarded(
        lambda: tuple(getattr(y, "shape", (len(y),) if hasattr(y, "__len__") else ())), lambda: _no_column(y)
    )
    if len(shape) != 1:
        raise ArgumentError(f"y must be a single column of labels, got {len(shape)} dimensions.")
    if shape[0] != len(table):
        raise ArgumentError("y must have the same number of labels as X has rows.")
    if label is not None and (column := labels.type_column(label.name)) is not None:
        label.check_type(column)


def _no_column(y: object) -> ArgumentTypeError:
    return ArgumentTypeError(f"y must be a single column of labels, got {type(y).__name__}.")


def validated_table(estimator: Any, X: Any, *, reset: bool = True) -> Table:
    """Return rows validated by scikit-learn; columns of frames keep their types, arrays become numeric."""
    from sklearn.utils.validation import validate_data  # takes long to import

    table = Table.of_frame(X)
    if table is None:
        return Table.of(validate_data(estimator, number_array(X), reset=reset, ensure_all_finite="allow-nan"))
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return table


def number_array(X: Any) -> Any:
    """Return an array-like table as an array of numbers; scikit-learn's own errors would quote rows."""
    from scipy.sparse import issparse  # takes long to import

    if issparse(X):
        raise ArgumentTypeError("X must be a frame or a dense array, got sparse data; use X.toarray().")
    array = guarded(
        lambda: np.asarray(X), ArgumentTypeError(f"X must be a frame or a 2D array, got {type(X).__name__}.")
    )
    if array.dtype.kind == "c":
        raise ArgumentError("Complex data not supported; use two columns for the real and imaginary parts.")
    if array.dtype.kind not in "biuf":
        problem = ArgumentTypeError(
            "X must be an array of numbers: each argument must be a string that spells a number, or a number."
        )
        array = guarded(lambda: array.astype(object).astype(np.float64), problem)
    if array.ndim != 2:
        raise ArgumentError(f"Expected a 2D array, got {array.ndim} dimensions. Reshape your data.")
    return array


def homogeneous_labels(y: Any, name: str) -> Any:
    """Return labels as an array of numbers, Booleans or text; scikit-learn's own errors would quote labels."""
    array = guarded(lambda: np.asarray(y), lambda: _no_column(y))
    if array.dtype.kind in "biufU":
        return array
    Column.from_numpy(array.ravel(), name)
    return array.astype(object)
