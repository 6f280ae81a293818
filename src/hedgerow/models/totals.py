"""Meanings of a scorecard's totals: classes with probabilities, or a number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError
from hedgerow.models import pmml, points
from hedgerow.models.points import AttributePoints, Bins, Points, extreme_totals
from hedgerow.models.sheet import NumberSheet, Sheet
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Number
from hedgerow.text.messages import describe_argument

if TYPE_CHECKING:
    from hedgerow.models.dialects import Dialect

_LARGEST = 1e6  # log-odds of a point, and of its standard error: totals of them are finite
_FINEST = 10**6
"""The most points from the lowest to the highest number: each is an outcome."""


@dataclass(frozen=True)
class Totals(ABC):
    """The meaning of totals."""

    schema: Schema
    base: Points  # the points that every row starts with
    parts: tuple[AttributePoints, ...]
    unit: float  # what a point is worth: log-odds, or so much of the number
    error: float | None  # the standard error of what a total is worth, by the noise of the release

    @staticmethod
    def of(schema: Schema, base: Points, parts: tuple[AttributePoints, ...], unit: Any, error: Any) -> Totals:
        """Return the meaning for the schema's target; ValueError if unit or error is out of range."""
        kind = ClassTotals if schema.target.as_number is None else NumberTotals
        checked = kind(schema, base, parts, unit, error)
        checked.check()
        return checked

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if unit or error is out of range."""

    @property
    @abstractmethod
    def outcomes(self) -> tuple[Any, ...]:
        """What is predicted: the classes, or numbers."""

    @abstractmethod
    def places(self, totals: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the place of what each total predicts among the outcomes."""

    @abstractmethod
    def shares(self, totals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the class probabilities that totals give, shape ``(n_rows, n_classes)``; none of a number."""

    @property
    @abstractmethod
    def sheet(self) -> Sheet:
        """What is shown of the scorecard."""

    @abstractmethod
    def sql(self, bins: Bins, dialect: Dialect) -> list[str]:
        """Return the lines of an expression for what is predicted; NULL for a row with a value without a bin."""

    @property
    @abstractmethod
    def python(self) -> list[str]:
        """The lines that return what is predicted, from ``total(row)``."""

    @property
    @abstractmethod
    def pmml(self) -> Element:
        """The output of what is predicted, from the one total."""


class ClassTotals(Totals):
    """Totals of two classes, or of more: one for each."""

    def check(self) -> None:
        """Raise ValueError if unit or error is out of range."""
        check_amount("unit", self.unit, _LARGEST)
        check_amount("error", self.error, _LARGEST, zero=True)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        """The classes."""
        return self.schema.classes

    def places(self, totals: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the number of the class that each total predicts."""
        return (totals > 0).astype(np.intp) if len(self.base) == 1 else totals.argmax(axis=1)

    def shares(self, totals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the class probabilities that totals give."""
        from scipy.special import expit, softmax  # takes long to import

        if len(self.base) > 1:
            return softmax(self.unit * totals, axis=1)
        odds = self.unit * totals
        return np.column_stack([expit(-odds), expit(odds)])

    @property
    def sheet(self) -> Sheet:
        """What is shown of the scorecard."""
        return Sheet.of(self.schema, self.base, self.parts, self.unit, self.error)

    def sql(self, bins: Bins, dialect: Dialect) -> list[str]:
        """Return the lines of an expression for the class."""
        return points.prediction_sql(bins, self.base, self.schema, dialect)

    @property
    def python(self) -> list[str]:
        """The lines that return the class."""
        classes = tuple(self.schema.classes)
        if len(self.base) == 1:
            return [f"return {classes[1]!r} if total(row) > 0 else {classes[0]!r}"]
        return ["totals = total(row)", f"return {classes!r}[totals.index(max(totals))]"]

    @property
    def pmml(self) -> Element:
        """The output of the class, by the one total."""
        first, second = self.schema.classes
        decided = pmml.applied("if", pmml.applied("greaterThan", pmml.total_of_row(), 0), second, first)
        return pmml.transformed(pmml.predicted(self.schema.target), decided, pmml.class_type(self.schema.target))


class NumberTotals(Totals):
    """Totals of a number: its lowest value and so much for each point, and no more than its bounds."""

    @property
    def number(self) -> Number:
        """The number."""
        found = self.schema.target.as_number
        assert found is not None  # decided in `of`
        return found

    def check(self) -> None:
        """Raise ValueError if unit or error is out of range."""
        span = Fraction(self.number.high) - Fraction(self.number.low)
        check_amount("unit", self.unit, float(span))
        if Fraction(self.unit) * _FINEST < span:
            raise ArgumentError(
                f"unit must be at least a {_FINEST:,}th of the number's range, got {describe_argument(self.unit)}."
            )
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

    @property
    def outcomes(self) -> tuple[float, ...]:
        """The number of each total, from the smallest that a row can have to the largest."""
        return self._numbers

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        first, last = self._ends
        return tuple(self.value(total) for total in range(first, last + 1))

    def value(self, total: int) -> float:
        """Return what a total predicts."""
        number = self.number
        if total < 0:
            return number.low
        return number.high if total > self.most else number.low + self.unit * total

    def places(self, totals: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the place of what each total predicts among the outcomes."""
        first, last = self._ends
        return (np.clip(totals, first, last) - first).astype(np.intp)

    def shares(self, totals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return no column: a number has no probabilities."""
        return np.zeros((len(totals), 0))

    @property
    def sheet(self) -> NumberSheet:
        """What is shown of the scorecard."""
        return NumberSheet.of_number(self.schema, self.base, self.parts, self.unit, self.error, self._ends, self.value)

    def sql(self, bins: Bins, dialect: Dialect) -> list[str]:
        """Return the lines of an expression for the number."""
        from hedgerow.models import sql  # sqlglot takes long to import

        total = points.indented(points.total_sql(bins, self.base, self.schema, dialect))
        low, high, unit = (sql.constant(value, dialect) for value in (self.number.low, self.number.high, self.unit))
        return [
            *("CASE", "  WHEN (", *total, f"  ) < 0 THEN {low}"),
            *("  WHEN (", *total, f"  ) > {self.most} THEN {high}"),
            *(f"  ELSE {low} + {unit} * (", *total, "  )", "END"),
        ]

    @property
    def python(self) -> list[str]:
        """The lines that return the number."""
        low, high = self.number.low, self.number.high
        return [
            "points = total(row)",
            "if points < 0:",
            f"    return {low!r}",
            f"return {high!r} if points > {self.most} else {low!r} + {self.unit!r} * points",
        ]

    @property
    def pmml(self) -> Element:
        """The output of the number."""
        low, high = map(float, (self.number.low, self.number.high))
        value = pmml.applied("+", low, pmml.applied("*", self.unit, pmml.total_of_row()))
        most = pmml.applied("if", pmml.applied("greaterThan", pmml.total_of_row(), self.most), high, value)
        least = pmml.applied("if", pmml.applied("lessThan", pmml.total_of_row(), 0), low, most)
        return pmml.transformed(pmml.predicted(self.schema.target), least, "double")


def check_amount(name: str, value: Any, most: float, *, zero: bool = False) -> None:
    """Check that a value is a number above 0, or None or at least 0 with `zero`, and not too large."""
    if zero and value is None:
        return
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not ((0 < value <= most and isfinite(value)) or (zero and value == 0)):
        least, bound = "of at least 0" if zero else "above 0", f"{most:,.0f}" if 1000 <= most < 1e15 else f"{most:g}"
        raise ArgumentError(f"{name} must be a number {least}, at most {bound}, got {describe_argument(value)}.")
