"""Attributes that are dates: calendar days, cut at the ends of years, months or days."""

import datetime
import json
import re
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import Attribute, CellType, Direction
from hedgerow.schema.derivation import Derivation
from hedgerow.schema.grid import MOST_SPACED, MOST_WIDTHS, spaced_cuts
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import WholeNumber
from hedgerow.tables.columns import Column
from hedgerow.text.date_formats import EXCEL, EXCEL_1904, ISO, DateFormat
from hedgerow.text.days import FIRST, LAST, Day, as_day
from hedgerow.text.messages import shown
from hedgerow.text.values import Value


@dataclass(frozen=True, init=False)
class Date(WholeNumber):
    """A date from `low` to `high`, cut into intervals ``(cut, next cut]``.

    Cells are dates, times without a time zone, or text such as ``2020-01-31`` or in the declared format. Only the date
    of a time is used. Bounds, cut points and operands of literals are of type `Day`. A `Day` prints as a date; in
    arithmetic it is the number of days since 1970-01-01.

    Attributes
    ----------
    low, high : Day
        The bounds, both inside the domain, declared as dates or as text. They are public: take them from the meaning of
        the attribute, never from private rows.
    cuts : tuple of Day
        The increasing cut points, each ``low <= cut < high``. ``"year"``, ``"month"``, ``"day"`` and multiples such as
        ``"10 years"`` or ``"3 months"`` request the last days of such periods. The default, ``"auto"``, chooses the
        shortest usual periods with at most 20 cut points (`default_date_cuts`). A number such as ``5`` requests five
        cut points at equal distances. A date with ``cuts=()`` has no literals.
    format : str or None
        The format of dates in text, in addition to ``YYYY-MM-DD``:

        - directives such as ``"%d.%m.%Y"`` or ``"%m/%d/%Y %H:%M"``, made of %Y, %m, %d, %H, %M, %S and %f with
          separators between them;
        - ``"iso"``: a time of day may follow, as in ``2020-01-31T12:34:56``;
        - ``"excel"``: serial days of spreadsheets, with or without a fraction, starting with 61 (1900-03-01);
        - ``"excel-1904"``: serial days of Excel's 1904 date system, starting with 1 (1904-01-02).

        Whole numbers are read as the text of their digits. Other numbers are accepted only as serial days.

    Examples
    --------
    >>> born = Date("1960-01-01", "1999-12-31", cuts="10 years")
    >>> born.bins[:2]
    ('[1960-01-01, 1969-12-31]', '(1969-12-31, 1979-12-31]')
    >>> [str(literal) for literal in born.literals("born", negations=True)][:2]
    ['born <= 1969-12-31', 'born <= 1979-12-31']
    >>> Date("2020-01-01", "2020-12-31").cuts[:2]
    ('2020-01-31', '2020-02-29')
    >>> seen = Date("2020-01-01", "2020-12-31", format="%d.%m.%Y")
    >>> seen.encode(Column.from_numpy(np.array(["1.1.2020", "31.12.2020"]), "seen"))
    array([ 0, 11], dtype=uint8)
    """

    format: str | None = None
    kind: ClassVar[str] = "date"
    scalar: ClassVar[type[float]] = Day

    def __init__(  # noqa: PLR0913 -- a parameter for each key of the file
        self,
        low: str | datetime.date | Day,
        high: str | datetime.date | Day,
        cuts: Sequence[str | datetime.date | Day] | int | str = "auto",
        *,
        missing: typing.Literal["error", "bin"] = "error",
        missing_values: tuple[Value, ...] = (),
        outside: typing.Literal["error", "clip", "bin"] = "error",
        monotone: Direction | None = None,
        description: str | None = None,
        unit: str | None = None,
        source: str | None = None,
        derived: Derivation | None = None,
        format: str | None = None,  # noqa: A002 -- the key of the file
    ) -> None:
        object.__setattr__(self, "format", format)
        first, last = _day_of("low", low), _day_of("high", high)
        if not first < last:
            raise SchemaError(f"high must be later than low, got low={first} and high={last}.", key="high")
        policies: Any = {"missing": missing, "missing_values": missing_values, "outside": outside, "monotone": monotone}
        policies |= {"description": description, "unit": unit, "source": source}
        super().__init__(first, last, date_cuts(first, last, cuts), **policies, derived=derived)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.format is not None:
            format_of(self.format)
        if numbers := [value for value in self.missing_values if not isinstance(value, str)]:
            problem = f"missing values of a date must be text, got {shown(numbers[0])}; put it in quotes."
            raise SchemaError(problem, key="missing_values")

    @property
    def cell_type(self) -> CellType:
        return CellType.DATE

    @property
    def missing_words(self) -> tuple[Value, ...]:
        """The values that mean "missing"; dates are spelled ``YYYY-MM-DD``."""
        form = date_format(self)
        return tuple(form.plain(str(value)) for value in self.missing_values) if form else self.missing_values

    def prepared(self, column: Column) -> Column:
        return super().prepared(column.plain_dates(self.format) if self.format else column)

    @property
    def details(self) -> str:
        cuts = self._cuts_text()
        return cuts + (f", written {self.format}" if self.format else "") + super().details[len(cuts) :]

    def reads(self, column: Column) -> Mask:
        is_boolean = not column.is_text and column.values.dtype.kind == "b"
        return np.zeros(len(column), dtype=bool) if is_boolean else column.are_dates()

    def typed(self, column: Column) -> pa.Array:
        present = self.prepared(column)
        return pa.array(present.days().astype(np.int32), pa.int32(), mask=present.missing).cast(pa.date32())

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        return [str(Day(round(value))) for value in super().drawn(size, rng)]

    def number_in(self, value: Value) -> float | None:
        day = as_day(value)
        return day if isinstance(day, Day) else None

    @staticmethod
    def _compared(literal: Literal) -> list[float]:
        return [value for value in literal.operands if isinstance(value, Day)]

    def _default_cuts(self, version: int) -> tuple[Day, ...]:  # noqa: ARG002 -- the same in all
        return default_date_cuts(Day(self.low), Day(self.high))

    def numbers_in(self, column: Column) -> Floats:
        return column.days()


