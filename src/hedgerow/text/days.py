"""Dates of the calendar: whole numbers of days in arithmetic, ``YYYY-MM-DD`` in text."""

import datetime
import re
from typing import Any

_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([2468][048]|0[48]|[13579][26])00)"
_DAY_OF_YEAR = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
DATE = f"^({_YEAR}-{_DAY_OF_YEAR}|{_LEAP}-02-29)$"
"""A pattern for dates of the Gregorian calendar in the years 1 to 9999, and for no other text."""
_EPOCH = datetime.date(1970, 1, 1).toordinal()


class Day(int):
    """A date: the number of days since 1970-01-01 in arithmetic and comparisons, ``YYYY-MM-DD`` in text.

    Sums and differences are plain numbers of days. A day outside the years 1 to 9999 has no date: its text is the
    number of days since 1970-01-01.

    Examples
    --------
    >>> Day(30), as_day("2000-03-01") - as_day("2000-02-01")
    ('1970-01-31', 29)
    """

    __slots__ = ()

    @property
    def date(self) -> datetime.date:
        """The date as Python's own type."""
        return datetime.date.fromordinal(int(self) + _EPOCH)

    def __str__(self) -> str:
        return self.date.isoformat() if FIRST <= self <= LAST else f"{int(self)} days since 1970-01-01"

    def __repr__(self) -> str:
        return repr(str(self))


FIRST, LAST = (Day(date.toordinal() - _EPOCH) for date in (datetime.date.min, datetime.date.max))
"""The first and last day that have a date, in the years 1 and 9999."""


def as_day(value: Any) -> Any:
    """Return the day of a date or of its text, and any other value unchanged, such as a number or a time."""
    if isinstance(value, str) and re.fullmatch(DATE, value):
        value = datetime.date.fromisoformat(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return Day(value.toordinal() - _EPOCH)
    return value


def as_plain(value: Any) -> Any:
    """Return a day as text for files, and any other value unchanged."""
    return str(value) if isinstance(value, Day) else value
