"""Totals of a scorecard for a number: its lowest value plus what each point adds."""

from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log10
from typing import NoReturn
from xml.etree.ElementTree import Element

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Dialect
from hedgerow.models.pmml import pmml_call, pmml_output, pmml_total
from hedgerow.models.point_scale import PointScale, check_amount, not_two_classes
from hedgerow.models.point_totals import MOST_TOTALS, ListedTotal, PointTotals, digits, ends_and_between
from hedgerow.models.points import NORMAL_95, extreme_totals, indented, total_sql
from hedgerow.schema import Number
from hedgerow.text.messages import describe_argument

_FINEST = 10**6  # the most points from the lowest to the highest number: each is an outcome


class NumberTotals(PointTotals):
    """Totals of a number: its lowest value and so much for each point, and no more than its bounds."""

    @property
    def number(self) -> Number:
        found = self.schema.target.as_number
        assert found is not None  # decided by the scorecard
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

    @property
    def outcomes(self) -> tuple[float, ...]:
        return self._outcomes

    @cached_property
    def _outcomes(self) -> tuple[float, ...]:
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

    @property
    def risks(self) -> tuple[ListedTotal, ...]:
        number, (low, high) = self.number, self._ends
        short = high - low < MOST_TOTALS
        totals = range(low, high + 1) if short else ends_and_between(low, high, low + 1, high - 1, MOST_TOTALS)
        decimals = max(1 - floor(log10(self.unit)), 0)  # two digits of a point's

        def listed(total: int) -> ListedTotal:
            said = self._value(total)
            if self.error is None:
                return ListedTotal(total, said, is_number=True)
            off = NORMAL_95 * self.error
            low, high = (round(min(max(end, number.low), number.high), decimals) for end in (said - off, said + off))
            return ListedTotal(total, said, low, high, is_number=True)

        return tuple(map(listed, totals))

    @property
    def meaning(self) -> str:
        return self.label

    @property
    def title(self) -> str:
        return f"Points for {self.label}"

    @property
    def plot_title(self) -> str:
        return f"points for {self.label}"

    def on_scale(self, scale: PointScale) -> NoReturn:  # noqa: ARG002 -- a number has none
        raise not_two_classes(self.schema)

    @property
    def lead_text(self) -> str:
        """The worth of a point."""
        return self.notes[0]

    @property
    def notes(self) -> list[str]:
        low, high = map(digits, (self.number.low, self.number.high))
        start = "" if not self.number.low else f"{low} + "
        worth = f"{self.label} = {start}{digits(self.unit)} * total, at least {low} and at most {high}."
        return [worth, *self.error_notes("the prediction")]

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
