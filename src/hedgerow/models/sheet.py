"""What a scorecard shows its readers: bins with their points, totals with their probabilities, and words about both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from hedgerow.models.points import AttributePoints, PointBin, Points, extreme_totals, point_bins
from hedgerow.models.risks import Risk, risk_of, tabulated_totals
from hedgerow.schema.schema import Schema
from hedgerow.values import printable, shown_text

MOST_TOTALS = 13
"""How many totals are shown with their probabilities."""


@dataclass(frozen=True)
class Sheet:
    """The parts of a scorecard, as they are shown."""

    label: str  # the name of the label, printable
    classes: tuple[str, ...]  # the classes, printable
    bins: tuple[tuple[PointBin, ...], ...]  # the bins of each attribute that is used
    base: Points  # the points that every row starts with
    unit: float  # the log-odds of one point
    error: float | None  # the standard error of log-odds by the noise of the release
    risks: tuple[Risk, ...]  # totals with their probabilities; none for more than two classes

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
    def is_binary(self) -> bool:
        """Whether there are two classes, so that a row has one total."""
        return len(self.base) == 1

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The titles of the columns of points: the classes, if there are more than two."""
        return ("points",) if self.is_binary else self.classes

    @property
    def probability(self) -> str:
        """What the probabilities are of."""
        return f"P({self.label} = {self.classes[1]})"

    @property
    def title(self) -> str:
        """What the points are for."""
        return f"Points for {self.label}" + (f" = {self.classes[1]}" if self.is_binary else "")

    @property
    def risk_lines(self) -> list[list[str]]:
        """The totals with their probabilities as lines of a table, its titles first."""
        has_interval = self.error is not None
        lines = [["total", self.probability, *(["95 % by noise"] if has_interval else [])]]
        return lines + [[str(one.total), one.shown, *([one.interval] if has_interval else [])] for one in self.risks]

    @property
    def notes(self) -> list[str]:
        """How totals are read, in sentences."""
        unit = f"{self.unit:.6g}"
        if not self.is_binary:
            found = [
                f"The class with the largest total is predicted. P(class) is proportional to exp({unit} * its total)."
            ]
            if self.error is not None:
                found.append(f"The noise of the release adds a standard error of {self.error:.3g} to log-odds.")
            return found
        found = [
            f"{self.classes[1]} is predicted for totals above 0, else {self.classes[0]}.",
            f"{self.probability} = 1 / (1 + exp(-{unit} * total)).",
        ]
        if self.error is not None:
            found.append(
                "95 % intervals are by the noise of the release, a standard error of "
                f"{self.error:.3g} in log-odds; another sample of rows would add to it."
            )
        return found
