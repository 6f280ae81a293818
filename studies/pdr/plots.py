"""Plots of the PDR study, drawn from means over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.models.plot import NO_BREAK, colour, plain
from studies.pdr.runs import GREEDY, LISTS, OPTIMAL, PRIVATE, TREES, Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES: Mapping[str, str] = {
    "size": "size (splits of a tree, rules of a list)",
    "accuracy": "training accuracy (share of training rows)",
    "depth": "maximum depth, or maximum number of rules",
    "uncertainty": "Dist_G: share of entropy left",
    "test_accuracy": "test accuracy (share of test rows)",
}
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    OPTIMAL: {"ls": "-", "marker": "o", "ms": 4.5},
    GREEDY: {"ls": (0, (3, 1.5)), "marker": "^", "ms": 5},
}


def draw_pairs(cells: Frame, axes_of: Sequence[tuple[str, str]], caption: str) -> Figure:
    """Draw one column against another, a panel a pair (PDR, Figures 2, 3, 5 and 6): a line a learner and support."""
    figure, panels = _figure(1, len(axes_of), (11.5, 5.4))
    supports = sorted(cells["support"].unique())
    for k, (panel, (x, y)) in enumerate(zip(panels[0], axes_of, strict=True)):
        for learner, look in _LOOKS.items():
            for shade, support in zip(_shades(len(supports)), supports, strict=True):
                part = cells[(cells["learner"] == learner) & (cells["support"] == support)].sort_values("depth")
                _line(panel, part, x, y, {**look, "color": shade})
        panel.set(xlabel=_NAMES[x], ylabel=_NAMES[y])
        panel.set_title(f"({'ab'[k]})", fontsize="medium", loc="left")
    _legend(panels[0][-1], supports, hollow=bool((cells.loc[cells["learner"] == OPTIMAL, "certified"] < 1).any()))
    worst = max(cells["uncertainty se"].max(), cells["accuracy se"].max())
    note = "" if np.isnan(worst) else f" Standard errors of Dist_G and accuracy over seeds are at most {worst:.4f}."
    return _captioned(figure, caption + note)


def _line(panel: Axes, part: Frame, x: str, y: str, look: Mapping[str, Any]) -> None:
    """Draw one line; hollow markers where some of the optimal models are not certified."""
    line: dict[str, Any] = {**look, "marker": "", "lw": 1.3, "alpha": 0.8}
    panel.plot(part[x], part[y], **line)
    proven = (part["certified"] == 1) | (part["learner"] == GREEDY)
    for which, face in ((proven, look["color"]), (~proven, "white")):
        if which.any():
            dots: dict[str, Any] = {**look, "ls": "", "mfc": face, "alpha": 0.8}
            panel.plot(part.loc[which, x], part.loc[which, y], **dots)


def _legend(panel: Axes, supports: Sequence[float], *, hollow: bool) -> None:
    from matplotlib.lines import Line2D

    keys = [Line2D([], [], color="0.3", **look, label=name) for name, look in _LOOKS.items()]
    if hollow:
        look: Mapping[str, Any] = {**_LOOKS[OPTIMAL], "color": "0.3", "mfc": "white"}
        keys.append(Line2D([], [], **look, label="some not certified"))
    shades = zip(_shades(len(supports)), supports, strict=True)
    keys += [Line2D([], [], color=shade, lw=4, label=f"support {support:g}") for shade, support in shades]
    panel.legend(handles=keys, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")


def _shades(count: int) -> list[Any]:
    import matplotlib as mpl

    return [mpl.colormaps["viridis"](x) for x in np.linspace(0, 0.88, count)]


def draw_entropy_ratios(curves: Mapping[str, Frame], caption: str) -> Figure:
    """Draw the distribution functions of entropy ratios over rows (PDR, Figure 4): a panel a kind of model."""
    figure, panels = _figure(1, 2, (10.5, 5))
    for panel, kind in zip(panels[0], (TREES, LISTS), strict=True):
        for k, learner in enumerate((OPTIMAL, GREEDY)):
            part = curves[kind][curves[kind]["learner"] == learner]
            x = np.concatenate([part["ratio"].iloc[:1], part["ratio"], [1.0]])
            y, error = (np.concatenate([[0], part[name], [last]]) for name, last in (("rows", 1.0), ("rows se", 0.0)))
            low, high = (np.clip(y + side * np.nan_to_num(error), 0, 1) for side in (-2, 2))
            panel.fill_between(x, low, high, step="post", color=colour(k), alpha=0.2, lw=0)
            panel.step(x, y, where="post", color=colour(k), ls=_LOOKS[learner]["ls"], label=learner)
        panel.set(xlabel="entropy ratio: share of a row's entropy left", xlim=(None, 1), ylim=(0, 1.02))
        panel.set_ylabel("share of training rows with at most this ratio")
        panel.set_title(f"({'ab'[kind == LISTS]}) {kind}", fontsize="medium", loc="left")
        panel.legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="lower right")
    return _captioned(figure, f"{caption} Bands: mean ± 2 standard errors over seeds.")


def draw_private(cells: Frame, caption: str) -> Figure:
    """Draw the Dist_G and the accuracy of private models against ε: a column a kind of model."""
    figure, panels = _figure(2, 2, (10.5, 8))
    for column, kind in enumerate((TREES, LISTS)):
        part = cells[cells["kind"] == kind]
        private = part[part["learner"] == PRIVATE].sort_values("epsilon")
        upper, lower = panels[0][column], panels[1][column]
        for k, (name, label) in enumerate((("uncertainty", "released counts"), ("true_uncertainty", "true counts"))):
            _band(upper, private, name, {"color": colour(k), "marker": "os"[k], "ls": ("-", "--")[k], "label": label})
        _band(lower, private, "test_accuracy", {"color": "0.1", "marker": "o", "label": "private"})
        for panel, name in ((upper, "uncertainty"), (lower, "test_accuracy")):
            for learner, style in ((OPTIMAL, ":"), (GREEDY, "-.")):
                level = part.loc[part["learner"] == learner, name].iloc[0]
                panel.axhline(level, color="0.45", ls=style, lw=1.2, label=f"{learner}, ε = ∞: {level:.3f}")
            panel.set(xscale="log", xlabel="ε: privacy loss of the whole model (log scale)", ylabel=_NAMES[name])
            panel.legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="best")
        upper.set_title(f"({'ab'[column]}) {kind}", fontsize="medium", loc="left")
    return _captioned(figure, f"{caption} Bands: mean ± 2 standard errors over seeds.")


def _band(panel: Axes, part: Frame, name: str, look: Mapping[str, Any]) -> None:
    x, mean, error = (part[key].to_numpy(dtype=float) for key in ("epsilon", name, f"{name} se"))
    band = 2 * np.nan_to_num(error)
    panel.fill_between(x, mean - band, mean + band, color=look["color"], alpha=0.15, lw=0)
    panel.plot(x, mean, ms=4.5, **look)


def _figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[list[Axes]]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.2)
    return figure, panels.tolist()


def _captioned(figure: Figure, caption: str) -> Figure:
    unbroken = caption.replace(" = ", f"{NO_BREAK}={NO_BREAK}")
    figure.suptitle(plain(fill(unbroken, 140)), fontsize="small", x=0.01, ha="left")
    return figure
