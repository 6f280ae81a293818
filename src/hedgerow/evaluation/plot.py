"""Plots of evaluations."""

from collections.abc import Sequence
from textwrap import fill

from hedgerow.models.plot import axes_of, colour, plain
from hedgerow.text.axes import Axes

Point = tuple[float, float, tuple[float, float]]
"""The predicted probability of a score band, the observed share, and the ends of its interval."""


def reliability_plot(points: Sequence[Point], event: str, caption: str, ax: Axes | None) -> Axes:
    """Plot the reliability diagram: observed shares with intervals against predicted probabilities."""
    ax = axes_of(ax, 5.5, 5.5)
    ax.plot([0, 1], [0, 1], color="0.6", ls="--", lw=1, label="perfect calibration")
    predicted, observed = [point[0] for point in points], [point[1] for point in points]
    below = [max(value - low, 0.0) for _, value, (low, _) in points]
    above = [max(high - value, 0.0) for _, value, (_, high) in points]
    label = "score bands, 95 % interval (noise only)"
    ax.errorbar(
        predicted, observed, yerr=[below, above], fmt="o", color=colour(0), capsize=3, label=label, clip_on=False
    )
    ax.set_xlabel(plain(fill(f"predicted probability of {event}", 60)))
    ax.set_ylabel("observed share")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_title(plain(fill(caption, 60)), fontsize="small", loc="right")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax
