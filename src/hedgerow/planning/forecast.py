"""Forecasts of private fits from public numbers, and their text."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from textwrap import fill
from typing import Any

import numpy as np

from hedgerow.models.plot import axes_of, colour
from hedgerow.planning.constant import Constant, constant_lines
from hedgerow.planning.expected import (
    CONFIDENCE,
    CUT_BINS,
    Expected,
    chosen_first,
    round_up,
)
from hedgerow.planning.simulation import ByEpsilon, Simulated, draw_accuracies
from hedgerow.privacy.amounts import amount_text
from hedgerow.schema.schema import Schema
from hedgerow.text.axes import Axes
from hedgerow.text.messages import aligned, number_of
from hedgerow.text.values import printable

_MOST_SIZES = 4  # lines of a plot, for each kind of model
_WIDTH = 100  # of the text


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Forecast of private fits of a table. Nothing in it is made of private rows.

    Attributes
    ----------
    schema : Schema
        The schema.
    rows : int
        About how many rows are counted: all rows of the table or, if the schema has a unit, at most `max_rows` of each
        unit. All shares and losses are of these rows.
    epsilon, delta : Fraction
        The budget of a model.
    accuracy_loss : float
        The share of rows that may be in error besides those that the best model of a size gets wrong; of a number, by
        how much R² may be lower.
    spread : float, optional
        About the standard deviation of a number; None of classes.
    draws : tuple of Expected
        Trees and rule lists that are drawn as a whole, by size.
    leaf_noise : int
        Half the width, in rows, of the 95 % interval of a leaf's count, where counts are released with a draw: of each
        class, or of each level of a number.
    bin_noise : float
        The same of the rows of a class in a bin of a default scorecard; infinite for a number.
    rows_in_a_bin : float
        How many rows of a class a bin has, if all had as many.
    attributes : int
        How many attributes a default scorecard uses with so many rows: all, or those that tell most.
    least_epsilon : float
        The ε from which a leaf of 5 % of the rows can be told from an empty one, by one count.
    cut_points : tuple of (int, float), or None
        Of how many numbers `Schema.learn` finds cut points for a fifth of ε, and by about how many rows the bins of one
        are off, in all; None if all have cut points.
    simulated : tuple of Simulated
        What default models got right on a public table.
    constants : tuple of Constant
        The chance that a model says one class for every row, by the share of the rarer class; none of a number.
    by_epsilon : tuple of (Fraction, tuple of Simulated)
        The same as `simulated`, by ε in rising order, if other ε were tried.
    table_rows : int
        About how many rows the table has.
    units : int or None
        About how many units it has; None if the schema has no unit.
    """

    schema: Schema
    rows: int
    epsilon: Fraction
    delta: Fraction
    accuracy_loss: float
    draws: tuple[Expected, ...]
    leaf_noise: int
    bin_noise: float
    rows_in_a_bin: float
    attributes: int
    least_epsilon: float
    cut_points: tuple[int, float] | None
    simulated: tuple[Simulated, ...] = ()
    spread: float | None = None
    constants: tuple[Constant, ...] = ()
    by_epsilon: ByEpsilon = ()
    table_rows: int
    units: int | None = None

    @property
    def largest(self) -> tuple[Expected, ...]:
        """The largest model of each kind that loses no more than `accuracy_loss` on average."""
        within = {one.kind: one for one in self.draws if one.excess(self.epsilon) <= self.accuracy_loss * self.rows}
        return tuple(within.values())

    @property
    def is_scorecard_sensible(self) -> bool:
        """True where the noise of a bin of a scorecard is less than the rows of a bin of that many."""
        return self.bin_noise < self.rows_in_a_bin

    @property
    def is_hopeless(self) -> bool:
        """True where neither one test nor a scorecard is within the noise."""
        return not self.largest and not self.is_scorecard_sensible

    @property
    def enough_epsilon(self) -> float | None:
        """The ε from which one test loses no more than `accuracy_loss`; None where nothing is drawn as a whole."""
        return least_epsilon_for(self.draws, self.accuracy_loss, self.rows)

    @property
    def recommendation(self) -> str:
        """The model to fit, in a sentence or two."""
        is_number, loss = self.spread is not None, f"{100 * self.accuracy_loss:g} %"
        if self.is_hopeless:
            enough = self.enough_epsilon
            more = "Ask for fewer attributes, values or cut points."
            if enough is not None:
                rows = round_up(min(one.excess(self.epsilon) for one in self.draws) / self.accuracy_loss)
                more = f"From epsilon = {enough:g} on, or with {rows:,.0f} rows, one test loses {loss} at most."
            constant = "the mean" if is_number else "the most frequent class"
            return f"Too little for any model: expect no more than {constant}. {more}"
        card = "the noise of a scorecard's bins is more than their rows"
        if self.is_scorecard_sensible:
            card = f"a bin of a scorecard is off by {self.bin_noise:,.0f} rows of {self.rows_in_a_bin:,.0f}"
        if not self.largest:
            return f"Fit a scorecard: {card}."
        best = [f"the best {one.kind} with up to {one.name.partition(', ')[2]}" for one in self.largest]
        does = f"misclassifies, on average, at most {loss} of the rows more"
        if is_number:
            does = f"has, on average, an R² at most {self.accuracy_loss:g} lower"
        first, *others = zip((one.kind for one in self.largest), best, strict=True)
        more = "".join(f"; a private {kind}, than {its_best}" for kind, its_best in others)
        compared = "" if is_number else f" In comparison, {card}."
        return f"A private {first[0]} {does} than {first[1]}{more}.{compared}"

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as JSON-ready data."""
        epsilon, cuts = self.epsilon, self.cut_points
        return {
            "rows": self.table_rows,
            "units": self.units,
            "rows_counted": self.rows,
            "epsilon": str(epsilon),
            "delta": str(self.delta),
            "accuracy_loss": self.accuracy_loss,
            "draws": [
                {
                    "model": one.kind,
                    "size": one.size,
                    "excess_errors": one.excess(epsilon),
                    "excess_share": one.excess(epsilon) / self.rows,
                    "epsilon_for_accuracy_loss": _finite(one.epsilon_for(self.accuracy_loss, self.rows)),
                    "seconds": one.seconds,
                    **({} if self.spread is None else _of_number(self, one)),
                }
                for one in self.draws
            ],
            "spread": self.spread,
            "constant": [vars(one) for one in self.constants],
            "leaf_noise": self.leaf_noise,
            "bin_noise": _finite(self.bin_noise),
            "rows_in_a_bin": self.rows_in_a_bin,
            "attributes": self.attributes,
            "least_epsilon": _finite(self.least_epsilon),
            "cut_points": None if cuts is None else {"numbers": cuts[0], "rows_off": cuts[1]},
            "simulated": [one.to_dict() for one in self.simulated],
            "by_epsilon": [
                {"epsilon": str(each), "simulated": [one.to_dict() for one in found]} for each, found in self.by_epsilon
            ],
            "recommendation": self.recommendation,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the accuracy, or R², on the public table by ε, if other ε were tried; else the average loss at most."""
        if self.by_epsilon:
            return draw_accuracies(self.by_epsilon, self.rows, ax)
        ax = axes_of(ax, 8, 4.5)
        epsilon = float(self.epsilon)
        grid = np.geomspace(epsilon / 30, epsilon * 30, 61)
        for kind, style in (("tree", "-"), ("rule list", "--")):
            for place, one in enumerate([one for one in self.draws if one.kind == kind][:_MOST_SIZES]):
                share = [min(100 * one.excess(Fraction(each)) / self.rows, 100) for each in grid.tolist()]
                ax.plot(grid, share, style, color=colour(place), label=one.name)
        ax.axhline(100 * self.accuracy_loss, color="grey", linewidth=0.8)
        ax.axvline(epsilon, color="grey", linewidth=0.8)
        ax.annotate(f" epsilon = {amount_text(self.epsilon)}", (epsilon, 95), fontsize=9)
        ax.annotate(f"{100 * self.accuracy_loss:g} %", (grid[0], 100 * self.accuracy_loss), fontsize=9, va="bottom")
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_ylim(0, 100)
        ax.set_xlabel("epsilon")
        what, of = ("more errors than the", "rows") if self.spread is None else ("R² below that of the", "the variance")
        ax.set_ylabel(f"{what} best of its size,\nat most, on average (% of {of})")
        counted = "" if self.units is None else f" counted of {self.table_rows:,}"
        ax.set_title(f"about {self.rows:,} rows{counted}", loc="left")
        if self.draws:
            ax.legend(frameon=False, fontsize=9)
        return ax

    def __str__(self) -> str:
        epsilon, rows = amount_text(self.epsilon), self.rows
        delta = f", delta = {amount_text(self.delta)}" if self.delta else ""
        lines = [
            f"about {self.table_rows:,} rows, epsilon = {epsilon}{delta}; from public numbers alone, nothing is spent"
        ]
        lines += [*_counted_lines(self), ""]
        lines += [*_draws(self), *_noise(self)]
        if self.cut_points is not None:
            numbers, off = self.cut_points
            lines.append(
                f"cut points of {number_of(numbers, 'number')}, for a fifth of epsilon: {CUT_BINS} bins of "
                f"{rows / CUT_BINS:,.0f} rows are off by about {off:,.0f} rows in all"
            )
        lines += constant_lines(self.constants)
        if self.simulated:
            what = "right of 100 rows" if self.spread is None else "R², and mean absolute error"
            lines += ["", f"on the public table, {what}: mean (5th to 95th percentile)"]
            lines += [f"  {one.name:<13}  {one.text()}" for one in self.simulated]
        return "\n".join([*lines, "", fill(self.recommendation, _WIDTH)])

    def __repr__(self) -> str:
        return f"<Forecast for {self.rows:,} rows, epsilon={amount_text(self.epsilon)}>"


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def least_epsilon_for(draws: Sequence[Expected], loss: float, rows: int) -> float | None:
    """Return the smallest ε, to two digits, at which a model loses a share of the rows at most; None if none does."""
    smallest = {one.kind: one for one in reversed(draws)}  # larger models lose more
    needed = min((one.epsilon_for(loss, rows) for one in smallest.values()), default=inf)
    return round_up(needed) if isfinite(needed) else None


