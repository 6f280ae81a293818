"""Frames and arrays in memory as tables of columns; the only code that handles frames.

The columns of pandas, polars, pyarrow and other frames supported by narwhals have names; columns of arrays
have positions. No error quotes a value, since foreign code runs on rows only behind
`hedgerow.boundary.foreign_code.guarded`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Array, Whole
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.tables.columns import Column, unreadable
from hedgerow.tables.objects import arrow_of_categories, check_digits, has_object_categories
from hedgerow.text.messages import repeated
from hedgerow.text.values import listed

DATE_SYSTEM = b"hedgerow.date_system"  # metadata key of an Arrow table for the format of a workbook's serial days


@dataclass(frozen=True, repr=False)
class Table:
    """Columns of a frame by name (`data` is a narwhals frame), or of an array by position (`names` is None)."""

    names: tuple[str, ...] | None
    data: Any

    @classmethod
    def of(cls, data: Any) -> Self:
        """Return the table for a frame (pandas, polars, pyarrow, …) or a two-dimensional array; a `Table` is unchanged.

        ArgumentTypeError for a list of rows: without rows it would have no columns, so that an error would disclose
        whether there are any rows.
        """
        if isinstance(data, cls):
            return data
        if (frame := cls.of_frame(data)) is not None:
            return frame
        problem = _no_table(data)
        if isinstance(data, (list, tuple)):
            advice = "convert it to an array of shape (n_rows, n_columns)"
            raise ArgumentTypeError(f"Expected {_TABLE}, got a {type(data).__name__}; {advice}.")
        if not hasattr(type(data), "__array__"):
            raise problem
        array = _plain_array(data, problem)
        if array.ndim != 2:
            raise problem
        return cls(None, array)

    @classmethod
    def of_frame(cls, data: Any) -> Self | None:
        """Return the table for a frame, or None for any other object."""
        frame = guarded(lambda: _frame_or_none(data), lambda: _no_table(data))
        if isinstance(frame, nw.LazyFrame):
            lazy = f"Expected a table in memory, got a lazy {type(data).__name__}"
            advice = "collect it, or count its rows in a database (Tally.from_table with an Ibis table)."
            raise ArgumentTypeError(f"{lazy}; {advice}")
        if frame is None:
            return None
        names = guarded(lambda: _names(data), lambda: _no_table(data))
        if twice := repeated(names):
            raise DomainError(f"these column names occur more than once: {listed(twice)}.")
        return cls(names, guarded(lambda: _with_text_names(data, frame), lambda: _no_table(data)))

    def without(self, name: str) -> Self:
        """Return a frame without one of its columns."""
        problem = ArgumentTypeError(f"Expected {_TABLE}.")
        return type(self).of(guarded(lambda: self.data.drop(name).to_native(), problem))

    def without_rows(self) -> Self:
        """Return a table with the same columns and no row."""
        return replace(self, data=guarded(lambda: self.data[:0], ArgumentTypeError(f"Expected {_TABLE}.")))

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.data.shape[1])

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns; x0, x1 and so on for an array."""
        return tuple(f"x{i}" for i in range(self.width)) if self.names is None else self.names

    def require(self, names: Iterable[str]) -> None:
        """Check that a frame has these columns without reading a row; DomainError names the first absent column."""
        present = set(self.names or ())
        for name in names:
            if self.names is not None and name not in present:
                raise DomainError.absent(name, self.names)

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def take(self, rows: Whole) -> Any:
        """Return these rows as a frame or array of the table's kind."""
        if self.names is None:
            return self.data[rows]
        return guarded(lambda: self.data[rows].to_native(), ArgumentTypeError(f"Expected {_TABLE}."))

    def column(self, name: str, position: int) -> Column:
        """Return the column of this name of a frame, or at this position of an array; DomainError if there is none."""
        if self.names is None:
            return Column.from_numpy(self.data[:, position], name)
        return replace(series_column(self.series(name), name), date_system=self._date_system)

    @property
    def _date_system(self) -> str | None:
        """The format of serial days if the table was read from a workbook, else None."""
        native: Any = nw.to_native(self.data)
        metadata = native.schema.metadata if isinstance(native, pa.Table) else None
        return (metadata or {}).get(DATE_SYSTEM, b"").decode() or None

    def exact_column(self, name: str) -> Column:
        """Return a frame's column like `column`, but decimals as text, since different decimals can equal one float64.

        DomainError also for times, and for decimals with more than 15 digits in a column of dtype object.
        """
        series = self.series(name)
        text = guarded(lambda: _text_of_decimals(series), lambda: unreadable(name))
        return series_column(series, name) if text is None else Column.from_arrow(text, name)

    def series(self, name: str) -> Any:
        """Return a frame's column as a narwhals series; DomainError, without the library's message, if this fails."""
        if self.names is None or name not in self.names:
            raise DomainError.absent(name, self.names or ())
        return guarded(partial(self.data.get_column, name), lambda: unreadable(name))


_TABLE = "a frame or a two-dimensional array"


def _no_table(data: object) -> TypeError:
    return ArgumentTypeError(f"Expected {_TABLE}, got {type(data).__name__}.")


def _frame_or_none(data: Any) -> Any:
    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        return data  # `Table.of` reports the repeated columns
    return frame if isinstance(frame, (nw.LazyFrame, nw.DataFrame)) else None


def series_column(series: Any, name: str) -> Column:
    if series.implementation.is_pandas_like() and str(series.to_native().dtype).startswith("Sparse"):
        raise DomainError("sparse columns are not supported; convert it with sparse.to_dense().", column=name)

    def read() -> Any:
        if series.implementation.is_pandas_like():
            if series.dtype == nw.Object:
                return series.to_numpy()
            if has_object_categories(series.to_native()):
                return arrow_of_categories(series.to_native())
        return series.to_native() if series.implementation.is_pyarrow() else series.to_arrow()

    values = guarded(read, lambda: unreadable(name))
    return Column.from_numpy(values, name) if isinstance(values, np.ndarray) else Column.from_arrow(values, name)


