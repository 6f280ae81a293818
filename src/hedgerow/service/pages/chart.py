"""A picture of spending over time, as SVG."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.dates import DateFormatter
from matplotlib.figure import Figure

_LOCK = threading.Lock()  # matplotlib's caches of fonts are not for several threads
_MOST_POINTS = 500


@dataclass(frozen=True)
class Palette:
    """Colours that stand out from a page's ground: its texts by a contrast of 4.5 at least."""

    text: str
    line: str
    cap: str
    grid: str


Size = tuple[float, float]
WIDE, NARROW = (8.6, 2.3), (3.6, 2.2)
"""Inches."""
LIGHT = Palette("#4d5753", "#1f6f54", "#9a3412", "#e3e6e2")
DARK = Palette("#a9b4ae", "#6fcf9f", "#f0a36b", "#2c3431")


@dataclass(frozen=True)
class Chart:
    """What is drawn."""

    points: tuple[tuple[datetime, float], ...]  # when something was charged, and what was spent by then, in order
    cap: float  # the cap
    label: str  # what the amounts are

    @classmethod
    def of(cls, spent: Sequence[tuple[datetime, Fraction]], cap: Fraction, label: str) -> Chart:
        """Return a chart of exact amounts: of the last of each of 500 spans of time, where there are more."""
        points = [(when, float(amount)) for when, amount in spent]
        if len(points) > _MOST_POINTS:
            first, whole = points[0][0], (points[-1][0] - points[0][0]) / _MOST_POINTS
            kept = {(when - first) // whole if whole else 0: (when, amount) for when, amount in points}
            points = [points[0], *kept.values()]
        return cls(tuple(points), float(cap), label)


@lru_cache(64)
def draw(chart: Chart, palette: Palette, size: Size = WIDE) -> bytes:
    """Return a picture as SVG: a step at each charge, and the cap as a dashed line."""
    with _LOCK, mpl.rc_context({"svg.hashsalt": "hedgerow", "font.size": 8, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=size, layout="constrained", facecolor="none")  # the page's ground shows through
        axes = figure.add_subplot(facecolor="none")
        _draw_steps(axes, chart.points, palette.line)
        axes.axhline(chart.cap, color=palette.cap, linewidth=1.2, linestyle=(0, (5, 3)))
        place: Any = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "top"}
        axes.annotate("cap", (0, chart.cap), (4, -3), color=palette.cap, **place)
        axes.set_ylim(0, chart.cap * 1.06)
        axes.locator_params(axis="y", nbins=5)
        axes.set_ylabel(chart.label, color=palette.text)
        axes.tick_params(colors=palette.text, length=0)
        axes.grid(axis="y", color=palette.grid, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        axes.spines["bottom"].set(visible=True, color=palette.grid)
        made = io.BytesIO()
        FigureCanvasSVG(figure).print_svg(made, metadata={"Date": None, "Creator": None})
    return made.getvalue()


def _draw_steps(axes: Axes, points: tuple[tuple[datetime, float], ...], colour: str) -> None:
    """Draw what was spent, with the times of the first and the last charge below."""
    times: Any = [when for when, _ in points[:1] + points]
    amounts = [0.0, *(amount for _, amount in points)]
    axes.set_xticks(times[:1] + times[-1:] if times and times[0] < times[-1] else times[:1])
    if not times:
        return
    axes.fill_between(times, amounts, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.plot(times, amounts, drawstyle="steps-post", color=colour, linewidth=1.8)
    axes.plot(times[-1:], amounts[-1:], "o", color=colour, markersize=4)
    axes.xaxis.set_major_formatter(DateFormatter("%Y-%m-%d %H:%M UTC"))
    for label, side in zip(
        axes.get_xticklabels(), ("left", "right") if times[0] < times[-1] else ("center",), strict=True
    ):
        label.set_horizontalalignment(side)
