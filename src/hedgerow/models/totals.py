"""Meanings of a scorecard's totals, classes with probabilities or a number, and how they are shown."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import ceil, floor, isclose, log, log10
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Dialect
from hedgerow.models.pmml import pmml_call, pmml_output, pmml_total
from hedgerow.models.point_lines import PointTable, point_lines
from hedgerow.models.point_scale import PointScale, check_amount, not_two_classes
from hedgerow.models.points import (
    MOST_POINTS,
    NORMAL_95,
    AttributePoints,
    PointBin,
    Points,
    extreme_totals,
    indented,
    point_bins,
    prediction_sql,
    total_sql,
)
from hedgerow.schema import Number, Schema
from hedgerow.text.messages import describe_argument, shown
from hedgerow.text.values import Value, listed, printable, shown_text

_LARGEST = 1e6  # log-odds of a point, and of its standard error: totals of them are finite
_FINEST = 10**6  # the most points from the lowest to the highest number: each is an outcome
_FARTHEST = 5.0  # log-odds beyond which a table has only its ends: risks of 0.7 % and 99.3 %
_MOST_TOTALS = 13  # that are shown with their probabilities


@dataclass(frozen=True)
class Risk:
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
class Estimate:
    """The number that is predicted for a total of points, shown as a `Risk` is."""

    total: int
    prediction: float
    low: float | None = None
    high: float | None = None

    @property
    def shown(self) -> str:
        return _digits(self.prediction)

    @property
    def ends(self) -> tuple[str, ...]:
        return () if self.low is None or self.high is None else (_digits(self.low), _digits(self.high))


def _digits(number: float) -> str:
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


def risk_of(total: int, odds: float, error: float | None) -> Risk:
    """Return the risk of a total, from the log-odds of the second class and their standard error."""
    from scipy.special import expit  # takes long to import

    ends = () if error is None else (float(expit(odds + sign * NORMAL_95 * error)) for sign in (-1, 1))
    return Risk(total, float(expit(odds)), *ends)


def tabulated_totals(low: int, high: int, unit: float, most: int, even: float = 0.0) -> list[int]:
    """Return at most `most` totals from `low` to `high` for a table: all, or the ends and round ones between.

    Those between have log-odds of at most 5, where the log-odds of the total `even` are 0.
    """
    if high - low < most:
        return list(range(low, high + 1))
    farthest = _FARTHEST / unit
    return _ends_and_between(low, high, max(low + 1, even - farthest), min(high - 1, even + farthest), most)


def _ends_and_between(low: int, high: int, first: float, last: float, most: int) -> list[int]:
    if first > last:
        first, last = low + 1, high - 1
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if last // step + -first // step + 1 <= most - 2)
    inner = range(int(-(-first // step)) * step, int(last // step) * step + 1, step)
    return [low, *inner, high]


@dataclass(frozen=True)
class _Totals:
    """The points of a scorecard, and what one is worth."""

    schema: Schema
    base: Points  # the points that every row starts with
    parts: tuple[AttributePoints, ...]
    unit: float  # what a point is worth: log-odds, or so much of the number
    error: float | None  # the standard error of what a total is worth, by the noise of the release
    scale: PointScale | None = None  # of two classes: the scale of the points, if they are not log-odds of the second

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
    def lead_text(self) -> str:
        """The sentence before the totals in a text; empty if there is none."""
        return ""

    def _error_notes(self, what: str) -> list[str]:
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


class ClassTotals(_Totals):
    """Totals of two classes, or of more: one for each."""

    def check(self) -> None:
        check_amount("unit", self.unit, _LARGEST)
        check_amount("error", self.error, _LARGEST, zero=True)
        if self.scale is None:
            return
        if not self.has_one_total:
            raise not_two_classes(self.schema)
        if not any(_is_same(self.scale.favourable, one) for one in self.schema.classes):
            got = shown(self.scale.favourable)
            raise ArgumentError(f"favourable must be one of {listed(self.schema.classes)}, got {got}.")
        if not isclose(self.unit, self.scale.unit, rel_tol=1e-12):
            raise ArgumentError(f"unit must be ln 2 / pdo, {self.scale.unit}, got {describe_argument(self.unit)}.")

    @property
    def favourable(self) -> int:
        """The place of the class for which points speak, of two classes."""
        return 1 if self.scale is None else self.schema.classes.index(self.scale.favourable)

    @property
    def sign(self) -> int:
        """1 if points speak for the second of two classes, -1 if for the first."""
        return 1 if self.favourable else -1

    @property
    def even(self) -> float:
        """The total at which two classes are as likely."""
        return 0.0 if self.scale is None else self.scale.even

    @property
    def limit(self) -> int:
        """The total above which the second of two classes is predicted, or below which, if points speak for the first.

        It is `even` rounded so that the comparison of whole totals is the same.
        """
        return floor(self.even) if self.sign > 0 else ceil(self.even)

    @property
    def comparison(self) -> str:
        """The comparison of a total that holds when the second of two classes is predicted."""
        return f"{'>' if self.sign > 0 else '<'} {self.limit}"

    def on_scale(self, scale: PointScale) -> tuple[Points, tuple[AttributePoints, ...]]:
        """Return base and points on another scale, each rounded to a whole number."""
        after = ClassTotals(self.schema, self.base, (), scale.unit, None, scale)
        after.check()
        ratio = self.sign * after.sign * self.unit / scale.unit

        def scaled(amount: float, start: float = 0.0) -> int:
            whole = round(start + ratio * amount)
            if abs(whole) > MOST_POINTS:
                expected = f"expected a scale with points of at most {MOST_POINTS:,} in size"
                raise ArgumentError(f"{expected}, got {whole:,}; use a smaller pdo.")
            return whole

        def scaled_part(part: AttributePoints) -> AttributePoints:
            errors = None if part.errors is None else tuple((abs(ratio) * error,) for (error,) in part.errors)
            return replace(part, points=tuple((scaled(amount),) for (amount,) in part.points), errors=errors)

        base = (scaled(self.base[0] - self.even, scale.even),)
        return base, tuple(map(scaled_part, self.parts))

    def log_odds(self, totals: Any) -> Any:
        """Return the log-odds of the second of two classes."""
        return self.sign * self.unit * (totals - self.even)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return self.schema.classes

    def places(self, totals: Integers) -> Index:
        """Return the place of what each total predicts among the outcomes."""
        if not self.has_one_total:
            return totals.argmax(axis=1)
        return (self.sign * (totals - self.limit) > 0).astype(np.intp)

    def shares(self, totals: Integers) -> Floats:
        from scipy.special import expit, softmax  # takes long to import

        if not self.has_one_total:
            return softmax(self.unit * totals, axis=1)
        odds = self.log_odds(totals)
        return np.column_stack([expit(-odds), expit(odds)])

    @cached_property
    def risks(self) -> tuple[Risk, ...]:
        """Totals with what they mean; none for more than two classes."""
        if not self.has_one_total:
            return ()
        ((low, high),) = extreme_totals(self.base, self.parts)
        totals = tabulated_totals(low, high, self.unit, _MOST_TOTALS, self.even)
        return tuple(risk_of(total, self.log_odds(total), self.error) for total in totals)

    @property
    def leads(self) -> list[tuple[int, int]]:
        """The ends of the totals of each class; of two classes, the ends of how far totals are beyond `limit`."""
        if not self.has_one_total:
            return super().leads
        low, high = sorted(self.sign * (end - self.limit) for end in super().leads[0])
        return [(low, high)]

    @property
    def meaning(self) -> str:
        """The title of what totals mean: the event whose probabilities are listed."""
        return f"P({self.label} = {self.classes[1]})"

    @property
    def title(self) -> str:
        return f"Points for {self.label}" + (f" = {self.classes[self.favourable]}" if self.has_one_total else "")

    @property
    def lead_text(self) -> str:
        """The scale in words; empty if there is none."""
        if self.scale is None:
            return ""
        pdo, score, odds = (f"{one:.10g}" for one in (self.scale.pdo, self.scale.score, self.scale.odds))
        event = f"{self.label} = {self.classes[self.favourable]}"
        return f"A total of {score} means odds of {odds} to 1 for {event}; every {pdo} points more double the odds."

    @property
    def notes(self) -> list[str]:
        """The meaning of totals, in sentences."""
        unit = f"{self.unit:.6g}"
        if not self.has_one_total:
            odds = (
                f"P(class) is proportional to exp({unit} * its total): {log(2) / self.unit:.3g} points double its odds."
            )
            return [f"The class with the largest total is predicted. {odds}", *self._error_notes("log-odds")]
        side, minus = ("above", "-") if self.sign > 0 else ("below", "")
        total = "total" if self.scale is None else f"(total - {self.even:.6f})"
        return [
            *([self.lead_text] if self.scale else []),
            f"{self.classes[1]} is predicted for totals {side} {self.limit}, else {self.classes[0]}.",
            f"{self.meaning} = 1 / (1 + exp({minus}{unit} * {total})).",
            *self._error_notes("log-odds"),
        ]

    def sql(self, dialect: Dialect) -> list[str]:
        """Return the lines of an expression for what is predicted; NULL for a row with a value without a bin."""
        return prediction_sql(self.bins, self.base, self.schema, dialect, self.comparison)

    @property
    def python(self) -> list[str]:
        """The lines that return what is predicted, from ``total(row)``."""
        classes = tuple(self.schema.classes)
        if self.has_one_total:
            return [f"return {classes[1]!r} if total(row) {self.comparison} else {classes[0]!r}"]
        return ["totals = total(row)", f"return {classes!r}[totals.index(max(totals))]"]

    @property
    def pmml(self) -> Element:
        """The output of what is predicted, from the one total."""
        first, second = self.schema.classes
        compared = "greaterThan" if self.sign > 0 else "lessThan"
        decided = pmml_call("if", pmml_call(compared, pmml_total(), self.limit), second, first)
        return pmml_output(self.schema.target, decided)


class NumberTotals(_Totals):
    """Totals of a number: its lowest value and so much for each point, and no more than its bounds."""

    @property
    def number(self) -> Number:
        found = self.schema.target.as_number
        assert found is not None  # decided in `totals_of`
        return found

    def check(self) -> None:
        if self.scale is not None:
            raise not_two_classes(self.schema)
        span = Fraction(self.number.high) - Fraction(self.number.low)
        check_amount("unit", self.unit, float(span))
        if Fraction(self.unit) * _FINEST < span:
            least = f"a {_FINEST:,}th of the number's range"
            raise ArgumentError(f"unit must be at least {least}, got {describe_argument(self.unit)}.")
        check_amount("error", self.error, float(span) * _FINEST, zero=True)

    @cached_property
    def most(self) -> int:
        """The largest total whose number is within the bounds."""
        number = self.number
        total = ceil((Fraction(number.high) - Fraction(number.low)) / Fraction(self.unit)) + 1
        while number.low + self.unit * total > number.high:
            total -= 1
        return total

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The first and the last total that differ in what they predict."""
        ((low, high),) = extreme_totals(self.base, self.parts)
        first, last = (min(max(end, 0), self.most + 1) for end in (low, high))
        return first, last

    @cached_property
    def outcomes(self) -> tuple[float, ...]:
        first, last = self._ends
        return tuple(self._value(total) for total in range(first, last + 1))

    def _value(self, total: int) -> float:
        number = self.number
        if total < 0:
            return number.low
        return number.high if total > self.most else number.low + self.unit * total

    def places(self, totals: Integers) -> Index:
        first, last = self._ends
        return (np.clip(totals, first, last) - first).astype(np.intp)

    def shares(self, totals: Integers) -> Floats:
        """Return no column: a number has no probabilities."""
        return np.zeros((len(totals), 0))

    @cached_property
    def risks(self) -> tuple[Estimate, ...]:
        number, (low, high) = self.number, self._ends
        short = high - low < _MOST_TOTALS
        totals = range(low, high + 1) if short else _ends_and_between(low, high, low + 1, high - 1, _MOST_TOTALS)
        decimals = max(1 - floor(log10(self.unit)), 0)  # two digits of a point's

        def estimate(total: int) -> Estimate:
            said = self._value(total)
            if self.error is None:
                return Estimate(total, said)
            off = NORMAL_95 * self.error
            ends = (round(min(max(end, number.low), number.high), decimals) for end in (said - off, said + off))
            return Estimate(total, said, *ends)

        return tuple(map(estimate, totals))

    @property
    def meaning(self) -> str:
        return self.label

    @property
    def title(self) -> str:
        return f"Points for {self.label}"

    @property
    def lead_text(self) -> str:
        """The worth of a point."""
        return self.notes[0]

    @property
    def notes(self) -> list[str]:
        low, high = map(_digits, (self.number.low, self.number.high))
        start = "" if not self.number.low else f"{low} + "
        worth = f"{self.label} = {start}{_digits(self.unit)} * total, at least {low} and at most {high}."
        return [worth, *self._error_notes("the prediction")]

    def sql(self, dialect: Dialect) -> list[str]:
        from hedgerow.models import sql  # sqlglot takes long to import

        total = indented(total_sql(self.bins, self.base, self.schema, dialect))
        low, high, unit = (sql.constant(value, dialect) for value in (self.number.low, self.number.high, self.unit))
        return [
            *("CASE", "  WHEN (", *total, f"  ) < 0 THEN {low}"),
            *("  WHEN (", *total, f"  ) > {self.most} THEN {high}"),
            *(f"  ELSE {low} + {unit} * (", *total, "  )", "END"),
        ]

    @property
    def python(self) -> list[str]:
        low, high = self.number.low, self.number.high
        found = ["points = total(row)", "if points < 0:", f"    return {low!r}"]
        return [*found, f"return {high!r} if points > {self.most} else {low!r} + {self.unit!r} * points"]

    @property
    def pmml(self) -> Element:
        low, high = map(float, (self.number.low, self.number.high))
        value = pmml_call("+", low, pmml_call("*", self.unit, pmml_total()))
        most = pmml_call("if", pmml_call("greaterThan", pmml_total(), self.most), high, value)
        least = pmml_call("if", pmml_call("lessThan", pmml_total(), 0), low, most)
        return pmml_output(self.schema.target, least)


Totals = ClassTotals | NumberTotals


def totals_of(
    schema: Schema,
    base: Points,
    parts: tuple[AttributePoints, ...],
    unit: Any,
    error: Any,
    scale: PointScale | None = None,
) -> Totals:
    """Return the meaning of totals for the schema's target; ValueError if unit, error or scale does not fit."""
    kind = ClassTotals if schema.target.as_number is None else NumberTotals
    found = kind(schema, base, parts, unit, error, scale)
    found.check()
    return found


def _is_same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and one == other
