"""Columns of database tables as Ibis expressions, with the same semantics as `hedgerow.tables.columns.Column`."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from hedgerow.engines.engine import Expression
from hedgerow.engines.packages import ibis
from hedgerow.engines.sources import engine_of
from hedgerow.errors import ArgumentTypeError, DomainError
from hedgerow.text import date_formats
from hedgerow.text.days import DATE, Day, as_day
from hedgerow.text.values import LONGEST_NUMBER, NUMBER, WHOLE, Value, is_double, spelled_number

_EXACT_DIGITS = 15  # engines convert decimals with at most this number of digits to the nearest float64
_FAR = 10**9  # days
_WHOLE_EXACTLY = 2**53  # whole numbers of smaller absolute value are exact in float64


@dataclass(frozen=True, repr=False)
class EngineColumn:
    """A column of a table in a database."""

    name: str
    # Booleans, numbers or text that is not trimmed. Decimals with places and single precision are float64, dates and
    # local times are days since 1970-01-01, and decimals without places are text, since float64 would lose digits.
    values: Expression
    kind: str  # boolean, integer, float or text
    holds_dates: bool = False  # whether the values are dates

    @classmethod
    def of(cls, table: Expression, name: str) -> Self:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"expected the name of a column, got {type(name).__name__}.")
        if name not in table.columns:
            raise DomainError.absent(name, table.columns)
        engine = engine_of(table)
        engine.check_name(name)
        values = table[name]
        kind = values.type()
        if kind.is_boolean():
            return cls(name, values, "boolean")
        if kind.is_unsigned_integer() and not kind.is_uint64():  # Ibis does not compare it with negative numbers
            return cls(name, values.cast("int64"), "integer")
        if kind.is_integer():
            return cls(name, values, "integer")
        if kind.is_decimal():
            return cls._of_decimals(name, values)
        if kind.is_floating():
            return cls(name, values if kind.is_float64() else values.cast("float64"), "float")
        if kind.is_date() or (engine.has_local_times and kind.is_timestamp() and kind.timezone is None):
            return cls(name, _days(values.date() if kind.is_timestamp() else values), "integer", holds_dates=True)
        if kind.is_string():
            return cls(name, engine.plain_text(values), "text")
        problem = f"expected booleans, numbers, dates or text, got {_word(kind)}; cast it in a view or in the file."
        raise DomainError(problem, column=name)

    @classmethod
    def _of_decimals(cls, name: str, values: Expression) -> Self:
        kind = values.type()
        if kind.scale == 0:
            return cls(name, values.cast("string").nullif("NaN"), "text")
        exact = kind.precision is not None and kind.precision <= _EXACT_DIGITS
        # Many digits are cast by way of text, since DuckDB's direct cast does not round to nearest.
        return cls(name, (values if exact else values.cast("string")).cast("float64"), "float")

    @cached_property
    def text(self) -> Expression:
        """Text without the white space around it."""
        return self.values.strip()

    @cached_property
    def word(self) -> Expression:
        """Text without surrounding white space; whole numbers without zeros after the point, like `plain_word`."""
        return self.text.re_replace(WHOLE, engine_of(self.values).group)

    @property
    def is_null(self) -> Expression:
        return self.values.isnull() | self.values.isnan() if self.kind == "float" else self.values.isnull()

    @property
    def is_absent(self) -> Expression:
        """True if a value is NULL, NaN or blank text."""
        return self.is_null | (self.text == "") if self.kind == "text" else self.is_null

    @cached_property
    def numbers(self) -> Expression:
        """The values as numbers; NULL, and no error of the engine, for text that is not a number."""
        if self.kind != "text":
            return self.values
        spelled = _all_of(self.text, NUMBER, "-+.0-9eE") & (self.text.length() <= LONGEST_NUMBER)
        return ibis.cases((spelled, self.text), else_=ibis.null("string")).cast("float64")

    @cached_property
    def days(self) -> Expression:
        """The dates as days since 1970-01-01; NULL, and no error of the engine, for text that is not a date."""
        if self.kind != "text":
            return self.values
        spelled = _all_of(self.text, DATE, "-0-9")
        return _days(ibis.cases((spelled, self.text), else_=ibis.null("string")).cast("date"))

    def plain_dates(self, form: date_formats.DateFormat) -> "EngineColumn":
        """Return text, or numbers as text, with dates of a format as ``YYYY-MM-DD``, like `Column.plain_dates`."""
        if self.holds_dates or self.kind == "boolean":
            return self
        engine = engine_of(self.values)
        text = self.text if self.kind == "text" else self._text_of_numbers(form.serials)
        for pattern, replacement in form.steps:
            text = text.re_replace(pattern, replacement.replace("\\", engine.group[0]))
        if form.serials:
            pattern = form.serials.pattern
            digits: Any = ibis.cases((text.re_search(pattern), text), else_=str(form.serials.first))
            days = ibis.date(form.serials.zero) + digits.re_replace(pattern, engine.group).cast("int64").as_interval(
                "D"
            )
            spelled = text.re_search(pattern) & ~text.re_search("[^.0-9]")
            text = ibis.cases((spelled, days.strftime("%Y-%m-%d")), else_=text)
        return EngineColumn(self.name, text, "text")

    def _text_of_numbers(self, serials: date_formats.SerialDays | None) -> Expression:
        if self.kind == "integer":
            return self.values.cast("string")
        floors = self.values.floor()
        are_whole = floors == self.values
        if serials:
            are_whole = are_whole | ((floors >= serials.first) & (floors <= serials.last))
        are_plain = (self.values.abs() < date_formats.MOST_PLAIN) & are_whole
        whole = ibis.cases((are_plain, floors), else_=ibis.null("float64")).cast("int64").cast("string")
        return ibis.cases((self.is_null, ibis.null("string")), (are_plain, whole), else_=date_formats.NO_DATE_TEXT)

    def constant(self, value: Value) -> int | float | bool | None:
        """Return a value as stored in a column of booleans or numbers, or None; like `Column.equals`."""
        if self.holds_dates and isinstance(value, str):
            day = as_day(value)
            return int(day) if isinstance(day, Day) else None
        number = spelled_number(value)
        if number is None or number != number:
            return None
        if self.kind == "boolean":
            return bool(number) if number in (0, 1) else None
        if self.kind == "integer":
            low, high = (0, 2**64) if self.values.type().is_uint64() else (-(2**63), 2**63)
            return int(number) if low <= number < high and number == int(number) else None
        return float(number) if is_double(number) else None


def _word(kind: Any) -> str:
    if kind.is_binary():
        return "bytes, decimals of more than 38 digits, or types that differ between files"
    if kind.is_unknown():
        return "a type that Ibis does not support, such as numeric with a negative scale"
    return f"the type {str(kind).partition('(')[0].partition('<')[0]}"


def _days(dates: Expression) -> Expression:
    """Return days since 1970-01-01; a number far outside all bounds for infinite dates and years outside 1 to 9999."""
    before, after = dates < ibis.date(1, 1, 1), dates > ibis.date(9999, 12, 31)
    return ibis.cases((before, -_FAR), (after, _FAR), else_=dates.epoch_days())


def _all_of(text: Expression, pattern: str, alphabet: str) -> Expression:
    """Return whether a pattern matches a whole text; in some engines, ``$`` also matches before a final line break."""
    return text.re_search(pattern) & ~text.re_search(f"[^{alphabet.replace('-', '', 1)}-]")


def double(number: float) -> Expression:
    """Return an exact float64 literal, by way of text, since numbers in SQL may be decimals."""
    return ibis.literal(repr(float(number))).cast("float64")


def constant_for(column: EngineColumn, number: float) -> Expression:
    """Return a literal to compare a column with: a whole number if both are whole and exact, else float64."""
    whole = column.kind == "integer" and float(number).is_integer() and abs(number) < _WHOLE_EXACTLY
    whole = whole and not column.values.type().is_uint64()  # Ibis does not compare this type with negative numbers
    return ibis.literal(int(number)) if whole else double(number)
