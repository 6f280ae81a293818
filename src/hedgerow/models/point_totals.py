"""Totals of a scorecard's points, whatever its target: what is listed of them, and what they mean in words."""

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
from hedgerow.models.point_lines import BY_NOISE, ROWS, PointLine, PointTable, point_lines
from hedgerow.models.point_scale import PointScale
from hedgerow.models.points import NORMAL_95, AttributePoints, PointBin, Points, extreme_totals, point_bins
from hedgerow.models.score_bands import ScoreBand, label_bands
from hedgerow.schema import Schema
from hedgerow.text.values import printable, shown_text

MOST_TOTALS = 13  # that are listed with what they mean
_FARTHEST = 5.0  # log-odds beyond which a table has only its ends: risks of 0.7 % and 99.3 %


@dataclass(frozen=True)
class ListedTotal:
    """A total of points in a table, and the probability of the second class, or the number, that follows from it.

    Attributes
    ----------
    total : int
        The total.
    value : float
        The probability, or the number.
    low, high : float, optional
        The ends of its 95 % interval by the noise of the release; None where there is no noise, or it is unknown.
    is_number : bool
        True for a number.
    """

    total: int
    value: float
    low: float | None = None
    high: float | None = None
    is_number: bool = False

    @property
    def shown(self) -> str:
        """The probability, or the number, as text."""
        return self._text(self.value)

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends of the interval as text; empty where there is none."""
        return () if self.low is None or self.high is None else (self._text(self.low), self._text(self.high))

    def _text(self, value: float) -> str:
        return digits(value) if self.is_number else percent(value)

    def record(self) -> dict[str, Any]:
        """Return it as a record of `Scorecard.risks`."""
        name = "prediction" if self.is_number else "probability"
        return {"total": self.total, name: self.value, "low": self.low, "high": self.high}


def digits(number: float) -> str:
    """Return a number as text, without the last digits of float64."""
    return f"{number:.10g}"


def percent(probability: float) -> str:
    """Return a probability as a percentage: one decimal below 10 % and above 90 %, where it matters."""
    if probability < 0.0005:
        return "<0.1 %"
    if probability > 0.9995:
        return ">99.9 %"
    decimals = 0 if 0.1 <= probability <= 0.9 else 1
    return f"{100 * probability:.{decimals}f} %"


def risk_of(total: int, odds: float, error: float | None) -> ListedTotal:
    """Return the risk of a total, from the log-odds of the second class and their standard error."""
    from scipy.special import expit  # takes long to import

    low, high = (None if error is None else float(expit(odds + sign * NORMAL_95 * error)) for sign in (-1, 1))
    return ListedTotal(total, float(expit(odds)), low, high)


def tabulated_totals(low: int, high: int, unit: float, most: int, even: float = 0.0) -> list[int]:
    """Return at most `most` totals from `low` to `high` for a table: all, or the ends and round ones between.

    Those between have log-odds of at most 5, where the log-odds of the total `even` are 0.
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
    """The points of a scorecard, and what one is worth."""

    schema: Schema
    base: Points  # the points that every row starts with
    parts: tuple[AttributePoints, ...]
    unit: float  # what a point is worth: log-odds, or so much of the number
    error: float | None  # the standard error of what a total is worth, by the noise of the release
    scale: PointScale | None = None  # of two classes: the scale of the points, if they are not log-odds of the second

    @abstractmethod
    def check(self) -> None:
        """Raise ArgumentError if unit, error or scale does not fit the target."""

    @property
    @abstractmethod
    def outcomes(self) -> tuple[Any, ...]:
        """The classes, or the numbers that are predicted."""

    @abstractmethod
    def places(self, totals: Integers) -> Index:
        """Return the place of what each total predicts among the outcomes."""

    @abstractmethod
    def shares(self, totals: Integers) -> Floats:
        """Return the probability of each class for each total; no column for a number."""

    def score_bands(self, most: int) -> tuple[tuple[ScoreBand, ...], Callable[[Integers], Index]]:  # noqa: ARG002
        """Return the bands of totals, and a function that returns the place of each total's band.

        Of more than two classes, each has one band. SchemaError for a number.
        """
        return label_bands(range(len(self.schema.classes)))[0], self.places

    @property
    @abstractmethod
    def risks(self) -> tuple[ListedTotal, ...]:
        """Totals with what they mean; none for more than two classes."""

    @property
    @abstractmethod
    def meaning(self) -> str:
        """The title of what totals mean."""

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
        """The place of the class for which points speak, of two classes; 1 for a number."""
        return 1

    @abstractmethod
    def on_scale(self, scale: PointScale) -> tuple[Points, tuple[AttributePoints, ...], float]:
        """Return base and points on another scale, each rounded to a whole number, and the most that moves a total.

        Raises ValueError if there are not two classes.
        """

    @abstractmethod
    def sql(self, dialect: Dialect) -> list[str]:
        """Return the lines of an expression for what is predicted; NULL for a row with a value without a bin."""

    @property
    @abstractmethod
    def python(self) -> list[str]:
        """The lines that return what is predicted, from ``total(row)``."""

    @property
    @abstractmethod
    def pmml(self) -> Element:
        """The output of what is predicted, from the one total."""

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
        """The classes, printable; none of a number."""
        return () if self.schema.target.as_number is not None else tuple(map(shown_text, self.schema.classes))

    @property
    def leads(self) -> list[tuple[int, int]]:
        """The smallest and the largest total of each class, or of a number."""
        return extreme_totals(self.base, self.parts)

    @property
    def lead(self) -> list[str]:
        """The sentences before the totals in a text."""
        return []

    def error_notes(self, what: str) -> list[str]:
        """Return what the noise of the release adds, and what intervals mean, in sentences."""
        notes = self.table.notes(has_interval=self.has_intervals)
        if self.error is None:
            return notes
        return [f"The noise of the release adds a standard error of {self.error:.3g} to {what}.", *notes]

    @property
    def has_intervals(self) -> bool:
        """True if the totals that are listed have intervals."""
        return self.has_one_total and self.error is not None

    @property
    def columns(self) -> tuple[str, ...]:
        return ("points",) if self.has_one_total else self.classes

    def titles(self, name: str) -> list[str]:
        """Return the titles of columns with a number for each total: of one total, the name alone."""
        return [name] if self.has_one_total else class_titles(name, self.schema.classes)

    def record(self, place: int, one: PointBin) -> dict[str, Any]:
        """Return a record of a bin of the attribute at a place, as `Scorecard.get_points` has it."""
        columns: dict[str, Any] = {"points": one.points}
        (line,) = point_lines(self.parts[place], [one])
        if self.table.has_intervals:
            off = line.margins or (None,) * len(one.points)
            for name, sign in (("low", -1), ("high", 1)):
                columns[name] = [None if x is None else y + sign * x for x, y in zip(off, one.points, strict=True)]
        named = {
            title: value
            for name, values in columns.items()
            for title, value in zip(self.titles(name), values, strict=True)
        }
        rows = {"rows": line.support.rows} if self.table.has_rows else {}
        return {"attribute": one.attribute, "bin": one.name, **named, **rows}

    def listings(self) -> tuple[Listing, ...]:
        """Return the points by bin, and for two classes or a number what totals mean, as tables."""
        points = [self._listed(one) for lines in self.table.lines for one in lines]
        title = "Points by bin"
        if self.table.has_intervals:
            title += "; 95 % by noise: where a fit of the same rows without noise is expected"
        found = ((title, points), (f"What a total means: {self.meaning}", [one.record() for one in self.risks]))
        rows = [(title, records, tuple(tuple(map(_cell, one.values())) for one in records)) for title, records in found]
        return tuple(Listing(title, tuple(records[0]), cells) for title, records, cells in rows if records)

    def _listed(self, line: PointLine) -> dict[str, Any]:
        """Return a line of the table of points: categories with the same points are one."""
        points = dict(zip(self.titles("points"), line.points, strict=True))
        intervals = dict(zip(self.titles(BY_NOISE), line.intervals, strict=True)) if self.table.has_intervals else {}
        rows = {ROWS: line.support.cell} if self.table.has_rows else {}
        return {"attribute": line.attribute, "bin": line.words, **points, **intervals, **rows}


def _cell(value: str | float | None) -> str | float | None:
    return shown_text(value) if isinstance(value, str) else value
