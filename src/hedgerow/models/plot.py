"""Pictures of released models."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

_COLOURS = (
    "#4477AA",
    "#EE6677",
    "#228833",
    "#CCBB44",
    "#66CCEE",
    "#AA3377",
    "#BBBBBB",
)  # safe for colour-blind readers


def leaf_bars(
    leaves: Sequence[str], counts: NDArray[np.integer], classes: Sequence[str], caption: str, ax: Axes | None
) -> Axes:
    """Draw one horizontal bar a leaf, stacked by class; negative released counts are drawn as 0."""
    import matplotlib.pyplot as plt

    leaves = [_plain(fill(leaf, 60)) for leaf in leaves]
    classes, caption = [*map(_plain, classes)], _plain(caption)
    if ax is None:
        lines = sum(leaf.count("\n") for leaf in leaves)
        height = 1.2 + max(0.45 * len(leaves) + 0.2 * lines, 0.25 * len(classes))
        _, ax = plt.subplots(figsize=(9, height), layout="constrained")
    left = np.zeros(len(leaves))
    bars: list[BarContainer] = []
    for k, name in enumerate(classes):
        width = np.maximum(counts[:, k], 0)
        bars.append(ax.barh(range(len(leaves)), width, left=left, color=_COLOURS[k % len(_COLOURS)], label=name))
        left += width
    ax.set_yticks(range(len(leaves)), leaves)
    ax.invert_yaxis()
    ax.set_xlabel("released rows")
    ax.set_title(caption, fontsize="small", loc="right")
    ax.legend(bars, classes, title="class", frameon=False)  # named, or it leaves out those that start with "_"
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _plain(text: str) -> str:
    """Keep matplotlib from reading what stands between two dollar signs as mathematics."""
    return text.replace("$", r"\$")
