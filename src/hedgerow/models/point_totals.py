"""Totals of a scorecard's points for any target: their tables, and their meaning in sentences."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any
from xml.etree.ElementTree import Element

from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.models.conditions import Dialect
from hedgerow.models.model import Listing, class_titles
from hedgerow.models.point_lines import BY_NOISE, INTERVAL_NOTE, ROWS, PointLine, PointTable, point_lines
from hedgerow.models.point_scale import PointScale
from hedgerow.models.points import NORMAL_95, AttributePoints, PointBin, Points, extreme_totals, point_bins
from hedgerow.models.score_bands import ScoreBand, label_bands
from hedgerow.schema import Schema
from hedgerow.text.language import _, percentage, pgettext, significant
from hedgerow.text.language import number as local_number
from hedgerow.text.language import percent as local_percent
from hedgerow.text.values import printable, shown_text

MOST_TOTALS = 13  # the number of totals in a table
_FARTHEST = 5.0  # log-odds beyond which a table lists only the extreme totals: probabilities of 0.7 % and 99.3 %


@dataclass(frozen=True)
class ListedTotal:
    """A total of points in a table, with the probability of the second class, or the predicted number.

    Attributes
    ----------
    total : int
        The total.
    value : float
        The probability, or the number.
    low, high : float, optional
        The ends of its 95 % noise interval; None if there is no noise or it is unknown.
    is_number : bool
        True if the scorecard predicts a number.
    """

    total: int
    value: float
    low: float | None = None
    high: float | None = None
    is_number: bool = False

    @property
    def shown(self) -> str:
        """The probability or number as text."""
        return self._text(self.value)

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends of the interval as text; empty if there is none."""
        return () if self.low is None or self.high is None else (self._text(self.low), self._text(self.high))

    def _text(self, value: float) -> str:
        return digits(value) if self.is_number else percent(value)

    def record(self) -> dict[str, Any]:
        """Return the total as a record of `Scorecard.risks`."""
        name = "prediction" if self.is_number else "probability"
        return {"total": self.total, name: self.value, "low": self.low, "high": self.high}


def digits(number: float) -> str:
    """Return a number as text, without the last digits of float64."""
    return local_number(f"{number:.10g}")


def percent(probability: float) -> str:
    """Return a probability as a percentage, with one decimal below 10 % and above 90 %."""
    if probability < 0.0005:
        return f"<{percentage(0.1)}"
    if probability > 0.9995:
        return f">{percentage(99.9)}"
    return local_percent(probability, 0 if 0.1 <= probability <= 0.9 else 1)


def risk_of(total: int, odds: float, error: float | None) -> ListedTotal:
    """Return a listed total from its log-odds of the second class and their standard error."""
    from scipy.special import expit  # takes long to import

    low, high = (None if error is None else float(expit(odds + sign * NORMAL_95 * error)) for sign in (-1, 1))
    return ListedTotal(total, float(expit(odds)), low, high)


def tabulated_totals(low: int, high: int, unit: float, most: int, even: float = 0.0) -> list[int]:
    """Return at most `most` totals from `low` to `high` for a table: all of them, or the ends and round totals between.

    The round totals have log-odds of at most 5 in size; the total `even` has log-odds of 0.
    """
    if high - low < most:
        return list(range(low, high + 1))
    farthest = _FARTHEST / unit
    return ends_and_between(low, high, max(low + 1, even - farthest), min(high - 1, even + farthest), most)


