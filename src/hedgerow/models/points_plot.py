"""Plots of points by bin: bars, the attributes that matter most first."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import ArgumentError
from hedgerow.models.plot import MOST_DRAWN, class_legend, class_patches, colour, plain, shortened
from hedgerow.models.points import PointBin
from hedgerow.models.sheet import Sheet
from hedgerow.text.markup import Html, element
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_ATTRIBUTES = 12
"""The most attributes that a plot shows."""
Group = tuple[str, Sequence[tuple[str, Sequence[float]]]]
"""An attribute, and for each of its bins the name and the points: one number for two classes, else one for each."""
_LONGEST = 40  # characters of a name


def points_bars(
    groups: Sequence[Group],
    classes: Sequence[str],
    caption: str,
    ax: Axes | None = None,
    *,
    most: int = MOST_ATTRIBUTES,
    unit: str = "points",
) -> Axes:
    """Draw the points of each bin, for the attributes whose points differ most, the widest first; return the axes.

    Colours are those of the classes that points speak for.
    """
    import matplotlib.pyplot as plt

    ranked = sorted(groups, key=lambda group: -float(np.ptp([row for _, row in group[1]], axis=0).max()))[:most]
    n_lines = sum(len(bins) for _, bins in ranked)
    n_columns = max((len(row) for _, bins in ranked for _, row in bins), default=1)
    if n_lines * n_columns > MOST_DRAWN:
        raise ArgumentError(
            f"expected at most {MOST_DRAWN} bars to draw, got {n_lines * n_columns:,}; print the model, or export it."
        )
    if len(ranked) < len(groups):
        caption = f"the {len(ranked)} of {len(groups)} attributes whose points differ most; {caption}"
    labels = [label for group in ranked for label in _labels(*group)]
    if ax is None:
        height = 1.3 + max(0.22 * n_lines * (1 + 0.4 * (n_columns - 1)), 0.25 * (len(classes) + 1) * (n_columns > 1))
        width = 5.5 + 0.07 * max((len(label) for label in labels), default=0)
        _, ax = plt.subplots(figsize=(max(8, width), height), layout="constrained")
    _draw_bars(ax, ranked, n_columns)
    _label(ax, ranked, labels)
    names = [shortened(name, 20) for name in classes]
    if n_columns > 1:
        class_legend(ax, class_patches(names), names, loc="upper left", bbox_to_anchor=(1, 1))
    ax.set_xlabel(plain(unit if n_columns > 1 else f"{unit}: below 0 for {names[0]}, above 0 for {names[1]}"))
    ax.set_title(plain(fill(shortened(caption, 300), 85)), fontsize="small", loc="left")
    return ax


def _draw_bars(ax: Axes, groups: Sequence[Group], n_columns: int) -> None:
    rows = np.array([row for _, bins in groups for _, row in bins], dtype=np.float64).reshape(-1, n_columns)
    thickness = 0.8 / n_columns
    for k in range(n_columns):
        colours = [colour(int(value > 0)) for value in rows[:, 0]] if n_columns == 1 else colour(k)
        places = np.arange(len(rows)) - 0.4 + thickness * (k + 0.5)
        ax.barh(places, rows[:, k], height=0.9 * thickness, color=colours)
    ax.axvline(0, color="0.3", lw=1)


def _labels(attribute: str, bins: Sequence[tuple[str, Sequence[float]]]) -> list[str]:
    """Return the names of the lines of an attribute: its own at the first of its bins."""
    first, *others = [shortened(name, _LONGEST) for name, _ in bins]
    return [f"{shortened(attribute, _LONGEST)}  {first}", *others]


def _label(ax: Axes, groups: Sequence[Group], labels: Sequence[str]) -> None:
    """Name the lines, and shade every other attribute."""
    first = 0
    for number, (_, bins) in enumerate(groups):
        if number % 2 == 0:
            ax.axhspan(first - 0.5, first + len(bins) - 0.5, color="0.95", lw=0, zorder=0)
        first += len(bins)
    ax.set_yticks(range(len(labels)), list(map(plain, labels)), fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    ax.spines[["top", "right", "left"]].set_visible(False)


_TABLE = "border-collapse:collapse;margin:1em 0"
_GROUP = "border-top:1px solid silver"
_LEFT = "text-align:left;vertical-align:top;padding:0.15em 1em 0.15em 0"
_NUMBER = "text-align:right;padding:0.15em 1em"
_BOX = "border:2px solid;min-width:4em;height:1.6em;text-align:center"


def form_html(sheet: Sheet) -> Html:
    """Return the points with an empty box for each attribute and for the total, and the probabilities of totals."""
    boxes = ["your points"] if sheet.is_binary else sheet.columns
    titles = [element("th", name, style=_LEFT) for name in ("attribute", "bin")]
    titles += [element("th", title, style=_NUMBER) for title in sheet.columns]
    rows = [row for bins in sheet.bins for row in _rows(bins, len(sheet.base))]
    blank = [element("td")] * (1 + len(sheet.base))
    base = [element("td", str(points), style=_BOX) for points in sheet.base]
    rows.append(element("tr", element("th", "base", style=_LEFT), *blank, *base, style=_GROUP))
    rows.append(element("tr", element("th", "total", style=_LEFT), *blank, *_boxes(1, len(sheet.base))))
    points = _table(element("tr", *titles, *(element("th", title) for title in boxes)), rows)
    notes = [element("p", note) for note in sheet.notes]
    parts = [element("h3", sheet.title), points, *([_risks(sheet)] if sheet.is_binary else []), *notes]
    return Html("".join(parts))


def _rows(bins: Sequence[PointBin], n_columns: int) -> list[Html]:
    found = list[Html]()
    for place, one in enumerate(bins):
        cells = [element("td", printable(one.words), style=_LEFT)]
        cells += [element("td", str(number), style=_NUMBER) for number in one.points]
        if place == 0:
            name = element("th", printable(one.attribute), style=_LEFT, rowspan=str(len(bins)))
            cells = [name, *cells, *_boxes(len(bins), n_columns)]
        found.append(element("tr", *cells, **({} if place else {"style": _GROUP})))
    return found


def _boxes(n_rows: int, n_columns: int) -> list[Html]:
    return [element("td", rowspan=str(n_rows), style=_BOX)] * n_columns


def _risks(sheet: Sheet) -> Html:
    head, *rows = (
        element("tr", *(element("td" if place else "th", entry, style=_NUMBER) for entry in line))
        for place, line in enumerate(sheet.risk_lines)
    )
    return _table(head, rows)


def _table(head: Html, rows: Sequence[Html]) -> Html:
    return element("table", element("thead", head), element("tbody", *rows), style=_TABLE)
