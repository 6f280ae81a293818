"""Figures and tables of the SSRL study: the datasets, measurements and plots of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hedgerow.errors import ArgumentError
from hedgerow.learn.ssrl.greedy import PUBLISHED
from hedgerow.learn.ssrl.mechanisms import GINI_SENSITIVITY, smooth_cauchy, smooth_laplace, smooth_sensitivity
from studies.runs import Measure
from studies.ssrl import plots as smooth_plots
from studies.ssrl.runs import (
    CONFIDENCE,
    DATASETS,
    EXACT,
    GREEDY,
    GREEDY_AS_AUTHORS,
    MAX_RULES,
    PERMUTE_AND_FLIP,
    Attacking,
    Learning,
    Overfitting,
    load,
)
from studies.ssrl.tables import DP, Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_1 = "figure-1"
ALL_METHODS = (*PUBLISHED, PERMUTE_AND_FLIP, EXACT)
"""The lines of Figure 3: SSRL's mechanisms, hedgerow's, and the draw from all lists."""
COUNTS_OR_GINI = ("noisy-counts", "global-laplace")


def _spaced(low: float, high: float, count: int) -> tuple[float, ...]:
    return tuple(float(f"{x:.4g}") for x in np.geomspace(low, high, count))


@dataclass(frozen=True)
class Artifact:
    """A figure or table that is measured.

    Attributes
    ----------
    title : str
        The title.
    datasets : tuple of str
        The datasets.
    epsilons : tuple of float
        The values of ε.
    measure : callable
        Returns the function that does one run, for a dataset and values of ε.
    draw : callable or None
        Draws a figure of means with a caption; None for a table.
    """

    title: str
    datasets: tuple[str, ...]
    epsilons: tuple[float, ...]
    measure: Callable[[str, tuple[float, ...]], Measure]
    draw: Callable[[Sequence[Cell], str], Figure] | None

    def caption(self, dataset: str, runs: int) -> str:
        """Return title, dataset, splits, δ, K, λ and C in words."""
        n, support = len(load(dataset).frame), DATASETS[dataset].min_support
        rows = "half of the rows for training" if self.draw is smooth_plots.draw_roc else "70/30"
        return (
            f"{self.title}: {dataset}, {n:,} rows. {runs} random splits, {rows}; one fit of each kind on each, seeded "
            f"noise. K = {MAX_RULES} rules (the default rule counts), at most 2 literals, λ = {support:g}, "
            f"C = {CONFIDENCE:g}, δ = 1/(training rows)²."
        )


_COUNTS = (
    _spaced(0.1, 20, 10),
    lambda dataset, epsilons: Learning(dataset, COUNTS_OR_GINI, epsilons),
    smooth_plots.draw_accuracy,
)
ARTIFACTS: Mapping[str, Artifact] = {
    "figure-2": Artifact("Noisy counts against noisy Gini impurity, global sensitivity", ("compas",), *_COUNTS),
    "figure-3": Artifact(
        "Test accuracy by mechanism",
        tuple(DATASETS),
        _spaced(0.01, 100, 13),
        lambda dataset, epsilons: Learning(dataset, ALL_METHODS, epsilons),
        smooth_plots.draw_accuracy,
    ),
    "figure-4": Artifact("Noisy counts against noisy Gini impurity, global sensitivity", ("german", "adult"), *_COUNTS),
    "figure-6": Artifact(
        "Membership inference by a random forest on (prediction, true label)",
        tuple(DATASETS),
        (10.0,),
        lambda dataset, epsilons: Attacking(dataset, (GREEDY, DP), *epsilons),
        smooth_plots.draw_roc,
    ),
    "table-1": Artifact(
        "Test accuracy and vulnerability",
        tuple(DATASETS),
        (10.0,),
        lambda dataset, epsilons: Overfitting(dataset, (DP,), epsilons, (GREEDY, GREEDY_AS_AUTHORS)),
        None,
    ),
}
"""All but Figure 1, which needs no data, and Figure 5, which is a diagram."""


def chosen(figure: int | None, table: int | None, dataset: str | None) -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of the figures and tables to measure, each with its datasets.

    Raises
    ------
    ValueError
        If there is no such figure, table or dataset, or the figure does not use the dataset.
    """
    if dataset is not None and dataset not in DATASETS:
        raise ArgumentError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}.")
    names = _named(figure, table)
    result: list[tuple[str, tuple[str, ...]]] = []
    for name in names:
        own = () if name == FIGURE_1 else ARTIFACTS[name].datasets
        kept = own if dataset is None else tuple(d for d in own if d == dataset)
        if name != FIGURE_1 and not kept and len(names) == 1:
            raise ArgumentError(
                f"dataset must be one of {', '.join(own)} for {name.replace('-', ' ')}, got {dataset!r}."
            )
        if kept or name == FIGURE_1:
            result.append((name, kept))
    return result


def _named(figure: int | None, table: int | None) -> Sequence[str]:
    numbers = [int(name.removeprefix("figure-")) for name in (FIGURE_1, *ARTIFACTS) if name.startswith("figure-")]
    if figure is not None and table is not None:
        raise ArgumentError("give a figure or a table, not both.")
    if figure is not None and figure not in numbers:
        shown = ", ".join(map(str, numbers))
        raise ArgumentError(f"figure must be one of {shown} (5 is a diagram), got {figure!r}.")
    if table is not None and table != 1:
        raise ArgumentError(f"table must be 1, got {table!r}.")
    if figure is None and table is None:
        return (FIGURE_1, *ARTIFACTS)
    return [f"figure-{figure}" if table is None else f"table-{table}"]


def amplitudes(delta: Fraction = Fraction(1, 10**9)) -> pd.DataFrame:
    """Return the scale of the noise on the Gini impurity for ε = 1 by the number of examples: SSRL's Figure 1.

    Smooth Laplace adds 2·S*/ε and smooth Cauchy 2(γ+1)·S*/ε, with S* of Theorem 4.1; global Laplace Δ/ε, Δ = 1/2.
    """
    epsilon, examples = Fraction(1), np.unique(np.geomspace(1, 1e5, 200).round())
    laplace, cauchy = smooth_laplace(epsilon, delta), smooth_cauchy(epsilon)
    lines: Mapping[str, np.ndarray] = {
        "global sensitivity, Laplace": np.full(len(examples), GINI_SENSITIVITY / float(epsilon)),
        **{
            f"smooth sensitivity, {kind}, Λ = {least}": mechanism.scale
            * smooth_sensitivity(examples, min_support=least, beta=mechanism.beta)
            for kind, mechanism, least in (("Laplace", laplace, 1), ("Laplace", laplace, 252), ("Cauchy", cauchy, 1))
        },
    }
    parts = [pd.DataFrame({"noise": name, "examples": examples, "scale": scale}) for name, scale in lines.items()]
    return pd.concat(parts, ignore_index=True)


AMPLITUDES_CAPTION = (
    "Noise on one Gini impurity for ε = 1, δ = 10⁻⁹, by how many examples are left. Λ is the fewest examples that may "
    "be left: 1 is no such bound, 252 is 5 % of COMPAS's training rows (to its left, the noise is that at Λ). "
    "Laplace noise of this scale has 1.41 times this standard deviation; Cauchy noise has none."
)
