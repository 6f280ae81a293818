"""Tables of the EXPRIL study: Table 2 beside the paper's, and tests of C-EXPRIL against I-EXPRIL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from studies.expril.runs import BEST, MAJORITY, METHODS
from studies.results import Cell, by, markdown

Printed = tuple[float, float]
"""A mean and a standard deviation over 100 runs, in per cent."""
COLUMNS = (BEST, "C-EXPRIL", "I-EXPRIL", "1DP-C-EXPRIL", "1DP-I-EXPRIL", MAJORITY)
"""The columns of Table 2; the others of `METHODS` are hedgerow's."""
PAPER: Mapping[str, tuple[Printed, ...]] = {
    "A": ((94.3, 2.3), (76.8, 4.6), (74.9, 5.0), (74.0, 4.8), (71.9, 4.6), (56.2, 5.0)),
    "B": ((79.9, 2.0), (58.5, 2.5), (57.4, 2.4), (53.8, 2.7), (53.5, 2.7), (52.9, 2.3)),
    "C": ((96.2, 1.5), (88.8, 3.3), (88.7, 3.8), (85.8, 4.0), (85.6, 4.0), (55.6, 3.9)),
    "D": ((90.9, 2.1), (82.2, 3.5), (80.7, 3.9), (75.1, 4.4), (74.1, 4.7), (54.6, 2.8)),
    "E": ((80.3, 2.5), (72.3, 3.4), (70.4, 3.7), (63.0, 4.1), (60.1, 3.9), (54.0, 2.4)),
    "CTG-A": ((92.0, 1.0), (87.8, 1.5), (86.9, 1.6), (73.0, 3.7), (70.5, 3.2), (77.7, 1.2)),
    "CTG-B": ((91.2, 1.1), (86.1, 1.4), (84.9, 1.8), (70.1, 3.8), (65.1, 4.0), (75.5, 1.4)),
}
"""EXPRIL's Table 2."""
PAPER_RUNS = 100
"""The number of runs of its means and standard deviations."""
RATIO: Mapping[str, float] = {
    "A": 1.8e-1,
    "B": 2.7e-1,
    "C": 7.7e-2,
    "D": 9.5e-2,
    "E": 1.0e-1,
    "CTG-A": 4.5e-2,
    "CTG-B": 5.5e-2,
}
"""Its last column: the share of the accuracy of h* that C-EXPRIL without privacy loses."""
PAIRS = (("C-EXPRIL", "I-EXPRIL"), ("1DP-C-EXPRIL", "1DP-I-EXPRIL"), ("C, counts", "I, counts"))
OURS = tuple(name for name in METHODS if name not in COLUMNS)
PURE = tuple(name for name in OURS if METHODS[name].private and METHODS[name].release == "counts")
"""The methods of hedgerow that are ε-differentially private."""


def last(cells: Sequence[Cell]) -> dict[str, Cell]:
    """Return the cell of each method after its last iteration."""
    return {name: max(mine, key=lambda cell: cell["iteration"]) for name, mine in by(cells, "method").items()}


def paper_table(cells: Sequence[Cell]) -> str:
    """Return EXPRIL's Table 2, the paper's numbers under ours, in Markdown."""
    lines: list[list[str]] = []
    for name, mine in by(cells, "dataset").items():
        result = last(mine)
        loss = 1 - result["C-EXPRIL"]["accuracy"] / result[BEST]["accuracy"]
        lines.append(
            [name, *(_percent(result[column]) for column in COLUMNS), f"{loss:.1e}", str(result[BEST]["runs"])]
        )
        lines.append(["paper", *(f"{mean} ± {sd}" for mean, sd in PAPER[name]), f"{RATIO[name]:.1e}", f"{PAPER_RUNS}"])
    return markdown(["problem", *COLUMNS, "ratio", "runs"], lines)


def difference_table(cells: Sequence[Cell]) -> str:
    """Return the differences from the paper's means in points, and in brackets in standard errors of the difference."""
    lines = [
        [name, *(difference(result[column], printed) for column, printed in zip(COLUMNS, PAPER[name], strict=True))]
        for name, mine in by(cells, "dataset").items()
        for result in [last(mine)]
    ]
    return markdown(["problem", *COLUMNS], lines)


def difference(cell: Cell, printed: Printed) -> str:
    """Return the difference of a mean from the paper's, in points and in standard errors."""
    mean, sd = printed
    points = 100 * cell["accuracy"] - mean
    se = ((100 * cell["accuracy sd"]) ** 2 / cell["runs"] + sd**2 / PAPER_RUNS) ** 0.5
    return f"{points:+.1f}" + ("" if np.isnan(se) else f" ({points / se:+.1f})")


def our_table(cells: Sequence[Cell]) -> str:
    """Return hedgerow's own methods, beside the majority class and the paper's best at ε = 1, in Markdown."""
    lines: list[list[str]] = []
    for name, mine in by(cells, "dataset").items():
        result = last(mine)
        best = max(result[method]["accuracy"] for method in PURE)
        theirs = PAPER[name][COLUMNS.index("1DP-C-EXPRIL")][0]
        line = [_percent(result[method]) for method in (*OURS, "1DP-C-EXPRIL", MAJORITY)]
        lines.append([name, *line, f"{theirs}", f"{100 * best - theirs:+.1f}"])
    return markdown(
        ["problem", *OURS, "1DP-C-EXPRIL", MAJORITY, "paper's 1DP-C-EXPRIL", "best of pure ε less that"], lines
    )


def signed_rank_table(runs: pd.DataFrame) -> str:
    """Return how often C-EXPRIL is better than I-EXPRIL, and by Wilcoxon's signed-rank test, in Markdown."""
    lines: list[list[str]] = []
    for name, mine in runs.groupby("dataset", sort=False):
        line = [str(name)]
        for c, i in PAIRS:
            ahead = _after_last(mine, c) - _after_last(mine, i)
            line += [f"{100 * ahead.mean():+.2f}", f"{np.sum(ahead > 0)} of {len(ahead)}", f"{p_value(ahead):.2g}"]
        lines.append(line)
    return markdown(["problem", *(part for c, i in PAIRS for part in (f"{c} less {i}", "better in", "p"))], lines)


def p_value(ahead: NDArray[np.float64]) -> float:
    """Return the one-sided p-value of Wilcoxon's signed-rank test that differences are not above 0; 1 if all are 0."""
    different = ahead[ahead != 0]
    if not len(different):
        return 1.0
    result: Any = stats.wilcoxon(different, alternative="greater")
    return float(result.pvalue)


def _after_last(runs: pd.DataFrame, method: str) -> NDArray[np.float64]:
    mine: Any = runs[runs["method"] == method]
    final = mine[mine["iteration"] == mine["iteration"].max()]
    return final.sort_values("run")["accuracy"].to_numpy(dtype=np.float64)


def _percent(cell: Cell) -> str:
    sd = "" if np.isnan(cell["accuracy sd"]) else f" ± {100 * cell['accuracy sd']:.1f}"
    return f"{100 * cell['accuracy']:.1f}{sd}"
