"""Rows with their labels, from which audits draw subsets. Private: nothing here is released."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, is_regressor

from hedgerow.boundary.arrays import Array, Index, Whole
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.models.released import released_model
from hedgerow.schema.contributions import identifiers
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Label
from hedgerow.tables.frames import Labels, Table, check_same_index, column_of
from hedgerow.tally import Tally
from hedgerow.text.values import quoted_text

NO_CLASSES = "expected a model of classes, got one of a number"
"""The beginning of errors about what is measured by class."""


@dataclass(frozen=True, repr=False, eq=False)
class LabelledRows:
    """A table with its labels, checked to belong together; `values` are the labels as an array, ``(n_rows,)``."""

    table: Table
    labels: Any
    values: Array

    @classmethod
    def of(cls, X: Any, y: Any) -> Self:
        """Check that a table and labels belong together; raises TypeError, ValueError, or `DomainError` for labels."""
        if isinstance(y, str):
            raise ArgumentTypeError(f"expected labels as y, got the name of a column; pass X[{y!r}].")
        table, values = Table.of(X), label_values(y)
        check_same_index(X, y)
        if len(values) != len(table):
            raise ArgumentError("expected as many labels in y as rows in X, got another number.")
        return cls(table, y, values)

    @classmethod
    def of_pair(cls, name: str, given: Any) -> Self:
        """Check that an argument of this name is a pair of a table and labels that belong together."""
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise ArgumentTypeError(f"{name} must be a pair of rows and labels, (X, y), got {type(given).__name__}.")
        return cls.of(*given)

    def typed(self, schema: Any) -> Self:
        """Return the rows with labels as the classes of a schema, if it has any: "1" can be the class 1."""
        label = schema.label if isinstance(schema, Schema) else None
        if not isinstance(label, Label):
            return self
        column = column_of(self.labels, label.name)
        label.check_type(column)
        return replace(self, values=label.typed(column))

    def __len__(self) -> int:
        return len(self.table)

    def X(self, index: Index) -> Any:  # noqa: N802 -- the name of the field for a table
        """Return these rows of the table, in its own type of frame or array."""
        return _take(self.table.data, index)

    def y(self, index: Index) -> Any:
        """Return the labels of these rows, in their own type of series or array."""
        return _take(nw.from_native(self.labels, series_only=True, pass_through=True), index)

    def mixed(self, index: Index, sources: Mapping[str, Index], schema: Schema) -> Any:
        """Return these rows with some attributes taken from other rows: those of `sources`, shape ``(len(index),)``."""
        data = self.table.data
        if self.table.names is None:
            changed = data[index].copy()
            for name, source in sources.items():
                column = schema.names.index(name)
                changed[:, column] = data[source, column]
            return changed
        columns = {column: rows for name, rows in sources.items() for column in schema.columns([name])}
        return guarded(
            lambda: data[index].with_columns(*(data[name][rows] for name, rows in columns.items())).to_native(),
            ArgumentTypeError("expected a table that can be indexed by rows, got another one."),
        )


def predicts_numbers(model: Any) -> bool:
    """Return whether a model, or an estimator, is one of a number: hedgerow's, or a regressor of scikit-learn."""
    released = released_model(model)
    if released is not None:
        return released.schema.label is not None and released.schema.target.as_number is not None
    return isinstance(model, BaseEstimator) and is_regressor(model)


def label_values(y: Any) -> Array:
    """Return labels as an array; text is stripped."""
    given = Labels.of(y)
    column = given.column(given.name)
    if column.missing is not None and column.missing.any():
        raise DomainError("some labels are missing; leave these rows out.", column=column.name)
    return column.present()


def distinct(values: Array) -> tuple[list[Any], Index]:
    """Return the different values in order, and the index of each value among them."""
    problem = ArgumentTypeError("expected values of one type, got a mixture without an order.")
    found, numbers = guarded(lambda: np.unique(values, return_inverse=True), problem)
    return found.tolist(), numbers


def declared_unit(schema: Schema | None) -> str | None:
    """Return the column of units that a schema declares; None without a schema, or a unit in it."""
    return None if schema is None or schema.unit is None else schema.unit.column


def counted_nouns(unit: str | None) -> tuple[str, str]:
    """Return what is counted in words, singular and plural: the units of a column, or rows if it is None."""
    if unit is None:
        return "row", "rows"
    return f"unit ({quoted_text(unit)})", f"units ({quoted_text(unit)})"


def unit_numbers(schema: Schema | None, X: Any, column: str | None = None) -> Index | None:
    """Return the number of the unit of each row; None if the table does not have the unit's column.

    `column` is the column of units; by default, the column that the schema declares.
    """
    name = column or declared_unit(schema)
    if name is None or isinstance(X, Tally) or name not in ((table := Table.of(X)).names or ()):
        return None
    values = identifiers(name, table)
    return distinct(values.words() if values.is_text else values.values)[1]


def once_a_unit(schema: Schema | None, X: Any, *keys: Index, column: str | None = None) -> tuple[Index, ...] | None:
    """Return each combination of the rows' keys once a unit; None where the table does not have the unit's column."""
    units = unit_numbers(schema, X, column)
    return None if units is None else tuple(np.unique(np.column_stack([*keys, units]), axis=0).T[:-1])


@dataclass(frozen=True)
class Clusters:
    """The rows that are not independent of each other: those of one unit."""

    numbers: Index | None  # the unit of each row; None if rows are independent, or the table lacks the unit's column
    most: int = 1  # rows that one unit may have if the table does not say which

    @classmethod
    def of(cls, schema: Schema | None, X: Any, column: str | None = None, rows: int = 1) -> Self:
        """Return the units of rows, by a column or else by the unit of the schema.

        Without the column, a unit may have as many rows as the schema counts of it, or `rows` if that is more.
        """
        unit, numbers = None if schema is None else schema.unit, unit_numbers(schema, X, column)
        return cls(numbers, 1 if numbers is not None else max(rows, 1 if unit is None else unit.max_rows))

    def inside(self, rows: Any) -> "Clusters":
        return Clusters(None if self.numbers is None else self.numbers[rows], self.most)

    def kinds(self, values: Whole) -> Counter[tuple[int, ...]]:
        """Return the number of units by the sorted values of their rows.

        If units are not known by row, every unit has as many rows of equal values as it may have.
        """
        if self.numbers is None:
            every = Counter[int](values.tolist()).items()
            wholes = Counter({(value,) * self.most: n // self.most for value, n in every})
            return +(wholes + Counter({(value,) * (n % self.most): 1 for value, n in every if n % self.most}))
        order = np.lexsort((values, self.numbers))
        starts = np.flatnonzero(np.diff(self.numbers[order])) + 1
        return Counter(tuple(own.tolist()) for own in np.split(values[order], starts))


def _take(data: Any, index: Index) -> Any:
    def taken() -> Any:
        return data[index].to_native() if isinstance(data, (nw.DataFrame, nw.Series)) else np.asarray(data)[index]

    return guarded(taken, ArgumentTypeError("expected a table and labels that can be indexed by rows, got others."))
