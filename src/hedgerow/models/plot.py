"""Plots of released models: bars for rule lists, and elements that all plots share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

NO_BREAK = "\u00a0"
_BOX = "\u25a1"
_COLOURS = (
    "#4477AA",
    "#EE6677",
    "#228833",
    "#CCBB44",
    "#66CCEE",
    "#AA3377",
    "#BBBBBB",
)  # safe for colour-blind readers
MOST_DRAWN, _MOST_SHARES = 500, 10_000
_BESIDE = {"loc": "upper left", "bbox_to_anchor": (1, 1)}  # the layout of our own figures makes room for it


def check_matplotlib() -> None:
    """Check that matplotlib is installed."""
    if find_spec("matplotlib") is None:
        raise MissingPackageError("A plot needs matplotlib: pip install matplotlib.")


def check_drawable(n_leaves: int, n_classes: int) -> None:
    """Check that a model is small enough to plot."""
    if n_leaves > MOST_DRAWN or n_leaves * n_classes > _MOST_SHARES:
        raise ArgumentError(
            f"expected at most {MOST_DRAWN} leaves or rules to draw, and {_MOST_SHARES:,} shares of classes in them, "
            f"got {n_leaves:,} with {n_classes:,} classes; print the model, or export it."
        )


def shortened(text: str, longest: int = 80) -> str:
    """Return text cut to a length."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def leaf_bars(
    leaves: Sequence[str],
    counts: NDArray[Any],
    classes: Sequence[str],
    caption: str,
    ax: Axes | None,
    unit: str = "released rows",
) -> Axes:
    """Draw one horizontal bar a leaf, stacked by class; negative counts are drawn as 0, absent counts as text."""
    axes = _named_lines(leaves, classes, caption, ax)
    left = np.zeros(len(leaves))
    bars: list[BarContainer] = []
    for k, name in enumerate(classes):
        width = np.nan_to_num(np.maximum(counts[:, k], 0))
        bars.append(axes.barh(range(len(leaves)), width, left=left, color=colour(k), label=plain(name)))
        left += width
    for place in np.flatnonzero(np.isnan(counts).all(axis=1)):
        axes.text(0, int(place), " no counts were released", va="center", fontsize="small", color="0.4")
    axes.set_xlabel(unit)
    class_legend(axes, bars, classes, **(_BESIDE if ax is None else {}))
    return axes


def class_bars(
    leaves: Sequence[str], predicted: Sequence[int], classes: Sequence[str], caption: str, ax: Axes | None
) -> Axes:
    """Draw one bar a leaf in the colour of its class, all of the same length, for models without counts."""
    axes = _named_lines(leaves, classes, caption, ax)
    axes.barh(range(len(leaves)), 1, height=0.5, color=[colour(k) for k in predicted])
    axes.set_xlim(0, 1.3 if ax is None else 2.5)  # within given axes, there must be room for the legend
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    class_legend(axes, class_patches(classes), classes, **(_BESIDE if ax is None else {"loc": "center right"}))
    return axes


def _named_lines(leaves: Sequence[str], classes: Sequence[str], caption: str, ax: Axes | None) -> Axes:
    """Return axes with a named line for each leaf, the first on top."""
    import matplotlib.pyplot as plt

    names = [plain(fill(leaf, 60)) for leaf in leaves]
    if ax is None:
        lines = sum(name.count("\n") for name in names)
        entries = sum(legend_name(name).count("\n") + 1 for name in classes)
        height = 1.2 + max(0.45 * len(names) + 0.2 * lines, 0.25 * entries)
        _, ax = plt.subplots(figsize=(9, height), layout="constrained")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_title(plain(fill(shortened(caption, 300), 80)), fontsize="small", loc="right")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def class_patches(classes: Sequence[str]) -> list[Artist]:
    """Return a patch in the colour of each class, for a legend."""
    from matplotlib.patches import Patch

    return [Patch(color=colour(k)) for k in range(len(classes))]


def class_legend(ax: Axes, handles: Sequence[Artist | BarContainer], classes: Sequence[str], **layout: Any) -> None:
    """Add a legend of the classes; handles are passed, as matplotlib omits names that start with "_"."""
    ax.legend(handles, [plain(legend_name(name)) for name in classes], title="class", frameon=False, **layout)


def legend_name(name: str) -> str:
    """Return the name of a class, wrapped for a legend."""
    return fill(shortened(name), 30)


def colour(k: int) -> str:
    """Return the colour of the k-th class."""
    return _COLOURS[k % len(_COLOURS)]


def plain(text: str) -> str:
    """Escape dollar signs, between which matplotlib reads mathematics, and replace what no font can draw."""
    return drawable(text).replace("$", r"\$")


def drawable(text: str) -> str:
    """Replace characters that the fonts of plots lack, such as most emoji, by a box: drawing them would warn."""
    import matplotlib as mpl

    if text.isascii():
        return text
    known = _drawn_by(tuple(mpl.rcParams["font.family"]))
    return "".join(sign if sign in known or sign == "\n" else _BOX for sign in text)


@lru_cache(maxsize=16)
def _drawn_by(families: tuple[str, ...]) -> frozenset[str]:
    """Return the characters that one of these families has, both plain and bold."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    def drawn(weight: str) -> set[str]:
        found = [FontProperties(family=family, weight=weight) for family in families]
        return {chr(code) for font in found for code in get_font(findfont(font)).get_charmap()}

    return frozenset(drawn("normal") & drawn("bold"))
