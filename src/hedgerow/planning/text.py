"""Forecasts in words and tables."""

from __future__ import annotations

from math import isfinite
from textwrap import fill
from typing import TYPE_CHECKING

from hedgerow.planning.expected import CUT_BINS, Expected, round_up
from hedgerow.privacy.amounts import amount_text

if TYPE_CHECKING:
    from hedgerow.planning.forecast import Forecast

_WIDTH = 100


def recommendation(forecast: Forecast) -> str:
    """Return what to fit, in a sentence or two."""
    loss = f"{100 * forecast.accuracy_loss:g} %"
    if forecast.is_hopeless:
        enough = forecast.enough_epsilon
        more = (
            "Ask for fewer attributes, values or cut points."
            if enough is None
            else f"From epsilon = {enough:g} on, or with "
            f"{round_up(forecast.rows * enough / float(forecast.epsilon)):,.0f} rows, one test loses {loss} at most."
        )
        return f"Too little for any model: expect no more than the most frequent class. {more}"
    card = (
        f"a bin of a scorecard is off by {forecast.bin_noise:,.0f} rows of {forecast.rows_in_a_bin:,.0f}"
        if forecast.is_scorecard_sensible
        else "the noise of a scorecard's bins is more than their rows"
    )
    if not forecast.largest:
        return f"Fit a scorecard: {card}."
    first, *rest = (f"the best one of up to {one.name.partition(', ')[2]}" for one in forecast.largest)
    kinds = [one.kind for one in forecast.largest]
    more = "".join(f"; a {kind} beside {best}" for kind, best in zip(kinds[1:], rest, strict=True))
    return f"A {kinds[0]} loses, on average, at most {loss} of the rows beside {first}{more}. In comparison, {card}."


def forecast_text(forecast: Forecast) -> str:
    """Return the whole forecast as text."""
    epsilon, rows = amount_text(forecast.epsilon), forecast.rows
    delta = f", delta = {amount_text(forecast.delta)}" if forecast.delta else ""
    lines = [f"about {rows:,} rows, epsilon = {epsilon}{delta}; from public numbers alone, nothing is spent", ""]
    lines += _draws(forecast)
    lines += [
        f"a leaf's count, released too    ± {forecast.leaf_noise:,} rows (95 %)",
        f"a class in a scorecard's bin    ± {forecast.bin_noise:,.0f} rows (95 %) of {forecast.rows_in_a_bin:,.0f} on "
        "average",
    ]
    if isfinite(forecast.least_epsilon):
        lines.append(f"a leaf of 5 % of the rows can be told from none from epsilon = {forecast.least_epsilon:g} on")
    else:
        lines.append("a leaf of 5 % has less than a row: no epsilon tells it from none")
    if forecast.cut_points is not None:
        numbers, off = forecast.cut_points
        of = "of 1 number" if numbers == 1 else f"of {numbers} numbers"
        lines.append(
            f"cut points {of}, for a fifth of epsilon: {CUT_BINS} bins of {rows / CUT_BINS:,.0f} rows are off by "
            f"about {off:,.0f} rows in all"
        )
    if forecast.simulated:
        lines += ["", "on the public table, right of 100 rows: mean (5th to 95th percentile)"]
        lines += [f"  {one.name:<12}  {one.text()}" for one in forecast.simulated]
    return "\n".join([*lines, "", fill(forecast.recommendation, _WIDTH)])


def _draws(forecast: Forecast) -> list[str]:
    if not forecast.draws:
        return ["no tree or rule list is drawn as a whole: defaults are greedy here, of which no bound is known", ""]
    head = ("drawn as a whole", "more errors than the best", "", f"epsilon for {100 * forecast.accuracy_loss:g} %", "")
    table = [head, *(_row(forecast, one) for one in forecast.draws)]
    widths = [max(len(row[place]) for row in table) for place in range(len(head))]
    lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
    kinds = {one.kind: one.seconds for one in forecast.draws}
    return [
        *lines,
        "",
        "about how long a draw takes: " + ", ".join(f"a {kind} {_seconds(s)}" for kind, s in kinds.items()),
        "",
    ]


def _row(forecast: Forecast, one: Expected) -> tuple[str, ...]:
    excess = one.excess(forecast.epsilon)
    share = 100 * excess / forecast.rows
    needed = round_up(one.epsilon_for(forecast.accuracy_loss, forecast.rows))
    mark = "" if share <= 100 * forecast.accuracy_loss else "too noisy"
    return one.name, f"at most {_share(share)}", f"({excess:,.0f} rows)", f"{needed:g}", mark


def _share(percent: float) -> str:
    return "100 %" if percent >= 100 else f"{percent:.1f} %" if percent >= 0.1 else f"{percent:.1g} %"


def _seconds(seconds: float) -> str:
    return "less than a second" if seconds < 1 else f"{seconds:.0f} s"
