"""The rows and labels passed to an estimator, and their checks; no message of another library passes through."""

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

_BINS = 5  # of a number whose domain is taken from the data


@dataclass(frozen=True, eq=False, repr=False)
class TrainingData:
    """The rows of a fit with their labels and schema. Of declared schemas and booleans, no value has been looked at."""

    table: Table
    labels: Labels
    schema: Schema
    is_declared: bool = True  # whether somebody wrote the schema; if not, an error about a value says how to

    @classmethod
    def of(cls, specification: Any, X: Any, y: Any, estimator: Any = None) -> Self:
        """Check rows and labels by a learner's parameters; an estimator is told of its columns by scikit-learn."""
        if isinstance(y, str):
            raise ArgumentTypeError(f"y must be the labels, not the name of a column: fit(X, X[{y!r}]).")
        labels, schema = Labels.of(y, X), specification.schema
        if isinstance(schema, str):
            return cls._with_schema_from_rows(specification, X, labels, estimator)
        table, is_declared = Table.of(X), schema is not None
        if schema is None:
            types = table.without_rows()
            if labels.is_text and not all(types.column(name, i).is_text for i, name in enumerate(types.column_names)):
                raise advise(DomainError("", column=labels.name))  # in a file of text, truths are text, too
            schema = boolean_schema(table.column_names, labels)
        check_learnable(specification, schema)
        schema.check_types(table)
        schema.check_unit(table)
        check_labels(table, labels, schema.label)
        return cls(table, labels, schema, is_declared)

    @classmethod
    def _with_schema_from_rows(cls, specification: Any, X: Any, labels: Labels, estimator: Any) -> Self:
        """Validate as scikit-learn does and infer the schema from the rows, which voids any guarantee."""
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
            own: public_attribute(table.column(own, position), _BINS, outside="bin")
            for position, own in enumerate(table.column_names)
            if own != name
        }
        return cls(table, labels, Schema(attributes, target, no_guarantee=(FROM_ROWS,)))

    def count(self, random_state: Any) -> Tally:
        """Count the rows; `random_state` repeats which rows of a unit are counted, for tests."""
        return Tally.of(self.table, self.labels, self.schema, is_declared=self.is_declared, random_state=random_state)


def _label_of(column: Column) -> Label:
    from sklearn.utils.multiclass import check_classification_targets  # takes long to import

    check_classification_targets(column.present())
    classes = public_classes(column)
    if len(classes) < 2:
        raise ArgumentError("y holds one class only; expected two or more.")
    return Label(column.name, classes)


def _number_of(column: Column) -> Number:
    if column.missing is not None:
        raise ArgumentError("y holds missing values; leave these rows out.")
    low, high = float(column.numbers().min()), float(column.numbers().max())
    if not low < high:
        raise ArgumentError("y holds one number only, as 1 sample does; expected two or more.")
    return Number(column.name, low, high)


def check_learnable(specification: Any, schema: Schema) -> None:
    """Check that a schema has a target of a learner's kind, that every number has cut points, and its order."""
    check_kept(specification, schema)
    for problem in learning_problems(schema):
        raise problem
    if not specification.predicts_number:
        schema.classes  # noqa: B018 -- raises for a number
    elif schema.target.as_number is None:
        problem = "expected a number to predict, got a label with classes"
        advice = "use a classifier, or declare `label: {name: ..., low: ..., high: ...}`."
        raise SchemaError(f"{problem}; {advice}", attribute=schema.target.name)


def check_kept(specification: Any, schema: Schema) -> None:
    """Check that a learner keeps the order along attributes, and weighs rows, if the schema declares it."""
    if schema.weight is not None and not specification.takes_weights:
        expected = "is the weight of rows, which only trees and rule lists take: others read sums as counts of rows"
        advice = "Learn a tree or list, or leave `weight` out."
        raise SchemaError(f"{expected}, and would take a weighted row for many. {advice}", attribute=schema.weight.name)
    if schema.weight is not None and getattr(specification, "release_counts", False) not in (False, "auto"):
        problem = "leave release_counts out where rows have weights: sums of weights are no counts of rows"
        raise ArgumentError(f"{problem}. objective='mixed' has probabilities.")
    for name in () if specification.keeps_monotone else schema.monotone:
        problem = "is declared as monotone, which only scorecards keep"
        raise SchemaError(f"{problem}; learn one, or leave `monotone` out.", attribute=name)


def check_labels(table: Table, labels: Labels, label: Target | None) -> None:
    """Check that labels are one column, as long as the table, of a type that the classes have. No label is read."""
    y: Any = labels.data
    shape = guarded(
        lambda: tuple(getattr(y, "shape", (len(y),) if hasattr(y, "__len__") else ())), lambda: _no_column(y)
    )
    if len(shape) != 1:
        raise ArgumentError(f"y must be one column of labels, got {len(shape)} dimensions.")
    if shape[0] != len(table):
        raise ArgumentError("y must have as many labels as X has rows.")
    if label is not None and (found := labels.type_column(label.name)) is not None:
        label.check_type(found)


def _no_column(y: object) -> ArgumentTypeError:
    return ArgumentTypeError(f"y must be one column of labels, got {type(y).__name__}.")


def validated_table(estimator: Any, X: Any, *, reset: bool = True) -> Table:
    """Return rows as scikit-learn validates them: columns of frames keep their types, arrays become numbers."""
    from sklearn.utils.validation import validate_data  # takes long to import

    table = Table.of_frame(X)
    if table is None:
        return Table.of(validate_data(estimator, number_array(X), reset=reset, ensure_all_finite="allow-nan"))
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return table


def number_array(X: Any) -> Any:
    """Return a table that is no frame as an array of numbers: scikit-learn's own errors quote rows."""
    from scipy.sparse import issparse  # takes long to import

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
    array = guarded(lambda: np.asarray(y), lambda: _no_column(y))
    if array.dtype.kind in "biufU":
        return array
    Column.from_numpy(array.ravel(), name)
    return array.astype(object)
