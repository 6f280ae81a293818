"""Rows with their labels, from which audits take subsets. **Private**: this module releases no data."""

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

NO_CLASSES = "a regressor is not supported here, only classifiers"
"""Beginning of the error of audits that are defined only for classes."""


@dataclass(frozen=True, repr=False, eq=False)
class LabelledRows:
    """Table and labels with the same number of rows; `values` are the labels as an array, ``(n_rows,)``."""

    table: Table
    labels: Any
    values: Array

    @classmethod
    def of(cls, X: Any, y: Any) -> Self:
        """Return a table with its labels; TypeError, ValueError, or `DomainError` for labels that do not fit."""
        if isinstance(y, str):
            raise ArgumentTypeError(f"y must be the labels, got the name of a column; pass X[{y!r}].")
        table, values = Table.of(X), label_values(y)
        check_same_index(X, y)
        if len(values) != len(table):
            raise ArgumentError("X and y must have the same number of rows and labels.")
        return cls(table, y, values)

    @classmethod
    def of_pair(cls, name: str, pair: Any) -> Self:
        """Return the rows and labels of an argument with this name, which must be a pair."""
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ArgumentTypeError(f"{name} must be a pair of rows and labels, (X, y), got {type(pair).__name__}.")
        return cls.of(*pair)

    def typed(self, schema: Any) -> Self:
        """Return the rows with labels converted to the classes of a schema, if any: "1" may be the class 1."""
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
        """Return these rows, with the attributes in `sources` taken from other rows, shape ``(len(index),)``."""
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
            ArgumentTypeError(f"X must be a table whose rows can be indexed, got {type(data.to_native()).__name__}."),
        )


def predicts_numbers(model: Any) -> bool:
    """Return whether a model or estimator is a regressor, of hedgerow or scikit-learn."""
    released = released_model(model)
    if released is not None:
        return released.schema.label is not None and released.schema.target.as_number is not None
    return isinstance(model, BaseEstimator) and is_regressor(model)


def label_values(y: Any) -> Array:
    """Return labels as an array; text is stripped."""
    labels = Labels.of(y)
    column = labels.column(labels.name)
    if column.missing is not None and column.missing.any():
        raise DomainError("some labels are missing; remove these rows.", column=column.name)
    return column.present()


def joined(first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[Any, Any] | None:
    """Return two pairs of rows and labels as one pair; None if their tables have different types or columns."""
    tables, labels = (first[0], second[0]), [LabelledRows.of(*pair).values for pair in (first, second)]
    if all(isinstance(table, np.ndarray) for table in tables):
        return (np.concatenate(tables), np.concatenate(labels)) if tables[0].shape[1:] == tables[1].shape[1:] else None
    frames = [nw.from_native(table, eager_only=True, pass_through=True) for table in tables]
    if not all(isinstance(frame, nw.DataFrame) for frame in frames) or frames[0].columns != frames[1].columns:
        return None
    problem = ArgumentError("The training rows and the held-out rows could not be joined; their columns differ.")
    return guarded(lambda: nw.concat(frames).to_native(), problem), np.concatenate(labels)


def distinct(values: Array) -> tuple[list[Any], Index]:
    """Return the distinct values in order, and the index of each value among them."""
    problem = ArgumentTypeError("the values have several types without a common order; convert them to one type.")
    different, numbers = guarded(lambda: np.unique(values, return_inverse=True), problem)
    return different.tolist(), numbers


def declared_unit(schema: Schema | None) -> str | None:
    """Return the unit column that a schema declares; None without a schema or unit."""
    return None if schema is None or schema.unit is None else schema.unit.column


def counted_nouns(unit: str | None) -> tuple[str, str]:
    """Return the noun for counts, singular and plural: units with their column, or rows if it is None."""
    if unit is None:
        return "row", "rows"
    return f"unit ({quoted_text(unit)})", f"units ({quoted_text(unit)})"


def unit_numbers(schema: Schema | None, X: Any, column: str | None = None) -> Index | None:
    """Return the number of each row's unit; None if the table lacks the unit column.

    `column` is the unit column. Default: the column that the schema declares.
    """
    name = column or declared_unit(schema)
    if name is None or isinstance(X, Tally) or name not in ((table := Table.of(X)).names or ()):
        return None
    values = identifiers(name, table)
    return distinct(values.words() if values.is_text else values.values)[1]


def once_a_unit(schema: Schema | None, X: Any, *keys: Index, column: str | None = None) -> tuple[Index, ...] | None:
    """Return each combination of keys once for each unit; None if the table lacks the unit column."""
    units = unit_numbers(schema, X, column)
    return None if units is None else tuple(np.unique(np.column_stack([*keys, units]), axis=0).T[:-1])


@dataclass(frozen=True)
class Clusters:
    """Units, whose rows are not independent of each other."""

    numbers: Index | None  # the unit of each row; None if rows are independent, or the table lacks the unit column
    most: int = 1  # largest number of rows of a unit, if the table lacks the unit column

    @classmethod
    def of(cls, schema: Schema | None, X: Any, column: str | None = None, rows: int = 1) -> Self:
        """Return the units of rows, by a column or by the unit of the schema.

        Without the column, a unit may have `max_rows` rows by the schema, or `rows` rows if that is more.
        """
        unit, numbers = None if schema is None else schema.unit, unit_numbers(schema, X, column)
        return cls(numbers, 1 if numbers is not None else max(rows, 1 if unit is None else unit.max_rows))

    def inside(self, rows: Any) -> "Clusters":
        return Clusters(None if self.numbers is None else self.numbers[rows], self.most)

    def kinds(self, values: Whole) -> Counter[tuple[int, ...]]:
        """Return the number of units with the same sorted values of their rows.

        If the units are unknown, every unit is assumed to have the largest number of rows, with equal values.
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

    problem = f"X and y must be tables and columns whose rows can be indexed, got {type(data).__name__}."
    return guarded(taken, ArgumentTypeError(problem))
