"""The sheet of a scorecard: bins with their points, totals with probabilities and intervals, and words about both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import floor, log10
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.models.points import AttributePoints, PointBin, Points, extreme_totals, point_bins
from hedgerow.schema.schema import Schema
from hedgerow.text.values import printable, shown_text

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""
_FARTHEST = 5.0  # log-odds beyond which a table has only its ends: risks of 0.7 % and 99.3 %


class Meant(ABC):
    """What a total means, as text."""

    total: int

    @property
    @abstractmethod
    def shown(self) -> str:
        """The meaning."""

    @property
    @abstractmethod
    def ends(self) -> tuple[str, ...]:
        """The ends of the interval by the noise of the release; empty where there is none."""

    @property
    def interval(self) -> str:
        """The interval; empty where there is none."""
        return " to ".join(self.ends)


@dataclass(frozen=True)
class Risk(Meant):
    """The probability of the second class for a total of points.

    Attributes
    ----------
    total : int
        The total.
    probability : float
        The probability.
    low, high : float, optional
        The ends of its 95 % interval by the noise of the release; None where there is no noise, or it is unknown.
    """

    total: int
    probability: float
    low: float | None = None
    high: float | None = None

    @property
    def shown(self) -> str:
        """The probability as text."""
        return percent(self.probability)

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends of the interval as text; empty where there is none."""
        return () if self.low is None or self.high is None else (percent(self.low), percent(self.high))


@dataclass(frozen=True)
class Estimate(Meant):
    """The number that is predicted for a total of points.

    Attributes
    ----------
    total : int
        The total.
    prediction : float
        The number.
    low, high : float, optional
        The ends of its 95 % interval by the noise of the release; None where there is no noise, or it is unknown.
    """

    total: int
    prediction: float
    low: float | None = None
    high: float | None = None

    @property
    def shown(self) -> str:
        """The number as text."""
        return digits(self.prediction)

    @property
    def ends(self) -> tuple[str, ...]:
        """The ends of the interval as text; empty where there is none."""
        return () if self.low is None or self.high is None else (digits(self.low), digits(self.high))


def digits(number: float) -> str:
    """Return a number as text, without the last digits of float64."""
    return f"{number:.10g}"


def risk_of(total: int, unit: float, error: float | None) -> Risk:
    """Return the risk of a total, with points of `unit` log-odds and a standard error of the log-odds."""
    from scipy.special import expit  # takes long to import

    odds = total * unit
    if error is None:
        return Risk(total, float(expit(odds)))
    ends = (float(expit(odds + sign * NORMAL_95 * error)) for sign in (-1, 1))
    return Risk(total, float(expit(odds)), *ends)


def tabulated_totals(low: int, high: int, unit: float, most: int) -> list[int]:
    """Return at most `most` totals from `low` to `high` for a table: all, or the ends and round ones between."""
    if high - low < most:
        return list(range(low, high + 1))
    farthest = _FARTHEST / unit
    return _ends_and_between(low, high, max(low + 1, -farthest), min(high - 1, farthest), most)


