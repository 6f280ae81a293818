"""Formats of dates in text: a bounded grammar of strptime's directives, ISO with times of day, and serial days.

A format rewrites the text of a cell as ``YYYY-MM-DD`` if the text matches, and leaves other text unchanged. Memory,
engines, SQL and Python use the same regular expressions, which have no backslashes and no unnumbered groups.
"""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

ISO = "iso"
LONGEST_FORMAT = 40
MOST_PLAIN = 10**7
"""Engines write smaller floating-point numbers without an exponent; no larger number is a serial day."""
NO_DATE_TEXT = "no date"  # the text of a number that is not a serial day


@dataclass(frozen=True)
class SerialDays:
    """A date system of spreadsheets: dates as numbers of days, whose fraction is the time of day."""

    zero: str  # the date of serial day 0
    first: int  # the first serial day that is a date
    last: int  # the serial day of 9999-12-31
    pattern: str  # matches the text of a serial day; the first group is its whole days


_FRACTION = "([.][0-9]{1,17})?$"
EXCEL, EXCEL_1904 = "excel", "excel-1904"
SERIAL_DAYS: Mapping[str, SerialDays] = {
    EXCEL: SerialDays(
        "1899-12-30",
        61,  # 1900-03-01: before it, Excel counts a 29 February 1900, and other spreadsheets do not
        2_958_465,
        "^(6[1-9]|[7-9][0-9]|[1-9][0-9]{2,5}|1[0-9]{6}|2[0-8][0-9]{5}|29[0-4][0-9]{4}|295[0-7][0-9]{3}"
        f"|2958[0-3][0-9]{{2}}|29584[0-5][0-9]|295846[0-5]){_FRACTION}",
    ),
    EXCEL_1904: SerialDays(
        "1904-01-01",
        1,  # 1904-01-02: 0 is also the value of a formula that refers to a blank cell, and fractions below 1 are times
        2_957_003,
        f"^([1-9][0-9]{{0,5}}|1[0-9]{{6}}|2[0-8][0-9]{{5}}|29[0-4][0-9]{{4}}|295[0-6][0-9]{{3}}|295700[0-3]){_FRACTION}",
    ),
}
"""The date systems of Excel by the format that declares them: the default, and the system of old Excel for Mac."""
_ISO = ("([0-9]{4})-([0-9]{2})-([0-9]{2})([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?)?", (1, 2, 3))
_PADDED = ("^ ([0-9]{4})-0?([0-9]{2})-0?([0-9]{2})$", (1, 2, 3))
_DIRECTIVES = {
    "%Y": "([0-9]{4})",
    "%m": "([0-9]{1,2})",
    "%d": "([0-9]{1,2})",
    "%H": "([01]?[0-9]|2[0-3])",
    "%M": "[0-5][0-9]",
    "%S": "[0-5][0-9]",
    "%f": "[0-9]{1,9}",
}
_FIXED = {"%m": "([0-9]{2})", "%d": "([0-9]{2})", "%H": "([01][0-9]|2[0-3])"}
_SEPARATORS = "-./,:; T"
_ORDERS = (["%d", "%m", "%Y"], ["%m", "%d", "%Y"], ["%Y", "%m", "%d"])
_TIMES = (["%H", "%M", "%S", "%f"], ["%H", "%M", "%S"], ["%H", "%M"], ["%H"], [])
_HINTS = {
    "%y": "years of two digits are ambiguous; write years with four digits, %Y",
    "%b": "names of months depend on the language; write months as numbers, %m",
    "%p": "write hours from 0 to 23, %H",
    "%z": "a time zone can change the date; write local dates without a time zone",
    "%j": "write month and day, %m and %d",
}
_HINTS |= {"%B": _HINTS["%b"], "%I": _HINTS["%p"], "%Z": _HINTS["%z"]}


@dataclass(frozen=True)
class DateFormat:
    """A format of dates in text. It is valid if `problem` is None."""

    text: str  # ``iso``, ``excel``, ``excel-1904`` or directives, such as ``%d.%m.%Y``

    @property
    def problem(self) -> str | None:
        """The reason why the format is invalid, with a remedy, or None."""
        parts = self._parts
        directives = [part for part in parts if part.startswith("%")]
        dates = [part for part in directives if part in ("%Y", "%m", "%d")]
        if self.text == ISO or self.serials:
            return None
        if hints := [_HINTS[part] for part in directives if part in _HINTS]:
            return hints[0]
        if len(self.text) > LONGEST_FORMAT or not _spells(parts):
            return "write year, month and day as %Y, %m and %d, separated by - . / or a space"
        if dates not in _ORDERS:
            return "use each of %d, %m and %Y once, in the order %d %m %Y, %m %d %Y or %Y %m %d"
        is_time = [part for part in directives if part not in dates] in _TIMES
        return None if is_time else "write times of day as %H, %H %M, %H %M %S or %H %M %S %f"

    @cached_property
    def _parts(self) -> list[str]:
        return re.findall("%.?|[^%]", self.text, re.DOTALL)

    @property
    def serials(self) -> SerialDays | None:
        """The date system of a format of serial days, or None."""
        return SERIAL_DAYS.get(self.text)

    @cached_property
    def steps(self) -> tuple[tuple[str, str], ...]:
        r"""The replacements that rewrite text, in order: a pattern for the whole text, and groups such as ``\1``.

        The first replacement marks a match by a leading space, which trimmed text does not have. Formats of serial days
        have no replacements.
        """
        if self.serials:
            return ()
        pattern, (year, month, day) = _ISO if self.text == ISO else self._compiled()
        return ((f"^{pattern}$", rf" \{year}-0\{month}-0\{day}"), (_PADDED[0], r"\1-\2-\3"))

    def _compiled(self) -> tuple[str, tuple[int, int, int]]:
        pattern, groups, count = "", dict[str, int](), 0
        for place, part in enumerate(self._parts):
            around = [*self._parts[max(place - 1, 0) : place], *self._parts[place + 1 : place + 2]]
            is_fixed = part in _FIXED and any(neighbour.startswith("%") for neighbour in around)
            piece = _FIXED[part] if is_fixed else _DIRECTIVES.get(part, f"[{part}]" if part != "-" else part)
            groups[part] = count + 1
            count += piece.count("(")
            pattern += piece
        return pattern, (groups["%Y"], groups["%m"], groups["%d"])

    def plain(self, text: str) -> str:
        """Return text in this format as ``YYYY-MM-DD``, and other text unchanged."""
        if self.serials:
            match = re.fullmatch(self.serials.pattern.strip("^$"), text)
            day = datetime.date.fromisoformat(self.serials.zero).toordinal() + int(match[1]) if match else 0
            return datetime.date.fromordinal(day).isoformat() if match else text
        for pattern, replacement in self.steps:
            text = re.sub(pattern.replace("$", r"\Z"), replacement, text)
        return text


def _spells(parts: Sequence[str]) -> bool:
    """Return whether all parts are known, and no digits of variable length precede other digits."""
    known = all(part in _DIRECTIVES or (len(part) == 1 and part in _SEPARATORS) for part in parts)
    known = known and " " not in (*parts[:1], *parts[-1:])
    is_ambiguous = any(part == "%f" and after.startswith("%") for part, after in pairwise(parts))
    return known and not is_ambiguous
