"""Cut points of dates: the last days of years, months or days between the declared bounds."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from hedgerow.days import Day, as_day
from hedgerow.errors import SchemaError
from hedgerow.messages import shown
from hedgerow.schema.grid import MOST_WIDTHS
from hedgerow.schema.spaced_cuts import MOST_SPACED, spaced_cuts

_PERIOD = re.compile("(?:([1-9][0-9]{0,3}) )?(year|month|day)s?")
_MONTHS = {"month": 1, "year": 12}
STEPS = (
    *((number, "day") for number in (1, 7)),
    *((number, "month") for number in (1, 3, 6)),
    *((number, "year") for number in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)
"""The usual periods, from the shortest on: their number and their unit."""


def default_date_cuts(low: Day, high: Day) -> tuple[Day, ...]:
    """Return the default grid of dates: the last days of the shortest usual periods that make at most 20 cut points.

    The periods are days, weeks counted from `low`, months, quarters, half years, years, and 2, 5, 10, 20, 50 and more
    years. They depend on the bounds alone, which are public, and on no row. There is at least one.

    Examples
    --------
    >>> default_date_cuts(as_day("2020-01-01"), as_day("2020-12-31"))[:3]
    ('2020-01-31', '2020-02-29', '2020-03-31')
    >>> default_date_cuts(as_day("1920-01-01"), as_day("2024-12-31"))[0]
    '1924-12-31'
    """
    found = (tuple(islice(_ends(low, high, number, unit), MOST_WIDTHS + 1)) for number, unit in STEPS)
    return next(cuts for cuts in found if len(cuts) <= MOST_WIDTHS)


def date_cuts(low: Day, high: Day, cuts: Any) -> tuple[Day, ...]:
    """Return the cut points of dates that a schema declares.

    ``"auto"`` is the default grid; ``"year"``, ``"month"``, ``"day"``, or a number of them, as in ``"10 years"``, the
    last days of such periods; a number, so many cut points at equal distances; a list, its dates. Periods of several
    years or months end where their number divides the year, or the month counted from January of year 0: 10 years end
    with 1989, three months with March. Periods of several days are counted from `low`.

    Examples
    --------
    >>> date_cuts(as_day("1980-05-17"), as_day("2011-01-01"), "10 years")
    ('1989-12-31', '1999-12-31', '2009-12-31')
    """
    period = _PERIOD.fullmatch(cuts) if isinstance(cuts, str) else None
    if period:
        return _of_period(low, high, int(period[1] or 1), period[2])
    if isinstance(cuts, str) and cuts == "auto":
        return default_date_cuts(low, high)
    if isinstance(cuts, int) and not isinstance(cuts, (bool, Day)) and 1 <= cuts <= MOST_SPACED:
        return tuple(map(Day, spaced_cuts(int(low), int(high), cuts, whole=True)))
    if isinstance(cuts, str) or not isinstance(cuts, Sequence):
        raise SchemaError(
            "expected a list of dates, auto, year, month, day, a number of these as in 10 years, or a number of cut "
            f"points from 1 to {MOST_SPACED:,}; got {shown(cuts)}.",
            key="cuts",
        )
    return _declared(low, high, cuts)


def _declared(low: Day, high: Day, cuts: Sequence[Any]) -> tuple[Day, ...]:
    found = tuple(map(as_day, cuts))
    others = [cut for cut in found if not isinstance(cut, Day)]
    if others:
        raise SchemaError(f"expected dates, as in 1980-12-31, got {shown(others[0])}.", key="cuts")
    if any(not one < other for one, other in pairwise(found)):
        raise SchemaError("expected increasing cut points, got others.", key="cuts")
    if any(not low <= cut < high for cut in found):
        raise SchemaError(f"expected {low} <= cut < {high}, got a cut point outside.", key="cuts")
    return found


def _of_period(low: Day, high: Day, number: int, unit: str) -> tuple[Day, ...]:
    found = tuple(islice(_ends(low, high, number, unit), MOST_SPACED + 1))
    if len(found) > MOST_SPACED:
        raise SchemaError(
            f"expected at most {MOST_SPACED:,} cut points, got more; choose longer periods than {shown(unit)}.",
            key="cuts",
        )
    return found


def _ends(low: Day, high: Day, number: int, unit: str) -> Iterator[Day]:
    """Yield the last days of the periods that end from `low` on and before `high`."""
    if unit == "day":
        return map(Day, range(low + number - 1, high, number))
    months = number * _MONTHS[unit]
    begin = low.date.year * 12 + low.date.month - 1
    end = high.date.year * 12 + high.date.month
    lasts = (Day(_first_of(month) - 1) for month in range(begin // months * months + months, end, months))
    return (day for day in lasts if day < high)


def _first_of(month: int) -> Day:
    """Return the first day of a month counted from January of year 0."""
    return as_day(datetime.date(month // 12, month % 12 + 1, 1))
