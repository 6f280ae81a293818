"""Plots of models learned from marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.models.plot import colour, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def contribution_bars(points: Sequence[Mapping[str, Any]], most: int, positive: str, caption: str) -> Axes:
    """Draw the points of each bin, for the attributes whose points differ most, the widest first."""
    import matplotlib.pyplot as plt

    by_attribute: dict[str, list[Mapping[str, Any]]] = {}
    for record in points:
        by_attribute.setdefault(record["attribute"], []).append(record)
    ranked = sorted(by_attribute, key=lambda name: -np.ptp([record["points"] for record in by_attribute[name]]))
    lines = [record for name in ranked[:most] for record in by_attribute[name]]
    _, ax = plt.subplots(figsize=(8, 1.2 + 0.2 * len(lines)), layout="constrained")
    heights = [record["points"] for record in lines]
    ax.barh(range(len(lines)), heights, color=[colour(int(value < 0)) for value in heights])
    names = [
        plain(
            f"{record['attribute']}  {record['bin']}"
            if record is by_attribute[record["attribute"]][0]
            else record["bin"]
        )
        for record in lines
    ]
    ax.set_yticks(range(len(lines)), names, fontsize="small")
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.axvline(0, color="0.3", lw=1)
    ax.set_xlabel(plain(f"points for {positive} (log-odds)"))
    ax.set_title(plain(fill(caption, 85)), fontsize="small", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
