"""Columns of frames and arrays in memory; the only code that handles frames.

Columns of pandas, polars, pyarrow and other frames of narwhals have names, those of arrays positions. No error quotes
a value: foreign code runs on rows only behind `hedgerow.foreign_code.guarded`, and Arrow's arrays are validated once.
Values mean the same as in databases (`hedgerow.engines`): white space around text is trimmed (that
of ASCII), a decimal is the float64 nearest to it, a date the number of days since 1970-01-01, a time without a time
zone its date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from hedgerow.days import DATE, Day, as_day
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.foreign_code import guarded
from hedgerow.objects import arrow_of_categories, arrow_of_objects, check_digits, has_object_categories
from hedgerow.values import LONGEST_NUMBER, NUMBER, WHOLE, Value, is_double, plain_word, spelled_number, value_text

Mask = NDArray[np.bool_]
pc: Any = pyarrow.compute  # its functions are made when it is imported, where no type checker sees them


@dataclass(frozen=True, repr=False)
class Column:
    """One column: its values and which of them are missing.

    Attributes
    ----------
    name : str
        The column's name, for errors.
    values : ndarray or pyarrow.Array
        bool, integer or float64 values as an array, text as an Arrow string array.
    missing : ndarray of bool or None
        NULL, NaN and blank text; None where nothing is missing.
    holds_dates : bool
        Whether the values were dates, which are days since 1970-01-01 here.
    """

    name: str
    values: Any
    missing: Mask | None
    holds_dates: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the values are text."""
        return isinstance(self.values, pa.Array)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Self:
        """Return some of the rows."""
        return replace(self, values=self.values[rows], missing=None if self.missing is None else self.missing[rows])

    def equals(self, value: Value) -> Mask:
        """Return which rows hold `value`; a missing value equals nothing.

        It makes no difference if a column is of text or of numbers: the texts "1" and "1.0" and the number 1 are equal.
        Nor does it if it is of text or of dates.
        """
        if self.is_text:
            return self.index_in([value_text(value)]) == 0
        number = self._stored(value)
        equal = np.zeros(len(self), dtype=bool) if number is None else np.asarray(self.values == number)
        return equal if self.missing is None else equal & ~self.missing

    def index_in(self, words: Sequence[str], *, ignore_case: bool = False) -> NDArray[np.int32]:
        """Return which of `words` each row of a text column is, -1 for none; "1.0" and "1" are one word."""

        def find() -> NDArray[np.int32]:
            text = pc.utf8_lower(self.values) if ignore_case else self.values
            text = pc.replace_substring_regex(text, WHOLE, r"\1")
            found = pc.index_in(text, pa.array(map(plain_word, words), pa.large_string()))
            return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int32)

        return guarded(find, _unreadable(self.name))

    def words(self) -> NDArray[Any]:
        """Return the values of a text column as an array of `str`, whole numbers without zeros after their point."""
        found = guarded(lambda: pc.replace_substring_regex(self.values, WHOLE, r"\1"), _unreadable(self.name))
        return found.to_numpy(zero_copy_only=False)

    def without(self, values: Sequence[Value]) -> Self:
        """Return the column with these values counted as missing."""
        if not values:
            return self
        if self.is_text:
            found = self.index_in([value_text(value) for value in values]) >= 0
        else:
            stored = (self._stored(value) for value in values)
            numbers = np.array([number for number in stored if number is not None], dtype=self.values.dtype)
            found = np.isin(self.values, numbers)
        return replace(self, missing=found if self.missing is None else found | self.missing)

    def present(self) -> NDArray[Any]:
        """Return the values that are not missing; text as an array of `str`."""
        values = self.values.to_numpy(zero_copy_only=False) if self.is_text else self.values
        return values if self.missing is None else values[~self.missing]

    def refuse_booleans(self) -> None:
        """Raise DomainError for a boolean column: as text or numbers its values would change."""
        if not self.is_text and self.values.dtype.kind == "b" and len(self.present()):
            raise found_booleans(self.name)

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers (0 where missing); text that spells numbers is read as such.

        Always float64, for every type of column: what a value becomes must not depend on the other rows, and a type
        that was inferred from the rows (whole numbers or not, with or without NaN) would.

        Raises
        ------
        DomainError
            If some text is not a number, a number is infinite, or the column is boolean.
        """
        self.refuse_booleans()
        values = self.values
        if self.is_text:
            filled = values if self.missing is None else pc.if_else(pa.array(self.missing), "0", values)
            if not guarded(lambda: _all_spelled(filled), _unreadable(self.name)):
                raise found_no_number(self.name)
            values = guarded(lambda: filled.cast(pa.float64()).to_numpy(zero_copy_only=False), _unreadable(self.name))
        elif self.missing is not None:
            values = np.where(self.missing, values.dtype.type(0), values)
        values = values.astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            raise found_infinity(self.name)
        return values

    def days(self) -> NDArray[np.float64]:
        """Return the dates as days since 1970-01-01 (0 where missing); text that spells dates is read as such.

        Raises
        ------
        DomainError
            If some text is no date, or the column is of numbers or booleans.
        """
        if not (self.is_text or self.holds_dates or self._is_empty):
            raise found_no_date(self.name)
        if not self.is_text:
            values = self.values if self.missing is None else np.where(self.missing, 0, self.values)
            return values.astype(np.float64)

        def read() -> NDArray[Any] | None:
            filled = self.values if self.missing is None else pc.if_else(pa.array(self.missing), _EPOCH, self.values)
            if not pc.all(_spells_dates(filled), min_count=0).as_py():
                return None
            return filled.cast(pa.date32()).cast(pa.int32()).to_numpy(zero_copy_only=False)

        found = guarded(read, _unreadable(self.name))
        if found is None:
            raise found_no_date(self.name)
        return found.astype(np.float64)

    def are_dates(self) -> Mask:
        """Return which values are dates, or text that spells them, as `days` takes them."""
        if not self.is_text:
            return np.full(len(self), self.holds_dates)
        found = guarded(lambda: pc.fill_null(_spells_dates(self.values), False), _unreadable(self.name))
        return found.to_numpy(zero_copy_only=False)

    @property
    def _is_empty(self) -> bool:
        return self.missing is not None and bool(self.missing.all())

    def _stored(self, value: Value) -> float | None:
        """Return a value as the array holds it, None if it cannot; of a text, dates hold only the date that it spells.

        Whole numbers are compared as such.
        """
        if self.holds_dates and isinstance(value, str):
            day = as_day(value)
            return int(day) if isinstance(day, Day) else None
        return _as_stored(spelled_number(value), self.values.dtype)

    def are_numbers(self) -> Mask:
        """Return which values are finite numbers, or text that spells them, as `numbers` takes them."""
        if not self.is_text:
            return np.isfinite(self.values) & (self.values.dtype.kind != "b")
        found = guarded(lambda: pc.fill_null(_spelled(self.values), False), _unreadable(self.name))
        return found.to_numpy(zero_copy_only=False)

    @classmethod
    def from_numpy(cls, values: NDArray[Any], name: str) -> Self:
        """Make a column of a one-dimensional array.

        Raises
        ------
        DomainError
            If the type is not boolean, number or text, or the values are not of one type.
        """
        if values.dtype.kind == "f":
            wide = guarded(lambda: values.astype(np.float64, copy=False), _unreadable(name))  # as bounds and cuts are
            missing = np.isnan(wide)
            return cls(name, np.where(missing, 0.0, wide), missing) if missing.any() else cls(name, wide, None)
        if values.dtype.kind in "biu":
            return cls(name, values, None)
        if values.dtype.kind == "O":
            return cls.from_arrow(guarded(lambda: arrow_of_objects(values), _unreadable(name)), name)
        return cls.from_arrow(guarded(lambda: pa.array(values, from_pandas=True), _unreadable(name)), name)

    @classmethod
    def from_arrow(cls, array: pa.Array | pa.ChunkedArray, name: str) -> Self:
        """Make a column of an Arrow array. One without a type, such as of nothing but NULL, is text.

        Raises
        ------
        DomainError
            If the type is not boolean, number or text, or a value is invalid for its type.
        """
        given = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        array = guarded(lambda: _whole(array), _invalid(name))
        column = cls._from_whole(array, name)
        return replace(column, holds_dates=True) if _is_date(given) else column

    @classmethod
    def _from_whole(cls, array: pa.Array, name: str) -> Self:
        kind = array.type
        if pa.types.is_large_string(kind):
            text = guarded(lambda: pc.ascii_trim_whitespace(array), _invalid(name))
            blank = pc.fill_null(pc.equal(text, ""), True).to_numpy(zero_copy_only=False)
            return cls(name, text, blank if blank.any() else None)
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            found = re.split(r"[<\[]", str(kind))[0]  # its parameters can hold values, such as the keys of a dict
            raise DomainError(f"expected booleans, numbers or text, found the type {found}.", column=name)
        if array.null_count == 0:
            return cls.from_numpy(array.to_numpy(zero_copy_only=False), name)
        null = array.is_null().to_numpy(zero_copy_only=False)
        values = array.fill_null(False if pa.types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False)
        filled = cls.from_numpy(values, name)
        return cls(name, filled.values, null if filled.missing is None else null | filled.missing)


def _whole(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return an array as one validated chunk, text as large strings, dates and times without a time zone as days."""
    array.validate(full=True)
    if _is_text(array.type):
        array = array.cast(pa.large_string())  # first: one piece of other text holds 2 GB at most
    if isinstance(array, pa.ChunkedArray):  # of no piece at all, some types cannot be made one
        array = array.combine_chunks() if array.num_chunks else _none_of(array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_decimal(kind):  # by way of text: the cast of one to the other is not to the nearest
        return array.cast(pa.string()).cast(pa.float64())
    if _is_date(kind):
        dates = pc.floor_temporal(array, unit="day") if pa.types.is_timestamp(kind) else array
        return dates.cast(pa.date32()).cast(pa.int32())
    return array.cast(pa.large_string()) if _is_text(kind) else array


def _is_date(kind: pa.DataType) -> bool:
    """Return whether a type is of dates, or of times without a time zone, which have one date everywhere."""
    return pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)