def ends_and_between(low: int, high: int, first: float, last: float, most: int) -> list[int]:
    if first > last:
        first, last = low + 1, high - 1
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if last // step + -first // step + 1 <= most - 2)
    inner = range(int(-(-first // step)) * step, int(last // step) * step + 1, step)
    return [low, *inner, high]


@dataclass(frozen=True)
class PointTotals(ABC):
    """The points of a scorecard, and the value of a point."""

    schema: Schema
    base: Points  # the points that every row starts with
    parts: tuple[AttributePoints, ...]
    unit: float  # the value of a point: log-odds, or an amount of the predicted number
    error: float | None  # the standard error of the value of a total, due to the noise of the release
    scale: PointScale | None = None  # for two classes, the scale of the points, unless they are log-odds

    @abstractmethod
    def check(self) -> None:
        """Raise ArgumentError if unit, error or scale does not fit the target."""

    @property
    @abstractmethod
    def outcomes(self) -> tuple[Any, ...]:
        """The possible predictions: classes or numbers."""

    @abstractmethod
    def places(self, totals: Integers) -> Index:
        """Return the index in `outcomes` of the prediction of each total."""

    @abstractmethod
    def shares(self, totals: Integers) -> Floats:
        """Return the class probabilities of each total; an array without columns for a number."""

    def score_bands(self, most: int) -> tuple[tuple[ScoreBand, ...], Callable[[Integers], Index]]:  # noqa: ARG002
        """Return the bands of totals, and a function that returns the index of the band of each total.

        For more than two classes there is one band for each class. SchemaError for a number.
        """
        return label_bands(range(len(self.schema.classes)))[0], self.places

    @property
    @abstractmethod
    def risks(self) -> tuple[ListedTotal, ...]:
        """Listed totals with their probability or number; empty for more than two classes."""

    @property
    @abstractmethod
    def meaning(self) -> str:
        """The title of the column with the probability or number of a total."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The title of the scorecard."""

    @property
    @abstractmethod
    def plot_title(self) -> str:
        """The title of a plot of the points."""

    @property
    @abstractmethod
    def notes(self) -> list[str]:
        """The meaning of totals, in sentences."""

    @property
    def points_for(self) -> int:
        """The index of the class that high totals favour, for two classes; 1 for a number."""
        return 1

    @abstractmethod
    def on_scale(self, scale: PointScale) -> tuple[Points, tuple[AttributePoints, ...], float]:
        """Return base and points on another scale, rounded to whole numbers, and the largest rounding error of a total.

        Raises ValueError unless there are two classes.
        """

    @abstractmethod
    def sql(self, dialect: Dialect) -> list[str]:
        """Return the lines of a SQL expression for the prediction; it is NULL if a value of the row has no bin."""

    @property
    @abstractmethod
    def python(self) -> list[str]:
        """The lines of Python that return the prediction, given ``total(row)``."""

    @property
    @abstractmethod
    def pmml(self) -> Element:
        """The PMML output element of the prediction, given the single total."""

    @cached_property
    def bins(self) -> tuple[tuple[PointBin, ...], ...]:
        return tuple(tuple(point_bins(part, self.schema[part.attribute])) for part in self.parts)

    @cached_property
    def table(self) -> PointTable:
        """The bins as the lines of a printed table."""
        return PointTable(tuple(map(point_lines, self.parts, self.bins)))

    @property
    def has_one_total(self) -> bool:
        return len(self.base) == 1

    @property
    def label(self) -> str:
        return "" if self.schema.label is None else printable(self.schema.label.name)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The classes as printable text; empty for a number."""
        return () if self.schema.target.as_number is not None else tuple(map(shown_text, self.schema.classes))

    @property
    def leads(self) -> list[tuple[int, int]]:
        """The smallest and the largest total of each class, or of the number."""
        return extreme_totals(self.base, self.parts)

    @property
    def lead(self) -> list[str]:
        """The sentences above the table of totals."""
        return []

    def error_notes(self, message: str) -> list[str]:
        """Return sentences on the standard error due to noise, by a message, and on the meaning of intervals."""
        notes = self.table.notes(has_interval=self.has_intervals)
        if self.error is None:
            return notes
        error = significant(self.error, 3)
        return [_(message, error=error), *notes]

    @property
    def has_intervals(self) -> bool:
        """True if listed totals have intervals."""
        return self.has_one_total and self.error is not None

    @property
    def columns(self) -> tuple[str, ...]:
        return (_("points"),) if self.has_one_total else self.classes

    def titles(self, name: str) -> list[str]:
        """Return the titles of columns with a number for each total: the name itself if there is a single total."""
        return [name] if self.has_one_total else class_titles(name, self.schema.classes)

    def record(self, place: int, run: PointBin) -> dict[str, Any]:
        """Return the record of `Scorecard.get_points` for a bin of the attribute at a place."""
        columns: dict[str, Any] = {"points": run.points}
        (line,) = point_lines(self.parts[place], [run])
        if self.table.has_intervals:
            margins = line.margins or (None,) * len(run.points)
            for name, sign in (("low", -1), ("high", 1)):
                columns[name] = [None if x is None else y + sign * x for x, y in zip(margins, run.points, strict=True)]
        named = {
            title: value
            for name, values in columns.items()
            for title, value in zip(self.titles(name), values, strict=True)
        }
        rows = {"rows": line.support.rows} if self.table.has_rows else {}
        return {"attribute": run.attribute, "bin": run.name, **named, **rows}

    def listings(self) -> tuple[Listing, ...]:
        """Return tables of the points by bin and, for two classes or a number, of the meaning of totals."""
        title = _("Points by bin")
        if self.table.has_intervals:
            title = _("{title}. {note}", title=title, note=_(INTERVAL_NOTE))
        tables = (
            (title, list(map(self._listed, self.table.all_lines))),
            (_("Meaning of a total: {event}", event=self.meaning), list(map(_named_record, self.risks))),
        )
        return tuple(
            Listing(title, tuple(records[0]), tuple(tuple(map(_cell, record.values())) for record in records))
            for title, records in tables
            if records
        )

    def _listed(self, line: PointLine) -> dict[str, Any]:
        """Return the record of a line in the table of points."""
        points = dict(zip(self.titles(_("points")), line.points, strict=True))
        intervals = dict(zip(self.titles(_(BY_NOISE)), line.intervals, strict=True)) if self.table.has_intervals else {}
        rows = {_(ROWS): line.support.cell} if self.table.has_rows else {}
        return {_("attribute"): line.attribute, _("bin"): line.words, **points, **intervals, **rows}


def _named_record(total: ListedTotal) -> dict[str, Any]:
    names = {
        "total": pgettext("scorecard", "total"),
        "probability": _("probability"),
        "prediction": _("prediction"),
        "low": _("low"),
        "high": _("high"),
    }
    return {names[key]: value for key, value in total.record().items()}


def _cell(value: str | float | None) -> str | float | None:
    return shown_text(value) if isinstance(value, str) else value
