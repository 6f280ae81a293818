"""Formats of dates in descriptions of tables, as formats of a schema, and bounds that are written in them."""

import datetime
import re
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.text.date_formats import ISO, DateFormat
from hedgerow.text.days import FIRST, LAST, Day, as_day
from hedgerow.text.messages import shown

_LONGEST = 100  # characters of a pattern
_DAY = "%Y-%m-%d"
_SHORT = {"%F": _DAY, "%T": "%H:%M:%S", "%R": "%H:%M", "%e": "%d", "%-d": "%d", "%-m": "%m", "%-H": "%H"}
_UNICODE = {
    **{"yyyy": "%Y", "uuuu": "%Y", "y": "%Y", "u": "%Y", "yy": "%y", "uu": "%y", "MM": "%m", "M": "%m", "dd": "%d"},
    **{"MMM": "%b", "MMMM": "%B", "LL": "%m", "L": "%m", "d": "%d", "HH": "%H", "H": "%H", "mm": "%M", "ss": "%S"},
    **{"h": "%I", "hh": "%I", "a": "%p", "D": "%j", "DDD": "%j", "T": "T"},
}
_PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_TIME = re.compile(r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})([T ](?P<time>[0-9:.]+))?(?P<zone>Z|[-+][0-9]{2}:?[0-9]{2})?")


def format_of_strptime(pattern: str) -> str | None:
    """Return the format of a pattern of strptime's directives, None for ``YYYY-MM-DD``; SchemaError for another one."""
    text = re.sub("%-?.", lambda found: _SHORT.get(found[0], found[0]), pattern[:_LONGEST].removeprefix("fmt:"))
    return _checked(text, pattern)


def format_of_unicode(pattern: str) -> str | None:
    """Return the format of a pattern of UAX 35, such as ``dd/MM/yyyy``, as `format_of_strptime` does."""

    def directive(found: re.Match[str]) -> str:
        if found[1] is not None:  # quoted text
            return found[1].replace("%", "%%") or "'"
        if found[2] is None:  # a separator
            return found[0].replace("%", "%%")
        is_zone = found[2] in "XxZzVO"
        return "%z" if is_zone else "%f" if found[2] == "S" else _UNICODE.get(found[0], f"%{found[0]}")

    return _checked(_PARTS.sub(directive, pattern[:_LONGEST]), pattern)


def _checked(text: str, pattern: str) -> str | None:
    if text == _DAY:
        return None
    if (problem := DateFormat(text).problem) is not None or len(pattern) > _LONGEST:
        raise SchemaError(
            f"its dates are written {shown(pattern)}, which no format of a schema reads: {problem}; {REWRITE}"
        )
    return text


REWRITE = "write them in one format, such as %Y-%m-%d, or declare the column as a category"


def plain_limits(given: Mapping[str, Any], form: str | None, above: str, below: str) -> dict[str, Any]:
    """Return bounds with dates of a format, and the days of times, as ``YYYY-MM-DD``.

    `above` and `below` are the keys of bounds that are excluded. Of times, other ones of the same day are allowed,
    though none before midnight.
    """
    plain = {key: _plain(value, form) for key, value in given.items()}
    days: dict[str, Any] = {key: day for key, (day, _) in plain.items()}
    has_times = form is not None and (form == ISO or "%H" in form)
    for key, step in ((above, -1), (below, 1)):
        day, is_after_midnight = plain.get(key, (None, False))
        if isinstance(day, Day) and (is_after_midnight or (has_times and key == above)):
            days[key] = Day(min(max(day + step, FIRST), LAST))
    return days


def plain_day(value: object) -> Any:
    """Return the day of text that spells a date or a time as ISO has it; anything else as it is."""
    return _plain(value, None)[0]


def _plain(value: object, form: str | None) -> tuple[Any, bool]:
    """Return a value with a date as its day, and whether it is a time of that day, from which midnight is left out."""
    text = value.strip()[:_LONGEST] if isinstance(value, str) else ""
    text = text if form is None or form == ISO else _with_time(text, form)
    time = _TIME.fullmatch(text)
    day = as_day(time["day"]) if time else None
    return (day, bool((time["time"] or "").strip("0:."))) if time and isinstance(day, Day) else (value, False)


def _with_time(text: str, form: str) -> str:
    """Return text in a format as ``YYYY-MM-DD``, and with its time of day if it has one; other text as it is."""
    day = DateFormat(form).plain(text)
    try:
        time = datetime.datetime.strptime(text, form).time()
    except ValueError:
        return day
    return f"{day}T{time.isoformat()}" if day != text else day
