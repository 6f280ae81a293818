"""Learning curves of EXPRIL (Figure 1), drawn from means by problem, method and iteration."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.models.plot import colour, plain
from studies.results import Cell, by

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDES = (
    ("ε = 1, as published", ("1DP-C-EXPRIL", "1DP-I-EXPRIL")),
    ("exact answers", ("C-EXPRIL", "I-EXPRIL")),
)
_NAMES = ("C-EXPRIL", "I-EXPRIL")
_MARKERS = ("o", "s")


def draw_curves(cells: Sequence[Cell]) -> Figure:
    """Draw accuracy minus that of h* by iteration: a row a problem, ε = 1 on the left, without noise on the right."""
    from matplotlib.figure import Figure

    problems = by(cells, "dataset")
    figure = Figure(figsize=(8, 1.2 + 2.1 * len(problems)), layout="constrained")
    panels = figure.subplots(len(problems), 2, sharex=True, sharey="row", squeeze=False)
    for row, (name, mine) in zip(panels, problems.items(), strict=True):
        for axes, (side, methods) in zip(row, SIDES, strict=True):
            _panel(axes, mine, methods)
            axes.set_title(plain(f"{name}, {side}"), fontsize="medium", loc="left")
        row[0].set_ylabel("points")
    for axes in panels[-1]:
        axes.set_xlabel("iteration t")
    panels[0, 0].legend(frameon=False, fontsize="small", loc="lower right")
    runs = min(cell["runs"] for cell in cells)
    caption = (
        f"Test accuracy of the t-th hypothesis less that of a network that knows the target's labels, in percentage "
        f"points, means of {runs} runs with bands of ± 2 standard errors. Before the first answer all is predicted to "
        "be 1. Dotted: the majority class."
    )
    figure.suptitle(plain(fill(caption, 105)), fontsize="small", x=0.01, ha="left")
    return figure


def _panel(axes: Axes, cells: Sequence[Cell], methods: Sequence[str]) -> None:
    mine = by(cells, "method")
    for k, method in enumerate(methods):
        line = sorted(mine[method], key=lambda cell: cell["iteration"])
        t = [cell["iteration"] for cell in line]
        mean = 100 * np.array([cell["gap"] for cell in line])
        error = 200 * np.nan_to_num([cell["gap se"] for cell in line])
        axes.fill_between(t, mean - error, mean + error, color=colour(k), alpha=0.2, lw=0)
        axes.plot(t, mean, color=colour(k), marker=_MARKERS[k], ms=4, ls=("-", "--")[k], label=_NAMES[k])
    axes.axhline(100 * mine["h0*"][0]["gap"], color="0.4", ls=":", lw=1)
    axes.axhline(0, color="0.2", lw=0.8)
    axes.set_xticks(range(max(cell["iteration"] for cell in cells) + 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
