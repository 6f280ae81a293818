"""Figures of the PDR study: the measurements and axes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow.errors import ArgumentError
from studies.pdr import plots as reconstruct_plots
from studies.pdr.runs import (
    COMPACT,
    DATASETS,
    LISTS,
    NOISE_DRAWS,
    PRIVATE,
    PRIVATE_SIZES,
    TREES,
    Frame,
    split,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS = tuple(range(1, 11))
SUPPORTS = (0.01, 0.02, 0.03, 0.04, 0.05)
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
TIME_LIMIT = 600.0
_BY_UTILITY = (("size", "uncertainty"), ("accuracy", "uncertainty"))
_BY_LIMIT = (("depth", "size"), ("depth", "uncertainty"))


@dataclass(frozen=True)
class Picture:
    """A figure of PDR, or an additional one.

    Attributes
    ----------
    title : str
        The title.
    kinds : tuple of str
        The kinds of models measured for it.
    axes : tuple of pairs of str
        The columns drawn against each other, a panel a pair.
    """

    title: str
    kinds: tuple[str, ...]
    axes: tuple[tuple[str, str], ...] = ()


PICTURES: Mapping[int, Picture] = {
    2: Picture("Uncertainty of decision trees by (a) size and (b) accuracy", (TREES,), _BY_UTILITY),
    3: Picture("Uncertainty of rule lists by (a) size and (b) accuracy", (LISTS,), _BY_UTILITY),
    4: Picture("How much of their entropy the rows keep, largest models", (TREES, LISTS)),
    5: Picture("(a) Size and (b) uncertainty of decision trees by their maximum depth", (TREES,), _BY_LIMIT),
    6: Picture("(a) Size and (b) uncertainty of rule lists by their maximum number of rules", (LISTS,), _BY_LIMIT),
    7: Picture("Private models (not in PDR): uncertainty and accuracy by ε", (PRIVATE,)),
    8: Picture(
        "Optimal trees with the fewest splits among the most accurate (not in PDR): uncertainty by (a) size and (b) "
        "maximum depth",
        (COMPACT,),
        (("size", "uncertainty"), ("depth", "uncertainty")),
    ),
}
"""By number. Figure 1 of the paper is a diagram; it has no Figure 7 or 8."""


def chosen(figure: int | None, dataset: str | None) -> tuple[list[int], list[str]]:
    """Return the figures and datasets to measure.

    Raises
    ------
    ValueError
        If there is no such figure or dataset.
    """
    if figure is not None and figure not in PICTURES:
        raise ArgumentError(f"figure must be one of {', '.join(map(str, PICTURES))} (1 is a diagram), got {figure!r}.")
    if dataset is not None and dataset not in DATASETS:
        raise ArgumentError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}.")
    return [*PICTURES] if figure is None else [figure], [*DATASETS] if dataset is None else [dataset]


def caption(figure: int, dataset: str, cells: Frame, seeds: int) -> str:
    """Return title, dataset, splits and parameters in words."""
    n = len(split(dataset, 0).X)
    text = (
        f"{PICTURES[figure].title}: {dataset}, {n:,} training rows (80 %), {len(split(dataset, 0).X.columns)} booleans."
    )
    text += f" Means over {seeds} random split{'s' if seeds > 1 else ''}."
    if figure == 7:
        size, rules = PRIVATE_SIZES[TREES], PRIVATE_SIZES[LISTS]
        return (
            f"{text} Exact draws of depth {size} or {rules} rules of one literal beside the default, {NOISE_DRAWS} a "
            "split, with noisy counts. Dotted: the same without privacy."
        )
    if figure == 4:
        return f"{text} Depth or rules up to {cells['depth'].max()}, minimum support {cells['support'].min():g}."
    return f"{text} Each line: limits 1 to {cells['depth'].max()}; lines coincide where the support does not bind."


def drawn(figure: int, parts: Mapping[str, Frame], curves: Mapping[str, Frame], text: str) -> Figure:
    """Draw a figure from the means, or for Figure 4 the curves, of each kind of model."""
    picture = PICTURES[figure]
    if figure == 4:
        return reconstruct_plots.draw_entropy_ratios(curves, text)
    if figure == 7:
        return reconstruct_plots.draw_private(parts[PRIVATE], text)
    return reconstruct_plots.draw_pairs(parts[picture.kinds[0]], picture.axes, text)


def kinds_of(figures: Sequence[int]) -> list[str]:
    """Return the kinds of models to measure for some figures."""
    needed = {kind for figure in figures for kind in PICTURES[figure].kinds}
    return [kind for kind in (LISTS, PRIVATE, TREES, COMPACT) if kind in needed]