def _counted_lines(forecast: Forecast) -> list[str]:
    """Return a line about the rows that are counted of units; none if all rows are."""
    unit = forecast.schema.unit
    if unit is None:
        return []
    each = f"at most {unit.max_rows} of each of about {forecast.units:,} units ({printable(unit.column)})"
    lines = [f"{forecast.rows:,} rows are counted, {each}; shares and losses are of these rows"]
    if unit.max_rows > 1:
        few = "fewer rows are counted, and shares and losses are larger"
        lines.append(f"if units have very different numbers of rows, {few}")
    return lines


def _draws(forecast: Forecast) -> list[str]:
    if forecast.schema.monotone:
        return ["no tree or rule list: they do not keep what the schema declares as monotone", ""]
    if not forecast.draws:
        few = chosen_first(forecast.schema, forecast.epsilon, forecast.rows)
        why = "defaults are greedy here" if few is None else "these are too few rows to choose attributes by"
        if few:
            why = f"{few} of {len(forecast.schema):,} attributes are chosen first"
        return [f"no tree or rule list is drawn as a whole: {why}, and no bound is known", ""]
    needed = f"epsilon for {100 * forecast.accuracy_loss:g} %"
    head = ("drawn as a whole", "more errors than the best", "", needed, "")
    if forecast.spread is not None:
        head = ("drawn as a whole", "R² below the best", "95 of 100 draws", "MAE above the best", needed, "")
    table = [head, *(_row(forecast, one) for one in forecast.draws)]
    lines = [*aligned(table, left=len(head)), ""]
    if forecast.spread is not None:
        lines.append(f"for a standard deviation of {forecast.spread:.4g}; MAE by objective='absolute'")
    times = {one.kind: "less than a second" if one.seconds < 1 else f"{one.seconds:.0f} s" for one in forecast.draws}
    took = ", ".join(f"a {kind} {time}" for kind, time in times.items())
    return [*lines, *_choice_of_leaves(forecast), f"about how long a draw takes: {took}", ""]


