"""Results of a study: means over runs, and their tables and pictures, the same bytes from the same runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = Mapping[str, Any]
"""A group of runs of one method at one ε on one dataset: their number, and the mean, `sd` and `se` of every measure."""


def summary(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a cell for each method, ε and point of a curve: mean, standard deviation and standard error."""
    keys = [key for key in ("dataset", "method", "epsilon", "fpr", "iteration") if key in runs]
    cells: list[dict[str, Any]] = []
    for names, part in runs.groupby(keys, sort=False):
        cell: dict[str, Any] = {**dict(zip(keys, cast(tuple[Any, ...], names), strict=True)), "runs": len(part)}
        for name in (name for name in part.columns if name not in {*keys, "run"}):
            values = part[name].to_numpy(dtype=np.float64)
            sd = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
            cell |= {name: float(values.mean()), f"{name} sd": sd, f"{name} se": sd / len(values) ** 0.5}
        cells.append(cell)
    return cells


def by(cells: Iterable[Cell], key: str) -> dict[str, list[Cell]]:
    """Return the cells of each dataset or method, in order of first occurrence."""
    result: dict[str, list[Cell]] = {}
    for cell in cells:
        result.setdefault(cell[key], []).append(cell)
    return result


def write_csv(table: pd.DataFrame, file: Path) -> None:
    """Write a table of results; six digits of a number are kept."""
    table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    rows = [list(head), ["--"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and as SVG, reproducibly byte by byte."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "hedgerow"}):
        figure.savefig(path.with_suffix(".png"), dpi=110)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
