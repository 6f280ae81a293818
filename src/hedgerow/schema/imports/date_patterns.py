"""Conversion of date formats in descriptions of tables, and of bounds in these formats, to formats of a schema."""

import datetime
import re
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.text.date_formats import ISO, DateFormat
from hedgerow.text.days import FIRST, LAST, Day, as_day
from hedgerow.text.messages import shown

_LONGEST = 100  # the maximum number of characters of a pattern
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
    """Return the schema format for a pattern of strptime, None for ``YYYY-MM-DD``; SchemaError if there is none."""
    text = re.sub("%-?.", lambda match: _SHORT.get(match[0], match[0]), pattern[:_LONGEST].removeprefix("fmt:"))
    return _checked(text, pattern)


def format_of_unicode(pattern: str) -> str | None:
    """Return the schema format for a pattern of UTS 35, such as ``dd/MM/yyyy``; see `format_of_strptime`."""

    def directive(match: re.Match[str]) -> str:
        if match[1] is not None:  # quoted text
            return match[1].replace("%", "%%") or "'"
        if match[2] is None:  # a separator
            return match[0].replace("%", "%%")
        is_zone = match[2] in "XxZzVO"
        return "%z" if is_zone else "%f" if match[2] == "S" else _UNICODE.get(match[0], f"%{match[0]}")

    return _checked(_PARTS.sub(directive, pattern[:_LONGEST]), pattern)


def _checked(text: str, pattern: str) -> str | None:
    if text == _DAY:
        return None
    if (problem := DateFormat(text).problem) is not None or len(pattern) > _LONGEST:
        raise SchemaError(f"its date format {shown(pattern)} is not supported: {problem}; {REWRITE}")
    return text


REWRITE = "write them in one format, such as %Y-%m-%d, or declare the column as a category"


def plain_limits(limits: Mapping[str, Any], form: str | None, above: str, below: str) -> dict[str, Any]:
    """Return bounds in which dates of a format, and the dates of times, are written ``YYYY-MM-DD``.

    `above` and `below` are the keys of excluded bounds. If an excluded bound is a time, other times on the same day may
    be allowed. Its day is therefore inside the bounds unless the bound is midnight.
    """
    plain = {key: _plain(value, form) for key, value in limits.items()}
    days: dict[str, Any] = {key: day for key, (day, _) in plain.items()}
    has_times = form is not None and (form == ISO or "%H" in form)
    for key, step in ((above, -1), (below, 1)):
        day, is_after_midnight = plain.get(key, (None, False))
        if isinstance(day, Day) and (is_after_midnight or (has_times and key == above)):
            days[key] = Day(min(max(day + step, FIRST), LAST))
    return days


def plain_day(value: object) -> Any:
    """Return the day of text that is an ISO date or time; any other value unchanged."""
    return _plain(value, None)[0]


def _plain(value: object, form: str | None) -> tuple[Any, bool]:
    """Return the day of a date or time, else the value, and whether it is a time after midnight."""
    text = value.strip()[:_LONGEST] if isinstance(value, str) else ""
    text = text if form is None or form == ISO else _with_time(text, form)
    time = _TIME.fullmatch(text)
    day = as_day(time["day"]) if time else None
    return (day, bool((time["time"] or "").strip("0:."))) if time and isinstance(day, Day) else (value, False)


def _with_time(text: str, form: str) -> str:
    """Return text in a format as ``YYYY-MM-DD``, followed by its time of day if it has one; other text unchanged."""
    day = DateFormat(form).plain(text)
    try:
        time = datetime.datetime.strptime(text, form).time()
    except ValueError:
        return day
    return f"{day}T{time.isoformat()}" if day != text else day
