"""Plots of audit results."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.boundary.arrays import Floats
from hedgerow.models.plot import axes_of, colour, plain
from hedgerow.text.axes import Axes


def overfit_bars(
    leaves: Sequence[str], shares: Floats, classes: Sequence[str], measure: str, caption: str, ax: Axes | None
) -> Axes:
    """Plot shares in train (filled) above test (outlined), shape ``(n_leaves, n_classes, 2)``."""
    names = [plain(fill(leaf, 60)) for leaf in leaves]
    lines = len(leaves) * (0.25 * 2 * len(classes) + 0.2)
    # Only the layout of a figure of our own makes room for a legend outside of the axes.
    placement: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if ax is None else {}
    ax = axes_of(ax, 9, 1.6 + max(lines, 0.25 * (len(classes) + 4)))
    from matplotlib.patches import Patch

    height = 0.85 / (2 * len(classes))
    for k in range(len(classes)):
        for s, face in enumerate((colour(k), "none")):
            places = np.arange(len(leaves)) + height * (2 * k + s - len(classes) + 0.5)
            ax.barh(places, shares[:, k, s], height=0.9 * height, facecolor=face, edgecolor=colour(k))
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(measure)
    ax.set_title(plain(fill(caption, 80)), fontsize="small", loc="right")
    ax.spines[["top", "right"]].set_visible(False)
    handles = [Patch(color=colour(k), label=plain(fill(name, 30))) for k, name in enumerate(classes)]
    handles += [Patch(color="0.4", label="train"), Patch(facecolor="none", edgecolor="0.4", label="test")]
    ax.legend(handles=handles, frameon=False, **placement)
    return ax


def roc_band(
    fpr: Floats, curve: Floats, band: tuple[Floats, Floats], name: str, finest: float, caption: str, ax: Axes | None
) -> Axes:
    x, y = "false positive rate: non-members classified as members", "true positive rate: members classified as members"
    ax = _axes(ax, (6, 6), x, y, fill(caption, 75))
    low = float(fpr[0])
    bottom, top = (np.maximum(edge, low) for edge in band)
    ax.fill_between(fpr, bottom, top, color=colour(0), alpha=0.25, lw=0, label=name)
    ax.plot(fpr, np.maximum(curve, low), color=colour(0), lw=2, label="mean")
    ax.plot([low, 1], [low, 1], color="0.4", ls="--", lw=1, label="random guessing")
    ax.axvline(finest, color="0.6", ls=":", lw=1, label="FPR of one non-member (interpolated below)")
    ax.set(xscale="log", yscale="log", xlim=(low, 1), ylim=(low, 1))
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax


def residual_entropy_curve(ratios: Floats, below: Floats, mean: float, caption: str, ax: Axes | None) -> Axes:
    """Plot the cumulative distribution of entropy ratios, as steps, and their mean."""
    x = "entropy ratio: residual entropy of a row, divided by its entropy without the model"
    ax = _axes(ax, (7, 4.5), x, "share of rows with at most this ratio", fill(caption, 85), pad=18)
    low = min(float(ratios[0]), mean)
    left = max(0.0, low - 0.1 * (1 - low) - 0.01)
    ax.step([left, *ratios, 1.0], [0.0, *below, 1.0], where="post", color=colour(0), lw=2)
    ax.fill_between([left, *ratios, 1.0], [0.0, *below, 1.0], step="post", color=colour(0), alpha=0.15, lw=0)
    ax.axvline(mean, color="0.3", ls="--", lw=1)
    ax.text(mean, 1.05, "mean", ha="center", va="bottom", fontsize="small", color="0.3")
    ax.set(xlim=(left, 1), ylim=(0, 1.04))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def risk_curve(advantage: Floats, draw_bound: float, bound: float, caption: str, ax: Axes | None) -> Axes:
    from matplotlib.ticker import LogLocator, NullFormatter

    x, y = "advantage of the best attack (TPR − FPR)", "share of rows with at least this advantage"
    ax = _axes(ax, (7, 4.5), x, y, fill(caption, 85))
    ordered = np.sort(np.maximum(advantage, np.finfo(float).tiny))
    above = 1 - np.arange(len(ordered)) / len(ordered)
    ax.step(ordered, above, where="post", color=colour(0), lw=2, label="rows")
    ax.axvline(draw_bound, color="0.3", ls="--", lw=1, label="upper bound for this draw")
    ax.axvline(bound, color="0.3", ls=":", lw=1, label="upper bound for ε, tanh(ε/2)")
    low, high = max(float(ordered[0]) / 2, bound * 1e-6), min(1.0, 2 * bound)
    ax.set(xscale="log", yscale="log", xlim=(low, high))
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0.5 / len(ordered), 1.2)
    ax.legend(loc="lower left", frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def trade_off_bounds(bounds: pd.DataFrame, claim: float | None, delta: float, caption: str, ax: Axes | None) -> Axes:
    x, y = "false positive rate of an event (upper bound)", "true positive rate of the event (lower bound)"
    ax = _axes(ax, (5.5, 5.5), x, y, fill(caption, 70))
    if claim is not None:
        fpr = np.linspace(0, 1, 401)
        most = np.minimum(np.exp(claim) * fpr + delta, 1 - np.exp(-claim) * np.maximum(1 - fpr - delta, 0))
        name = f"allowed by ε = {claim:g}, δ = {delta:g}"
        ax.fill_between(fpr, fpr, np.minimum(most, 1), color="0.9", lw=0, label=name)
    for side, name in ((False, "event more probable on the table"), (True, "event more probable on the neighbour")):
        part = bounds[bounds["on_neighbour"] == side]
        ax.plot(part["fpr"], part["tpr"], "o", ms=4, color=colour(int(side)), label=name)
    ax.plot([0, 1], [0, 1], color="0.4", ls="--", lw=1, label="no privacy loss")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax


def _axes(ax: Axes | None, size: tuple[float, float], x: str, y: str, title: str, pad: float | None = None) -> Axes:
    ax = axes_of(ax, *size)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(plain(title), fontsize="small", loc="left", pad=pad)
    return ax