def _day_of(key: str, value: Any) -> Day:
    day = as_day(value)
    if not isinstance(day, Day):
        raise SchemaError(f"expected a date such as 1980-12-31, got {shown(value)}.", key=key)
    if not FIRST <= day <= LAST:
        raise SchemaError(f"expected a date in the years 1 to 9999, got {shown(value)}.", key=key)
    return day


def date_format(attribute: Attribute) -> DateFormat | None:
    """Return the declared format of a date's text; None for other attributes and without a declared format."""
    return DateFormat(attribute.format) if isinstance(attribute, Date) and attribute.format is not None else None


def with_format(attribute: Attribute, form: str | None) -> Attribute:
    return replace(attribute, format=form) if form and isinstance(attribute, Date) else attribute


def format_of(text: Any) -> DateFormat:
    form = DateFormat(text) if isinstance(text, str) else None
    if form is not None and form.problem is None:
        return form
    expected = f"expected {ISO}, {EXCEL}, {EXCEL_1904} or directives such as %d.%m.%Y, got {shown(text)}"
    raise SchemaError(f"{expected}: {form.problem}." if form else f"{expected}.", key="format")


_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d")
_COMMON = ("", ISO, *(f"{day}{time}" for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S")))
_FIRST = 1000  # rows


def recognised_formats(column: Column, declared: str | None = None) -> tuple[str, ...]:
    """Return the common formats in which all text of a column spells dates; ``("",)`` means ``YYYY-MM-DD``."""
    if not column.is_text or column.is_missing.all():
        return ()
    formats = [form for form in _COMMON if _spells_dates(column[:_FIRST], form) and _spells_dates(column, form)]
    return ("",) if "" in formats else (declared,) if declared and _spells_dates(column, declared) else tuple(formats)


def _spells_dates(column: Column, form: str) -> bool:
    plain = column.plain_dates(form) if form else column
    return bool((plain.are_dates() | column.is_missing).all())


def date_line(name: str, form: str) -> str:
    """Return the line of a schema file that declares a date, with bounds to fill in."""
    written = f', format: "{form}"' if form else ""
    return f"{json.dumps(name, ensure_ascii=False)}: {{kind: date, low: FILL IN, high: FILL IN{written}}}"


_PERIOD = re.compile("(?:([1-9][0-9]{0,3}) )?(year|month|day)s?")
_MONTHS = {"month": 1, "year": 12}
_YEARS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
STEPS = ((1, "day"), (7, "day"), (1, "month"), (3, "month"), (6, "month"), *((years, "year") for years in _YEARS))
"""The usual periods as a number and a unit, from the shortest to the longest."""


def default_date_cuts(low: Day, high: Day) -> tuple[Day, ...]:
    """Return the default grid for dates: the last days of the shortest usual periods with at most 20 cut points.

    The periods are days, weeks counted from `low`, months, quarters, half years, years, and 2, 5, 10, 20, 50, 100, 200
    and 500 years. The grid depends only on the bounds, which are public, and not on any row. It has at least one cut
    point.

    Examples
    --------
    >>> default_date_cuts(as_day("2020-01-01"), as_day("2020-12-31"))[:3]
    ('2020-01-31', '2020-02-29', '2020-03-31')
    >>> default_date_cuts(as_day("1920-01-01"), as_day("2024-12-31"))[0]
    '1924-12-31'
    """
    grids = (tuple(islice(_ends(low, high, number, unit), MOST_WIDTHS + 1)) for number, unit in STEPS)
    return next(cuts for cuts in grids if len(cuts) <= MOST_WIDTHS)


def date_cuts(low: Day, high: Day, cuts: Any) -> tuple[Day, ...]:
    """Return the cut points of a date as a schema declares them; see `Date`.

    Periods of several years or months are aligned with the calendar: 10 years end with 1989, three months with March.
    Periods of several days are counted from `low`.
    """
    period = _PERIOD.fullmatch(cuts) if isinstance(cuts, str) else None
    if period:
        ends = tuple(islice(_ends(low, high, int(period[1] or 1), period[2]), MOST_SPACED + 1))
        if len(ends) <= MOST_SPACED:
            return ends
        problem = f"cuts: {cuts} makes more than {MOST_SPACED:,} cut points; use longer periods."
        raise SchemaError(problem, key="cuts")
    if isinstance(cuts, str) and cuts == "auto":
        return default_date_cuts(low, high)
    if isinstance(cuts, int) and not isinstance(cuts, (bool, Day)) and 1 <= cuts <= MOST_SPACED:
        return tuple(map(Day, spaced_cuts(int(low), int(high), cuts, whole=True)))
    if isinstance(cuts, str) or not isinstance(cuts, Sequence):
        expected = "expected a list of dates, auto, a period such as year, month, day or 10 years, or a number of cut"
        raise SchemaError(f"{expected} points from 1 to {MOST_SPACED:,}; got {shown(cuts)}.", key="cuts")
    return tuple(_day_of("cuts", cut) for cut in cuts)


def _ends(low: Day, high: Day, number: int, unit: str) -> Iterator[Day]:
    """Yield the last days of the periods that end at or after `low` and before `high`."""
    if unit == "day":
        return map(Day, range(low + number - 1, high, number))
    months = number * _MONTHS[unit]
    begin = low.date.year * 12 + low.date.month - 1
    end = high.date.year * 12 + high.date.month
    nexts = range(begin // months * months + months, end, months)  # in months since January of year 0
    lasts = (Day(as_day(datetime.date(month // 12, month % 12 + 1, 1)) - 1) for month in nexts)
    return (day for day in lasts if day < high)
