"""Plots of the SSRL study, drawn from means by dataset, method and ε."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hedgerow.models.plot import NO_BREAK, colour, plain
from studies.ssrl.runs import EXACT
from studies.ssrl.tables import Cell, by, named, private

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
_NAMES: Mapping[str, str] = {
    EXACT: "exact draw from all lists (not in SSRL)",
    "permute-and-flip": "permute-and-flip (not in SSRL)",
    "global-laplace": "global-laplace (noisy Gini)",
}
_OURS: Mapping[str, str] = {EXACT: "0.1", "permute-and-flip": "#994F00"}
_STYLES = (("o", "-"), ("s", "-"), ("^", "-"), ("v", "-"), ("D", "-"), ("P", "-"), ("X", "--"), ("*", "--"))


def draw_accuracy(cells: Sequence[Cell], caption: str) -> Figure:
    """Draw test accuracy against ε (SSRL, Figures 2, 3 and 4): means with bands of two standard errors."""
    figure, axes = _axes((9, 6))
    for k, (method, mine) in enumerate(by(cells, "method").items()):
        _accuracy_line(axes, method, mine, k)
    axes.set_xscale("log")
    axes.set_xlabel("ε: privacy loss of the whole list (natural log units, log scale)")
    axes.set_ylabel("test accuracy (share of test rows)")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")
    return _captioned(figure, axes, f"{caption} Bands: mean ± 2 standard errors.")


def _accuracy_line(axes: Axes, method: str, mine: Sequence[Cell], k: int) -> None:
    name, line = _NAMES.get(method, method), private(mine)
    if not line:
        level, error = mine[0]["accuracy"], 2 * np.nan_to_num(mine[0]["accuracy se"])
        axes.axhline(level, color="0.2", ls=":", lw=1.5, label=f"{name}, not private: {level:.3f}")
        axes.axhspan(level - error, level + error, color="0.2", alpha=0.1, lw=0)
        return
    x, mean, error = _columns(line, "epsilon", "accuracy")
    marker, style = _STYLES[k % len(_STYLES)]
    shade = _OURS.get(method, colour(k - 1))
    axes.fill_between(x, mean - error, mean + error, color=shade, alpha=0.2, lw=0)
    axes.plot(x, mean, color=shade, marker=marker, ms=5, ls=style, label=name)


def _columns(cells: Sequence[Cell], x: str, y: str) -> tuple[Array, Array, Array]:
    """Return x, the mean of y, and two standard errors of it (0 where there is one run only)."""
    columns = np.array([(cell[x], cell[y], 2 * cell[f"{y} se"]) for cell in cells], dtype=np.float64)
    return columns[:, 0], columns[:, 1], np.nan_to_num(columns[:, 2])


def draw_roc(cells: Sequence[Cell], caption: str) -> Figure:
    """Draw mean ROC curves, both axes logarithmic (SSRL, Figure 6)."""
    figure, axes = _axes((8.5, 6.5))
    low = min(cell["fpr"] for cell in cells)
    for k, mine in enumerate(by(cells, "method").values()):
        fpr, mean, error = _columns(mine, "fpr", "tpr")
        bottom, top = np.maximum(mean - error, low), np.maximum(mean + error, low)
        axes.fill_between(fpr, bottom, top, color=colour(k), alpha=0.25, lw=0)
        axes.plot(fpr, np.maximum(mean, low), color=colour(k), label=f"{named(mine[0])}: AUC {mine[0]['auc']:.3f}")
    axes.plot([low, 1], [low, 1], color="0.4", ls="--", lw=1, label="blind guess")
    finest = 1 / cells[0]["others"]
    axes.axvline(finest, color="0.6", ls=":", lw=1, label="one row outside: below it, interpolated")
    axes.set(xscale="log", yscale="log", xlim=(low, 1), ylim=(low, 1))
    axes.set_xlabel("false positive rate: rows outside taken for members (log scale)")
    axes.set_ylabel("true positive rate: members found (log scale)")
    axes.legend(loc="lower right", frameon=False, fontsize="small")
    return _captioned(figure, axes, f"{caption} Bands: mean ± 2 standard errors.")


def draw_amplitude(curves: pd.DataFrame, caption: str) -> Figure:
    """Draw the scale of the noise on G against the number of examples left (SSRL, Figure 1), both axes logarithmic."""
    figure, axes = _axes((8.5, 5.5))
    for k, (name, mine) in enumerate(curves.groupby("noise", sort=False)):
        axes.plot(mine["examples"], mine["scale"], color=colour(k), ls=_STYLES[k][1], label=str(name))
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("examples left to classify (rows, log scale)")
    axes.set_ylabel("scale of the noise on the Gini impurity (log scale)")
    axes.axhline(0.5, color="0.4", ls=":", lw=1, label="largest possible Gini impurity, 1/2")
    axes.legend(frameon=False, fontsize="small")
    return _captioned(figure, axes, caption)


def _axes(size: tuple[float, float]) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.2)
    return figure, axes


def _captioned(figure: Figure, axes: Axes, caption: str) -> Figure:
    unbroken = caption.replace(" = ", f"{NO_BREAK}={NO_BREAK}")
    axes.set_title(plain(fill(unbroken, 100)), fontsize="small", loc="left")
    return figure
