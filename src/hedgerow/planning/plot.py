"""Plots of forecasts."""

from __future__ import annotations

from fractions import Fraction
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.models.plot import axes_of, colour
from hedgerow.planning.curve import CONSTANT, Curve
from hedgerow.planning.facts import ForecastFacts
from hedgerow.planning.wording import bound_name, constant_words, metric_words, rows_words
from hedgerow.privacy.amounts import amount_text
from hedgerow.text.messages import number_of

if TYPE_CHECKING:
    from hedgerow.text.axes import Axes

_STYLES = {"tree": "-", "rule list": "--"}
_LEAST_R2 = -0.5


def draw_curve(forecast: ForecastFacts, curve: Curve, ax: Axes | None) -> Axes:
    """Draw the mean score of each model by ε, with its band; a ring marks the first ε that beats the constant."""
    ax = axes_of(ax, 8, 5)
    scale = 100 if curve.metric == "accuracy" else 1
    grid = [float(epsilon) for epsilon in curve.epsilons]
    constant = [scale * curve.trial(CONSTANT, epsilon).mean for epsilon in curve.epsilons]
    ax.plot(grid, constant, color="0.3", linestyle="--", label=constant_words(forecast))
    for place, model in enumerate(curve.models):
        trials = [curve.trial(model, epsilon) for epsilon in curve.epsilons]
        means = [scale * trial.mean for trial in trials]
        low, high = (scale * ends for ends in np.array([trial.band for trial in trials]).T)
        start = curve.beats_constant_from(model)
        label = f"{model}: not better in every run" if start is None else f"{model}: better from {_text(start)} on"
        ax.plot(grid, means, color=colour(place), marker=".", label=label)
        ax.fill_between(grid, low, high, color=colour(place), alpha=0.15, linewidth=0)
        if start is not None:
            mean = means[curve.epsilons.index(start)]
            size = 9 + 4 * place  # so that rings around the same point stay visible
            ax.plot(float(start), mean, color=colour(place), marker="o", markersize=size, fillstyle="none")
    ax.axvline(float(forecast.epsilon), color="0.8", linewidth=0.8, zorder=0)
    ax.set_xscale("log")
    ax.set_xticks(grid, [_number(epsilon) for epsilon in curve.epsilons])
    ax.minorticks_off()
    if curve.metric == "r2":
        ax.set_ylim(bottom=max(_LEAST_R2, ax.get_ylim()[0]))
    ax.set_xlabel("epsilon")
    ax.set_ylabel(metric_words(curve.metric) + " on held-out public rows")
    lines = _title(forecast, curve)
    figure = ax.get_figure(root=True)
    letters = 16 * ax.get_position().width * (8 if figure is None else figure.get_figwidth())
    ax.set_title("\n".join(fill(line, max(int(letters), 20)) for line in lines), loc="left", fontsize="small")
    ax.legend(edgecolor="none", fontsize="small")
    return ax


def _title(forecast: ForecastFacts, curve: Curve) -> tuple[str, str]:
    """Return the lines of the title: the fitted models, and the meaning of lines, bands and rings."""
    runs = number_of(curve.runs, "run")
    band = f"; band: contains a further run with probability {100 * curve.band_probability:.0f} %"
    return (
        f"default models fitted to {rows_words(forecast)} of a public table, {runs} at each epsilon",
        f"line: mean{band if curve.runs > 1 else ''}; ring: better than the dashed line in every run from here on",
    )


def draw_bounds(forecast: ForecastFacts, ax: Axes | None) -> Axes:
    """Draw the bound on the mean loss of each size of tree and rule list by ε."""
    ax = axes_of(ax, 8, 4.5)
    epsilon, allowed = float(forecast.epsilon), 100 * forecast.accuracy_loss
    grid = np.geomspace(epsilon / 30, epsilon * 30, 41)
    for kind, style in _STYLES.items():
        for place, bound in enumerate(bound for bound in forecast.draws if bound.kind == kind):
            losses = [bound.excess(Fraction(value)) / forecast.allowed * allowed for value in grid.tolist()]
            ax.plot(grid, np.minimum(losses, 100), style, color=colour(place), label=bound_name(bound))
    ax.axhline(allowed, color="grey", linewidth=0.8)
    ax.axvline(epsilon, color="grey", linewidth=0.8)
    ax.annotate(f" epsilon = {amount_text(forecast.epsilon)}", (epsilon, 95), fontsize=9)
    ax.annotate(f"{allowed:g} %", (grid[0], allowed), fontsize=9, va="bottom")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(0, 100)
    ax.set_xlabel("epsilon")
    loss = "misclassified rows" if forecast.spread is None else "loss of R²"
    loss = loss if forecast.costs is None else "cost of errors"
    ax.set_ylabel(f"{loss} added by noise:\nupper bound on the mean (%)")
    ax.set_title(f"about {rows_words(forecast)}; bounds hold for every table", loc="left", fontsize="small")
    if forecast.draws:
        ax.legend(frameon=False, fontsize=9)
    return ax


def _number(epsilon: Fraction) -> str:
    return f"{float(epsilon):g}"


def _text(epsilon: Fraction) -> str:
    return f"epsilon = {_number(epsilon)}"
