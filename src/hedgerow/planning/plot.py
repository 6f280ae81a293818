"""Plots of forecasts: the average loss at most by ε, one line a size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.models.plot import colour
from hedgerow.privacy.amounts import amount_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.planning.forecast import Forecast

_MOST_SIZES = 4


def plot_forecast(forecast: Forecast, ax: Axes | None = None) -> Axes:
    """Draw a forecast, and return the axes."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
    epsilon = float(forecast.epsilon)
    grid = np.geomspace(epsilon / 30, epsilon * 30, 200)
    styles = {"tree": "-", "rule list": "--"}
    for one in forecast.draws:
        if one.size <= _MOST_SIZES:
            share = np.minimum(100 * one.excess_times_epsilon / grid / forecast.rows, 100)
            ax.plot(grid, share, styles[one.kind], color=colour(one.size - 1), label=one.name)
    ax.axhline(100 * forecast.accuracy_loss, color="grey", linewidth=0.8)
    ax.axvline(epsilon, color="grey", linewidth=0.8)
    ax.annotate(f" epsilon = {amount_text(forecast.epsilon)}", (epsilon, 95), fontsize=9)
    ax.annotate(f"{100 * forecast.accuracy_loss:g} %", (grid[0], 100 * forecast.accuracy_loss), fontsize=9, va="bottom")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(0, 100)
    ax.set_xlabel("epsilon")
    ax.set_ylabel("more errors than the best of its size,\nat most, on average (% of rows)")
    ax.set_title(f"about {forecast.rows:,} rows", loc="left")
    if forecast.draws:
        ax.legend(frameon=False, fontsize=9)
    return ax
