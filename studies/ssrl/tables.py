"""Tables of the SSRL study: means by dataset, method and ε, the smallest sufficient ε, and Table 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.audit.inference.membership import RATES
from studies.results import Cell, by, markdown
from studies.ssrl.runs import GREEDY, GREEDY_AS_AUTHORS

CLOSE = 0.005
"""The allowed difference of a mean test accuracy from that of GreedyRL."""
DP = "smooth-laplace"
"""The mechanism of SSRL's DP-GreedyRL."""


@dataclass(frozen=True)
class Printed:
    """One line of SSRL's Table 1; what it prints after ± is a variance over 100 runs."""

    vulnerability: float
    accuracy: float
    accuracy_variance: float


PAPER: Mapping[tuple[str, str], Printed] = {
    ("compas", GREEDY): Printed(0.507, 0.660, 8e-5),
    ("compas", DP): Printed(0.507, 0.658, 1e-4),
    ("german", GREEDY): Printed(0.524, 0.711, 5e-4),
    ("german", DP): Printed(0.516, 0.683, 1e-3),
    ("adult", GREEDY): Printed(0.502, 0.798, 1e-5),
    ("adult", DP): Printed(0.502, 0.795, 1e-5),
}
"""SSRL's Table 1."""


def epsilon_needed(epsilons: Sequence[float], accuracies: Sequence[float], goal: float) -> tuple[float, str]:
    """Return the ε from which on the mean accuracy is at least `goal`, and its text.

    Between two measured values, accuracy is interpolated linearly in log ε. The last crossing counts, so that the
    accuracy is not below the goal for larger ε. ``<=`` the smallest measured ε if all reach the goal; infinite, written
    as ``>`` the largest, if that one does not.

    Examples
    --------
    >>> epsilon_needed([0.1, 1, 10], [0.5, 0.6, 0.7], 0.65)[1]
    '3.2'
    >>> epsilon_needed([0.1, 1, 10], [0.5, 0.6, 0.7], 0.8)
    (inf, '> 10')
    """
    short = np.flatnonzero(np.asarray(accuracies) < goal)
    if not len(short):
        return float(epsilons[0]), f"<= {_digits(epsilons[0])}"
    last = int(short[-1])
    if last == len(epsilons) - 1:
        return np.inf, f"> {_digits(epsilons[-1])}"
    low, high = accuracies[last], accuracies[last + 1]
    share = (goal - low) / (high - low)
    result = float(np.exp(np.log(epsilons[last]) * (1 - share) + np.log(epsilons[last + 1]) * share))
    return result, _digits(result)


def private(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells of private methods, sorted by ε."""
    return sorted((cell for cell in cells if np.isfinite(cell["epsilon"])), key=lambda cell: cell["epsilon"])


def needed_table(cells: Sequence[Cell]) -> str:
    """Return the ε that each method needs to come within `CLOSE` of GreedyRL, a column a dataset, in Markdown."""
    datasets = by(cells, "dataset")
    levels = {name: _level(mine) for name, mine in datasets.items()}
    head = ["method", *(f"{name} (GreedyRL {level:.4f})" for name, level in levels.items())]
    lines = [[method] for method in by((cell for cell in cells if np.isfinite(cell["epsilon"])), "method")]
    for line in lines:
        for name, mine in datasets.items():
            line_of = private(by(mine, "method").get(line[0], ()))
            epsilons, accuracies = ([cell[key] for cell in line_of] for key in ("epsilon", "accuracy"))
            line.append(epsilon_needed(epsilons, accuracies, levels[name] - CLOSE)[1] if line_of else "")
    return markdown(head, lines)


def accuracy_table(cells: Sequence[Cell]) -> str:
    """Return the mean accuracy of each method at each ε, in Markdown, a block a dataset."""
    blocks: list[str] = []
    for dataset, mine in by(cells, "dataset").items():
        runs, worst = min(cell["runs"] for cell in mine), max(cell["accuracy se"] for cell in mine)
        blocks.append(
            f"{dataset}: mean test accuracy over {runs} splits, by ε. GreedyRL without privacy: {_level(mine):.4f}. "
            f"Standard errors are at most {worst:.4f}."
        )
        head = ["method", *(_digits(epsilon) for epsilon in sorted({cell["epsilon"] for cell in private(mine)}))]
        lines = [
            [method, *(f"{cell['accuracy']:.4f}" for cell in private(part))]
            for method, part in by(mine, "method").items()
            if private(part)
        ]
        blocks.append(markdown(head, lines))
    return "\n\n".join(blocks)


def table_1(cells: Sequence[Cell]) -> str:
    """Return SSRL's Table 1 with the paper's numbers, the reproduced ones and their differences, in Markdown.

    Vulnerabilities are compared as the authors' released code computes them; V is that of their formula.
    """
    head = ["dataset", "method", "accuracy", "paper", "difference", "sd", "paper's sd"]
    head += ["V as released", "by chance", "paper", "difference", "V", "by chance", "runs"]
    lines: list[list[str]] = []
    for cell in cells:
        method = GREEDY if cell["method"] == GREEDY_AS_AUTHORS else cell["method"]
        printed = PAPER.get((cell["dataset"], method))
        line = [cell["dataset"], named(cell), f"{cell['accuracy']:.4f}"]
        line += _beside(cell["accuracy"], None if printed is None else printed.accuracy)
        line += [f"{cell['accuracy sd']:.4f}", "" if printed is None else f"{printed.accuracy_variance**0.5:.4f}"]
        line += [f"{cell['vulnerability as released']:.4f}", f"{cell['by chance as released']:.4f}"]
        line += _beside(cell["vulnerability as released"], None if printed is None else printed.vulnerability)
        lines.append([*line, f"{cell['vulnerability']:.4f}", f"{cell['by chance']:.4f}", str(cell["runs"])])
    return markdown(head, lines)


def auc_table(cells: Sequence[Cell]) -> str:
    """Return the area under the ROC curve of each attack with its standard error, in Markdown.

    A false positive rate below that of a single non-member has no true positive rate: "–".
    """
    lines: list[list[str]] = []
    for dataset, mine in by(cells, "dataset").items():
        for part in by(mine, "method").values():
            result = np.interp(RATES, [cell["fpr"] for cell in part], [cell["tpr"] for cell in part])
            shown = [
                f"{tpr:.4f}" if fpr * part[0]["others"] >= 1 else "–" for fpr, tpr in zip(RATES, result, strict=True)
            ]
            numbers = [f"{part[0]['auc']:.4f}", f"{part[0]['auc se']:.4f}", *shown]
            lines.append([dataset, named(part[0]), *numbers, str(part[0]["runs"])])
    return markdown(["dataset", "attacked", "AUC", "se", *(f"TPR at FPR {rate:g}" for rate in RATES), "runs"], lines)


def named(cell: Cell) -> str:
    """Return the method with its ε, if it has one."""
    return cell["method"] + (f", ε = {cell['epsilon']:g}" if np.isfinite(cell["epsilon"]) else "")


def _digits(epsilon: float) -> str:
    """Return an ε in two digits, without an exponent for usual ones."""
    return f"{float(f'{epsilon:.2g}'):g}"


def _level(cells: Sequence[Cell]) -> float:
    """Return the accuracy of GreedyRL."""
    return next(cell["accuracy"] for cell in cells if cell["method"] == GREEDY)


def _beside(ours: float, theirs: float | None) -> tuple[str, str]:
    return ("", "") if theirs is None else (f"{theirs:.3f}", f"{ours - theirs:+.4f}")