def _choice_of_leaves(forecast: Forecast) -> list[str]:
    """Return the line that says how to limit the leaves of a tree."""
    most = max((one.size for one in forecast.draws if one.kind == "tree"), default=0)
    limits = ", ".join(f"{depth} allows {2**depth}" for depth in (2, 3, 4) if 2**depth <= most)
    return [f"the rows decide how many leaves a tree has; max_depth limits them: {limits}"] if limits else []


def _row(forecast: Forecast, one: Expected) -> tuple[str, ...]:
    excess = one.excess(forecast.epsilon)
    share = 100 * excess / forecast.rows
    enough = one.epsilon_for(forecast.accuracy_loss, forecast.rows)
    needed = f"{round_up(enough):g}" if isfinite(enough) else "none"
    mark = "" if share <= 100 * forecast.accuracy_loss else "too noisy"
    if forecast.spread is not None:
        of = _of_number(forecast, one)
        by = (of[name] for name in ("r2_below", "r2_usually_below"))
        texts = (f"by at most {each:.2g}" if each < 1 else "no bound" for each in by)
        return one.name, *texts, f"by at most {of['mae_above']:.3g}", needed, mark
    return one.name, f"at most {_share(share)}", f"({excess:,.0f} rows)", needed, mark


def _of_number(forecast: Forecast, one: Expected) -> dict[str, float]:
    """Return by how much R² may be lower, on average and in 95 of 100 draws, and the mean absolute error higher."""
    epsilon, rows = forecast.epsilon, forecast.rows
    assert one.absolute is not None
    return {
        "r2_below": one.excess(epsilon) / rows,
        "r2_usually_below": one.excess(epsilon, 1 - CONFIDENCE) / rows,
        "mae_above": one.absolute.excess(epsilon) / rows,
    }


def _noise(forecast: Forecast) -> list[str]:
    """Return the noise on what may be released besides a model, and how many attributes a scorecard chooses."""
    used, all_ = forecast.attributes, len(forecast.schema)
    choice = [f"a scorecard chooses {used} of {all_:,} attributes and uses no others"] if used < all_ else []
    if forecast.spread is not None:
        return [f"rows of a leaf in a level, released too    ± {forecast.leaf_noise:,} rows (95 %)", *choice]
    lines = [
        f"a leaf's count, released too    ± {forecast.leaf_noise:,} rows (95 %)",
        f"a class in a scorecard's bin    ± {forecast.bin_noise:,.0f} rows (95 %) of {forecast.rows_in_a_bin:,.0f} on "
        "average",
        *choice,
    ]
    if isfinite(forecast.least_epsilon):
        return [*lines, f"a leaf of 5 % of the rows is detectable from epsilon = {forecast.least_epsilon:g} on"]
    return [*lines, "a leaf of 5 % has less than a row: it is detectable at no epsilon"]


def _share(percent: float) -> str:
    return "100 %" if percent >= 100 else f"{percent:.1f} %" if percent >= 0.1 else f"{percent:.1g} %"