def _none_of(kind: pa.DataType) -> pa.Array:
    return pa.array([], kind.value_type if pa.types.is_dictionary(kind) else kind)


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return any(is_a(kind) for is_a in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


def _all_spelled(text: pa.Array) -> bool:
    return pc.all(_spelled(text), min_count=0).as_py()


def _spelled(text: pa.Array) -> pa.Array:
    return pc.and_(pc.match_substring_regex(text, NUMBER), pc.less_equal(pc.utf8_length(text), LONGEST_NUMBER))


def _spells_dates(text: pa.Array) -> pa.Array:
    return pc.match_substring_regex(text, DATE)


_EPOCH = "1970-01-01"


def _as_stored(number: float | None, kind: np.dtype[Any]) -> float | None:
    """Return a number as an array of some kind holds it, None if it cannot: whole numbers are compared as such."""
    if number is None or kind.kind == "b":
        return number if number in (0, 1) else None
    if kind.kind == "f":
        return float(number) if is_double(number) else None
    limits = np.iinfo(kind)
    return int(number) if limits.min <= number <= limits.max and number == int(number) else None


def _unreadable(name: str) -> DomainError:
    return DomainError(
        "expected values of one type (64-bit numbers, booleans or text), found a mixture, another type, or numbers of "
        "more digits than float64 has in a column of dtype object; give the column a type.",
        column=name,
    )


def _invalid(name: str) -> DomainError:
    return DomainError(
        "expected valid values of the column's type (text in UTF-8, dates without a time of day), found others.",
        column=name,
    )


def found_booleans(name: str) -> DomainError:
    """Return the error of booleans in a column declared to be of text or numbers."""
    return DomainError(
        "expected text or numbers, found booleans; declare the attribute boolean, or read the column as text.",
        column=name,
    )


def found_no_number(name: str) -> DomainError:
    """Return the error of text in a column of numbers."""
    return DomainError(
        "expected numbers, found text that is not a number; correct it, or, if it stands for a missing value, name it "
        "under `missing_values` in the schema; --decimal , reads decimal commas.",
        column=name,
    )


def found_no_date(name: str) -> DomainError:
    """Return the error of values that are no dates in a column of dates."""
    return DomainError(
        "expected dates, as a column of type date or text such as 1980-12-31 without a time of day, found others; "
        "correct them, or, if they stand for a missing value, name them under `missing_values` in the schema.",
        column=name,
    )


def found_infinity(name: str) -> DomainError:
    """Return the error of an infinite number."""
    return DomainError("expected finite numbers, found infinity.", column=name)


@dataclass(frozen=True, repr=False)
class Table:
    """The columns of a frame by name, or of an array by position.

    Attributes
    ----------
    names : tuple of str or None
        The frame's column names; None for an array.
    data : object
        The narwhals frame or the two-dimensional array.
    """

    names: tuple[str, ...] | None
    data: Any

    @classmethod
    def of(cls, data: Any) -> Self:
        """Wrap a frame (pandas, polars, pyarrow, …) or a two-dimensional array. A table may have no rows.

        Raises
        ------
        DomainError
            If two columns have the same name.
        TypeError
            If `data` is neither a frame nor a two-dimensional array. A list of rows is not: without rows it has no
            columns, so that the error would disclose whether there are rows.
        """
        problem = ArgumentTypeError(f"Expected {_TABLE}, got {type(data).__name__}.")
        if is_frame(data):
            names = guarded(lambda: _names(data), problem)
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise DomainError(f"expected each column once, found these more than once: {', '.join(repeated)}.")
            return cls(names, guarded(lambda: nw.from_native(_with_text_names(data), eager_only=True), problem))
        if isinstance(data, (list, tuple)):
            raise ArgumentTypeError(
                f"Expected {_TABLE}, got a {type(data).__name__}, which has no columns if it has no rows; convert it "
                "to an array of shape (n_rows, n_columns)."
            )
        if not hasattr(type(data), "__array__"):
            raise problem
        array = _plain_array(data, problem)
        if array.ndim != 2:
            raise problem
        return cls(None, array)

    def without(self, name: str) -> Self:
        """Return a frame without one of its columns."""
        problem = ArgumentTypeError(f"Expected {_TABLE}.")
        return type(self).of(guarded(lambda: self.data.drop(name).to_native(), problem))

    def without_rows(self) -> Self:
        """Return the table with its columns and their types, without rows."""
        return replace(self, data=guarded(lambda: self.data[:0], ArgumentTypeError(f"Expected {_TABLE}.")))

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.data.shape[1])

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names; an array has x0, x1 and so on."""
        return tuple(f"x{i}" for i in range(self.width)) if self.names is None else self.names

    def require(self, names: Iterable[str]) -> None:
        """Check that a frame has these columns, before any row is touched.

        Raises
        ------
        DomainError
            Naming the first that is absent.
        """
        for name in names:
            if self.names is not None and name not in self.names:
                raise DomainError.absent(name, self.names)

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def take(self, rows: NDArray[np.integer]) -> Any:
        """Return these rows, as the kind of frame or array that the table is."""
        if self.names is None:
            return self.data[rows]
        return guarded(lambda: self.data[rows].to_native(), ArgumentTypeError(f"Expected {_TABLE}."))

    def column(self, name: str, position: int) -> Column:
        """Return a frame's column of this name, or an array's at this position.

        Raises
        ------
        DomainError
            If there is no such column.
        """
        if self.names is None:
            return Column.from_numpy(self.data[:, position], name)
        self.require([name])
        return series_column(self.series(name), name)

    def exact_column(self, name: str) -> Column:
        """Return a frame's column as `column` does, but decimals as text: of many digits, two can be one float64.

        Raises
        ------
        DomainError
            If there is no such column, it is of times, or of dtype object and has decimals of more than 15 digits.
        """
        self.require([name])
        series = self.series(name)
        text = guarded(lambda: _text_of_decimals(series), _unreadable(name))
        return series_column(series, name) if text is None else Column.from_arrow(text, name)

    def series(self, name: str) -> Any:
        """Return a frame's column of this name as it is; without the words of the frame's library where it fails."""
        return guarded(lambda: self.data.get_column(name), _unreadable(name))


_TABLE = "a frame or a two-dimensional array"


def is_frame(data: Any) -> bool:
    """Return whether narwhals takes `data` for an eager frame.

    Raises
    ------
    TypeError
        If it is a frame whose rows are elsewhere.
    """
    found = guarded(lambda: _kind_of_frame(data), ArgumentTypeError(f"Expected {_TABLE}, got {type(data).__name__}."))
    if found == "lazy":
        raise ArgumentTypeError(
            f"Expected a table in memory, got a {type(data).__name__}, which is lazy: collect it, or count it in its "
            "engine (Tally.from_table, with an Ibis table)."
        )
    return found == "eager"


def _kind_of_frame(data: Any) -> str:
    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        return "eager"  # `Table.of` says which columns are there twice
    return "lazy" if isinstance(frame, nw.LazyFrame) else "eager" if isinstance(frame, nw.DataFrame) else "none"


def series_column(series: Any, name: str) -> Column:
    """Return the column of a narwhals series."""

    def read() -> Any:
        if series.implementation.is_pandas_like():
            if series.dtype == nw.Object:
                return series.to_numpy()
            if has_object_categories(series.to_native()):
                return arrow_of_categories(series.to_native())
        return series.to_native() if series.implementation.is_pyarrow() else series.to_arrow()

    found = guarded(read, _unreadable(name))
    return Column.from_numpy(found, name) if isinstance(found, np.ndarray) else Column.from_arrow(found, name)


def _text_of_decimals(series: Any) -> pa.Array | pa.ChunkedArray | None:
    """Return a narwhals series of decimals as text, None for another.

    All decimals of a type have as many places, so that equal ones are the same text; those of dtype object do not.
    Raises OverflowError for objects of many digits, TypeError for times, which are read as their dates.
    """
    if series.implementation.is_pandas_like() and (
        series.dtype == nw.Object or has_object_categories(series.to_native())
    ):
        check_digits(series.to_native())
        return None
    array = series.to_arrow()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        raise ArgumentTypeError("times")
    return array.cast(pa.large_string()) if pa.types.is_decimal(array.type) else None


def column_of(labels: Any, name: str) -> Column:
    """Return the column of a series, an array or a sequence of labels.

    Raises
    ------
    DomainError
        If the labels are not of one type.
    TypeError
        If they are not one-dimensional.
    """
    series = _series_of(labels)
    if series is not None:
        return series_column(series, name)
    array = _plain_array(labels, _no_labels(labels))
    if array.ndim != 1:
        raise ArgumentTypeError(f"Expected one column of labels, got an array of {array.ndim} dimensions.")
    return Column.from_numpy(array, name)


def check_same_index(data: Any, labels: Any) -> None:
    """Refuse labels of pandas whose index is not that of their frame (ValueError): they would be paired by position."""

    def differ() -> bool:
        ours, theirs = map(_index, (data, labels))
        # Another number of labels is refused by who counts them.
        return ours is not None and theirs is not None and len(ours) == len(theirs) and not ours.equals(theirs)

    if guarded(differ, _no_labels(labels)):
        raise ArgumentError(
            "expected labels with the index of their rows, got another one; pass y.loc[X.index], or y.to_numpy() where "
            "the labels are in the order of the rows."
        )


def is_boolean(labels: Any) -> bool:
    """Return whether labels are boolean by the type of their series or array, without reading them."""
    series = _series_of(labels)
    if series is not None:
        return guarded(lambda: series.dtype == nw.Boolean, _no_labels(labels))
    if not hasattr(type(labels), "__array__"):
        return False  # the type of a list is that of the values in it
    return _plain_array(labels, _no_labels(labels)).dtype.kind == "b"


def label_name(labels: Any) -> str:
    """Return the name that a series of labels has, or ``label``."""

    def read() -> str:
        name = getattr(labels, "name", None)
        return str.__str__(name) if isinstance(name, str) else ""

    return guarded(read, _no_labels(labels)) or "label"


def _index(data: Any) -> Any:
    """Return the index of a frame or series of pandas, None for anything else."""
    native = nw.to_native(data, pass_through=True)
    known = nw.dependencies.is_pandas_like_dataframe(native) or nw.dependencies.is_pandas_like_series(native)
    return native.index if known else None


def _series_of(labels: Any) -> Any:
    """Return the narwhals series of a native one, None for anything else."""
    series = guarded(lambda: nw.from_native(labels, series_only=True, pass_through=True), _no_labels(labels))
    return series if isinstance(series, nw.Series) else None


def _no_labels(data: object) -> TypeError:
    return ArgumentTypeError(f"Expected one column of labels in memory, one value a row, got {type(data).__name__}.")


def _plain_array(data: Any, problem: TypeError) -> NDArray[Any]:
    if isinstance(data, np.ma.MaskedArray):
        raise ArgumentTypeError("Expected an array without a mask, which would be lost; write missing values as NaN.")

    def read() -> NDArray[Any]:
        array = np.asarray(data)
        if array.dtype.kind in "SU" and not isinstance(data, np.ndarray):
            array = np.asarray(data, dtype=object)  # NumPy would turn numbers among text into text
        return array

    return guarded(read, problem)


def _names(frame: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in getattr(frame, "column_names", getattr(frame, "columns", ())))


def _with_text_names(data: Any) -> Any:
    """Return a pandas frame with its column names as text, any other frame as it is."""
    columns = getattr(data, "columns", None)
    if columns is None or not hasattr(data, "set_axis") or all(isinstance(name, str) for name in columns):
        return data
    return data.set_axis([str(name) for name in cast(Sequence[Any], columns)], axis=1)
