"""Totals of a scorecard by target: log-odds for two classes, a total per class for more, or a scaled number."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, isclose, log, log10, sqrt
from typing import Any, NoReturn
from xml.etree.ElementTree import Element

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Dialect
from hedgerow.models.plot import shortened
from hedgerow.models.pmml import pmml_call, pmml_output, pmml_total
from hedgerow.models.point_scale import PointScale, check_amount, not_two_classes
from hedgerow.models.point_totals import (
    MOST_TOTALS,
    ListedTotal,
    PointTotals,
    digits,
    ends_and_between,
    risk_of,
    tabulated_totals,
)
from hedgerow.models.points import (
    MOST_POINTS,
    NORMAL_95,
    AttributePoints,
    PointErrors,
    Points,
    extreme_totals,
    indented,
    prediction_sql,
    total_sql,
)
from hedgerow.models.score_bands import ScoreBand, margin_bands, margin_cuts
from hedgerow.schema import Number
from hedgerow.text.language import _, gettext_noop, number, percentage, pgettext
from hedgerow.text.messages import describe_argument, shown
from hedgerow.text.values import Value, listed

_ODDS_ERROR = gettext_noop("The noise of the release adds a standard error of {error} to the log-odds.")
_NUMBER_ERROR = gettext_noop("The noise of the release adds a standard error of {error} to the prediction.")
_LARGEST = 1e6  # the log-odds of a point and of its standard error, so that totals are finite
_FINEST = 10**6  # the largest number of points between the bounds of a number: each total is an outcome


class ClassTotals(PointTotals):
    """Totals for classes: one total for two classes, otherwise one for each class."""

    def check(self) -> None:
        check_amount("unit", self.unit, _LARGEST)
        check_amount("error", self.error, _LARGEST, zero=True)
        if self.scale is None:
            return
        if not self.has_one_total:
            raise not_two_classes(self.schema)
        if not any(_is_same(self.scale.favourable, value) for value in self.schema.classes):
            got = shown(self.scale.favourable)
            raise ArgumentError(f"favourable must be one of {listed(self.schema.classes)}, got {got}.")
        if not isclose(self.unit, self.scale.unit, rel_tol=1e-12):
            raise ArgumentError(f"unit must be ln 2 / pdo, {self.scale.unit}, got {describe_argument(self.unit)}.")

    @property
    def points_for(self) -> int:
        return 1 if self.scale is None else self.schema.classes.index(self.scale.favourable)

    @property
    def sign(self) -> int:
        """1 if high totals favour the second of two classes, -1 if they favour the first."""
        return 1 if self.points_for else -1

    @property
    def even(self) -> float:
        """The total at which two classes are equally probable."""
        return 0.0 if self.scale is None else self.scale.even

    @property
    def limit(self) -> int:
        """The total above which (below which, if `sign` is -1) the second of two classes is predicted.

        It is `even`, rounded so that comparisons of whole totals have the same result.
        """
        return floor(self.even) if self.sign > 0 else ceil(self.even)

    @property
    def comparison(self) -> str:
        """The comparison of a total that is true if the second of two classes is predicted."""
        return f"{'>' if self.sign > 0 else '<'} {self.limit}"

    def on_scale(self, scale: PointScale) -> tuple[Points, tuple[AttributePoints, ...], float]:
        after = ClassTotals(self.schema, self.base, (), scale.unit, None, scale)
        after.check()
        ratio = self.sign * after.sign * self.unit / scale.unit
        base = scale.even + ratio * (self.base[0] - self.even)
        points = [[ratio * amount for (amount,) in part.points] for part in self.parts]
        whole = [list(map(_whole, amounts)) for amounts in points]
        parts = tuple(
            replace(part, points=tuple((x,) for x in amounts), errors=_scaled_errors(part, abs(ratio)))
            for part, amounts in zip(self.parts, whole, strict=True)
        )
        moved = [[y - x for x, y in zip(*pair, strict=True)] for pair in zip(points, whole, strict=True)]
        error = max(abs(_whole(base) - base + sum(map(end, moved))) for end in (min, max))
        previous = 0.0 if self.scale is None or self.scale.rounding is None else self.scale.rounding
        return (_whole(base),), parts, round(abs(ratio) * previous + error, 6)

    def log_odds(self, totals: Any) -> Any:
        """Return the log-odds of the second of two classes; for more, of each class up to an additive constant."""
        return self.unit * totals if not self.has_one_total else self.sign * self.unit * (totals - self.even)

    @property
    def outcomes(self) -> tuple[Any, ...]:
        return self.schema.classes

    def places(self, totals: Integers) -> Index:
        if not self.has_one_total:
            return totals.argmax(axis=1)
        return (self.sign * (totals - self.limit) > 0).astype(np.intp)

    def shares(self, totals: Integers) -> Floats:
        from scipy.special import expit, softmax  # takes long to import

        if not self.has_one_total:
            return softmax(self.unit * totals, axis=1)
        odds = self.log_odds(totals)
        return np.column_stack([expit(-odds), expit(odds)])

    def score_bands(self, most: int) -> tuple[tuple[ScoreBand, ...], Callable[[Integers], Index]]:
        """Return about `most` bands of the totals, and a function that returns the index of the band of each total.

        The bands of two classes are intervals of totals, narrower where more totals are expected. The distribution of
        totals is estimated from the released rows of the bins, with independent attributes. Without released rows, the
        points of an attribute are assumed to have mean 0, as after a fit, and its bins to have equal numbers of rows.
        """
        if not self.has_one_total:
            return super().score_bands(most)
        from scipy.special import expit  # takes long to import

        ((low, high),) = self.leads
        moments = [_moments(part) for part in self.parts]
        centre = self.sign * (self.base[0] + sum(mean for mean, _variance in moments) - self.limit)
        cuts = margin_cuts(low, high, centre, sqrt(sum(variance for _mean, variance in moments)), most)
        edges = margin_bands(low, high, cuts)
        odds = self.unit * (np.array(edges, dtype=np.float64) + self.sign * (self.limit - self.even))
        bands = tuple(
            ScoreBand(int(stop > 0), start_share, stop_share, (1 - share, share))
            for (_low, stop, _i), (start_share, stop_share, share) in zip(edges, expit(odds).tolist(), strict=True)
        )
        return bands, lambda totals: np.searchsorted(cuts, self.sign * (totals - self.limit))

    @property
    def risks(self) -> tuple[ListedTotal, ...]:
        if not self.has_one_total:
            return ()
        ((low, high),) = extreme_totals(self.base, self.parts)
        totals = tabulated_totals(low, high, self.unit, MOST_TOTALS, self.even)
        return tuple(risk_of(total, self.log_odds(total), self.error) for total in totals)

    @property
    def leads(self) -> list[tuple[int, int]]:
        """The ends of the totals of each class; for two classes, the ends of the margin of totals over `limit`."""
        if not self.has_one_total:
            return super().leads
        low, high = sorted(self.sign * (end - self.limit) for end in super().leads[0])
        return [(low, high)]

    @property
    def meaning(self) -> str:
        """The title of the column of probabilities: the event that they are for."""
        return f"P({self.label} = {self.classes[1]})"

    @property
    def title(self) -> str:
        if not self.has_one_total:
            return _("Points for {target}", target=self.label)
        event = f"{self.label} = {self.classes[self.points_for]}"
        return _("Points for {target}", target=event)

    @property
    def plot_title(self) -> str:
        if not self.has_one_total:
            return _("points")
        against, favour = (shortened(self.classes[place], 20) for place in (1 - self.points_for, self.points_for))
        return _("points: < 0 favours {against}, > 0 favours {favour}", against=against, favour=favour)

    @property
    def lead(self) -> list[str]:
        """The description of the scale, if there is one."""
        if self.scale is None:
            return []
        pdo, score, odds = (number(f"{value:.10g}") for value in (self.scale.pdo, self.scale.score, self.scale.odds))
        event = f"{self.label} = {self.classes[self.points_for]}"
        means = _(
            "A total of {score} means odds of {odds} to 1 for {event}; {pdo} more points double the odds.",
            score=score,
            odds=odds,
            event=event,
            pdo=pdo,
        )
        ((low, high),) = extreme_totals(self.base, self.parts)
        return [means, _range_text(str(low), str(high), self.scale)]

    @property
    def notes(self) -> list[str]:
        unit = number(f"{self.unit:.6g}")
        if not self.has_one_total:
            note = _(
                "The class with the largest total is predicted. P(class) is proportional to exp({unit} * total of the "
                "class): {points} more points double its odds.",
                unit=unit,
                points=number(f"{log(2) / self.unit:.3g}"),
            )
            return [note, *self.error_notes(_ODDS_ERROR)]
        side = (
            gettext_noop("{second} is predicted for totals above {limit}, otherwise {first}.")
            if self.sign > 0
            else gettext_noop("{second} is predicted for totals below {limit}, otherwise {first}.")
        )
        minus, total = "-" if self.sign > 0 else "", pgettext("scorecard", "total")
        if self.scale is not None:
            even = number(f"{self.even:.6f}")
            total = f"({total} - {even})"
        return [
            *self.lead,
            _(side, second=self.classes[1], limit=str(self.limit), first=self.classes[0]),
            f"{self.meaning} = 1 / (1 + exp({minus}{unit} * {total})).",
            *self.error_notes(_ODDS_ERROR),
        ]

    def sql(self, dialect: Dialect) -> list[str]:
        return prediction_sql(self.bins, self.base, self.schema, dialect, self.comparison)

    @property
    def python(self) -> list[str]:
        classes = tuple(self.schema.classes)
        if self.has_one_total:
            return [f"return {classes[1]!r} if total(row) {self.comparison} else {classes[0]!r}"]
        return ["totals = total(row)", f"return {classes!r}[totals.index(max(totals))]"]

    @property
    def pmml(self) -> Element:
        first, second = self.schema.classes
        compared = "greaterThan" if self.sign > 0 else "lessThan"
        decided = pmml_call("if", pmml_call(compared, pmml_total(), self.limit), second, first)
        return pmml_output(self.schema.target, decided)


def _moments(part: AttributePoints) -> tuple[float, float]:
    """Return the estimated mean and variance of the points of an attribute."""
    points = np.array([row[0] for row in part.points], dtype=np.float64)
    rows = np.maximum(np.array(part.rows or (0,), dtype=np.float64), 0.0)
    if not rows.any():
        return 0.0, float(points.var())
    mean = float(np.average(points, weights=rows))
    return mean, float(np.average((points - mean) ** 2, weights=rows))


class NumberTotals(PointTotals):
    """Totals for a number: its lower bound plus `unit` times the total, clipped to its bounds."""

    @property
    def number(self) -> Number:
        number = self.schema.target.as_number
        assert number is not None  # checked by Scorecard
        return number

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
        """The largest total whose number is not clipped."""
        number = self.number
        total = ceil((Fraction(number.high) - Fraction(number.low)) / Fraction(self.unit)) + 1
        while number.low + self.unit * total > number.high:
            total -= 1
        return total

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The first and the last total of those with different predictions."""
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
        """Return an array without columns: a number has no class probabilities."""
        return np.zeros((len(totals), 0))

    @property
    def risks(self) -> tuple[ListedTotal, ...]:
        number, (low, high) = self.number, self._ends
        short = high - low < MOST_TOTALS
        totals = range(low, high + 1) if short else ends_and_between(low, high, low + 1, high - 1, MOST_TOTALS)
        decimals = max(1 - floor(log10(self.unit)), 0)  # the second significant digit of the value of a point

        def listed_total(total: int) -> ListedTotal:
            value = self._value(total)
            if self.error is None:
                return ListedTotal(total, value, is_number=True)
            margin = NORMAL_95 * self.error
            ends = value - margin, value + margin
            low, high = (round(min(max(end, number.low), number.high), decimals) for end in ends)
            return ListedTotal(total, value, low, high, is_number=True)

        return tuple(map(listed_total, totals))

    @property
    def meaning(self) -> str:
        return self.label

    @property
    def title(self) -> str:
        return _("Points for {target}", target=self.label)

    @property
    def plot_title(self) -> str:
        return _("points for {target}", target=self.label)

    def on_scale(self, scale: PointScale) -> NoReturn:  # noqa: ARG002 -- a number has none
        raise not_two_classes(self.schema)

    @property
    def lead(self) -> list[str]:
        """The value of a point."""
        return self.notes[:1]

    @property
    def notes(self) -> list[str]:
        low, high = map(digits, (self.number.low, self.number.high))
        start = "" if not self.number.low else f"{low} + "
        value = _(
            "{target} = {start}{unit} * total, at least {low} and at most {high}.",
            target=self.label,
            start=start,
            unit=digits(self.unit),
            low=low,
            high=high,
        )
        return [value, *self.error_notes(_NUMBER_ERROR)]

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
        below = ["points = total(row)", "if points < 0:", f"    return {low!r}"]
        return [*below, f"return {high!r} if points > {self.most} else {low!r} + {self.unit!r} * points"]

    @property
    def pmml(self) -> Element:
        low, high = map(float, (self.number.low, self.number.high))
        value = pmml_call("+", low, pmml_call("*", self.unit, pmml_total()))
        most = pmml_call("if", pmml_call("greaterThan", pmml_total(), self.most), high, value)
        least = pmml_call("if", pmml_call("lessThan", pmml_total(), 0), low, most)
        return pmml_output(self.schema.target, least)


def _whole(amount: float) -> int:
    """Return points as a whole number."""
    whole = round(amount)
    if abs(whole) > MOST_POINTS:
        expected = f"expected a scale with points of at most {MOST_POINTS:,} in absolute value"
        raise ArgumentError(f"{expected}, got {whole:,}; use a smaller pdo.")
    return whole


def _range_text(low: str, high: str, scale: PointScale) -> str:
    if not scale.rounding:
        return _("Totals range from {low} to {high}.", low=low, high=high)
    points, odds = ceil(100 * scale.rounding) / 100, ceil(1000 * (2 ** (scale.rounding / scale.pdo) - 1)) / 10
    return _(
        "Totals range from {low} to {high}; rounding changes a total by at most {points} points, and the odds by at "
        "most {odds}.",
        low=low,
        high=high,
        points=number(f"{points:.10g}"),
        odds=percentage(f"{odds:.10g}"),
    )


def _scaled_errors(part: AttributePoints, ratio: float) -> tuple[PointErrors, ...] | None:
    return None if part.errors is None else tuple((ratio * error,) for (error,) in part.errors)


def _is_same(first: Value, second: Value) -> bool:
    return type(first) is type(second) and first == second
