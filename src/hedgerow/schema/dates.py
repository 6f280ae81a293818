"""Dates: attributes whose values are days of the calendar, cut at the ends of years, months or days."""

from __future__ import annotations

import datetime
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import Column
from hedgerow.days import FIRST, LAST, Day, as_day
from hedgerow.errors import SchemaError
from hedgerow.messages import shown
from hedgerow.schema.calendar_cuts import date_cuts, default_date_cuts
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer
from hedgerow.values import Value


@dataclass(frozen=True, init=False)
class Date(Integer):
    """A date from `low` to `high`, cut into intervals ``(cut, next cut]``.

    Values are of type date, times without a time zone, or text ``YYYY-MM-DD``; numbers are refused. Bounds, cut points
    and what literals compare with are `Day`: written as dates, and days since 1970-01-01 in arithmetic.

    Attributes
    ----------
    low, high : Day
        The bounds, both inside the domain; given as dates or as text. Public: from the meaning of the attribute, never
        from private rows.
    cuts : tuple of Day
        The cut points, increasing, each ``low <= cut < high``. Declared as ``"year"``, ``"month"``, ``"day"`` or a
        number of them, such as ``"10 years"`` or ``"3 months"``, they are the last days of such periods; as ``"auto"``,
        the default, those of the shortest usual periods that make at most 20 (`default_date_cuts`); as ``5``, so many
        at equal distances. A date with ``cuts=()`` has no literals.

    Examples
    --------
    >>> born = Date("1960-01-01", "1999-12-31", cuts="10 years")
    >>> born.bins[:2]
    ('[1960-01-01, 1969-12-31]', '(1969-12-31, 1979-12-31]')
    >>> [str(literal) for literal in born.literals("born", negations=True)][:2]
    ['born <= 1969-12-31', 'born <= 1979-12-31']
    >>> Date("2020-01-01", "2020-12-31").cuts[:2]
    ('2020-01-31', '2020-02-29')
    """

    kind: ClassVar[str] = "date"

    def __init__(  # noqa: PLR0913 -- one a key of the file
        self,
        low: str | datetime.date | Day,
        high: str | datetime.date | Day,
        cuts: Sequence[str | datetime.date | Day] | int | str = "auto",
        *,
        missing: typing.Literal["error", "bin"] = "error",
        missing_values: tuple[Value, ...] = (),
        outside: typing.Literal["error", "clip", "bin"] = "error",
        description: str | None = None,
        unit: str | None = None,
        source: str | None = None,
    ) -> None:
        first, last = _bound("low", low), _bound("high", high)
        if not first < last:
            raise SchemaError(f"expected low < high, got {first} and {last}.", key="high")
        super().__init__(
            first,
            last,
            date_cuts(first, last, cuts),
            missing=missing,
            missing_values=missing_values,
            outside=outside,
            description=description,
            unit=unit,
            source=source,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(not isinstance(value, str) for value in self.missing_values):
            raise SchemaError(
                "expected text for missing values of a date, got a number; put it in quotes.", key="missing_values"
            )

    @staticmethod
    def _compared(literal: Literal) -> list[float]:
        return [value for value in literal.operands if isinstance(value, Day)]

    def _default_cuts(self) -> tuple[Day, ...]:
        return default_date_cuts(Day(self.low), Day(self.high))

    def numbers_in(self, column: Column) -> NDArray[np.float64]:
        """Return the dates of a column as days since 1970-01-01, 0 where missing.

        Raises
        ------
        DomainError
            If a value is no date.
        """
        return column.days()


def _bound(key: str, value: Any) -> Day:
    day = as_day(value)
    if not isinstance(day, Day):
        raise SchemaError(f"expected a date, as in 1980-12-31, got {shown(value)}.", key=key)
    if not FIRST <= day <= LAST:
        raise SchemaError("expected a date of the years 1 to 9999, got one outside.", key=key)
    return day