def _ends_and_between(low: int, high: int, first: float, last: float, most: int) -> list[int]:
    if first > last:
        first, last = low + 1, high - 1
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if last // step + -first // step + 1 <= most - 2)
    inner = range(int(-(-first // step)) * step, int(last // step) * step + 1, step)
    return [low, *inner, high]


def percent(probability: float) -> str:
    """Return a probability as a percentage: one decimal below 10 % and above 90 %, where it matters."""
    if probability < 0.0005:
        return "<0.1 %"
    if probability > 0.9995:
        return ">99.9 %"
    decimals = 0 if 0.1 <= probability <= 0.9 else 1
    return f"{100 * probability:.{decimals}f} %"


MOST_TOTALS = 13
"""The most totals that are shown with their probabilities."""


@dataclass(frozen=True)
class Sheet:
    """The parts of a scorecard, as they are shown."""

    label: str  # the name of the label, printable
    classes: tuple[str, ...]  # the classes, printable
    bins: tuple[tuple[PointBin, ...], ...]  # the bins of each attribute that is used
    base: Points  # the points that every row starts with
    unit: float  # the log-odds of one point
    error: float | None  # the standard error of log-odds by the noise of the release
    risks: tuple[Meant, ...]  # totals with what they mean; none for more than two classes

    @classmethod
    def of(
        cls, schema: Schema, base: Points, parts: Sequence[AttributePoints], unit: float, error: float | None
    ) -> Self:
        """Return what the scorecard of these fields shows."""
        totals: list[int] = []
        if len(base) == 1:
            ((low, high),) = extreme_totals(base, parts)
            totals = tabulated_totals(low, high, unit, MOST_TOTALS)
        return cls(
            "" if schema.label is None else printable(schema.label.name),
            tuple(map(shown_text, schema.classes)),
            tuple(tuple(point_bins(part, schema[part.attribute])) for part in parts),
            base,
            unit,
            error,
            tuple(risk_of(total, unit, error) for total in totals),
        )

    @property
    def has_one_total(self) -> bool:
        """True if a row has one total: of two classes, or a number."""
        return len(self.base) == 1

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The titles of the columns of points: the classes, if there are more than two."""
        return ("points",) if self.has_one_total else self.classes

    @property
    def meaning(self) -> str:
        """The title of what totals mean: the event whose probabilities are listed."""
        return f"P({self.label} = {self.classes[1]})"

    @property
    def title(self) -> str:
        """The title: the outcome that the points are for."""
        return f"Points for {self.label}" + (f" = {self.classes[1]}" if self.has_one_total else "")

    @property
    def risk_lines(self) -> list[list[str]]:
        """The totals with their probabilities as lines of a table, its titles first."""
        has_interval = self.error is not None
        lines = [["total", self.meaning, *(["95 % by noise"] if has_interval else [])]]
        return lines + [[str(one.total), one.shown, *([one.interval] if has_interval else [])] for one in self.risks]

    @property
    def notes(self) -> list[str]:
        """The meaning of totals, in sentences."""
        unit = f"{self.unit:.6g}"
        if not self.has_one_total:
            found = [
                f"The class with the largest total is predicted. P(class) is proportional to exp({unit} * its total)."
            ]
            if self.error is not None:
                found.append(f"The noise of the release adds a standard error of {self.error:.3g} to log-odds.")
            return found
        found = [
            f"{self.classes[1]} is predicted for totals above 0, else {self.classes[0]}.",
            f"{self.meaning} = 1 / (1 + exp(-{unit} * total)).",
        ]
        if self.error is not None:
            found.append(
                f"95 % intervals count the noise of the release alone, a standard error of {self.error:.3g} in "
                "log-odds; another sample of rows would add to it."
            )
        return found


@dataclass(frozen=True)
class NumberSheet(Sheet):
    """The parts of a scorecard of a number, as they are shown."""

    bounds: tuple[float, float]  # the lowest and the highest number

    @classmethod
    def of_number(
        cls,
        schema: Schema,
        base: Points,
        parts: Sequence[AttributePoints],
        unit: float,
        error: float | None,
        ends: tuple[int, int],
        value: Callable[[int], float],
    ) -> Self:
        """Return what the scorecard of these fields shows, for totals from the first to the last of `ends`."""
        number = schema.target.as_number
        assert number is not None  # the caller's
        low, high = ends
        short = high - low < MOST_TOTALS
        totals = range(low, high + 1) if short else _ends_and_between(low, high, low + 1, high - 1, MOST_TOTALS)
        off = None if error is None else NORMAL_95 * error
        decimals = max(1 - floor(log10(unit)), 0)  # two digits of a point's

        def estimate(total: int) -> Estimate:
            said = value(total)
            if off is None:
                return Estimate(total, said)
            low, high = (round(min(max(end, number.low), number.high), decimals) for end in (said - off, said + off))
            return Estimate(total, said, low, high)

        return cls(
            printable(number.name),
            (),
            tuple(tuple(point_bins(part, schema[part.attribute])) for part in parts),
            base,
            unit,
            error,
            tuple(map(estimate, totals)),
            (number.low, number.high),
        )

    @property
    def meaning(self) -> str:
        """The name of the number."""
        return self.label

    @property
    def title(self) -> str:
        """The title: the number that the points are for."""
        return f"Points for {self.label}"

    @property
    def notes(self) -> list[str]:
        """The meaning of totals, in sentences."""
        low, high = map(digits, self.bounds)
        start = "" if not self.bounds[0] else f"{low} + "
        found = [f"{self.label} = {start}{digits(self.unit)} * total, at least {low} and at most {high}."]
        if self.error is not None:
            found.append(
                f"95 % intervals count the noise of the release alone, a standard error of {self.error:.3g}; rows "
                "differ from what is predicted by more."
            )
        return found


_WIDEST = 40  # characters to which a column is aligned; longer names and classes stand out


def card_text(sheet: Sheet) -> str:
    """Return the points of each bin, the base, and the probabilities of totals."""
    lines = [["attribute", "bin", *sheet.columns]]
    for bins in sheet.bins:
        for place, one in enumerate(bins):
            name = "" if place else printable(one.attribute)
            lines.append([name, printable(one.label), *map(str, one.points)])
    lines.append(["base", "", *map(str, sheet.base)])
    below = [] if sheet.classes else [sheet.notes[0], ""]  # what a point of a number is worth
    below += _aligned(sheet.risk_lines, left=0) if sheet.has_one_total else sheet.notes
    return "\n".join([*_aligned(lines, left=2), "", *below])


def row_texts(sheet: Sheet, codes: Mapping[str, NDArray[np.integer]], classes: NDArray[np.integer]) -> list[str]:
    """Return how the total of each row comes about: the base, then the points of its bin of each attribute."""
    texts = [np.array([f"base: {points:+d}" for points in sheet.base], dtype=object)[classes]]
    for bins in sheet.bins:
        by_bin = np.array(
            [
                [f"{printable(one.attribute)} {printable(one.words)}: {points:+d}" for points in one.points]
                for one in bins
                for _ in range(one.start, one.stop)
            ],
            dtype=object,
        )
        texts.append(by_bin[codes[bins[0].attribute], classes])
    return ["; ".join(row) for row in zip(*texts, strict=True)]


def _aligned(lines: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return lines of entries in columns, the first `left` of them aligned to the left."""
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            entry.ljust(width) if place < left else entry.rjust(width)
            for place, (entry, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
