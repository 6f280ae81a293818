"""Tables with their labels, of which audits take parts. Private: nothing here is released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import Table, column_of, label_name
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.guard import guarded
from hedgerow.schema.schema import Schema

Index = NDArray[np.intp]


@dataclass(frozen=True, repr=False, eq=False)
class Rows:
    """A table with its labels.

    Attributes
    ----------
    table : Table
        The attributes.
    labels : series or array
        The labels as they were given.
    values : ndarray of shape (n_rows,)
        The same as an array.
    """

    table: Table
    labels: Any
    values: NDArray[Any]

    @classmethod
    def of(cls, X: Any, y: Any) -> Self:
        """Check that a table and labels belong together.

        Raises
        ------
        DomainError
            If labels are missing or of several types.
        TypeError
            If `X` is no table, or `y` is not one column of labels.
        ValueError
            If there are not as many labels as rows.
        """
        if isinstance(y, str):
            raise ArgumentTypeError(f"y must be the labels, not the name of a column: X[{y!r}].")
        table, values = Table.of(X), label_values(y)
        if len(values) != len(table):
            raise ArgumentError("y must have as many labels as X has rows.")
        return cls(table, y, values)

    def __len__(self) -> int:
        return len(self.table)

    def X(self, index: Index) -> Any:  # noqa: N802 -- the name of the field for a table
        """Return these rows of the table, as the kind of frame or array that it is."""
        return _take(self.table.data, index)

    def y(self, index: Index) -> Any:
        """Return the labels of these rows, as the kind of series or array that they are."""
        return _take(nw.from_native(self.labels, series_only=True, pass_through=True), index)

    def mixed(self, index: Index, sources: Mapping[str, Index], schema: Schema) -> Any:
        """Return these rows with the values of some attributes taken from other rows.

        `sources` has, for the attributes that change, the rows to take the values from, shape ``(len(index),)``. The
        values are those of the table itself, so every column keeps its type.
        """
        data = self.table.data
        if self.table.names is None:
            changed = data[index].copy()
            for name, source in sources.items():
                column = schema.names.index(name)
                changed[:, column] = data[source, column]
            return changed
        return guarded(
            lambda: data[index].with_columns(*(data[name][source] for name, source in sources.items())).to_native(),
            ArgumentTypeError("Expected a table that rows can be taken from."),
        )


def label_values(y: Any) -> NDArray[Any]:
    """Return labels as an array; text without the spaces around it.

    Raises
    ------
    DomainError
        If labels are missing or of several types.
    TypeError
        If they are not one column.
    """
    column = column_of(y, label_name(y))
    if column.missing is not None and column.missing.any():
        raise DomainError("some labels are missing; leave these rows out.", column=column.name)
    return column.present()


def distinct(values: NDArray[Any]) -> tuple[list[Any], Index]:
    """Return the different values in order, and the number of each."""
    problem = ArgumentTypeError("Expected values of one type, got a mixture that has no order.")
    found, numbers = guarded(lambda: np.unique(values, return_inverse=True), problem)
    return found.tolist(), numbers


def _take(data: Any, index: Index) -> Any:
    def taken() -> Any:
        return data[index].to_native() if isinstance(data, (nw.DataFrame, nw.Series)) else np.asarray(data)[index]

    return guarded(taken, ArgumentTypeError("Expected a table and labels that rows can be taken from."))
