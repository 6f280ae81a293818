"""Columns in memory: booleans, numbers, dates or text, and which values are missing.

No error quotes a value: foreign code runs on rows only behind `hedgerow.boundary.foreign_code.guarded`, and Arrow
arrays are validated once. Values have the same meaning as in databases (`hedgerow.engines`): ASCII white space around
text is trimmed; a decimal with places is rounded to the nearest float64; a decimal without places is the text of its
digits; a date is the number of days since 1970-01-01; a time without a time zone is its date.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Array, Floats, Integers, Mask
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentTypeError, DomainError
from hedgerow.tables.objects import arrow_of_objects
from hedgerow.text import date_formats
from hedgerow.text.days import DATE, Day, as_day
from hedgerow.text.values import LONGEST_NUMBER, NUMBER, WHOLE, Value, is_double, plain_word, spelled_number, value_text

FOUND_BOOLEANS = (
    "expected a column of text or numbers, got booleans; declare a boolean attribute, or convert the column to text."
)
FOUND_DATES = (
    "expected a column of numbers or booleans, got dates; declare a date attribute, or convert the column into "
    "days since a public date."
)
FOUND_NO_NUMBER = (
    "some cells are text that is not a number; correct them. If they mean missing, list them under `missing_values` in "
    "the schema, or remove their rows if the column is the target. `--decimal ,` reads decimal commas."
)
FOUND_NO_DATE = (
    "some cells are not dates without a time zone (a date type, or text such as 1980-12-31). Declare how they are "
    "written under `format` in the schema, such as %d.%m.%Y, or iso for times of day; correct them; or, if they mean "
    "missing, list them under `missing_values`."
)
FOUND_INFINITY = "some numbers are infinite; correct them."
pc: Any = pyarrow.compute  # type checkers do not see its functions, which are created at import


@dataclass(frozen=True, repr=False)
class Column:
    """A column: its `values`, which of them are `missing`, and its `name` for errors.

    The values are an array of bool, float64 or integers (days since 1970-01-01 if it `holds_dates`), or an Arrow array
    of large strings for text. NULL, NaN and blank text are missing; `missing` is None if no value is.
    """

    name: str
    values: Any
    missing: Mask | None
    holds_dates: bool = False
    date_system: str | None = None  # format of the workbook's serial days; None if no file states it

    @property
    def is_text(self) -> bool:
        """True if the type of the values is text."""
        return isinstance(self.values, pa.Array)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Self:
        return replace(self, values=self.values[rows], missing=None if self.missing is None else self.missing[rows])

    def equals(self, value: Value) -> Mask:
        """Return which rows equal `value`; "1", "1.0" and 1 are equal, and a missing value equals no value."""
        if self.is_text:
            return self.index_in([value_text(value)]) == 0
        number = self._stored(value)
        equal = np.zeros(len(self), dtype=bool) if number is None else np.asarray(self.values == number)
        return equal if self.missing is None else equal & ~self.missing

    def can_hold(self, value: Value) -> bool:
        """Return whether the column's type can represent `value`."""
        return self.is_text or self._stored(value) is not None

    def index_in(self, words: Sequence[str], *, ignore_case: bool = False) -> NDArray[np.int32]:
        """Return the index in `words` of each row of a text column, or -1; "1.0" and "1" are the same word."""

        def find() -> NDArray[np.int32]:
            text = pc.utf8_lower(self.values) if ignore_case else self.values
            text = pc.replace_substring_regex(text, WHOLE, r"\1")
            places = pc.index_in(text, pa.array(map(plain_word, words), pa.large_string()))
            return pc.fill_null(places, -1).to_numpy(zero_copy_only=False).astype(np.int32)

        return guarded(find, lambda: unreadable(self.name))

    def codes_of(self, spellings: Iterable[tuple[Value, int]], *, ignore_case: bool = False) -> NDArray[np.int32]:
        """Return the code of each row's value, or -1; `ignore_case` concerns columns of text only."""
        pairs = list(spellings)
        if self.is_text:
            places = self.index_in([value_text(value) for value, _ in pairs], ignore_case=ignore_case)
            return np.array([*(code for _, code in pairs), -1], dtype=np.int32)[places]
        if self.values.dtype.kind == "b":  # a table lookup is three times as fast as a mask for each value
            of_either = np.full(2, -1, dtype=np.int32)
            for value, code in pairs:
                if (stored := self._stored(value)) is not None:
                    of_either[int(stored)] = code
            of_rows = of_either.take(self.values.view(np.uint8), mode="clip")  # for NumPy, every nonzero byte is true
            return np.where(self.is_missing, -1, of_rows)
        codes = np.full(len(self), -1, dtype=np.int32)
        for value, code in pairs:
            codes[self.equals(value)] = code
        return codes

    def words(self) -> Array:
        """Return the values of a text column as an array of `str`; "1.0" becomes "1"."""
        text = guarded(lambda: pc.replace_substring_regex(self.values, WHOLE, r"\1"), lambda: unreadable(self.name))
        return text.to_numpy(zero_copy_only=False)

    def without(self, values: Sequence[Value]) -> Self:
        """Return the column in which these values are missing."""
        if not values:
            return self
        if self.is_text:
            matches = self.index_in([value_text(value) for value in values]) >= 0
        else:
            stored = (self._stored(value) for value in values)
            numbers = np.array([number for number in stored if number is not None], dtype=self.values.dtype)
            matches = np.isin(self.values, numbers)
        return replace(self, missing=matches if self.missing is None else matches | self.missing)

    @property
    def is_missing(self) -> Mask:
        """Whether each value is missing, as an array."""
        return np.zeros(len(self), dtype=bool) if self.missing is None else self.missing

    def present(self) -> Array:
        """Return the values that are not missing; text as an array of `str`."""
        values = self.values.to_numpy(zero_copy_only=False) if self.is_text else self.values
        return values if self.missing is None else values[~self.missing]

    def check_not_boolean(self) -> None:
        """Raise DomainError for a boolean column, whose values would change as text or numbers."""
        if not self.is_text and self.values.dtype.kind == "b" and len(self.present()):
            raise DomainError(FOUND_BOOLEANS, column=self.name)

    def numbers(self) -> Floats:
        """Return the values as float64, 0 for missing values; DomainError for other text, infinity and booleans.

        The type is always float64: a type that is inferred from the rows would make a value depend on other rows.
        """
        self.check_not_boolean()
        values = self.values
        if self.is_text:
            values = self._parsed("0", _spelled, FOUND_NO_NUMBER, pa.float64())
        elif self.missing is not None:
            values = np.where(self.missing, values.dtype.type(0), values)
        values = values.astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            raise DomainError(FOUND_INFINITY, column=self.name)
        return values

    def days(self) -> Floats:
        """Return dates, also in text, as days since 1970-01-01 (0 if missing); DomainError for other values."""
        if not (self.is_text or self.holds_dates) and len(self.present()):
            raise DomainError(FOUND_NO_DATE, column=self.name)
        if not self.is_text:
            values = self.values if self.missing is None else np.where(self.missing, 0, self.values)
            return values.astype(np.float64)
        problem = FOUND_NO_DATE + self.serials_advice
        return self._parsed("1970-01-01", _spells_dates, problem, pa.date32(), pa.int32())

    @property
    def serials_advice(self) -> str:
        """A sentence on the format of serial days to append to an error; empty if no workbook states it."""
        if not self.date_system:
            return ""
        return f" Serial days of this workbook need `format: {self.date_system}`, or cells formatted as dates."

    def _parsed(self, blank: str, spells: Any, problem: str, *kinds: pa.DataType) -> Floats:
        """Return text as numbers by a chain of casts, `blank` for missing values; DomainError for other text."""

        def parse() -> Floats | None:
            text = self.values if self.missing is None else pc.if_else(pa.array(self.missing), blank, self.values)
            if not pc.all(spells(text), min_count=0).as_py():
                return None
            return reduce(pa.Array.cast, kinds, text).to_numpy(zero_copy_only=False).astype(np.float64, copy=False)

        numbers = guarded(parse, lambda: unreadable(self.name))
        if numbers is None:
            raise DomainError(problem, column=self.name)
        return numbers

    def are_dates(self) -> Mask:
        """Return which values are dates, or text that `days` reads as dates."""
        if not self.is_text:
            return np.full(len(self), self.holds_dates)
        matches = guarded(lambda: pc.fill_null(_spells_dates(self.values), False), lambda: unreadable(self.name))
        return matches.to_numpy(zero_copy_only=False)

    def plain_dates(self, form: str) -> Self:
        """Return text, or numbers as text, with dates of a format as ``YYYY-MM-DD``; other columns are unchanged.

        A number that can be a serial day loses its fraction. Other fractions, floating-point numbers of `MOST_PLAIN` or
        more, and serial days of a date system that differs from the workbook's are not dates.
        """
        if self.holds_dates or (not self.is_text and self.values.dtype.kind == "b"):
            return self
        declared = date_formats.DateFormat(form)
        serials = declared.serials if self.date_system in (None, form) else None

        def rewrite() -> pa.Array:
            text = self.values if self.is_text else _text_of_numbers(self.values, serials)
            for pattern, replacement in declared.steps:
                text = pc.replace_substring_regex(text, pattern, replacement)
            return text if serials is None else _plain_serials(text, serials)

        return replace(self, values=guarded(rewrite, lambda: unreadable(self.name)))

    def _stored(self, value: Value) -> float | None:
        """Return a value as stored in the array, or None if it cannot be stored; in dates, text stands for its date."""
        if self.holds_dates and isinstance(value, str):
            day = as_day(value)
            return int(day) if isinstance(day, Day) else None
        number, kind = spelled_number(value), self.values.dtype
        if number is None or kind.kind == "b":
            return number if number in (0, 1) else None
        if kind.kind == "f":
            return float(number) if is_double(number) else None
        limits = np.iinfo(kind)  # whole numbers are not converted to float64
        return int(number) if limits.min <= number <= limits.max and number == int(number) else None

    def arrow_text(self) -> pa.Array:
        """Return a text column in which missing values are NULL."""
        return self.values if self.missing is None else pc.if_else(pa.array(~self.missing), self.values, None)

    def are_numbers(self) -> Mask:
        """Return which values are finite numbers, or text that `numbers` reads as numbers."""
        if not self.is_text:
            return np.isfinite(self.values) & (self.values.dtype.kind != "b")
        matches = guarded(lambda: pc.fill_null(_spelled(self.values), False), lambda: unreadable(self.name))
        return matches.to_numpy(zero_copy_only=False)

    @classmethod
    def from_numpy(cls, values: Array, name: str) -> Self:
        """Return the column for a one-dimensional array; DomainError unless it has booleans, numbers, dates or text."""
        if values.dtype.kind in "biuf":
            return cls._of_numbers(guarded(lambda: _wide(values), lambda: unreadable(name)), name)
        return cls.from_arrow(guarded(lambda: _arrow_of(values), lambda: unreadable(name)), name)

    @classmethod
    def from_arrow(cls, array: pa.Array | pa.ChunkedArray, name: str) -> Self:
        """Return the column for an Arrow array; DomainError for other types and for invalid values."""
        declared = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        array = guarded(lambda: _whole(array), lambda: _invalid(name))
        kind = array.type
        if pa.types.is_large_string(kind):
            blank = pc.fill_null(pc.equal(array, ""), True).to_numpy(zero_copy_only=False)
            return cls(name, array, blank if blank.any() else None)
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            word = re.split(r"[<\[]", str(kind))[0]  # type parameters can contain values, such as the keys of a dict
            zone = " with a time zone; convert it to dates" if pa.types.is_timestamp(kind) else ""
            raise DomainError(f"expected booleans, numbers, dates or text, got the type {word}{zone}.", column=name)
        null = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        filled = array if null is None else array.fill_null(False if pa.types.is_boolean(kind) else 0)
        column = cls._of_numbers(_wide(filled.to_numpy(zero_copy_only=False)), name, null)
        return replace(column, holds_dates=_is_date(declared))

    @classmethod
    def _of_numbers(cls, values: Array, name: str, null: Mask | None = None) -> Self:
        missing = np.isnan(values) if values.dtype.kind == "f" else None
        if missing is None or not missing.any():
            return cls(name, values, null)
        return cls(name, np.where(missing, 0.0, values), missing if null is None else null | missing)