def _text_of_decimals(series: Any) -> pa.Array | pa.ChunkedArray | None:
    """Return a narwhals series of an Arrow decimal type as text, None for another type; an error for times.

    Arrow decimals have one scale, so equal decimals are equal as text. Python's decimals (dtype object) may differ as
    text (1.5 and 1.50) and are compared as float64; an error is raised if they have too many digits for float64.
    """
    is_pandas = series.implementation.is_pandas_like()
    if is_pandas and (series.dtype == nw.Object or has_object_categories(series.to_native())):
        check_digits(series.to_native())
        return None
    array = series.to_arrow()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        raise ArgumentTypeError("times")
    return array.cast(pa.large_string()) if pa.types.is_decimal(array.type) else None


@dataclass(frozen=True, repr=False)
class Labels:
    """The labels of rows: a series, an array or a sequence; no label is read before `column` is called.

    `data` are the labels as passed, `name` is the name of the series or ``label``, and `series` is their narwhals
    series, or None.
    """

    data: Any
    name: str
    series: Any

    @classmethod
    def of(cls, labels: Any, rows: Any = None) -> Self:
        """Return labels; ArgumentError if the index of pandas labels differs from the index of their `rows`."""
        if isinstance(labels, cls):
            return labels
        if rows is not None:
            check_same_index(rows, labels)

        def read() -> tuple[str, Any]:
            name = getattr(labels, "name", None)
            series = nw.from_native(labels, series_only=True, pass_through=True)
            return str.__str__(name) if isinstance(name, str) else "", series

        name, series = guarded(read, lambda: _no_labels(labels))
        return cls(labels, name or "label", series if isinstance(series, nw.Series) else None)

    @property
    def is_boolean(self) -> bool:
        """True if the type of the series or array is boolean; no label is read."""
        return self._has_type(nw.Boolean, "b")

    @property
    def is_text(self) -> bool:
        """True if the type of the series or array is text; labels of dtype object may be text, too."""
        return self._has_type(nw.String, "U")

    def _has_type(self, of_series: Any, of_array: str) -> bool:
        if self.series is not None:
            return guarded(lambda: self.series.dtype == of_series, lambda: _no_labels(self.data))
        if not hasattr(type(self.data), "__array__"):
            return False  # a list has no type of its own
        return _plain_array(self.data, _no_labels(self.data)).dtype.kind == of_array

    def column(self, name: str) -> Column:
        """Return the labels as a column; errors use its name."""
        if self.series is not None:
            return series_column(self.series, name)
        array = _plain_array(self.data, _no_labels(self.data))
        if array.ndim != 1:
            raise ArgumentTypeError(f"Expected a one-dimensional array of labels, got {array.ndim} dimensions.")
        return Column.from_numpy(array, name)

    def type_column(self, name: str) -> Column | None:
        """Return an empty column of the type of the series or array; None for a list, which has no type."""
        if self.series is None and not hasattr(type(self.data), "__array__"):
            return None
        values = self.data if self.series is None else self.series
        none = guarded(lambda: values[:0], lambda: _no_labels(self.data))
        return replace(self, data=none, series=None if self.series is None else none).column(name)


def column_of(labels: Any, name: str) -> Column:
    return Labels.of(labels).column(name)


def check_same_index(data: Any, labels: Any) -> None:
    """Raise ArgumentError if the index of pandas labels differs from the index of their frame.

    Rows and labels are paired by position, which would be wrong in this case.
    """

    def differ() -> bool:
        ours, theirs = map(_index, (data, labels))
        # A different number of labels is an error when rows are counted.
        return ours is not None and theirs is not None and len(ours) == len(theirs) and not ours.equals(theirs)

    if guarded(differ, lambda: _no_labels(labels)):
        problem = "the labels and the rows have different indexes; pass y.loc[X.index], or, if the labels are in the"
        raise ArgumentError(f"{problem} order of the rows, y.to_numpy().")


def _index(data: Any) -> Any:
    native = nw.to_native(data, pass_through=True)
    known = nw.dependencies.is_pandas_like_dataframe(native) or nw.dependencies.is_pandas_like_series(native)
    return native.index if known else None


def _no_labels(data: object) -> TypeError:
    return ArgumentTypeError(
        f"Expected a column of labels in memory, with a label for each row, got {type(data).__name__}."
    )


def _plain_array(data: Any, problem: TypeError) -> Array:
    if isinstance(data, np.ma.MaskedArray):
        raise ArgumentTypeError("Masked arrays are not supported; represent missing values as NaN.")

    def read() -> Array:
        array = np.asarray(data)
        if array.dtype.kind in "SU" and not isinstance(data, np.ndarray):
            array = np.asarray(data, dtype=object)  # NumPy would convert numbers among text into text
        return array

    return guarded(read, problem)


def _names(frame: Any) -> tuple[str, ...]:
    # Look at the class: an attribute of a pandas frame may be a column with its cells.
    attribute = "column_names" if hasattr(type(frame), "column_names") else "columns"
    return tuple(map(str, getattr(frame, attribute, ())))


def _with_text_names(data: Any, frame: Any) -> Any:
    """Return a frame whose column names are text; names of pandas columns are converted."""
    if not hasattr(data, "columns") or not hasattr(data, "set_axis") or set(map(type, data.columns)) <= {str}:
        return frame
    return nw.from_native(data.set_axis(_names(data), axis=1), eager_only=True)