def _wide(values: Array) -> Array:
    """Return floating-point values as float64, the type of bounds and cut points; other values unchanged."""
    return values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values


def _whole(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a validated array of one chunk, with text as large strings, and dates and local times as days."""
    array.validate(full=True)
    if _is_text(array.type):
        array = array.cast(pa.large_string())  # before chunks are combined: other text is limited to 2 GB per chunk
    if isinstance(array, pa.ChunkedArray):  # without any chunk, some types cannot be combined
        none = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        array = array.combine_chunks() if array.num_chunks else pa.array([], none)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_decimal(kind) and kind.scale == 0:
        return array.cast(pa.large_string())  # float64 would lose digits
    if pa.types.is_decimal(kind):  # by way of text, since a direct cast does not round to nearest
        return array.cast(pa.string()).cast(pa.float64())
    if _is_date(kind):
        return array.cast(pa.int32()) if pa.types.is_date32(kind) else _days_of_times(array)
    return pc.ascii_trim_whitespace(array.cast(pa.large_string())) if _is_text(kind) else array


def _arrow_of(values: Array) -> pa.Array | pa.ChunkedArray:
    """Return an array of text, objects, dates or times as Arrow, which ignores multiples of units and wraps days."""
    if values.dtype.kind == "O":
        return arrow_of_objects(values)
    if values.dtype.kind != "M":
        return pa.array(values, from_pandas=True)
    unit, step = np.datetime_data(values.dtype)
    if step != 1:
        raise ArgumentTypeError("times in steps of several units")
    if unit != "D":
        return pa.array(values, from_pandas=True)
    return _clipped(values.astype(np.int64), np.isnat(values)).view(pa.date32())


def _days_of_times(times: pa.Array) -> pa.Array:
    """Return the day of each time; Arrow's own functions overflow at the limits of a unit."""
    ticks = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    unit = times.type.unit if pa.types.is_timestamp(times.type) else "ms"
    return _clipped(ticks // _TICKS[unit], times.is_null().to_numpy(zero_copy_only=False))


def _clipped(days: Integers, missing: Mask) -> pa.Array:
    """Return days as 32-bit integers, clipped to their range, which exceeds every bound of a date."""
    limits = np.iinfo(np.int32)
    return pa.array(np.clip(days, limits.min, limits.max).astype(np.int32), mask=missing)


_TICKS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""Ticks of a day, by the unit of times."""


def _is_date(kind: pa.DataType) -> bool:
    """Return whether a type has dates, or times without a time zone, whose date does not depend on the place."""
    return pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return any(is_a(kind) for is_a in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


def _spelled(text: pa.Array) -> pa.Array:
    return pc.and_(pc.match_substring_regex(text, NUMBER), pc.less_equal(pc.utf8_length(text), LONGEST_NUMBER))


def _spells_dates(text: pa.Array) -> pa.Array:
    return pc.match_substring_regex(text, DATE)


def _text_of_numbers(numbers: Array, serials: date_formats.SerialDays | None) -> pa.Array:
    if numbers.dtype.kind != "f":
        return pa.array(numbers).cast(pa.large_string())
    floors = np.floor(np.clip(numbers, -date_formats.MOST_PLAIN, date_formats.MOST_PLAIN))
    are_serial = (floors >= serials.first) & (floors <= serials.last) if serials else False
    are_plain = (np.abs(numbers) < date_formats.MOST_PLAIN) & ((numbers == floors) | are_serial)
    whole = pa.array(floors.astype(np.int64)).cast(pa.large_string())
    return pc.if_else(pa.array(are_plain), whole, date_formats.NO_DATE_TEXT)


def _plain_serials(text: pa.Array, serials: date_formats.SerialDays) -> pa.Array:
    are_serial = pc.fill_null(pc.match_substring_regex(text, serials.pattern), False)
    digits = pc.replace_substring_regex(pc.if_else(are_serial, text, str(serials.first)), serials.pattern, r"\1")
    days = pc.add(digits.cast(pa.int32()), pa.scalar(int(as_day(serials.zero)), pa.int32()))
    return pc.if_else(are_serial, days.cast(pa.date32()).cast(pa.large_string()), text)


def unreadable(name: str) -> DomainError:
    problem = "the values must all be 64-bit numbers, booleans, dates or text, without a mixture of types. In a column"
    digits = "of dtype object, numbers must not have more digits than float64"
    return DomainError(f"{problem} {digits}. Convert the column to one type.", column=name)


def _invalid(name: str) -> DomainError:
    problem = "some values are invalid for the type of the column, such as text that is not UTF-8; correct them."
    return DomainError(problem, column=name)
